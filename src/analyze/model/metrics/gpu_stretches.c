/* The merge of samples and work in order of time: see gpu_stretches.h. */
#include "gpu_stretches.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/saturating.h"

int gpu_stretches_add(struct gpu_stretches *stretches, const int64_t key[STRETCH_PARTS], int64_t start_ns,
                      int64_t end_ns)
{
    if (end_ns < start_ns)
        return 0;
    uint32_t group = keys_add(&stretches->groups, key);
    if (group == NO_KEY ||
        array_reserve(&stretches->list, &stretches->room, stretches->count + 1, sizeof *stretches->list) != 0)
        return ERR_NO_MEMORY;
    stretches->list[stretches->count++] = (struct gpu_stretch){ start_ns, end_ns, group };
    return 0;
}

void gpu_stretches_free(struct gpu_stretches *stretches)
{
    keys_free(&stretches->groups);
    free(stretches->list);
}

static int gpu_stretches_by_start(const void *a, const void *b)
{
    const struct gpu_stretch *x = a, *y = b;

    return COMPARE(x->start_ns, y->start_ns);
}

static void sort_stretches(struct gpu_stretches *stretches)
{
    size_t i = 1;

    while (i < stretches->count && stretches->list[i - 1].start_ns <= stretches->list[i].start_ns)
        i++;
    if (i < stretches->count)
        qsort(stretches->list, stretches->count, sizeof *stretches->list, gpu_stretches_by_start);
}

/* ---- one clock ------------------------------------------------------------------------------------------------- */

/* Where a group is: the end of its work so far, and the sample whose share is being summed up. */
struct gpu_stretches_place {
    int64_t until_ns, covered_ns;
    size_t sample;
};

struct gpu_stretches_merge {
    struct gpu_stretch_join *join;
    const struct gpu_metrics *metrics;
    const struct gpu_clock *clock;
    uint32_t number;                    /* of the clock */
    struct gpu_metrics_part part;       /* the metrics of its GPU */
    struct gpu_stretches_place *places; /* by group */
    int64_t percent;
};

/* The sum for the group's sample is complete: counts it, if it is enough. */
static void gpu_stretches_count_sample(const struct gpu_stretches_merge *merge, uint32_t group)
{
    struct gpu_stretches_place *place = &merge->places[group];
    size_t at = place->sample;
    int64_t covered = place->covered_ns;

    place->covered_ns = 0;
    if (covered <= 0 ||
        (double)covered * 100 < (double)merge->percent * (double)(merge->clock->end[at] - merge->clock->start[at]))
        return;
    struct gpu_stretch_figures *figures = merge->join->figures + merge->join->first[group];
    for (size_t i = 0; i < merge->part.count; i++) {
        const struct gpu_metric *metric = &merge->metrics->list[merge->part.first + i];
        if (metric->clock != merge->number)
            continue;
        double value = metric->values[at];
        figures[i].min = !figures[i].samples || value < figures[i].min ? value : figures[i].min;
        figures[i].max = !figures[i].samples || value > figures[i].max ? value : figures[i].max;
        figures[i].sum += value * (double)covered;
        figures[i].covered_ns = saturating_add(figures[i].covered_ns, covered);
        figures[i].samples++;
    }
}

/* The first sample that ends after this time. */
static size_t gpu_stretches_sample_at(const struct gpu_clock *clock, int64_t time_ns)
{
    return BISECT(0, clock->count, i, clock->end[i] <= time_ns);
}

static void gpu_stretches_add_stretch(const struct gpu_stretches_merge *merge, const struct gpu_stretch *stretch)
{
    struct gpu_stretches_place *place = &merge->places[stretch->group];
    int64_t start = stretch->start_ns > place->until_ns ? stretch->start_ns : place->until_ns;

    if (stretch->end_ns <= start)
        return;
    place->until_ns = stretch->end_ns;
    for (size_t at = gpu_stretches_sample_at(merge->clock, start);
         at < merge->clock->count && merge->clock->start[at] < stretch->end_ns; at++) {
        if (at != place->sample)
            gpu_stretches_count_sample(merge, stretch->group);
        place->sample = at;
        int64_t from = merge->clock->start[at] > start ? merge->clock->start[at] : start,
                to = merge->clock->end[at] < stretch->end_ns ? merge->clock->end[at] : stretch->end_ns;
        place->covered_ns += saturating_duration(from, to);
    }
}

static void merge_clock(const struct gpu_stretches_merge *merge, const struct gpu_stretches *stretches)
{
    size_t groups = stretches->groups.count;

    for (size_t i = 0; i < groups; i++)
        merge->places[i] = (struct gpu_stretches_place){ INT64_MIN, 0, 0 };
    for (size_t i = 0; i < stretches->count; i++)
        if (keys_get(&stretches->groups, stretches->list[i].group)[STRETCH_GPU] == merge->clock->gpu)
            gpu_stretches_add_stretch(merge, &stretches->list[i]);
    for (uint32_t i = 0; i < groups; i++)
        gpu_stretches_count_sample(merge, i);
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static void gpu_stretches_add_busy(struct gpu_stretch_join *join, const struct gpu_stretches *stretches,
                                   struct gpu_stretches_place *places)
{
    for (size_t i = 0; i < stretches->groups.count; i++)
        places[i] = (struct gpu_stretches_place){ INT64_MIN, 0, 0 };
    for (size_t i = 0; i < stretches->count; i++) {
        const struct gpu_stretch *stretch = &stretches->list[i];
        struct gpu_stretches_place *place = &places[stretch->group];
        int64_t start = stretch->start_ns > place->until_ns ? stretch->start_ns : place->until_ns;
        if (stretch->end_ns <= start)
            continue;
        join->busy_ns[stretch->group] = saturating_add(join->busy_ns[stretch->group],
                                                       saturating_duration(start, stretch->end_ns));
        place->until_ns = stretch->end_ns;
    }
}

static int gpu_stretches_make_room(struct gpu_stretch_join *join, const struct gpu_stretches *stretches,
                                   const struct gpu_metrics *metrics)
{
    size_t groups = stretches->groups.count, count = 0;

    *join = (struct gpu_stretch_join){ .first = calloc(groups + 1, sizeof *join->first),
                                       .busy_ns = calloc(groups + 1, sizeof *join->busy_ns) };
    if (!join->first || !join->busy_ns)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < groups; i++) {
        join->first[i] = count;
        count += gpu_metrics_of(metrics, keys_get(&stretches->groups, i)[STRETCH_GPU]).count;
    }
    join->figures = calloc(count + 1, sizeof *join->figures);
    return join->figures ? 0 : ERR_NO_MEMORY;
}

int gpu_stretches_join(struct gpu_stretch_join *join, struct gpu_stretches *stretches,
                       const struct gpu_metrics *metrics, int64_t percent)
{
    struct gpu_stretches_place *places = calloc(stretches->groups.count + 1, sizeof *places);
    int code = ERR_NO_MEMORY;

    if (gpu_stretches_make_room(join, stretches, metrics) != 0 || !places)
        goto free_places;
    sort_stretches(stretches);
    gpu_stretches_add_busy(join, stretches, places);
    for (uint32_t i = 0; i < metrics->clock_count; i++) {
        const struct gpu_clock *clock = &metrics->clocks[i];
        merge_clock(&(struct gpu_stretches_merge){ join, metrics, clock, i, gpu_metrics_of(metrics, clock->gpu), places,
                                                   percent },
                    stretches);
    }
    code = 0;
free_places:
    free(places);
    return code;
}

void gpu_stretch_join_free(struct gpu_stretch_join *join)
{
    free(join->figures);
    free(join->first);
    free(join->busy_ns);
    *join = (struct gpu_stretch_join){ 0 };
}
