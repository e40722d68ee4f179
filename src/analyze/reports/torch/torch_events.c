/* torch_events: operators, annotations, CUDA calls and work on GPUs one by one, in the order and under the names of the
 * events of torch's own profiler. Rows refer to each other by their numbers. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/model/torch/operators.h"
#include "analyze/model/torch/torch_stacks.h"
#include "analyze/registry.h"

enum {
    CELL_START,
    CELL_DURATION,
    CELL_KERNELS,
    CELL_CPU_BYTES,
    CELL_DEVICE_BYTES,
    CELL_PID,
    CELL_TID,
    CELL_PARENT,
    CELL_LAUNCHER,
    CELL_SEQUENCE,
    CELL_KIND_NAME,
    CELL_NAME,
    CELL_SHAPES,
    CELL_VALUES,
    CELL_STACK,
    CELLS
};
static const struct table_column torch_events_columns[CELLS] = {
    [CELL_START] = { "Start", CELL_INT, UNIT_TIME, 0 },
    [CELL_DURATION] = { "Duration", CELL_INT, UNIT_NS, 0 },
    [CELL_KERNELS] = { "GPU Launched", CELL_INT, UNIT_NS, 0 },
    [CELL_CPU_BYTES] = { "CPU Memory", CELL_INT, UNIT_BYTES, 0 },
    [CELL_DEVICE_BYTES] = { "GPU Memory", CELL_INT, UNIT_BYTES, 0 },
    [CELL_PID] = { "PID", CELL_INT, UNIT_ID, 0 },
    [CELL_TID] = { "TID", CELL_INT, UNIT_ID, 0 },
    [CELL_PARENT] = { "Parent", CELL_INT, UNIT_ID, 0 },
    [CELL_LAUNCHER] = { "Launched By", CELL_INT, UNIT_ID, 0 },
    [CELL_SEQUENCE] = { "Sequence", CELL_INT, UNIT_ID, 0 },
    [CELL_KIND_NAME] = { "Kind", CELL_TEXT, UNIT_NONE, 0 },
    [CELL_NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
    [CELL_SHAPES] = { "Input Shapes", CELL_TEXT, UNIT_NONE, 0 },
    [CELL_VALUES] = { "Concrete Inputs", CELL_TEXT, UNIT_NONE, 0 },
    [CELL_STACK] = { "Stack", CELL_TEXT, UNIT_NONE, 0 },
};

static const char *const torch_events_kinds[] = {
    [OPERATOR] = "operator",
    [OPERATOR_ANNOTATION] = "annotation",
    [OPERATOR_CALL] = "call",
    [OPERATOR_MEMORY] = "memory",
    [OPERATOR_PYTHON] = "python",
    [OPERATOR_GPU] = "gpu",
    [OPERATOR_GPU_ANNOTATION] = "gpu annotation",
};

/* Sets the number of an operator's row. A collapsed operator has no row; its parent stands for it. */
static void set_row_of(struct table_cell *cell, const struct operators *operators, const uint32_t *rows, uint32_t at)
{
    while (at != NO_OPERATOR && operators->list[at].is_collapsed)
        at = operators->list[at].parent;
    if (at != NO_OPERATOR)
        cell_set_int(cell, rows[at]);
}

static void torch_events_set_numbers(struct table_cell *row, const struct operators *operators,
                                     const struct operators_event *op, const uint32_t *rows)
{
    cell_set_int(&row[CELL_START], op->start_ns);
    cell_set_int(&row[CELL_DURATION], saturating_duration(op->start_ns, op->end_ns));
    cell_set_int(&row[CELL_CPU_BYTES], op->bytes[0]);
    cell_set_int(&row[CELL_DEVICE_BYTES], op->bytes[1]);
    cell_set_int(&row[CELL_PID], global_pid_number(op->thread));
    set_row_of(&row[CELL_PARENT], operators, rows, op->parent);
    set_row_of(&row[CELL_LAUNCHER], operators, rows, op->launcher);
    if (op->sequence >= 0)
        cell_set_int(&row[CELL_SEQUENCE], op->sequence);
    if (!operator_is_cpu((enum operator_kind)op->kind))
        return;
    cell_set_int(&row[CELL_TID], global_tid_number(op->thread));
    cell_set_int(&row[CELL_KERNELS], saturating_from_double(op->kernels_us * 1000 + 0.5));
}

/* Sets the frames that torch shows. */
static int torch_events_set_stack(struct table *table, struct table_cell *cell, struct intern_string stack)
{
    const char *at = stack.bytes, *end = at + stack.length;
    struct text text = { 0 };

    for (struct intern_string frame; (frame = torch_next_frame(&at, end)).length;) {
        text_add(&text, text.length ? ";" : "");
        text_add_bytes(&text, frame.bytes, frame.length);
    }
    int code = cell_set_built(table, cell, &text);
    text_free(&text);
    return code;
}

static int torch_events_set_texts(struct table *table, struct table_cell *row, const struct operators *operators,
                                  const struct operators_event *op)
{
    if (cell_set_string(table, &row[CELL_KIND_NAME], torch_events_kinds[op->kind]) != 0 ||
        operators_cell(table, &row[CELL_NAME], operators, op->name) != 0 ||
        operators_cell(table, &row[CELL_SHAPES], operators, op->shapes) != 0 ||
        operators_cell(table, &row[CELL_VALUES], operators, op->values) != 0)
        return ERR_NO_MEMORY;
    return op->stack == NO_TEXT ? 0
                                : torch_events_set_stack(table, &row[CELL_STACK], operators_text(operators, op->stack));
}

/* The number of each operator's row, from 1 on. */
static void torch_events_number_rows(uint32_t *rows, const struct operators *operators)
{
    for (size_t i = 0, number = 0; i < operators->count; i++) {
        number += !operators->list[i].is_collapsed;
        rows[i] = (uint32_t)number;
    }
}

static int torch_events_add_row(struct table *table, const struct operators *operators,
                                const struct operators_event *op, const uint32_t *rows)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    torch_events_set_numbers(row, operators, op, rows);
    return torch_events_set_texts(table, row, operators, op);
}

static int torch_events_fill_table(struct table *table, struct operators *operators)
{
    uint32_t *rows = calloc(operators->count + 1, sizeof *rows);
    int code = ERR_NO_MEMORY;

    if (!rows)
        return code;
    if ((code = operators_nest(operators)) != 0)
        goto free_rows;
    torch_events_number_rows(rows, operators);
    for (size_t i = 0; i < operators->count; i++)
        if (!operators->list[i].is_collapsed &&
            (code = torch_events_add_row(table, operators, &operators->list[i], rows)) != 0)
            goto free_rows;
free_rows:
    free(rows);
    return code;
}

static int torch_events_run(struct report *report, const struct analysis_request *request, struct table **out,
                            struct error *err)
{
    struct table *table = table_new(torch_events_columns, CELLS);
    struct operators operators = { 0 };
    int code = operators_read(&operators, report, request, err);

    if (code != 0)
        goto done;
    code = table ? torch_events_fill_table(table, &operators) : ERR_NO_MEMORY;
done:
    operators_free(&operators);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_torch_events = {
    .name = "torch_events",
    .title = "PyTorch Events",
    .help = "PyTorch operators, annotations, CUDA calls and GPU work by start time, with the names of torch.profiler. "
            "Parent: the row, counted from 1, of the enclosing operator. Launched By: the row that launched this GPU "
            "work. GPU Launched: the time of the work that the event itself launched, without its children.",
    .needs = { { "PyTorch operators", TABLES("TACHO_TORCH_OP", "NVTX_EVENTS") } },
    .overlap = "operators contain each other",
    .run = torch_events_run,
};
