/* The rules cuda_memcpy_async, cuda_memcpy_sync and cuda_memset_sync: copies and fills that make the host wait. */
#include <string.h>
#include <strings.h>

#include "analyze/model/gpu.h"
#include "analyze/registry.h"
#include "rule.h"

enum { MEMORY_PAGEABLE = 0, MEMORY_PINNED = 1, MEMORY_MANAGED = 4, MEMORY_MANAGED_STATIC = 6, COPY_ON_DEVICE = 8 };
/* Extra columns of both tables, and of copies. */
enum { BYTES, CONTEXT, GREEN_CONTEXT, KIND, SOURCE = KIND, TARGET, COPY_KIND };

struct memory_use_search {
    struct report *report;
    struct rule rule;
    struct filter filter;
    struct gpu_ops ops;
    struct calls calls;
    int is_copy;
    struct table *table;
    /* Whether the rule finds fault with a row that a call of this name launched. */
    int (*matches)(const struct memory_use_search *search, size_t row, const char *call);
};

static int starts_with(const char *name, const char *start)
{
    return strncasecmp(name, start, strlen(start)) == 0;
}

/* The name of the call that launched a row, if the row matches with it; else NULL. */
static const char *memory_use_find_call(const struct memory_use_search *search, size_t row)
{
    const struct gpu_ops *ops = &search->ops;
    uint32_t call = calls_find(&search->calls, ops->process[row], ops->correlation[row]);

    for (; call != NO_CALL; call = calls_next(&search->calls, call)) {
        const char *name = report_string(search->report, search->calls.name[call], NULL);
        if (search->matches(search, row, name))
            return name;
    }
    return NULL;
}

static int is_pageable_async(const struct memory_use_search *search, size_t row, const char *call)
{
    const struct gpu_ops *ops = &search->ops;
    int pageable = (!gpu_extra_is_null(ops, SOURCE, row) && gpu_extra(ops, SOURCE, row) == MEMORY_PAGEABLE) ||
                   (!gpu_extra_is_null(ops, TARGET, row) && gpu_extra(ops, TARGET, row) == MEMORY_PAGEABLE);

    return pageable && starts_with(call, "cudaMemcpy") && strcasestr(call, "async");
}

static int is_sync_copy(const struct memory_use_search *search, size_t row, const char *call)
{
    return gpu_extra(&search->ops, COPY_KIND, row) != COPY_ON_DEVICE && starts_with(call, "cudaMemcpy") &&
           !strcasestr(call, "async");
}

static int is_sync_fill(const struct memory_use_search *search, size_t row, const char *call)
{
    int64_t kind = gpu_extra_is_null(&search->ops, KIND, row) ? -1 : gpu_extra(&search->ops, KIND, row);

    return (kind == MEMORY_PINNED || kind == MEMORY_MANAGED || kind == MEMORY_MANAGED_STATIC) &&
           starts_with(call, "cudaMemset") && !strcasestr(call, "async");
}

static int set_kind(struct table *table, struct table_cell *cell, int64_t kind)
{
    const char *name = memory_kind_name(kind);

    return name ? cell_set_text(table, cell, name, strlen(name)) : 0;
}

static void set_unless_0(struct table_cell *cell, int64_t id)
{
    if (id)
        cell_set_int(cell, id);
}

static int memory_use_add_row(struct memory_use_search *search, size_t row, const char *call)
{
    const struct gpu_ops *ops = &search->ops;
    struct table_cell *cell = table_add_row(search->table);

    if (!cell)
        return ERR_NO_MEMORY;
    cell_set_int(cell++, saturating_duration(ops->start[row], ops->end[row]));
    cell_set_int(cell++, ops->start[row]);
    if (set_kind(search->table, cell++, gpu_extra(ops, KIND, row)) != 0 ||
        (search->is_copy && set_kind(search->table, cell++, gpu_extra(ops, TARGET, row)) != 0))
        return ERR_NO_MEMORY;
    cell_set_real(cell++, (double)gpu_extra(ops, BYTES, row) / 1e6);
    cell_set_int(cell++, global_pid_number(ops->process[row]));
    cell_set_int(cell++, ops->device[row]);
    cell_set_int(cell++, gpu_extra(ops, CONTEXT, row));
    set_unless_0(cell++, gpu_extra_is_null(ops, GREEN_CONTEXT, row) ? 0 : gpu_extra(ops, GREEN_CONTEXT, row));
    cell_set_int(cell++, ops->stream[row]);
    return cell_set_text(search->table, cell, call, strlen(call));
}

static int memory_use_add_rows(struct memory_use_search *search)
{
    for (size_t row = 0; row < search->ops.count; row++) {
        const char *call = gpu_counts(&search->ops, row, &search->filter) ? memory_use_find_call(search, row) : NULL;
        if (call && memory_use_add_row(search, row, call) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static struct table *memory_use_new_table(int is_copy)
{
    static const struct table_column copy_columns[] = {
        { "Duration", CELL_INT, UNIT_NS, 0 },         { "Start", CELL_INT, UNIT_TIME, 0 },
        { "Src Kind", CELL_TEXT, UNIT_NONE, 0 },      { "Dst Kind", CELL_TEXT, UNIT_NONE, 0 },
        { "Bytes", CELL_REAL, UNIT_MEGABYTES, 3 },    { "PID", CELL_INT, UNIT_ID, 0 },
        { "Device ID", CELL_INT, UNIT_ID, 0 },        { "Context ID", CELL_INT, UNIT_ID, 0 },
        { "Green Context ID", CELL_INT, UNIT_ID, 0 }, { "Stream ID", CELL_INT, UNIT_ID, 0 },
        { "API Name", CELL_TEXT, UNIT_NAME, 0 },
    };
    static const struct table_column fill_columns[] = {
        { "Duration", CELL_INT, UNIT_NS, 0 },
        { "Start", CELL_INT, UNIT_TIME, 0 },
        { "Memory Kind", CELL_TEXT, UNIT_NONE, 0 },
        { "Bytes", CELL_REAL, UNIT_MEGABYTES, 3 },
        { "PID", CELL_INT, UNIT_ID, 0 },
        { "Device ID", CELL_INT, UNIT_ID, 0 },
        { "Context ID", CELL_INT, UNIT_ID, 0 },
        { "Green Context ID", CELL_INT, UNIT_ID, 0 },
        { "Stream ID", CELL_INT, UNIT_ID, 0 },
        { "API Name", CELL_TEXT, UNIT_NAME, 0 },
    };

    return is_copy ? table_new(copy_columns, COUNT_OF(copy_columns)) : table_new(fill_columns, COUNT_OF(fill_columns));
}

struct memory_use {
    enum gpu_kind kind;
    int (*matches)(const struct memory_use_search *search, size_t row, const char *call);
};

static int memory_use_run(struct report *report, const struct analysis_request *request, const void *as,
                          struct table **out, struct error *err)
{
    const struct memory_use *use = as;
    static const char *const copy_extra[] = { "bytes",    "contextId", "greenContextId", "srcKind", "dstKind",
                                              "copyKind", NULL };
    static const char *const fill_extra[] = { "bytes", "contextId", "greenContextId", "memKind", NULL };
    struct memory_use_search search = { .report = report, .is_copy = use->kind == GPU_MEMCPY, .matches = use->matches };
    int code;

    if ((code = rule_open(&search.rule, report, request, err)) != 0)
        return code;
    if ((code = filter_open(&search.filter, report, &search.rule.request, err)) != 0 ||
        (code = gpu_read(&search.ops, report, use->kind, search.is_copy ? copy_extra : fill_extra, err)) != 0 ||
        (code = calls_read(&search.calls, report, err)) != 0)
        goto done;
    search.table = memory_use_new_table(search.is_copy);
    code = search.table ? memory_use_add_rows(&search) : ERR_NO_MEMORY;
done:
    filter_close(&search.filter);
    gpu_free(&search.ops);
    calls_free(&search.calls);
    return rule_finish(&search.rule, search.table, code, BY(DOWN(0), 1), out, err);
}

static const char *const copy_tables[] = { "CUPTI_ACTIVITY_KIND_MEMCPY", NULL };
#define CALLS_NEEDED { "CUDA trace data", gpu_call_tables }

const struct analysis rule_cuda_memcpy_async = {
    .name = "cuda_memcpy_async",
    .title = "CUDA Async Memcpy with Pageable Memory",
    .usage = RULE_OPTIONS,
    .help = "Asynchronous copies that ran synchronously, because one side is pageable host memory.",
    .needs = { { "CUDA memcpy data", copy_tables }, CALLS_NEEDED },
    .run_as = memory_use_run,
    .as = &(const struct memory_use){ GPU_MEMCPY, is_pageable_async },
    .rule = ANALYSIS_RULE(
            .advice = "CUDA copies pageable memory through a staging buffer, and the host waits for that. Allocate the "
                      "host memory pinned (cudaHostAlloc, cudaHostRegister; pin_memory in PyTorch).",
            .meaning =
                "This copy is asynchronous, but one side is pageable memory, so the call itself copied it to or from "
                "a staging buffer",
            .praise = "No asynchronous copy used pageable memory.", .is_listing = 1),
};

const struct analysis rule_cuda_memcpy_sync = {
    .name = "cuda_memcpy_sync",
    .title = "CUDA Synchronous Memcpy",
    .usage = RULE_OPTIONS,
    .help = "Copies between host and GPU that blocked the host.",
    .needs = { { "CUDA memcpy data", copy_tables }, CALLS_NEEDED },
    .run_as = memory_use_run,
    .as = &(const struct memory_use){ GPU_MEMCPY, is_sync_copy },
    .rule = ANALYSIS_RULE(
            .advice = "The host is blocked during these copies. Use cudaMemcpyAsync with pinned memory and a stream "
                      "(in PyTorch: to(device, non_blocking=True)), and synchronize only where the result is needed.",
            .meaning = "The thread was blocked in the call of this copy", .praise = "No copy blocked the host.",
            .is_listing = 1),
};

const struct analysis rule_cuda_memset_sync = {
    .name = "cuda_memset_sync",
    .title = "CUDA Synchronous Memset",
    .usage = RULE_OPTIONS,
    .help = "Fills of pinned or managed memory that blocked the host.",
    .needs = { { "CUDA memset data", TABLES("CUPTI_ACTIVITY_KIND_MEMSET") }, CALLS_NEEDED },
    .run_as = memory_use_run,
    .as = &(const struct memory_use){ GPU_MEMSET, is_sync_fill },
    .rule = ANALYSIS_RULE(.advice = "cudaMemset on pinned or managed memory blocks the host. Use cudaMemsetAsync.",
                          .meaning = "The thread was blocked until this fill was done",
                          .praise = "No fill blocked the host.", .is_listing = 1),
};
