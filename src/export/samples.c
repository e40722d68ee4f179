/* Samples of threads for flame graphs: see samples.h. */
#include "samples.h"

static int has_rows(struct report *report, enum stack_source source)
{
    const struct report_table *table = report_table(report, stack_sample_tables[source]);

    return table && table->rows;
}

static int counts(const struct export_options *options, const struct stack_sample *sample)
{
    return export_wants_time(options, sample->time_ns, sample->time_ns) && (!sample->is_waiting || options->waiting_samples);
}

int samples_read(struct stacks *stacks, struct report *report, int lines, const struct export_options *options, struct error *err)
{
    const struct filter everything = {0};
    enum stack_source source = options->python_samples || !has_rows(report, STACKS_CPU) ? STACKS_PYTHON : STACKS_CPU;
    size_t kept = 0;
    int code = stacks_open(stacks, report, err);

    if (code == 0 && !has_rows(report, source))
        code = error_set(err, ERR_NO_DATA, "the report has no %s", options->python_samples ? "samples of Python code" : "samples of threads");
    if (code == 0)
        code = stacks_read_samples(stacks, source, lines, options->filter ? options->filter : &everything, err);
    if (code != 0)
        return code;
    for (size_t i = 0; i < stacks->sample_count; i++)
        if (counts(options, &stacks->samples[i]))
            stacks->samples[kept++] = stacks->samples[i];
    stacks->sample_count = kept;
    return kept ? 0 : error_set(err, ERR_NO_DATA, "the report has samples, but none of the part that was asked for");
}

int samples_tree(struct stack_tree *tree, struct stacks *stacks, const struct export_options *options, struct error *err)
{
    const struct stack_tree_request request = { .with_threads = 1, .with_waiting = options->waiting_samples };

    return stack_tree_read(tree, stacks, &request, err);
}

int samples_write(const char *path, int gzip, int (*write)(void *context, struct outfile *output, struct error *err), void *context,
                  struct error *err)
{
    struct outfile *output;
    struct error close_error = {0};
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
