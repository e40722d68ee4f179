/* What the programs for CUDA share: they say on stdout, one JSON object a line, what they have given to the GPU. */
#ifndef TACHO_TESTS_CUDA_TRUTH_H
#define TACHO_TESTS_CUDA_TRUTH_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fake/cuda.h"
#include "../fake/fake.h"

#define ONE ((struct dim3){ 1, 1, 1 })

/* A call that must succeed. */
#define MUST(call)                                                                                                   \
    do {                                                                                                             \
        int must_ = (call);                                                                                          \
        if (must_) {                                                                                                 \
            fprintf(stderr, "%s: %d\n", #call, must_);                                                               \
            exit(99);                                                                                                \
        }                                                                                                            \
    } while (0)

/* The thread's last piece of work, with more fields behind it. */
static inline void truth(const char *what, const char *format, ...)
{
    struct fake_truth last = fake_last();
    char more[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(more, sizeof more, format, list);
    va_end(list);
    printf("{\"what\": \"%s\", \"start\": %llu, \"end\": %llu, \"correlation\": %u, \"device\": %u, \"context\": %u, "
           "\"stream\": %u, %s}\n",
           what, (unsigned long long)last.start_ns, (unsigned long long)last.end_ns, last.correlation, last.device,
           last.context, last.stream, more);
}

static inline void truth_counters(void)
{
    printf("{\"what\": \"counters\"");
    const char *names[] = { "calls_in_callbacks", "dirty_requests", "requests",    "refused_requests", "dropped",
                            "completions",        "flushes",        "subscribers", "recorded_kernels", "disabled" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        printf(", \"%s\": %lld", names[i], (long long)fake_get(names[i]));
    printf("}\n");
    fflush(stdout);
}

static inline void launch(const char *name, cudaStream_t stream)
{
    MUST(cudaLaunchKernel(fake_kernel(name), ONE, ONE, NULL, 0, stream));
}

#endif
