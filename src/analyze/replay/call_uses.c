/* The table of calls: see call_uses.h. */
#include "call_uses.h"

#include <stddef.h>

#include "base/text.h"

/* How the names begin, in the runtime and in the driver. */
static const char *const uses[USE_OTHER][16] = {
    [USE_MEMORY] = { "cudaMalloc", "cudaFree", "cudaHost", "cuMemAlloc", "cuMemFree", "cuMemHost", "cuMemCreate",
                     "cuMemMap", "cuMemUnmap", "cuMemRelease", "cuMemSetAccess", NULL },
    [USE_COPY] = { "cudaMemcpy", "cuMemcpy", "cudaMemset", "cuMemset", "cudaMemPrefetch", "cuMemPrefetch", NULL },
    [USE_CODE] = { "cuModule", "cuLibrary", "cuLink", NULL },
    [USE_WAIT] = { "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cuCtxSynchronize",
                   "cuStreamSynchronize", "cuEventSynchronize", NULL },
};

enum call_use call_use_of(const char *name)
{
    int use = 0;

    while (use < USE_OTHER && !text_begins_with_one(name, uses[use]))
        use++;
    return (enum call_use)use;
}
