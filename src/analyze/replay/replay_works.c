/* Work on GPUs of all kinds, by stream and in order of time. */
#include <stdlib.h>

#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "replay_events.h"

enum { CONTEXT, SOURCE, TARGET, COPY_KIND, FILL_MEMORY = SOURCE };  /* extra columns: of copies, and of fills */
enum { LEFT_OUT = -1, EARLY_NS = 100000 };
enum { PAGEABLE = 0, PINNED = 1, MANAGED = 4, MANAGED_STATIC = 6 }; /* of ENUM_CUDA_MEM_KIND */
/* of ENUM_CUDA_MEMCPY_OPER */
enum { ARRAY_TO_ARRAY = 5, DEVICE_TO_DEVICE = 8, PEER_TO_PEER = 10, FIRST_MIGRATION, LAST_MIGRATION = 13 };

/* Work while it is read, by row over all tables. */
struct replay_works_reading {
    struct replay_events *events;
    struct gpu_devices devices; /* owned, as all below */
    struct gpu_ops ops;
    int64_t *start, *end, *stream;
    uint32_t *call;
    size_t count, room[4];
};

static int reserve(struct replay_works_reading *reading, size_t count)
{
    if (array_reserve_up_to(&reading->start, &reading->room[0], count, UINT32_MAX - 1, sizeof *reading->start) != 0 ||
        array_reserve_up_to(&reading->end, &reading->room[1], count, UINT32_MAX - 1, sizeof *reading->end) != 0 ||
        array_reserve_up_to(&reading->stream, &reading->room[2], count, UINT32_MAX - 1, sizeof *reading->stream) != 0 ||
        array_reserve_up_to(&reading->call, &reading->room[3], count, UINT32_MAX - 1, sizeof *reading->call) != 0)
        return ERR_NO_MEMORY;
    return 0;
}

/* Finds the GPU of a new stream. Processes number the GPUs that they see, each in its own way. */
static int place_stream(struct replay_works_reading *reading, uint32_t stream, int64_t process, int64_t device)
{
    struct replay_events *events = reading->events;
    int64_t id = gpu_device_of(&reading->devices, process, device);
    uint32_t gpu = keys_add(&events->gpus, &id);

    if (gpu == NO_KEY ||
        array_reserve_zeroed(&events->streams_of, &events->gpu_room, gpu + 1u, sizeof *events->streams_of) != 0 ||
        array_reserve_zeroed(&events->gpu_of, &events->stream_room, stream + 1u, sizeof *events->gpu_of) != 0)
        return ERR_NO_MEMORY;
    events->gpu_of[stream] = gpu;
    events->streams_of[gpu]++;
    events->has_shared_gpu |= events->streams_of[gpu] > 1;
    return 0;
}

static uint32_t number_stream(struct replay_works_reading *reading, size_t row, uint32_t last)
{
    struct keys *scopes = &reading->events->scopes;
    const struct gpu_ops *ops = &reading->ops;
    size_t known = scopes->count;
    uint32_t stream = stream_number(scopes, ops, row, last);

    if (stream < known || stream == NO_KEY)
        return stream;
    return place_stream(reading, stream, ops->process[row], ops->device[row]) == 0 ? stream : NO_KEY;
}

/* Whether a row is a migration of unified memory: it has no call and no place on a stream. The kernel that it holds up
 * takes longer. */
static int is_migration(const struct gpu_ops *ops, size_t row, int table)
{
    int64_t kind = table == REPLAY_COPY ? gpu_extra(ops, COPY_KIND, row) : 0;

    return kind >= FIRST_MIGRATION && kind <= LAST_MIGRATION;
}

static void replay_works_note_early(struct replay_events *events, int64_t early_ns)
{
    events->early_count++;
    events->early_ns = early_ns > events->early_ns ? early_ns : events->early_ns;
}

/* Clocks of GPU and CPU differ a little: work never starts before its call does. That it seems to by EARLY_NS is no
 * matter of precision. */
static int replay_works_add_rows(struct replay_works_reading *reading, int table)
{
    const struct gpu_ops *ops = &reading->ops;
    uint32_t stream = NO_KEY;

    for (size_t row = 0; row < ops->count; row++) {
        size_t at = reading->count + row;
        reading->stream[at] = LEFT_OUT;
        if (is_migration(ops, row, table))
            continue;
        stream = number_stream(reading, row, stream);
        if (stream == NO_KEY)
            return ERR_NO_MEMORY;
        uint32_t call = replay_call_take(reading->events, ops->process[row], ops->correlation[row],
                                         (enum replay_purpose)table);
        int64_t start = ops->start[row], end = ops->end[row],
                launched = call == NO_CALL ? INT64_MIN : reading->events->calls[call].start_ns;
        if (call != NO_CALL && saturating_subtract(launched, start) > EARLY_NS)
            replay_works_note_early(reading->events, saturating_subtract(launched, start));
        reading->start[at] = start > launched ? start : launched;
        reading->end[at] = end > reading->start[at] ? end : reading->start[at];
        reading->stream[at] = stream;
        reading->call[at] = call;
    }
    reading->count += ops->count;
    return 0;
}

/* A blocking copy waits until host memory has been read or written. One between GPUs, or on one, is like a kernel. */
static enum replay_memory memory_of_copy(const struct gpu_ops *ops, size_t row)
{
    int64_t kind = gpu_extra(ops, COPY_KIND, row);

    if ((kind >= ARRAY_TO_ARRAY && kind <= DEVICE_TO_DEVICE) || kind == PEER_TO_PEER)
        return REPLAY_DEVICE_MEMORY;
    for (size_t c = SOURCE; c <= TARGET; c++)
        if (!gpu_extra_is_null(ops, c, row) && gpu_extra(ops, c, row) == PAGEABLE)
            return REPLAY_PAGEABLE;
    return REPLAY_HOST_MEMORY;
}

/* A fill of device memory is like a kernel, whatever its call is named. */
static enum replay_memory memory_of_fill(const struct gpu_ops *ops, size_t row)
{
    int64_t kind = gpu_extra_is_null(ops, FILL_MEMORY, row) ? -1 : gpu_extra(ops, FILL_MEMORY, row);

    return kind == PINNED || kind == MANAGED || kind == MANAGED_STATIC ? REPLAY_HOST_MEMORY : REPLAY_DEVICE_MEMORY;
}

/* Copies from and to arrays go through the same engines. */
static enum replay_engine engine_of(int64_t kind)
{
    static const enum replay_engine engines[] = { REPLAY_NO_ENGINE, REPLAY_TO_GPU, REPLAY_FROM_GPU, REPLAY_TO_GPU,
                                                  REPLAY_FROM_GPU };

    return kind >= 0 && kind < (int64_t)(COUNT_OF(engines)) ? engines[kind] : REPLAY_NO_ENGINE;
}

static int find_engines(struct replay_events *events, const struct gpu_ops *ops)
{
    if (array_reserve(&events->engine, &events->engine_room, ops->count + 1, 1) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < ops->count; row++)
        events->engine[row] = (uint8_t)engine_of(gpu_extra(ops, COPY_KIND, row));
    return 0;
}

/* Copies come first, and fills right after them. */
static int find_memory(struct replay_events *events, const struct gpu_ops *ops, int table)
{
    size_t first = events->first_at[table] - events->first_at[REPLAY_COPY];

    if (array_reserve(&events->memory, &events->memory_room, first + ops->count, 1) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < ops->count; row++)
        events->memory[first + row] = (uint8_t)(table == REPLAY_COPY ? memory_of_copy(ops, row)
                                                                     : memory_of_fill(ops, row));
    return 0;
}

static int replay_works_read_table(struct replay_works_reading *reading, struct report *report, int table,
                                   struct error *err)
{
    static const char *const others[] = { "contextId", NULL };
    static const char *const copies[] = { "contextId", "srcKind", "dstKind", "copyKind", NULL };
    static const char *const fills[] = { "contextId", "memKind", NULL };
    static const char *const *const extra[REPLAY_TABLES] = { others, copies, fills, others };
    int code = gpu_read_table(&reading->ops, report, gpu_busy_tables[table], extra[table], err);

    if (code != 0)
        return code;
    if (reserve(reading, reading->count + reading->ops.count) != 0 || replay_works_add_rows(reading, table) != 0 ||
        (table == REPLAY_COPY && find_engines(reading->events, &reading->ops) != 0) ||
        ((table == REPLAY_COPY || table == REPLAY_FILL) && find_memory(reading->events, &reading->ops, table) != 0))
        code = error_short_memory(err, "for the GPU work");
    reading->events->first_at[table + 1] = (uint32_t)reading->count;
    gpu_free(&reading->ops);
    return code;
}

static int arrange_works(struct replay_works_reading *reading)
{
    struct replay_events *events = reading->events;
    uint32_t *order = array_alloc(reading->count + 1, sizeof *order);
    size_t count = 0;
    int code = ERR_NO_MEMORY;

    events->works = array_alloc(reading->count + 1, sizeof *events->works);
    if (!order || !events->works)
        goto free_order;
    for (size_t i = 0; i < reading->count; i++)
        if (reading->stream[i] != LEFT_OUT)
            order[count++] = (uint32_t)i;
    if ((code = order_by_thread(order, count, reading->stream, reading->start)) != 0)
        goto free_order;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = order[i];
        events->works[i] = (struct replay_work){
            reading->start[at], reading->end[at], reading->call[at], (uint32_t)reading->stream[at], at, NO_LINK,
        };
    }
    events->work_count = (uint32_t)count;
free_order:
    free(order);
    return code;
}

/* ---- work that fills a device ---------------------------------------------------------------------------------- */

/* The least number of multiprocessors of a GPU of the report; 1 if it does not say. */
static int read_multiprocessors(struct report *report, int64_t *out, struct error *err)
{
    static const char *const names[] = { "smCount", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TARGET_INFO_GPU", names, err);

    if (code != 0)
        return code;
    *out = INT64_MAX;
    while (row_cursor_next(&rows))
        if (row_int_or(&rows, 0, 0) > 0 && row_int(&rows, 0) < *out)
            *out = row_int(&rows, 0);
    *out = *out == INT64_MAX ? 1 : *out;
    row_cursor_close(&rows);
    return 0;
}

static int find_full(struct replay_events *events, struct report *report, struct error *err)
{
    static const char *const names[] = { "gridX", "gridY", "gridZ" };
    struct report_columns grid = { 0 };
    size_t kernels = events->first_at[REPLAY_KERNEL + 1];
    int64_t multiprocessors;
    int code;

    if ((code = read_multiprocessors(report, &multiprocessors, err)) != 0 ||
        (code = columns_read(report, gpu_busy_tables[REPLAY_KERNEL], names, 3, &grid, err)) != 0)
        return code;
    events->is_full = malloc(kernels + 1);
    if (!events->is_full && (code = error_short_memory(err, "for the GPU work")) != 0)
        goto free_grid;
    for (size_t row = 0; row < kernels; row++) {
        int64_t blocks = 1;
        for (size_t c = 0; c < 3; c++)
            blocks = saturating_multiply(blocks, columns_is_null(&grid, c, row) ? 1 : grid.values[c][row]);
        events->is_full[row] = blocks >= multiprocessors;
    }
free_grid:
    report_columns_free(&grid);
    return code;
}

static int replay_works_read_works(struct replay_works_reading *reading, struct report *report, struct error *err)
{
    struct replay_events *events = reading->events;
    int code = gpu_devices_read(&reading->devices, report, err);

    if (code != 0)
        return code;
    for (int table = 0; table < REPLAY_TABLES; table++)
        if ((code = replay_works_read_table(reading, report, table, err)) != 0)
            return code;
    if (arrange_works(reading) != 0)
        return error_short_memory(err, "for the GPU work");
    return events->has_shared_gpu ? find_full(events, report, err) : 0;
}

int replay_works_read(struct replay_events *events, struct report *report, struct error *err)
{
    struct replay_works_reading reading = { .events = events };

    events->scopes.width = STREAM_WIDTH;
    events->gpus.width = 1;
    int code = replay_works_read_works(&reading, report, err);
    gpu_devices_free(&reading.devices);
    free(reading.start);
    free(reading.end);
    free(reading.stream);
    free(reading.call);
    return code;
}
