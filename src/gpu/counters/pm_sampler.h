/* Counters of a GPU over time: CUPTI's PM sampling. It needs a device and no CUDA context; the GPU samples by itself
 * into a buffer of its own, which is decoded from time to time. One session at a time on a GPU, whoever has it. */
#ifndef TACHO_GPU_COUNTERS_PM_SAMPLER_H
#define TACHO_GPU_COUNTERS_PM_SAMPLER_H

#include "abi/cupti_profiler.h"

enum { PM_THREADS_MOST = 8 };

struct pm_request {
    const struct cupti_profiler *cupti;
    /* CUPTI_PROFILER_SAMPLING, for the chip of the device: one for each thread that evaluates samples. */
    void *hosts[PM_THREADS_MOST];
    size_t threads;
    size_t device;
    const char **metrics;
    size_t count;
    const uint8_t *config; /* their config image. CUPTI keeps the pointer until the sampler ends */
    size_t config_bytes;
    uint64_t interval_ns;
    uint64_t decode_ns;    /* how often pm_sampler_read() is called */
    /* For chips without a trigger by time (Turing, GA100): the clock by which intervals become cycles. */
    uint64_t system_hz; /* pm_system_hz() */
};

struct pm_sample {
    uint64_t begin_ns, end_ns; /* by the clock that cuptiActivityRegisterTimestampCallback() names */
    const double *values;      /* in the order of the metrics; valid during the call */
};

/* What became of the samples so far. */
struct pm_counts {
    uint64_t samples;
    uint64_t lost;        /* intervals without a sample between two samples */
    uint64_t overflows;   /* times that the GPU's buffer was full: sampling was begun again */
    uint64_t interval_ns; /* of the newest; longer than was asked for if samples came faster than they could be read */
};

/* The clock by which this chip's sampling is triggered, about; 0: it is triggered by time. */
uint64_t pm_system_hz(const char *chip);

typedef void pm_take(void *to, const struct pm_sample *sample);

struct pm_sampler;

/* Begins to sample. Returns NULL, and in *result CUPTI's answer (enum cupti_result) and in *call what was refused. */
struct pm_sampler *pm_sampler_begin(const struct pm_request *request, int *result, const char **call);

/* Decodes what has come, or as much of it as can be done in a few times decode_ns, and hands each sample over in the
 * order of time. Where samples come faster than this, the interval is doubled. Returns 0, or CUPTI's result: sampling
 * has then ended. */
int pm_sampler_read(struct pm_sampler *sampler, pm_take *take, void *to);

struct pm_counts pm_sampler_counts(const struct pm_sampler *sampler);

/* Stops, and decodes the rest; what this cannot do in two seconds is counted as lost. */
void pm_sampler_stop(struct pm_sampler *sampler, pm_take *take, void *to);
void pm_sampler_free(struct pm_sampler *sampler);

#endif
