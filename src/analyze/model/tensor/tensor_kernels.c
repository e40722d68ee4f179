/* The kernels of a report: their machine code, else their names. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"
#include "tensor_cores.h"

const char *const tensor_use_names[TENSOR_USES] = {
    [TENSOR_UNKNOWN] = "unknown",
    [TENSOR_NO] = "no",
    [TENSOR_YES] = "yes",
};

enum { MANGLED, TYPES, MIXED };

/* Nothing is said of "fp16,bf16": the name may know which of them it is. */
static struct tensor_cores code_of_row(struct report *report, const struct row_cursor *rows)
{
    struct tensor_cores code = { .use = TENSOR_NO, .by_code = 1 };

    if (row_is_null(rows, TYPES))
        return code;
    const char *types = report_string(report, row_int(rows, TYPES), NULL);
    code.use = TENSOR_YES;
    code.is_matrix = 1;
    code.type = strchr(types, ',') || strcmp(types, "other") == 0 ? NULL : types;
    return code;
}

/* A name that two processes have with different code is as unknown as one that is mixed in one of them. */
static int tensor_kernels_add_code(struct tensor_kernels *kernels, const struct row_cursor *rows)
{
    struct tensor_cores code = code_of_row(kernels->report, rows);
    size_t before = kernels->codes.count;
    uint32_t key = keys_add(&kernels->codes, &(int64_t){ row_int(rows, MANGLED) });

    if (key == NO_KEY ||
        array_reserve(&kernels->by_code, &kernels->code_room, kernels->codes.count, sizeof *kernels->by_code) != 0)
        return ERR_NO_MEMORY;
    if (row_int_or(rows, MIXED, 0) || (key < before && kernels->by_code[key].use != code.use))
        code = (struct tensor_cores){ .use = TENSOR_UNKNOWN };
    kernels->by_code[key] = code;
    return 0;
}

int tensor_kernels_read(struct tensor_kernels *kernels, struct report *report, struct error *err)
{
    static const char *const names[] = {
        [MANGLED] = "mangledName", [TYPES] = "tensorTypes", [MIXED] = "isMixed", NULL
    };
    struct row_cursor rows;
    int code;

    *kernels = (struct tensor_kernels){ .report = report, .codes.width = 1, .names.width = 2 };
    if ((code = row_cursor_open(&rows, report, "TACHO_KERNEL_CODE", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows))
        if (tensor_kernels_add_code(kernels, &rows) != 0 &&
            (code = error_short_memory(err, "for the code of kernels")) != 0)
            break;
    row_cursor_close(&rows);
    return code;
}

void tensor_kernels_free(struct tensor_kernels *kernels)
{
    keys_free(&kernels->codes);
    keys_free(&kernels->names);
    free(kernels->by_code);
    free(kernels->list);
}

/* nsys has "(configuration)" as the demangled form of very long names, so the mangled one is asked first. */
static struct tensor_cores by_names(struct report *report, int64_t mangled, int64_t demangled)
{
    struct tensor_cores first = { 0 }, second = { 0 };

    if (mangled >= 0)
        first = tensor_cores_by_name(report_string(report, mangled, NULL));
    if (demangled >= 0 && (first.use == TENSOR_UNKNOWN || (first.is_matrix && !first.type)))
        second = tensor_cores_by_name(report_string(report, demangled, NULL));
    if (first.use == TENSOR_UNKNOWN && (second.use != TENSOR_UNKNOWN || second.is_matrix))
        return second;
    if (first.use == second.use && !first.type)
        first.type = second.type;
    return first;
}

static struct tensor_cores tensor_kernels_look_up(const struct tensor_kernels *kernels, int64_t mangled,
                                                  int64_t demangled)
{
    struct tensor_cores name = by_names(kernels->report, mangled, demangled);
    uint32_t key = keys_find(&kernels->codes, &mangled);

    if (key == NO_KEY || kernels->by_code[key].use == TENSOR_UNKNOWN)
        return name;
    struct tensor_cores found = kernels->by_code[key];
    if (!found.type && name.use == found.use)
        found.type = name.type;
    found.is_matrix |= name.is_matrix;
    return found;
}

struct tensor_cores tensor_cores_of_kernel(struct tensor_kernels *kernels, int64_t mangled, int64_t demangled)
{
    size_t before = kernels->names.count;

    if (array_reserve(&kernels->list, &kernels->room, before + 1, sizeof *kernels->list) != 0)
        return tensor_kernels_look_up(kernels, mangled, demangled);
    uint32_t key = keys_add(&kernels->names, (int64_t[]){ mangled, demangled });
    if (key == NO_KEY)
        return tensor_kernels_look_up(kernels, mangled, demangled);
    if (key == before)
        kernels->list[key] = tensor_kernels_look_up(kernels, mangled, demangled);
    return kernels->list[key];
}

const char *const tensor_kernel_columns[] = {
    [TENSOR_MANGLED] = "mangledName", [TENSOR_DEMANGLED] = "demangledName", NULL
};

struct tensor_cores tensor_cores_of_row(struct tensor_kernels *kernels, const struct gpu_ops *ops, size_t row)
{
    int64_t ids[2];

    for (size_t c = 0; c < 2; c++)
        ids[c] = gpu_extra_is_null(ops, c, row) ? -1 : gpu_extra(ops, c, row);
    return tensor_cores_of_kernel(kernels, ids[TENSOR_MANGLED], ids[TENSOR_DEMANGLED]);
}

int tensor_time_read(struct tensor_time *time, struct report *report, const struct analysis_request *request,
                     struct error *err)
{
    struct tensor_kernels kernels;
    struct gpu_ops ops = { 0 };
    struct filter filter = { 0 };
    int code = tensor_kernels_read(&kernels, report, err);

    *time = (struct tensor_time){ 0 };
    if (code != 0 || (code = filter_open(&filter, report, request, err)) != 0 ||
        (code = gpu_read(&ops, report, GPU_KERNEL, tensor_kernel_columns, err)) != 0)
        goto done;
    for (size_t row = 0; row < ops.count; row++) {
        if (!gpu_counts(&ops, row, &filter))
            continue;
        int64_t ns = saturating_duration(ops.start[row], ops.end[row]);
        enum tensor_use use = tensor_cores_of_row(&kernels, &ops, row).use;
        time->ns[use] = saturating_add(time->ns[use], ns);
        time->kernel_ns = saturating_add(time->kernel_ns, ns);
    }
done:
    gpu_free(&ops);
    filter_close(&filter);
    tensor_kernels_free(&kernels);
    return code;
}
