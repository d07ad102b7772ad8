// Several kernels over the same data, with private arrays.
void stencil(double *restrict u, double *restrict v, int n, int steps) {
#pragma omp target data map(tofrom: u[0:n*n]) map(alloc: v[0:n*n])
  for (int s = 0; s < steps; s++) {
#pragma omp target teams distribute
    for (int i = 1; i < n - 1; i++) {
      double w[3] = {0.25, 0.5, 0.25};
#pragma omp parallel for
      for (int j = 1; j < n - 1; j++) {
        double t = 0;
        for (int k = 0; k < 3; k++) t += w[k] * (u[(i + k - 1) * n + j] + u[i * n + j + k - 1]);
        v[i * n + j] = 0.5 * t;
      }
    }
#pragma omp target teams distribute parallel for collapse(2)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++) u[i * n + j] = v[i * n + j];
  }
}
