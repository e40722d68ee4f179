/* A library that makes a program out of any other that uses CUDA (the stand-in): preloaded, it
 * launches a kernel before main(). */
#include "../trace/cuda_truth.h"

__attribute__((constructor)) static void use_cuda(void)
{
    cudaLaunchKernel(fake_kernel("before_main"), ONE, ONE, NULL, 0, NULL);
    cudaDeviceSynchronize();
}
