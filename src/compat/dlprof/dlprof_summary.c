/* The summary: machine, use of the time, iterations, operators and kernels. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/statistics.h"
#include "analyze/summary/machine_facts.h"
#include "base/saturating.h"
#include "dlprof_internal.h"

static const struct table_column pair_columns[] = { { "Name", CELL_TEXT, UNIT_NONE, 0 },
                                                    { "Value", CELL_REAL, UNIT_NONE, 1 } };

static struct table_cell *dlprof_summary_add_pair(struct table *table, const char *name)
{
    struct table_cell *cells = table_add_row(table);

    return cells && cell_set_string(table, &cells[0], name) == 0 ? &cells[1] : NULL;
}

static int add_pair_text(struct table *table, const char *name, const char *value)
{
    struct table_cell *cell = dlprof_summary_add_pair(table, name);

    return cell ? cell_set_string(table, cell, value) : ERR_NO_MEMORY;
}

static int add_pair_int(struct table *table, const char *name, int64_t value)
{
    struct table_cell *cell = dlprof_summary_add_pair(table, name);

    if (cell)
        cell_set_int(cell, value);
    return cell ? 0 : ERR_NO_MEMORY;
}

static int add_pair_real(struct table *table, const char *name, double value)
{
    struct table_cell *cell = dlprof_summary_add_pair(table, name);

    if (cell)
        cell_set_real(cell, value);
    return cell ? 0 : ERR_NO_MEMORY;
}

/* ---- machine --------------------------------------------------------------------------------------------------- */

/* The rows between the GPUs and the program that made the report. DLProf leaves out cuDNN where it does not know it. */
static const struct {
    const char *label, *what;
    int is_optional;
} machine_rows[] = {
    { "CPU Model", "cpuModel", 0 },         { "GPU Driver Version", "driverVersion", 0 },
    { "Framework", "framework", 0 },        { "CUDA Version", "cudaVersion", 0 },
    { "cuDNN Version", "cudnnVersion", 1 }, { "NSys Version", "nsysVersion", 0 },
};

static int fill_machine(struct table *table, struct dlprof *dlprof, const struct dlprof_maker *maker)
{
    struct text text = { 0 };
    int code = add_pair_int(table, "GPU Count", machine_gpu_count(dlprof->report));

    machine_gpu_names(&text, dlprof->report);
    if (code == 0)
        code = add_pair_text(table, "GPU Name(s)", text_string(&text));
    for (size_t i = 0; i < COUNT_OF(machine_rows) && code == 0; i++) {
        text_clear(&text);
        machine_fact_add(&text, dlprof->report, machine_rows[i].what);
        if (text.length || !machine_rows[i].is_optional)
            code = add_pair_text(table, machine_rows[i].label, text_string(&text));
    }
    text_free(&text);
    if (code != 0 || add_pair_text(table, "DLProf Version", maker->version) != 0)
        return ERR_NO_MEMORY;
    return add_pair_text(table, "DLProf Build", maker->build);
}

/* ---- time ------------------------------------------------------------------------------------------------------ */

static const char *const use_labels[USES] = {
    [USE_TENSOR_CORES] = "Tensor Core Kernel Duration %",
    [USE_OTHER_KERNELS] = "Non-Tensor Core Kernel Duration %",
    [USE_MEMORY] = "Memory Duration %",
    [USE_LOADING] = "Dataloader Duration %",
    [USE_IO] = "IO Duration %",
    [USE_CPU] = "CPU Duration %",
    [USE_OTHER] = "Other Duration %",
};

static int fill_usage(struct table *table, const struct dlprof_usage *usage)
{
    if (add_pair_int(table, "Wall Clock Time (ns)", usage->wall_ns) != 0 ||
        add_pair_real(table, "Tensor Core Kernel Utilization %", usage->tensor_cores) != 0 ||
        add_pair_real(table, "GPU Utilization %", usage->gpu) != 0)
        return ERR_NO_MEMORY;
    for (int use = 0; use < USES; use++)
        if (add_pair_real(table, use_labels[use], usage->percent[use]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int fill_iterations(struct table *table, const struct dlprof *dlprof)
{
    struct statistics times = { 0 };

    for (size_t i = dlprof->first; i <= dlprof->last; i++)
        statistics_add(&times, dlprof_iteration_ns(dlprof, i));
    if (add_pair_int(table, "Total Iterations", (int64_t)dlprof->iteration_count) != 0 ||
        add_pair_int(table, "Aggregated Iterations", (int64_t)(dlprof->last - dlprof->first + 1)) != 0 ||
        add_pair_int(table, "Start Iteration", (int64_t)dlprof->first) != 0 ||
        add_pair_int(table, "Stop Iteration", (int64_t)dlprof->last) != 0 ||
        add_pair_real(table, "Average Iteration Time (ns)", statistics_mean(&times)) != 0)
        return ERR_NO_MEMORY;
    return add_pair_real(table, "Iteration Time Standard Deviation", statistics_deviation(&times));
}

/* ---- operators and kernels ------------------------------------------------------------------------------------- */

enum { SUM_NAME, SUM_GPU, SUM_CPU, SUM_COUNT, SUM_COLUMNS };
static const struct table_column dlprof_summary_op_columns[SUM_COLUMNS] = { { "", CELL_TEXT, UNIT_NONE, 0 },
                                                                            { "GPU Time", CELL_INT, UNIT_NS, 0 },
                                                                            { "CPU Time", CELL_INT, UNIT_NS, 0 },
                                                                            { "# Ops", CELL_INT, UNIT_NONE, 0 } };
static const struct table_column dlprof_summary_kernel_columns[SUM_COLUMNS] = { { "", CELL_TEXT, UNIT_NONE, 0 },
                                                                                { "GPU Time", CELL_INT, UNIT_NS, 0 },
                                                                                { "CPU Time", CELL_INT, UNIT_NS, 0 },
                                                                                { "# Kernels", CELL_INT, UNIT_NONE,
                                                                                  0 } };

struct dlprof_summary_sum {
    int64_t gpu_ns, cpu_ns, count;
};

static void dlprof_summary_add_sum(struct dlprof_summary_sum *sum, int64_t gpu_ns, int64_t cpu_ns, int is_new)
{
    sum->gpu_ns = saturating_add(sum->gpu_ns, gpu_ns);
    sum->cpu_ns = saturating_add(sum->cpu_ns, cpu_ns);
    sum->count += is_new;
}

/* The rows of both tables: all, and the three kinds that they consist of. */
enum { SUM_ALL, SUM_FIRST, SUM_SECOND, SUM_REST, SUMS };

static int dlprof_summary_fill_sums(struct table *table, const struct dlprof_summary_sum sums[SUMS],
                                    const char *const labels[SUMS])
{
    for (size_t i = 0; i < SUMS; i++) {
        struct table_cell *cells = table_add_row(table);
        if (!cells || cell_set_string(table, &cells[SUM_NAME], labels[i]) != 0)
            return ERR_NO_MEMORY;
        cell_set_int(&cells[SUM_GPU], sums[i].gpu_ns);
        cell_set_int(&cells[SUM_CPU], sums[i].cpu_ns);
        cell_set_int(&cells[SUM_COUNT], sums[i].count);
    }
    return 0;
}

static int fill_ops(struct table *table, const struct dlprof *dlprof)
{
    static const char *const labels[SUMS] = { "All ops", "Ops using TC", "Ops eligible for TC but not using",
                                              "All other ops" };
    struct dlprof_summary_sum sums[SUMS] = { 0 };
    unsigned char *seen = calloc(dlprof->op_count + 1, 1);

    if (!seen)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < dlprof->call_count; i++) {
        const struct dlprof_call *call = &dlprof->calls[i];
        const struct dlprof_op *op = &dlprof->ops[call->op];
        int kind = op->uses_tensor_cores ? SUM_FIRST : op->is_eligible ? SUM_SECOND : SUM_REST;
        dlprof_summary_add_sum(&sums[SUM_ALL], call->ns[DLPROF_GPU], call->ns[DLPROF_CPU], !seen[call->op]);
        dlprof_summary_add_sum(&sums[kind], call->ns[DLPROF_GPU], call->ns[DLPROF_CPU], !seen[call->op]);
        seen[call->op] = 1;
    }
    free(seen);
    return dlprof_summary_fill_sums(table, sums, labels);
}

/* Kernels are counted by their names, and copies and fills by those of the calls that launch them. */
static int dlprof_summary_fill_kernels(struct table *table, const struct dlprof *dlprof)
{
    static const char *const labels[SUMS] = { "All kernels", "Kernels using TC", "Memory", "All other kernels" };
    struct dlprof_summary_sum sums[SUMS] = { 0 };
    struct keys names = { .width = 2 };

    for (size_t i = 0; i < dlprof->work_count; i++) {
        const struct dlprof_work *work = &dlprof->works[i];
        int kind = work->kind != GPU_KERNEL ? SUM_SECOND : work->tensor.use == TENSOR_YES ? SUM_FIRST : SUM_REST;
        size_t before = names.count;
        int64_t name = work->kind == GPU_KERNEL ? work->name : work->call_name;
        uint32_t key = keys_add(&names, (int64_t[]){ kind, name });
        if (key == NO_KEY)
            break;
        int64_t gpu_ns = saturating_duration(work->start_ns, work->end_ns);
        int64_t cpu_ns = saturating_duration(work->call_start_ns, work->call_end_ns);
        dlprof_summary_add_sum(&sums[SUM_ALL], gpu_ns, cpu_ns, key == before);
        dlprof_summary_add_sum(&sums[kind], gpu_ns, cpu_ns, key == before);
    }
    keys_free(&names);
    return dlprof_summary_fill_sums(table, sums, labels);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

static int dlprof_summary_fill_parts(struct dlprof *dlprof, const struct dlprof_maker *maker,
                                     const struct dlprof_tables *out, const struct dlprof_usage *usage)
{
    int code;

    for (size_t i = 0; i < out->count; i++)
        if (!out->parts[i].table)
            return ERR_NO_MEMORY;
    if ((code = fill_machine(out->parts[0].table, dlprof, maker)) != 0 ||
        (code = fill_usage(out->parts[1].table, usage)) != 0 ||
        (code = fill_iterations(out->parts[2].table, dlprof)) != 0 ||
        (code = fill_ops(out->parts[3].table, dlprof)) != 0)
        return code;
    return dlprof_summary_fill_kernels(out->parts[4].table, dlprof);
}

int dlprof_summary(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out,
                   struct error *err)
{
    struct dlprof_usage usage;
    int code = dlprof_usage_read(&usage, dlprof, dlprof->first, dlprof->last, err);

    if (code != 0)
        return code;
    *out = (struct dlprof_tables){
        .parts = { { "System Config", table_new(pair_columns, 2), 0 },
                   { "Summary Report", table_new(pair_columns, 2), 0 },
                   { "Iterations", table_new(pair_columns, 2), 0 },
                   { "All Ops", table_new(dlprof_summary_op_columns, SUM_COLUMNS), 1 },
                   { "All Kernels", table_new(dlprof_summary_kernel_columns, SUM_COLUMNS), 1 } },
        .count = 5,
    };
    if (dlprof_summary_fill_parts(dlprof, maker, out, &usage) == 0)
        return 0;
    dlprof_tables_free(out);
    return error_no_memory(err);
}
