/* The rule unified_memory: kernels wait for pages of managed memory that move to the GPU while they run.
 *
 * A fault of the GPU and the migration after it stop the threads that need the page. Bound: kernels take no time while
 * pages move. Estimate: the pages are moved before, in large copies at the rate of pinned memory. */
#include <stdlib.h>

#include "advice_copies.h"
#include "advice_groups.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/registry.h"
#include "base/array.h"

/* A time in which pages move on a GPU. */
struct stall {
    int64_t start_ns, end_ns;
    double bytes;
    uint32_t gpu; /* its number in the replay */
};

struct unified {
    struct adviser *adviser;
    struct advice_groups groups;
    struct gpu_devices devices;
    struct stall *list; /* owned; by GPU, then by start; once merged, they do not overlap */
    size_t count, room;
    struct report_columns bytes;
    struct advice_copy_rate pinned;
};

/* ---- stalls ---------------------------------------------------------------------------------------------------- */

enum { START, END, PROCESS, DEVICE, BYTES, COPY_KIND, CAUSE };
enum { UNIFIED_TO_DEVICE = 11, UNIFIED_TO_HOST = 12 };
enum { BY_PREFETCH = 1 }; /* cause of a migration: the program asked for it, and no kernel waits for its pages */

static int add_stalls(struct unified *unified, const char *table, struct error *err)
{
    static const char *const names[] = { "start", "end",      "globalPid",      "deviceId",
                                         "bytes", "copyKind", "migrationCause", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, unified->adviser->report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t kind = row_int_or(&rows, COPY_KIND, UNIFIED_TO_DEVICE); /* a fault has none */
        int64_t gpu = gpu_device_of(&unified->devices, row_int_or(&rows, PROCESS, 0), row_int(&rows, DEVICE));
        uint32_t number = keys_find(&unified->adviser->replay.events.gpus, &gpu);
        if ((kind != UNIFIED_TO_DEVICE && kind != UNIFIED_TO_HOST) || number == NO_KEY ||
            row_int_or(&rows, CAUSE, 0) == BY_PREFETCH)
            continue;
        if (ARRAY_PUSH(unified->list, unified->room, unified->count,
                       (struct stall){ row_int(&rows, START), row_int(&rows, END), (double)row_int_or(&rows, BYTES, 0),
                                       number }) != 0 &&
            (code = error_short_memory(err, "for unified memory")) != 0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

static int unified_memory_by_start(const void *a, const void *b)
{
    const struct stall *x = a, *y = b;

    return COMPARE(x->gpu, y->gpu) ?: COMPARE(x->start_ns, y->start_ns);
}

/* Faults and their migrations overlap. */
static void merge_stalls(struct unified *unified)
{
    size_t kept = 0;

    if (unified->count)
        qsort(unified->list, unified->count, sizeof *unified->list, unified_memory_by_start);
    for (size_t i = 1; i < unified->count; i++) {
        struct stall *last = &unified->list[kept];
        const struct stall *next = &unified->list[i];
        if (next->gpu != last->gpu || next->start_ns > last->end_ns) {
            unified->list[++kept] = *next;
            continue;
        }
        last->end_ns = next->end_ns > last->end_ns ? next->end_ns : last->end_ns;
        last->bytes += next->bytes;
    }
    unified->count = unified->count ? kept + 1 : 0;
}

/* The first stall of a GPU that ends after this time. */
static size_t stall_from(const struct unified *unified, uint32_t gpu, int64_t time_ns)
{
    return BISECT(0, unified->count, i,
                  unified->list[i].gpu < gpu || (unified->list[i].gpu == gpu && unified->list[i].end_ns <= time_ns));
}

/* How long pages moved while work ran, and how many bytes. */
static int64_t stalled_ns(const struct unified *unified, const struct replay_work *work, double *bytes)
{
    uint32_t gpu = unified->adviser->replay.events.gpu_of[work->stream];
    int64_t sum = 0;

    *bytes = 0;
    for (size_t i = stall_from(unified, gpu, work->start_ns); i < unified->count; i++) {
        const struct stall *stall = &unified->list[i];
        if (stall->gpu != gpu || stall->start_ns >= work->end_ns)
            break;
        int64_t start = stall->start_ns > work->start_ns ? stall->start_ns : work->start_ns,
                end = stall->end_ns < work->end_ns ? stall->end_ns : work->end_ns,
                length = saturating_duration(stall->start_ns, stall->end_ns);
        sum = saturating_add(sum, saturating_duration(start, end));
        *bytes += length > 0 ? stall->bytes * ((double)saturating_duration(start, end) / (double)length) : 0;
    }
    return sum;
}

/* ---- the rule -------------------------------------------------------------------------------------------------- */

static int unified_memory_add_kernel(struct unified *unified, uint32_t at, int64_t stalled, double bytes)
{
    const struct replay *replay = &unified->adviser->replay;
    struct advice_groups *groups = &unified->groups;
    const struct replay_call *call = &replay->events.calls[replay->events.works[at].call];
    struct advice_event event = { .thread = replay->events.threads[call->thread].id,
                                  .start_ns = replay->events.works[at].start_ns,
                                  .end_ns = saturating_add(replay->events.works[at].start_ns, stalled) };
    uint32_t edge = replay_edge_to(replay, replay_work_end(replay, at), REPLAY_RUN);
    int64_t less = saturating_subtract(stalled, saturating_from_double(bytes / unified->pinned.bytes_ns));

    event.place = places_at(groups->places, event.thread, call->start_ns, call->end_ns);
    uint32_t group = advice_group(groups, places_line(groups->places, event.place), 0);
    if (group == NO_KEY || advice_group_note(groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    if (replay_edit_cut(&cause->bound, edge, stalled) != 0)
        return ERR_NO_MEMORY;
    return less > 0 ? replay_edit_cut(&cause->estimate, edge, less) : 0;
}

static int unified_memory_add_kernels(struct unified *unified)
{
    const struct replay_events *events = &unified->adviser->replay.events;

    for (uint32_t i = 0; unified->count && i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        double bytes;
        if (work->call == NO_CALL || replay_table_of(events, work->at) != REPLAY_KERNEL ||
            !adviser_counts(unified->adviser, &events->calls[work->call]))
            continue;
        int64_t stalled = stalled_ns(unified, work, &bytes);
        if (stalled > 0 && unified_memory_add_kernel(unified, i, stalled, bytes) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int unified_memory_describe(struct advice_groups *groups, uint32_t group)
{
    const struct unified *unified = (const struct unified *)((const char *)groups - offsetof(struct unified, groups));
    struct advice_cause *cause = &groups->list[group].cause;
    uint32_t place;
    int64_t unused;

    advice_group_most(groups, group, &place, &unused);
    text_add(&cause->what, "kernels wait for pages of unified memory");
    advice_cause_figure(cause, FIGURE_TIMES);
    place_text(&cause->where, groups->places, place);
    cause->confidence = ADVICE_MODELLED;
    advice_rate_text(&cause->rate, &unified->pinned);
    cause->advice = "Prefetch the pages that fit (cudaMemPrefetchAsync).";
    return 1;
}

static int find_unified_memory(struct adviser *adviser, struct error *err)
{
    struct unified unified = { .adviser = adviser };
    int code;

    if ((code = advice_groups_open(&unified.groups, adviser, err)) != 0 ||
        (code = gpu_devices_read(&unified.devices, adviser->report, err)) != 0 ||
        (code = add_stalls(&unified, "CUPTI_ACTIVITY_KIND_MEMCPY", err)) != 0 ||
        (code = add_stalls(&unified, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", err)) != 0 ||
        (code = advice_copy_bytes(adviser, &unified.bytes, err)) != 0 ||
        (code = advice_pinned_rate(adviser, &unified.bytes, REPLAY_TO_GPU, &unified.pinned, err)) != 0)
        goto done;
    merge_stalls(&unified);
    code = unified_memory_add_kernels(&unified) == 0
               ? advice_groups_add(&unified.groups, 0, unified_memory_describe, err)
               : error_short_memory(err, "for unified memory");
done:
    free(unified.list);
    gpu_devices_free(&unified.devices);
    report_columns_free(&unified.bytes);
    advice_groups_free(&unified.groups);
    return code;
}

const struct analysis rule_unified_memory = {
    .name = "unified_memory",
    .title = "Waits for Unified Memory",
    .help = "Kernels that ran while pages of managed memory moved. The bound is a replay in which kernels take no time "
            "meanwhile; in the estimate the pages are copied before, at the rate of pinned memory.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(unified_memory, .advice = "Move pages before kernels need them: cudaMemPrefetchAsync.",
                .praise = "No kernel waits for pages of unified memory."),
};
