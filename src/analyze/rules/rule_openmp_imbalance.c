/* The rule openmp_imbalance: parallel regions of OpenMP whose threads wait for the busiest one.
 *
 * An instance of a region would end earlier by the work of its busiest thread less the mean (openmp_regions.h), so that
 * much at its end is the cost. Instances that run at the same time, in several processes or in threads of an outer
 * region, cost the wall time only once. Time in which a thread was preempted is no work: other programs make no
 * imbalance. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/openmp_regions.h"
#include "analyze/model/stacks/thread_spans.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "base/path.h"
#include "rule.h"

#define LEAST_NS INT64_C(1000000)
enum { LEAST_PERCENT = 5, MOST_PERCENT = 67 }; /* of instances: then it is always the same thread */

/* The end of an instance, which better balance would save. */
struct imbalance_gain {
    int64_t place, from_ns, to_ns;
};

/* All instances of a region. */
struct imbalance_place {
    int64_t impact_ns, until_ns; /* up to the end of the last gain so far */
    int64_t total_ns, most_ns, instances, threads;
    double mean_ns;
    int64_t busiest, times;      /* the thread that is the busiest most often, and how often */
};

struct imbalance_search {
    struct rule_search base;
    struct openmp_regions regions;
    struct thread_spans off_cpu;
    struct imbalance_gain *gains;   /* owned; by place, then by time */
    struct imbalance_place *places; /* owned */
    struct keys busiest;            /* place, number of a thread in its team */
    int64_t *times;                 /* owned; by key of busiest: instances */
    size_t times_room;
};

static void imbalance_search_free(void *context)
{
    struct imbalance_search *search = context;

    openmp_regions_free(&search->regions);
    thread_spans_free(&search->off_cpu);
    free(search->gains);
    free(search->places);
    keys_free(&search->busiest);
    free(search->times);
}

/* How long a thread was preempted. */
static int64_t imbalance_preempted(const void *context, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    const struct thread_spans *spans = context;
    size_t behind, i = thread_spans_from(spans, thread, from_ns, &behind);
    int64_t sum = 0;

    for (; i < behind && spans->list[i].start_ns < to_ns; i++) {
        const struct thread_span *span = &spans->list[i];
        int64_t start_ns = span->start_ns > from_ns ? span->start_ns : from_ns,
                end_ns = span->end_ns < to_ns ? span->end_ns : to_ns;
        if (span->name == OFF_CPU_PREEMPTED && start_ns < end_ns)
            sum = saturating_add(sum, saturating_duration(start_ns, end_ns));
    }
    return sum;
}

static int imbalance_by_place(const void *a, const void *b)
{
    const struct imbalance_gain *x = a, *y = b;

    return COMPARE(x->place, y->place) ?: COMPARE(x->from_ns, y->from_ns);
}

/* Counts the instances in which a thread is the busiest one. */
static int imbalance_add_busiest(struct imbalance_search *search, const struct openmp_region *region)
{
    struct imbalance_place *place = &search->places[region->place];
    uint32_t key = keys_add(&search->busiest, (int64_t[]){ region->place, region->busiest });

    if (key == NO_KEY ||
        array_reserve_zeroed(&search->times, &search->times_room, key + 1u, sizeof *search->times) != 0)
        return ERR_NO_MEMORY;
    if (++search->times[key] <= place->times)
        return 0;
    place->times = search->times[key];
    place->busiest = region->busiest;
    return 0;
}

static int imbalance_add_instance(struct imbalance_search *search, size_t at)
{
    const struct openmp_region *region = &search->regions.list[at];
    struct imbalance_place *place = &search->places[region->place];

    search->gains[at] = (struct imbalance_gain){ region->place,
                                                 saturating_subtract(region->end_ns, openmp_region_gain(region)),
                                                 region->end_ns };
    place->until_ns = INT64_MIN;
    place->instances++;
    place->total_ns = saturating_add(place->total_ns, saturating_duration(region->start_ns, region->end_ns));
    place->threads = region->parts > place->threads ? region->parts : place->threads;
    place->most_ns = saturating_add(place->most_ns, region->most_ns);
    place->mean_ns += region->parts ? (double)region->work_ns / region->parts : 0;
    return region->busiest < 0 ? 0 : imbalance_add_busiest(search, region);
}

static int imbalance_sum_up(struct imbalance_search *search)
{
    const struct openmp_regions *regions = &search->regions;
    size_t count = regions->numbers.count;

    search->gains = array_alloc(count + 1, sizeof *search->gains);
    search->places = calloc(regions->places.count + 1, sizeof *search->places);
    search->busiest.width = 2;
    if (!search->gains || !search->places)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (imbalance_add_instance(search, i) != 0)
            return ERR_NO_MEMORY;
    if (count)
        qsort(search->gains, count, sizeof *search->gains, imbalance_by_place);
    for (size_t i = 0; i < count; i++) {
        const struct imbalance_gain *gain = &search->gains[i];
        struct imbalance_place *place = &search->places[gain->place];
        int64_t from_ns = gain->from_ns > place->until_ns ? gain->from_ns : place->until_ns;
        if (from_ns >= gain->to_ns)
            continue;
        place->impact_ns = saturating_add(place->impact_ns, saturating_duration(from_ns, gain->to_ns));
        place->until_ns = gain->to_ns;
    }
    return 0;
}

static int imbalance_read_all(void *context, struct error *err)
{
    struct imbalance_search *search = context;
    struct report *report = search->base.report;
    int code;

    if ((code = openmp_regions_read(&search->regions, report, &search->base.filter, err)) != 0 ||
        (code = thread_spans_off_cpu(&search->off_cpu, report, &(struct filter){ 0 }, err)) != 0)
        return code;
    if (openmp_regions_measure(&search->regions, imbalance_preempted, &search->off_cpu) != 0 ||
        imbalance_sum_up(search) != 0)
        return error_short_memory(err, "for the regions");
    return 0;
}

/* ---- The table -------------------------------------------------------------------------------------------------- */

enum { IMPACT, TOTAL, INSTANCES, THREADS, RATIO, BUSIEST, TIMES, FUNCTION, PLACE, CELLS };
static const struct table_column imbalance_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },          { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "Instances", CELL_INT, UNIT_NONE, 0 },     { "Threads", CELL_INT, UNIT_NONE, 0 },
    { "Max/Mean", CELL_REAL, UNIT_NONE, 2 },     { "Busiest Thread", CELL_INT, UNIT_ID, 0 },
    { "Times Busiest", CELL_INT, UNIT_NONE, 0 }, { "Function", CELL_TEXT, UNIT_NAME, 0 },
    { "Place", CELL_TEXT, UNIT_NONE, 0 },
};

static int imbalance_add_row(struct table *table, const struct imbalance_search *search, uint32_t at)
{
    const struct imbalance_place *place = &search->places[at];
    struct table_cell *row = table_add_row(table);
    struct text line = { 0 };

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], place->impact_ns);
    cell_set_int(&row[TOTAL], place->total_ns);
    cell_set_int(&row[INSTANCES], place->instances);
    cell_set_int(&row[THREADS], place->threads);
    cell_set_real(&row[RATIO], place->mean_ns > 0 ? (double)place->most_ns / place->mean_ns : 0);
    if (place->times) {
        cell_set_int(&row[BUSIEST], place->busiest);
        cell_set_int(&row[TIMES], place->times);
    }
    int failed = cell_set_string(table, &row[FUNCTION], openmp_place_function(&search->regions, at)) != 0;
    openmp_place_line(&line, &search->regions, at);
    failed |= line.length && cell_set_string(table, &row[PLACE], path_base_name(text_string(&line))) != 0;
    text_free(&line);
    return failed ? ERR_NO_MEMORY : 0;
}

static int imbalance_fill(void *context, struct table *table, struct error *err)
{
    struct imbalance_search *search = context;

    (void)err;
    for (uint32_t i = 0; i < search->regions.places.count; i++) {
        const struct imbalance_place *place = &search->places[i];
        if (place->impact_ns >= LEAST_NS && rule_is_enough(&search->base, place->impact_ns) &&
            imbalance_add_row(table, search, i) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int openmp_imbalance(struct report *report, const struct analysis_request *request, struct table **out,
                            struct error *err)
{
    static const struct rule_steps steps = { imbalance_columns,  CELLS,          LEAST_PERCENT,        "the regions",
                                             imbalance_read_all, imbalance_fill, imbalance_search_free };
    struct imbalance_search search = { .base.report = report };

    return rule_run(&steps, &search.base, request, out, err);
}

/* Whether it is the same thread that has more to do, again and again. */
static int imbalance_is_of_one_thread(const struct table_cell *row)
{
    return row[TIMES].kind == CELL_INT && row[TIMES].integer * 100 >= row[INSTANCES].integer * MOST_PERCENT;
}

/* "region in force (nbody.c:31): 4 threads wait for the busiest one, which works 1.90 times the mean; it is thread 3 in
 * 97 of 100 instances; with equal work the region takes 784 ms less of 1.60 s" */
static void imbalance_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    text_add(out, "OpenMP region");
    rule_add_text(out, " in ", &row[FUNCTION]);
    if (row[PLACE].kind == CELL_TEXT) {
        rule_add_text(out, " (", &row[PLACE]);
        text_add_char(out, ')');
    }
    text_addf(out, ": its %lld threads wait for the busiest one, which works %.2f times the mean",
              (long long)row[THREADS].integer, row[RATIO].real);
    if (imbalance_is_of_one_thread(row))
        text_addf(out, ", thread %lld in %lld of %lld instances", (long long)row[BUSIEST].integer,
                  (long long)row[TIMES].integer, (long long)row[INSTANCES].integer);
    text_add(out, "; with equal work it takes ");
    human_time(out, row[IMPACT].integer);
    text_add(out, " less of ");
    human_time(out, row[TOTAL].integer);
}

static const char *imbalance_advise(const struct table *table, size_t at)
{
    return imbalance_is_of_one_thread(table_row(table, at))
               ? "Give the threads equal work: schedule(dynamic) or schedule(guided) for iterations of unequal length, "
                 "schedule(static, 16) to mix long and short ones, collapse(2) for few long iterations. If the busiest "
                 "is thread 0, look for a master, masked or single part."
               : "Give the threads smaller parts, with schedule(dynamic) or schedule(guided): the busiest one changes, "
                 "so iterations differ from run to run, or CPUs do. OMP_PROC_BIND=true keeps threads on their CPUs.";
}

const struct analysis rule_openmp_imbalance = {
    .name = "openmp_imbalance",
    .title = "OpenMP Imbalance",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help = "Parallel regions of OpenMP whose threads wait for the busiest one, by function and line, with the wall "
            "time that equal work would save: the busiest thread's work less the mean, without the time in which it "
            "was preempted. A region is a finding if that is at least threshold (5) percent of the capture. "
            "openmp_region_sum of 'tacho stats' has all regions.",
    .needs = { { "OpenMP event data", TABLES("OPENMP_EVENT_KIND_PARALLEL") } },
    .run = openmp_imbalance,
    .rule = ANALYSIS_RULE(.finding = imbalance_say, .advise = imbalance_advise,
                          .advice = "Give the threads equal work, with schedule(dynamic) or schedule(guided).",
                          .praise = "The threads of OpenMP's regions have equal work."),
};
