/* A type of nsys's is a source of metrics on a GPU: machine, kind of source, number of the source, GPU. Counters have
 * the number 0, as in nsys. */
#include "gpu_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nvml_results.h"
#include "base/text.h"
#include "gpu_link.h"
#include "gpu_target.h"

#define SOURCE_GPU_METRICS (INT64_C(1) << 32)
enum { CLOCK_SESSION_NS = 3 };                /* ENUM_NSYS_GENERIC_EVENT_SOURCE */
enum { FIELD_UNSIGNED = 1, FIELD_BYTES = 8 }; /* ENUM_NSYS_GENERIC_EVENT_FIELD_TYPE */
enum { ORIGINS = GPU_ORIGIN_COUNTERS + 1 };

/* The counters have nsys's number and name. */
static const struct {
    int64_t number;
    const char *name;
} gpu_rows_types[ORIGINS] = {
    [GPU_ORIGIN_NVML] = { 0x40, "NVML" },
    [GPU_ORIGIN_GPM] = { 0x41, "GPM" },
    [GPU_ORIGIN_COUNTERS] = { 0, "" },
};

/* The readings of one source on one GPU. */
struct gpu_rows_series {
    int has_type; /* its type has its rows */
    uint64_t samples, lost;
    int64_t first_ns, last_ns;
};

struct gpu_rows_reading {
    double value;      /* the last that was read; */
    int64_t time_ns;   /* its time; */
    int has_value;     /* 0: none yet */
    uint32_t result;   /* the last answer that was none */
    uint64_t refusals; /* how often there was none */
};

struct gpu_row_device {
    struct gpu_device facts;
    uint32_t gpu;
    uint64_t described; /* bits of metrics that have their name */
    int is_lost;
    int64_t last_ns;    /* of the frame before; INT64_MIN: none */
    int has_reasons, has_set_clocks;
    struct gpu_rows_series series[ORIGINS];
    struct gpu_rows_reading readings[GPU_READINGS];
    uint32_t counters, counters_told; /* that have their name; of those, by the tacho-gpu that runs now */
    uint64_t counters_lost;           /* as it reported last */
};

struct refusal {
    enum gpu_origin origin;
    uint32_t device;
    int is_loss;
    char *text;
};

struct gpu_rows {
    struct gpu_rows_setup setup;
    int64_t interval_ns;
    int has_source;
    uint64_t lost;
    struct gpu_row_device *described; /* whose counters are being named; NULL: none */
    struct gpu_row_device *devices[GPU_ROWS_DEVICES];
    size_t device_count, refusal_count;
    struct refusal refusals[GPU_ROWS_REFUSALS];
};

struct gpu_rows *gpu_rows_new(const struct gpu_rows_setup *setup)
{
    struct gpu_rows *rows = calloc(1, sizeof *rows);

    if (rows) {
        rows->setup = *setup;
        rows->interval_ns = 1000000000 / (setup->frequency_hz ? setup->frequency_hz : 1);
    }
    return rows;
}

void gpu_rows_free(struct gpu_rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; i < rows->device_count; i++)
        free(rows->devices[i]);
    for (size_t i = 0; i < rows->refusal_count; i++)
        free(rows->refusals[i].text);
    free(rows);
}

static int64_t gpu_rows_string_id(struct gpu_rows *rows, const char *text)
{
    return writer_string(rows->setup.writer, text, strlen(text));
}

/* ---- Devices and refusals -------------------------------------------------------------------------------------- */

static struct gpu_row_device *gpu_rows_find_device(const struct gpu_rows *rows, uint32_t number)
{
    for (size_t i = 0; i < rows->device_count; i++)
        if (rows->devices[i]->facts.device == number)
            return rows->devices[i];
    return NULL;
}

static int gpu_rows_take_device(struct gpu_rows *rows, const struct gpu_device *facts)
{
    struct gpu_row_device *device;

    if (facts->name[sizeof facts->name - 1] || facts->uuid[sizeof facts->uuid - 1] ||
        facts->bus_id[sizeof facts->bus_id - 1])
        return -1;
    if (gpu_rows_find_device(rows, facts->device) || rows->device_count == GPU_ROWS_DEVICES)
        return 0; /* the program was started again, for more GPUs */
    if (!(device = calloc(1, sizeof *device)))
        return 0;
    device->facts = *facts;
    device->gpu = rows->setup.find_gpu(rows->setup.context, facts);
    device->last_ns = INT64_MIN;
    rows->devices[rows->device_count++] = device;
    return 0;
}

static void gpu_rows_add_refusal(struct gpu_rows *rows, const struct refusal *refusal, const char *text)
{
    for (size_t i = 0; i < rows->refusal_count; i++)
        if (rows->refusals[i].device == refusal->device && strcmp(rows->refusals[i].text, text) == 0)
            return;
    char *copy = rows->refusal_count < GPU_ROWS_REFUSALS ? strdup(text) : NULL;
    if (!copy)
        return;
    rows->refusals[rows->refusal_count] = *refusal;
    rows->refusals[rows->refusal_count++].text = copy;
}

void gpu_rows_refuse(struct gpu_rows *rows, enum gpu_origin origin, uint32_t device, const char *text)
{
    gpu_rows_add_refusal(rows, &(struct refusal){ .origin = origin, .device = device }, text);
}

const char *gpu_rows_refusal(const struct gpu_rows *rows, size_t i, enum gpu_origin *origin, int *is_loss)
{
    if (i >= rows->refusal_count)
        return NULL;
    *origin = rows->refusals[i].origin;
    *is_loss = rows->refusals[i].is_loss;
    return rows->refusals[i].text;
}

void gpu_rows_lose(struct gpu_rows *rows, uint64_t samples)
{
    rows->lost += samples;
}

const struct gpu_device *gpu_rows_device(const struct gpu_rows *rows, size_t i, uint32_t *gpu)
{
    if (i >= rows->device_count)
        return NULL;
    *gpu = rows->devices[i]->gpu;
    return &rows->devices[i]->facts;
}

uint64_t gpu_rows_samples(const struct gpu_rows *rows)
{
    uint64_t samples = 0;

    for (size_t i = 0; i < rows->device_count; i++)
        for (size_t origin = 0; origin < ORIGINS; origin++)
            samples += rows->devices[i]->series[origin].samples;
    return samples;
}

/* ---- Names of metrics ------------------------------------------------------------------------------------------ */

static int64_t source_id(const struct gpu_rows *rows)
{
    return rows->setup.vm_id | SOURCE_GPU_METRICS;
}

static int64_t type_id(const struct gpu_rows *rows, const struct gpu_row_device *device, enum gpu_origin origin)
{
    return source_id(rows) | gpu_rows_types[origin].number << 8 | (device->gpu & 0xff);
}

static void write_type(struct gpu_rows *rows, struct gpu_row_device *device, enum gpu_origin origin)
{
    struct row_GENERIC_EVENT_SOURCES source = { 0 };
    struct row_GENERIC_EVENT_TYPES type = { 0 };

    if (!rows->has_source) {
        ROW_SET(&source, GENERIC_EVENT_SOURCES, sourceId, source_id(rows));
        ROW_SET(&source, GENERIC_EVENT_SOURCES, nameId, gpu_rows_string_id(rows, "GpuMetrics"));
        ROW_SET(&source, GENERIC_EVENT_SOURCES, timeSourceId, CLOCK_SESSION_NS);
        ROW_SET(&source, GENERIC_EVENT_SOURCES, sourceGroupId, 0);
        writer_append(rows->setup.writer, TABLE_GENERIC_EVENT_SOURCES, &source);
        rows->has_source = 1;
    }
    ROW_SET(&type, GENERIC_EVENT_TYPES, typeId, type_id(rows, device, origin));
    ROW_SET(&type, GENERIC_EVENT_TYPES, sourceId, source_id(rows));
    ROW_SET(&type, GENERIC_EVENT_TYPES, nameId, gpu_rows_string_id(rows, gpu_rows_types[origin].name));
    writer_append(rows->setup.writer, TABLE_GENERIC_EVENT_TYPES, &type);
    device->series[origin].has_type = 1;
}

static void gpu_rows_write_name(struct gpu_rows *rows, struct gpu_row_device *device, enum gpu_origin origin,
                                int64_t metric, const char *name)
{
    struct row_TARGET_INFO_GPU_METRICS row = { 0 };
    struct row_GENERIC_EVENT_TYPE_FIELDS field = { 0 };

    if (!device->series[origin].has_type)
        write_type(rows, device, origin);
    ROW_SET(&row, TARGET_INFO_GPU_METRICS, typeId, type_id(rows, device, origin));
    ROW_SET(&row, TARGET_INFO_GPU_METRICS, sourceId, source_id(rows));
    ROW_SET(&row, TARGET_INFO_GPU_METRICS, typeName, gpu_rows_string_id(rows, gpu_rows_types[origin].name));
    ROW_SET(&row, TARGET_INFO_GPU_METRICS, metricId, metric);
    ROW_SET(&row, TARGET_INFO_GPU_METRICS, metricName, gpu_rows_string_id(rows, name));
    writer_append(rows->setup.writer, TABLE_TARGET_INFO_GPU_METRICS, &row);
    ROW_SET(&field, GENERIC_EVENT_TYPE_FIELDS, typeId, type_id(rows, device, origin));
    ROW_SET(&field, GENERIC_EVENT_TYPE_FIELDS, fieldIdx, metric);
    ROW_SET(&field, GENERIC_EVENT_TYPE_FIELDS, fieldNameId, gpu_rows_string_id(rows, name));
    ROW_SET(&field, GENERIC_EVENT_TYPE_FIELDS, offset, metric * FIELD_BYTES);
    ROW_SET(&field, GENERIC_EVENT_TYPE_FIELDS, size, FIELD_BYTES);
    ROW_SET(&field, GENERIC_EVENT_TYPE_FIELDS, type, FIELD_UNSIGNED);
    writer_append(rows->setup.writer, TABLE_GENERIC_EVENT_TYPE_FIELDS, &field);
}

static void gpu_rows_describe(struct gpu_rows *rows, struct gpu_row_device *device, size_t metric)
{
    gpu_rows_write_name(rows, device, gpu_reading_origin(gpu_metrics[metric].reading), (int64_t)metric,
                        gpu_metrics[metric].name);
    device->described |= UINT64_C(1) << metric;
}

/* ---- Values ---------------------------------------------------------------------------------------------------- */

struct gpu_rows_sample {
    int64_t time_ns;
    const struct gpu_span *span; /* not NULL */
    struct gpu_row_device *device;
};

static void gpu_rows_write_value(struct gpu_rows *rows, const struct gpu_rows_sample *sample, size_t metric,
                                 double value)
{
    struct row_GPU_METRICS row = { 0 };

    if (!(sample->device->described >> metric & 1))
        gpu_rows_describe(rows, sample->device, metric);
    ROW_SET(&row, GPU_METRICS, rawTimestamp, sample->time_ns);
    ROW_SET(&row, GPU_METRICS, timestamp, sample->time_ns);
    ROW_SET(&row, GPU_METRICS, typeId, type_id(rows, sample->device, gpu_reading_origin(gpu_metrics[metric].reading)));
    ROW_SET(&row, GPU_METRICS, metricId, (int64_t)metric);
    ROW_SET(&row, GPU_METRICS, value, llround(value));
    ROW_SET(&row, GPU_METRICS, exact, value);
    writer_append(rows->setup.writer, TABLE_GPU_METRICS, &row);
}

/* Makes a metric of a reading: 1; 0: it has no value now. before: the reading of the sample before. */
static int make_value(const struct gpu_metric_row *metric, const struct gpu_rows_sample *sample,
                      const struct gpu_rows_reading *before, double now, double *value)
{
    int is_whole = sample->device->last_ns >= sample->span->start_ns; /* the interval from the sample before */
    int has_change = is_whole && before->has_value && before->time_ns == sample->device->last_ns &&
                     now >= before->value;

    *value = now;
    switch (metric->kind) {
    case GPU_METRIC_MOMENT: return 1;
    case GPU_METRIC_MEAN: return is_whole;
    case GPU_METRIC_BITS: *value = (uint64_t)now & (uint64_t)metric->argument ? 100 : 0; return 1;
    case GPU_METRIC_CHANGE: *value = now - before->value; return has_change;
    case GPU_METRIC_RATE:
        *value = has_change
                     ? (now - before->value) * 1e9 / (double)(sample->time_ns - before->time_ns) * metric->argument
                     : 0;
        return has_change && sample->time_ns > before->time_ns;
    }
    return 0;
}

/* Every value that fits an int64_t: a reading is a number that another program sent. */
static int is_sound(double value)
{
    return fabs(value) < 9e18; /* not so for a NaN */
}

/* Returns whether a row was written. */
static int write_reading(struct gpu_rows *rows, const struct gpu_rows_sample *sample, const struct gpu_value *value)
{
    const struct gpu_rows_reading *before = &sample->device->readings[value->reading];
    int is_written = 0;
    double made;

    for (size_t i = 0; i < GPU_METRICS_COUNT; i++)
        if (gpu_metrics[i].reading == value->reading && rows->setup.metrics >> i & 1 &&
            make_value(&gpu_metrics[i], sample, before, value->value, &made) && is_sound(made)) {
            gpu_rows_write_value(rows, sample, i, made);
            is_written = 1;
        }
    return is_written;
}

/* Keeps the reading for the next sample. */
static void keep_reading(struct gpu_row_device *device, const struct gpu_value *value, int64_t time_ns)
{
    struct gpu_rows_reading *reading = &device->readings[value->reading];

    if (!is_sound(value->value)) {
        reading->result = value->result;
        reading->refusals++;
        return;
    }
    reading->value = value->value;
    reading->time_ns = time_ns;
    reading->has_value = 1;
    if (value->reading == GPU_READING_CLOCK_REASONS) {
        device->has_reasons = 1;
        device->has_set_clocks |= ((uint64_t)value->value & NVML_CLOCK_APPLICATION_SETTING) != 0;
    }
}

static void gpu_rows_count_sample(struct gpu_rows *rows, const struct gpu_rows_sample *sample, enum gpu_origin origin)
{
    struct gpu_rows_series *series = &sample->device->series[origin];
    int64_t since_ns = sample->time_ns - series->last_ns;

    if (!series->samples++)
        series->first_ns = sample->time_ns;
    else if (series->last_ns >= sample->span->start_ns && since_ns > rows->interval_ns + rows->interval_ns / 2)
        series->lost += (uint64_t)((since_ns + rows->interval_ns / 2) / rows->interval_ns) - 1;
    series->last_ns = sample->time_ns;
}

static void note_loss(struct gpu_rows *rows, struct gpu_row_device *device)
{
    struct text text = { 0 };

    device->is_lost = 1;
    text_addf(&text, "GPU %u (%s) cannot be read any more: %s.", device->facts.device, device->facts.name,
              nvml_result_text(NVML_GPU_IS_LOST));
    gpu_rows_add_refusal(rows,
                         &(struct refusal){ .origin = GPU_ORIGIN_NVML, .device = device->facts.device, .is_loss = 1 },
                         text_string(&text));
    text_free(&text);
}

static int gpu_rows_take_values(struct gpu_rows *rows, const struct gpu_values *values, const struct gpu_span *span)
{
    struct gpu_row_device *device = gpu_rows_find_device(rows, values->device);
    int64_t time_ns = values->time_ns - rows->setup.origin_ns;
    int has_read[ORIGINS] = { 0 };

    if (!device || time_ns < device->last_ns)
        return -1;
    struct gpu_rows_sample sample = { time_ns, span, device };
    for (uint32_t i = 0; i < values->count; i++) {
        const struct gpu_value *value = &values->values[i];
        if (value->reading >= GPU_READINGS)
            return -1;
        if (span && is_sound(value->value))
            has_read[gpu_reading_origin((enum gpu_reading)value->reading)] |= write_reading(rows, &sample, value);
        if (!device->is_lost && value->result == NVML_GPU_IS_LOST)
            note_loss(rows, device);
        keep_reading(device, value, time_ns);
    }
    for (size_t origin = 0; origin < ORIGINS; origin++)
        if (has_read[origin])
            gpu_rows_count_sample(rows, &sample, (enum gpu_origin)origin);
    device->last_ns = time_ns;
    return 0;
}

/* ---- Counters -------------------------------------------------------------------------------------------------- */

/* The times of a sample; its values follow. */
struct counter_sample {
    int64_t begin_ns, end_ns;
    double values[];
};

static size_t counter_sample_bytes(const struct gpu_samples *samples)
{
    return sizeof(struct counter_sample) + samples->metrics * sizeof(double);
}

/* NULL: the frame is too short. */
static const struct gpu_samples *samples_of(const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_samples *samples = payload;

    return frame->bytes >= sizeof *samples && samples->metrics <= GPU_FRAME_MOST_BYTES / sizeof(double) &&
                   (frame->bytes - sizeof *samples) / counter_sample_bytes(samples) >= samples->count
               ? samples
               : NULL;
}

static const struct counter_sample *gpu_rows_sample_at(const struct gpu_samples *samples, uint32_t i)
{
    return (const struct counter_sample *)((const char *)(samples + 1) + i * counter_sample_bytes(samples));
}

/* How sampling goes; the first of a tacho-gpu is followed by the names of its metrics. */
static int gpu_rows_take_sampling(struct gpu_rows *rows, const struct gpu_sampling *state)
{
    struct gpu_row_device *device = rows->described = gpu_rows_find_device(rows, state->device);

    if (!device)
        return -1;
    if (!state->samples)
        device->counters_told = 0;
    device->series[GPU_ORIGIN_COUNTERS].lost += state->lost -
                                                (state->lost >= device->counters_lost ? device->counters_lost : 0);
    device->counters_lost = state->lost;
    return 0;
}

static int take_counter_name(struct gpu_rows *rows, const struct gpu_frame *frame, const void *payload)
{
    struct gpu_row_device *device = rows->described;
    const char *texts[GPU_METRIC_TEXTS];

    if (!device || gpu_frame_texts(frame, payload, sizeof(struct gpu_frame_metric), texts, GPU_METRIC_TEXTS))
        return -1;
    const char *name = *texts[GPU_METRIC_LABEL] ? texts[GPU_METRIC_LABEL] : texts[GPU_METRIC_NAME];
    if (device->counters_told++ == device->counters)
        gpu_rows_write_name(rows, device, GPU_ORIGIN_COUNTERS, device->counters++, name);
    return 0;
}

/* As nsys rounds: to the nearest number, but what is above 0 is never 0. */
static int64_t rounded(double value)
{
    return value > 0 && value < 1 ? 1 : llround(value);
}

/* The timestamp of a sample is the begin of its interval, as in nsys. */
static void write_counters(struct gpu_rows *rows, const struct gpu_row_device *device,
                           const struct counter_sample *sample)
{
    struct row_GPU_METRICS row = { 0 };

    int64_t begin_ns = sample->begin_ns - rows->setup.origin_ns;

    ROW_SET(&row, GPU_METRICS, rawTimestamp, begin_ns);
    ROW_SET(&row, GPU_METRICS, timestamp, begin_ns);
    ROW_SET(&row, GPU_METRICS, typeId, type_id(rows, device, GPU_ORIGIN_COUNTERS));
    for (uint32_t i = 0; i < device->counters; i++) {
        if (!is_sound(sample->values[i]))
            continue;
        ROW_SET(&row, GPU_METRICS, metricId, i);
        ROW_SET(&row, GPU_METRICS, value, rounded(sample->values[i]));
        ROW_SET(&row, GPU_METRICS, exact, sample->values[i]);
        writer_append(rows->setup.writer, TABLE_GPU_METRICS, &row);
    }
}

static int take_samples(struct gpu_rows *rows, const struct gpu_samples *samples, const struct gpu_span *span)
{
    struct gpu_row_device *device = gpu_rows_find_device(rows, samples->device);

    if (!device || samples->metrics != device->counters)
        return -1;
    struct gpu_rows_series *series = &device->series[GPU_ORIGIN_COUNTERS];
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct counter_sample *sample = gpu_rows_sample_at(samples, i);
        int64_t begin_ns = sample->begin_ns - rows->setup.origin_ns, end_ns = sample->end_ns - rows->setup.origin_ns;
        if (begin_ns < span->start_ns || end_ns > span->end_ns || end_ns <= begin_ns)
            continue;
        if (!series->samples++)
            series->first_ns = begin_ns;
        series->last_ns = begin_ns;
        write_counters(rows, device, sample);
    }
    return 0;
}

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

int64_t gpu_rows_time(const struct gpu_rows *rows, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_values *values = frame->type == GPU_FRAME_VALUES ? gpu_frame_values(frame, payload) : NULL;
    const struct gpu_samples *samples = frame->type == GPU_FRAME_SAMPLES ? samples_of(frame, payload) : NULL;

    if (samples && samples->count)
        return gpu_rows_sample_at(samples, samples->count - 1)->end_ns - rows->setup.origin_ns;
    return values ? values->time_ns - rows->setup.origin_ns : INT64_MIN;
}

int gpu_rows_take(struct gpu_rows *rows, const struct gpu_frame *frame, const void *payload,
                  const struct gpu_span *span)
{
    const struct gpu_refusal *refusal;
    const struct gpu_values *values;
    const struct gpu_samples *samples;
    const char *text;

    switch (frame->type) {
    case GPU_FRAME_DEVICE: return frame->bytes >= sizeof(struct gpu_device) ? gpu_rows_take_device(rows, payload) : -1;
    case GPU_FRAME_VALUES:
        values = gpu_frame_values(frame, payload);
        return values ? gpu_rows_take_values(rows, values, span) : -1;
    case GPU_FRAME_SAMPLING:
        return frame->bytes >= sizeof(struct gpu_sampling) ? gpu_rows_take_sampling(rows, payload) : -1;
    case GPU_FRAME_METRIC: return take_counter_name(rows, frame, payload);
    case GPU_FRAME_SAMPLES:
        samples = samples_of(frame, payload);
        return samples && span ? take_samples(rows, samples, span) : -1;
    case GPU_FRAME_REFUSAL:
        text = gpu_frame_refusal(frame, payload, &refusal);
        if (!text || refusal->origin >= ORIGINS)
            return -1;
        gpu_rows_refuse(rows, (enum gpu_origin)refusal->origin, refusal->device, text);
        return 0;
    default: return 0;
    }
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

static int gpu_rows_is_missing(const struct gpu_row_device *device, size_t reading, enum gpu_origin origin)
{
    const struct gpu_rows_reading *at = &device->readings[reading];
    return gpu_reading_origin((enum gpu_reading)reading) == origin && !at->has_value && at->refusals;
}

/* "Not available (not supported by this GPU): memory-temperature, fan." of the readings that never had a value, with a
 * sentence for each reason. */
static void gpu_rows_add_missing(struct gpu_rows *rows, const struct gpu_row_device *device, enum gpu_origin origin,
                                 struct text *out)
{
    char name[64];

    for (size_t first = 0; first < GPU_READINGS; first++) {
        uint32_t why = device->readings[first].result;
        size_t before = 0;
        while (before < first &&
               !(gpu_rows_is_missing(device, before, origin) && device->readings[before].result == why))
            before++;
        if (!gpu_rows_is_missing(device, first, origin) || before < first)
            continue;
        text_addf(out, "%sNot available (%s)", out->length ? " " : "", nvml_result_text(why));
        for (size_t i = first; i < GPU_READINGS; i++)
            if (gpu_rows_is_missing(device, i, origin) && device->readings[i].result == why) {
                gpu_reading_name((enum gpu_reading)i, name, sizeof name);
                text_addf(out, "%s%s", i == first ? ": " : ", ", name);
            }
        text_add(out, ".");
    }
}

static void gpu_rows_set_device(struct gpu_rows *rows, struct row_TACHO_GPU_SAMPLING *row,
                                const struct gpu_row_device *device)
{
    char bus[sizeof device->facts.bus_id];

    gpu_target_bus(&device->facts, bus);
    ROW_SET(row, TACHO_GPU_SAMPLING, gpuId, device->gpu);
    ROW_SET(row, TACHO_GPU_SAMPLING, nvmlIndex, device->facts.device);
    ROW_SET(row, TACHO_GPU_SAMPLING, name, gpu_rows_string_id(rows, device->facts.name));
    ROW_SET(row, TACHO_GPU_SAMPLING, uuid, gpu_rows_string_id(rows, gpu_target_uuid(&device->facts)));
    ROW_SET(row, TACHO_GPU_SAMPLING, busLocation, gpu_rows_string_id(rows, bus));
    if (device->facts.memory_bytes)
        ROW_SET(row, TACHO_GPU_SAMPLING, memoryBytes, (int64_t)device->facts.memory_bytes);
    if (device->has_reasons)
        ROW_SET(row, TACHO_GPU_SAMPLING, clockState, gpu_rows_string_id(rows, device->has_set_clocks ? "set" : "free"));
}

static void write_series(struct gpu_rows *rows, const struct gpu_row_device *device, enum gpu_origin origin)
{
    const struct gpu_rows_series *series = &device->series[origin];
    struct row_TACHO_GPU_SAMPLING row = { 0 };
    struct text missing = { 0 };

    ROW_SET(&row, TACHO_GPU_SAMPLING, timestamp, series->first_ns);
    ROW_SET(&row, TACHO_GPU_SAMPLING, source, gpu_rows_string_id(rows, gpu_origin_names[origin]));
    gpu_rows_set_device(rows, &row, device);
    ROW_SET(&row, TACHO_GPU_SAMPLING, requestedHz,
            origin == GPU_ORIGIN_COUNTERS ? rows->setup.counters_hz : rows->setup.frequency_hz);
    if (series->last_ns > series->first_ns)
        ROW_SET(&row, TACHO_GPU_SAMPLING, reachedHz,
                (double)(series->samples - 1) * 1e9 / (double)(series->last_ns - series->first_ns));
    ROW_SET(&row, TACHO_GPU_SAMPLING, samples, (int64_t)series->samples);
    ROW_SET(&row, TACHO_GPU_SAMPLING, lost, (int64_t)(series->lost + rows->lost));
    gpu_rows_add_missing(rows, device, origin, &missing);
    if (missing.length)
        ROW_SET(&row, TACHO_GPU_SAMPLING, refusal, gpu_rows_string_id(rows, text_string(&missing)));
    writer_append(rows->setup.writer, TABLE_TACHO_GPU_SAMPLING, &row);
    text_free(&missing);
}

static void write_refusal(struct gpu_rows *rows, const struct refusal *refusal, int64_t now_ns)
{
    const struct gpu_row_device *device = gpu_rows_find_device(rows, refusal->device);
    struct row_TACHO_GPU_SAMPLING row = { 0 };

    ROW_SET(&row, TACHO_GPU_SAMPLING, timestamp, now_ns);
    ROW_SET(&row, TACHO_GPU_SAMPLING, source, gpu_rows_string_id(rows, gpu_origin_names[refusal->origin]));
    if (device)
        gpu_rows_set_device(rows, &row, device);
    ROW_SET(&row, TACHO_GPU_SAMPLING, samples, 0);
    ROW_SET(&row, TACHO_GPU_SAMPLING, lost, 0);
    ROW_SET(&row, TACHO_GPU_SAMPLING, refusal, gpu_rows_string_id(rows, refusal->text));
    writer_append(rows->setup.writer, TABLE_TACHO_GPU_SAMPLING, &row);
}

void gpu_rows_finish(struct gpu_rows *rows, int64_t now_ns)
{
    for (size_t i = 0; i < rows->device_count; i++)
        for (size_t origin = 0; origin < ORIGINS; origin++)
            if (rows->devices[i]->series[origin].samples)
                write_series(rows, rows->devices[i], (enum gpu_origin)origin);
    for (size_t i = 0; i < rows->refusal_count; i++)
        write_refusal(rows, &rows->refusals[i], now_ns);
}
