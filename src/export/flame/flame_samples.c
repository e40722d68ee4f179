/* Samples of threads for flame graphs; see flame_samples.h. */
#include "flame_samples.h"

#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/heap/heap_stacks.h"
#include "analyze/model/stacks/stacks_join.h"

static enum stack_source flame_samples_source_of(struct report *report, const struct export_options *options)
{
    return options->python_samples || !report_rows(report, stack_sample_tables[STACKS_CPU]) ? STACKS_PYTHON
                                                                                            : STACKS_CPU;
}

/* A clock counts ns; nsys's captures do not say what was counted. */
static int flame_samples_are_time(struct report *report, const struct export_options *options)
{
    static const char *const names[] = { "event", NULL };
    struct row_cursor rows;
    struct error err;

    if (flame_samples_source_of(report, options) != STACKS_CPU ||
        row_cursor_open(&rows, report, "TACHO_SAMPLING", names, &err) != 0)
        return 0;
    int are_time = rows.columns.rows > 0;
    while (row_cursor_next(&rows))
        are_time &= row_is_null(&rows, 0) ||
                    strstr(report_string(report, row_int(&rows, 0), NULL), "cpu-clock") != NULL;
    row_cursor_close(&rows);
    return are_time;
}

struct flame_unit flame_samples_unit(struct report *report, const struct export_options *options)
{
    if (options->heap_samples)
        return (struct flame_unit){ "bytes", "space", "bytes" };
    return flame_samples_are_time(report, options) ? (struct flame_unit){ "nanoseconds", "cpu", "nanoseconds" }
                                                   : (struct flame_unit){ "none", "weight", "count" };
}

static int flame_samples_counts(const struct export_options *options, const struct stack_sample *sample)
{
    return export_wants_time(options, sample->time_ns, sample->time_ns) &&
           (!sample->is_waiting || options->waiting_samples);
}

int flame_samples_read(struct stacks *stacks, struct report *report, int lines, const struct export_options *options,
                       struct error *err)
{
    const struct filter everything = { 0 }, *filter = options->filter ? options->filter : &everything;
    enum stack_source source = flame_samples_source_of(report, options);
    size_t kept = 0;
    int code;

    if ((code = stacks_open(stacks, report, err)) != 0)
        return code;
    if (options->heap_samples && report_rows(report, "TACHO_HEAP_ALLOCATION"))
        return heap_stacks_read(stacks, lines, filter, err);
    if (options->heap_samples)
        return error_set(err, ERR_NO_DATA, "the report has no heap data");
    if (!report_rows(report, stack_sample_tables[source]))
        return error_set(err, ERR_NO_DATA, "the report has no %s",
                         options->python_samples ? "Python samples" : "CPU samples");
    code = source == STACKS_CPU ? stacks_join_samples(stacks, lines, filter, err)
                                : stacks_read_samples(stacks, source, lines, filter, err);
    if (code != 0)
        return code;
    for (size_t i = 0; i < stacks->sample_count; i++)
        if (flame_samples_counts(options, &stacks->samples[i]))
            stacks->samples[kept++] = stacks->samples[i];
    stacks->sample_count = kept;
    return kept ? 0 : error_set(err, ERR_NO_DATA, "the selected part of the report has no samples");
}

int flame_samples_tree(struct stack_tree *tree, struct stacks *stacks, const struct export_options *options,
                       struct error *err)
{
    const struct stack_tree_request request = { .with_threads = 1, .with_waiting = options->waiting_samples };

    return stack_tree_read(tree, stacks, &request, err);
}
