__global__ void scale(float *p, float f) { p[blockIdx.x * blockDim.x + threadIdx.x] *= f; }
int main() { float *p = nullptr; scale<<<1, 32>>>(p, 2.0f); return 0; }
