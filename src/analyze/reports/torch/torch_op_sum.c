/* torch_op_sum: PyTorch's operators by their own time on a GPU, or on the CPU where none has any. The figures are those
 * of torch's key_averages(); `tacho ops` prints all of them. */
#include "analyze/registry.h"
#include "torch_ops.h"

enum {
    SHARE,
    SELF_DEVICE,
    SELF_CPU,
    CALLS,
    DEVICE_TOTAL,
    CPU_TOTAL,
    DEVICE_BYTES,
    CPU_BYTES,
    FLOPS,
    NAME,
    NAMED_COLUMNS,
    SHAPES = NAMED_COLUMNS,
    STACK,
    COLUMNS
};
static const struct table_column torch_op_sum_columns[COLUMNS] = {
    [SHARE] = { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    [SELF_DEVICE] = { "Self CUDA", CELL_REAL, UNIT_NS, 0 },
    [SELF_CPU] = { "Self CPU", CELL_REAL, UNIT_NS, 0 },
    [CALLS] = { "Calls", CELL_INT, UNIT_NONE, 0 },
    [DEVICE_TOTAL] = { "CUDA Total", CELL_REAL, UNIT_NS, 0 },
    [CPU_TOTAL] = { "CPU Total", CELL_REAL, UNIT_NS, 0 },
    [DEVICE_BYTES] = { "Self CUDA Memory", CELL_INT, UNIT_BYTES, 0 },
    [CPU_BYTES] = { "Self CPU Memory", CELL_INT, UNIT_BYTES, 0 },
    [FLOPS] = { "FLOPs", CELL_INT, UNIT_NONE, 0 },
    [NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
    [SHAPES] = { "Input Shapes", CELL_TEXT, UNIT_NONE, 0 },
    [STACK] = { "Stack", CELL_TEXT, UNIT_NONE, 0 },
};

struct torch_ops_sums torch_ops_sums(const struct torch_ops *ops)
{
    struct torch_ops_sums sums = { 0 };

    for (size_t r = 0; r < table_row_count(ops->table); r++) {
        const struct table_cell *row = table_row(ops->table, r);
        sums.self_cpu_us += row[TORCH_SELF_CPU].real;
        if (row[TORCH_ON_DEVICE].integer && !row[TORCH_IS_ANNOTATION].integer)
            sums.self_device_us += row[TORCH_SELF_DEVICE].real;
        sums.has_device_time |= row[TORCH_SELF_DEVICE].real > 0;
        sums.has_device_memory |= row[TORCH_SELF_DEVICE_BYTES].integer > 0;
    }
    return sums;
}

static int torch_op_sum_copy_text(struct table *table, struct table_cell *to, const struct table_cell *from)
{
    return from->kind == CELL_TEXT ? cell_set_text(table, to, from->text.bytes, from->text.length) : 0;
}

static int torch_op_sum_add_row(struct table *table, const struct torch_ops *ops, const struct table_cell *from,
                                const struct torch_ops_sums *sums)
{
    static const struct {
        int to, from;
    } times[] = { { SELF_CPU, TORCH_SELF_CPU },
                  { CPU_TOTAL, TORCH_CPU_TOTAL },
                  { SELF_DEVICE, TORCH_SELF_DEVICE },
                  { DEVICE_TOTAL, TORCH_DEVICE_TOTAL } };
    double own = from[sums->has_device_time ? TORCH_SELF_DEVICE : TORCH_SELF_CPU].real;
    double all = sums->has_device_time ? sums->self_device_us : sums->self_cpu_us;
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (all > 0)
        cell_set_real(&row[SHARE], 100.0 * own / all);
    for (size_t i = from[TORCH_ON_DEVICE].integer ? 2 : 0; i < (sums->has_device_time ? 4 : 2); i++)
        cell_set_real(&row[times[i].to], from[times[i].from].real * 1e3);
    cell_set_int(&row[CALLS], from[TORCH_COUNT].integer);
    if (ops->has_memory)
        cell_set_int(&row[CPU_BYTES], from[TORCH_SELF_CPU_BYTES].integer);
    if (ops->has_memory && sums->has_device_memory)
        cell_set_int(&row[DEVICE_BYTES], from[TORCH_SELF_DEVICE_BYTES].integer);
    if (ops->has_flops && from[TORCH_FLOPS].integer > 0)
        cell_set_int(&row[FLOPS], from[TORCH_FLOPS].integer);
    if (torch_op_sum_copy_text(table, &row[NAME], &from[TORCH_KEY]) != 0)
        return ERR_NO_MEMORY;
    if (table_column_count(table) == NAMED_COLUMNS)
        return 0;
    if (torch_op_sum_copy_text(table, &row[SHAPES], &from[TORCH_SHAPES]) != 0)
        return ERR_NO_MEMORY;
    return torch_op_sum_copy_text(table, &row[STACK], &from[TORCH_STACK]);
}

struct table *torch_ops_summary(const struct torch_ops *ops, int with_keys,
                                int (*is_wanted)(const struct table_cell *row))
{
    struct table *table = table_new(torch_op_sum_columns, with_keys ? COLUMNS : NAMED_COLUMNS);
    struct torch_ops_sums sums = torch_ops_sums(ops);

    for (size_t r = 0; table && r < table_row_count(ops->table); r++) {
        const struct table_cell *row = table_row(ops->table, r);
        if ((!is_wanted || is_wanted(row)) && torch_op_sum_add_row(table, ops, row, &sums) != 0) {
            table_delete(table);
            return NULL;
        }
    }
    return table;
}

/* Kernels have reports of their own. */
static int torch_op_sum_is_operator(const struct table_cell *row)
{
    return !row[TORCH_ON_DEVICE].integer;
}

static int torch_op_sum(struct report *report, const struct analysis_request *request, struct table **out,
                        struct error *err)
{
    const struct torch_ops_request by_time = { 0 };
    struct torch_ops ops;
    int code;

    if ((code = torch_ops(&ops, report, request, &by_time, err)) != 0)
        return code;
    struct table *table = torch_ops_summary(&ops, 0, torch_op_sum_is_operator);
    table_delete(ops.table);
    return table_hand_over(table, table ? 0 : ERR_NO_MEMORY, out, err);
}

const struct analysis analysis_torch_op_sum = {
    .name = "torch_op_sum",
    .title = "PyTorch Operator Summary",
    .help = "Operators of PyTorch, and the CUDA calls among them, by their own GPU time, or by their own CPU time if "
            "there is none. Time is the share of the time of all GPU work, or of all operators. tacho ops prints the "
            "same figures as torch.profiler does, and those of kernels.",
    .needs = { { "PyTorch operators", TABLES("TACHO_TORCH_OP") } },
    .overlap = "operators contain each other",
    .run = torch_op_sum,
};
