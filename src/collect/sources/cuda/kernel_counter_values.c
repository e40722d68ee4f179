/* Counters of kernels, after the program: tacho-gpu evaluates the images that CUPTI wrote, all in one run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/gpu/gpu_ask.h"
#include "kernel_counter_capture.h"

#define DURATION_MOST_NS 1e15
#define IMAGES_MOST 65536u
enum { PATH_BYTES = 128 };

/* ---- What agents tell -------------------------------------------------------------------------------------------- */

void counter_capture_add_image(struct counter_capture *counters, const struct counted_image *image)
{
    if (counters->image_count < IMAGES_MOST &&
        array_reserve(&counters->images, &counters->image_room, counters->image_count + 1, sizeof *image) == 0)
        counters->images[counters->image_count++] = *image;
}

int64_t counter_capture_add_kernel(struct counter_capture *counters, const struct counted_place *place)
{
    int64_t id = (int64_t)counters->kernel_count;

    if (array_reserve(&counters->kernels, &counters->kernel_room, counters->kernel_count + 1,
                      sizeof *counters->kernels))
        return -1;
    counters->kernels[counters->kernel_count++] = (struct counted_kernel){ .place = *place, .id = id };
    return id;
}

int counter_capture_add_untimed(struct counter_capture *counters, const struct counted_place *place,
                                const struct row_CUPTI_ACTIVITY_KIND_KERNEL *row)
{
    if (array_reserve(&counters->untimed, &counters->untimed_room, counters->untimed_count + 1,
                      sizeof *counters->untimed))
        return -1;
    counters->untimed[counters->untimed_count++] = (struct untimed_kernel){ *place, *row };
    return 0;
}

void counter_capture_add_uncounted(struct counter_capture *counters, const uint64_t *causes)
{
    for (size_t i = 0; i < WIRE_UNCOUNTED_CAUSES; i++)
        counters->uncounted[i] += causes[i];
}

/* ---- Evaluation -------------------------------------------------------------------------------------------------- */

static int counted_values_compare_kernels(const void *a, const void *b)
{
    return memcmp(&((const struct counted_kernel *)a)->place, &((const struct counted_kernel *)b)->place,
                  sizeof(struct counted_place));
}

static struct counted_kernel *find_kernel(const struct counter_capture *counters, const struct counted_place *place)
{
    struct counted_kernel wanted = { .place = *place };
    return counters->kernel_count ? bsearch(&wanted, counters->kernels, counters->kernel_count, sizeof wanted,
                                            counted_values_compare_kernels)
                                  : NULL;
}

static void value_rows(struct counter_capture *counters, struct counted_kernel *kernel,
                       const struct gpu_results *results)
{
    double duration = counters->duration < results->count ? results->values[counters->duration] : 0;

    kernel->has_values = 1;
    if (duration >= 0 && duration < DURATION_MOST_NS)
        kernel->duration_ns = (int64_t)duration;
    for (uint32_t i = 0; i < results->count; i++) {
        struct row_TACHO_KERNEL_COUNTER_VALUES row = { 0 };
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, kernelId, kernel->id);
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, metricId, i);
        if (isfinite(results->values[i]))
            ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, value, results->values[i] * counters->metrics[i].factor);
        writer_append(counters->collector->writer, TABLE_TACHO_KERNEL_COUNTER_VALUES, &row);
    }
}

static void take_results(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct counter_capture *counters = context;
    const struct gpu_results *results = payload;

    if (frame->type == GPU_FRAME_REFUSAL)
        counter_capture_refused(counters, frame, payload);
    if (frame->type != GPU_FRAME_RESULTS || frame->bytes < sizeof *results ||
        (frame->bytes - sizeof *results) / sizeof(double) < results->count ||
        results->count != counters->metric_count || results->image >= counters->image_count)
        return;
    struct counted_kernel *kernel = find_kernel(counters,
                                                &(struct counted_place){ counters->images[results->image].number,
                                                                         results->range });
    if (kernel)
        value_rows(counters, kernel, results);
}

static void image_path(const struct counter_capture *counters, const struct counted_image *image, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/" WIRE_COUNTERS_FILE "-%u", counters->collector->folder, image->number);
}

/* Evaluates the first `count` images. */
static int evaluate(struct counter_capture *counters, size_t count, struct error *err)
{
    struct text chip = { 0 }, list = { 0 }, lines = { 0 };
    char path[PATH_BYTES];

    text_addf(&lines, "%s\n", text_string(&counters->counters));
    for (size_t i = 0; i < count; i++) {
        image_path(counters, &counters->images[i], path);
        text_addf(&lines, "%s\n", path);
    }
    text_addf(&chip, "chip=%s", counters->config.chip);
    text_addf(&list, "list=%s/" WIRE_COUNTERS_FILE ".list", counters->collector->folder);
    const char *const options[] = { text_string(&chip), text_string(&list), NULL };
    const struct gpu_question question = { "results", options, COUNTER_CAPTURE_PATIENCE_NS, "tacho-gpu was ended",
                                           NULL };
    const char *file = text_string(&list) + strlen("list=");
    text_clear(&counters->refusal);
    int code = text_write_file(&lines, file) ? error_set(err, ERR_IO, "Cannot write %s.", file)
                                             : gpu_ask(&question, take_results, counters, err);
    if (!code && counters->refusal.length)
        code = error_set(err, ERR_UNSUPPORTED, "%s", text_string(&counters->refusal));
    unlink(file);
    text_free(&chip);
    text_free(&list);
    text_free(&lines);
    return code;
}

/* Ranges have no names: only if there is one for each launch is their order known. */
static int counted_values_is_usable(const struct counted_image *image)
{
    return image->result == 0 && image->launches && image->ranges == image->launches && !image->dropped;
}

/* Usable images first, in the order in which they came. Returns their number. */
static size_t sort_images(struct counter_capture *counters)
{
    size_t usable = 0;

    for (size_t i = 0; i < counters->image_count; i++)
        if (counted_values_is_usable(&counters->images[i])) {
            struct counted_image image = counters->images[i];
            counters->images[i] = counters->images[usable];
            counters->images[usable++] = image;
        }
    return usable;
}

/* ---- What is missing --------------------------------------------------------------------------------------------- */

static void warn_uncounted(struct counter_capture *counters)
{
    static const char *const causes[WIRE_UNCOUNTED_CAUSES] = {
        [WIRE_UNCOUNTED_GRAPH] = "launches of CUDA graphs",
        [WIRE_UNCOUNTED_CAPTURED] = "launches while a stream was captured into a graph",
        [WIRE_UNCOUNTED_LATE] = "launches after the time limit",
        [WIRE_UNCOUNTED_COLLECTIVE] = "launches of kernels that wait for others (NCCL, NVSHMEM, cooperative): name the "
                                      "kernel to count it (tacho ncu -k)",
        [WIRE_UNCOUNTED_CHIP] = "launches on GPUs with another chip than the one that the counters were chosen for: "
                                "choose the GPU with CUDA_VISIBLE_DEVICES, or with tacho ncu --devices",
    };

    for (size_t i = 0; i < WIRE_UNCOUNTED_CAUSES; i++)
        if (causes[i] && counters->uncounted[i])
            collector_warn(counters->collector, 0, "Not counted: %llu %s.", (unsigned long long)counters->uncounted[i],
                           causes[i]);
}

static const struct counted_image *find_image(const struct counter_capture *counters, uint32_t number)
{
    for (size_t i = 0; i < counters->image_count; i++)
        if (counters->images[i].number == number)
            return &counters->images[i];
    return NULL;
}

/* Kernels are sorted by image. */
static void warn_lost(struct counter_capture *counters, int has_failed)
{
    enum { DIFFERENT, UNFINISHED, CAUSES };
    static const char *const causes[CAUSES] = {
        [DIFFERENT] = "CUPTI counted another number of kernels than were launched",
        [UNFINISHED] = "the process ended, or lost records, before it handed them over",
    };
    uint64_t lost[CAUSES] = { 0 };
    const struct counted_image *image = NULL;

    for (size_t i = 0; i < counters->kernel_count; i++) {
        const struct counted_kernel *kernel = &counters->kernels[i];
        if (!image || image->number != kernel->place.image)
            image = find_image(counters, kernel->place.image);
        if (!kernel->has_values && !image)
            lost[UNFINISHED]++;
        else if (!kernel->has_values && !(has_failed && counted_values_is_usable(image)))
            lost[DIFFERENT]++;
    }
    for (size_t i = 0; i < CAUSES; i++)
        if (lost[i])
            collector_warn(counters->collector, 0, "%llu kernels have no counters: %s.", (unsigned long long)lost[i],
                           causes[i]);
}

/* A kernel of several passes has the times of the last one. */
static void write_untimed(struct counter_capture *counters)
{
    for (size_t i = 0; i < counters->untimed_count; i++) {
        struct untimed_kernel *untimed = &counters->untimed[i];
        const struct counted_kernel *kernel = find_kernel(counters, &untimed->place);
        untimed->row.start -= kernel ? kernel->duration_ns : 0;
        writer_append(counters->collector->writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &untimed->row);
    }
}

void counter_capture_finish(struct counter_capture *counters)
{
    struct error err = { 0 };
    size_t usable = sort_images(counters);
    char path[PATH_BYTES];

    if (counters->kernel_count)
        qsort(counters->kernels, counters->kernel_count, sizeof *counters->kernels, counted_values_compare_kernels);
    int has_failed = usable && evaluate(counters, usable, &err) != 0;
    if (has_failed)
        collector_warn(counters->collector, 0, "Counters could not be evaluated: %s", err.text);
    for (size_t i = 0; i < counters->image_count; i++) {
        image_path(counters, &counters->images[i], path);
        unlink(path);
    }
    write_untimed(counters);
    warn_uncounted(counters);
    warn_lost(counters, has_failed);
}
