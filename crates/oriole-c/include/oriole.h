/*
 * Oriole as a C library: PTX or LLVM IR to a cubin, disassembly, and a simulator that runs cubins.
 *
 * Made by tools/c_header.sh of crates/oriole-c: change it there. docs/c.md is the manual.
 *
 * Text that goes in is UTF-8. A size of a log counts the zero at the log's end, and is 0 where
 * there is none. No function keeps a pointer of its caller's.
 */

#ifndef ORIOLE_H
#define ORIOLE_H

#include <stddef.h>
#include <stdint.h>

/**
 * The first number of the version of this header.
 */
#define ORIOLE_VERSION_MAJOR 0

/**
 * The second number of the version of this header.
 */
#define ORIOLE_VERSION_MINOR 1

/**
 * The third number of the version of this header.
 */
#define ORIOLE_VERSION_PATCH 0

/**
 * The version of this header as one number: 10000 times the first, 100 times the second, and the third.
 */
#define ORIOLE_VERSION 100

/**
 * What a function answers. The numbers up to 9 are those of `nvPTXCompileResult`.
 */
typedef enum orioleResult {
    /**
     * Done.
     */
    ORIOLE_SUCCESS = 0,
    /**
     * The handle is none of a compiler that exists.
     */
    ORIOLE_ERROR_INVALID_COMPILER_HANDLE = 1,
    /**
     * A pointer that must not be null is, an option is wrong or not supported, or the text is not UTF-8.
     */
    ORIOLE_ERROR_INVALID_INPUT = 2,
    /**
     * The module is wrong, or no code can be made for it: the error log says why.
     */
    ORIOLE_ERROR_COMPILATION_FAILURE = 3,
    /**
     * A fault of Oriole itself.
     */
    ORIOLE_ERROR_INTERNAL = 4,
    /**
     * There is not as much memory as was asked for, or a bound of memory is reached.
     */
    ORIOLE_ERROR_OUT_OF_MEMORY = 5,
    /**
     * There is no result yet: nothing was compiled or launched, or the last try failed.
     */
    ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE = 6,
    /**
     * The module's `.version` is none that is known.
     */
    ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION = 7,
    /**
     * Never given: code that synchronises on the device is compiled. It keeps its number for programs that ask for it.
     */
    ORIOLE_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 8,
    /**
     * `orioleCompilerCancel` ended the compilation, or `orioleSimulatorCancel` the launch.
     */
    ORIOLE_ERROR_CANCELLED = 9,
    /**
     * The handle is none of a simulator that exists.
     */
    ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE = 100,
    /**
     * The bytes are no cubin, or of a target that is not known.
     */
    ORIOLE_ERROR_INVALID_CUBIN = 101,
    /**
     * There is no such kernel, the arguments do not fit it, or no device could run a launch of this shape.
     */
    ORIOLE_ERROR_INVALID_LAUNCH = 102,
    /**
     * The kernel stopped: an illegal address, a deadlock, a trap and the like; the error log says what and where.
     */
    ORIOLE_ERROR_FAULT = 103,
    /**
     * The compilation took longer than `orioleCompilerSetTimeout` allows.
     */
    ORIOLE_ERROR_TIMEOUT = 104
} orioleResult;

/**
 * What an argument of a launch is.
 */
typedef enum orioleArgumentKind {
    /**
     * A parameter's own bytes, as many as the parameter has: a number, a structure.
     */
    ORIOLE_ARGUMENT_VALUE = 0,
    /**
     * A buffer that the kernel reads; what it writes there is lost. The parameter is the buffer's address, of 8 bytes.
     */
    ORIOLE_ARGUMENT_INPUT = 1,
    /**
     * A buffer of zeros that the kernel writes and that is copied back.
     */
    ORIOLE_ARGUMENT_OUTPUT = 2,
    /**
     * A buffer that is copied there and back.
     */
    ORIOLE_ARGUMENT_IN_OUT = 3
} orioleArgumentKind;

/**
 * What a compiler's handle points to for C; there is nothing to see.
 */
typedef struct orioleCompiler orioleCompiler;

/**
 * What a simulator's handle points to for C; there is nothing to see.
 */
typedef struct orioleSimulator orioleSimulator;

/**
 * A compiler with its input and its results. Functions may be called by any thread. Those on different handles do not
 * wait for one another. On one handle compilations wait for one another, and what asks for results waits for them; nothing
 * else waits.
 */
typedef struct orioleCompiler *orioleCompilerHandle;

/**
 * A simulator with a cubin, its settings and what its last launch left. Functions may be called by any thread. Those on
 * different handles do not wait for one another. On one handle launches wait for one another, and what asks for results waits
 * for them; nothing else waits.
 */
typedef struct orioleSimulator *orioleSimulatorHandle;

/**
 * Sizes in x, y and z, as CUDA's `dim3`.
 */
typedef struct orioleDim {
    /**
     * In x.
     */
    uint32_t x;
    /**
     * In y; 1 where there is nothing of it.
     */
    uint32_t y;
    /**
     * In z; 1 where there is nothing of it.
     */
    uint32_t z;
} orioleDim;

/**
 * One argument of a launch.
 */
typedef struct orioleArgument {
    /**
     * An `orioleArgumentKind`.
     */
    uint32_t kind;
    /**
     * The bytes on the host. Those of values and inputs are only read. Null may stand for none.
     */
    void *data;
    /**
     * How many bytes.
     */
    size_t size;
} orioleArgument;

/**
 * What a launch that came to its end has done. Later versions may have more fields behind these.
 */
typedef struct orioleLaunchReport {
    /**
     * Bytes of this structure, as the caller knows it (`sizeof`): to be set before a function gets it, and left as it is.
     */
    size_t size;
    /**
     * Blocks that ran.
     */
    uint64_t blocks;
    /**
     * Warps that ran.
     */
    uint64_t warps;
    /**
     * Instructions, each counted once per group of threads that executed it together.
     */
    uint64_t warpInstructions;
    /**
     * Instructions, each counted once per thread whose guard let it through.
     */
    uint64_t threadInstructions;
    /**
     * Cycles of the chip that the launch takes by the cycle model; 0 without `orioleSimulatorSetTiming`.
     */
    uint64_t cycles;
    /**
     * Warps that a multiprocessor holds, as a share (0 to 1) of those that it could hold; 0 without timing.
     */
    double occupancy;
    /**
     * The clock of that chip in MHz; 0 without timing.
     */
    uint32_t clockMhz;
    /**
     * Nothing; 0.
     */
    uint32_t reserved;
} orioleLaunchReport;

#ifdef __cplusplus
extern "C" {
#endif  /* __cplusplus */

/**
 * Makes a compiler of a module. The text is copied; nothing is read in it yet.
 *
 * `compiler`: where the handle goes; null on an error.
 * `ptxCodeLen`: bytes of the text, with or without the zero at its end.
 * `ptxCode`: PTX, or LLVM IR as text or bitcode.
 *
 * Errors: `ORIOLE_ERROR_INVALID_INPUT` for null, `ORIOLE_ERROR_OUT_OF_MEMORY`, `ORIOLE_ERROR_INTERNAL`.
 *
 * # Safety
 * `compiler` may be written and `ptxCodeLen` bytes can be read at `ptxCode`, where they are not null.
 */
enum orioleResult orioleCompilerCreate(orioleCompilerHandle *compiler,
                                       size_t ptxCodeLen,
                                       const char *ptxCode);

/**
 * Destroys a compiler. A call on it that is under way in another thread ends as if nothing was.
 *
 * `compiler`: where the handle is; null goes there.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE` where it is null or there is none of a compiler.
 *
 * # Safety
 * `compiler` is null or may be read and written.
 */
enum orioleResult orioleCompilerDestroy(orioleCompilerHandle *compiler);

/**
 * Compiles the module. It may be called again, with other options: results of before are gone then.
 *
 * `numCompileOptions`: how many options there are.
 * `compileOptions`: options of ptxas, each a string: `--name`, `--name=value`, or name and value as two strings; null
 * where there are none. Without `--gpu-name` the module's own target holds.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`; and, with a text in the error log, `ORIOLE_ERROR_INVALID_INPUT` for an
 * option that is wrong, unknown or not supported, for null, and for PTX that is not UTF-8;
 * `ORIOLE_ERROR_COMPILATION_FAILURE`; `ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION`; `ORIOLE_ERROR_CANCELLED`;
 * `ORIOLE_ERROR_TIMEOUT`; `ORIOLE_ERROR_OUT_OF_MEMORY`; `ORIOLE_ERROR_INTERNAL`.
 *
 * # Safety
 * `compileOptions` is null or has as many strings as `numCompileOptions` says, each null or ended by a zero.
 */
enum orioleResult orioleCompilerCompile(orioleCompilerHandle compiler,
                                        int numCompileOptions,
                                        const char *const *compileOptions);

/**
 * Ends the compilation that is under way in another thread, soon, and every later one of this compiler at once, with
 * `ORIOLE_ERROR_CANCELLED`. nvPTXCompiler has no such function. It waits for nothing.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
 */
enum orioleResult orioleCompilerCancel(orioleCompilerHandle compiler);

/**
 * Lets a compiler compile again that was cancelled. What was cancelled and is still under way ends all the same.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
 */
enum orioleResult orioleCompilerResume(orioleCompilerHandle compiler);

/**
 * Sets how long a compilation may take on the host; longer is `ORIOLE_ERROR_TIMEOUT`. It is for those that begin later.
 *
 * `milliseconds`: 0 for no bound, as it is at first.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
 */
enum orioleResult orioleCompilerSetTimeout(orioleCompilerHandle compiler,
                                           uint64_t milliseconds);

/**
 * Sets by how many bytes the process may grow from the start of a compilation on; more is `ORIOLE_ERROR_OUT_OF_MEMORY`. It is
 * for those that begin later, and on Linux only; docs/c.md says what it can hold and what not.
 *
 * `bytes`: 0 for no bound, as it is at first.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
 */
enum orioleResult orioleCompilerSetMemoryLimit(orioleCompilerHandle compiler,
                                               uint64_t bytes);

/**
 * Adds a module of LLVM IR, such as libdevice, of which compilations that begin later link what an input of LLVM IR calls.
 * Of several the first that has a function gives it.
 *
 * `librarySize`, `library`: its bytes, text or bitcode, which are copied.
 * `name`: what messages call it.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null, `ORIOLE_ERROR_OUT_OF_MEMORY`. What is
 * no module fails when an input is compiled.
 *
 * # Safety
 * `librarySize` bytes can be read at `library` and `name` is a string, where they are not null.
 */
enum orioleResult orioleCompilerAddLibrary(orioleCompilerHandle compiler,
                                           size_t librarySize,
                                           const void *library,
                                           const char *name);

/**
 * How large the cubin is.
 *
 * `binaryImageSize`: where its bytes go.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null,
 * `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was compiled or the last compilation failed.
 *
 * # Safety
 * `binaryImageSize` is null or may be written.
 */
enum orioleResult orioleCompilerGetCompiledProgramSize(orioleCompilerHandle compiler,
                                                       size_t *binaryImageSize);

/**
 * The cubin.
 *
 * `binaryImage`: where as many bytes go as `orioleCompilerGetCompiledProgramSize` says.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null,
 * `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was compiled or the last compilation failed.
 *
 * # Safety
 * `binaryImage` is null or as many bytes may be written there.
 */
enum orioleResult orioleCompilerGetCompiledProgram(orioleCompilerHandle compiler,
                                                   void *binaryImage);

/**
 * How large the error log of the last compilation is.
 *
 * `errorLogSize`: where its bytes go, with the zero at its end; 0 where there is no text.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
 *
 * # Safety
 * `errorLogSize` is null or may be written.
 */
enum orioleResult orioleCompilerGetErrorLogSize(orioleCompilerHandle compiler,
                                                size_t *errorLogSize);

/**
 * Why the last compilation failed, each error with its line.
 *
 * `errorLog`: where as many bytes go as `orioleCompilerGetErrorLogSize` says, the last one zero.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
 *
 * # Safety
 * `errorLog` is null or as many bytes may be written there.
 */
enum orioleResult orioleCompilerGetErrorLog(orioleCompilerHandle compiler, char *errorLog);

/**
 * How large the info log of the last compilation is.
 *
 * `infoLogSize`: where its bytes go, with the zero at its end; 0 where there is no text.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
 *
 * # Safety
 * `infoLogSize` is null or may be written.
 */
enum orioleResult orioleCompilerGetInfoLogSize(orioleCompilerHandle compiler, size_t *infoLogSize);

/**
 * The warnings of the last compilation, and with `--verbose` what each kernel uses: registers, spills, memory.
 *
 * `infoLog`: where as many bytes go as `orioleCompilerGetInfoLogSize` says, the last one zero.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
 *
 * # Safety
 * `infoLog` is null or as many bytes may be written there.
 */
enum orioleResult orioleCompilerGetInfoLog(orioleCompilerHandle compiler,
                                           char *infoLog);

/**
 * The cubin, if there is room for it: also where another thread may compile between a question for the size and this one.
 *
 * `room`: how many bytes may be written at `binaryImage`.
 * `binaryImageSize`: where the cubin's size goes, also where there is no room for it; may be null.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null and where the room is too small,
 * `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was compiled or the last compilation failed.
 *
 * # Safety
 * `room` bytes may be written at `binaryImage`, and `binaryImageSize` is null or may be written.
 */
enum orioleResult orioleCompilerCopyCompiledProgram(orioleCompilerHandle compiler,
                                                    size_t room,
                                                    void *binaryImage,
                                                    size_t *binaryImageSize);

/**
 * The error log as `orioleCompilerGetErrorLog` gives it, as far as there is room: no more than that is written, and the last
 * byte is a zero.
 *
 * `room`: how many bytes may be written at `errorLog`.
 * `errorLogSize`: where the size of all of it goes, with the zero, 1 where there is no text; may be null.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null with room.
 *
 * # Safety
 * `room` bytes may be written at `errorLog`, and `errorLogSize` is null or may be written.
 */
enum orioleResult orioleCompilerCopyErrorLog(orioleCompilerHandle compiler,
                                             size_t room,
                                             char *errorLog,
                                             size_t *errorLogSize);

/**
 * The info log as `orioleCompilerGetInfoLog` gives it, as far as there is room: no more than that is written, and the last
 * byte is a zero.
 *
 * `room`: how many bytes may be written at `infoLog`.
 * `infoLogSize`: where the size of all of it goes, with the zero, 1 where there is no text; may be null.
 *
 * Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null with room.
 *
 * # Safety
 * `room` bytes may be written at `infoLog`, and `infoLogSize` is null or may be written.
 */
enum orioleResult orioleCompilerCopyInfoLog(orioleCompilerHandle compiler,
                                            size_t room,
                                            char *infoLog,
                                            size_t *infoLogSize);

/**
 * The code of all functions of a cubin as text, as nvdisasm lists it, each instruction with its scheduling bits in front.
 *
 * `cubin`, `size`: the cubin's bytes and how many.
 * `text`: where the text goes, which ends with a zero and which `orioleFree` releases; null on every error.
 *
 * Errors: `ORIOLE_ERROR_INVALID_INPUT` for null, `ORIOLE_ERROR_INVALID_CUBIN` (`orioleGetLastError` says why),
 * `ORIOLE_ERROR_OUT_OF_MEMORY`, `ORIOLE_ERROR_INTERNAL`.
 *
 * # Safety
 * `size` bytes can be read at `cubin`, and `text` may be written, where they are not null.
 */
enum orioleResult orioleDisassemble(const void *cubin,
                                    size_t size,
                                    char **text);

/**
 * Releases a text that `orioleDisassemble` gave; null does nothing.
 *
 * # Safety
 * `text` is null or such a text, and not released yet.
 */
void orioleFree(char *text);

/**
 * Why `orioleSimulatorCreate` or `orioleDisassemble` last answered `ORIOLE_ERROR_INVALID_CUBIN` in the calling thread:
 * functions that have no handle whose log could say it. Empty if neither did.
 *
 * The text is the library's: it is not to be released, and stays until one of the two fails again in this thread.
 */
const char *orioleGetLastError(void);

/**
 * The name of a result, such as "ORIOLE_ERROR_INVALID_INPUT". The text is constant: it is not to be released.
 *
 * `result`: what a function answered; of any other number the answer is "unknown result".
 */
const char *orioleGetResultString(int result);

/**
 * Makes a simulator of a cubin, Oriole's or another compiler's. It is not strict, has no timing and no limits, and runs
 * as many host threads as there are cores.
 *
 * `simulator`: where the handle goes; null on an error.
 * `cubinSize`: bytes of the cubin.
 * `cubin`: the cubin, which is copied.
 *
 * Errors: `ORIOLE_ERROR_INVALID_INPUT` for null; `ORIOLE_ERROR_INVALID_CUBIN` where it is none, or its target is not
 * simulated (`orioleGetLastError` says why); `ORIOLE_ERROR_OUT_OF_MEMORY`; `ORIOLE_ERROR_INTERNAL`.
 *
 * # Safety
 * `simulator` may be written and `cubinSize` bytes can be read at `cubin`, where they are not null.
 */
enum orioleResult orioleSimulatorCreate(orioleSimulatorHandle *simulator,
                                        size_t cubinSize,
                                        const void *cubin);

/**
 * Destroys a simulator. A call on it that is under way in another thread ends as if nothing was.
 *
 * `simulator`: where the handle is; null goes there.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE` where it is null or there is none of a simulator.
 *
 * # Safety
 * `simulator` is null or may be read and written.
 */
enum orioleResult orioleSimulatorDestroy(orioleSimulatorHandle *simulator);

/**
 * Runs a kernel to its end. Each buffer is device memory of its own as long as the launch; on an error nothing is copied
 * back. Buffers on the host may overlap: of two that are copied back the later argument is what stays.
 *
 * `kernel`: its name.
 * `grid`, `block`: how many blocks, and threads of each.
 * `sharedBytes`: bytes of dynamic shared memory.
 * `numArguments`, `arguments`: one for each parameter of the kernel, in their order; null where there are none.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`; `ORIOLE_ERROR_INVALID_INPUT` for null and for an argument of no kind;
 * and, with a text in the error log, `ORIOLE_ERROR_OUT_OF_MEMORY`, `ORIOLE_ERROR_INVALID_LAUNCH`, `ORIOLE_ERROR_CANCELLED`,
 * `ORIOLE_ERROR_FAULT`, `ORIOLE_ERROR_INTERNAL`.
 *
 * # Safety
 * `kernel` is a string, `arguments` has as many as said, and the `size` bytes at `data` of each can be read, and written
 * where they are copied back; each where it is not null. They stay so, and nobody writes them, until the launch has ended.
 */
enum orioleResult orioleSimulatorLaunch(orioleSimulatorHandle simulator,
                                        const char *kernel,
                                        struct orioleDim grid,
                                        struct orioleDim block,
                                        uint32_t sharedBytes,
                                        size_t numArguments,
                                        const struct orioleArgument *arguments);

/**
 * Ends the launch that is under way in another thread, soon, and every later one of this simulator at once, with
 * `ORIOLE_ERROR_CANCELLED`. It waits for nothing.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorCancel(orioleSimulatorHandle simulator);

/**
 * Lets a simulator launch again that was cancelled. What was cancelled and is still under way ends all the same.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorResume(orioleSimulatorHandle simulator);

/**
 * What the last launch has done.
 *
 * `report`: where it goes; its `size` says how many bytes of it are written.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null and for a `size` that no version has,
 * `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was launched or the last launch failed.
 *
 * # Safety
 * `report` is null, or its `size` may be read and as many bytes may be written.
 */
enum orioleResult orioleSimulatorGetReport(orioleSimulatorHandle simulator,
                                           struct orioleLaunchReport *report);

/**
 * How large the error log of the last launch is.
 *
 * `errorLogSize`: where its bytes go, with the zero at its end; 0 where there is no text.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
 *
 * # Safety
 * `errorLogSize` is null or may be written.
 */
enum orioleResult orioleSimulatorGetErrorLogSize(orioleSimulatorHandle simulator,
                                                 size_t *errorLogSize);

/**
 * Why the last launch gave no result: of a fault with block, thread, instruction and its place in the code.
 *
 * `errorLog`: where as many bytes go as `orioleSimulatorGetErrorLogSize` says, the last one zero.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
 *
 * # Safety
 * `errorLog` is null or as many bytes may be written there.
 */
enum orioleResult orioleSimulatorGetErrorLog(orioleSimulatorHandle simulator,
                                             char *errorLog);

/**
 * How many bytes the kernel of the last launch has printed; also before a fault.
 *
 * `size`: where the number goes.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
 *
 * # Safety
 * `size` is null or may be written.
 */
enum orioleResult orioleSimulatorGetPrintedSize(orioleSimulatorHandle simulator, size_t *size);

/**
 * What the kernel of the last launch has printed, block after block, without a zero at the end.
 *
 * `printed`: where as many bytes go as `orioleSimulatorGetPrintedSize` says.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
 *
 * # Safety
 * `printed` is null or as many bytes may be written there.
 */
enum orioleResult orioleSimulatorGetPrinted(orioleSimulatorHandle simulator, char *printed);

/**
 * The error log as `orioleSimulatorGetErrorLog` gives it, as far as there is room: no more than that is written, and the last
 * byte is a zero.
 *
 * `room`: how many bytes may be written at `errorLog`.
 * `errorLogSize`: where the size of all of it goes, with the zero, 1 where there is no text; may be null.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null with room.
 *
 * # Safety
 * `room` bytes may be written at `errorLog`, and `errorLogSize` is null or may be written.
 */
enum orioleResult orioleSimulatorCopyErrorLog(orioleSimulatorHandle simulator,
                                              size_t room,
                                              char *errorLog,
                                              size_t *errorLogSize);

/**
 * What the kernel of the last launch has printed, if there is room for it.
 *
 * `room`: how many bytes may be written at `printed`.
 * `size`: where the number of bytes goes, also where there is no room for them; may be null.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null and where the room is too small.
 *
 * # Safety
 * `room` bytes may be written at `printed`, and `size` is null or may be written.
 */
enum orioleResult orioleSimulatorCopyPrinted(orioleSimulatorHandle simulator,
                                             size_t room,
                                             char *printed,
                                             size_t *size);

/**
 * Makes it a fault to read a register before its producer's latency has passed, or without the scoreboard wait that it
 * needs: code that passes does not depend on luck.
 *
 * `strict`: 0 for no, else yes.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorSetStrict(orioleSimulatorHandle simulator,
                                           int strict);

/**
 * Estimates too how many cycles a launch would take on a device: `orioleSimulatorGetReport`.
 *
 * `timing`: 0 for no, else yes.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorSetTiming(orioleSimulatorHandle simulator, int timing);

/**
 * Sets how many host threads run blocks side by side.
 *
 * `threads`: from 1 on; more than 1024 are 1024.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for 0.
 */
enum orioleResult orioleSimulatorSetThreads(orioleSimulatorHandle simulator, uint32_t threads);

/**
 * Sets how many warp instructions one block may execute before the launch counts as endless, which is a fault.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorSetMaxInstructions(orioleSimulatorHandle simulator,
                                                    uint64_t count);

/**
 * Sets how long a launch may take on the host; longer is a fault. It is for launches that begin later.
 *
 * `milliseconds`: 0 for no bound, as it is at first.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorSetTimeout(orioleSimulatorHandle simulator,
                                            uint64_t milliseconds);

/**
 * Sets the blocks of a cluster (sm_90 and later) for kernels that do not say it themselves; 1, 1, 1 before it is called.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorSetCluster(orioleSimulatorHandle simulator,
                                            struct orioleDim cluster);

/**
 * Runs the blocks in one order, whatever the number of host threads: results of blocks that race for global memory are the
 * same each time.
 *
 * `deterministic`: 0 for no, else yes.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorSetDeterministic(orioleSimulatorHandle simulator,
                                                  int deterministic);

/**
 * Sets how many bytes of the host's memory one launch may take; more is `ORIOLE_ERROR_OUT_OF_MEMORY`. docs/c.md says what
 * counts.
 *
 * `bytes`: 0 for no bound but the host's, as it is at first.
 *
 * Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
 */
enum orioleResult orioleSimulatorSetMemoryLimit(orioleSimulatorHandle simulator,
                                                uint64_t bytes);

/**
 * The version of the library that runs, as `ORIOLE_VERSION` has that of the header.
 */
uint32_t orioleGetVersion(void);

/**
 * The library's version.
 *
 * `major`, `minor`: where its numbers go.
 *
 * Errors: `ORIOLE_ERROR_INVALID_INPUT` where one of them is null; then neither is written.
 *
 * # Safety
 * Each pointer is null or may be written.
 */
enum orioleResult orioleCompilerGetVersion(unsigned int *major, unsigned int *minor);

#ifdef __cplusplus
}  /* extern "C" */
#endif  /* __cplusplus */

#endif  /* ORIOLE_H */
