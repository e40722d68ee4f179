/* libcuda.so.1: the driver's entry points on the model of the GPU. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_state.h"

/* As the real driver does it: the tool comes first, while there is no CUDA yet. */
static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (start)
        start();
}

EXPORT int cuInit(unsigned flags)
{
    static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static int begun;
    pthread_mutex_lock(&lock);
    if (!begun) {
        begun = 1;
        inject();
        gpu.pid = getpid();
        gpu.initialised = fake_get("devices") > 0;
        report_resource(RESOURCE_INITIALISED, NULL, NULL, NULL);
    }
    pthread_mutex_unlock(&lock);
    struct {
        unsigned flags;
    } params = { flags };
    struct fake_call call;
    ENTER(call, DRIVER, cuInit, &params);
    return fake_leave(&call, fake_get("devices") > 0 ? gpu_ready() : NO_DEVICE);
}

/* ---- Devices: no call of these is reported, tools may ask them at any time after cuInit() ---------------------- */

EXPORT int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

static int device_valid(CUdevice device)
{
    int ready = gpu_ready();
    return ready ? ready : device >= 0 && device < fake_get("devices") && device < DEVICES_MAX ? 0 : INVALID_DEVICE;
}

EXPORT int cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return device_valid(ordinal);
}

EXPORT int cuDeviceGetCount(int *count)
{
    *count = (int)fake_get("devices");
    return gpu_ready();
}

EXPORT int cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    return device_valid(device);
}

EXPORT int cuDeviceGetUuid(void *uuid, CUdevice device)
{
    for (int i = 0; i < 16; i++)
        ((unsigned char *)uuid)[i] = (unsigned char)(0xa0 + device * 16 + i);
    return device_valid(device);
}

EXPORT int cuDeviceGetUuid_v2(void *uuid, CUdevice device)
{
    return cuDeviceGetUuid(uuid, device);
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    *bytes = (size_t)(80 + device) << 30;
    return device_valid(device);
}

/* Not counted as a call inside of a callback: it neither waits nor changes anything. */
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *bytes);
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *bytes)
{
    *bytes = (size_t)1 << 50;
    *free_bytes = *bytes / 100 * (size_t)fake_get("free_share");
    return gpu_ready();
}

/* Launches name kernels, as those of a runtime since 12.0 do: the older call does not know them. */
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function);
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    (void)value, (void)attribute, (void)function;
    return 400; /* CUDA_ERROR_INVALID_HANDLE */
}

EXPORT int cuKernelGetAttribute(int *value, int attribute, void *kernel, CUdevice device);
EXPORT int cuKernelGetAttribute(int *value, int attribute, void *kernel, CUdevice device)
{
    const struct gpu_kernel *of = kernel;
    *value = (int)(attribute == 4 ? of->registers : attribute == 1 ? of->static_shared : of->local_bytes);
    return device_valid(device);
}

EXPORT int cuDeviceGetPCIBusId(char *text, int bytes, CUdevice device)
{
    snprintf(text, (size_t)bytes, "0000:%02X:00.0", 0x41 + device);
    return device_valid(device);
}

/* Every attribute has a value of its own, so that a mix-up shows. */
EXPORT int gpu_attribute(int *value, int attribute, int device)
{
    static const struct {
        int attribute, value;
    } known[] = {
        { 33, 0x41 }, { 34, 0 },   { 50, 0 }, /* PCI bus, device and domain */
        { 75, 9 },    { 76, 0 },              /* compute capability */
        { 10, 32 },   { 16, 132 }, { 13, 1980000 },
    };
    if (attribute < 1 || attribute > 148)
        return INVALID_VALUE;
    *value = attribute * 10 + 1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].attribute == attribute)
            *value = known[i].value + (attribute == 33 ? device : 0);
    return device_valid(device);
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    return gpu_attribute(value, attribute, device);
}

EXPORT int cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = device_valid(device) == 0 && gpu.primary[device] != NULL;
    return device_valid(device);
}

EXPORT int cuGetErrorString(int error, const char **text)
{
    *text = error == 0 ? "no error" : "an error";
    return 0;
}

EXPORT int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
    (void)version;
    (void)flags;
    *function = dlsym(RTLD_DEFAULT, symbol);
    if (status)
        *status = *function ? 0 : 1;
    return *function ? 0 : NOT_FOUND;
}

/* ---- Contexts -------------------------------------------------------------------------------------------------- */

EXPORT int cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    struct {
        CUcontext *context;
        CUdevice device;
    } params = { context, device };
    struct fake_call call;
    if (device_valid(device))
        return device_valid(device);
    ENTER(call, DRIVER, cuDevicePrimaryCtxRetain, &params);
    *context = gpu_primary(device);
    return fake_leave(&call, 0);
}

EXPORT int cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    struct {
        CUcontext *context;
        unsigned flags;
        CUdevice device;
    } params = { context, flags, device };
    struct fake_call call;
    if (device_valid(device))
        return device_valid(device);
    ENTER(call, DRIVER, cuCtxCreate_v2, &params);
    *context = context_create(device);
    gpu_set_current(*context);
    return fake_leave(&call, 0);
}

EXPORT int cuCtxDestroy_v2(CUcontext context)
{
    struct {
        CUcontext context;
    } params = { context };
    struct fake_call call;
    ENTER(call, DRIVER, cuCtxDestroy_v2, &params);
    context_drain();
    report_resource(RESOURCE_CONTEXT_DESTROYED, context, NULL, NULL);
    if (gpu_current() == context)
        gpu_set_current(NULL);
    return fake_leave(&call, 0);
}

EXPORT int cuCtxSetCurrent(CUcontext context)
{
    struct {
        CUcontext context;
    } params = { context };
    struct fake_call call;
    ENTER(call, DRIVER, cuCtxSetCurrent, &params);
    gpu_set_current(context);
    return fake_leave(&call, gpu_ready());
}

EXPORT int cuCtxGetCurrent(CUcontext *context)
{
    struct {
        CUcontext *context;
    } params = { context };
    struct fake_call call;
    ENTER(call, DRIVER, cuCtxGetCurrent, &params);
    *context = gpu_current();
    return fake_leave(&call, gpu_ready());
}

static __thread struct {
    CUcontext stack[8];
    int depth;
} pushed;

EXPORT int cuCtxPushCurrent_v2(CUcontext context)
{
    if (pushed.depth == 8)
        return INVALID_VALUE;
    pushed.stack[pushed.depth++] = gpu_current();
    gpu_set_current(context);
    return gpu_ready();
}

EXPORT int cuCtxPopCurrent_v2(CUcontext *context)
{
    if (pushed.depth == 0)
        return INVALID_VALUE;
    if (context)
        *context = gpu_current();
    gpu_set_current(pushed.stack[--pushed.depth]);
    return gpu_ready();
}

EXPORT int cuCtxGetDevice(CUdevice *device)
{
    uint32_t of = 0;
    int result = fake_context_device(NULL, &of);
    *device = (CUdevice)of;
    return result == 0 ? gpu_ready() : 201;
}

EXPORT int cuCtxSynchronize(void)
{
    struct fake_call call;
    ENTER(call, DRIVER, cuCtxSynchronize, NULL);
    return fake_leave(&call, gpu_ready() ? gpu_ready() : gpu_synchronize());
}

/* ---- Launches -------------------------------------------------------------------------------------------------- */

struct launch_params {
    CUfunction kernel;
    unsigned gx, gy, gz, bx, by, bz, shared;
    CUstream stream;
    void **arguments, **extra;
};

static int launch(const struct launch_params *params, int per_thread)
{
    struct gpu_launch what = {
        .kernel = params->kernel,
        .grid = { params->gx, params->gy, params->gz },
        .block = { params->bx, params->by, params->bz },
        .shared = params->shared,
    };
    return gpu_ready() ? gpu_ready() : gpu_launch(&what, params->stream, per_thread);
}

EXPORT int cuLaunchKernel(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra)
{
    struct launch_params params = { kernel, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra };
    struct fake_call call;
    ENTER_LAUNCH(call, DRIVER, cuLaunchKernel, &params, kernel);
    return fake_leave(&call, launch(&params, 0));
}

EXPORT int cuLaunchKernel_ptsz(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra)
{
    struct launch_params params = { kernel, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra };
    struct fake_call call;
    ENTER_LAUNCH(call, DRIVER, cuLaunchKernel_ptsz, &params, kernel);
    return fake_leave(&call, launch(&params, 1));
}

EXPORT int cuLaunchKernelEx(const struct driver_launch_config *config, CUfunction kernel, void **arguments,
                            void **extra)
{
    struct {
        const struct driver_launch_config *config;
        CUfunction kernel;
        void **arguments, **extra;
    } params = { config, kernel, arguments, extra };
    struct gpu_launch what = {
        .kernel = kernel,
        .grid = { config->grid_x, config->grid_y, config->grid_z },
        .block = { config->block_x, config->block_y, config->block_z },
        .shared = config->shared,
    };
    for (unsigned i = 0; i < config->attribute_count; i++)
        if (config->attributes[i].id == 4)
            memcpy(what.cluster, &config->attributes[i].value.cluster, sizeof what.cluster);
    struct fake_call call;
    ENTER_LAUNCH(call, DRIVER, cuLaunchKernelEx, &params, kernel);
    return fake_leave(&call, gpu_ready() ? gpu_ready() : gpu_launch(&what, config->stream, 0));
}

EXPORT int cuGraphLaunch(void *exec, CUstream stream)
{
    struct {
        void *exec;
        CUstream stream;
    } params = { exec, stream };
    struct fake_call call;
    ENTER(call, DRIVER, cuGraphLaunch, &params);
    return fake_leave(&call, gpu_graph_launch(exec, stream, 0));
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

EXPORT int cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes)
{
    struct {
        CUdeviceptr *pointer;
        size_t bytes;
    } params = { pointer, bytes };
    struct fake_call call;
    void *address = NULL;
    ENTER(call, DRIVER, cuMemAlloc_v2, &params);
    int result = gpu_allocate(&address, bytes, 3, NULL, NULL);
    *pointer = (CUdeviceptr)address;
    return fake_leave(&call, result);
}

EXPORT int cuMemFree_v2(CUdeviceptr pointer)
{
    struct {
        CUdeviceptr pointer;
    } params = { pointer };
    struct fake_call call;
    ENTER(call, DRIVER, cuMemFree_v2, &params);
    return fake_leave(&call, gpu_free((void *)pointer, 0));
}

EXPORT int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    struct {
        CUdeviceptr to;
        const void *from;
        size_t bytes;
    } params = { to, from, bytes };
    struct fake_call call;
    ENTER(call, DRIVER, cuMemcpyHtoD_v2, &params);
    return fake_leave(&call, gpu_copy(cudaMemcpyHostToDevice, (void *)to, from, bytes, NULL, 0, 1));
}

EXPORT int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    struct {
        void *to;
        CUdeviceptr from;
        size_t bytes;
    } params = { to, from, bytes };
    struct fake_call call;
    ENTER(call, DRIVER, cuMemcpyDtoH_v2, &params);
    return fake_leave(&call, gpu_copy(cudaMemcpyDeviceToHost, to, (void *)from, bytes, NULL, 0, 1));
}

EXPORT int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct {
        CUdeviceptr to, from;
        size_t bytes;
        CUstream stream;
    } params = { to, from, bytes, stream };
    struct fake_call call;
    ENTER(call, DRIVER, cuMemcpyDtoDAsync_v2, &params);
    return fake_leave(&call, gpu_copy(cudaMemcpyDeviceToDevice, (void *)to, (void *)from, bytes, stream, 0, 0));
}

EXPORT int cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t words)
{
    struct {
        CUdeviceptr to;
        unsigned value;
        size_t words;
    } params = { to, value, words };
    struct fake_call call;
    ENTER(call, DRIVER, cuMemsetD32_v2, &params);
    return fake_leave(&call, gpu_fill((void *)to, value, words * 4, NULL, 0, 1));
}

/* ---- Streams and events ---------------------------------------------------------------------------------------- */

EXPORT int cuStreamCreate(CUstream *stream, unsigned flags)
{
    struct {
        CUstream *stream;
        unsigned flags;
    } params = { stream, flags };
    struct fake_call call;
    ENTER(call, DRIVER, cuStreamCreate, &params);
    return fake_leave(&call, gpu_stream_create(stream, flags, 0));
}

EXPORT int cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    struct {
        CUstream *stream;
        unsigned flags;
        int priority;
    } params = { stream, flags, priority };
    struct fake_call call;
    ENTER(call, DRIVER, cuStreamCreateWithPriority, &params);
    return fake_leave(&call, gpu_stream_create(stream, flags, priority));
}

EXPORT int cuStreamGetPriority(CUstream stream, int *priority)
{
    *priority = stream_of(stream, 0)->priority;
    return gpu_ready();
}

EXPORT int cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    *flags = stream_of(stream, 0)->flags;
    return gpu_ready();
}

EXPORT int cuStreamDestroy_v2(CUstream stream)
{
    struct {
        CUstream stream;
    } params = { stream };
    struct fake_call call;
    ENTER(call, DRIVER, cuStreamDestroy_v2, &params);
    return fake_leave(&call, gpu_stream_destroy(stream));
}

EXPORT int cuStreamSynchronize(CUstream stream)
{
    struct {
        CUstream stream;
    } params = { stream };
    struct fake_call call;
    ENTER(call, DRIVER, cuStreamSynchronize, &params);
    return fake_leave(&call, gpu_stream_synchronize(stream, 0));
}

EXPORT int cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    struct {
        CUstream stream;
        CUevent event;
        unsigned flags;
    } params = { stream, event, flags };
    struct fake_call call;
    ENTER(call, DRIVER, cuStreamWaitEvent, &params);
    return fake_leave(&call, gpu_stream_wait(stream, event, 0));
}

EXPORT int cuEventCreate(CUevent *event, unsigned flags)
{
    struct {
        CUevent *event;
        unsigned flags;
    } params = { event, flags };
    struct fake_call call;
    ENTER(call, DRIVER, cuEventCreate, &params);
    return fake_leave(&call, gpu_event_create(event));
}

EXPORT int cuEventRecord(CUevent event, CUstream stream)
{
    struct {
        CUevent event;
        CUstream stream;
    } params = { event, stream };
    struct fake_call call;
    ENTER(call, DRIVER, cuEventRecord, &params);
    return fake_leave(&call, gpu_event_record(event, stream, 0));
}

EXPORT int cuEventSynchronize(CUevent event)
{
    struct {
        CUevent event;
    } params = { event };
    struct fake_call call;
    ENTER(call, DRIVER, cuEventSynchronize, &params);
    return fake_leave(&call, gpu_event_synchronize(event));
}

EXPORT int cuEventDestroy_v2(CUevent event)
{
    struct {
        CUevent event;
    } params = { event };
    struct fake_call call;
    ENTER(call, DRIVER, cuEventDestroy_v2, &params);
    return fake_leave(&call, gpu_event_destroy(event));
}

/* ---- Modules, and the tools' switch ---------------------------------------------------------------------------- */

EXPORT int cuModuleLoadData(CUmodule *module, const void *image)
{
    struct {
        CUmodule *module;
        const void *image;
    } params = { module, image };
    struct fake_call call;
    ENTER(call, DRIVER, cuModuleLoadData, &params);
    return fake_leave(&call, gpu_module_load(module, image));
}

EXPORT int cuModuleGetFunction(CUfunction *kernel, CUmodule module, const char *name)
{
    struct {
        CUfunction *kernel;
        CUmodule module;
        const char *name;
    } params = { kernel, module, name };
    struct fake_call call;
    ENTER(call, DRIVER, cuModuleGetFunction, &params);
    return fake_leave(&call, gpu_module_kernel(kernel, module, name));
}

EXPORT int cuModuleUnload(CUmodule module)
{
    struct {
        CUmodule module;
    } params = { module };
    struct fake_call call;
    ENTER(call, DRIVER, cuModuleUnload, &params);
    return fake_leave(&call, gpu_module_unload(module));
}

EXPORT int cuProfilerStart(void)
{
    struct fake_call call;
    ENTER(call, DRIVER, cuProfilerStart, NULL);
    return fake_leave(&call, gpu_ready());
}

EXPORT int cuProfilerStop(void)
{
    struct fake_call call;
    ENTER(call, DRIVER, cuProfilerStop, NULL);
    return fake_leave(&call, gpu_ready());
}
