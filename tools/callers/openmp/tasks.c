// Tasks in a parallel region.
void tasks(int *out, const int *in, int n) {
#pragma omp target map(tofrom: out[0:n]) map(to: in[0:n])
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(i)
    { int v = in[i]; for (int k = 0; k < v % 7; k++) v = v * 3 + k; out[i] = v; }
  }
}
