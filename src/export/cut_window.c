/* Bytes over time: each chunk's share of its table's bytes, spread over the chunk's span. */
#include "cut_window.h"

#include <string.h>

#include "../analyze/filter.h"

static int counts(const struct report_table *table, const struct export_options *options, const char *const *kept_whole, size_t kept_count)
{
    for (size_t i = 0; i < kept_count; i++)
        if (strcmp(kept_whole[i], table->name) == 0)
            return 0;
    return table->rows && table->first_ns <= table->last_ns && export_wants_table(options, table->name);
}

static double bin_of(const struct cut_density *density, int64_t time_ns)
{
    return ((double)time_ns - (double)density->from_ns) * DENSITY_BINS / ((double)density->to_ns - (double)density->from_ns + 1);
}

static void spread(struct cut_density *density, struct report_chunk chunk, double bytes)
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

/* To the time that was asked for, from the first to the last of it. */
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

int cut_density(struct cut_density *density, struct report *report, const struct export_options *options, const char *const *kept_whole,
                size_t kept_count, struct error *err)
{
    *density = (struct cut_density){ .from_ns = INT64_MAX, .to_ns = INT64_MIN };
    for (size_t i = 0; i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        if (!counts(table, options, kept_whole, kept_count))
            continue;
        density->from_ns = table->first_ns < density->from_ns ? table->first_ns : density->from_ns;
        density->to_ns = table->last_ns > density->to_ns ? table->last_ns : density->to_ns;
    }
    clip_to_part(density, options);
    for (size_t i = 0; density->from_ns <= density->to_ns && i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        if (!counts(table, options, kept_whole, kept_count))
            continue;
        for (size_t c = 0; c < report_chunk_count(table); c++) {
            struct report_chunk chunk = report_chunk_at(table, c);
            if (chunk.first_ns <= chunk.last_ns)
                spread(density, chunk, (double)table->packed_bytes * (double)chunk.rows / (double)table->rows);
        }
    }
    return density->total > 0 ? 0 : error_set(err, ERR_NO_DATA, "there are no events that could be left out");
}

/* The time before which there are so many bytes. */
static int64_t time_at(const struct cut_density *density, double bytes)
{
    double width = ((double)density->to_ns - (double)density->from_ns + 1) / DENSITY_BINS;

    for (int bin = 0; bin < DENSITY_BINS; bin++) {
        if (bytes <= density->bytes[bin] && density->bytes[bin] > 0)
            return density->from_ns + (int64_t)(width * (bin + bytes / density->bytes[bin]));
        bytes -= density->bytes[bin];
    }
    return density->to_ns;
}

struct report_span cut_window(const struct cut_density *density, double share)
{
    share = share < 1 ? share : 1;
    return (struct report_span){ time_at(density, density->total * (1 - share) / 2), time_at(density, density->total * (1 + share) / 2) };
}
