// Sections, master, barriers, thread numbers.
#include <omp.h>
void sections(int *out, int n) {
#pragma omp target map(tofrom: out[0:n])
#pragma omp parallel num_threads(64)
  {
    int me = omp_get_thread_num(), all = omp_get_num_threads();
#pragma omp sections
    {
#pragma omp section
      { for (int i = 0; i < n / 2; i++) out[i] = i * 2; }
#pragma omp section
      { for (int i = n / 2; i < n; i++) out[i] = i * 3; }
    }
#pragma omp barrier
    for (int i = me; i < n; i += all) out[i] += 5 + (me >= all);
#pragma omp barrier
#pragma omp master
    out[0] = 7;
  }
}
