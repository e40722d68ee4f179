/* Busy time and gaps of GPUs.
 *
 * Workers scan chunks in parallel and reduce each to stretches in which its devices had work without a break: few
 * stretches if a GPU is busy, and stretches in order of time if it is not. This leaves little work for the serial part,
 * which matters since a capture ends with these figures while the user waits. */
#include "gpu_busy.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "gpu.h"
#include "timed_steps.h"

const char *const gpu_busy_tables[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    NULL,
};
enum { LANES = COUNT_OF(gpu_busy_tables) - 1 };

/* The state of a worker. A place is a process and its device. */
struct gpu_busy_worker {
    struct keys places;
    uint64_t *operations;              /* owned, as all below; of a place */
    uint32_t *last;                    /* of a place, the last stretch in the current chunk, or NO_KEY */
    size_t operation_room, place_room; /* place_room: of last */
    uint32_t *order;
    size_t order_room;
};

/* The stretches of one chunk. */
struct gpu_busy_piece {
    size_t first, count;
    int worker;
};

/* A table's work, as stretches in which a device was busy without a break, as far as one chunk shows. */
struct gpu_busy_lane {
    int64_t *start, *end; /* owned, as all below; a chunk has room for as many stretches as it has rows, and uses the
                           * first part of it */
    uint32_t *place;      /* during the scan, the worker's number for it; then the device's index */
    uint32_t *row;        /* of the first work of a stretch */
    const char *table;
    struct gpu_busy_piece *pieces;
    _Atomic size_t piece_count;
    uint32_t *order; /* the stretches by their start */
    size_t count, next;
};

struct gpu_busy_walk {
    struct report *report;
    struct filter filter;
    struct gpu_busy_lane lanes[LANES];
    struct gpu_busy_lane *lane; /* the one that is being scanned */
    struct gpu_busy_worker *workers;
    size_t worker_count;
    struct gpu_devices devices;
    struct step_pauses pauses;
    struct gpu_busy *busy;
    size_t most_gaps;
    int64_t least_gap_ns; /* above 0: all gaps of this length or more, instead of the longest */
    size_t device_room, gap_room, pause_room;
};

#define NO_TIME INT64_MAX /* first_ns before the first work */
enum { START, END, PROCESS, DEVICE, STREAM, CORRELATION, COLUMNS };

/* ---- chunks to stretches --------------------------------------------------------------------------------------- */

static int gpu_busy_make_room(struct gpu_busy_worker *worker, size_t rows)
{
    if (rows > worker->order_room) {
        free(worker->order);
        worker->order = malloc(rows * sizeof *worker->order);
        worker->order_room = worker->order ? rows : 0;
    }
    return worker->order || !rows ? 0 : ERR_NO_MEMORY;
}

static uint32_t gpu_busy_find_place(struct gpu_busy_worker *worker, int64_t process, int64_t device)
{
    uint32_t place = keys_add(&worker->places, (int64_t[]){ process, device });

    if (place == NO_KEY)
        return NO_KEY;
    size_t place_count = place + 1u, room = worker->place_room;
    if (array_reserve_zeroed(&worker->operations, &worker->operation_room, place_count, sizeof *worker->operations) !=
            0 ||
        array_reserve(&worker->last, &room, place_count, sizeof *worker->last) != 0)
        return NO_KEY;
    while (worker->place_room < room)
        worker->last[worker->place_room++] = NO_KEY;
    return place;
}

static int gpu_busy_counts(const struct gpu_busy_walk *walk, const struct report_block *block, size_t row)
{
    const struct filter *filter = &walk->filter;

    struct filter_gpu_work place = { .start_ns = block->values[START][row], .end_ns = block->values[END][row] };

    if (filter->only.only) { /* else these columns were not read */
        place.process = block->values[PROCESS][row];
        place.device = block->values[DEVICE][row];
        place.stream = block->values[STREAM][row];
        place.correlation = block_is_null(block, CORRELATION, row) ? NO_CORRELATION : block->values[CORRELATION][row];
    }
    return filter_gpu(filter, &place);
}

/* The rows that count, by their start. */
static int gpu_busy_choose_rows(const struct gpu_busy_walk *walk, struct gpu_busy_worker *worker,
                                const struct report_block *block, size_t *count)
{
    int is_all = !walk->filter.span && !walk->filter.only.only;

    *count = 0;
    if (gpu_busy_make_room(worker, block->rows) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < block->rows; row++)
        if (is_all || gpu_busy_counts(walk, block, row))
            worker->order[(*count)++] = (uint32_t)row;
    return order_by_time(worker->order, *count, block->values[START]);
}

/* Work that begins while its device is busy extends the stretch; other work begins a new one. */
static void gpu_busy_add_stretch(const struct gpu_busy_walk *walk, struct gpu_busy_worker *worker,
                                 struct gpu_busy_piece *piece, uint32_t place, uint32_t row, int64_t start, int64_t end)
{
    const struct report_span *span = walk->filter.span;
    struct gpu_busy_lane *lane = walk->lane;
    uint32_t last = worker->last[place];

    start = span && start < span->from_ns ? span->from_ns : start;
    end = span && end > span->to_ns ? span->to_ns : end;
    worker->operations[place]++;
    if (last != NO_KEY && start <= lane->end[last]) {
        lane->end[last] = end > lane->end[last] ? end : lane->end[last];
        return;
    }
    size_t at = piece->first + piece->count++;
    lane->start[at] = start;
    lane->end[at] = end > start ? end : start;
    lane->place[at] = place;
    lane->row[at] = row;
    worker->last[place] = (uint32_t)at;
}

static int gpu_busy_visit(void *context, int number, const struct report_block *block)
{
    struct gpu_busy_walk *walk = context;
    struct gpu_busy_worker *worker = &walk->workers[number];
    struct gpu_busy_piece piece = { .first = block->first_row, .worker = number };
    int64_t process = 0, device = 0;
    uint32_t place = NO_KEY;
    size_t count;

    if (gpu_busy_choose_rows(walk, worker, block, &count) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < worker->places.count; i++)
        worker->last[i] = NO_KEY;
    for (size_t i = 0; i < count; i++) {
        size_t row = worker->order[i];
        if (place == NO_KEY || block->values[PROCESS][row] != process || block->values[DEVICE][row] != device) {
            process = block->values[PROCESS][row];
            device = block->values[DEVICE][row];
            place = gpu_busy_find_place(worker, process, device);
            if (place == NO_KEY)
                return ERR_NO_MEMORY;
        }
        gpu_busy_add_stretch(walk, worker, &piece, place, (uint32_t)(block->first_row + row), block->values[START][row],
                             block->values[END][row]);
    }
    walk->lane->pieces[atomic_fetch_add(&walk->lane->piece_count, 1)] = piece;
    return 0;
}

static int scan_lane(struct gpu_busy_walk *walk, const char *name, struct error *err)
{
    static const char *const names[COLUMNS] = { "start", "end", "globalPid", "deviceId", "streamId", "correlationId" };
    const struct report_table *table = report_table(walk->report, name);
    struct gpu_busy_lane *lane = walk->lane;
    size_t column_count = walk->filter.only.only ? COLUMNS : STREAM;
    int wanted[COLUMNS];

    if (!table || !table->rows)
        return 0;
    if (table->rows >= UINT32_MAX)
        return error_set(err, ERR_UNSUPPORTED, "the table %s has too many rows to sort", name);
    for (size_t i = 0; i < column_count; i++)
        wanted[i] = report_column(table, names[i]);
    lane->start = malloc(table->rows * sizeof *lane->start);
    lane->end = malloc(table->rows * sizeof *lane->end);
    lane->place = malloc(table->rows * sizeof *lane->place);
    lane->row = malloc(table->rows * sizeof *lane->row);
    lane->table = name;
    lane->pieces = malloc(report_chunk_count(table) * sizeof *lane->pieces);
    if (!lane->start || !lane->end || !lane->place || !lane->row || !lane->pieces)
        return error_short_memory(err, "for the GPU work");
    int code = report_scan(walk->report, table, wanted, column_count, walk->filter.span, gpu_busy_visit, walk, err);
    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the GPU work") : code;
}

/* ---- stretches of all chunks together -------------------------------------------------------------------------- */

static uint32_t device_with_gpu(struct gpu_busy_walk *walk, int64_t gpu)
{
    struct gpu_busy *busy = walk->busy;
    size_t i = 0;

    while (i < busy->device_count && busy->devices[i].gpu != gpu)
        i++;
    if (i < busy->device_count)
        return (uint32_t)i;
    if (array_reserve(&busy->devices, &walk->device_room, i + 1, sizeof *busy->devices) != 0)
        return NO_KEY;
    busy->devices[busy->device_count++] = (struct gpu_busy_device){ .gpu = gpu, .first_ns = NO_TIME };
    return (uint32_t)i;
}

/* From now on worker->last[place] is the index of the device. */
static int number_devices(struct gpu_busy_walk *walk)
{
    for (size_t i = 0; i < walk->worker_count; i++) {
        struct gpu_busy_worker *worker = &walk->workers[i];
        for (uint32_t place = 0; place < worker->places.count; place++) {
            const int64_t *key = keys_get(&worker->places, place);
            uint32_t device = device_with_gpu(walk, gpu_device_of(&walk->devices, key[0], key[1]));
            if (device == NO_KEY)
                return ERR_NO_MEMORY;
            worker->last[place] = device;
            walk->busy->devices[device].operations += worker->operations[place];
        }
    }
    return 0;
}

static int gpu_busy_by_first(const void *a, const void *b)
{
    const struct gpu_busy_piece *x = a, *y = b;

    return COMPARE(x->first, y->first);
}

static int gpu_busy_put_in_order(const struct gpu_busy_walk *walk, struct gpu_busy_lane *lane)
{
    size_t total = 0;

    for (size_t i = 0; i < lane->piece_count; i++)
        total += lane->pieces[i].count;
    lane->order = malloc((total + 1) * sizeof *lane->order);
    if (!lane->order)
        return ERR_NO_MEMORY;
    if (lane->piece_count)
        qsort(lane->pieces, lane->piece_count, sizeof *lane->pieces, gpu_busy_by_first);
    for (size_t i = 0; i < lane->piece_count; i++) {
        const struct gpu_busy_piece *piece = &lane->pieces[i];
        for (size_t at = piece->first; at < piece->first + piece->count; at++) {
            lane->order[lane->count++] = (uint32_t)at;
            lane->place[at] = walk->workers[piece->worker].last[lane->place[at]];
        }
    }
    return order_by_time(lane->order, lane->count, lane->start);
}

static int append_gap(struct gpu_busy_walk *walk, struct gpu_busy_gap gap)
{
    struct gpu_busy *busy = walk->busy;

    if (gap.length_ns < walk->least_gap_ns)
        return 0;
    return ARRAY_PUSH(busy->gaps, walk->gap_room, busy->gap_count, gap);
}

static int append_pause(struct gpu_busy_walk *walk, struct gpu_busy_gap gap)
{
    struct gpu_busy *busy = walk->busy;

    return ARRAY_PUSH(busy->pauses, walk->pause_room, busy->pause_count, gap);
}

/* Keeps the longest, longest first; of two of one length the earlier. */
static int gpu_busy_add_gap(struct gpu_busy_walk *walk, struct gpu_busy_gap gap)
{
    struct gpu_busy *busy = walk->busy;
    size_t at = busy->gap_count;

    if (walk->least_gap_ns > 0)
        return append_gap(walk, gap);
    if (at == walk->most_gaps && (at == 0 || busy->gaps[at - 1].length_ns >= gap.length_ns))
        return 0;
    at -= at == walk->most_gaps;
    for (; at > 0 && busy->gaps[at - 1].length_ns < gap.length_ns; at--)
        busy->gaps[at] = busy->gaps[at - 1];
    busy->gaps[at] = gap;
    busy->gap_count += busy->gap_count < walk->most_gaps;
    return 0;
}

/* The device had no work up to this one, or none was recorded. */
static int end_gap(struct gpu_busy_walk *walk, struct gpu_busy_device *device, const struct gpu_busy_lane *lane,
                   uint32_t at)
{
    struct gpu_busy_gap gap = { device->gpu, device->last_ns, saturating_duration(device->last_ns, lane->start[at]),
                                lane->table, lane->row[at] };

    device->last_ns = lane->start[at];
    if (step_pauses_overlap(&walk->pauses, gap.start_ns, lane->start[at])) {
        device->paused_ns = saturating_add(device->paused_ns, gap.length_ns);
        return append_pause(walk, gap);
    }
    if (gap.length_ns > device->largest.length_ns)
        device->largest = gap;
    return gpu_busy_add_gap(walk, gap);
}

static int gpu_busy_add_busy(struct gpu_busy_walk *walk, struct gpu_busy_device *device,
                             const struct gpu_busy_lane *lane, uint32_t at)
{
    int64_t start = lane->start[at], end = lane->end[at];

    if (device->first_ns == NO_TIME)
        device->first_ns = device->last_ns = start;
    if (start > device->last_ns && end_gap(walk, device, lane, at) != 0)
        return ERR_NO_MEMORY;
    if (end > device->last_ns) {
        device->busy_ns = saturating_add(device->busy_ns, saturating_duration(device->last_ns, end));
        device->last_ns = end;
    }
    return 0;
}

/* The lane whose next stretch begins first, or NULL at the end. No other lane has a stretch that begins before
 * `until`. */
static struct gpu_busy_lane *first_lane(struct gpu_busy_walk *walk, int64_t *until)
{
    struct gpu_busy_lane *first = NULL;
    int64_t least = 0;

    *until = INT64_MAX;
    for (size_t i = 0; i < LANES; i++) {
        struct gpu_busy_lane *lane = &walk->lanes[i];
        if (lane->next == lane->count)
            continue;
        int64_t start = lane->start[lane->order[lane->next]];
        if (!first || start < least) {
            *until = first ? least : *until;
            first = lane;
            least = start;
        } else if (start < *until) {
            *until = start;
        }
    }
    return first;
}

static int join_stretches(struct gpu_busy_walk *walk)
{
    int64_t until;

    if (number_devices(walk) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < LANES; i++)
        if (gpu_busy_put_in_order(walk, &walk->lanes[i]) != 0)
            return ERR_NO_MEMORY;
    for (struct gpu_busy_lane *lane; (lane = first_lane(walk, &until));)
        do {
            uint32_t at = lane->order[lane->next++];
            if (gpu_busy_add_busy(walk, &walk->busy->devices[lane->place[at]], lane, at) != 0)
                return ERR_NO_MEMORY;
        } while (lane->next < lane->count && lane->start[lane->order[lane->next]] <= until);
    return 0;
}

static int by_gpu(const void *a, const void *b)
{
    int64_t x = ((const struct gpu_busy_device *)a)->gpu, y = ((const struct gpu_busy_device *)b)->gpu;

    return COMPARE(x, y);
}

/* ---- interface ------------------------------------------------------------------------------------------------- */

static void walk_free(struct gpu_busy_walk *walk)
{
    for (size_t i = 0; i < LANES; i++) {
        struct gpu_busy_lane *lane = &walk->lanes[i];
        free(lane->start);
        free(lane->end);
        free(lane->place);
        free(lane->row);
        free(lane->pieces);
        free(lane->order);
    }
    for (size_t i = 0; walk->workers && i < walk->worker_count; i++) {
        keys_free(&walk->workers[i].places);
        free(walk->workers[i].operations);
        free(walk->workers[i].last);
        free(walk->workers[i].order);
    }
    free(walk->workers);
    gpu_devices_free(&walk->devices);
    step_pauses_free(&walk->pauses);
    filter_close(&walk->filter);
}

static int gpu_busy_prepare(struct gpu_busy_walk *walk)
{
    struct gpu_busy *busy = walk->busy;

    walk->gap_room = walk->most_gaps + 1;
    busy->gaps = calloc(walk->gap_room, sizeof *busy->gaps);
    walk->worker_count = (size_t)report_workers(walk->report);
    walk->workers = calloc(walk->worker_count, sizeof *walk->workers);
    if (!busy->gaps || !walk->workers)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < walk->worker_count; i++)
        walk->workers[i].places.width = 2;
    return 0;
}

static int gpu_busy_read_all(struct gpu_busy_walk *walk, const struct analysis_request *request, struct error *err)
{
    struct gpu_busy *busy = walk->busy;
    int code;

    if ((code = filter_open(&walk->filter, walk->report, request, err)) != 0)
        return code;
    if (gpu_busy_prepare(walk) != 0)
        return error_short_memory(err, "for the GPU work");
    if ((code = gpu_devices_read(&walk->devices, walk->report, err)) != 0 ||
        (code = step_pauses_read(&walk->pauses, walk->report, err)) != 0)
        return code;
    for (size_t i = 0; i < LANES; i++) {
        walk->lane = &walk->lanes[i];
        if ((code = scan_lane(walk, gpu_busy_tables[i], err)) != 0)
            return code;
    }
    if (join_stretches(walk) != 0)
        return error_short_memory(err, "for the GPU work");
    if (busy->device_count)
        qsort(busy->devices, busy->device_count, sizeof *busy->devices, by_gpu);
    return 0;
}

static int gpu_busy_read_with(struct gpu_busy_walk *walk, const struct analysis_request *request, struct error *err)
{
    *walk->busy = (struct gpu_busy){ 0 };
    int code = gpu_busy_read_all(walk, request, err);
    walk_free(walk);
    if (code != 0)
        gpu_busy_free(walk->busy);
    return code;
}

int gpu_busy_read(struct gpu_busy *busy, struct report *report, const struct analysis_request *request,
                  size_t most_gaps, struct error *err)
{
    struct gpu_busy_walk walk = { .report = report, .busy = busy, .most_gaps = most_gaps };

    return gpu_busy_read_with(&walk, request, err);
}

int gpu_busy_read_gaps(struct gpu_busy *busy, struct report *report, const struct analysis_request *request,
                       int64_t least_ns, struct error *err)
{
    struct gpu_busy_walk walk = { .report = report, .busy = busy, .least_gap_ns = least_ns > 0 ? least_ns : 1 };

    return gpu_busy_read_with(&walk, request, err);
}

void gpu_busy_free(struct gpu_busy *busy)
{
    free(busy->devices);
    free(busy->gaps);
    free(busy->pauses);
    *busy = (struct gpu_busy){ 0 };
}

static int64_t gpu_busy_overlap(const struct report_span *span, int64_t from_ns, int64_t to_ns)
{
    from_ns = from_ns > span->from_ns ? from_ns : span->from_ns;
    to_ns = to_ns < span->to_ns ? to_ns : span->to_ns;
    return from_ns < to_ns ? saturating_duration(from_ns, to_ns) : 0;
}

/* As gpu_busy_read() of that span has it: what was not recorded counts as such only between work in the span. */
struct gpu_busy_use gpu_busy_use(const struct gpu_busy *busy, const struct gpu_busy_device *device,
                                 const struct report_span *span)
{
    struct gpu_busy_use use = { gpu_busy_overlap(span, device->first_ns, device->last_ns),
                                saturating_duration(span->from_ns, span->to_ns) };

    for (size_t i = 0; i < busy->gap_count; i++)
        if (busy->gaps[i].gpu == device->gpu)
            use.busy_ns -= gpu_busy_overlap(span, busy->gaps[i].start_ns,
                                            saturating_add(busy->gaps[i].start_ns, busy->gaps[i].length_ns));
    for (size_t i = 0; i < busy->pause_count; i++) {
        const struct gpu_busy_gap *pause = &busy->pauses[i];
        int64_t end_ns = saturating_add(pause->start_ns, pause->length_ns);
        if (pause->gpu != device->gpu)
            continue;
        use.busy_ns -= gpu_busy_overlap(span, pause->start_ns, end_ns);
        if (pause->start_ns > span->from_ns && end_ns < span->to_ns)
            use.whole_ns = saturating_subtract(use.whole_ns, pause->length_ns);
    }
    return use;
}

const char *gpu_name(struct report *report, int64_t gpu, size_t *length)
{
    enum { ID, NAME };
    static const char *const names[] = { [ID] = "id", [NAME] = "name", NULL };
    struct row_cursor rows;
    struct error err;
    const char *name = "";

    *length = 0;
    if (row_cursor_open(&rows, report, "TARGET_INFO_GPU", names, &err) != 0)
        return name;
    while (row_cursor_next(&rows))
        if (row_int(&rows, ID) == gpu && !row_is_null(&rows, NAME))
            name = report_string(report, row_int(&rows, NAME), length);
    row_cursor_close(&rows);
    return name;
}
