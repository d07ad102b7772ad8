// A region whose master runs alone, and wakes the others for parallel regions.
#define N 256
void nested(int *out, const int *in, int rounds) {
#pragma omp target map(tofrom: out[0:N]) map(to: in[0:N])
  for (int r = 0; r < rounds; r++) {
    int base = r * in[r & 15];
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
      int part[4];
      for (int k = 0; k < 4; k++) part[k] = in[(i + k) & (N - 1)] * (base + k);
      out[i] += part[0] + part[1] + part[2] + part[3];
    }
  }
}
