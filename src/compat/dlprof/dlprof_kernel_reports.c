/* The reports on kernels: by name for each operator, one by one, and for operators that can use tensor cores. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/statistics.h"
#include "base/array.h"
#include "base/saturating.h"
#include "dlprof_internal.h"

/* Kernels in the order of a report. */
struct kernel_reports_kernels {
    const struct dlprof_work **list; /* owned */
    size_t count;
};

struct order {
    const struct dlprof *dlprof;
    int by_iteration;
};

static int compare_strings(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int difference = memcmp(a, b, a_length < b_length ? a_length : b_length);

    return difference ?: COMPARE(a_length, b_length);
}

static int compare_texts(const struct dlprof *dlprof, uint32_t a, uint32_t b)
{
    struct intern_string left = dlprof_text(dlprof, a), right = dlprof_text(dlprof, b);

    return a == b ? 0 : compare_strings(left.bytes, left.length, right.bytes, right.length);
}

static int kernel_reports_compare_names(struct report *report, int64_t a, int64_t b)
{
    size_t a_length, b_length;
    const char *left = report_string(report, a, &a_length), *right = report_string(report, b, &b_length);

    return a == b ? 0 : compare_strings(left, a_length, right, b_length);
}

/* By name and id of the operator, by name of the kernel, and by time. */
static int kernel_reports_compare_kernels(const void *left, const void *right, void *context)
{
    const struct dlprof_work *a = *(const struct dlprof_work *const *)left;
    const struct dlprof_work *b = *(const struct dlprof_work *const *)right;
    const struct order *order = context;
    const struct dlprof *dlprof = order->dlprof;
    const struct dlprof_call *a_call = &dlprof->calls[a->call], *b_call = &dlprof->calls[b->call];
    int difference;

    if (order->by_iteration && a_call->iteration != b_call->iteration)
        return a_call->iteration < b_call->iteration ? -1 : 1;
    if ((difference = compare_texts(dlprof, a_call->words.name, b_call->words.name)) != 0 ||
        (difference = compare_texts(dlprof, dlprof->ops[a_call->op].id, dlprof->ops[b_call->op].id)) != 0 ||
        (difference = kernel_reports_compare_names(dlprof->report, a->name, b->name)) != 0)
        return difference;
    return COMPARE(a->start_ns, b->start_ns);
}

static int kernels_read(struct kernel_reports_kernels *kernels, const struct dlprof *dlprof, int by_iteration)
{
    struct order order = { dlprof, by_iteration };

    kernels->list = malloc((dlprof->work_count + 1) * sizeof *kernels->list);
    if (!kernels->list)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < dlprof->work_count; i++)
        if (dlprof->works[i].kind == GPU_KERNEL)
            kernels->list[kernels->count++] = &dlprof->works[i];
    if (kernels->count)
        qsort_r(kernels->list, kernels->count, sizeof *kernels->list, kernel_reports_compare_kernels, &order);
    return 0;
}

static const struct dlprof_op *op_of(const struct dlprof *dlprof, const struct dlprof_work *work)
{
    return &dlprof->ops[dlprof->calls[work->call].op];
}

/* ---- by name --------------------------------------------------------------------------------------------------- */

enum {
    KERNEL_NAME,
    KERNEL_OP_ID,
    KERNEL_OP_NAME,
    KERNEL_DIRECTION,
    KERNEL_USES,
    KERNEL_GPU,
    KERNEL_API = KERNEL_GPU + 4,
    KERNEL_COLUMNS = KERNEL_API + 4
};
static const struct table_column kernel_reports_columns[] = {
    { "Kernel Name", CELL_TEXT, UNIT_NAME, 0 }, { "Op ID", CELL_TEXT, UNIT_NONE, 0 },
    { "Op Name", CELL_TEXT, UNIT_NONE, 0 },     { "Direction", CELL_TEXT, UNIT_NONE, 0 },
    { "Uses TC", CELL_TEXT, UNIT_NONE, 0 },     { "Total GPU Time", CELL_INT, UNIT_NS, 0 },
    { "Avg GPU Time", CELL_REAL, UNIT_NS, 1 },  { "Min GPU Time", CELL_INT, UNIT_NS, 0 },
    { "Max GPU Time", CELL_INT, UNIT_NS, 0 },   { "Total API Time", CELL_INT, UNIT_NS, 0 },
    { "Avg API Time", CELL_REAL, UNIT_NS, 1 },  { "Min API Time", CELL_INT, UNIT_NS, 0 },
    { "Max API Time", CELL_INT, UNIT_NS, 0 },
};

/* Kernels of one name in one operator are neighbours; *at is the first of them, and then the first of the next. */
static int kernel_reports_add_kernel(struct table *table, const struct dlprof *dlprof,
                                     const struct kernel_reports_kernels *kernels, size_t *at)
{
    const struct dlprof_work *first = kernels->list[*at];
    const struct dlprof_op *op = op_of(dlprof, first);
    struct statistics gpu = { 0 }, api = { 0 };
    struct table_cell *cells = table_add_row(table);

    for (; *at < kernels->count; ++*at) {
        const struct dlprof_work *work = kernels->list[*at];
        if (op_of(dlprof, work) != op || kernel_reports_compare_names(dlprof->report, work->name, first->name) != 0)
            break;
        statistics_add(&gpu, saturating_duration(work->start_ns, work->end_ns));
        statistics_add(&api, saturating_duration(work->call_start_ns, work->call_end_ns));
    }
    if (!cells || cell_set_pooled(table, &cells[KERNEL_NAME], dlprof->report, first->name) != 0 ||
        dlprof_set_text(table, &cells[KERNEL_OP_ID], dlprof, op->id) != 0 ||
        dlprof_set_text(table, &cells[KERNEL_OP_NAME], dlprof, op->words.name) != 0 ||
        cell_set_string(table, &cells[KERNEL_DIRECTION], dlprof_direction_name(op->words.direction)) != 0 ||
        cell_set_string(table, &cells[KERNEL_USES], dlprof_yes(first->tensor.use == TENSOR_YES)) != 0)
        return ERR_NO_MEMORY;
    dlprof_set_figures(&cells[KERNEL_GPU], &gpu);
    dlprof_set_figures(&cells[KERNEL_API], &api);
    return 0;
}

int dlprof_kernel(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out, struct error *err)
{
    struct table *table = table_new(kernel_reports_columns, KERNEL_COLUMNS);
    struct kernel_reports_kernels kernels = { 0 };
    int code = table ? kernels_read(&kernels, dlprof, 0) : ERR_NO_MEMORY;

    for (size_t at = 0; at < kernels.count && code == 0;)
        code = kernel_reports_add_kernel(table, dlprof, &kernels, &at);
    free(kernels.list);
    return dlprof_hand_over(table, code, "Kernel Report", out, err);
}

/* ---- one by one ------------------------------------------------------------------------------------------------ */

enum {
    ITERATION,
    ITERATION_OP_ID,
    ITERATION_OP_NAME,
    ITERATION_DIRECTION,
    ITERATION_TYPE,
    ITERATION_KERNEL,
    ITERATION_DEVICE,
    ITERATION_START,
    ITERATION_DURATION,
    ITERATION_API_START,
    ITERATION_API_TIME,
    ITERATION_USES,
    ITERATION_GRID,
    ITERATION_BLOCK = ITERATION_GRID + 3,
    ITERATION_DATA_TYPES = ITERATION_BLOCK + 3,
    ITERATION_INPUTS,
    ITERATION_PARAMETERS,
    ITERATION_OUTPUTS,
    ITERATION_LONG_NAME,
    ITERATION_COLUMNS
};
static const struct table_column iteration_columns[] = {
    { "Iteration", CELL_INT, UNIT_ID, 0 },
    { "Op ID", CELL_TEXT, UNIT_NONE, 0 },
    { "Op Name", CELL_TEXT, UNIT_NONE, 0 },
    { "Direction", CELL_TEXT, UNIT_NONE, 0 },
    { "Op Type", CELL_TEXT, UNIT_NONE, 0 },
    { "Kernel Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Device ID", CELL_INT, UNIT_ID, 0 },
    { "GPU Start Time", CELL_INT, UNIT_TIME, 0 },
    { "GPU Duration", CELL_INT, UNIT_NS, 0 },
    { "API Call Start", CELL_INT, UNIT_TIME, 0 },
    { "API Call Time", CELL_INT, UNIT_NS, 0 },
    { "Uses TC", CELL_TEXT, UNIT_NONE, 0 },
    { "Grid X", CELL_INT, UNIT_ID, 0 },
    { "Grid Y", CELL_INT, UNIT_ID, 0 },
    { "Grid Z", CELL_INT, UNIT_ID, 0 },
    { "Block X", CELL_INT, UNIT_ID, 0 },
    { "Block Y", CELL_INT, UNIT_ID, 0 },
    { "Block Z", CELL_INT, UNIT_ID, 0 },
    { "Data Types", CELL_TEXT, UNIT_NONE, 0 },
    { "Input Shapes", CELL_TEXT, UNIT_NONE, 0 },
    { "Parameters", CELL_TEXT, UNIT_NONE, 0 },
    { "Output Shapes", CELL_TEXT, UNIT_NONE, 0 },
    { "Long Kernel Name", CELL_TEXT, UNIT_NONE, 0 },
};

/* DLProf keeps one long name for all kernels of a short name in an operator: that of the last. */
static int64_t long_name(const struct dlprof *dlprof, const struct kernel_reports_kernels *kernels, size_t at)
{
    const struct dlprof_work *first = kernels->list[at];
    const struct dlprof_call *call = &dlprof->calls[first->call];
    int64_t name = first->long_name;

    for (; at < kernels->count; at++) {
        const struct dlprof_work *work = kernels->list[at];
        const struct dlprof_call *other = &dlprof->calls[work->call];
        if (other->op != call->op || other->iteration != call->iteration || work->name != first->name)
            break;
        name = work->long_name;
    }
    return name;
}

static int set_words(struct table *table, struct table_cell *cells, const struct dlprof *dlprof,
                     const struct dlprof_work *work, int64_t long_name_id)
{
    const struct dlprof_call *call = &dlprof->calls[work->call];
    const struct {
        size_t column;
        uint32_t text;
    } texts[] = {
        { ITERATION_OP_ID, dlprof->ops[call->op].id }, { ITERATION_OP_NAME, call->words.name },
        { ITERATION_TYPE, call->words.type },          { ITERATION_DATA_TYPES, call->words.data_type },
        { ITERATION_INPUTS, call->words.inputs },      { ITERATION_PARAMETERS, call->words.parameters },
        { ITERATION_OUTPUTS, call->words.outputs },
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (dlprof_set_text(table, &cells[texts[i].column], dlprof, texts[i].text) != 0)
            return ERR_NO_MEMORY;
    if (cell_set_string(table, &cells[ITERATION_DIRECTION], dlprof_direction_name(call->words.direction)) != 0 ||
        cell_set_pooled(table, &cells[ITERATION_KERNEL], dlprof->report, work->name) != 0 ||
        cell_set_pooled(table, &cells[ITERATION_LONG_NAME], dlprof->report, long_name_id) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &cells[ITERATION_USES], dlprof_yes(work->tensor.use == TENSOR_YES));
}

int dlprof_iteration(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out,
                     struct error *err)
{
    struct table *table = table_new(iteration_columns, ITERATION_COLUMNS);
    struct kernel_reports_kernels kernels = { 0 };
    int code = table ? kernels_read(&kernels, dlprof, 1) : ERR_NO_MEMORY;

    for (size_t i = 0; i < kernels.count && code == 0; i++) {
        const struct dlprof_work *work = kernels.list[i];
        struct table_cell *cells = table_add_row(table);
        if (!cells || (code = set_words(table, cells, dlprof, work, long_name(dlprof, &kernels, i))) != 0) {
            code = ERR_NO_MEMORY;
            break;
        }
        cell_set_int(&cells[ITERATION], dlprof->calls[work->call].iteration);
        cell_set_int(&cells[ITERATION_DEVICE], work->device);
        cell_set_int(&cells[ITERATION_START], work->start_ns);
        cell_set_int(&cells[ITERATION_DURATION], saturating_duration(work->start_ns, work->end_ns));
        cell_set_int(&cells[ITERATION_API_START], work->call_start_ns);
        cell_set_int(&cells[ITERATION_API_TIME], saturating_duration(work->call_start_ns, work->call_end_ns));
        for (size_t d = 0; d < 3; d++) {
            cell_set_int(&cells[ITERATION_GRID + d], work->grid[d]);
            cell_set_int(&cells[ITERATION_BLOCK + d], work->block[d]);
        }
    }
    free(kernels.list);
    return dlprof_hand_over(table, code, "Iteration Report", out, err);
}

/* ---- tensor cores ---------------------------------------------------------------------------------------------- */

enum {
    TENSOR_OP_ID,
    TENSOR_OP_NAME,
    TENSOR_DIRECTION,
    TENSOR_TYPE,
    TENSOR_USING,
    TENSOR_TOTAL,
    TENSOR_TIME,
    TENSOR_OTHER_TIME,
    TENSOR_SHARE,
    TENSOR_KERNELS,
    TENSOR_COUNT,
    TENSOR_NAMES,
    TENSOR_OTHER_COUNT,
    TENSOR_OTHER_NAMES,
    TENSOR_COLUMNS
};
static const struct table_column tensor_columns[] = {
    { "Op ID", CELL_TEXT, UNIT_NONE, 0 },
    { "Op Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Direction", CELL_TEXT, UNIT_NONE, 0 },
    { "Op Type", CELL_TEXT, UNIT_NONE, 0 },
    { "Uses TC", CELL_TEXT, UNIT_NONE, 0 },
    { "Total GPU Time", CELL_INT, UNIT_NS, 0 },
    { "TC GPU Time", CELL_INT, UNIT_NS, 0 },
    { "Non-TC GPU Time", CELL_INT, UNIT_NS, 0 },
    { "TC Utilization", CELL_REAL, UNIT_PERCENT, 1 },
    { "Total Kernel Count", CELL_INT, UNIT_NONE, 0 },
    { "TC Kernel Count", CELL_INT, UNIT_NONE, 0 },
    { "TC Kernel Names", CELL_TEXT, UNIT_NONE, 0 },
    { "Non-TC Kernel Count", CELL_INT, UNIT_NONE, 0 },
    { "Non-TC Kernel Names", CELL_TEXT, UNIT_NONE, 0 },
};

/* Figures of an operator's kernels that use tensor cores, or of the others. Each kernel name counts once. */
struct tensor_part {
    int64_t ns, count;
    struct text names;
};

static void kernel_reports_add_part(struct tensor_part *part, struct report *report, const struct dlprof_work *work,
                                    int is_new)
{
    size_t length;
    const char *name = report_string(report, work->name, &length);

    part->ns = saturating_add(part->ns, saturating_duration(work->start_ns, work->end_ns));
    if (!is_new)
        return;
    part->count++;
    text_add(&part->names, part->names.length ? ", " : "");
    text_add_bytes(&part->names, name, length);
}

static int add_tensor_row(struct table *table, const struct dlprof *dlprof, const struct dlprof_op *op,
                          const struct tensor_part parts[2])
{
    struct table_cell *cells = table_add_row(table);
    int64_t total_ns = saturating_add(parts[0].ns, parts[1].ns);

    if (!cells || dlprof_set_text(table, &cells[TENSOR_OP_ID], dlprof, op->id) != 0 ||
        dlprof_set_text(table, &cells[TENSOR_OP_NAME], dlprof, op->words.name) != 0 ||
        cell_set_string(table, &cells[TENSOR_DIRECTION], dlprof_direction_name(op->words.direction)) != 0 ||
        dlprof_set_text(table, &cells[TENSOR_TYPE], dlprof, op->words.type) != 0 ||
        cell_set_string(table, &cells[TENSOR_USING], dlprof_yes(parts[1].count > 0)) != 0 ||
        cell_set_built(table, &cells[TENSOR_NAMES], &parts[1].names) != 0 ||
        cell_set_built(table, &cells[TENSOR_OTHER_NAMES], &parts[0].names) != 0)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[TENSOR_TOTAL], total_ns);
    cell_set_int(&cells[TENSOR_TIME], parts[1].ns);
    cell_set_int(&cells[TENSOR_OTHER_TIME], parts[0].ns);
    cell_set_real(&cells[TENSOR_SHARE], total_ns > 0 ? 100 * (double)parts[1].ns / (double)total_ns : 0);
    cell_set_int(&cells[TENSOR_KERNELS], parts[0].count + parts[1].count);
    cell_set_int(&cells[TENSOR_COUNT], parts[1].count);
    cell_set_int(&cells[TENSOR_OTHER_COUNT], parts[0].count);
    return 0;
}

/* The kernels of one operator are neighbours, and those of one name among them; *at moves to the next operator. */
static int add_tensor_op(struct table *table, const struct dlprof *dlprof, const struct kernel_reports_kernels *kernels,
                         size_t *at)
{
    const struct dlprof_op *op = op_of(dlprof, kernels->list[*at]);
    const struct dlprof_work *before = NULL;
    struct tensor_part parts[2] = { 0 };
    int code = 0;

    for (; *at < kernels->count && op_of(dlprof, kernels->list[*at]) == op; ++*at) {
        const struct dlprof_work *work = kernels->list[*at];
        int is_new = !before || kernel_reports_compare_names(dlprof->report, before->name, work->name) != 0;
        kernel_reports_add_part(&parts[work->tensor.use == TENSOR_YES], dlprof->report, work, is_new);
        before = work;
    }
    if (op->is_eligible || parts[1].count)
        code = add_tensor_row(table, dlprof, op, parts);
    text_free(&parts[0].names);
    text_free(&parts[1].names);
    return code;
}

static int kernel_reports_by_id(const struct table_cell *a, const struct table_cell *b, void *context)
{
    return cell_compare_text(&a[TENSOR_OP_ID], &b[TENSOR_OP_ID]);
}

int dlprof_tensor_core(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out,
                       struct error *err)
{
    struct table *table = table_new(tensor_columns, TENSOR_COLUMNS);
    struct kernel_reports_kernels kernels = { 0 };
    int code = table ? kernels_read(&kernels, dlprof, 0) : ERR_NO_MEMORY;

    for (size_t at = 0; at < kernels.count && code == 0;)
        code = add_tensor_op(table, dlprof, &kernels, &at);
    if (code == 0)
        table_sort(table, kernel_reports_by_id, NULL);
    free(kernels.list);
    return dlprof_hand_over(table, code, "Tensor Core Report", out, err);
}
