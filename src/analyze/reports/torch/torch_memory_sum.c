/* torch_memory_sum, torch_memory_peak and torch_memory_trace: memory that operators allocated, the allocations in use
 * at the peak, and every allocation in order of time. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/torch/torch_frames.h"
#include "analyze/model/torch/torch_memory.h"
#include "analyze/registry.h"

static int memory_sum_set_place(struct table *table, struct table_cell *device, struct table_cell *pid,
                                const struct torch_memory_place *place)
{
    struct text label = { 0 };

    torch_memory_place_label(&label, place);
    cell_set_int(pid, global_pid_number(place->process));
    int code = cell_set_built(table, device, &label);
    text_free(&label);
    return code;
}

static uint32_t memory_sum_name_of(const struct operators *operators, uint32_t at)
{
    return at == NO_OPERATOR ? NO_TEXT : operators->list[at].name;
}

/* ---- torch_memory_sum ------------------------------------------------------------------------------------------ */

enum {
    CALLS,
    AT_PEAK,
    TAKEN_TOTAL,
    TAKEN_SELF,
    GIVEN_SELF,
    NET_TOTAL,
    NET_SELF,
    TAKEN_COUNT,
    SUM_FIGURES,
    SUM_NAME = SUM_FIGURES,
    SUM_DEVICE,
    SUM_PID,
    SUM_CELLS
};
struct memory_sums {
    int64_t of[SUM_FIGURES];
};

/* A trace may hold any number: a sum can be wrong, but it must not overflow. */
static void memory_sum_add_to(int64_t *sum, int64_t bytes)
{
    *sum = saturating_add(*sum, bytes);
}

/* Sums the events of one device by operator. The last entry is for events outside of all operators. */
static void sum_place(const struct torch_memory *memory, uint32_t place, struct memory_sums *by_operator)
{
    const struct operators *operators = &memory->operators;

    memset(by_operator, 0, (operators->count + 1) * sizeof *by_operator);
    for (size_t i = 0; i < memory->count; i++) {
        const struct torch_memory_event *event = &memory->list[i];
        if (event->place != place)
            continue;
        int64_t *own = by_operator[event->op == NO_OPERATOR ? operators->count : event->op].of;
        memory_sum_add_to(&own[event->bytes > 0 ? TAKEN_SELF : GIVEN_SELF],
                          event->bytes > 0 ? event->bytes : saturating_duration(event->bytes, 0));
        own[TAKEN_COUNT] += event->bytes > 0;
        memory_sum_add_to(&own[AT_PEAK], torch_memory_is_at_peak(memory, i) ? event->bytes : 0);
    }
    for (size_t i = operators->count + 1; i-- > 0;) { /* parents come before their children */
        int64_t *own = by_operator[i].of;
        own[NET_SELF] = saturating_duration(own[GIVEN_SELF], own[TAKEN_SELF]);
        memory_sum_add_to(&own[NET_TOTAL], own[NET_SELF]);
        memory_sum_add_to(&own[TAKEN_TOTAL], own[TAKEN_SELF]);
        uint32_t parent = i < operators->count ? operators->list[i].parent : NO_OPERATOR;
        if (parent != NO_OPERATOR) {
            memory_sum_add_to(&by_operator[parent].of[NET_TOTAL], own[NET_TOTAL]);
            memory_sum_add_to(&by_operator[parent].of[TAKEN_TOTAL], own[TAKEN_TOTAL]);
        }
    }
}

static int memory_sum_is_counted(const struct operators_event *op, const struct torch_memory_place *place)
{
    return (op->kind == OPERATOR || op->kind == OPERATOR_ANNOTATION) && !op->is_collapsed &&
           global_process(op->thread) == place->process;
}

/* Joins the figures of operators with the same name. */
static int sum_names(struct memory_sums *sums, struct keys *names, const struct torch_memory *memory, uint32_t place,
                     const struct memory_sums *by_operator)
{
    const struct operators *operators = &memory->operators;

    for (size_t i = 0; i <= operators->count; i++) {
        if (i < operators->count && !memory_sum_is_counted(&operators->list[i], &memory->places[place]))
            continue;
        uint32_t key = keys_add(names, (int64_t[]){ i < operators->count ? operators->list[i].name : NO_TEXT });
        if (key == NO_KEY)
            return ERR_NO_MEMORY;
        for (int f = 0; f < SUM_FIGURES; f++)
            memory_sum_add_to(&sums[key].of[f], f == CALLS ? i < operators->count : by_operator[i].of[f]);
    }
    return 0;
}

static int add_sum_row(struct table *table, const struct torch_memory *memory, uint32_t place, uint32_t name,
                       const struct memory_sums *sums)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    for (int f = 0; f < SUM_FIGURES; f++)
        cell_set_int(&row[f], sums->of[f]);
    if (operators_cell(table, &row[SUM_NAME], &memory->operators, name) != 0)
        return ERR_NO_MEMORY;
    return memory_sum_set_place(table, &row[SUM_DEVICE], &row[SUM_PID], &memory->places[place]);
}

static int memory_sum_add_sums(struct table *table, const struct torch_memory *memory, uint32_t place,
                               const struct memory_sums *by_operator)
{
    struct keys names = { .width = 1 };
    struct memory_sums *sums = calloc(memory->operators.texts.count + 2, sizeof *sums);
    int code = ERR_NO_MEMORY;

    if (!sums)
        return code;
    if ((code = sum_names(sums, &names, memory, place, by_operator)) != 0)
        goto done;
    for (uint32_t key = 0; key < names.count; key++) {
        const int64_t *of = sums[key].of;
        if (!of[TAKEN_TOTAL] && !of[GIVEN_SELF] && !of[NET_TOTAL])
            continue;
        if ((code = add_sum_row(table, memory, place, (uint32_t)*keys_get(&names, key), &sums[key])) != 0)
            goto done;
    }
done:
    free(sums);
    keys_free(&names);
    return code;
}

static int memory_sum_fill_sums(struct table *table, const struct torch_memory *memory)
{
    struct memory_sums *by_operator = malloc((memory->operators.count + 1) * sizeof *by_operator);
    int code = 0;

    if (!by_operator)
        return ERR_NO_MEMORY;
    for (uint32_t place = 0; place < memory->place_count; place++) {
        sum_place(memory, place, by_operator);
        if ((code = memory_sum_add_sums(table, memory, place, by_operator)) != 0)
            goto free_sums;
    }
    table_sort_by(table, BY(DOWN(AT_PEAK), DOWN(TAKEN_SELF), DOWN(TAKEN_TOTAL), SUM_NAME, SUM_DEVICE));
free_sums:
    free(by_operator);
    return code;
}

static const struct table_column memory_sum_columns[SUM_CELLS] = {
    { "Calls", CELL_INT, UNIT_NONE, 0 },
    { "At Peak", CELL_INT, UNIT_BYTES, 0 },
    { "Allocated Total", CELL_INT, UNIT_BYTES, 0 },
    { "Allocated Self", CELL_INT, UNIT_BYTES, 0 },
    { "Freed Self", CELL_INT, UNIT_BYTES, 0 },
    { "Net Total", CELL_INT, UNIT_BYTES, 0 },
    { "Net Self", CELL_INT, UNIT_BYTES, 0 },
    { "Allocations Self", CELL_INT, UNIT_NONE, 0 },
    { "Operator", CELL_TEXT, UNIT_NAME, 0 },
    { "Device", CELL_TEXT, UNIT_NONE, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },
};
REPORT_RUN(torch_memory_sum, struct torch_memory, memory_sum_columns, torch_memory_read, memory_sum_fill_sums,
           torch_memory_free)

/* ---- torch_memory_peak ----------------------------------------------------------------------------------------- */

enum {
    PEAK_SHARE,
    PEAK_BYTES,
    PEAK_COUNT,
    PEAK_OPERATOR,
    PEAK_INNERMOST,
    PEAK_SHAPES,
    PEAK_MODULE,
    PEAK_LINE,
    PEAK_SINCE,
    PEAK_TIME,
    PEAK_DEVICE,
    PEAK_PID,
    PEAK_CELLS
};
enum { KEY_PLACE, KEY_OPERATOR, KEY_INNERMOST, KEY_SHAPES, KEY_MODULE, KEY_LINE, KEY_WIDTH };
struct peak_group {
    int64_t bytes, count, since_ns;
};

static const struct table_column peak_columns[PEAK_CELLS] = {
    { "Share", CELL_REAL, UNIT_PERCENT, 1 },     { "Bytes", CELL_INT, UNIT_BYTES, 0 },
    { "Allocations", CELL_INT, UNIT_NONE, 0 },   { "Operator", CELL_TEXT, UNIT_NAME, 0 },
    { "Allocated In", CELL_TEXT, UNIT_NONE, 0 }, { "Shapes", CELL_TEXT, UNIT_NONE, 0 },
    { "Module", CELL_TEXT, UNIT_NONE, 0 },       { "Line", CELL_TEXT, UNIT_NONE, 0 },
    { "Since", CELL_INT, UNIT_TIME, 0 },         { "Peak", CELL_INT, UNIT_TIME, 0 },
    { "Device", CELL_TEXT, UNIT_NONE, 0 },       { "PID", CELL_INT, UNIT_ID, 0 },
};

/* The operator that the program called: the outermost one below all annotations. */
static uint32_t outermost(const struct operators *operators, uint32_t at)
{
    uint32_t found = at;

    for (; at != NO_OPERATOR; at = operators->list[at].parent)
        if (operators->list[at].kind == OPERATOR)
            found = at;
    return found;
}

/* The shapes of the operator that the program called or, if it has none, of the next one inside it that has some. */
static uint32_t shapes_of(const struct operators *operators, uint32_t at)
{
    uint32_t shapes = NO_TEXT;

    for (; at != NO_OPERATOR; at = operators->list[at].parent)
        if (operators->list[at].shapes != NO_TEXT && operators->list[at].kind == OPERATOR)
            shapes = operators->list[at].shapes;
    return shapes;
}

static uint32_t peak_key(struct keys *keys, const struct torch_memory *memory, const struct torch_frames *frames,
                         const struct torch_memory_event *event)
{
    const struct operators *operators = &memory->operators;
    uint32_t inner = event->op, outer = outermost(operators, inner),
             module = inner == NO_OPERATOR ? NO_OPERATOR : frames->module[inner];
    int64_t key[KEY_WIDTH] = {
        [KEY_PLACE] = event->place,
        [KEY_OPERATOR] = memory_sum_name_of(operators, outer),
        [KEY_INNERMOST] = memory_sum_name_of(operators, inner),
        [KEY_SHAPES] = shapes_of(operators, inner),
        [KEY_MODULE] = memory_sum_name_of(&frames->modules, module),
        [KEY_LINE] = inner == NO_OPERATOR ? NO_TEXT : frames->line[inner],
    };

    return keys_add(keys, key);
}

static int add_peak_row(struct table *table, const struct torch_memory_place *place, int64_t peak_ns,
                        const struct peak_group *group, struct table_cell **out)
{
    struct table_cell *row = *out = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (place->peak_bytes > 0)
        cell_set_real(&row[PEAK_SHARE], 100.0 * (double)group->bytes / (double)place->peak_bytes);
    cell_set_int(&row[PEAK_BYTES], group->bytes);
    if (group->count) {
        cell_set_int(&row[PEAK_COUNT], group->count);
        cell_set_int(&row[PEAK_SINCE], group->since_ns);
    }
    cell_set_int(&row[PEAK_TIME], peak_ns);
    return memory_sum_set_place(table, &row[PEAK_DEVICE], &row[PEAK_PID], place);
}

static int64_t peak_time(const struct torch_memory *memory, uint32_t place)
{
    return memory->list[memory->places[place].peak].time_ns;
}

static int memory_sum_add_groups(struct table *table, const struct torch_memory *memory,
                                 const struct torch_frames *frames, const struct keys *keys,
                                 const struct peak_group *groups)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        const int64_t *key = keys_get(keys, i);
        uint32_t place = (uint32_t)key[KEY_PLACE];
        struct table_cell *row;
        if (add_peak_row(table, &memory->places[place], peak_time(memory, place), &groups[i], &row) != 0 ||
            operators_cell(table, &row[PEAK_OPERATOR], &memory->operators, (uint32_t)key[KEY_OPERATOR]) != 0 ||
            operators_cell(table, &row[PEAK_INNERMOST], &memory->operators, (uint32_t)key[KEY_INNERMOST]) != 0 ||
            operators_cell(table, &row[PEAK_SHAPES], &memory->operators, (uint32_t)key[KEY_SHAPES]) != 0 ||
            operators_cell(table, &row[PEAK_MODULE], &frames->modules, (uint32_t)key[KEY_MODULE]) != 0 ||
            operators_cell(table, &row[PEAK_LINE], &frames->lines, (uint32_t)key[KEY_LINE]) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Adds the memory that was allocated before the capture began. */
static int add_older(struct table *table, const struct torch_memory *memory, const int64_t *known)
{
    static const char label[] = "[before the capture]";

    for (uint32_t place = 0; place < memory->place_count; place++) {
        struct peak_group older = { .bytes = saturating_duration(known[place], memory->places[place].peak_bytes) };
        struct table_cell *row;
        if (older.bytes <= 0)
            continue;
        if (add_peak_row(table, &memory->places[place], peak_time(memory, place), &older, &row) != 0 ||
            cell_set_text(table, &row[PEAK_OPERATOR], label, sizeof label - 1) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int fill_peak(struct table *table, const struct torch_memory *memory, const struct torch_frames *frames)
{
    struct keys keys = { .width = KEY_WIDTH };
    struct peak_group *groups = calloc(memory->count + 1, sizeof *groups);
    int64_t *known = calloc(memory->place_count + 1, sizeof *known);
    int code = ERR_NO_MEMORY;

    if (!groups || !known)
        goto done;
    for (size_t i = 0; i < memory->count; i++) {
        const struct torch_memory_event *event = &memory->list[i];
        if (!torch_memory_is_at_peak(memory, i))
            continue;
        uint32_t key = peak_key(&keys, memory, frames, event);
        if (key == NO_KEY)
            goto done;
        if (groups[key].count++ == 0)
            groups[key].since_ns = event->time_ns;
        memory_sum_add_to(&groups[key].bytes, event->bytes);
        memory_sum_add_to(&known[event->place], event->bytes);
    }
    if ((code = memory_sum_add_groups(table, memory, frames, &keys, groups)) != 0)
        goto done;
    if ((code = add_older(table, memory, known)) != 0)
        goto done;
    table_sort_by(table, BY(DOWN(PEAK_BYTES), PEAK_SINCE));
done:
    free(groups);
    free(known);
    keys_free(&keys);
    return code;
}

static int torch_memory_peak(struct report *report, const struct analysis_request *request, struct table **out,
                             struct error *err)
{
    struct table *table = table_new(peak_columns, PEAK_CELLS);
    struct torch_memory memory = { 0 };
    struct torch_frames frames = { 0 };
    int code;

    if ((code = torch_memory_read(&memory, report, request, err)) != 0)
        goto done;
    if ((code = torch_frames_read(&frames, &memory.operators, report, request, err)) != 0)
        goto done;
    code = table ? fill_peak(table, &memory, &frames) : ERR_NO_MEMORY;
done:
    torch_frames_free(&frames);
    torch_memory_free(&memory);
    return table_hand_over(table, code, out, err);
}

/* ---- torch_memory_trace ---------------------------------------------------------------------------------------- */

enum {
    TRACE_TIME,
    TRACE_BYTES,
    TRACE_ALLOCATED,
    TRACE_RESERVED,
    TRACE_LIFETIME,
    TRACE_ADDRESS,
    TRACE_NAME,
    TRACE_DEVICE,
    TRACE_PID,
    TRACE_TID,
    TRACE_CELLS
};

static int memory_sum_add_event(struct table *table, const struct torch_memory *memory,
                                const struct torch_memory_event *event)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[TRACE_TIME], event->time_ns);
    cell_set_int(&row[TRACE_BYTES], event->bytes);
    cell_set_int(&row[TRACE_ALLOCATED], event->allocated);
    if (event->reserved != MEMORY_UNKNOWN)
        cell_set_int(&row[TRACE_RESERVED], event->reserved);
    if (event->until != NO_EVENT_INDEX)
        cell_set_int(&row[TRACE_LIFETIME], saturating_duration(event->time_ns, memory->list[event->until].time_ns));
    cell_set_int(&row[TRACE_ADDRESS], event->address);
    cell_set_int(&row[TRACE_TID], global_tid_number(event->thread));
    if (operators_cell(table, &row[TRACE_NAME], &memory->operators,
                       memory_sum_name_of(&memory->operators, event->op)) != 0)
        return ERR_NO_MEMORY;
    return memory_sum_set_place(table, &row[TRACE_DEVICE], &row[TRACE_PID], &memory->places[event->place]);
}

static int memory_sum_fill_trace(struct table *table, const struct torch_memory *memory)
{
    for (size_t i = 0; i < memory->count; i++)
        if (memory_sum_add_event(table, memory, &memory->list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static const struct table_column memory_trace_columns[TRACE_CELLS] = {
    { "Time", CELL_INT, UNIT_TIME, 0 },       { "Bytes", CELL_INT, UNIT_BYTES, 0 },
    { "Allocated", CELL_INT, UNIT_BYTES, 0 }, { "Reserved", CELL_INT, UNIT_BYTES, 0 },
    { "Lifetime", CELL_INT, UNIT_NS, 0 },     { "Address", CELL_INT, UNIT_ID, 0 },
    { "Operator", CELL_TEXT, UNIT_NAME, 0 },  { "Device", CELL_TEXT, UNIT_NONE, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },          { "TID", CELL_INT, UNIT_ID, 0 },
};
REPORT_RUN(torch_memory_trace, struct torch_memory, memory_trace_columns, torch_memory_read, memory_sum_fill_trace,
           torch_memory_free)

const struct analysis analysis_torch_memory_sum = {
    .name = "torch_memory_sum",
    .title = "PyTorch Memory Summary",
    .help = "Memory that each operator allocated and freed on each device, by itself (Self) and with its callees "
            "(Total), and how much of it was in use when the memory of the device was at its peak. The row without a "
            "name has allocations outside of operators.",
    .needs = { { "memory events", torch_memory_tables } },
    .run = torch_memory_sum,
};

const struct analysis analysis_torch_memory_peak = {
    .name = "torch_memory_peak",
    .title = "PyTorch Peak Memory",
    .help = "Memory in use on each device at its peak, by the operator that the program called, the inner operator "
            "that allocated the memory, its shapes, module and Python line, as far as they were recorded.",
    .needs = { { "memory events", torch_memory_tables } },
    .run = torch_memory_peak,
};

const struct analysis analysis_torch_memory_trace = {
    .name = "torch_memory_trace",
    .title = "PyTorch Memory Trace",
    .help = "All allocations and frees by time: allocated and reserved memory after each, the lifetime of the memory, "
            "and the operator.",
    .needs = { { "memory events", torch_memory_tables } },
    .run = torch_memory_trace,
};
