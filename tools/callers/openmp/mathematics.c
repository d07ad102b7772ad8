// Functions of libm.
#include <math.h>
void mathematics(double *out, const double *in, float *fout, const float *fin, int n) {
#pragma omp target teams distribute parallel for map(from: out[0:n], fout[0:n]) map(to: in[0:n], fin[0:n])
  for (int i = 0; i < n; i++) {
    out[i] = sin(in[i]) * exp(-in[i]) + pow(fabs(in[i]), 1.5) + atan2(in[i], 2.0);
    fout[i] = sinf(fin[i]) + logf(1.0f + fabsf(fin[i])) + tanhf(fin[i]) + cbrtf(fin[i]);
  }
}
