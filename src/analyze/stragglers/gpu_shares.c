/* Finds out when ranks have work for a GPU and on it, and sweeps over these times. */
#include "gpu_shares.h"

#include <stdlib.h>

#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "base/array.h"
#include "base/map.h"
#include "base/saturating.h"

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

struct gpu_shares_reading {
    struct gpu_shares *shares;
    const struct collectives *all;
    struct gpu_devices devices;
    struct calls calls;
};

/* Work of a kind, in the order of its streams. */
struct stream_work {
    int64_t process, stream, start_ns, end_ns;
    size_t row;
};

static int gpu_shares_compare_work(const void *a, const void *b)
{
    const struct stream_work *x = a, *y = b;

    return COMPARE(x->process, y->process) ?: COMPARE(x->stream, y->stream) ?: COMPARE(x->start_ns, y->start_ns);
}

/* When the call that launched the work returned; the start of the work, if that is not known. */
static int64_t launched_ns(const struct calls *calls, const struct gpu_ops *ops, size_t row)
{
    int64_t correlation = ops->correlation[row];
    uint32_t call = correlation == NO_CORRELATION ? (uint32_t)NO_CALL
                                                  : calls_find(calls, ops->process[row], correlation);

    return call != NO_CALL && calls->end[call] < ops->start[row] ? calls->end[call] : ops->start[row];
}

static int gpu_shares_add(struct gpu_shares_reading *reading, const struct gpu_ops *ops, struct stream_work *work)
{
    struct gpu_shares *shares = reading->shares;

    for (size_t row = 0; row < ops->count; row++)
        work[row] = (struct stream_work){ ops->process[row], ops->stream[row], ops->start[row], ops->end[row], row };
    if (ops->count)
        qsort(work, ops->count, sizeof *work, gpu_shares_compare_work);
    for (size_t i = 0; i < ops->count; i++) {
        const struct stream_work *at = &work[i];
        int has_before = i && at[-1].process == at->process && at[-1].stream == at->stream;
        int64_t ready_ns = launched_ns(&reading->calls, ops, at->row);
        int64_t rank = collectives_rank(reading->all, at->process);
        struct gpu_span span = { gpu_device_of(&reading->devices, at->process, ops->device[at->row]), rank,
                                 at->start_ns, at->end_ns };
        if (rank == COLLECTIVE_UNKNOWN || at->end_ns <= at->start_ns)
            continue;
        if (ARRAY_PUSH(shares->runs.list, shares->runs.room, shares->runs.count, span) != 0)
            return ERR_NO_MEMORY;
        if (has_before && at[-1].end_ns > ready_ns)
            ready_ns = at[-1].end_ns;
        span.from_ns = ready_ns < at->start_ns ? ready_ns : at->start_ns;
        if (ARRAY_PUSH(shares->wishes.list, shares->wishes.room, shares->wishes.count, span) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int gpu_shares_read_kind(struct gpu_shares_reading *reading, enum gpu_kind kind, struct error *err)
{
    static const char *const extra[] = { NULL };
    struct gpu_ops ops = { 0 };
    int code = gpu_read(&ops, reading->all->report, kind, extra, err);

    if (code != 0)
        return code;
    struct stream_work *work = array_alloc(ops.count + 1, sizeof *work);
    code = work ? gpu_shares_add(reading, &ops, work) : ERR_NO_MEMORY;
    free(work);
    gpu_free(&ops);
    return code;
}

/* ---- Sharing ---------------------------------------------------------------------------------------------------- */

static int gpu_shares_compare_spans(const void *a, const void *b)
{
    const struct gpu_span *x = a, *y = b;

    return COMPARE(x->rank, y->rank) ?: COMPARE(x->device, y->device) ?: COMPARE(x->from_ns, y->from_ns);
}

/* Joins the spans of a rank that overlap. */
static void gpu_shares_join(struct gpu_spans *spans)
{
    size_t kept = 0;

    if (spans->count)
        qsort(spans->list, spans->count, sizeof *spans->list, gpu_shares_compare_spans);
    for (size_t i = 0; i < spans->count; i++) {
        const struct gpu_span *at = &spans->list[i];
        struct gpu_span *last = kept ? &spans->list[kept - 1] : NULL;
        if (last && last->rank == at->rank && last->device == at->device && at->from_ns <= last->to_ns)
            last->to_ns = at->to_ns > last->to_ns ? at->to_ns : last->to_ns;
        else
            spans->list[kept++] = *at;
    }
    spans->count = kept;
}

/* Work of a rank begins or ends to run. */
struct run_edge {
    int64_t device, at_ns, change;
};

static int gpu_shares_compare_edges(const void *a, const void *b)
{
    const struct run_edge *x = a, *y = b;

    return COMPARE(x->device, y->device) ?: COMPARE(x->at_ns, y->at_ns);
}

/* The mark after another one. */
static struct gpu_share_mark mark_after(const struct gpu_share_mark *before, int64_t at_ns)
{
    struct gpu_share_mark mark = *before;
    double time_ns = (double)saturating_subtract(at_ns, before->at_ns);

    mark.at_ns = at_ns;
    mark.busy_ns += before->ranks > 0 ? time_ns : 0;
    mark.lost_ns += before->ranks > 1 ? time_ns * (double)(before->ranks - 1) / (double)before->ranks : 0;
    return mark;
}

static int gpu_shares_sweep(struct gpu_shares *shares)
{
    size_t count = 2 * shares->runs.count;
    struct run_edge *edges = array_alloc(count + 1, sizeof *edges);

    shares->marks = array_alloc(count + 1, sizeof *shares->marks);
    if (!edges || !shares->marks) {
        free(edges);
        return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < shares->runs.count; i++) {
        const struct gpu_span *at = &shares->runs.list[i];
        edges[2 * i] = (struct run_edge){ at->device, at->from_ns, 1 };
        edges[2 * i + 1] = (struct run_edge){ at->device, at->to_ns, -1 };
    }
    if (count)
        qsort(edges, count, sizeof *edges, gpu_shares_compare_edges);
    for (size_t i = 0; i < count; i++) {
        int is_first = !i || edges[i - 1].device != edges[i].device;
        struct gpu_share_mark *mark = &shares->marks[i];
        *mark = is_first ? (struct gpu_share_mark){ .device = edges[i].device, .at_ns = edges[i].at_ns }
                         : mark_after(mark - 1, edges[i].at_ns);
        mark->ranks += edges[i].change;
    }
    shares->mark_count = count;
    free(edges);
    return 0;
}

struct device_rank {
    uint64_t device; /* + 1 */
    int64_t rank;
};
MAP(device_rank_map, struct device_rank, uint64_t, device, device, hash_number, map_is_same_number)

/* Whether kernels of two ranks ran on one GPU: only then is it worth while to read the calls that launched them. */
static int gpu_shares_find_any(const struct gpu_shares_reading *reading, int *is_any, struct error *err)
{
    static const char *const extra[] = { NULL };
    struct device_rank_map seen = { 0 };
    struct gpu_ops ops = { 0 };
    int code = gpu_read(&ops, reading->all->report, GPU_KERNEL, extra, err);

    for (size_t row = 0; code == 0 && row < ops.count && !*is_any; row++) {
        if (row && ops.process[row] == ops.process[row - 1] && ops.device[row] == ops.device[row - 1])
            continue;
        const struct device_rank at = {
            (uint64_t)gpu_device_of(&reading->devices, ops.process[row], ops.device[row]) + 1,
            collectives_rank(reading->all, ops.process[row]),
        };
        const struct device_rank *before = device_rank_map_find(&seen, at.device);
        *is_any = before && before->rank != at.rank;
        if (!before && !device_rank_map_add(&seen, &at))
            code = ERR_NO_MEMORY;
    }
    device_rank_map_free(&seen);
    gpu_free(&ops);
    return code;
}

static int gpu_shares_read_all(struct gpu_shares_reading *reading, struct error *err)
{
    int code = calls_read(&reading->calls, reading->all->report, err);

    for (int kind = 0; code == 0 && kind < GPU_KINDS; kind++)
        code = gpu_shares_read_kind(reading, (enum gpu_kind)kind, err);
    calls_free(&reading->calls);
    if (code != 0)
        return code;
    gpu_shares_join(&reading->shares->runs);
    gpu_shares_join(&reading->shares->wishes);
    return gpu_shares_sweep(reading->shares);
}

int gpu_shares_read(struct gpu_shares *shares, const struct collectives *all, struct error *err)
{
    struct gpu_shares_reading reading = { .shares = shares, .all = all };
    int code, is_any = 0;

    if ((code = gpu_devices_read(&reading.devices, all->report, err)) != 0)
        return code;
    code = gpu_shares_find_any(&reading, &is_any, err);
    if (code == 0 && is_any)
        code = gpu_shares_read_all(&reading, err);
    gpu_devices_free(&reading.devices);
    return code;
}

void gpu_shares_free(struct gpu_shares *shares)
{
    free(shares->runs.list);
    free(shares->wishes.list);
    free(shares->marks);
    *shares = (struct gpu_shares){ 0 };
}

/* ---- Spans ------------------------------------------------------------------------------------------------------ */

struct gpu_share_sums {
    double busy_ns, lost_ns;
};

static struct gpu_share_mark gpu_shares_until(const struct gpu_shares *shares, int64_t device, int64_t at_ns)
{
    size_t after = BISECT(0, shares->mark_count, i,
                          shares->marks[i].device < device ||
                              (shares->marks[i].device == device && shares->marks[i].at_ns <= at_ns));
    const struct gpu_share_mark *mark = after ? &shares->marks[after - 1] : NULL;

    return mark && mark->device == device ? mark_after(mark, at_ns) : (struct gpu_share_mark){ 0 };
}

/* Sums up the spans of a rank, as far as they lie between two times. */
static struct gpu_share_sums gpu_shares_sum(const struct gpu_shares *shares, const struct gpu_spans *spans,
                                            int64_t rank, int64_t from_ns, int64_t to_ns)
{
    const struct gpu_span *list = spans->list;
    struct gpu_share_sums sums = { 0 };

    for (size_t i = BISECT(0, spans->count, s, list[s].rank < rank), end; i < spans->count && list[i].rank == rank;
         i = end) {
        end = BISECT(i, spans->count, s, list[s].rank == rank && list[s].device == list[i].device);
        for (size_t at = BISECT(i, end, s, list[s].to_ns <= from_ns); at < end && list[at].from_ns < to_ns; at++) {
            int64_t begin_ns = list[at].from_ns > from_ns ? list[at].from_ns : from_ns;
            struct gpu_share_mark first = gpu_shares_until(shares, list[i].device, begin_ns);
            struct gpu_share_mark last = gpu_shares_until(shares, list[i].device,
                                                          list[at].to_ns < to_ns ? list[at].to_ns : to_ns);
            sums.busy_ns += last.busy_ns - first.busy_ns;
            sums.lost_ns += last.lost_ns - first.lost_ns;
        }
    }
    return sums;
}

int64_t gpu_shares_left_to_ranks(const struct gpu_shares *shares, int64_t rank, int64_t from_ns, int64_t to_ns)
{
    struct gpu_share_sums runs = gpu_shares_sum(shares, &shares->runs, rank, from_ns, to_ns);
    struct gpu_share_sums wishes = gpu_shares_sum(shares, &shares->wishes, rank, from_ns, to_ns);

    return saturating_from_double(wishes.busy_ns - runs.busy_ns + runs.lost_ns);
}

size_t gpu_shares_ranks_beside(const struct gpu_shares *shares, int64_t rank)
{
    const struct gpu_spans *runs = &shares->runs;
    size_t own = BISECT(0, runs->count, i, runs->list[i].rank < rank), ranks = 0;
    int64_t last = COLLECTIVE_UNKNOWN;

    if (own == runs->count || runs->list[own].rank != rank)
        return 0;
    for (size_t i = 0; i < runs->count; i++) /* by rank first: each counts once */
        if (runs->list[i].device == runs->list[own].device && runs->list[i].rank != last) {
            last = runs->list[i].rank;
            ranks++;
        }
    return ranks > 1 ? ranks : 0;
}
