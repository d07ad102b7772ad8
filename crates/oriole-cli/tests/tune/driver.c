/* A CUDA driver without a device, for tests of `oriole tune --engine gpu`.
 *
 * Memory is the host's. The one kernel it knows is `chains` of tune.rs, which it computes by itself, whatever the code is. A launch
 * takes as long as the code's bytes say (1 to 2 ms): the test computes the same. With WRONG in the environment all code but that which
 * was loaded first leaves something wrong; LOG names a file for what was taken and not given back. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, WORDS = 14, OUT_OF_MEMORY = 2, INVALID = 1, NOT_FOUND = 500 };

static int buffers, modules, events, launches;
static uint32_t first_code, this_code;

static void log_rest(void) {
  const char *path = getenv("LOG");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) {
    fprintf(file, "%d buffers, %d modules, %d events, %s\n", buffers, modules, events, launches ? "launched" : "idle");
    fclose(file);
  }
}

int cuInit(unsigned flags) { return flags ? INVALID : atexit(log_rest); }
int cuDeviceGet(int *device, int number) { *device = number; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 8 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = &launches; return 0; }
int cuCtxSetCurrent(void *context) { return context == &launches ? 0 : INVALID; }

/* FNV-1a of the whole file, whose end is that of its program headers. */
static uint32_t hash(const uint8_t *image) {
  uint64_t headers;
  uint16_t size, count;
  memcpy(&headers, image + 32, 8);
  memcpy(&size, image + 54, 2);
  memcpy(&count, image + 56, 2);
  uint32_t value = 2166136261u;
  for (uint64_t at = 0; at < headers + (uint64_t)size * count; at++) value = (value ^ image[at]) * 16777619u;
  return value;
}

int cuModuleLoadData(void **module, const void *image) {
  this_code = hash(image);
  if (!first_code) first_code = this_code;
  modules++;
  *module = &modules;
  return 0;
}
int cuModuleUnload(void *module) { (void)module; modules--; return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  (void)module;
  *function = &launches;
  return strcmp(name, "chains") ? NOT_FOUND : 0;
}
int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name) {
  (void)address, (void)size, (void)module, (void)name;
  return NOT_FOUND;
}
int cuFuncSetAttribute(void *function, int attribute, int value) { (void)function, (void)attribute, (void)value; return 0; }

int cuMemAlloc_v2(uint64_t *address, size_t size) {
  void *memory = malloc(size);
  *address = (uint64_t)(uintptr_t)memory;
  buffers++;
  return memory ? 0 : OUT_OF_MEMORY;
}
int cuMemFree_v2(uint64_t address) { free((void *)(uintptr_t)address); buffers--; return 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) { memcpy((void *)(uintptr_t)to, from, size); return 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) { memcpy(to, (void *)(uintptr_t)from, size); return 0; }

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
  if (function != &launches || gx * gy * gz != 1 || bx != THREADS || by * bz != 1 || shared || stream || extra) return INVALID;
  uint64_t in, out;
  memcpy(&in, parameters[0], 8);
  memcpy(&out, parameters[1], 8);
  const uint32_t *words = (const uint32_t *)(uintptr_t)in;
  uint32_t *sums = (uint32_t *)(uintptr_t)out;
  for (int thread = 0; thread < THREADS; thread++) {
    uint32_t sum = getenv("WRONG") && this_code != first_code;
    for (uint32_t word = 0; word < WORDS; word++) {
      uint32_t x = words[word * THREADS + thread];
      for (uint32_t round = 0; round < word % 4 + 1; round++) x = x * x + word;
      sum += x;
    }
    sums[thread] = sum;
  }
  launches++;
  return 0;
}
int cuCtxSynchronize(void) { return 0; }

int cuEventCreate(void **event, unsigned flags) { events++; *event = &events; return flags ? INVALID : 0; }
int cuEventRecord(void *event, void *stream) { return event == &events && !stream ? 0 : INVALID; }
int cuEventSynchronize(void *event) { return event == &events ? 0 : INVALID; }
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  (void)from, (void)to;
  /* The first code is the one that all options leave as it is: others are faster. */
  *milliseconds = (this_code == first_code ? 2.0f : 1.0f) + (float)(this_code % 1024) / 1024.0f;
  return 0;
}
int cuEventDestroy_v2(void *event) { (void)event; events--; return 0; }
int cuGetErrorString(int code, const char **text) { *text = code == NOT_FOUND ? "not found" : "invalid"; return 0; }
