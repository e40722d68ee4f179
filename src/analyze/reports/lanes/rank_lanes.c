/* Reads whole columns, since maps and paces need all events of a lane in order of time. */
#include "rank_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/gpu.h"
#include "analyze/model/names/communication.h"
#include "base/array.h"

const struct lane_source lane_kernels = {
    .table = "CUPTI_ACTIVITY_KIND_KERNEL", .name = "shortName", .name_or = "demangledName", .is_of_gpu = 1
};

enum { START, END, THREAD, RANK, NAME, NAME_OR, CORRELATION, DEVICE, STREAM, COLUMNS };

/* ---- reading ----------------------------------------------------------------------------------------------------*/

static int64_t rank_lanes_value_or(const struct report_columns *columns, int column, size_t row, int64_t value_of_null)
{
    return columns_is_null(columns, (size_t)column, row) ? value_of_null : columns->values[column][row];
}

static int rank_lanes_counts(const struct report_columns *columns, const struct lane_source *source, size_t row,
                             const struct filter *filter)
{
    int64_t *const *values = columns->values, thread = rank_lanes_value_or(columns, THREAD, row, 0);

    if (columns_is_null(columns, START, row) || columns_is_null(columns, END, row))
        return 0;
    if (!source->is_of_gpu)
        return filter_thread(filter, thread, values[START][row], values[END][row]);
    struct filter_gpu_work work = {
        values[START][row],
        values[END][row],
        thread,
        rank_lanes_value_or(columns, CORRELATION, row, NO_CORRELATION),
        rank_lanes_value_or(columns, DEVICE, row, 0),
        rank_lanes_value_or(columns, STREAM, row, 0),
    };
    return filter_gpu(filter, &work);
}

uint32_t lanes_lane(struct lanes *lanes, int64_t rank, int64_t process, int64_t device)
{
    if (rank < 0)
        rank = process_rank_of(&lanes->ranks, process);
    return keys_add(&lanes->keys, (int64_t[]){ rank, process, device });
}

int lanes_add(struct lanes *lanes, const struct lane_event *event)
{
    if (event->lane == NO_KEY || array_reserve(&lanes->events, &lanes->room, lanes->count + 1, sizeof *event) != 0)
        return ERR_NO_MEMORY;
    lanes->events[lanes->count++] = *event;
    return 0;
}

static int rank_lanes_add_rows(struct lanes *lanes, const struct report_columns *columns,
                               const struct lane_source *source, const struct filter *filter, int by_device)
{
    for (size_t row = 0; row < columns->rows; row++) {
        if (!rank_lanes_counts(columns, source, row, filter))
            continue;
        int64_t device = by_device ? rank_lanes_value_or(columns, DEVICE, row, LANE_NO_DEVICE) : LANE_NO_DEVICE;
        int64_t full = rank_lanes_value_or(columns, NAME_OR, row, rank_lanes_value_or(columns, NAME, row, 0));
        struct lane_event event = {
            .start_ns = columns->values[START][row],
            .end_ns = columns->values[END][row],
            .name = rank_lanes_value_or(columns, NAME, row, full),
            .full_name = full,
            .lane = lanes_lane(lanes, rank_lanes_value_or(columns, RANK, row, LANE_NO_RANK),
                               global_process(rank_lanes_value_or(columns, THREAD, row, 0)), device),
            .kind = source->kind,
        };
        if (lanes_add(lanes, &event) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int lanes_open(struct lanes *lanes, struct report *report, struct error *err)
{
    *lanes = (struct lanes){ .keys.width = LANE_PARTS };
    return process_ranks_read(&lanes->ranks, report, err);
}

static int rank_lanes_read_source(struct lanes *lanes, struct report *report, const struct lane_source *source,
                                  const struct filter *filter, int by_device, struct error *err)
{
    const char *const names[COLUMNS] = {
        "start",         "end",        source->is_of_gpu ? "globalPid" : "globalTid",
        "rank",          source->name, source->name_or ? source->name_or : source->name,
        "correlationId", "deviceId",   "streamId",
    };
    struct report_columns columns = { 0 };
    int code = columns_read(report, source->table, names, COLUMNS, &columns, err);

    if (code != 0)
        return code;
    if (rank_lanes_add_rows(lanes, &columns, source, filter, by_device) != 0)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the events of %s", source->table);
    report_columns_free(&columns);
    return code;
}

int lanes_read(struct lanes *lanes, struct report *report, const struct analysis_request *request,
               const struct lane_source *sources, size_t source_count, int by_device, struct error *err)
{
    struct filter filter = { 0 };
    int code;

    if ((code = lanes_open(lanes, report, err)) != 0)
        return code;
    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto close_filter;
    for (size_t i = 0; i < source_count; i++)
        if ((code = rank_lanes_read_source(lanes, report, &sources[i], &filter, by_device, err)) != 0)
            goto close_filter;
    if (lanes_sort(lanes) != 0)
        code = error_short_memory(err, "to sort the events");
close_filter:
    filter_close(&filter);
    return code;
}

/* ---- order ------------------------------------------------------------------------------------------------------*/

static int compare_events(const void *a, const void *b)
{
    const struct lane_event *x = a, *y = b;
    int order = COMPARE(x->lane, y->lane) ?: COMPARE(x->start_ns, y->start_ns);

    return order ?: COMPARE(x->end_ns, y->end_ns) ?: COMPARE(x->name, y->name);
}

static int compare_lanes(const void *a, const void *b, void *context)
{
    const struct keys *keys = context;
    const int64_t *x = keys_get(keys, *(const uint32_t *)a), *y = keys_get(keys, *(const uint32_t *)b);

    for (int i = 0; i < LANE_PARTS; i++)
        if (x[i] != y[i])
            return (uint64_t)x[i] < (uint64_t)y[i] ? -1 : 1; /* without a rank: last */
    return 0;
}

int lanes_sort(struct lanes *lanes)
{
    size_t count = lanes->keys.count, at = 0;

    lanes->first = malloc((count + 1) * sizeof *lanes->first);
    lanes->order = malloc((count + 1) * sizeof *lanes->order);
    if (!lanes->first || !lanes->order)
        return ERR_NO_MEMORY;
    if (lanes->count)
        qsort(lanes->events, lanes->count, sizeof *lanes->events, compare_events);
    for (uint32_t lane = 0; lane < count; lane++) {
        lanes->order[lane] = lane;
        lanes->first[lane] = at;
        while (at < lanes->count && lanes->events[at].lane == lane)
            at++;
    }
    lanes->first[count] = at;
    qsort_r(lanes->order, count, sizeof *lanes->order, compare_lanes, &lanes->keys);
    return 0;
}

void lanes_free(struct lanes *lanes)
{
    process_ranks_free(&lanes->ranks);
    keys_free(&lanes->keys);
    free(lanes->events);
    free(lanes->first);
    free(lanes->order);
    *lanes = (struct lanes){ 0 };
}

/* ---- use --------------------------------------------------------------------------------------------------------*/

static int is_of_nccl(struct report *report, int64_t id)
{
    return communication_of_kernel(report_string(report, id, NULL)) == COMMUNICATION_NCCL;
}

int lane_is_nccl_kernel(struct report *report, const struct lane_event *event)
{
    return is_of_nccl(report, event->name) || is_of_nccl(report, event->full_name);
}

int lanes_cover(const struct lanes *lanes, uint32_t lane, unsigned kinds, size_t least, struct coverage *out)
{
    size_t from = lanes->first[lane], to = lanes->first[lane + 1], count = 0;
    struct coverage_interval *list = malloc((to - from + 1) * sizeof *list);

    *out = (struct coverage){ 0 };
    if (!list)
        return ERR_NO_MEMORY;
    for (size_t i = from; i < to; i++)
        if (kinds >> lanes->events[i].kind & 1)
            list[count++] = (struct coverage_interval){ lanes->events[i].start_ns, lanes->events[i].end_ns };
    int code = coverage_make(out, list, count, least);
    free(list);
    return code;
}

void lane_set_cells(const struct lanes *lanes, uint32_t lane, struct table_cell *rank, struct table_cell *pid,
                    struct table_cell *device)
{
    const int64_t *key = keys_get(&lanes->keys, lane);

    if (key[LANE_RANK] != LANE_NO_RANK)
        cell_set_int(rank, key[LANE_RANK]);
    cell_set_int(pid, global_pid_number(key[LANE_PROCESS]));
    if (device && key[LANE_DEVICE] != LANE_NO_DEVICE)
        cell_set_int(device, key[LANE_DEVICE]);
}
