// Sums, products, extrema and bits.
#define N 1000
void reductions(const double *a, const int *b, double *out, int *bits) {
  double s = 0, p = 1; int m = -1000000, x = 0;
#pragma omp target parallel for reduction(+:s) map(to: a[0:N]) map(tofrom: s)
  for (int i = 0; i < N; i++) s += a[i] * a[i];
#pragma omp target parallel for reduction(max:m) reduction(^:x) map(to: b[0:N]) map(tofrom: m, x)
  for (int i = 0; i < N; i++) { if (b[i] > m) m = b[i]; x ^= b[i]; }
#pragma omp target parallel for reduction(*:p) map(to: a[0:N]) map(tofrom: p)
  for (int i = 0; i < 20; i++) p *= a[i];
  out[0] = s; out[1] = p; bits[0] = m; bits[1] = x;
}
