/* Which operators count, and what each of them does. */
#include "operator_flops.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/tensor/tensor_cores.h"
#include "analyze/model/torch/torch_kernels.h"
#include "report/schema/torch_names.h"

static int operator_flops_no_memory(struct error *err)
{
    return error_short_memory(err, "for the operators");
}

/* ---- what an operator does ------------------------------------------------------------------------------------- */

static int find_works(struct flops *flops)
{
    for (size_t i = 0; i < flops->operators.count; i++) {
        const struct operators_event *op = &flops->operators.list[i];
        flops->list[i].work = FLOPS_NO_WORK;
        if (op->kind != OPERATOR || op->is_collapsed)
            continue;
        uint32_t key = op_works_find(&flops->works, &flops->operators, op);
        if (key == NO_KEY)
            return ERR_NO_MEMORY;
        if (flops->works.list[key].class != OP_UNKNOWN)
            flops->list[i].work = key;
    }
    return 0;
}

/* ---- work on GPUs ---------------------------------------------------------------------------------------------- */

/* The operator that launched work; NO_OPERATOR if none did. */
static uint32_t launcher_of(const struct operators *operators, const struct operators_event *work)
{
    uint32_t at = work->launcher;

    while (at != NO_OPERATOR && (operators->list[at].kind == OPERATOR_CALL || operators->list[at].is_collapsed))
        at = operators->list[at].parent;
    return at;
}

/* By text of the operators: whether it is the name of a kernel that uses tensor cores. */
static int find_tensor_kernels(const struct flops *flops, struct report *report, unsigned char *uses, struct error *err)
{
    struct torch_kernels names = { 0 };
    struct tensor_kernels cores;
    struct gpu_ops ops = { 0 };
    int code;

    if ((code = tensor_kernels_read(&cores, report, err)) != 0 ||
        (code = torch_kernels_read(&names, report, err)) != 0 ||
        (code = gpu_read(&ops, report, GPU_KERNEL, tensor_kernel_columns, err)) != 0)
        goto free_all;
    for (size_t row = 0; row < ops.count; row++) {
        int64_t ids[2];
        for (size_t c = 0; c < 2; c++)
            ids[c] = gpu_extra_is_null(&ops, c, row) ? -1 : gpu_extra(&ops, c, row);
        int64_t name = torch_kernel_name(&names, ids[TENSOR_MANGLED], ids[TENSOR_DEMANGLED]);
        size_t length = 0;
        const char *bytes = name < 0 ? "" : report_string(report, name, &length);
        int64_t text = intern_find(&flops->operators.texts, bytes, length);
        if (text >= 0 && tensor_cores_of_row(&cores, &ops, row).use == TENSOR_YES)
            uses[text] = 1;
    }
free_all:
    gpu_free(&ops);
    torch_kernels_free(&names);
    tensor_kernels_free(&cores);
    return code;
}

/* uses: by text, as above. */
static void operator_flops_add_works(struct flops *flops, const unsigned char *uses)
{
    const struct operators *operators = &flops->operators;

    for (size_t i = 0; i < operators->count; i++) {
        const struct operators_event *work = &operators->list[i];
        if (work->kind != OPERATOR_GPU)
            continue;
        int64_t ns = saturating_duration(work->start_ns, work->end_ns);
        uint32_t at = launcher_of(operators, work);
        flops->has_gpu_work = 1;
        flops->gpu_ns = saturating_add(flops->gpu_ns, ns);
        if (at == NO_OPERATOR)
            continue;
        flops->list[at].gpu_ns = saturating_add(flops->list[at].gpu_ns, ns);
        if (flops->list[at].work != FLOPS_NO_WORK && work->name != NO_TEXT)
            flops->list[at].uses_tensor_cores |= uses[work->name];
    }
}

static int add_gpu_work(struct flops *flops, struct report *report, struct error *err)
{
    unsigned char *uses = calloc(flops->operators.texts.count + 1, sizeof *uses);
    int code;

    if (!uses)
        return operator_flops_no_memory(err);
    if ((code = find_tensor_kernels(flops, report, uses, err)) != 0)
        goto free_uses;
    operator_flops_add_works(flops, uses);
free_uses:
    free(uses);
    return code;
}

/* ---- which operators count ------------------------------------------------------------------------------------- */

static int operator_flops_is_matrix(const struct flops *flops, size_t i)
{
    uint32_t work = flops->list[i].work;

    return work != FLOPS_NO_WORK && op_class_is_matrix(flops->works.list[work].class);
}

/* Counts one of the operators that lie in each other. below has a byte for each operator. */
static void count_once(struct flops *flops, unsigned char *below)
{
    enum { COUNTED = 1, MATRIX = 2, IN_MATRIX = 4 };
    const struct operators_event *ops = flops->operators.list;

    for (size_t i = flops->operators.count; i-- > 0;) { /* descendants come after their operator */
        struct operator_flops *own = &flops->list[i];
        int counts = own->work != FLOPS_NO_WORK && (!flops->has_gpu_work || own->gpu_ns > 0) &&
                     !(below[i] & (operator_flops_is_matrix(flops, i) ? MATRIX
                                   : flops->has_gpu_work              ? 0
                                                                      : COUNTED));
        if (!counts)
            own->work = FLOPS_NO_WORK;
        if (ops[i].parent != NO_OPERATOR && operator_is_cpu((enum operator_kind)ops[i].kind))
            below[ops[i].parent] |= (unsigned char)(below[i] | (counts ? COUNTED : 0) |
                                                    (counts && operator_flops_is_matrix(flops, i) ? MATRIX : 0));
    }
    memset(below, 0, flops->operators.count);
    for (size_t i = 0; i < flops->operators.count && !flops->has_gpu_work; i++) { /* parts of a matrix operator */
        uint32_t parent = ops[i].parent;
        if (parent != NO_OPERATOR && (below[parent] || operator_flops_is_matrix(flops, parent)))
            below[i] = IN_MATRIX;
        if (below[i])
            flops->list[i].work = FLOPS_NO_WORK;
    }
}

/* Marks what the backward pass recomputes. There gradients are computed without gradients of their own, hence without
 * sequence numbers; what a checkpoint runs again has them. in_node has a byte for each operator. */
static void find_recomputed(struct flops *flops, unsigned char *in_node)
{
    const struct operators *operators = &flops->operators;

    for (size_t i = 0; i < operators->count; i++) {
        const struct operators_event *op = &operators->list[i];
        struct intern_string name = operators_text(operators, op->name);
        uint32_t parent = op->parent;
        in_node[i] = parent != NO_OPERATOR && in_node[parent];
        flops->list[i].is_recomputed = parent != NO_OPERATOR && flops->list[parent].is_recomputed;
        if (op->is_backward || torch_is_engine(name.bytes, name.length)) {
            in_node[i] = 1;
            flops->list[i].is_recomputed = 0;
        } else if (in_node[i] && op->kind == OPERATOR && op->sequence >= 0) {
            flops->list[i].is_recomputed = 1;
        }
    }
}

static void sum_known(struct flops *flops)
{
    for (size_t i = 0; i < flops->operators.count; i++)
        if (flops->list[i].work != FLOPS_NO_WORK && flops->works.list[flops->list[i].work].flops >= 0)
            flops->known_ns = saturating_add(flops->known_ns, flops->list[i].gpu_ns);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static int operator_flops_fill(struct flops *flops, struct report *report, struct error *err)
{
    unsigned char *scratch;
    int code;

    if (operators_nest(&flops->operators) != 0)
        return operator_flops_no_memory(err);
    flops->list = calloc(flops->operators.count + 1, sizeof *flops->list);
    scratch = calloc(flops->operators.count + 1, sizeof *scratch);
    if (!flops->list || !scratch || find_works(flops) != 0) {
        code = operator_flops_no_memory(err);
        goto free_scratch;
    }
    if ((code = add_gpu_work(flops, report, err)) != 0)
        goto free_scratch;
    count_once(flops, scratch);
    memset(scratch, 0, flops->operators.count);
    find_recomputed(flops, scratch);
    sum_known(flops);
free_scratch:
    free(scratch);
    return code;
}

int flops_of_operators(struct flops *flops, struct report *report, const struct analysis_request *request,
                       struct error *err)
{
    int has_shapes = 0, code;

    *flops = (struct flops){ .works = OP_WORKS_NONE };
    if ((code = operators_read(&flops->operators, report, request, err)) != 0)
        return code;
    for (size_t i = 0; i < flops->operators.count && !has_shapes; i++)
        has_shapes = flops->operators.list[i].shapes != NO_TEXT;
    if (!has_shapes)
        code = error_set(err, ERR_NO_DATA, "%s", FLOPS_NO_SHAPES);
    else
        code = operator_flops_fill(flops, report, err);
    if (code != 0)
        flops_free(flops);
    return code;
}

void flops_free(struct flops *flops)
{
    operators_free(&flops->operators);
    op_works_free(&flops->works);
    free(flops->list);
    *flops = (struct flops){ 0 };
}

enum { HAS_SHAPES = 1 }; /* no code of an error: it ends the scan */

static int find_shapes(void *context, int worker, const struct report_block *block)
{
    (void)context;
    (void)worker;
    for (size_t row = 0; row < block->rows; row++)
        if (!block_is_null(block, 0, row))
            return HAS_SHAPES;
    return 0;
}

int flops_has_shapes(struct report *report, int *out, struct error *err)
{
    const struct report_table *table = report_table(report, "TACHO_TORCH_OP");
    int code = 0;

    if (table && table->rows) {
        const int column = report_column(table, "inputDimsId");
        code = report_scan(report, table, &column, 1, NULL, find_shapes, NULL, err);
    }
    *out = code == HAS_SHAPES;
    return *out ? 0 : code;
}

enum gpu_rate flops_rate(const struct op_work *work, int uses_tensor_cores, const struct gpu_peaks *peaks)
{
    if (!op_class_is_matrix(work->class))
        return work->type == DATA_FP64 ? RATE_FP64 : RATE_FP32;
    switch (work->type) {
    case DATA_FP64: return peaks->rate[RATE_FP64_TENSOR] > 0 ? RATE_FP64_TENSOR : RATE_FP64;
    case DATA_FP32:
    case DATA_COMPLEX: return uses_tensor_cores ? RATE_TF32 : RATE_FP32;
    case DATA_FP16:
    case DATA_BF16: return RATE_FP16;
    case DATA_FP8: return RATE_FP8;
    case DATA_INT8: return RATE_INT8;
    case DATA_FP4: return RATE_FP4;
    case DATA_UNKNOWN:
    case DATA_INT: break;
    }
    return GPU_RATES;
}
