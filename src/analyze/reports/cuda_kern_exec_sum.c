/* cuda_kern_exec_sum: launches and their kernels by thread, device, call and kernel: statistics of the total time, of
 * the call, of the wait in the queue, and of the kernel. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/executions.h"
#include "analyze/registry.h"
#include "base/intern.h"
#include "base/parallel.h"

enum kern_exec_sum_measure { WHOLE, CALL, QUEUE, KERNEL, MEASURES };
enum { KEY_THREAD, KEY_DEVICE, KEY_CALL, KEY_NAME, KEY_RANGE, KEY_WIDTH };

struct launch_summary {
    struct executions executions;
    struct keys keys;
    struct intern calls;                    /* names of calls as they are shown */
    uint32_t *groups[2];                    /* owned; the group of each execution; in [1] NO_KEY if it did not wait */
    int64_t *values[MEASURES];              /* owned */
    struct keys_figures *figures[MEASURES]; /* owned; by group */
    int codes[MEASURES];
};

/* The number of a call's name as it is shown; -1 when memory is short. */
static int64_t intern_call(struct launch_summary *summary, int64_t name)
{
    size_t length;
    const char *bytes = report_string(summary->executions.report, name, &length);

    return intern_add_borrowed(&summary->calls, bytes, call_name_length(bytes, length));
}

static int kern_exec_sum_make_room(struct launch_summary *summary)
{
    size_t count = summary->executions.count + 1;
    int failed = 0;

    for (int i = 0; i < 2; i++)
        failed |= !(summary->groups[i] = malloc(count * sizeof *summary->groups[i]));
    for (int i = 0; i < MEASURES; i++)
        failed |= !(summary->values[i] = malloc(count * sizeof *summary->values[i]));
    return failed ? ERR_NO_MEMORY : 0;
}

static int kern_exec_sum_collect(struct launch_summary *summary)
{
    const struct executions *executions = &summary->executions;
    const struct calls *calls = &executions->calls;
    const struct gpu_ops *kernels = &executions->kernels;
    int64_t last_name = -1, last_shown = -1;

    if (kern_exec_sum_make_room(summary) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < executions->count; i++) {
        const struct execution *execution = &executions->list[i];
        uint32_t call = execution->call, kernel = execution->kernel;
        if (last_shown < 0 || calls->name[call] != last_name) { /* calls of one name come in runs */
            last_name = calls->name[call];
            last_shown = intern_call(summary, last_name);
        }
        int64_t key[KEY_WIDTH] = { calls->thread[call], kernels->device[kernel], last_shown,
                                   execution_kernel_name(executions, execution),
                                   execution_range(executions, execution) };
        uint32_t group = keys_add(&summary->keys, key);
        if (group == NO_KEY || last_shown < 0)
            return ERR_NO_MEMORY;
        int64_t queue_ns = execution_queue_ns(executions, execution);
        summary->groups[0][i] = group;
        summary->groups[1][i] = queue_ns > 0 ? group : NO_KEY;
        summary->values[WHOLE][i] = execution_total_ns(executions, execution);
        summary->values[CALL][i] = saturating_duration(calls->start[call], calls->end[call]);
        summary->values[QUEUE][i] = queue_ns;
        summary->values[KERNEL][i] = saturating_duration(kernels->start[kernel], kernels->end[kernel]);
    }
    return 0;
}

static void summarize_one(void *argument, int worker, size_t measure)
{
    struct launch_summary *summary = argument;
    size_t groups = summary->keys.count;

    summary->figures[measure] = malloc((groups + 1) * sizeof *summary->figures[measure]);
    summary->codes[measure] = !summary->figures[measure]
                                  ? ERR_NO_MEMORY
                                  : keys_summarize(summary->figures[measure], groups, summary->groups[measure == QUEUE],
                                                   summary->values[measure], summary->executions.count);
}

static int kern_exec_sum_summarize(struct launch_summary *summary)
{
    struct parallel *pool = parallel_new(0);

    parallel_for(pool, MEASURES, summarize_one, summary);
    parallel_delete(pool);
    for (int i = 0; i < MEASURES; i++)
        if (summary->codes[i] != 0)
            return summary->codes[i];
    return 0;
}

enum {
    PID,
    TID,
    DEVICE,
    COUNT,
    QUEUED,
    FIGURES,
    FIGURES_EACH = 5,
    API_NAME = FIGURES + MEASURES * FIGURES_EACH,
    NAME,
    COLUMNS
};

static struct table *kern_exec_sum_new_table(void)
{
    static const struct table_column first[] = {
        { "PID", CELL_INT, UNIT_ID, 0 },     { "TID", CELL_INT, UNIT_ID, 0 },      { "DevId", CELL_INT, UNIT_ID, 0 },
        { "Count", CELL_INT, UNIT_NONE, 0 }, { "QCount", CELL_INT, UNIT_NONE, 0 },
    };
    static const char *const names[MEASURES][FIGURES_EACH] = {
        { "TAvg", "TMed", "TMin", "TMax", "TStdDev" },
        { "AAvg", "AMed", "AMin", "AMax", "AStdDev" },
        { "QAvg", "QMed", "QMin", "QMax", "QStdDev" },
        { "KAvg", "KMed", "KMin", "KMax", "KStdDev" },
    };
    struct table_column columns[COLUMNS];

    for (int i = 0; i < FIGURES; i++)
        columns[i] = first[i];
    for (int i = 0; i < MEASURES * FIGURES_EACH; i++) {
        int figure = i % FIGURES_EACH, whole = figure == 2 || figure == 3;
        columns[FIGURES + i] = (struct table_column){ names[i / FIGURES_EACH][figure], whole ? CELL_INT : CELL_REAL,
                                                      UNIT_NS, !whole };
    }
    columns[API_NAME] = (struct table_column){ "API Name", CELL_TEXT, UNIT_NONE, 0 };
    columns[NAME] = (struct table_column){ "Kernel Name", CELL_TEXT, UNIT_NAME, 0 };
    return table_new(columns, COLUMNS);
}

static void kern_exec_sum_set_figures(struct table_cell *cells, const struct keys_figures *figures)
{
    cell_set_real(&cells[4], statistics_deviation(&figures->figures));
    if (!figures->figures.count)
        return;
    cell_set_real(&cells[0], statistics_mean(&figures->figures));
    cell_set_real(&cells[1], figures->median);
    cell_set_int(&cells[2], figures->figures.min);
    cell_set_int(&cells[3], figures->figures.max);
}

static int kern_exec_sum_add_row(struct launch_summary *summary, struct table *table, struct text *text, uint32_t group)
{
    const int64_t *key = keys_get(&summary->keys, group);
    const struct intern_string *call = &summary->calls.strings[key[KEY_CALL]];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[PID], global_pid_number(key[KEY_THREAD]));
    cell_set_int(&row[TID], global_tid_number(key[KEY_THREAD]));
    cell_set_int(&row[DEVICE], key[KEY_DEVICE]);
    cell_set_int(&row[COUNT], (int64_t)summary->figures[WHOLE][group].figures.count);
    cell_set_int(&row[QUEUED], (int64_t)summary->figures[QUEUE][group].figures.count);
    for (int i = 0; i < MEASURES; i++)
        kern_exec_sum_set_figures(&row[FIGURES + i * FIGURES_EACH], &summary->figures[i][group]);
    launch_kernel_label(text, summary->executions.report, &summary->executions.ranges, (uint32_t)key[KEY_RANGE],
                        key[KEY_NAME]);
    if (cell_set_text(table, &row[API_NAME], call->bytes, call->length) != 0)
        return ERR_NO_MEMORY;
    return cell_set_built(table, &row[NAME], text);
}

static int kern_exec_sum_fill_table(struct launch_summary *summary, struct table *table)
{
    struct text text = { 0 };
    int code;

    if ((code = kern_exec_sum_collect(summary)) != 0)
        goto free_text;
    if ((code = kern_exec_sum_summarize(summary)) != 0)
        goto free_text;
    for (uint32_t group = 0; group < summary->keys.count; group++)
        if ((code = kern_exec_sum_add_row(summary, table, &text, group)) != 0)
            goto free_text;
    table_sort_by(table, BY(DOWN(FIGURES)));
free_text:
    text_free(&text);
    return code;
}

static void kern_exec_sum_summary_free(struct launch_summary *summary)
{
    executions_free(&summary->executions);
    keys_free(&summary->keys);
    intern_free(&summary->calls);
    for (int i = 0; i < 2; i++)
        free(summary->groups[i]);
    for (int i = 0; i < MEASURES; i++) {
        free(summary->values[i]);
        free(summary->figures[i]);
    }
}

static int cuda_kern_exec_sum(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    struct launch_summary summary = { .keys.width = KEY_WIDTH };
    struct table *table = kern_exec_sum_new_table();
    int code = executions_read(&summary.executions, report, request, 0, err);

    if (code != 0)
        goto done;
    if (!table || kern_exec_sum_fill_table(&summary, table) != 0)
        code = error_short_memory(err, "to group the launches");
done:
    kern_exec_sum_summary_free(&summary);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cuda_kern_exec_sum = {
    .name = "cuda_kern_exec_sum",
    .title = "CUDA Kernel Launch & Exec Time Summary",
    .usage = "[:nvtx-name][:base|:mangled]",
    .help = "Kernel launches by thread, device, API call and kernel. T (total): from the start of the API call to the "
            "end of the kernel. A: the API call. Q (queue): from the end of the API call to the start of the kernel, "
            "if positive; QCount is the number of those. K: the kernel.",
    .needs = { { "CUDA kernel data", gpu_kernel_tables }, { "CUDA trace data", gpu_call_tables } },
    .run = cuda_kern_exec_sum,
};
