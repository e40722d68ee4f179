/* Samples of threads for flame graphs; see flame_samples.h. */
#include "flame_samples.h"

#include <string.h>

#include "analyze/model/stacks/stacks_join.h"

static int has_rows(struct report *report, enum stack_source source)
{
    const struct report_table *table = report_table(report, stack_sample_tables[source]);

    return table && table->rows;
}

static enum stack_source source_of(struct report *report, const struct export_options *options)
{
    return options->python_samples || !has_rows(report, STACKS_CPU) ? STACKS_PYTHON : STACKS_CPU;
}

/* A clock counts ns; nsys's captures do not say what was counted. */
int samples_are_time(struct report *report, const struct export_options *options)
{
    static const char *const event = "event";
    struct report_columns rows = { 0 };
    struct error err;

    if (source_of(report, options) != STACKS_CPU || columns_read(report, "TACHO_SAMPLING", &event, 1, &rows, &err) != 0)
        return 0;
    int are_time = rows.rows > 0;
    for (size_t row = 0; row < rows.rows; row++)
        are_time &= columns_is_null(&rows, 0, row) ||
                    strstr(report_string(report, rows.values[0][row], NULL), "cpu-clock") != NULL;
    if (rows.values)
        report_columns_free(&rows);
    return are_time;
}

static int counts(const struct export_options *options, const struct stack_sample *sample)
{
    return export_wants_time(options, sample->time_ns, sample->time_ns) &&
           (!sample->is_waiting || options->waiting_samples);
}

int samples_read(struct stacks *stacks, struct report *report, int lines, const struct export_options *options,
                 struct error *err)
{
    const struct filter everything = { 0 }, *filter = options->filter ? options->filter : &everything;
    enum stack_source source = source_of(report, options);
    size_t kept = 0;
    int code = stacks_open(stacks, report, err);

    if (code == 0 && !has_rows(report, source))
        code = error_set(err, ERR_NO_DATA, "the report has no %s",
                         options->python_samples ? "samples of Python code" : "samples of threads");
    if (code == 0)
        code = source == STACKS_CPU ? stacks_join_samples(stacks, lines, filter, err)
                                    : stacks_read_samples(stacks, source, lines, filter, err);
    if (code != 0)
        return code;
    for (size_t i = 0; i < stacks->sample_count; i++)
        if (counts(options, &stacks->samples[i]))
            stacks->samples[kept++] = stacks->samples[i];
    stacks->sample_count = kept;
    return kept ? 0 : error_set(err, ERR_NO_DATA, "the report has samples, but none of the part that was asked for");
}

int samples_tree(struct stack_tree *tree, struct stacks *stacks, const struct export_options *options,
                 struct error *err)
{
    const struct stack_tree_request request = { .with_threads = 1, .with_waiting = options->waiting_samples };

    return stack_tree_read(tree, stacks, &request, err);
}

int samples_write(const char *path, int gzip, int (*write)(void *context, struct outfile *output, struct error *err),
                  void *context, struct error *err)
{
    struct outfile *output;
    struct error close_error = { 0 };
    int code = outfile_open(path, gzip, &output, err);

    if (code != 0)
        return code;
    code = write(context, output, err);
    int closed = outfile_close(output, &close_error);
    if (code == 0 && closed != 0) {
        *err = close_error;
        code = closed;
    }
    return code;
}
