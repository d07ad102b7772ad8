// Atomics that capture, and of several kinds, in a team of threads.
void capture(int *list, int *count, float *sum, const float *in, int n) {
#pragma omp target parallel for map(tofrom: list[0:n], count[0:1], sum[0:1]) map(to: in[0:n])
  for (int i = 0; i < n; i++) {
    if (in[i] > 0.5f) {
      int at;
#pragma omp atomic capture
      at = (*count)++;
      list[at] = i;
    }
#pragma omp atomic
    *sum += in[i];
  }
}
