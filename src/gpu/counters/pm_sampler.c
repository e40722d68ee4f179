/* The order of calls, and what CUPTI's pages leave out, is this:
 *
 *     Enable, SetConfig, GetCounterDataSize, CounterDataImageInitialize, Start,
 *     { DecodeData, GetCounterDataInfo, GetSampleInfo and EvaluateToGpuValues for each sample, initialize again },
 *     Stop, the same once more, Disable
 *
 * A decode takes all that the GPU has, and what the counter data image has no room for is lost. So before each decode
 * the image gets room for what came since the last one, however long ago that was, and a quarter more. With the 22
 * metrics of the usual set a sample takes 29 KB in it on an H200. There a decode takes 30 µs a sample, its evaluation
 * 43 µs, which threads share, and to initialize the image 17 µs for each sample that it has room for: a copy of one
 * that was just initialized takes a third of that. If the GPU's buffer overflows, which a flag or the result
 * OUT_OF_MEMORY says, it stays full: sampling is begun again, and the gap is counted. The first sample of a session may
 * have no values and any time, and after Stop there may be samples without a time: they are empty. */
#include "pm_sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cupti.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/parallel.h"

enum {
    ROOM_LEAST = 256,               /* samples of a counter data image */
    ROOM_MOST = 65536,
    HARDWARE_BYTES_A_SAMPLE = 8192, /* 4 to 7 KB were seen */
    BATCH = 64,                     /* samples that a thread evaluates at a time */
    READ_TIMES = 4,                 /* a read may take so many times decode_ns */
    LATE_MOST = 3,                  /* reads in a row that lost samples: after an exception the next has few again */
    INTERVALS_MOST = 64,            /* of a sample: cycles of a clock that is slow become long, but not so long */
};
#define REST_NS INT64_C(2000000000) /* for what is left at the end */
#define HARDWARE_NS UINT64_C(2000000000) /* for so long the GPU's buffer has room */
#define HARDWARE_LEAST ((size_t)64 << 20)
#define HARDWARE_MOST ((size_t)512 << 20)
#define IMAGE_MOST ((size_t)256 << 20)
#define PIECE ((size_t)4 << 20) /* that a thread copies at a time */

struct pm_sampler {
    struct pm_request request;
    uint64_t asked_ns;         /* the interval that was asked for; request has the one in use */
    void *sampling;            /* CUPTI's object; NULL: none */
    uint8_t *image;
    uint8_t *empty;            /* as the image is when it was just initialized */
    size_t image_bytes;
    size_t room;               /* samples of the image */
    int64_t decoded_ns;        /* when the last decode began */
    struct parallel *pool;     /* of request.threads; NULL: one */
    struct pm_sample *samples; /* those of the image, with room for all */
    double *values;
    uint64_t last_end_ns;      /* of the newest sample; 0: none yet */
    int late;                  /* reads in a row */
    struct pm_counts counts;
};

#define CALL(sampler, call, ...)                                                                                       \
    cupti_profiler_call((sampler)->request.cupti, CUPTI_CALL_##call, &(struct cupti_##call){ __VA_ARGS__ })

uint64_t pm_system_hz(const char *chip)
{
    static const char *const by_cycles[] = { "TU102", "TU104", "TU106", "TU116", "TU117", "GA100" };

    for (size_t i = 0; i < COUNT_OF(by_cycles); i++)
        if (strcmp(by_cycles[i], chip) == 0)
            return 1400000000; /* it varies with the load; the times of the samples are right in any case */
    return 0;
}

static size_t hardware_bytes(const struct pm_request *request)
{
    size_t bytes = (size_t)(HARDWARE_NS / (request->interval_ns ? request->interval_ns : 1)) * HARDWARE_BYTES_A_SAMPLE;

    return bytes < HARDWARE_LEAST ? HARDWARE_LEAST : bytes > HARDWARE_MOST ? HARDWARE_MOST : bytes;
}

/* The interval in the unit of the trigger. */
static uint64_t trigger_interval(const struct pm_request *request)
{
    double cycles = (double)request->interval_ns * 1e-9 * (double)request->system_hz;

    return request->system_hz ? (uint64_t)(cycles + 0.5) : request->interval_ns;
}

/* ---- The counter data image ------------------------------------------------------------------------------------- */

static void free_image(struct pm_sampler *sampler)
{
    free(sampler->image);
    free(sampler->empty);
    free(sampler->samples);
    free(sampler->values);
    sampler->image = NULL;
    sampler->empty = NULL;
    sampler->samples = NULL;
    sampler->values = NULL;
    sampler->room = 0;
}

/* Room for what comes in so long, as a power of two so that it seldom changes. */
static size_t room_for(const struct pm_request *request, int64_t ns)
{
    uint64_t samples = (uint64_t)ns / (request->interval_ns ? request->interval_ns : 1);
    size_t room = ROOM_LEAST;

    while (room < ROOM_MOST && room < samples + samples / 4)
        room *= 2;
    return room;
}

static int image_size(struct pm_sampler *sampler, size_t room, size_t *bytes)
{
    struct cupti_sampling_data_size size = { .sampling = sampler->sampling,
                                             .names = sampler->request.metrics,
                                             .count = sampler->request.count,
                                             .samples = (uint32_t)room };
    int result = cupti_profiler_call(sampler->request.cupti, CUPTI_CALL_sampling_data_size, &size);

    *bytes = size.bytes;
    return result;
}

/* An empty image with so much room, or as much as it may have. */
static int make_image(struct pm_sampler *sampler, size_t room, const char **call)
{
    size_t bytes = 0;

    *call = "cuptiPmSamplingGetCounterDataSize";
    int result = image_size(sampler, room, &bytes);
    while (!result && bytes > IMAGE_MOST && room > ROOM_LEAST)
        result = image_size(sampler, room /= 2, &bytes);
    if (result || room == sampler->room)
        return result;
    free_image(sampler);
    sampler->image = malloc(bytes);
    sampler->empty = malloc(bytes);
    sampler->samples = calloc(room, sizeof *sampler->samples);
    sampler->values = calloc(room * sampler->request.count, sizeof *sampler->values);
    if (!sampler->image || !sampler->empty || !sampler->samples || !sampler->values)
        return CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    sampler->image_bytes = bytes;
    sampler->room = room;
    *call = "cuptiPmSamplingCounterDataImageInitialize";
    result = CALL(sampler, sampling_data_initialize, .sampling = sampler->sampling, .bytes = bytes,
                  .data = sampler->image);
    memcpy(sampler->empty, sampler->image, bytes);
    return result;
}

static void copy_piece(void *argument, int worker, size_t i)
{
    struct pm_sampler *sampler = argument;
    size_t rest = sampler->image_bytes - i * PIECE;

    memcpy(sampler->image + i * PIECE, sampler->empty + i * PIECE, rest < PIECE ? rest : PIECE);
}

static void empty_image(struct pm_sampler *sampler)
{
    parallel_for(sampler->pool, (sampler->image_bytes + PIECE - 1) / PIECE, copy_piece, sampler);
}

/* ---- Sessions ---------------------------------------------------------------------------------------------------- */

static int pm_sampler_configure(struct pm_sampler *sampler)
{
    const struct pm_request *request = &sampler->request;

    return CALL(sampler, sampling_config, .sampling = sampler->sampling, .config_bytes = request->config_bytes,
                .config = request->config, .buffer_bytes = hardware_bytes(request),
                .interval = trigger_interval(request),
                .trigger = request->system_hz ? CUPTI_TRIGGER_CYCLES : CUPTI_TRIGGER_TIME,
                .append = CUPTI_APPEND_KEEP_OLDEST);
}

/* From Enable to Start; also after an overflow. */
static int pm_sampler_start(struct pm_sampler *sampler, const char **call)
{
    struct cupti_sampling_enable enable = { .device = sampler->request.device };

    *call = "cuptiPmSamplingEnable";
    int result = cupti_profiler_call(sampler->request.cupti, CUPTI_CALL_sampling_enable, &enable);
    if (result)
        return result;
    sampler->sampling = enable.sampling;
    *call = "cuptiPmSamplingSetConfig";
    result = pm_sampler_configure(sampler);
    free_image(sampler); /* that of another session */
    if (!result)
        result = make_image(sampler, room_for(&sampler->request, (int64_t)sampler->request.decode_ns), call);
    if (!result) {
        *call = "cuptiPmSamplingStart";
        sampler->decoded_ns = clock_monotonic_ns();
        result = CALL(sampler, sampling_start, .sampling = sampler->sampling);
    }
    return result;
}

static void disable(struct pm_sampler *sampler)
{
    if (sampler->sampling)
        CALL(sampler, sampling_disable, .sampling = sampler->sampling);
    sampler->sampling = NULL;
}

struct pm_sampler *pm_sampler_begin(const struct pm_request *request, int *result, const char **call)
{
    struct pm_sampler *sampler = calloc(1, sizeof *sampler);

    *call = "malloc";
    *result = CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    if (!sampler)
        return NULL;
    sampler->request = *request;
    sampler->asked_ns = request->interval_ns;
    sampler->pool = request->threads > 1 ? parallel_new((int)request->threads) : NULL;
    *result = pm_sampler_start(sampler, call);
    if (*result) {
        pm_sampler_free(sampler);
        return NULL;
    }
    return sampler;
}

/* Counts the intervals that are missing between the newest sample and this one, as they were asked for. */
static void pm_sampler_count(struct pm_sampler *sampler, const struct pm_sample *sample)
{
    uint64_t interval_ns = sampler->asked_ns, length_ns = sample->end_ns - sample->begin_ns;
    uint64_t step_ns = length_ns > interval_ns ? length_ns : interval_ns;

    if (sampler->last_end_ns && sample->begin_ns > sampler->last_end_ns + step_ns / 2)
        sampler->counts.lost += (sample->begin_ns - sampler->last_end_ns + interval_ns / 2) / interval_ns;
    sampler->last_end_ns = sample->end_ns;
    sampler->counts.samples++;
}

static int has_times(const struct pm_sampler *sampler, const struct pm_sample *sample)
{
    return sample->begin_ns < sample->end_ns && sample->begin_ns >= sampler->last_end_ns &&
           sample->end_ns - sample->begin_ns <= INTERVALS_MOST * sampler->request.interval_ns;
}

static int pm_sampler_has_values(const struct pm_sampler *sampler, const struct pm_sample *sample)
{
    for (size_t i = 0; i < sampler->request.count; i++)
        if (isfinite(sample->values[i]))
            return 1;
    return 0;
}

/* ---- Evaluation ------------------------------------------------------------------------------------------------ */

/* Most of the time goes into it. So threads evaluate all samples of an image at once. */

struct evaluation {
    struct pm_sampler *sampler;
    size_t count;
    _Atomic int result;
};

static int evaluate_sample(struct pm_sampler *sampler, void *host, size_t i)
{
    const struct pm_request *request = &sampler->request;
    struct cupti_sampling_sample info = {
        .sampling = sampler->sampling, .data = sampler->image, .data_bytes = sampler->image_bytes, .sample = i
    };
    double *values = sampler->values + i * request->count;
    int result = cupti_profiler_call(request->cupti, CUPTI_CALL_sampling_sample, &info);

    if (!result)
        result = CALL(sampler, host_evaluate, .host = host, .data = sampler->image, .data_bytes = sampler->image_bytes,
                      .range = i, .names = request->metrics, .count = request->count, .values = values);
    sampler->samples[i] = (struct pm_sample){ info.start_ns, info.end_ns, values };
    return result;
}

static void evaluate_batch(void *argument, int worker, size_t batch)
{
    struct evaluation *evaluation = argument;
    size_t end = (batch + 1) * BATCH < evaluation->count ? (batch + 1) * BATCH : evaluation->count;

    for (size_t i = batch * BATCH; !evaluation->result && i < end; i++) {
        int result = evaluate_sample(evaluation->sampler, evaluation->sampler->request.hosts[worker], i);
        if (result)
            evaluation->result = result;
    }
}

/* One decode. Sets *reason to what ended it. */
static int pm_sampler_decode(struct pm_sampler *sampler, pm_take *take, void *to, uint32_t *reason, int *is_full)
{
    int64_t now_ns = clock_monotonic_ns(), usual_ns = (int64_t)sampler->request.decode_ns;
    int64_t since_ns = now_ns - sampler->decoded_ns;
    const char *call;
    int result = make_image(sampler, room_for(&sampler->request, since_ns > usual_ns ? since_ns : usual_ns), &call);

    if (result)
        return result;
    struct cupti_sampling_decode round = { .sampling = sampler->sampling,
                                           .data = sampler->image,
                                           .data_bytes = sampler->image_bytes };
    struct cupti_sampling_data_info info = { .data = sampler->image, .data_bytes = sampler->image_bytes };
    sampler->decoded_ns = now_ns;
    result = cupti_profiler_call(sampler->request.cupti, CUPTI_CALL_sampling_decode, &round);
    *reason = round.stop_reason;
    *is_full |= round.overflow || result == CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    if (result == CUPTI_RESULT_ERROR_OUT_OF_MEMORY)
        result = 0;
    if (!result)
        result = cupti_profiler_call(sampler->request.cupti, CUPTI_CALL_sampling_data_info, &info);
    size_t completed = info.completed < sampler->room ? info.completed : sampler->room;
    struct evaluation evaluation = { .sampler = sampler, .count = completed, .result = result };
    parallel_for(sampler->pool, (completed + BATCH - 1) / BATCH, evaluate_batch, &evaluation);
    result = evaluation.result;
    for (size_t i = 0; !result && i < completed; i++) {
        const struct pm_sample *sample = &sampler->samples[i];
        if (!has_times(sampler, sample) || !pm_sampler_has_values(sampler, sample))
            continue;
        pm_sampler_count(sampler, sample);
        take(to, sample);
    }
    empty_image(sampler);
    return result;
}

/* Ends in any case: a GPU may fill its buffer as fast as it is read. Sets *is_late if samples were lost. */
static int decode_for(struct pm_sampler *sampler, int64_t most_ns, pm_take *take, void *to, int *is_full, int *is_late)
{
    int64_t end_ns = clock_monotonic_ns() + most_ns;
    uint32_t reason = CUPTI_DECODE_FULL;
    int result = 0;

    do {
        result = pm_sampler_decode(sampler, take, to, &reason, is_full);
        *is_late |= reason == CUPTI_DECODE_FULL;
    } while (!result && reason == CUPTI_DECODE_FULL && clock_monotonic_ns() < end_ns);
    return result;
}

/* Begins again, after an overflow or with another interval. */
static int pm_sampler_restart(struct pm_sampler *sampler)
{
    const char *call;

    CALL(sampler, sampling_stop, .sampling = sampler->sampling);
    disable(sampler);
    return pm_sampler_start(sampler, &call);
}

int pm_sampler_read(struct pm_sampler *sampler, pm_take *take, void *to)
{
    int64_t most_ns = READ_TIMES * (int64_t)sampler->request.decode_ns;
    int is_late = 0, is_full = 0, result = CUPTI_RESULT_ERROR_NOT_INITIALIZED;

    if (sampler->sampling)
        result = decode_for(sampler, most_ns, take, to, &is_full, &is_late);
    sampler->counts.overflows += (uint64_t)is_full;
    sampler->late = is_late || is_full ? sampler->late + 1 : 0;
    int is_too_fast = sampler->late == LATE_MOST;
    if (is_too_fast) {
        sampler->request.interval_ns *= 2;
        sampler->late = 0;
    }
    if (!result && (is_full || is_too_fast))
        result = pm_sampler_restart(sampler);
    if (result)
        disable(sampler);
    return result;
}

struct pm_counts pm_sampler_counts(const struct pm_sampler *sampler)
{
    struct pm_counts counts = sampler->counts;

    counts.interval_ns = sampler->request.interval_ns;
    return counts;
}

void pm_sampler_stop(struct pm_sampler *sampler, pm_take *take, void *to)
{
    int is_full = 0, is_late = 0;

    if (sampler->sampling && CALL(sampler, sampling_stop, .sampling = sampler->sampling) == 0) {
        uint64_t stopped_ns = (uint64_t)clock_monotonic_ns();
        decode_for(sampler, REST_NS, take, to, &is_full, &is_late);
        if (is_late && sampler->last_end_ns && stopped_ns > sampler->last_end_ns)
            sampler->counts.lost += (stopped_ns - sampler->last_end_ns) / sampler->asked_ns;
    }
    disable(sampler);
}

void pm_sampler_free(struct pm_sampler *sampler)
{
    disable(sampler);
    free_image(sampler);
    if (sampler->pool)
        parallel_delete(sampler->pool);
    free(sampler);
}
