/* Bytes over time: each chunk's share of its table's bytes, spread over the chunk's span. Work over time: events,
 * counted one by one, because a single chunk may hold all of them and shows nothing of the gaps between. */
#include "cut_window.h"

#include <string.h>

#include "analyze/model/filter.h"
#include "export_rows.h"
#include "report/schema/schema.h"

#define GOOD_ENOUGH 0.75 /* the middle window needs this share of the best one's work */
#define PLACES 256       /* number of windows compared, evenly from first to last */

static int cut_window_counts(const struct report_table *table, const struct export_options *options)
{
    return !schema_is_kept_whole(table->name) && table->rows && table->first_ns <= table->last_ns &&
           export_wants_table(options, table->name);
}

static double bin_of(const struct cut_density *density, int64_t time_ns)
{
    return ((double)time_ns - (double)density->from_ns) * DENSITY_BINS /
           ((double)density->to_ns - (double)density->from_ns + 1);
}

static void cut_window_spread(struct cut_density *density, struct report_chunk chunk, double bytes)
{
    double from = bin_of(density, chunk.first_ns), to = bin_of(density, chunk.last_ns);

    if (from >= DENSITY_BINS)
        return;
    for (int bin = from > 0 ? (int)from : 0; bin < DENSITY_BINS && bin <= to; bin++) {
        double begin = from > bin ? from : bin, end = to < bin + 1 ? to : bin + 1;
        double part = to > from ? bytes * (end - begin) / (to - from) : bytes;
        density->bytes[bin] += part;
        density->total += part;
    }
}

static void clip(struct cut_density *density, int64_t from_ns, int64_t to_ns)
{
    density->from_ns = from_ns > density->from_ns ? from_ns : density->from_ns;
    density->to_ns = to_ns < density->to_ns ? to_ns : density->to_ns;
}

/* Clips to the requested time, from its first to its last moment. */
static void clip_to_part(struct cut_density *density, const struct export_options *options)
{
    int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

    if (options->filter && options->filter->span)
        clip(density, options->filter->span->from_ns, options->filter->span->to_ns);
    for (size_t i = 0; i < options->range_count; i++) {
        from_ns = options->ranges[i].from_ns < from_ns ? options->ranges[i].from_ns : from_ns;
        to_ns = options->ranges[i].to_ns > to_ns ? options->ranges[i].to_ns : to_ns;
    }
    if (options->range_count)
        clip(density, from_ns, to_ns);
}

/* ---- the requested ranges -------------------------------------------------------------------------------------- */

/* The share of a bin that the ranges cover; they do not overlap. */
static double share_in_ranges(const struct cut_density *density, int bin, const struct export_options *options)
{
    double share = 0;

    for (size_t i = 0; i < options->range_count; i++) {
        double from = bin_of(density, options->ranges[i].from_ns),
               to = bin_of(density, options->ranges[i].to_ns) + 1e-6;
        from = from > bin ? from : bin;
        to = to < bin + 1 ? to : bin + 1;
        share += to > from ? to - from : 0;
    }
    return share < 1 ? share : 1;
}

static void leave_ranges(struct cut_density *density, const struct export_options *options)
{
    if (!options->range_count)
        return;
    density->total = 0;
    for (int bin = 0; bin < DENSITY_BINS; bin++)
        density->total += density->bytes[bin] *= share_in_ranges(density, bin, options);
}

/* ---- work ------------------------------------------------------------------------------------------------------ */

static int cut_window_count_work(struct cut_density *density, struct report *report, const char *name,
                                 const struct export_options *options, int *found, struct error *err)
{
    const struct report_table *table = report_table(report, name);
    struct export_rows *rows;

    if (!table || !table->rows || !export_wants_table(options, name))
        return 0;
    int start = report_column(table, "start"), code;
    if ((code = export_rows_open(report, table, &start, 1, options, 0, &rows, err)) != 0)
        return code;
    while ((code = export_rows_next(rows, err)) == 1) {
        const struct export_window *window = export_window(rows);
        double bin = bin_of(density, window->values[0][window->at]);
        if ((window->null_masks[window->at] & 1) || bin < 0 || bin >= DENSITY_BINS)
            continue;
        density->work[(int)bin]++;
        *found = 1;
    }
    export_rows_close(rows);
    return code;
}

/* Counts the events of the first kind that has any. Without one, the square of the bytes stands for work: dense parts
 * count more than in proportion. */
static int cut_window_find_work(struct cut_density *density, struct report *report,
                                const struct export_options *options, struct error *err)
{
    static const struct {
        const char *where, *tables[4];
    } kinds[] = {
        { ", around the GPU work",
          { "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET" } },
        { ", around steps and ranges", { "TACHO_TORCH_STEP", "NVTX_EVENTS", "TACHO_TORCH_OP" } },
    };
    int code, found = 0;

    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        for (int i = 0; kinds[kind].tables[i]; i++)
            if ((code = cut_window_count_work(density, report, kinds[kind].tables[i], options, &found, err)) != 0)
                return code;
        if (found) {
            density->where = kinds[kind].where;
            return 0;
        }
    }
    density->where = "";
    for (int bin = 0; bin < DENSITY_BINS; bin++)
        density->work[bin] = density->bytes[bin] * density->bytes[bin];
    return 0;
}

int cut_density(struct cut_density *density, struct report *report, const struct export_options *options,
                struct error *err)
{
    *density = (struct cut_density){ .from_ns = INT64_MAX, .to_ns = INT64_MIN };
    for (size_t i = 0; i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        if (!cut_window_counts(table, options))
            continue;
        density->from_ns = table->first_ns < density->from_ns ? table->first_ns : density->from_ns;
        density->to_ns = table->last_ns > density->to_ns ? table->last_ns : density->to_ns;
    }
    clip_to_part(density, options);
    for (size_t i = 0; density->from_ns <= density->to_ns && i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        if (!cut_window_counts(table, options))
            continue;
        for (size_t c = 0; c < report_chunk_count(table); c++) {
            struct report_chunk chunk = report_chunk_at(table, c);
            if (chunk.first_ns <= chunk.last_ns)
                cut_window_spread(density, chunk,
                                  (double)table->packed_bytes * (double)chunk.rows / (double)table->rows);
        }
    }
    leave_ranges(density, options);
    return density->total > 0 ? cut_window_find_work(density, report, options, err)
                              : error_set(err, ERR_NO_DATA, "cannot reach that size: the report has no events to omit");
}

/* ---- the window ------------------------------------------------------------------------------------------------ */

/* The time before which there are this many bytes. */
static int64_t time_at(const struct cut_density *density, double bytes)
{
    double width = ((double)density->to_ns - (double)density->from_ns + 1) / DENSITY_BINS;

    for (int bin = 0; bin < DENSITY_BINS; bin++) {
        if (bytes <= density->bytes[bin] && density->bytes[bin] > 0)
            return saturating_add(density->from_ns,
                                  saturating_from_double(width * (bin + bytes / density->bytes[bin])));
        bytes -= density->bytes[bin];
    }
    return density->to_ns;
}

static double work_before(const struct cut_density *density, int64_t time_ns)
{
    double place = bin_of(density, time_ns), sum = 0;

    for (int bin = 0; bin < DENSITY_BINS && bin < place; bin++)
        sum += density->work[bin] * (place - bin < 1 ? place - bin : 1);
    return sum;
}

static double bytes_before(const struct cut_density *density, int bin)
{
    double sum = 0;

    for (int i = 0; i < bin; i++)
        sum += density->bytes[i];
    return sum;
}

/* The time of these bytes, with `before` bytes before them. */
static struct report_span cut_window_span_of(const struct cut_density *density, double before, double bytes)
{
    return (struct report_span){ time_at(density, before), time_at(density, before + bytes) };
}

static double worth(const struct cut_density *density, struct report_span span)
{
    return work_before(density, span.to_ns) - work_before(density, span.from_ns);
}

/* How many bytes come before a window that has the moment of most work in its middle; it stays within all bytes. */
static double place_at_peak(const struct cut_density *density, double bytes)
{
    int peak = 0;

    for (int bin = 1; bin < DENSITY_BINS; bin++)
        peak = density->work[bin] > density->work[peak] ? bin : peak;
    double before = bytes_before(density, peak) + (density->bytes[peak] - bytes) / 2;
    before = before < density->total - bytes ? before : density->total - bytes;
    return before > 0 ? before : 0;
}

struct report_span cut_window(const struct cut_density *density, double share)
{
    double bytes = density->total * (share < 1 ? share : 1), rest = density->total - bytes, best_worth = -1;
    struct report_span middle = cut_window_span_of(density, rest / 2, bytes), best = middle;

    for (int i = 0; i <= PLACES + 1; i++) {
        struct report_span span = cut_window_span_of(density,
                                                     i <= PLACES ? rest * i / PLACES : place_at_peak(density, bytes),
                                                     bytes);
        double this_worth = worth(density, span);
        if (this_worth > best_worth) {
            best_worth = this_worth;
            best = span;
        }
    }
    return worth(density, middle) >= GOOD_ENOUGH * best_worth ? middle : best;
}
