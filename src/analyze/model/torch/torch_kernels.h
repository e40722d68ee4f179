/* Names of kernels as torch.profiler has them. It demangles them as c++filt does ("(anonymous namespace)::", "10"),
 * nsys in a way of its own ("<unnamed>::", "(int)10"); the column demangledName has the names of nsys. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_TORCH_KERNELS_H
#define TACHO_ANALYZE_MODEL_TORCH_TORCH_KERNELS_H

#include "analyze/engine/keys.h"
#include "report/reader/reader.h"

struct torch_kernels {
    struct keys mangled; /* string ids */
    int64_t *names;      /* owned; by key, a string id */
};

/* Reads the names that the report has; an imported report has none. Needs torch_kernels_free() after an error too. */
int torch_kernels_read(struct torch_kernels *kernels, struct report *report, struct error *err);
void torch_kernels_free(struct torch_kernels *kernels);

/* The string id of torch's name for a kernel; if it is not known, the demangledName, which may be -1. */
static inline int64_t torch_kernel_name(const struct torch_kernels *kernels, int64_t mangled, int64_t demangled)
{
    uint32_t key = keys_find(&kernels->mangled, &mangled);

    return key == NO_KEY ? demangled : kernels->names[key];
}

#endif
