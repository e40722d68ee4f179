/* See sample_weight.h. */
#include "sample_weight.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"

/* The settings of a capture's samples, from TACHO_SAMPLING. */
struct sample_weight_setting {
    int is_clock;
    int64_t frequency; /* samples a second; 0: not known */
    int is_mixed;      /* reports of a set count different events, whose figures cannot be added */
};

static int read_setting(struct sample_weight_setting *out, struct report *report, struct error *err)
{
    static const char *const names[] = { "event", "frequency", NULL };
    struct row_cursor rows = { 0 };
    int code;

    *out = (struct sample_weight_setting){ .frequency = -1 };
    if ((code = row_cursor_open(&rows, report, "TACHO_SAMPLING", names, err)) != 0)
        goto close_rows;
    while (row_cursor_next(&rows)) {
        size_t length = 0;
        const char *event = row_is_null(&rows, 0) ? "" : report_string(report, row_int(&rows, 0), &length);
        int is_clock = length >= 5 && memcmp(event + length - 5, "clock", 5) == 0, is_first = out->frequency < 0;
        int64_t frequency = row_int_or(&rows, 1, 0);
        if (!length) /* nothing was sampled */
            continue;
        out->is_mixed |= !is_first && is_clock != out->is_clock;
        out->is_clock = is_clock;
        out->frequency = is_first || frequency == out->frequency ? frequency : 0;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* The median time between a sample of a thread and its next one; 0 if no thread has two. */
static int median_distance(int64_t *out, const struct stacks *stacks, struct error *err)
{
    int64_t *distances = malloc((stacks->sample_count + 1) * sizeof *distances);
    size_t count = 0;

    if (!distances)
        return error_short_memory(err, "for the samples");
    for (size_t i = 1; i < stacks->sample_count; i++)
        if (stacks->samples[i].thread == stacks->samples[i - 1].thread)
            distances[count++] = saturating_duration(stacks->samples[i - 1].time_ns, stacks->samples[i].time_ns);
    qsort(distances, count, sizeof *distances, array_by_int64);
    *out = count ? distances[count / 2] : 0;
    free(distances);
    return 0;
}

int sample_weight_read(double *weight_ns, const struct stacks *stacks, enum stack_source source,
                       const struct stack_figure *whole, struct error *err)
{
    struct sample_weight_setting setting = { 0 };
    int64_t distance_ns = 0;
    int code;

    *weight_ns = 0;
    if (source == STACKS_CPU && (code = read_setting(&setting, stacks->report, err)) != 0)
        return code;
    if (setting.is_mixed)
        return 0;
    if (setting.is_clock)
        *weight_ns = 1;
    if (setting.is_clock || whole->weight <= 0)
        return 0;
    if (setting.frequency > 0)
        distance_ns = INT64_C(1000000000) / setting.frequency;
    else if ((code = median_distance(&distance_ns, stacks, err)) != 0)
        return code;
    *weight_ns = (double)distance_ns * (double)whole->samples / (double)whole->weight;
    return 0;
}
