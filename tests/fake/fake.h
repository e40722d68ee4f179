/* What programs under test steer the stand-ins of the vendor's libraries with, and learn the truth from.
 *
 * The stand-ins (libcuda, libcudart, libcupti) are ours from the first line to the last. They speak the vendor's ABI
 * and model a GPU: streams are queues, work takes as long as the program says, the GPU's clock is off and drifts.
 * Nothing is computed. A setting is a number; it begins as the variable TACHO_FAKE_<NAME>, and fake_set() changes it at
 * any time. TACHO_FAKE_VALUES may name a file that then holds them all, in the order of this list, 8 bytes each. */
#ifndef TACHO_FAKE_FAKE_H
#define TACHO_FAKE_FAKE_H

#include <stddef.h>
#include <stdint.h>

/* name, what it is to begin with */
#define FAKE_SETTINGS(X)                                                                                             \
    X(devices, 1)                                                                                                    \
    X(duration_ns, 10000)        /* how long the GPU works at what comes next */                                      \
    X(latency_ns, 3000)          /* from the call to the start on an idle GPU */                                      \
    X(gpu_offset_ns, 987654321)  /* of the GPU's clock to CLOCK_MONOTONIC */                                          \
    X(gpu_drift_ppb, 0)          /* how much faster it goes */                                                       \
    X(registers, 32)             /* of kernels made from now on; and their memory */                                  \
    X(static_shared, 0)                                                                                              \
    X(local_bytes, 0)                                                                                                \
    X(nested, 0)                 /* 1: driver calls that the runtime makes are reported, too */                       \
    X(subscribe_error, 0)        /* a CUptiResult: every subscription is refused with it */                           \
    X(enable_error, 0)           /* a CUptiResult: cuptiActivityEnable() answers it */                                \
    X(choose_error, 0)           /* a CUptiResult: no call can be enabled by its name */                              \
    X(reserve, 0)                /* 1: a record has its place from the launch on, and its times once it is flushed */  \
    X(skip_records, 0)           /* so many kernels get no record, and nobody is told */                              \
    X(drop_records, 0)           /* so many records are dropped and counted */                                        \
    X(linger, 0)                 /* so many next cudaGetDevice() last until callbacks are disabled meanwhile */       \
    X(orphans, 0)                /* so many kernels' records have a correlation id that no call has */                \
    X(early_ns, 0)               /* kernels seem to start so much earlier than they do */                             \
    X(unknown_kinds, 0)          /* before the next records stand so many of a kind that nobody knows */              \
    X(hold, 0)                   /* 1: buffers are filled, never given back */                                        \
    X(hang, 0)                   /* 1: flushing does not come back */                                                 \
    X(late_ms, 0)                /* buffers are given back so late, by the worker thread */                           \
    X(larger, 0)                 /* records are so many bytes larger, and the version a new one */                    \
    X(free_share, 90)            /* so many per cent of a GPU's memory are free */                                    \
    X(raise, 0)                  /* so many next launches raise SIGUSR1, before they do anything */                   \
    X(meet, 0)                   /* so many next launches return only once all of them have begun */                 \
    X(disable_ms, 0)             /* the range profiler takes so long to be disabled */                                \
    X(disables, 0)               /* counted: times that it began to be */                                             \
    X(pc_slow, 0)                /* so many next calls that fetch PC samples take 300 ms */                           \
    X(pc_refusal, 0)             /* a CUptiResult: PC sampling is refused with it */                                  \
    X(pc_full, 0)                /* so many times the GPU's buffer of PC samples is full */                          \
    X(pc_errors, 0)              /* counted: calls of PC sampling that CUPTI would refuse */                          \
    X(calls_in_callbacks, 0)     /* counted: CUDA calls made inside of CUPTI's callbacks */                           \
    X(requests, 0)               /* counted: buffers that CUPTI asked for */                                          \
    X(refused_requests, 0)       /* counted: times that it got none */                                                \
    X(dirty_requests, 0)         /* counted: buffers that were not filled with zeros */                               \
    X(dropped, 0)                /* counted: records that had no place */                                             \
    X(completions, 0)            /* counted: buffers that it gave back */                                             \
    X(flushes, 0)                /* counted: cuptiActivityFlushAll() */                                               \
    X(disabled, 0)               /* counted: callbacks that were disabled */                                          \
    X(callbacks, 0)              /* counted: callbacks that were called */                                            \
    X(subscribers, 0)            /* counted: subscriptions that were granted */                                       \
    X(recorded_kernels, 0)       /* counted: kernel records written into buffers… */                                  \
    X(delivered_kernels, 0)      /* …and given back in them */

/* The calling thread has jumped out of all calls. */
void fake_jumped(void);

void fake_set(const char *name, int64_t value);
int64_t fake_get(const char *name);
int64_t fake_add(const char *name, int64_t more); /* the value before */
int64_t fake_take(const char *name);              /* 1 and one less, or 0 when it is 0 */

/* A kernel's handle for cudaLaunchKernel() and cuLaunchKernel(). The name is copied; NULL stays NULL. */
const void *fake_kernel(const char *name);

/* What the calling thread last gave to the GPU, in CLOCK_MONOTONIC. */
struct fake_truth {
    uint64_t start_ns, end_ns;
    uint32_t correlation, device, context, stream;
};
struct fake_truth fake_last(void);

/* Unified memory moves (1 to the device, 2 to the host), or a page fault is served (3 on the CPU, 4 on the GPU). */
void fake_unified(int counter, uint64_t address, uint64_t value);

#endif
