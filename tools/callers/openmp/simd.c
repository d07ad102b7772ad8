// Loops that are simd, collapsed and scheduled in chunks.
void simd(float *restrict c, const float *restrict a, const float *restrict b, int n) {
#pragma omp target teams distribute parallel for simd collapse(2) schedule(static, 4) map(from: c[0:n*n]) map(to: a[0:n*n], b[0:n*n])
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
#pragma omp simd reduction(+:s)
      for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}
