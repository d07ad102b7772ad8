// Loops in chunks, one behind the other.
void schedule(int *out, const int *in, int n) {
#pragma omp target parallel map(tofrom: out[0:n]) map(to: in[0:n])
  {
#pragma omp for schedule(static, 3)
    for (int i = 0; i < n; i++) { int v = in[i]; while (v > 9) v = v / 10 + v % 10; out[i] = v; }
#pragma omp for schedule(static, 1)
    for (int i = 0; i < n; i++) out[i] += in[n - 1 - i];
  }
}
