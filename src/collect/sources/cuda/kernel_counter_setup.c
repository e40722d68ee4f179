/* Counters of kernels, before the program runs. tacho-gpu makes the configuration: bin/tacho loads no CUPTI. */
#include "kernel_counter_capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/gpu/gpu_ask.h"
#include "collect/gpu/gpu_link.h"
#include "wire/wire_cuda.h"

#define IMAGES_BYTES (UINT64_C(4) << 30) /* of all images, unless it is given */
#define ENDED "tacho-gpu was ended"
/* Ranges of an image. On an H200, starting took 0.2 s with images of 40 ranges, 0.5 s with 512, 3 s with 4096. */
enum { RANGES_OF_ONE_PASS = 512, RANGES_REPLAYED = 64 };

/* ---- Before the program runs ------------------------------------------------------------------------------------ */

static struct row_TACHO_METRICS metric_row(struct counter_capture *counters, const char *const *texts)
{
    struct collector *collector = counters->collector;
    struct row_TACHO_METRICS row = { 0 };

    ROW_SET(&row, TACHO_METRICS, id, (int64_t)counters->metric_count);
    ROW_SET(&row, TACHO_METRICS, name, collector_string(collector, texts[GPU_METRIC_NAME]));
    if (*texts[GPU_METRIC_UNIT])
        ROW_SET(&row, TACHO_METRICS, unit, collector_string(collector, texts[GPU_METRIC_UNIT]));
    if (*texts[GPU_METRIC_SECTION])
        ROW_SET(&row, TACHO_METRICS, section, collector_string(collector, texts[GPU_METRIC_SECTION]));
    return row;
}

/* The chip is known once all metrics are. */
static void write_metrics(struct counter_capture *counters)
{
    int64_t chip = collector_string(counters->collector, counters->config.chip);

    for (size_t i = 0; i < counters->metric_count; i++) {
        ROW_SET(&counters->metrics[i].row, TACHO_METRICS, chip, chip);
        writer_append(counters->collector->writer, TABLE_TACHO_METRICS, &counters->metrics[i].row);
    }
}

/* Metrics that CUPTI does not count are facts of the launch, which the trace has. */
static void counted_setup_take_metric(struct counter_capture *counters, const struct gpu_frame *frame,
                                      const void *payload)
{
    const struct gpu_frame_metric *metric = payload;
    const char *texts[GPU_METRIC_TEXTS];

    if (gpu_frame_texts(frame, payload, sizeof *metric, texts, GPU_METRIC_TEXTS) || !*texts[GPU_METRIC_COUNTER] ||
        array_reserve(&counters->metrics, &counters->metric_room, counters->metric_count + 1,
                      sizeof *counters->metrics))
        return;
    if (strcmp(texts[GPU_METRIC_NAME], "gpu__time_duration.sum") == 0)
        counters->duration = counters->metric_count;
    struct counted_metric *added = &counters->metrics[counters->metric_count];
    *added = (struct counted_metric){ strdup(texts[GPU_METRIC_COUNTER]), metric->factor, metric_row(counters, texts) };
    counters->metric_count++;
    text_addf(&counters->counters, "%s%s", counters->counters.length ? "," : "", texts[GPU_METRIC_COUNTER]);
}

void counter_capture_refused(struct counter_capture *counters, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_refusal *refusal;
    const char *sentence = gpu_frame_refusal(frame, payload, &refusal);

    if (sentence)
        text_addf(&counters->refusal, "%s%s", counters->refusal.length ? " " : "", sentence);
}

static void take_config(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct counter_capture *counters = context;
    const char *texts[GPU_MISSING_TEXTS];

    if (frame->type == GPU_FRAME_METRIC)
        counted_setup_take_metric(counters, frame, payload);
    else if (frame->type == GPU_FRAME_CONFIG && frame->bytes >= sizeof counters->config)
        memcpy(&counters->config, payload, sizeof counters->config);
    else if (frame->type == GPU_FRAME_MISSING &&
             !gpu_frame_texts(frame, payload, sizeof(struct gpu_missing), texts, GPU_MISSING_TEXTS))
        collector_warn(counters->collector, 0, "%s is not counted: %s", texts[GPU_MISSING_NAME],
                       texts[GPU_MISSING_WHY]);
    else if (frame->type == GPU_FRAME_REFUSAL)
        counter_capture_refused(counters, frame, payload);
}

static void counted_setup_add_option(struct text *option, const char *name, const char *value)
{
    if (value && *value)
        text_addf(option, "%s=%s", name, value);
}

/* A variable as the program will have it; NULL: it has none. */
static const char *variable_of(const struct collect_options *options, const char *name)
{
    const char *value = options->clean_environment ? NULL : getenv(name);

    for (size_t i = 0; i < options->environment_count; i++)
        if (strcmp(options->environment[i].name, name) == 0)
            value = options->environment[i].value;
    return value;
}

/* The first GPU that the filters let through: the counters are chosen for its chip. */
static void first_device(const char *filters, char digits[16])
{
    static const char key[] = "device=";
    const char *line = filters;

    while (line && !text_begins_with(line, key))
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    snprintf(digits, 16, "%d", line ? atoi(line + strlen(key)) : 0);
}

static int ask_config(struct counter_capture *counters, const char *image, struct error *err)
{
    const struct collect_options *all = counters->collector->options;
    const struct counter_options *wanted = &all->kernel_counters;
    const char *visible = variable_of(all, "CUDA_VISIBLE_DEVICES");
    char device[16];
    struct {
        const char *name, *value;
    } given[] = {
        { "device", device },
        { "visible", visible ? visible : GPU_VISIBLE_ALL },
        { "order", variable_of(all, "CUDA_DEVICE_ORDER") },
        { "profiler", "range" },
        { "sets", wanted->sets },
        { "sections", wanted->sections },
        { "metrics", wanted->metrics },
        { "file", image },
    };
    struct text texts[COUNT_OF(given)] = { 0 };
    const char *options[COUNT_OF(given) + 1] = { 0 };
    size_t count = 0;

    first_device(wanted->filters, device);
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        counted_setup_add_option(&texts[i], given[i].name, given[i].value);
        if (texts[i].length)
            options[count++] = text_string(&texts[i]);
    }
    int code = gpu_ask(&(struct gpu_question){ "config", options, COUNTER_CAPTURE_PATIENCE_NS, ENDED, NULL },
                       take_config, counters, err);
    for (size_t i = 0; i < COUNT_OF(given); i++)
        text_free(&texts[i]);
    if (!code && counters->refusal.length)
        code = error_set(err, ERR_UNSUPPORTED, "%s", text_string(&counters->refusal));
    if (!code && (!counters->config.bytes || !counters->metric_count))
        code = error_set(err, ERR_UNSUPPORTED, "None of these metrics can be counted on this GPU.");
    return code;
}

static int is_replayed(const struct counter_capture *counters)
{
    const char *asked = counters->collector->options->kernel_counters.replay;
    return asked ? strcmp(asked, "kernel") == 0 : counters->config.passes > 1;
}

uint32_t counter_capture_flags(const struct counter_capture *counters)
{
    return !counters ? 0 : WIRE_CUDA_COUNTERS | (is_replayed(counters) ? WIRE_CUDA_REPLAY : 0);
}

static void counted_setup_add_lines(struct counter_capture *counters, struct text *file)
{
    const struct counter_options *wanted = &counters->collector->options->kernel_counters;
    int is_single = counters->config.passes <= 1;
    const char *replay = is_replayed(counters) ? "kernel" : "application";

    text_addf(file, "chip=%s\npasses=%llu\nranges=%d\nreplay=%s\nimage=%llu\nbytes=%llu\n", counters->config.chip,
              (unsigned long long)counters->config.passes, is_single ? RANGES_OF_ONE_PASS : RANGES_REPLAYED, replay,
              (unsigned long long)counters->config.bytes,
              (unsigned long long)(wanted->max_bytes ? wanted->max_bytes : IMAGES_BYTES));
    for (size_t i = 0; i < counters->metric_count; i++)
        text_addf(file, "metric=%s\n", counters->metrics[i].counter);
    if (wanted->filters && *wanted->filters)
        text_addf(file, "%s%s", wanted->filters, wanted->filters[strlen(wanted->filters) - 1] == '\n' ? "" : "\n");
    if (wanted->max_seconds > 0)
        text_addf(file, "ns=%.0f\n", wanted->max_seconds * 1e9);
    text_addf(file, "\n");
}

static int counted_setup_prepare(struct counter_capture *counters, struct error *err)
{
    const char *folder = counters->collector->folder;
    char path[128], image[128], sum[128];
    struct text file = { 0 }, none = { 0 };

    if (!folder || !*folder)
        return error_set(err, ERR_IO, "The folder for counters could not be made in /tmp.");
    snprintf(path, sizeof path, "%s/" WIRE_COUNTERS_FILE, folder);
    snprintf(image, sizeof image, "%s/" WIRE_COUNTERS_FILE ".config", folder);
    snprintf(sum, sizeof sum, "%s/" WIRE_COUNTERS_SUM_FILE, folder);
    int code = ask_config(counters, image, err);
    if (!code && !is_replayed(counters) && counters->config.passes > 1)
        code = error_set(err, ERR_UNSUPPORTED,
                         "These metrics need %llu passes, and the program runs once: replay kernels, or count fewer "
                         "metrics (light needs one pass).",
                         (unsigned long long)counters->config.passes);
    if (code)
        return code;
    if (is_replayed(counters) && counters->config.passes > 1)
        collector_warn(
            counters->collector, 0,
            "Kernels are replayed, in %llu passes. Copies and kernels that are not counted are not recorded; "
            "the set light needs no replay.",
            (unsigned long long)counters->config.passes);
    write_metrics(counters);
    counted_setup_add_lines(counters, &file);
    text_add_bytes(&none, &(uint64_t){ 0 }, sizeof(uint64_t));
    if (text_add_file(&file, image) || text_write_file(&none, sum) || text_write_file(&file, path))
        code = error_set(err, ERR_IO, "Cannot write %s: %s", path, strerror(errno));
    text_free(&file);
    text_free(&none);
    return code;
}

struct counter_capture *counter_capture_begin(struct collector *collector)
{
    struct counter_capture *counters = calloc(1, sizeof *counters);
    struct error err = { 0 };

    if (!counters)
        return NULL;
    counters->collector = collector;
    counters->duration = SIZE_MAX;
    if (!counted_setup_prepare(counters, &err))
        return counters;
    collector_warn(collector, 0, "Kernels are not counted. %s", err.text);
    counter_capture_free(counters);
    return NULL;
}

void counter_capture_free(struct counter_capture *counters)
{
    if (!counters)
        return;
    for (size_t i = 0; i < counters->metric_count; i++)
        free(counters->metrics[i].counter);
    free(counters->metrics);
    free(counters->images);
    free(counters->kernels);
    free(counters->untimed);
    text_free(&counters->counters);
    text_free(&counters->refusal);
    free(counters);
}
