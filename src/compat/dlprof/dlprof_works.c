/* CUDA calls and GPU work in the calls of operators, and the times that follow from them. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/launches.h"
#include "analyze/model/tensor/tensor_cores.h"
#include "base/array.h"
#include "base/saturating.h"
#include "dlprof_internal.h"

struct dlprof_works_joining {
    struct dlprof *dlprof;
    struct calls calls;
    uint32_t *owner; /* owned; by CUDA call: a call of an operator */
    struct ranges ranges;
    struct tensor_kernels kernels;
};

/* ---- CUDA calls ------------------------------------------------------------------------------------------------ */

static int note_owner(void *context, uint32_t call, const uint32_t *around, size_t count)
{
    struct dlprof_works_joining *joining = context;

    joining->owner[call] = count ? joining->ranges.list[around[0]].row : UINT32_MAX;
    return 0;
}

/* The operators' calls as ranges, which the sweep over CUDA calls takes. */
static int dlprof_works_make_ranges(struct dlprof_works_joining *joining)
{
    struct dlprof *dlprof = joining->dlprof;

    dlprof_sort_by_thread(dlprof);
    joining->ranges.list = calloc(dlprof->call_count + 1, sizeof *joining->ranges.list);
    if (!joining->ranges.list)
        return ERR_NO_MEMORY;
    joining->ranges.count = dlprof->call_count;
    for (size_t i = 0; i < dlprof->call_count; i++)
        joining->ranges.list[i] = (struct range){ .start_ns = dlprof->calls[i].start_ns,
                                                  .end_ns = dlprof->calls[i].end_ns,
                                                  .thread = dlprof->calls[i].thread,
                                                  .row = (uint32_t)i };
    return 0;
}

/* Adds an operator for an event that lies in none. */
static uint32_t add_unassociated(struct dlprof *dlprof, int64_t name, int64_t start_ns, int64_t end_ns)
{
    struct dlprof_call *call = dlprof_add_call(dlprof);
    struct text text = { 0 };
    size_t length;
    const char *bytes = report_string(dlprof->report, name, &length);

    if (!call)
        return UINT32_MAX;
    call->start_ns = start_ns;
    call->end_ns = end_ns;
    call->words.type = dlprof_intern(dlprof, bytes, length);
    text_add(&text, "unassociated_");
    text_add_bytes(&text, bytes, length);
    call->words.name = dlprof_intern_built(dlprof, &text);
    text_free(&text);
    if (call->words.type == UINT32_MAX || call->words.name == UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)(call - dlprof->calls);
}

static int own_calls(struct dlprof_works_joining *joining)
{
    const struct calls *calls = &joining->calls;
    uint32_t *list = malloc((calls->count + 1) * sizeof *list);
    int code = ERR_NO_MEMORY;

    joining->owner = malloc((calls->count + 1) * sizeof *joining->owner);
    if (!list || !joining->owner || dlprof_works_make_ranges(joining) != 0)
        goto done;
    for (size_t i = 0; i < calls->count; i++)
        list[i] = (uint32_t)i;
    code = launches_sweep(calls, list, calls->count, &joining->ranges, SIZE_MAX, note_owner, joining);
    for (size_t i = 0; i < calls->count && code == 0; i++)
        if (joining->owner[i] == UINT32_MAX) {
            joining->owner[i] = add_unassociated(joining->dlprof, calls->name[i], calls->start[i], calls->end[i]);
            code = joining->owner[i] == UINT32_MAX ? ERR_NO_MEMORY : 0;
        }
done:
    free(list);
    return code;
}

/* ---- work ------------------------------------------------------------------------------------------------------ */

enum { SHORT_NAME = TENSOR_DEMANGLED + 1, GRID, BLOCK = GRID + 3 };
static const char *const dlprof_works_kernel_columns[] = {
    "mangledName", "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", NULL
};
static const char *const no_columns[] = { NULL };

static void dlprof_works_set_kernel(struct dlprof_work *work, const struct gpu_ops *ops, size_t row,
                                    struct tensor_kernels *kernels)
{
    work->name = gpu_extra_is_null(ops, SHORT_NAME, row) ? -1 : gpu_extra(ops, SHORT_NAME, row);
    work->long_name = gpu_extra_is_null(ops, TENSOR_DEMANGLED, row) ? work->name
                                                                    : gpu_extra(ops, TENSOR_DEMANGLED, row);
    work->name = work->name < 0 ? work->long_name : work->name;
    for (size_t i = 0; i < 3; i++) {
        work->grid[i] = gpu_extra_is_null(ops, GRID + i, row) ? 0 : gpu_extra(ops, GRID + i, row);
        work->block[i] = gpu_extra_is_null(ops, BLOCK + i, row) ? 0 : gpu_extra(ops, BLOCK + i, row);
    }
    work->tensor = tensor_cores_of_row(kernels, ops, row);
}

static int dlprof_works_add_work(struct dlprof_works_joining *joining, const struct gpu_ops *ops, size_t row,
                                 enum gpu_kind kind)
{
    struct dlprof *dlprof = joining->dlprof;
    uint32_t call = calls_find(&joining->calls, ops->process[row], ops->correlation[row]);

    if (array_reserve(&dlprof->works, &dlprof->work_room, dlprof->work_count + 1, sizeof *dlprof->works) != 0)
        return ERR_NO_MEMORY;
    struct dlprof_work *work = &dlprof->works[dlprof->work_count++];
    *work = (struct dlprof_work){
        .start_ns = ops->start[row],
        .end_ns = ops->end[row],
        .device = ops->device[row],
        .stream = ops->stream[row],
        .kind = kind,
        .name = -1,
        .call_name = -1,
    };
    if (kind == GPU_KERNEL)
        dlprof_works_set_kernel(work, ops, row, &joining->kernels);
    if (call == NO_CALL) {
        work->call_start_ns = work->call_end_ns = work->start_ns;
        work->call = add_unassociated(dlprof, work->name, work->start_ns, work->start_ns);
        return work->call == UINT32_MAX ? ERR_NO_MEMORY : 0;
    }
    work->call = joining->owner[call];
    work->thread = joining->calls.thread[call];
    work->call_start_ns = joining->calls.start[call];
    work->call_end_ns = joining->calls.end[call];
    work->call_name = joining->calls.name[call];
    return 0;
}

static int dlprof_works_read_works(struct dlprof_works_joining *joining, struct error *err)
{
    for (int kind = 0; kind < GPU_KINDS; kind++) {
        struct gpu_ops ops;
        int code = gpu_read(&ops, joining->dlprof->report, (enum gpu_kind)kind,
                            kind == GPU_KERNEL ? dlprof_works_kernel_columns : no_columns, err);
        if (code != 0)
            return code;
        for (size_t row = 0; row < ops.count && code == 0; row++)
            if (dlprof_works_add_work(joining, &ops, row, (enum gpu_kind)kind) != 0)
                code = error_short_memory(err, "for the work on GPUs");
        gpu_free(&ops);
        if (code != 0)
            return code;
    }
    return 0;
}

/* ---- times ----------------------------------------------------------------------------------------------------- */

static void add_gpu_times(struct dlprof *dlprof, struct dlprof_interval *list)
{
    for (size_t i = 0; i < dlprof->work_count; i++)
        list[i] = (struct dlprof_interval){ dlprof->works[i].call, dlprof->works[i].start_ns, dlprof->works[i].end_ns };
    dlprof_intervals_sort(list, dlprof->work_count);
    for (size_t at = 0; at < dlprof->work_count;) {
        struct dlprof_call *call = &dlprof->calls[list[at].group];
        size_t first = at;
        call->ns[DLPROF_GPU] = dlprof_intervals_union(list, dlprof->work_count, &at);
        int64_t last_ns = list[first].end_ns;
        for (size_t i = first; i < at; i++)
            last_ns = list[i].end_ns > last_ns ? list[i].end_ns : last_ns;
        call->ns[DLPROF_IDLE] = saturating_subtract(saturating_duration(list[first].start_ns, last_ns),
                                                    call->ns[DLPROF_GPU]);
    }
}

static void add_cpu_times(struct dlprof_works_joining *joining, struct dlprof_interval *list)
{
    struct dlprof *dlprof = joining->dlprof;
    size_t count = joining->calls.count;

    for (size_t i = 0; i < dlprof->call_count; i++) {
        int64_t ns = saturating_duration(dlprof->calls[i].start_ns, dlprof->calls[i].end_ns);
        dlprof->calls[i].ns[DLPROF_CPU] = dlprof->calls[i].ns[DLPROF_OVERHEAD] = ns;
    }
    for (size_t i = 0; i < count; i++)
        list[i] = (struct dlprof_interval){ joining->owner[i], joining->calls.start[i], joining->calls.end[i] };
    dlprof_intervals_sort(list, count);
    for (size_t at = 0; at < count;) {
        int64_t *overhead = &dlprof->calls[list[at].group].ns[DLPROF_OVERHEAD];
        *overhead = saturating_subtract(*overhead, dlprof_intervals_union(list, count, &at));
    }
}

int dlprof_read_works(struct dlprof *dlprof, struct error *err)
{
    struct dlprof_works_joining joining = { .dlprof = dlprof };
    struct dlprof_interval *intervals = NULL;
    int code;

    if ((code = calls_read(&joining.calls, dlprof->report, err)) != 0)
        return code;
    if ((code = tensor_kernels_read(&joining.kernels, dlprof->report, err)) != 0)
        goto done;
    if (own_calls(&joining) != 0 && (code = error_short_memory(err, "for the CUDA calls")) != 0)
        goto done;
    if ((code = dlprof_works_read_works(&joining, err)) != 0)
        goto done;
    intervals = malloc((joining.calls.count + dlprof->work_count + 1) * sizeof *intervals);
    if (!intervals && (code = error_short_memory(err, "for the times of operators")) != 0)
        goto done;
    add_cpu_times(&joining, intervals);
    add_gpu_times(dlprof, intervals);
done:
    free(intervals);
    free(joining.owner);
    ranges_free(&joining.ranges);
    tensor_kernels_free(&joining.kernels);
    calls_free(&joining.calls);
    return code;
}
