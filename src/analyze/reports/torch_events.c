/* The report torch_events: operators, annotations, CUDA calls and work on GPUs one by one, in the order and under the
 * names of the events of torch's own profiler. What belongs together is said by numbers of rows. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/torch/operators.h"
#include "analyze/model/torch/torch_stacks.h"
#include "analyze/registry.h"
#include "base/text.h"

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
static const struct table_column columns[CELLS] = {
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

static const char *const kinds[] = {
    [OPERATOR] = "operator",
    [OPERATOR_ANNOTATION] = "annotation",
    [OPERATOR_CALL] = "call",
    [OPERATOR_MEMORY] = "memory",
    [OPERATOR_PYTHON] = "python",
    [OPERATOR_GPU] = "gpu",
    [OPERATOR_GPU_ANNOTATION] = "gpu annotation",
};

/* The row of another operator; one that is taken for its parent has its parent's. */
static void set_row_of(struct table_cell *cell, const struct operators *operators, const uint32_t *rows, uint32_t at)
{
    while (at != NO_OPERATOR && operators->list[at].is_collapsed)
        at = operators->list[at].parent;
    if (at != NO_OPERATOR)
        cell_set_int(cell, rows[at]);
}

static void set_numbers(struct table_cell *row, const struct operators *operators, const struct operator* operator,
                        const uint32_t * rows)
{
    cell_set_int(&row[CELL_START], operator->start_ns);
    cell_set_int(&row[CELL_DURATION], saturating_duration(operator->start_ns, operator->end_ns));
    cell_set_int(&row[CELL_CPU_BYTES], operator->bytes[0]);
    cell_set_int(&row[CELL_DEVICE_BYTES], operator->bytes[1]);
    cell_set_int(&row[CELL_PID], global_pid_number(operator->thread));
    set_row_of(&row[CELL_PARENT], operators, rows, operator->parent);
    set_row_of(&row[CELL_LAUNCHER], operators, rows, operator->launcher);
    if (operator->sequence >= 0)
        cell_set_int(&row[CELL_SEQUENCE], operator->sequence);
    if (!operator_is_cpu((enum operator_kind) operator->kind))
        return;
    cell_set_int(&row[CELL_TID], global_tid_number(operator->thread));
    cell_set_int(&row[CELL_KERNELS], saturating_from_double(operator->kernels_us * 1000 + 0.5));
}

/* Of the frames those that torch shows. */
static int set_stack(struct table *table, struct table_cell *cell, struct intern_string stack)
{
    const char *at = stack.bytes, *end = at + stack.length;
    struct text text = { 0 };

    for (struct intern_string frame; (frame = torch_next_frame(&at, end)).length;) {
        text_add(&text, text.length ? ";" : "");
        text_add_bytes(&text, frame.bytes, frame.length);
    }
    int code = text_failed(&text) ? ERR_NO_MEMORY : cell_set_text(table, cell, text_string(&text), text.length);
    text_free(&text);
    return code;
}

static int set_texts(struct table *table, struct table_cell *row, const struct operators *operators,
                     const struct operator* operator)
{
    const struct {
        int cell;
        uint32_t text;
    } texts[] = { { CELL_NAME, operator->name },
                    { CELL_SHAPES, operator->shapes },
                      {
                          CELL_VALUES,
                          operator->values },
                    };
    int code = cell_set_text(table, &row[CELL_KIND_NAME], kinds[operator->kind], strlen(kinds[operator->kind]));

    for (size_t i = 0; i < sizeof texts / sizeof *texts && code == 0; i++)
        code = operators_cell(table, &row[texts[i].cell], operators, texts[i].text);
    if (code != 0 || operator->stack == NO_TEXT)
        return code;
    return set_stack(table, &row[CELL_STACK], operators_text(operators, operator->stack));
}

static int fill(struct table *table, const struct operators *operators, uint32_t *rows)
{
    int code = 0;

    for (size_t i = 0, number = 0; i < operators->count; i++) {
        number += !operators->list[i].is_collapsed;
        rows[i] = (uint32_t)number; /* from 1 on */
    }
    for (size_t i = 0; i < operators->count && code == 0; i++) {
        const struct operator* operator= & operators->list[i];
        if (operator->is_collapsed)
            continue;
        struct table_cell *row = table_add_row(table);
        if (!row)
            return ERR_NO_MEMORY;
        set_numbers(row, operators, operator, rows);
        code = set_texts(table, row, operators, operator);
    }
    return code;
}

static int run(struct report *report, const struct analysis_request *request, struct table **out, struct error *err)
{
    struct operators operators;
    int code = operators_read(&operators, report, request, err);

    if (code != 0) {
        operators_free(&operators);
        return code;
    }
    uint32_t *rows = calloc(operators.count + 1, sizeof *rows);
    struct table *table = table_new(columns, CELLS);
    code = rows && table ? operators_nest(&operators) : ERR_NO_MEMORY;
    if (code == 0)
        code = fill(table, &operators, rows);
    free(rows);
    operators_free(&operators);
    return table_hand_over(table, code, out, err);
}

static const char *const tables[] = { "TACHO_TORCH_OP", "NVTX_EVENTS", NULL };

const struct analysis analysis_torch_events = {
    .name = "torch_events",
    .title = "PyTorch Events",
    .usage = "",
    .help = "Operators of PyTorch, annotations, CUDA calls and work on GPUs one by one, in order of time, under the "
            "names that torch's own profiler has for them. Parent is the number of the row, from 1 on, of the operator "
            "around one, Launched By of the one whose work on a GPU it is; GPU Launched is the time of what it "
            "launched itself, without what its children did.",
    .needs = { { "PyTorch operators", tables } },
    .run = run,
};
