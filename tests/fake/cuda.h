/* The part of the CUDA API that the stand-ins have, declared by us, for programs under test. */
#ifndef TACHO_FAKE_CUDA_H
#define TACHO_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

struct dim3 {
    unsigned x, y, z;
};
typedef void *cudaStream_t, *cudaEvent_t, *cudaGraph_t, *cudaGraphExec_t, *cudaMemPool_t, *cudaLibrary_t;
typedef void *CUcontext, *CUstream, *CUevent, *CUmodule;
typedef const void *CUfunction;
typedef int CUdevice;
typedef uintptr_t CUdeviceptr;

enum {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)
#define cudaStreamNonBlocking 1u

struct launch_attribute { /* id 4: the dimensions of a cluster */
    int id;
    int pad;
    union {
        struct {
            unsigned x, y, z;
        } cluster;
        char bytes[64];
    } value;
};
struct launch_config { /* as the runtime has it */
    struct dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    struct launch_attribute *attributes;
    unsigned attribute_count;
};
struct driver_launch_config { /* as the driver has it */
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
    CUstream stream;
    struct launch_attribute *attributes;
    unsigned attribute_count;
};

int cudaDriverGetVersion(int *version);
int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceCount(int *count);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cudaSetDevice(int device);
int cudaGetDevice(int *device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaDeviceSynchronize(void);
int cudaMalloc(void **pointer, size_t bytes);
int cudaFree(void *pointer);
int cudaMallocHost(void **pointer, size_t bytes);
int cudaFreeHost(void *pointer);
int cudaMallocManaged(void **pointer, size_t bytes, unsigned flags);
int cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream);
int cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
int cudaFreeAsync(void *pointer, cudaStream_t stream);
int cudaMemPoolCreate(cudaMemPool_t *pool, const void *properties);
int cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep);
int cudaMemPoolDestroy(cudaMemPool_t pool);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpy_ptds(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream);
int cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream);
int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream);
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
int cudaMemsetAsync_ptsz(void *to, int value, size_t bytes, cudaStream_t stream);
int cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
                     cudaStream_t stream);
int cudaLaunchKernel_ptsz(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
                          cudaStream_t stream);
int cudaLaunchCooperativeKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
                                size_t shared, cudaStream_t stream);
int cudaLaunchKernelExC(const struct launch_config *config, const void *kernel, void **arguments);
int cudaLaunchKernelExC_ptsz(const struct launch_config *config, const void *kernel, void **arguments);
int cudaStreamCreate(cudaStream_t *stream);
int cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
int cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
int cudaStreamDestroy(cudaStream_t stream);
int cudaStreamSynchronize(cudaStream_t stream);
int cudaStreamSynchronize_ptsz(cudaStream_t stream);
int cudaStreamQuery(cudaStream_t stream);
int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
int cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags);
int cudaStreamBeginCapture(cudaStream_t stream, int mode);
int cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
int cudaStreamIsCapturing(cudaStream_t stream, int *status);
int cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
int cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
int cudaGraphExecDestroy(cudaGraphExec_t exec);
int cudaGraphDestroy(cudaGraph_t graph);
int cudaEventCreate(cudaEvent_t *event);
int cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
int cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
int cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream);
int cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
int cudaEventSynchronize(cudaEvent_t event);
int cudaEventQuery(cudaEvent_t event);
int cudaEventDestroy(cudaEvent_t event);
int cudaProfilerStart(void);
int cudaProfilerStop(void);
int cudaLibraryLoadData(cudaLibrary_t *library, const void *code, void *a, void *b, unsigned c, void *d, void *e,
                        unsigned f);
int cudaLibraryUnload(cudaLibrary_t library);
int cudaLibraryGetKernel(const void **kernel, cudaLibrary_t library, const char *name);

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGet(CUdevice *device, int ordinal);
int cuDeviceGetCount(int *count);
int cuDeviceGetName(char *name, int bytes, CUdevice device);
int cuDeviceGetUuid(void *uuid, CUdevice device);
int cuDeviceGetUuid_v2(void *uuid, CUdevice device);
int cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
int cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
int cuDeviceGetPCIBusId(char *text, int bytes, CUdevice device);
int cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
int cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
int cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
int cuCtxDestroy_v2(CUcontext context);
int cuCtxSetCurrent(CUcontext context);
int cuCtxGetCurrent(CUcontext *context);
int cuCtxPushCurrent_v2(CUcontext context);
int cuCtxPopCurrent_v2(CUcontext *context);
int cuCtxGetDevice(CUdevice *device);
int cuCtxSynchronize(void);
int cuLaunchKernel(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, CUstream stream, void **arguments, void **extra);
int cuLaunchKernel_ptsz(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **arguments, void **extra);
int cuLaunchKernelEx(const struct driver_launch_config *config, CUfunction kernel, void **arguments, void **extra);
int cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes);
int cuMemFree_v2(CUdeviceptr pointer);
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
int cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t words);
int cuStreamCreate(CUstream *stream, unsigned flags);
int cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority);
int cuStreamGetPriority(CUstream stream, int *priority);
int cuStreamGetFlags(CUstream stream, unsigned *flags);
int cuStreamDestroy_v2(CUstream stream);
int cuStreamSynchronize(CUstream stream);
int cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
int cuEventCreate(CUevent *event, unsigned flags);
int cuEventRecord(CUevent event, CUstream stream);
int cuEventSynchronize(CUevent event);
int cuEventDestroy_v2(CUevent event);
int cuGraphLaunch(void *exec, CUstream stream);
int cuModuleLoadData(CUmodule *module, const void *image);
int cuModuleGetFunction(CUfunction *kernel, CUmodule module, const char *name);
int cuModuleUnload(CUmodule module);
int cuProfilerStart(void);
int cuProfilerStop(void);
int cuGetErrorString(int error, const char **text);
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status);

#endif
