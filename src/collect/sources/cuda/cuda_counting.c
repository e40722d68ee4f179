/* See cuda_counting.h. tacho-gpu makes the configuration and evaluates images: bin/tacho loads no CUPTI. */
#include "cuda_counting.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/gpu/gpu_ask.h"
#include "collect/gpu/gpu_link.h"
#include "wire/wire_cuda.h"

#define PATIENCE_NS INT64_C(60000000000)
#define ENDED "tacho-gpu was ended"
#define DURATION_MOST_NS 1e15
#define IMAGES_MOST 65536u
/* Of an image. On an H200, starting took 0.2 s with images of 40 ranges, 0.5 s with 512, 3 s with 4096. */
enum { RANGES_OF_ONE_PASS = 512, RANGES_REPLAYED = 64 };

struct counting_metric {
    char *counter; /* owned; the name, as CUPTI spells it */
    double factor;
};

struct numbered_kernel {
    struct counting_kernel key;
    int64_t id;
    int64_t duration_ns;
};

struct untimed_kernel {
    struct counting_kernel key;
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row;
};

struct cuda_counting {
    struct collector *collector;
    struct counting_metric *metrics;
    size_t metric_count, metric_room;
    struct text counters; /* their names, with commas */
    struct text refusal;
    struct gpu_config config;
    struct counting_image *images;
    size_t image_count, image_room;
    struct numbered_kernel *kernels;
    size_t kernel_count, kernel_room;
    struct untimed_kernel *untimed;
    size_t untimed_count, untimed_room;
    size_t duration;                  /* index of the metric that is a kernel's duration; SIZE_MAX: there is none */
    uint64_t uncounted[WIRE_UNCOUNTED_CAUSES];
    uint64_t lost;                    /* kernels of images that cannot be used */
    const struct counting_image *now; /* being evaluated */
};

/* ---- Before the program runs ------------------------------------------------------------------------------------ */

static void metric_row(struct cuda_counting *counting, const char *const *texts)
{
    struct collector *collector = counting->collector;
    struct row_TACHO_METRICS row = { 0 };

    ROW_SET(&row, TACHO_METRICS, id, (int64_t)counting->metric_count);
    ROW_SET(&row, TACHO_METRICS, name, collector_string(collector, texts[GPU_METRIC_NAME]));
    if (*texts[GPU_METRIC_UNIT])
        ROW_SET(&row, TACHO_METRICS, unit, collector_string(collector, texts[GPU_METRIC_UNIT]));
    if (*texts[GPU_METRIC_SECTION])
        ROW_SET(&row, TACHO_METRICS, section, collector_string(collector, texts[GPU_METRIC_SECTION]));
    writer_append(collector->writer, TABLE_TACHO_METRICS, &row);
}

/* Metrics that CUPTI does not count are facts of the launch, which the trace has. */
static void take_metric(struct cuda_counting *counting, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_metric *metric = payload;
    const char *texts[GPU_METRIC_TEXTS];

    if (gpu_frame_texts(frame, payload, sizeof *metric, texts, GPU_METRIC_TEXTS) || !*texts[GPU_METRIC_COUNTER] ||
        array_reserve(&counting->metrics, &counting->metric_room, counting->metric_count + 1,
                      sizeof *counting->metrics))
        return;
    metric_row(counting, texts);
    if (strcmp(texts[GPU_METRIC_NAME], "gpu__time_duration.sum") == 0)
        counting->duration = counting->metric_count;
    counting->metrics[counting->metric_count++] = (struct counting_metric){
        .counter = strdup(texts[GPU_METRIC_COUNTER]), .factor = metric->factor
    };
    text_addf(&counting->counters, "%s%s", counting->counters.length ? "," : "", texts[GPU_METRIC_COUNTER]);
}

static void add_refusal(struct cuda_counting *counting, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_refusal *refusal;
    const char *sentence = gpu_frame_refusal(frame, payload, &refusal);

    if (sentence)
        text_addf(&counting->refusal, "%s%s", counting->refusal.length ? " " : "", sentence);
}

static void take_config(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct cuda_counting *counting = context;
    const char *texts[GPU_MISSING_TEXTS];

    if (frame->type == GPU_FRAME_METRIC)
        take_metric(counting, frame, payload);
    else if (frame->type == GPU_FRAME_CONFIG && frame->bytes >= sizeof counting->config)
        memcpy(&counting->config, payload, sizeof counting->config);
    else if (frame->type == GPU_FRAME_MISSING &&
             !gpu_frame_texts(frame, payload, sizeof(struct gpu_missing), texts, GPU_MISSING_TEXTS))
        collector_warn(counting->collector, 0, "%s is not counted: %s", texts[GPU_MISSING_NAME],
                       texts[GPU_MISSING_WHY]);
    else if (frame->type == GPU_FRAME_REFUSAL)
        add_refusal(counting, frame, payload);
}

static void add_option(struct text *option, const char *name, const char *value)
{
    if (value && *value)
        text_addf(option, "%s=%s", name, value);
}

static int ask_config(struct cuda_counting *counting, const char *image, struct error *err)
{
    const struct counter_options *wanted = &counting->collector->options->kernel_counters;
    struct {
        const char *name, *value;
    } given[] = {
        { "device", "0" },
        { "profiler", "range" },
        { "sets", wanted->sets },
        { "sections", wanted->sections },
        { "metrics", wanted->metrics },
        { "file", image },
    };
    struct text texts[sizeof given / sizeof *given] = { 0 };
    const char *options[sizeof given / sizeof *given + 1] = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        add_option(&texts[i], given[i].name, given[i].value);
        if (texts[i].length)
            options[count++] = text_string(&texts[i]);
    }
    int code = gpu_ask(&(struct gpu_question){ "config", options, PATIENCE_NS, ENDED, NULL }, take_config, counting,
                       err);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        text_free(&texts[i]);
    if (!code && counting->refusal.length)
        code = error_set(err, ERR_UNSUPPORTED, "%s", text_string(&counting->refusal));
    if (!code && (!counting->config.bytes || !counting->metric_count))
        code = error_set(err, ERR_UNSUPPORTED, "None of these metrics can be counted on this GPU.");
    return code;
}

static int is_replayed(const struct cuda_counting *counting)
{
    const char *asked = counting->collector->options->kernel_counters.replay;
    return asked ? strcmp(asked, "kernel") == 0 : counting->config.passes > 1;
}

uint32_t cuda_counting_flags(const struct cuda_counting *counting)
{
    return !counting ? 0 : WIRE_CUDA_COUNTERS | (is_replayed(counting) ? WIRE_CUDA_REPLAY : 0);
}

/* No more than there will be launches: the filter may give their number. */
static uint64_t ranges_of(const struct counter_options *wanted, uint64_t most)
{
    static const char count[] = "count=";
    for (size_t i = 0; wanted->filters && wanted->filters[i]; i++)
        if (strncmp(wanted->filters[i], count, sizeof count - 1) == 0) {
            uint64_t launches = strtoull(wanted->filters[i] + sizeof count - 1, NULL, 10);
            most = launches && launches < most ? launches : most;
        }
    return most;
}

static void add_lines(struct cuda_counting *counting, struct text *file)
{
    const struct counter_options *wanted = &counting->collector->options->kernel_counters;
    int is_single = counting->config.passes <= 1;
    const char *replay = is_replayed(counting) ? "kernel" : "application";

    text_addf(file, "chip=%s\npasses=%llu\nranges=%llu\nreplay=%s\nimage=%llu\n", counting->config.chip,
              (unsigned long long)counting->config.passes,
              (unsigned long long)ranges_of(wanted, is_single ? RANGES_OF_ONE_PASS : RANGES_REPLAYED), replay,
              (unsigned long long)counting->config.bytes);
    for (size_t i = 0; i < counting->metric_count; i++)
        text_addf(file, "metric=%s\n", counting->metrics[i].counter);
    for (size_t i = 0; wanted->filters && wanted->filters[i]; i++)
        text_addf(file, "%s\n", wanted->filters[i]);
    if (wanted->max_seconds > 0)
        text_addf(file, "ns=%.0f\n", wanted->max_seconds * 1e9);
    text_addf(file, "\n");
}

static int prepare(struct cuda_counting *counting, struct error *err)
{
    const char *folder = counting->collector->folder;
    char path[128], image[128];
    struct text file = { 0 };

    if (!folder || !*folder)
        return error_set(err, ERR_IO, "The folder for counters could not be made in /tmp.");
    snprintf(path, sizeof path, "%s/" WIRE_COUNTERS_FILE, folder);
    snprintf(image, sizeof image, "%s/" WIRE_COUNTERS_FILE ".config", folder);
    int code = ask_config(counting, image, err);
    if (!code && !is_replayed(counting) && counting->config.passes > 1)
        code = error_set(err, ERR_UNSUPPORTED,
                         "These metrics need %llu passes, and the program runs once: replay kernels, or count fewer "
                         "metrics (light needs one pass).",
                         (unsigned long long)counting->config.passes);
    if (code)
        return code;
    if (is_replayed(counting) && counting->config.passes > 1)
        collector_warn(
            counting->collector, 0,
            "Kernels are replayed, in %llu passes. Copies and kernels that are not counted are not recorded; "
            "--gpu-counters=light needs no replay.",
            (unsigned long long)counting->config.passes);
    add_lines(counting, &file);
    if (text_add_file(&file, image) || text_write_file(&file, path))
        code = error_set(err, ERR_IO, "Cannot write %s: %s", path, strerror(errno));
    text_free(&file);
    return code;
}

struct cuda_counting *cuda_counting_begin(struct collector *collector)
{
    struct cuda_counting *counting = calloc(1, sizeof *counting);
    struct error err = { 0 };

    if (!counting)
        return NULL;
    counting->collector = collector;
    counting->duration = SIZE_MAX;
    if (!prepare(counting, &err))
        return counting;
    collector_warn(collector, 0, "Kernels are not counted. %s", err.text);
    cuda_counting_free(counting);
    return NULL;
}

/* ---- What agents tell -------------------------------------------------------------------------------------------- */

void cuda_counting_image(struct cuda_counting *counting, const struct counting_image *image)
{
    if (counting->image_count < IMAGES_MOST &&
        array_reserve(&counting->images, &counting->image_room, counting->image_count + 1, sizeof *image) == 0)
        counting->images[counting->image_count++] = *image;
}

int64_t cuda_counting_kernel(struct cuda_counting *counting, const struct counting_kernel *kernel)
{
    int64_t id = (int64_t)counting->kernel_count;

    if (array_reserve(&counting->kernels, &counting->kernel_room, counting->kernel_count + 1,
                      sizeof *counting->kernels))
        return -1;
    counting->kernels[counting->kernel_count++] = (struct numbered_kernel){ *kernel, id, 0 };
    return id;
}

int cuda_counting_untimed(struct cuda_counting *counting, const struct counting_kernel *kernel,
                          const struct row_CUPTI_ACTIVITY_KIND_KERNEL *row)
{
    if (array_reserve(&counting->untimed, &counting->untimed_room, counting->untimed_count + 1,
                      sizeof *counting->untimed))
        return -1;
    counting->untimed[counting->untimed_count++] = (struct untimed_kernel){ *kernel, *row };
    return 0;
}

void cuda_counting_uncounted(struct cuda_counting *counting, const uint64_t *causes)
{
    for (size_t i = 0; i < WIRE_UNCOUNTED_CAUSES; i++)
        counting->uncounted[i] += causes[i];
}

/* ---- Evaluation -------------------------------------------------------------------------------------------------- */

static int compare_kernels(const void *a, const void *b)
{
    return memcmp(&((const struct numbered_kernel *)a)->key, &((const struct numbered_kernel *)b)->key,
                  sizeof(struct counting_kernel));
}

static struct numbered_kernel *find_kernel(const struct cuda_counting *counting, const struct counting_kernel *key)
{
    struct numbered_kernel wanted = { *key, 0, 0 };
    return counting->kernel_count
               ? bsearch(&wanted, counting->kernels, counting->kernel_count, sizeof wanted, compare_kernels)
               : NULL;
}

static void take_results(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct cuda_counting *counting = context;
    const struct gpu_results *results = payload;

    if (frame->type == GPU_FRAME_REFUSAL)
        add_refusal(counting, frame, payload);
    if (frame->type != GPU_FRAME_RESULTS || frame->bytes < sizeof *results ||
        (frame->bytes - sizeof *results) / sizeof(double) < results->count || results->count != counting->metric_count)
        return;
    struct numbered_kernel *kernel = find_kernel(counting,
                                                 &(struct counting_kernel){ counting->now->pid, counting->now->number,
                                                                            results->range });
    double duration = counting->duration < results->count ? results->values[counting->duration] : 0;
    if (kernel && duration >= 0 && duration < DURATION_MOST_NS)
        kernel->duration_ns = (int64_t)duration;
    for (uint32_t i = 0; kernel && i < results->count; i++) {
        struct row_TACHO_KERNEL_COUNTER_VALUES row = { 0 };
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, kernelId, kernel->id);
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, metricId, i);
        if (isfinite(results->values[i]))
            ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, value, results->values[i] * counting->metrics[i].factor);
        writer_append(counting->collector->writer, TABLE_TACHO_KERNEL_COUNTER_VALUES, &row);
    }
}

static int evaluate(struct cuda_counting *counting, const struct counting_image *image, struct error *err)
{
    struct text chip = { 0 }, metrics = { 0 }, data = { 0 };

    text_addf(&chip, "chip=%s", counting->config.chip);
    text_addf(&metrics, "metrics=%s", text_string(&counting->counters));
    text_addf(&data, "data=%s/" WIRE_COUNTERS_FILE "-%u-%u", counting->collector->folder, image->pid, image->number);
    const char *const options[] = { text_string(&chip), text_string(&metrics), text_string(&data), NULL };
    counting->now = image;
    text_clear(&counting->refusal);
    int code = gpu_ask(&(struct gpu_question){ "results", options, PATIENCE_NS, ENDED, NULL }, take_results, counting,
                       err);
    if (!code && counting->refusal.length)
        code = error_set(err, ERR_UNSUPPORTED, "%s", text_string(&counting->refusal));
    unlink(text_string(&data) + strlen("data="));
    text_free(&chip);
    text_free(&metrics);
    text_free(&data);
    return code;
}

/* Ranges have no names: only if there is one for each launch is their order known. */
static int is_usable(const struct counting_image *image)
{
    return image->result == 0 && image->launches && image->ranges == image->launches && !image->dropped;
}

static void warn_uncounted(struct cuda_counting *counting)
{
    static const char *const causes[WIRE_UNCOUNTED_CAUSES] = {
        [WIRE_UNCOUNTED_GRAPH] = "launches of CUDA graphs",
        [WIRE_UNCOUNTED_LATE] = "launches after the time limit",
    };
    for (size_t i = 0; i < WIRE_UNCOUNTED_CAUSES; i++)
        if (causes[i] && counting->uncounted[i])
            collector_warn(counting->collector, 0, "Not counted: %llu %s.", (unsigned long long)counting->uncounted[i],
                           causes[i]);
    if (counting->lost)
        collector_warn(counting->collector, 0,
                       "%llu kernels have no counters: CUPTI counted another number of kernels than were launched.",
                       (unsigned long long)counting->lost);
}

/* Of several passes, the times are those of the last. */
static void write_untimed(struct cuda_counting *counting)
{
    for (size_t i = 0; i < counting->untimed_count; i++) {
        struct untimed_kernel *untimed = &counting->untimed[i];
        const struct numbered_kernel *kernel = find_kernel(counting, &untimed->key);
        untimed->row.start -= kernel ? kernel->duration_ns : 0;
        writer_append(counting->collector->writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &untimed->row);
    }
}

void cuda_counting_finish(struct cuda_counting *counting)
{
    struct error err = { 0 };
    int has_failed = 0; /* then the others would, after a minute each */

    if (counting->kernel_count)
        qsort(counting->kernels, counting->kernel_count, sizeof *counting->kernels, compare_kernels);
    for (size_t i = 0; i < counting->image_count; i++) {
        const struct counting_image *image = &counting->images[i];
        if (!is_usable(image) || has_failed)
            counting->lost += image->launches;
        else if ((has_failed = evaluate(counting, image, &err)) != 0)
            collector_warn(counting->collector, 0, "Counters could not be evaluated: %s", err.text);
    }
    write_untimed(counting);
    warn_uncounted(counting);
}

void cuda_counting_free(struct cuda_counting *counting)
{
    if (!counting)
        return;
    for (size_t i = 0; i < counting->metric_count; i++)
        free(counting->metrics[i].counter);
    free(counting->metrics);
    free(counting->images);
    free(counting->kernels);
    free(counting->untimed);
    text_free(&counting->counters);
    text_free(&counting->refusal);
    free(counting);
}
