extern __device__ int twice(int x);
__global__ void apply(int *p) { p[threadIdx.x] = twice(p[threadIdx.x]); }
