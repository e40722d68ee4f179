/* Finds the row of cuda_calls.def that a call belongs to. The lookup runs once for each call that a version of CUPTI
 * knows, not each time a program makes the call; rows whose names differ in length are skipped at once. */
#include "cuda_calls.h"

#include <string.h>

#include "base/array.h"

static const struct cuda_call cuda_call_table[] = {
#define CUDA_CALL(domain, name, group, work) { #name, sizeof #name - 1, CUDA_##domain, CUDA_##group, CUDA_##work, 0 },
#define CUDA_WAIT(domain, name, wait) \
    { #name, sizeof #name - 1, CUDA_##domain, CUDA_SYNC, CUDA_NONE, CUDA_WAIT_##wait },
#include "cuda_calls.def"
#undef CUDA_CALL
#undef CUDA_WAIT
};
enum { CALL_COUNT = COUNT_OF(cuda_call_table) };

/* The bytes before a suffix that does not count, or `bytes` if there is none. */
static uint32_t without_suffix(const char *name, uint32_t bytes)
{
    uint32_t digits = 0;

    if (bytes > 5 && (memcmp(name + bytes - 5, "_ptsz", 5) == 0 || memcmp(name + bytes - 5, "_ptds", 5) == 0))
        return bytes - 5;
    while (digits < bytes && name[bytes - digits - 1] >= '0' && name[bytes - digits - 1] <= '9')
        digits++;
    if (digits > 0 && bytes > digits + 2 && memcmp(name + bytes - digits - 2, "_v", 2) == 0)
        return bytes - digits - 2;
    return bytes;
}

uint32_t cuda_call_name_bytes(const char *name)
{
    uint32_t bytes = (uint32_t)strlen(name), less;

    while ((less = without_suffix(name, bytes)) < bytes)
        bytes = less;
    return bytes;
}

int cuda_call_per_thread(const char *name)
{
    return strstr(name, "_ptsz") != NULL || strstr(name, "_ptds") != NULL;
}

const struct cuda_call *cuda_call_find(enum cuda_domain domain, const char *name)
{
    uint32_t bytes = cuda_call_name_bytes(name);

    for (uint32_t i = 0; i < CALL_COUNT; i++)
        if (cuda_call_table[i].name_bytes == bytes && cuda_call_table[i].domain == domain &&
            memcmp(cuda_call_table[i].name, name, bytes) == 0)
            return &cuda_call_table[i];
    return NULL;
}

enum cuda_launch_kind cuda_call_launch_kind(const char *name)
{
    static const struct {
        const char *name;
        enum cuda_launch_kind kind;
    } launches[] = {
        { "cuLaunchKernel", CUDA_LAUNCH_PLAIN },
        { "cuLaunchKernelEx", CUDA_LAUNCH_EX },
        { "cuLaunchCooperativeKernel", CUDA_LAUNCH_COOPERATIVE },
        { "cuGraphLaunch", CUDA_LAUNCH_GRAPH },
        { "cuGraphLaunchWithArguments", CUDA_LAUNCH_GRAPH },
        { "cuStreamBeginCapture", CUDA_LAUNCH_CAPTURE_BEGIN },
        { "cuStreamBeginCaptureToCig", CUDA_LAUNCH_CAPTURE_BEGIN },
        { "cuStreamBeginCaptureToGraph", CUDA_LAUNCH_CAPTURE_BEGIN },
        { "cuStreamEndCapture", CUDA_LAUNCH_CAPTURE_END },
        { "cuStreamEndCaptureToCig", CUDA_LAUNCH_CAPTURE_END },
        { "cudaStreamBeginCapture", CUDA_LAUNCH_CAPTURE_BEGIN },
        { "cudaStreamBeginCaptureToGraph", CUDA_LAUNCH_CAPTURE_BEGIN },
        { "cudaStreamEndCapture", CUDA_LAUNCH_CAPTURE_END },
    };
    uint32_t bytes = cuda_call_name_bytes(name);

    for (size_t i = 0; i < COUNT_OF(launches); i++)
        if (strlen(launches[i].name) == bytes && memcmp(name, launches[i].name, bytes) == 0)
            return launches[i].kind;
    return CUDA_LAUNCH_NONE;
}

const struct cuda_call *cuda_calls(uint32_t *count)
{
    *count = CALL_COUNT;
    return cuda_call_table;
}
