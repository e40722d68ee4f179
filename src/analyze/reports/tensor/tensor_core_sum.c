/* tensor_core_sum: which kernels use tensor cores, for operands of which type, and how that is known. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/tensor/tensor_cores.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/saturating.h"

struct kernel_time {
    struct tensor_cores cores;
    int64_t name, ns, count;
};

struct tensor_sum {
    struct report *report;
    struct tensor_kernels kernels;
    struct gpu_ops ops;
    struct filter filter;
    struct keys names;        /* mangled and demangled */
    struct kernel_time *list; /* owned; by key */
    size_t room;
    int64_t total_ns;
};

static int tensor_core_sum_add_kernels(struct tensor_sum *sum)
{
    const struct gpu_ops *ops = &sum->ops;

    for (size_t row = 0; row < ops->count; row++) {
        if (!gpu_counts(ops, row, &sum->filter))
            continue;
        int64_t names[] = { gpu_extra(ops, TENSOR_MANGLED, row), gpu_extra(ops, TENSOR_DEMANGLED, row) };
        int64_t ns = saturating_duration(ops->start[row], ops->end[row]);
        size_t before = sum->names.count;
        uint32_t key = keys_add(&sum->names, names);
        if (key == NO_KEY || array_reserve(&sum->list, &sum->room, sum->names.count, sizeof *sum->list) != 0)
            return ERR_NO_MEMORY;
        if (key == before)
            sum->list[key] = (struct kernel_time){ .cores = tensor_cores_of_row(&sum->kernels, ops, row),
                                                   .name = names[TENSOR_DEMANGLED] };
        sum->list[key].ns = saturating_add(sum->list[key].ns, ns);
        sum->list[key].count++;
        sum->total_ns = saturating_add(sum->total_ns, ns);
    }
    return 0;
}

enum { TIME, TOTAL, INSTANCES, USES, SOURCE, TYPE, PRODUCT, NAME, COLUMNS };

static int tensor_core_sum_add_row(struct table *table, const struct tensor_sum *sum, const struct kernel_time *kernel)
{
    const struct tensor_cores *cores = &kernel->cores;
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (sum->total_ns > 0)
        cell_set_real(&row[TIME], 100.0 * (double)kernel->ns / (double)sum->total_ns);
    cell_set_int(&row[TOTAL], kernel->ns);
    cell_set_int(&row[INSTANCES], kernel->count);
    if (cell_set_string(table, &row[USES], tensor_use_names[cores->use]) != 0 ||
        (cores->use != TENSOR_UNKNOWN && cell_set_string(table, &row[SOURCE], cores->by_code ? "code" : "name") != 0) ||
        (cores->type && cell_set_string(table, &row[TYPE], cores->type) != 0) ||
        ((cores->is_matrix || cores->use == TENSOR_NO) &&
         cell_set_string(table, &row[PRODUCT], cores->is_matrix ? "yes" : "no") != 0))
        return ERR_NO_MEMORY;
    return cell_set_pooled(table, &row[NAME], sum->report, kernel->name);
}

static int tensor_core_sum_fill_table(struct table *table, const struct tensor_sum *sum)
{
    for (size_t i = 0; i < sum->names.count; i++)
        if (tensor_core_sum_add_row(table, sum, &sum->list[i]) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(TOTAL)));
    return 0;
}

static int tensor_core_sum(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    static const struct table_column columns[COLUMNS] = {
        [TIME] = { "Time", CELL_REAL, UNIT_PERCENT, 1 },       [TOTAL] = { "Total Time", CELL_INT, UNIT_NS, 0 },
        [INSTANCES] = { "Instances", CELL_INT, UNIT_NONE, 0 }, [USES] = { "Tensor Cores", CELL_TEXT, UNIT_NONE, 0 },
        [SOURCE] = { "Known By", CELL_TEXT, UNIT_NONE, 0 },    [TYPE] = { "Type", CELL_TEXT, UNIT_NONE, 0 },
        [PRODUCT] = { "Product", CELL_TEXT, UNIT_NONE, 0 },    [NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct table *table = table_new(columns, COLUMNS);
    struct tensor_sum sum = { .report = report, .names.width = 2 };
    int code = tensor_kernels_read(&sum.kernels, report, err);

    if (code != 0 || (code = filter_open(&sum.filter, report, request, err)) != 0 ||
        (code = gpu_read(&sum.ops, report, GPU_KERNEL, tensor_kernel_columns, err)) != 0)
        goto done;
    code = ERR_NO_MEMORY;
    if (table && tensor_core_sum_add_kernels(&sum) == 0)
        code = tensor_core_sum_fill_table(table, &sum);
done:
    gpu_free(&sum.ops);
    filter_close(&sum.filter);
    keys_free(&sum.names);
    free(sum.list);
    tensor_kernels_free(&sum.kernels);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_tensor_core_sum = {
    .name = "tensor_core_sum",
    .title = "Tensor Core Summary",
    .help = "For each kernel: whether it uses tensor cores, for operands of which type, and whether that is known from "
            "its machine code, which captures of Tacho record, or from its name. A name that tells nothing is unknown. "
            "Product says whether the kernel multiplies matrices (GEMM, convolution, attention): only those can use "
            "tensor cores.",
    .needs = { { "CUDA kernel data", gpu_kernel_tables } },
    .run = tensor_core_sum,
};
