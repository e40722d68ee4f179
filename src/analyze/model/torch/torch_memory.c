/* Sorts the events of memory by time, and matches allocations with their frees by address. */
#include "torch_memory.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/calls.h"
#include "analyze/model/filter.h"
#include "base/text.h"

const char *const torch_memory_tables[] = { "TACHO_TORCH_MEMORY", "CUDA_GPU_MEMORY_USAGE_EVENTS", NULL };

enum { DEVICE_CPU, DEVICE_CUDA };

struct torch_memory_reading {
    struct torch_memory *memory;
    struct report *report;
    struct filter filter;
    struct keys places;
};

static int torch_memory_add_event(struct torch_memory_reading *reading, struct torch_memory_event event,
                                  int64_t device_type, int64_t device)
{
    struct torch_memory *memory = reading->memory;

    if (!filter_process(&reading->filter, event.thread, event.time_ns, event.time_ns))
        return 0;
    event.place = keys_add(&reading->places, (int64_t[]){ global_process(event.thread), device_type,
                                                          device_type == DEVICE_CPU ? -1 : device });
    if (event.place == NO_KEY)
        return ERR_NO_MEMORY;
    event.until = NO_EVENT_INDEX;
    memory->list[memory->count++] = event;
    return 0;
}

static int torch_memory_make_room(struct torch_memory *memory, size_t rows)
{
    memory->list = rows < NO_EVENT_INDEX ? malloc((rows + 1) * sizeof *memory->list) : NULL;
    return memory->list ? 0 : ERR_NO_MEMORY;
}

/* ---- both tables ----------------------------------------------------------------------------------------------- */

enum { TIME, THREAD, EVENT, TYPE, DEVICE, ADDRESS, BYTES, ALLOCATED, RESERVED };
static const char *const torch_columns[] = {
    [TIME] = "timestamp",
    [THREAD] = "globalTid",
    [EVENT] = "event",
    [TYPE] = "deviceType",
    [DEVICE] = "deviceId",
    [ADDRESS] = "address",
    [BYTES] = "bytes",
    [ALLOCATED] = "totalAllocated",
    [RESERVED] = "totalReserved",
    NULL,
};

static int add_torch_events(struct torch_memory_reading *reading, struct row_cursor *rows)
{
    while (row_cursor_next(rows)) {
        if (strcmp(report_string(reading->report, row_int(rows, EVENT), NULL), "[memory]") != 0)
            continue;
        struct torch_memory_event event = {
            .time_ns = row_int(rows, TIME),
            .thread = row_int_or(rows, THREAD, 0),
            .bytes = row_int(rows, BYTES),
            .address = row_int_or(rows, ADDRESS, 0),
            .allocated = row_int_or(rows, ALLOCATED, MEMORY_UNKNOWN),
            .reserved = row_int_or(rows, RESERVED, MEMORY_UNKNOWN),
        };
        if (torch_memory_add_event(reading, event, row_int(rows, TYPE), row_int_or(rows, DEVICE, -1)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int torch_memory_read_torch(struct torch_memory_reading *reading, struct row_cursor *rows, struct error *err)
{
    if (torch_memory_make_room(reading->memory, rows->columns.rows) != 0 || add_torch_events(reading, rows) != 0)
        return error_short_memory(err, "for the allocations");
    return 0;
}

enum { CUDA_START, CUDA_PROCESS, CUDA_DEVICE, CUDA_ADDRESS, CUDA_BYTES, CUDA_OPERATION, CUDA_CORRELATION };
static const char *const cuda_columns[] = {
    [CUDA_START] = "start",
    [CUDA_PROCESS] = "globalPid",
    [CUDA_DEVICE] = "deviceId",
    [CUDA_ADDRESS] = "address",
    [CUDA_BYTES] = "bytes",
    [CUDA_OPERATION] = "memoryOperationType",
    [CUDA_CORRELATION] = "correlationId",
    NULL,
};

static int add_cuda_events(struct torch_memory_reading *reading, struct row_cursor *rows, const struct calls *calls)
{
    while (row_cursor_next(rows)) {
        int64_t process = row_int(rows, CUDA_PROCESS), bytes = row_int(rows, CUDA_BYTES);
        uint32_t call = row_is_null(rows, CUDA_CORRELATION)
                            ? NO_CALL
                            : calls_find(calls, process, row_int(rows, CUDA_CORRELATION));
        struct torch_memory_event event = {
            .time_ns = row_int(rows, CUDA_START),
            .thread = call == NO_CALL ? process : calls->thread[call],
            .address = row_int(rows, CUDA_ADDRESS),
            .bytes = row_int(rows, CUDA_OPERATION) ? saturating_duration(bytes, 0) : bytes,
            .allocated = MEMORY_UNKNOWN,
            .reserved = MEMORY_UNKNOWN,
        };
        if (torch_memory_add_event(reading, event, DEVICE_CUDA, row_int(rows, CUDA_DEVICE)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* An event of CUDA has the correlation id of its call, and the call has a thread. */
static int read_cuda(struct torch_memory_reading *reading, struct row_cursor *rows, struct error *err)
{
    struct calls calls;
    int code;

    if ((code = calls_read(&calls, reading->report, err)) != 0)
        return code;
    if (torch_memory_make_room(reading->memory, rows->columns.rows) != 0 || add_cuda_events(reading, rows, &calls) != 0)
        code = error_short_memory(err, "for the allocations");
    calls_free(&calls);
    return code;
}

/* Reads the first table that the report has. */
static int torch_memory_read_events(struct torch_memory_reading *reading, struct error *err)
{
    static const struct {
        const char *const *columns;
        int (*read)(struct torch_memory_reading *reading, struct row_cursor *rows, struct error *err);
    } readers[] = { { torch_columns, torch_memory_read_torch }, { cuda_columns, read_cuda } };

    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        const struct report_table *table = report_table(reading->report, torch_memory_tables[i]);
        struct row_cursor rows;
        int code;

        if (!table || !table->rows)
            continue;
        if ((code = row_cursor_open(&rows, reading->report, table->name, readers[i].columns, err)) != 0)
            return code;
        code = readers[i].read(reading, &rows, err);
        row_cursor_close(&rows);
        return code;
    }
    return 0;
}

/* ---- order, ends, peaks and operators -------------------------------------------------------------------------- */

static int torch_memory_sort(struct torch_memory *memory)
{
    uint32_t *order = malloc((memory->count + 1) * sizeof *order);
    int64_t *times = malloc((memory->count + 1) * sizeof *times);
    struct torch_memory_event *sorted = malloc((memory->count + 1) * sizeof *sorted);
    int code = ERR_NO_MEMORY;

    if (!order || !times || !sorted)
        goto done;
    for (size_t i = 0; i < memory->count; i++) {
        order[i] = (uint32_t)i;
        times[i] = memory->list[i].time_ns;
    }
    if ((code = order_by_time(order, memory->count, times)) != 0)
        goto done;
    for (size_t i = 0; i < memory->count; i++)
        sorted[i] = memory->list[order[i]];
    free(memory->list);
    memory->list = sorted;
    sorted = NULL;
done:
    free(order);
    free(times);
    free(sorted);
    return code;
}

/* Matches by address only, since a free may lack the number of bytes. */
static int torch_memory_match(struct torch_memory *memory)
{
    struct keys addresses = { .width = 2 };
    uint32_t *last = malloc((memory->count + 1) * sizeof *last); /* by address, the open allocation */
    int code = 0;

    if (!last)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < memory->count; i++) {
        struct torch_memory_event *event = &memory->list[i];
        size_t before = addresses.count;
        uint32_t key = keys_add(&addresses, (int64_t[]){ event->place, event->address });
        if (key == NO_KEY) {
            code = ERR_NO_MEMORY;
            goto done;
        }
        if (key == before)
            last[key] = NO_EVENT_INDEX;
        if (event->bytes <= 0 && last[key] != NO_EVENT_INDEX)
            memory->list[last[key]].until = (uint32_t)i;
        last[key] = event->bytes > 0 ? (uint32_t)i : NO_EVENT_INDEX;
    }
done:
    keys_free(&addresses);
    free(last);
    return code;
}

/* Sums the bytes of events without the allocator's own sum. */
static int find_peaks(struct torch_memory *memory, const struct keys *places)
{
    memory->places = calloc(places->count + 1, sizeof *memory->places);
    int64_t *sums = calloc(places->count + 1, sizeof *sums);
    if (!memory->places || !sums) {
        free(sums);
        return ERR_NO_MEMORY;
    }
    memory->place_count = places->count;
    for (uint32_t i = 0; i < places->count; i++) {
        const int64_t *key = keys_get(places, i);
        memory->places[i] = (struct torch_memory_place){ key[0], key[1], key[2], 0, NO_EVENT_INDEX };
    }
    for (size_t i = 0; i < memory->count; i++) {
        struct torch_memory_event *event = &memory->list[i];
        struct torch_memory_place *place = &memory->places[event->place];
        if (event->allocated == MEMORY_UNKNOWN)
            event->allocated = saturating_add(sums[event->place], event->bytes);
        sums[event->place] = event->allocated;
        if (place->peak == NO_EVENT_INDEX || event->allocated > place->peak_bytes) {
            place->peak = (uint32_t)i;
            place->peak_bytes = event->allocated;
        }
    }
    free(sums);
    return 0;
}

static int torch_memory_find_operators(struct torch_memory *memory)
{
    struct operators_moment *moments = malloc((memory->count + 1) * sizeof *moments);
    uint32_t *found = malloc((memory->count + 1) * sizeof *found);
    int code = ERR_NO_MEMORY;

    if (!moments || !found)
        goto done;
    for (size_t i = 0; i < memory->count; i++)
        moments[i] = (struct operators_moment){ memory->list[i].thread, memory->list[i].time_ns };
    if ((code = operators_at(&memory->operators, moments, memory->count, found)) != 0)
        goto done;
    for (size_t i = 0; i < memory->count; i++)
        memory->list[i].op = found[i];
done:
    free(moments);
    free(found);
    return code;
}

/* A capture without operators may have events of memory. */
static int torch_memory_read_operators(struct torch_memory *memory, struct report *report,
                                       const struct analysis_request *request, struct error *err)
{
    int code = operators_read(&memory->operators, report, request, err);

    if (code == ERR_NO_DATA)
        *err = (struct error){ 0 };
    else if (code != 0)
        return code;
    return operators_nest(&memory->operators) != 0 ? error_short_memory(err, "for the operators") : 0;
}

static int torch_memory_read_all(struct torch_memory_reading *reading, const struct analysis_request *request,
                                 struct error *err)
{
    struct torch_memory *memory = reading->memory;
    int code;

    if ((code = torch_memory_read_operators(memory, reading->report, request, err)) != 0 ||
        (code = filter_open(&reading->filter, reading->report, request, err)) != 0 ||
        (code = torch_memory_read_events(reading, err)) != 0)
        return code;
    if (torch_memory_sort(memory) != 0 || torch_memory_match(memory) != 0 ||
        find_peaks(memory, &reading->places) != 0 || torch_memory_find_operators(memory) != 0)
        return error_short_memory(err, "for the allocations");
    return 0;
}

int torch_memory_read(struct torch_memory *memory, struct report *report, const struct analysis_request *request,
                      struct error *err)
{
    struct torch_memory_reading reading = { .memory = memory, .report = report, .places.width = 3 };

    *memory = (struct torch_memory){ 0 };
    int code = torch_memory_read_all(&reading, request, err);
    filter_close(&reading.filter);
    keys_free(&reading.places);
    if (code != 0)
        torch_memory_free(memory);
    return code;
}

void torch_memory_free(struct torch_memory *memory)
{
    operators_free(&memory->operators);
    free(memory->list);
    free(memory->places);
    *memory = (struct torch_memory){ 0 };
}

int torch_memory_is_at_peak(const struct torch_memory *memory, size_t event)
{
    const struct torch_memory_event *taken = &memory->list[event];
    uint32_t peak = memory->places[taken->place].peak;

    return taken->bytes > 0 && event <= peak && (taken->until == NO_EVENT_INDEX || taken->until > peak);
}

void torch_memory_place_label(struct text *out, const struct torch_memory_place *place)
{
    text_clear(out);
    if (place->device_type == DEVICE_CPU)
        text_add(out, "CPU");
    else
        text_addf(out, "%s %lld", place->device_type == DEVICE_CUDA ? "CUDA" : "Device", (long long)place->device);
}
