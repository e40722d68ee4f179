/* Finds the window of a capture that is too long to read what repeats in it: see advice_probes.h.
 *
 * A few parts of the capture, with as many events as a window has, are searched for steps. Most of them lie in the loop
 * that the run is about, and the one of these whose steps take as long as is usual is the window. A kernel that runs
 * once in each step counts the steps of the whole run: only the column of its names is read for that. */
#include "advice_probes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/torch/steps_read.h"
#include "base/array.h"
#include "report/reader/unite.h"
#include "report/reader/window.h"

/* Parts are made larger, by GROWTH, as long as none has LEAST_STEPS steps: to MOST_GROWN times what a window has. */
enum { PROBES = 5, LEAST_STEPS = 4, GROWTH = 4, MOST_GROWN = 16, BINS = 1 << 16 };

/* ---- where work lies -------------------------------------------------------------------------------------------- */

/* The rows of all work on GPUs over time, as far as the index of chunks says. */
struct spread {
    double *bins; /* owned */
    double total, width;
    struct report_span whole;
};

/* Spreads the rows of a chunk over its span. */
static void add_chunk(struct spread *spread, const struct report_chunk *chunk)
{
    double from = ((double)chunk->first_ns - (double)spread->whole.from_ns) / spread->width,
           to = ((double)chunk->last_ns - (double)spread->whole.from_ns) / spread->width;
    int first = (int)from, last = (int)to;

    for (int bin = first; bin <= last && bin < BINS; bin++)
        spread->bins[bin] += (double)chunk->rows / (last - first + 1);
    spread->total += (double)chunk->rows;
}

static int spread_open(struct spread *spread, struct report *report)
{
    *spread = (struct spread){ .bins = calloc(BINS, sizeof *spread->bins), .whole = { INT64_MAX, INT64_MIN } };
    if (!spread->bins)
        return ERR_NO_MEMORY;
    for (const char *const *name = advice_work_tables; *name; name++) {
        const struct report_table *table = report_table(report, *name);
        if (!table || table->first_ns > table->last_ns)
            continue;
        spread->whole.from_ns = table->first_ns < spread->whole.from_ns ? table->first_ns : spread->whole.from_ns;
        spread->whole.to_ns = table->last_ns > spread->whole.to_ns ? table->last_ns : spread->whole.to_ns;
    }
    spread->width = ((double)spread->whole.to_ns - (double)spread->whole.from_ns + 1) / BINS;
    for (const char *const *name = advice_work_tables; *name && spread->whole.from_ns < spread->whole.to_ns; name++) {
        const struct report_table *table = report_table(report, *name);
        for (size_t i = 0; table && i < report_chunk_count(table); i++) {
            struct report_chunk chunk = report_chunk_at(table, i);
            if (chunk.first_ns <= chunk.last_ns)
                add_chunk(spread, &chunk);
        }
    }
    return 0;
}

/* The span of a share of the work, in whose middle `at` of all work is done. */
static struct report_span spread_span(const struct spread *spread, double at, double share)
{
    double sum = 0, low = at - share / 2, high = at + share / 2;
    int first = 0, end = 0;

    for (int bin = 0; bin < BINS; bin++) {
        sum += spread->bins[bin];
        first += sum <= spread->total * low;
        end += sum <= spread->total * high;
    }
    return (struct report_span){ spread->whole.from_ns + (int64_t)(first * spread->width),
                                 spread->whole.from_ns + (int64_t)((end + 1) * spread->width) };
}

int advice_middle_of_work(struct report *report, double share, struct report_span *span)
{
    struct spread spread;
    int code = spread_open(&spread, report);

    if (code != 0)
        return code;
    *span = spread_span(&spread, 0.5, share);
    code = spread.total > 0 ? 0 : ERR_NO_DATA;
    free(spread.bins);
    return code;
}

/* ---- steps of a part -------------------------------------------------------------------------------------------- */

struct probe {
    struct report *window; /* owned */
    struct steps steps;    /* owned */
    size_t first, count;   /* of its own process in the list, without the first and the last step, which may be cut */
    double mean_ns;
};

static void probe_close(struct probe *probe)
{
    steps_free(&probe->steps);
    report_close(probe->window);
    *probe = (struct probe){ 0 };
}

static double step_length(const struct step *step)
{
    return (double)saturating_duration(step->start_ns, step->end_ns);
}

/* The steps of the process that has most, without the two at the edges. */
static void take_inner_steps(struct probe *probe)
{
    const struct step_process *own = NULL;
    double sum = 0;

    for (size_t i = 0; i < probe->steps.process_count; i++)
        if (!own || probe->steps.processes[i].count > own->count)
            own = &probe->steps.processes[i];
    if (!own || own->count < LEAST_STEPS + 2)
        return;
    probe->first = own->first + 1;
    probe->count = own->count - 2;
    for (size_t i = 0; i < probe->count; i++)
        sum += step_length(&probe->steps.list[probe->first + i]);
    probe->mean_ns = sum / (double)probe->count;
}

/* A part without steps has a count of 0. */
static int probe_open(struct probe *probe, struct report *report, const struct report_span *span, struct error *err)
{
    struct error none;
    int code;

    *probe = (struct probe){ 0 };
    if ((code = report_open_window(report, span, NULL, &probe->window, err)) != 0)
        return code;
    code = steps_read(&probe->steps, probe->window, &(struct steps_request){ .may_guess = 1 }, &none);
    if (code != 0 && code != ERR_NO_DATA)
        return error_set(err, code, "%s", none.text);
    take_inner_steps(probe);
    return 0;
}

/* ---- the choice ------------------------------------------------------------------------------------------------- */

static int is_same_loop(const struct probe *a, const struct probe *b)
{
    return a->count && b->count && strcmp(a->steps.source, b->steps.source) == 0;
}

/* The loop that most parts are in; of two that as many are in, the one whose steps are found first. */
static const struct probe *leading_loop(const struct probe *probes)
{
    const struct probe *leading = NULL;
    size_t most = 0;

    for (size_t i = 0; i < PROBES; i++) {
        size_t same = 0;
        for (size_t j = 0; j < PROBES; j++)
            same += (size_t)is_same_loop(&probes[i], &probes[j]);
        if (same > most) {
            most = same;
            leading = &probes[i];
        }
    }
    return leading;
}

/* The part in that loop whose mean step is nearest to the median of all. NULL: there are no steps. */
static struct probe *most_typical_probe(struct probe *probes)
{
    const struct probe *loop = leading_loop(probes);
    struct probe *best = NULL;
    double means[PROBES];
    size_t count = 0;

    for (size_t i = 0; loop && i < PROBES; i++) {
        size_t at = count;
        if (!is_same_loop(loop, &probes[i]))
            continue;
        for (; at > 0 && means[at - 1] > probes[i].mean_ns; at--)
            means[at] = means[at - 1];
        means[at] = probes[i].mean_ns;
        count++;
    }
    for (size_t i = 0; loop && i < PROBES; i++) {
        double median = means[count / 2], off = probes[i].mean_ns - median;
        if (is_same_loop(loop, &probes[i]) &&
            (!best ||
             (off < 0 ? -off : off) < (best->mean_ns < median ? median - best->mean_ns : best->mean_ns - median)))
            best = &probes[i];
    }
    return best;
}

/* ---- how many steps there are ----------------------------------------------------------------------------------- */

/* What is launched once in each step. */
struct marker {
    const char *table, *column;
    int64_t value;
    double times; /* in a step: 1, if there is one that is launched once */
};

static const struct marker markers[] = {
    { .table = "CUPTI_ACTIVITY_KIND_KERNEL", .column = "demangledName" },
    { .table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", .column = "graphId" },
};

struct marker_count {
    int64_t value;
    uint64_t rows;
};

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The value that the column has as often as there are steps, or the one that comes nearest to it. */
static void choose_value(struct marker *marker, int64_t *values, size_t count, size_t steps)
{
    double least = 0;

    qsort(values, count, sizeof *values, by_value);
    for (size_t first = 0, i = 1; i <= count; i++) {
        if (i < count && values[i] == values[first])
            continue;
        double times = (double)(i - first) / (double)steps, off = times > 1 ? times - 1 : 1 - times;
        if (marker->times == 0 || off < least) {
            least = off;
            marker->value = values[first];
            marker->times = off * (double)steps <= 1.5 ? 1 : times;
        }
        first = i;
    }
}

static int read_marker(struct marker *marker, const struct probe *probe, struct error *err)
{
    enum { START, VALUE, COLUMNS };
    const char *const names[COLUMNS] = { "start", marker->column };
    const struct step *first = &probe->steps.list[probe->first], *last = first + probe->count - 1;
    struct report_columns rows = { 0 };
    size_t count = 0;
    int code = columns_read(probe->window, marker->table, names, COLUMNS, &rows, err);

    if (code != 0)
        return code;
    for (size_t row = 0; row < rows.rows; row++)
        if (rows.values[START][row] >= first->start_ns && rows.values[START][row] < last->end_ns &&
            !columns_is_null(&rows, VALUE, row))
            rows.values[VALUE][count++] = rows.values[VALUE][row];
    if (count)
        choose_value(marker, rows.values[VALUE], count, probe->count);
    report_columns_free(&rows);
    return 0;
}

/* While the rows of a marker are counted. The same name may have several numbers. */
struct marker_search {
    struct report *report;
    const struct marker *marker;
    const char *name; /* NULL: numbers alone are compared */
    int64_t before_ns;
    int only_before;  /* count rows before that time, else all; whole chunks before it in any case */
    _Atomic uint64_t rows, before;
};

static int is_marker(const struct marker_search *search, int64_t value)
{
    return value == search->marker->value ||
           (search->name && strcmp(report_string(search->report, value, NULL), search->name) == 0);
}

static int count_markers(void *context, int worker, const struct report_block *block)
{
    struct marker_search *search = context;
    uint64_t found = 0;

    (void)worker;
    for (size_t row = 0; row < block->rows; row++)
        found += (!search->only_before || block->values[1][row] < search->before_ns) &&
                 is_marker(search, block->values[0][row]);
    search->rows += found;
    search->before += block->last_ns < search->before_ns ? found : 0;
    return 0;
}

/* Steps of the run, and steps before a time. */
static int count_steps(struct report *report, const struct marker *marker, int64_t before_ns, uint64_t *all,
                       uint64_t *before, struct error *err)
{
    const struct report_table *table = report_table(report, marker->table);
    int columns[] = { report_column(table, marker->column), report_column(table, "start") };
    int is_name = table->columns[columns[0]].type == COLUMN_STRING && report_strings_repeat(report);
    struct marker_search search = { .report = report, .marker = marker, .before_ns = before_ns };
    const struct report_span there = { before_ns, before_ns };
    int code;

    search.name = is_name ? report_string(report, marker->value, NULL) : NULL;
    if ((code = report_scan(report, table, columns, 1, NULL, count_markers, &search, err)) != 0)
        return code;
    uint64_t rows = search.rows;
    search.only_before = 1;
    search.rows = 0;
    if ((code = report_scan(report, table, columns, 2, &there, count_markers, &search, err)) != 0)
        return code;
    *all = (uint64_t)((double)rows / marker->times + 0.5);
    *before = (uint64_t)((double)(search.before + search.rows) / marker->times + 0.5);
    return 0;
}

/* ---- the window ------------------------------------------------------------------------------------------------- */

/* Counts the steps of the run, and numbers those of the part as they are there, unless their names have numbers. */
static int number_steps(struct advice_probe *out, struct probe *probe, struct report *report, struct error *err)
{
    struct step *list = probe->steps.list;
    int is_counted = list[probe->first - 1].number == 0;
    uint64_t before = 0;
    int code;

    out->steps_of_run = probe->count;
    for (size_t i = 0; i < COUNT_OF(markers); i++) {
        struct marker marker = markers[i];
        if ((code = read_marker(&marker, probe, err)) != 0)
            return code;
        if (marker.times == 0)
            continue;
        uint64_t all;
        if ((code = count_steps(report, &marker, list[probe->first].start_ns, &all, &before, err)) != 0)
            return code;
        out->steps_of_run = all > probe->count ? (size_t)all : probe->count;
        break;
    }
    for (size_t i = 0; is_counted && i < probe->steps.count; i++)
        list[i].number += (int64_t)before - 1;
    return 0;
}

static int take_probe(struct advice_probe *out, struct probe *probe, struct report *report, struct error *err)
{
    int code = number_steps(out, probe, report, err);

    if (code != 0)
        return code;
    const struct step *first = &probe->steps.list[probe->first];
    out->span = (struct report_span){ first->start_ns, first[probe->count - 1].end_ns };
    out->steps = probe->steps;
    probe->steps = (struct steps){ 0 };
    for (size_t i = 0; i < out->steps.count; i++)
        out->steps.list[i].is_warm_up = 0; /* a part in the middle of a run has none */
    return 0;
}

static int try_share(struct advice_probe *out, const struct spread *spread, struct report *report, double share,
                     struct error *err)
{
    struct probe probes[PROBES] = { 0 }, *best;
    int code = 0;

    for (size_t i = 0; i < PROBES && code == 0; i++) {
        struct report_span span = spread_span(spread, (double)(i + 1) / (PROBES + 1), share);
        code = probe_open(&probes[i], report, &span, err);
    }
    if (code == 0 && (best = most_typical_probe(probes)))
        code = take_probe(out, best, report, err);
    for (size_t i = 0; i < PROBES; i++)
        probe_close(&probes[i]);
    return code;
}

int advice_probe(struct advice_probe *out, struct report *report, double share, struct error *err)
{
    struct spread spread;
    int code = spread_open(&spread, report);

    *out = (struct advice_probe){ 0 };
    if (code != 0)
        return error_short_memory(err, "for the advice");
    for (int grown = 1; grown <= MOST_GROWN && !out->steps.count && code == 0 && spread.total > 0; grown *= GROWTH)
        code = try_share(out, &spread, report, share * grown, err);
    free(spread.bins);
    return code;
}
