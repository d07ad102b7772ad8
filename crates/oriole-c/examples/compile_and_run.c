/*
 * A kernel from PTX to its result: compiled for sm_90, shown, run on the simulator, and compared
 * with the host's arithmetic. No GPU and nothing of NVIDIA's is needed.
 *
 *   cc compile_and_run.c $(pkg-config --cflags --libs oriole) -o compile_and_run
 */
#include <oriole.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000, THREADS = 256 };

/* y[i] = a * x[i] + y[i] */
static const char saxpy[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) {\n"
    "    .reg .b64 %x, %y; .reg .b32 %i, %b, %s, %n; .reg .f32 %a, %v, %w; .reg .pred %p;\n"
    "    ld.param.f32 %a, [a]; ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u32 %n, [n];\n"
    "    mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x;\n"
    "    mad.lo.u32 %i, %b, %s, %i;\n"
    "    setp.ge.u32 %p, %i, %n;\n"
    "    @%p ret;\n"
    "    mad.wide.u32 %x, %i, 4, %x; mad.wide.u32 %y, %i, 4, %y;\n"
    "    ld.global.f32 %v, [%x]; ld.global.f32 %w, [%y];\n"
    "    fma.rn.f32 %w, %a, %v, %w;\n"
    "    st.global.f32 [%y], %w;\n"
    "    ret;\n"
    "}\n";

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* Ends the program where a function did not do what it was asked for. */
static void check(orioleResult result, const char *what) {
    if (result != ORIOLE_SUCCESS) {
        fprintf(stderr, "%s: %s\n", what, orioleGetResultString(result));
        exit(EXIT_FAILURE);
    }
}

/* The cubin of the kernel, which the caller frees; prints what the kernel uses. */
static void *compile(size_t *size) {
    const char *options[] = {"--gpu-name=sm_90", "-O3", "--verbose"};
    orioleCompilerHandle compiler;
    check(orioleCompilerCreate(&compiler, sizeof saxpy - 1, saxpy), "create");
    orioleResult result = orioleCompilerCompile(compiler, 3, options);

    size_t logSize = 0;
    if (result != ORIOLE_SUCCESS) {
        check(orioleCompilerGetErrorLogSize(compiler, &logSize), "size of the error log");
        char *log = allocate(logSize + 1);
        log[0] = '\0';
        check(orioleCompilerGetErrorLog(compiler, log), "error log");
        fputs(log, stderr);
        free(log);
        check(result, "compile");
    }

    check(orioleCompilerGetInfoLogSize(compiler, &logSize), "size of the info log");
    char *log = allocate(logSize + 1);
    log[0] = '\0';
    check(orioleCompilerGetInfoLog(compiler, log), "info log");
    fputs(log, stdout);
    const char *used = strstr(log, "Used ");
    unsigned registers = 0;
    if (used == NULL || sscanf(used, "Used %u registers", &registers) != 1) {
        fprintf(stderr, "the info log names no registers\n");
        exit(EXIT_FAILURE);
    }
    printf("registers: %u\n", registers);
    free(log);

    check(orioleCompilerGetCompiledProgramSize(compiler, size), "size of the cubin");
    void *cubin = allocate(*size);
    check(orioleCompilerGetCompiledProgram(compiler, cubin), "cubin");
    check(orioleCompilerDestroy(&compiler), "destroy");
    return cubin;
}

static void disassemble(const void *cubin, size_t size) {
    char *text;
    check(orioleDisassemble(cubin, size, &text), "disassemble");
    fputs(text, stdout);
    orioleFree(text);
}

/* Runs the kernel strictly, with the cycle model; ends the program with the fault's text if there is one. */
static void run(const void *cubin, size_t size, float a, float *x, float *y) {
    orioleSimulatorHandle simulator;
    check(orioleSimulatorCreate(&simulator, size, cubin), "simulator");
    check(orioleSimulatorSetStrict(simulator, 1), "strict");
    check(orioleSimulatorSetTiming(simulator, 1), "timing");

    uint32_t count = COUNT;
    orioleDim grid = {(COUNT + THREADS - 1) / THREADS, 1, 1};
    orioleDim block = {THREADS, 1, 1};
    orioleArgument arguments[] = {
        {ORIOLE_ARGUMENT_VALUE, &a, sizeof a},
        {ORIOLE_ARGUMENT_INPUT, x, COUNT * sizeof *x},
        {ORIOLE_ARGUMENT_IN_OUT, y, COUNT * sizeof *y},
        {ORIOLE_ARGUMENT_VALUE, &count, sizeof count},
    };
    orioleResult result = orioleSimulatorLaunch(simulator, "saxpy", grid, block, 0, 4, arguments);
    if (result != ORIOLE_SUCCESS) {
        size_t logSize = 0;
        check(orioleSimulatorGetErrorLogSize(simulator, &logSize), "size of the error log");
        char *log = allocate(logSize + 1);
        log[0] = '\0';
        check(orioleSimulatorGetErrorLog(simulator, log), "error log");
        fprintf(stderr, "%s\n", log);
        free(log);
        check(result, "launch");
    }

    orioleLaunchReport report;
    report.size = sizeof report;
    check(orioleSimulatorGetReport(simulator, &report), "report");
    printf("%llu blocks, %llu warps, %llu cycles at %u MHz\n", (unsigned long long)report.blocks,
           (unsigned long long)report.warps, (unsigned long long)report.cycles, (unsigned)report.clockMhz);
    check(orioleSimulatorDestroy(&simulator), "destroy");
}

int main(void) {
    size_t size = 0;
    void *cubin = compile(&size);
    disassemble(cubin, size);

    static float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i * 0.5f;
        y[i] = (float)(i % 7);
    }
    const float a = 2.0f;
    run(cubin, size, a, x, y);
    free(cubin);

    for (int i = 0; i < COUNT; i++) {
        /* These numbers are small: neither the product nor the sum is rounded, here or there. */
        float expected = a * x[i] + (float)(i % 7);
        if (y[i] != expected) {
            fprintf(stderr, "y[%d] is %g, not %g\n", i, (double)y[i], (double)expected);
            return EXIT_FAILURE;
        }
    }
    printf("all %d results are right\n", COUNT);
    return EXIT_SUCCESS;
}
