/* NVML needs no privileges. With more privileges than its caller this program has no environment (privileges.h), so it
 * asks only the loader's own list of folders, which the caller cannot change: see AT_SECURE in ld.so(8). */
#include "nvml_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"

struct nvml_calls nvml;

static const struct {
    const char *name;
    size_t offset;
    int is_needed;
} nvml_library_calls[] = {
#define NVML_CALL(name, parameters) { #name, offsetof(struct nvml_calls, name), 0 },
#define NVML_NEEDED(name, parameters) { #name, offsetof(struct nvml_calls, name), 1 },
#include "nvml_calls.def"
};

int nvml_load(struct refusal *why)
{
    const char *chosen = getenv("TACHO_NVML");
    const char *file = chosen && *chosen ? chosen : "libnvidia-ml.so.1";
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return refusal_set(why, GPU_REFUSAL_NVML_MISSING, dlerror(), NULL);
    for (size_t i = 0; i < COUNT_OF(nvml_library_calls); i++) {
        void *function = dlsym(library, nvml_library_calls[i].name);
        if (!function && nvml_library_calls[i].is_needed)
            return refusal_set(why, GPU_REFUSAL_NVML_OLD, file, nvml_library_calls[i].name);
        *(void **)((char *)&nvml + nvml_library_calls[i].offset) = function;
    }
    int result = nvml.nvmlInit_v2();
    return result ? refusal_set(why, GPU_REFUSAL_NVML_FAILED, nvml_result_text((uint32_t)result), NULL) : 0;
}
