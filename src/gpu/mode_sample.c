/* Counters over time, for captures: CUPTI's PM sampling of each GPU.
 *
 * Options: devices=LIST (numbers, UUIDs or PCI bus ids; all if it is not there), wanted=LIST (sets and metrics,
 * abi/counters), interval_ns=N, decode_us=N: how often samples are fetched from the GPU. Metrics that need a second
 * pass are left out. A GPU that refuses costs its own samples only. It ends when the other side shuts its half of the
 * socket down: the last samples follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cupti.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "gpu/counters/counters_choice.h"
#include "gpu/counters/counters_frames.h"
#include "gpu/counters/counters_library.h"
#include "gpu/counters/counters_refusal.h"
#include "gpu/counters/pm_sampler.h"
#include "gpu/frames/frames_out.h"
#include "gpu/nvml/nvml_devices.h"
#include "gpu/nvml/nvml_library.h"
#include "gpu_mode.h"

enum { DECODE_US = 100000, FRAME_SAMPLES = 256 };
#define USUAL_SET "general"

/* A metric that is sent: which counter it is of, and by what it is multiplied. */
struct metric {
    size_t counter;
    double factor;
};

struct sampled_gpu {
    unsigned device;
    uint8_t *availability;
    struct counters_host host, more[PM_THREADS_MOST - 1]; /* for the other threads that evaluate */
    struct counters_list list;
    struct counters_choice choice;
    struct metric *metrics;
    size_t count;
    struct pm_sampler *sampler; /* NULL: refused, or ended */
    struct gpu_samples *frame;  /* with room for FRAME_SAMPLES */
    size_t sample_bytes;
};

struct sampling {
    struct sampled_gpu gpus[NVML_DEVICES_MOST];
    size_t count;
    uint64_t interval_ns, decode_ns;
};

/* ---- Samples ---------------------------------------------------------------------------------------------------- */

static void send_samples(struct sampled_gpu *gpu)
{
    if (gpu->frame->count)
        frames_add(GPU_FRAME_SAMPLES, gpu->frame, sizeof *gpu->frame + gpu->frame->count * gpu->sample_bytes);
    gpu->frame->count = 0;
}

static void mode_sample_take_sample(void *to, const struct pm_sample *sample)
{
    struct sampled_gpu *gpu = to;
    int64_t *times = (int64_t *)((char *)(gpu->frame + 1) + gpu->frame->count * gpu->sample_bytes);
    double *values = (double *)(times + 2);

    times[0] = (int64_t)sample->begin_ns;
    times[1] = (int64_t)sample->end_ns;
    for (size_t i = 0; i < gpu->count; i++)
        values[i] = sample->values[gpu->metrics[i].counter] * gpu->metrics[i].factor;
    if (++gpu->frame->count == FRAME_SAMPLES)
        send_samples(gpu);
}

static void tell_state(const struct sampling *sampling, const struct sampled_gpu *gpu)
{
    struct pm_counts counts = gpu->sampler ? pm_sampler_counts(gpu->sampler) : (struct pm_counts){ 0 };
    struct gpu_sampling state = { .device = gpu->device,
                                  .interval_ns = sampling->interval_ns,
                                  .samples = counts.samples,
                                  .lost = counts.lost,
                                  .overflows = counts.overflows };

    frames_add(GPU_FRAME_SAMPLING, &state, sizeof state);
}

/* ---- The begin of a GPU ---------------------------------------------------------------------------------------- */

static void mode_sample_refuse(const struct sampled_gpu *gpu, const char *call, int result)
{
    struct refusal why;

    counters_refusal(&why, call, result);
    frames_refuse(GPU_ORIGIN_COUNTERS, gpu->device, &why);
}

/* What of the chip's counters this GPU has. Returns CUPTI's result. */
static int read_availability(struct sampled_gpu *gpu)
{
    struct cupti_sampling_availability ask = { .device = gpu->device };
    int result = cupti_profiler_call(&counters_cupti, CUPTI_CALL_sampling_availability, &ask);

    if (result)
        return result;
    gpu->availability = ask.image = calloc(1, ask.bytes);
    return ask.image ? cupti_profiler_call(&counters_cupti, CUPTI_CALL_sampling_availability, &ask)
                     : CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
}

/* Sends the metrics that were chosen, in the order of their values. */
static int tell_metrics(struct sampled_gpu *gpu)
{
    gpu->metrics = calloc(gpu->list.count + 1, sizeof *gpu->metrics);
    for (size_t i = 0; gpu->metrics && i < gpu->list.count; i++) {
        const struct counters_entry *entry = &gpu->list.entries[i];
        size_t counter = 0;
        while (counter < gpu->choice.count && strcmp(gpu->choice.names[counter], entry->counter) != 0)
            counter++;
        if (counter == gpu->choice.count || entry->kind == COUNTER_NONE)
            continue;
        gpu->metrics[gpu->count++] = (struct metric){ counter, entry->factor };
        counters_send_metric(entry);
    }
    gpu->sample_bytes = 2 * sizeof(int64_t) + gpu->count * sizeof(double);
    gpu->frame = calloc(1, sizeof *gpu->frame + FRAME_SAMPLES * gpu->sample_bytes);
    if (!gpu->metrics || !gpu->frame)
        return CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    gpu->frame->device = gpu->device;
    gpu->frame->metrics = (uint32_t)gpu->count;
    return CUPTI_RESULT_SUCCESS;
}

/* From the names of sets and metrics to counters of this GPU. Returns CUPTI's result, and in *call what it refused. */
static int mode_sample_choose(struct sampled_gpu *gpu, const char *chip, char **options, const char **call)
{
    const char *wanted = gpu_option(options, "wanted");

    *call = "cuptiPmSamplingGetCounterAvailability";
    int result = read_availability(gpu);
    if (result)
        return result;
    *call = "cuptiProfilerHostInitialize";
    result = counters_host_open(&gpu->host, chip, CUPTI_PROFILER_SAMPLING, gpu->availability);
    if (result)
        return result;
    gpu->list.host = &gpu->host;
    counters_list_add_sampled(&gpu->list, wanted ? wanted : USUAL_SET);
    *call = "cuptiProfilerHostGetConfigImage";
    result = counters_choose(&gpu->list, 1, &gpu->choice);
    return result ? result : tell_metrics(gpu);
}

/* A thread could evaluate five times THREAD_HZ; but a sample is decoded first, by one. The program that is profiled
 * needs CPUs too. */
static size_t threads_for(uint64_t interval_ns)
{
    enum { THREAD_HZ = 4000 };
    int half = parallel_cores() / 2;
    size_t most = half < 1 ? 1 : half < PM_THREADS_MOST ? (size_t)half : PM_THREADS_MOST;
    uint64_t wanted = (UINT64_C(1000000000) / (interval_ns ? interval_ns : 1) + THREAD_HZ - 1) / THREAD_HZ;

    return wanted < 1 ? 1 : wanted < most ? (size_t)wanted : most;
}

static struct pm_sampler *mode_sample_start(const struct sampling *sampling, struct sampled_gpu *gpu, int *result,
                                            const char **call)
{
    struct pm_request request = { .cupti = &counters_cupti,
                                  .hosts = { gpu->host.object },
                                  .threads = 1,
                                  .device = gpu->device,
                                  .metrics = gpu->choice.names,
                                  .count = gpu->choice.count,
                                  .config = gpu->choice.config.image,
                                  .config_bytes = gpu->choice.config.bytes,
                                  .interval_ns = sampling->interval_ns,
                                  .decode_ns = sampling->decode_ns,
                                  .system_hz = pm_system_hz(gpu->host.chip) };

    for (size_t wanted = threads_for(sampling->interval_ns); request.threads < wanted; request.threads++) {
        struct counters_host *host = &gpu->more[request.threads - 1];
        if (counters_host_open(host, gpu->host.chip, CUPTI_PROFILER_SAMPLING, gpu->availability))
            break;
        request.hosts[request.threads] = host->object;
    }
    return pm_sampler_begin(&request, result, call);
}

static void begin_gpu(const struct sampling *sampling, struct sampled_gpu *gpu, char **options)
{
    const char *call = "", *why = "";
    const char *chip = counters_chip_of(gpu->device, &why);

    if (!chip) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, gpu->device, GPU_REFUSAL_SAMPLING_REFUSED, "cuptiDeviceGetChipName",
                           why);
        return;
    }
    if (counters_is_volta(chip)) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, gpu->device, GPU_REFUSAL_SAMPLING_VOLTA, chip, NULL);
        return;
    }
    tell_state(sampling, gpu);
    int result = mode_sample_choose(gpu, chip, options, &call);
    if (!result && gpu->choice.count == 0) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, gpu->device, GPU_REFUSAL_SAMPLING_NO_METRICS, chip, NULL);
        return;
    }
    if (!result)
        gpu->sampler = mode_sample_start(sampling, gpu, &result, &call);
    if (result)
        mode_sample_refuse(gpu, call, result);
}

/* ---- The run ---------------------------------------------------------------------------------------------------- */

static void mode_sample_read_gpu(const struct sampling *sampling, struct sampled_gpu *gpu)
{
    int result = pm_sampler_read(gpu->sampler, mode_sample_take_sample, gpu);

    send_samples(gpu);
    tell_state(sampling, gpu);
    if (result) {
        mode_sample_refuse(gpu, "cuptiPmSamplingDecodeData", result);
        pm_sampler_free(gpu->sampler);
        gpu->sampler = NULL;
    }
}

/* Until the other side hangs up, or no GPU is left. */
static void mode_sample_run(struct sampling *sampling)
{
    int64_t next_ns = clock_monotonic_ns();

    for (;;) {
        int is_alive = 0;
        for (size_t i = 0; i < sampling->count; i++)
            is_alive |= sampling->gpus[i].sampler != NULL;
        if (frames_send() || !is_alive)
            return;
        next_ns += (int64_t)sampling->decode_ns;
        if (frames_wait_until(next_ns))
            return;
        for (size_t i = 0; i < sampling->count; i++)
            if (sampling->gpus[i].sampler)
                mode_sample_read_gpu(sampling, &sampling->gpus[i]);
    }
}

static void tell_slower(const struct sampling *sampling, const struct sampled_gpu *gpu)
{
    uint64_t interval_ns = pm_sampler_counts(gpu->sampler).interval_ns;
    char taken[32], wanted[32];

    snprintf(taken, sizeof taken, "%llu", 1000000000ull / interval_ns);
    snprintf(wanted, sizeof wanted, "%llu", 1000000000ull / sampling->interval_ns);
    if (interval_ns != sampling->interval_ns)
        frames_add_refusal(GPU_ORIGIN_COUNTERS, gpu->device, GPU_REFUSAL_SAMPLING_SLOWER, taken, wanted);
}

static void stop_gpu(const struct sampling *sampling, struct sampled_gpu *gpu)
{
    if (!gpu->sampler)
        return;
    pm_sampler_stop(gpu->sampler, mode_sample_take_sample, gpu);
    send_samples(gpu);
    tell_state(sampling, gpu);
    tell_slower(sampling, gpu);
}

static void end_gpu(struct sampled_gpu *gpu)
{
    if (gpu->sampler)
        pm_sampler_free(gpu->sampler);
    counters_choice_free(&gpu->choice);
    counters_list_free(&gpu->list);
    counters_host_close(&gpu->host);
    for (size_t i = 0; i < PM_THREADS_MOST - 1; i++)
        counters_host_close(&gpu->more[i]);
    free(gpu->availability);
    free(gpu->metrics);
    free(gpu->frame);
}

int gpu_mode_sample(char **options)
{
    static struct sampling sampling;
    static struct nvml_gpus gpus;
    struct cupti_profiler_deinitialize deinitialize = { 0 };
    struct refusal why;

    counters_set_environment();
    if (nvml_load(&why) || nvml_devices_find(&gpus, gpu_option(options, "devices"), &why) || counters_load(&why) ||
        counters_set_clock(&why)) {
        frames_refuse(GPU_ORIGIN_COUNTERS, GPU_ALL, &why);
        return GPU_MODE_REFUSED;
    }
    sampling.interval_ns = gpu_option_number(options, "interval_ns", 100000);
    sampling.decode_ns = gpu_option_number(options, "decode_us", DECODE_US) * 1000;
    nvml_devices_tell(&gpus);
    for (; sampling.count < gpus.count; sampling.count++)
        sampling.gpus[sampling.count].device = gpus.gpus[sampling.count].facts.device;
    for (size_t i = 0; i < sampling.count; i++)
        begin_gpu(&sampling, &sampling.gpus[i], options);
    mode_sample_run(&sampling);
    for (size_t i = 0; i < sampling.count; i++)
        stop_gpu(&sampling, &sampling.gpus[i]);
    frames_end(); /* the driver may take long to release what follows */
    for (size_t i = 0; i < sampling.count; i++)
        end_gpu(&sampling.gpus[i]);
    cupti_profiler_call(&counters_cupti, CUPTI_CALL_profiler_deinitialize, &deinitialize);
    return 0;
}
