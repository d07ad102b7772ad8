// Functions that are called from device code: recursive, by pointer, variadic.
#include <stdio.h>
#pragma omp begin declare target
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static int twice(int x) { return 2 * x; }
__attribute__((noinline)) static int square(int x) { return x * x; }
typedef int (*step)(int);
step steps[2] = {twice, square};
#pragma omp end declare target
void calls(int *out, const int *in, int n) {
#pragma omp target teams distribute parallel for map(from: out[0:n]) map(to: in[0:n])
  for (int i = 0; i < n; i++) {
    step f = in[i] & 1 ? twice : square;
    out[i] = f(in[i]) + fib(in[i] & 7);
    if (in[i] > 1000000) printf("%d %d\n", i, out[i]);
  }
}
