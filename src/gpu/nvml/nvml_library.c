/* NVML needs no privileges. With more privileges than its caller (set-uid, file capabilities) this program asks only
 * the loader's own list of folders, which the caller cannot change: see AT_SECURE in ld.so(8). */
#include "nvml_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

struct nvml_calls nvml;

static const struct {
    const char *name;
    size_t offset;
    int is_needed;
} calls[] = {
#define NVML_CALL(name, parameters) { #name, offsetof(struct nvml_calls, name), 0 },
#define NVML_NEEDED(name, parameters) { #name, offsetof(struct nvml_calls, name), 1 },
#include "nvml_calls.def"
};

const char *nvml_load(void)
{
    static char sentence[512];
    const char *chosen = getauxval(AT_SECURE) ? NULL : getenv("TACHO_NVML");
    const char *file = chosen && *chosen ? chosen : "libnvidia-ml.so.1";
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        snprintf(sentence, sizeof sentence, "Cannot load NVML: %s. It is part of the NVIDIA driver.", dlerror());
        return sentence;
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *function = dlsym(library, calls[i].name);
        if (!function && calls[i].is_needed) {
            snprintf(sentence, sizeof sentence, "Cannot use NVML: %s has no %s.", file, calls[i].name);
            return sentence;
        }
        *(void **)((char *)&nvml + calls[i].offset) = function;
    }
    int result = nvml.nvmlInit_v2();
    if (result) {
        snprintf(sentence, sizeof sentence, "Cannot initialise NVML: %s.", nvml_result_text((uint32_t)result));
        return sentence;
    }
    return NULL;
}
