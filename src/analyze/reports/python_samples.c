/* python_sample_sum and python_topdown: the reports on CPU samples, run on samples of Python; and python_gil_sum:
 * threads that held the GIL or waited for it. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/filter.h"
#include "analyze/model/stacks/stacks_tree.h"
#include "analyze/model/threads.h"
#include "analyze/registry.h"
#include "base/array.h"

/* ---- the reports on samples, with those of Python -------------------------------------------------------------- */

static int run_with_python(struct report *report, const struct analysis_request *request, const void *analysis,
                           struct table **out, struct error *err)
{
    struct analysis_option options[request->option_count + 1];
    struct analysis_request with_python = *request;

    for (size_t i = 0; i < request->option_count; i++)
        options[i] = request->options[i];
    options[request->option_count] = (struct analysis_option){ "python", NULL };
    with_python.options = options;
    with_python.option_count = request->option_count + 1;
    return analysis_run_unchecked(analysis, report, &with_python, out, err);
}

/* ---- the GIL --------------------------------------------------------------------------------------------------- */

enum { START, THREAD, STATE, GIL };
enum { NEITHER, HOLDS, WAITS, GIL_STATES };
enum { RUNNING = 1 };
enum { HELD, WAITED, RAN_WITHOUT, HELD_SAMPLES, WAITED_SAMPLES, SAMPLES, PROCESS, TID, NAME, CELLS };

struct gil_samples {
    int64_t count, gil[GIL_STATES], ran_without;
};

static int count_samples(struct report *report, const struct filter *filter, struct keys *threads,
                         struct gil_samples **out, struct error *err)
{
    static const char *const names[] = { "start", "globalTid", "threadState", "gil", NULL };
    struct row_cursor rows;
    size_t room = 0;
    int code = row_cursor_open(&rows, report, "TACHO_PYTHON_SAMPLE", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t thread = row_int(&rows, THREAD), gil = row_int(&rows, GIL), start = row_int(&rows, START);
        if (!filter_thread(filter, thread, start, start))
            continue;
        uint32_t number = keys_add(threads, &thread);
        if ((number == NO_KEY || array_reserve_zeroed(out, &room, number + 1u, sizeof **out) != 0) &&
            (code = error_short_memory(err, "to count the samples")) != 0)
            goto close_rows;
        struct gil_samples *samples = &(*out)[number];
        samples->count++;
        samples->gil[gil == HOLDS || gil == WAITS ? gil : NEITHER]++;
        samples->ran_without += gil != HOLDS && gil != WAITS && row_int(&rows, STATE) == RUNNING;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int python_samples_add_thread(struct table *table, struct report *report, const struct thread_names *names,
                                     int64_t thread, const struct gil_samples *samples)
{
    struct table_cell *row = table_add_row(table);
    const struct thread_name *name = thread_name_find(names, thread);
    double all = (double)samples->count / 100;

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[HELD], (double)samples->gil[HOLDS] / all);
    cell_set_real(&row[WAITED], (double)samples->gil[WAITS] / all);
    cell_set_real(&row[RAN_WITHOUT], (double)samples->ran_without / all);
    cell_set_int(&row[HELD_SAMPLES], samples->gil[HOLDS]);
    cell_set_int(&row[WAITED_SAMPLES], samples->gil[WAITS]);
    cell_set_int(&row[SAMPLES], samples->count);
    cell_set_int(&row[PROCESS], global_pid_number(thread));
    cell_set_int(&row[TID], global_tid_number(thread));
    return name ? cell_set_pooled(table, &row[NAME], report, name->name) : 0;
}

static int python_samples_fill_threads(struct table *table, struct report *report, const struct keys *threads,
                                       const struct gil_samples *samples_by_thread, struct error *err)
{
    struct thread_names names = { 0 };
    int code = thread_names_read(&names, report, err);

    if (code != 0)
        goto free_names;
    for (uint32_t i = 0; i < threads->count; i++)
        if ((code = python_samples_add_thread(table, report, &names, *keys_get(threads, i), &samples_by_thread[i])) !=
            0)
            goto free_names;
    table_sort_by(table, BY(DOWN(HELD_SAMPLES), DOWN(WAITED_SAMPLES), DOWN(SAMPLES), TID));
free_names:
    thread_names_free(&names);
    return code;
}

static int python_gil_sum(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Held", CELL_REAL, UNIT_PERCENT, 1 },
        { "Waited", CELL_REAL, UNIT_PERCENT, 1 },
        { "Ran Without", CELL_REAL, UNIT_PERCENT, 1 },
        { "Held Samples", CELL_INT, UNIT_NONE, 0 },
        { "Waited Samples", CELL_INT, UNIT_NONE, 0 },
        { "Samples", CELL_INT, UNIT_NONE, 0 },
        { "PID", CELL_INT, UNIT_ID, 0 },
        { "TID", CELL_INT, UNIT_ID, 0 },
        { "Thread", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, CELLS);
    struct keys threads = { .width = 1 };
    struct gil_samples *samples_by_thread = NULL;
    struct filter filter = { 0 };
    int code;

    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto done;
    if ((code = count_samples(report, &filter, &threads, &samples_by_thread, err)) != 0)
        goto done;
    code = table ? python_samples_fill_threads(table, report, &threads, samples_by_thread, err) : ERR_NO_MEMORY;
done:
    keys_free(&threads);
    free(samples_by_thread);
    filter_close(&filter);
    return table_hand_over(table, code, out, err);
}

static const char *const python_samples_tables[] = { "TACHO_PYTHON_SAMPLE", NULL };
const struct analysis analysis_python_sample_sum = {
    .name = "python_sample_sum",
    .title = "Python Sample Summary",
    .usage = "[:module|:thread][:lines][:waiting]",
    .help = "Python samples by function. Self: the function was the innermost Python function (time in C functions "
            "counts for their caller). Total: the function or one of its callees was. lines: a row for each line. "
            "module, thread: a row for each file or thread. waiting: count the samples of waiting threads too.",
    .needs = { { "Python samples", python_samples_tables } },
    .run_as = run_with_python,
    .as = &analysis_cpu_sample_sum,
};

const struct analysis analysis_python_topdown = {
    .name = "python_topdown",
    .title = "Python Samples Top-Down",
    .usage = "[:thread][:lines][:waiting][:min=<percent>][:depth=<levels>][:fold=<true|false>]",
    .help = "Python samples as a call tree: each function below its caller, the one with the most samples first, down "
            "to min percent (default: 1) of all samples. lines: a node for each line. thread: the thread above its "
            "calls. waiting: count the samples of waiting threads too." STACK_FOLD_HELP,
    .needs = { { "Python samples", python_samples_tables } },
    .overlap = "callers contain the functions that they call",
    .for_people = STACK_FOLD_FOR_PEOPLE,
    .run_as = run_with_python,
    .as = &analysis_cpu_topdown,
};

const struct analysis analysis_python_gil_sum = {
    .name = "python_gil_sum",
    .title = "Python GIL Summary",
    .help = "For each Python thread, the share of samples in which it held the GIL, waited for the GIL, or ran on a "
            "CPU without the GIL (in code that had released it).",
    .needs = { { "Python samples", python_samples_tables } },
    .run = python_gil_sum,
};
