/* Events of memory in order of time; allocations and what gave them back are matched by address. */
#include "torch_memory.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "analyze/model/calls.h"
#include "analyze/model/filter.h"
#include "base/text.h"

const char *const torch_memory_tables[] = { "TACHO_TORCH_MEMORY", "CUDA_GPU_MEMORY_USAGE_EVENTS", NULL };

enum { DEVICE_CPU, DEVICE_CUDA };

struct reading {
    struct torch_memory *memory;
    struct report *report;
    struct filter filter;
    struct keys places;
};

static int add_event(struct reading *reading, struct memory_event event, int64_t device_type, int64_t device)
{
    struct torch_memory *memory = reading->memory;

    if (!filter_process(&reading->filter, event.thread, event.time_ns, event.time_ns))
        return 0;
    event.place = keys_add(&reading->places, (int64_t[]){ global_process(event.thread), device_type,
                                                          device_type == DEVICE_CPU ? -1 : device });
    event.until = NO_EVENT_INDEX;
    memory->list[memory->count++] = event;
    return event.place == NO_KEY ? ERR_NO_MEMORY : 0;
}

static int make_room(struct torch_memory *memory, size_t rows)
{
    memory->list = rows < NO_EVENT_INDEX ? malloc((rows + 1) * sizeof *memory->list) : NULL;
    return memory->list ? 0 : ERR_NO_MEMORY;
}

/* ---- both tables ----------------------------------------------------------------------------------------------- */

static int take_torch(struct reading *reading, const struct report_columns *columns, struct error *err)
{
    enum { TIME, THREAD, EVENT, TYPE, DEVICE, ADDRESS, BYTES, ALLOCATED, RESERVED };
    int64_t *const *values = columns->values;
    int code = make_room(reading->memory, columns->rows);

    for (size_t row = 0; row < columns->rows && code == 0; row++) {
        if (strcmp(report_string(reading->report, values[EVENT][row], NULL), "[memory]") != 0)
            continue;
        struct memory_event event = {
            .time_ns = values[TIME][row],
            .thread = columns_is_null(columns, THREAD, row) ? 0 : values[THREAD][row],
            .bytes = values[BYTES][row],
            .address = columns_is_null(columns, ADDRESS, row) ? 0 : values[ADDRESS][row],
            .allocated = columns_is_null(columns, ALLOCATED, row) ? MEMORY_UNKNOWN : values[ALLOCATED][row],
            .reserved = columns_is_null(columns, RESERVED, row) ? MEMORY_UNKNOWN : values[RESERVED][row],
        };
        code = add_event(reading, event, values[TYPE][row],
                         columns_is_null(columns, DEVICE, row) ? -1 : values[DEVICE][row]);
    }
    return code ? error_set(err, code, "not enough memory for the allocations") : 0;
}

/* CUDA's own say which call they were made in, and that has a thread. */
static int take_cuda(struct reading *reading, const struct report_columns *columns, struct error *err)
{
    enum { START, PROCESS, DEVICE, ADDRESS, BYTES, OPERATION, CORRELATION };
    int64_t *const *values = columns->values;
    struct calls calls;
    int code = calls_read(&calls, reading->report, err);

    if (code == 0 && make_room(reading->memory, columns->rows) != 0)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the allocations");
    for (size_t row = 0; row < columns->rows && code == 0; row++) {
        uint32_t call = columns_is_null(columns, CORRELATION, row)
                            ? NO_CALL
                            : calls_find(&calls, values[PROCESS][row], values[CORRELATION][row]);
        struct memory_event event = {
            .time_ns = values[START][row],
            .thread = call == NO_CALL ? values[PROCESS][row] : calls.thread[call],
            .address = values[ADDRESS][row],
            .bytes = values[OPERATION][row] ? saturating_duration(values[BYTES][row], 0) : values[BYTES][row],
            .allocated = MEMORY_UNKNOWN,
            .reserved = MEMORY_UNKNOWN,
        };
        if (add_event(reading, event, DEVICE_CUDA, values[DEVICE][row]) != 0)
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the allocations");
    }
    calls_free(&calls);
    return code;
}

static int read_events(struct reading *reading, struct error *err)
{
    static const struct {
        const char *columns[9];
        size_t column_count;
        int (*take)(struct reading *reading, const struct report_columns *columns, struct error *err);
    } ways[] = {
        { { "timestamp", "globalTid", "event", "deviceType", "deviceId", "address", "bytes", "totalAllocated",
            "totalReserved" },
          9,
          take_torch },
        { { "start", "globalPid", "deviceId", "address", "bytes", "memoryOperationType", "correlationId" },
          7,
          take_cuda },
    };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct report_columns columns = { 0 };
        int code = columns_read(reading->report, torch_memory_tables[i], ways[i].columns, ways[i].column_count,
                                &columns, err);
        if (code != 0 || !columns.values) {
            if (code != 0)
                return code;
            continue;
        }
        code = ways[i].take(reading, &columns, err);
        report_columns_free(&columns);
        return code;
    }
    return 0;
}

/* ---- what they have to do with each other ---------------------------------------------------------------------- */

static int sort(struct torch_memory *memory)
{
    uint32_t *order = malloc((memory->count + 1) * sizeof *order);
    int64_t *times = malloc((memory->count + 1) * sizeof *times);
    struct memory_event *sorted = malloc((memory->count + 1) * sizeof *sorted);
    int code = order && times && sorted ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < memory->count && code == 0; i++) {
        order[i] = (uint32_t)i;
        times[i] = memory->list[i].time_ns;
    }
    if (code == 0)
        code = order_by_time(order, memory->count, times);
    for (size_t i = 0; i < memory->count && code == 0; i++)
        sorted[i] = memory->list[order[i]];
    free(order);
    free(times);
    if (code != 0) {
        free(sorted);
        return code;
    }
    free(memory->list);
    memory->list = sorted;
    return 0;
}

/* What gives memory back may not say how much it was. */
static int match(struct torch_memory *memory)
{
    struct keys addresses = { .width = 2 };
    uint32_t *last = malloc((memory->count + 1) * sizeof *last);
    int code = last ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < memory->count && code == 0; i++) {
        struct memory_event *event = &memory->list[i];
        size_t before = addresses.count;
        uint32_t key = keys_add(&addresses, (int64_t[]){ event->place, event->address });
        code = key == NO_KEY ? ERR_NO_MEMORY : 0;
        if (code != 0)
            break;
        if (key == before)
            last[key] = NO_EVENT_INDEX;
        if (event->bytes > 0)
            last[key] = (uint32_t)i;
        else if (last[key] != NO_EVENT_INDEX) {
            memory->list[last[key]].until = (uint32_t)i;
            last[key] = NO_EVENT_INDEX;
        }
    }
    keys_free(&addresses);
    free(last);
    return code;
}

/* Sums are made where the allocator did not say them. */
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
        memory->places[i] = (struct memory_place){ key[0], key[1], key[2], 0, NO_EVENT_INDEX };
    }
    for (size_t i = 0; i < memory->count; i++) {
        struct memory_event *event = &memory->list[i];
        struct memory_place *place = &memory->places[event->place];
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

static int find_operators(struct torch_memory *memory)
{
    struct operators_moment *moments = malloc((memory->count + 1) * sizeof *moments);
    uint32_t *order = malloc((memory->count + 1) * sizeof *order), *found = malloc((memory->count + 1) * sizeof *found);
    int code = moments && order && found ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < memory->count && code == 0; i++) {
        moments[i] = (struct operators_moment){ memory->list[i].thread, memory->list[i].time_ns };
        order[i] = (uint32_t)i;
    }
    if (code == 0)
        code = operators_at(&memory->operators, moments, order, memory->count, found);
    for (size_t i = 0; i < memory->count && code == 0; i++)
        memory->list[i].operator= found[i];
    free(moments);
    free(order);
    free(found);
    return code;
}

/* A capture without operators has memory all the same. */
static int read_operators(struct torch_memory *memory, struct report *report, const struct analysis_request *request,
                          struct error *err)
{
    int code = operators_read(&memory->operators, report, request, err);

    if (code == ERR_NO_DATA) {
        *err = (struct error){ 0 };
        code = 0;
    }
    if (code == 0 && operators_nest(&memory->operators) != 0)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the operators");
    return code;
}

int torch_memory_read(struct torch_memory *memory, struct report *report, const struct analysis_request *request,
                      struct error *err)
{
    struct reading reading = { .memory = memory, .report = report, .places.width = 3 };

    *memory = (struct torch_memory){ 0 };
    int code = read_operators(memory, report, request, err);
    if (code == 0)
        code = filter_open(&reading.filter, report, request, err);
    if (code == 0)
        code = read_events(&reading, err);
    if (code == 0 && (sort(memory) != 0 || match(memory) != 0 || find_peaks(memory, &reading.places) != 0 ||
                      find_operators(memory) != 0))
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the allocations");
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

int memory_is_at_peak(const struct torch_memory *memory, size_t event)
{
    const struct memory_event *taken = &memory->list[event];
    uint32_t peak = memory->places[taken->place].peak;

    return taken->bytes > 0 && event <= peak && (taken->until == NO_EVENT_INDEX || taken->until > peak);
}

void memory_place_label(struct text *out, const struct memory_place *place)
{
    text_clear(out);
    if (place->device_type == DEVICE_CPU)
        text_add(out, "CPU");
    else
        text_addf(out, "%s %lld", place->device_type == DEVICE_CUDA ? "CUDA" : "Device", (long long)place->device);
}
