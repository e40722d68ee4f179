/* Reads operators that PyTorch's own profiler or the observer of a capture recorded. If calls have external ids, work
 * on GPUs belongs to the operator with the id of its call. An allocation belongs to every operator that ran at its
 * time, in any thread. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "operators_gpu.h"

struct operators_torch_reading {
    struct operators *operators;
    struct report *report;
    const struct filter *filter;
    struct operators_pool names, texts;
    struct keys externals; /* process and external id */
    uint32_t *by_external; /* owned; by externals, an operator */
    struct keys links;     /* process and correlation id */
    uint32_t *by_link;     /* owned; by links, an operator */
};

/* ---- operators and annotations --------------------------------------------------------------------------------- */

enum { START, END, THREAD, NAME, CATEGORY, EXTERNAL, SEQUENCE, FORWARD, SHAPES, TYPES, STRIDES, VALUES, STACK };
static const char *const operators_torch_op_columns[] = {
    [START] = "start",
    [END] = "end",
    [THREAD] = "globalTid",
    [NAME] = "nameId",
    [CATEGORY] = "category",
    [EXTERNAL] = "externalId",
    [SEQUENCE] = "sequenceNumber",
    [FORWARD] = "forwardThread",
    [SHAPES] = "inputDimsId",
    [TYPES] = "inputTypesId",
    [STRIDES] = "inputStridesId",
    [VALUES] = "concreteInputsId",
    [STACK] = "callStackId",
    NULL,
};

static int operators_torch_kind_of(struct report *report, int64_t category)
{
    static const struct {
        const char *name;
        enum operator_kind kind;
    } kinds[] = {
        { "cpu_op", OPERATOR },
        { "user_annotation", OPERATOR_ANNOTATION },
        { "gpu_user_annotation", OPERATOR_GPU_ANNOTATION },
    };
    const char *name = report_string(report, category, NULL);

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(name, kinds[i].name) == 0)
            return (int)kinds[i].kind;
    return -1;
}

static int operators_torch_add_text(struct operators_torch_reading *reading, const struct row_cursor *rows,
                                    size_t column, uint32_t *out)
{
    if (row_is_null(rows, column))
        return 0;
    *out = operators_pool_text(&reading->texts, row_int(rows, column), TEXT_PLAIN);
    return *out == NO_TEXT ? ERR_NO_MEMORY : 0;
}

/* The first operator with an external id gets the work of its calls. */
static int add_external(struct operators_torch_reading *reading, const struct operators_event *op, int64_t external)
{
    size_t before = reading->externals.count;
    uint32_t key = keys_add(&reading->externals, (int64_t[]){ global_process(op->thread), external });

    if (key == NO_KEY)
        return ERR_NO_MEMORY;
    if (key == before)
        reading->by_external[key] = (uint32_t)(op - reading->operators->list);
    return 0;
}

static int operators_torch_add_op(struct operators_torch_reading *reading, const struct row_cursor *rows,
                                  enum operator_kind kind)
{
    uint32_t name = operators_pool_text(&reading->names, row_int(rows, NAME), TEXT_NAME);

    if (name == HIDDEN_TEXT)
        return 0;
    struct operators_event *op = name == NO_TEXT ? NULL : operators_add(reading->operators);
    if (!op)
        return ERR_NO_MEMORY;
    op->kind = (unsigned char)kind;
    op->name = name;
    op->start_ns = row_int(rows, START);
    op->end_ns = row_int_or(rows, END, op->start_ns);
    op->thread = row_int_or(rows, THREAD, 0);
    op->sequence = row_int_or(rows, SEQUENCE, -1);
    op->is_backward = row_int_or(rows, FORWARD, 0) > 0;
    if (operators_torch_add_text(reading, rows, SHAPES, &op->shapes) != 0 ||
        operators_torch_add_text(reading, rows, TYPES, &op->types) != 0 ||
        operators_torch_add_text(reading, rows, STRIDES, &op->strides) != 0 ||
        operators_torch_add_text(reading, rows, VALUES, &op->values) != 0 ||
        operators_torch_add_text(reading, rows, STACK, &op->stack) != 0)
        return ERR_NO_MEMORY;
    if (row_is_null(rows, EXTERNAL) || !operator_is_cpu(kind))
        return 0;
    return add_external(reading, op, row_int(rows, EXTERNAL));
}

/* An annotation on a GPU has no thread; it lies where its work does. */
static int operators_torch_counts(const struct operators_torch_reading *reading, const struct row_cursor *rows,
                                  enum operator_kind kind)
{
    int64_t start = row_int(rows, START), end = row_int_or(rows, END, start), thread = row_int_or(rows, THREAD, 0);

    return operator_is_cpu(kind) ? filter_thread(reading->filter, thread, start, end)
                                 : filter_process(reading->filter, thread, start, end);
}

static int operators_torch_add_ops(struct operators_torch_reading *reading, struct row_cursor *rows)
{
    int64_t category = -1;
    int kind = -1;

    reading->by_external = malloc((rows->columns.rows + 1) * sizeof *reading->by_external);
    if (!reading->by_external)
        return ERR_NO_MEMORY;
    while (row_cursor_next(rows)) {
        if (row_int(rows, CATEGORY) != category) {
            category = row_int(rows, CATEGORY);
            kind = operators_torch_kind_of(reading->report, category);
            if (strcmp(report_string(reading->report, category, NULL), "Trace") == 0)
                reading->operators->start_ns = row_int(rows, START);
        }
        if (kind >= 0 && operators_torch_counts(reading, rows, (enum operator_kind)kind) &&
            operators_torch_add_op(reading, rows, (enum operator_kind)kind) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int operators_torch_read_ops(struct operators_torch_reading *reading, struct error *err)
{
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, reading->report, "TACHO_TORCH_OP", operators_torch_op_columns, err)) != 0)
        return code;
    if (operators_torch_add_ops(reading, &rows) != 0)
        code = error_short_memory(err, "for the operators");
    row_cursor_close(&rows);
    return code;
}

/* ---- work that they launched ----------------------------------------------------------------------------------- */

enum { LINK_PROCESS, LINK_CORRELATION, LINK_EXTERNAL };
static const char *const link_columns[] = {
    [LINK_PROCESS] = "globalPid", [LINK_CORRELATION] = "correlationId", [LINK_EXTERNAL] = "externalId", NULL
};

static int operators_torch_add_links(struct operators_torch_reading *reading, struct row_cursor *rows)
{
    reading->by_link = malloc((rows->columns.rows + 1) * sizeof *reading->by_link);
    if (!reading->by_link)
        return ERR_NO_MEMORY;
    while (row_cursor_next(rows)) {
        if (row_is_null(rows, LINK_CORRELATION) || row_is_null(rows, LINK_EXTERNAL))
            continue;
        int64_t process = row_int(rows, LINK_PROCESS);
        uint32_t external = keys_find(&reading->externals, (int64_t[]){ process, row_int(rows, LINK_EXTERNAL) });
        if (external == NO_KEY) /* its operator is hidden or does not pass the filter */
            continue;
        uint32_t link = keys_add(&reading->links, (int64_t[]){ process, row_int(rows, LINK_CORRELATION) });
        if (link == NO_KEY)
            return ERR_NO_MEMORY;
        reading->by_link[link] = reading->by_external[external];
    }
    return 0;
}

static int read_links(struct operators_torch_reading *reading, struct error *err)
{
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, reading->report, "TACHO_TORCH_LINK", link_columns, err)) != 0)
        return code;
    if (operators_torch_add_links(reading, &rows) != 0)
        code = error_short_memory(err, "for the operators' calls");
    row_cursor_close(&rows);
    return code;
}

static uint32_t operators_torch_owner_of(void *context, int64_t process, int64_t correlation)
{
    const struct operators_torch_reading *reading = context;
    uint32_t link = keys_find(&reading->links, (int64_t[]){ process, correlation });

    return link == NO_KEY ? NO_OPERATOR : reading->by_link[link];
}

/* Moves a call to the thread of its operator, since torch looks for its parent there. */
static int operators_torch_read_calls(struct operators_torch_reading *reading, struct error *err)
{
    struct calls calls;
    uint32_t *places;
    int code;

    if ((code = calls_read(&calls, reading->report, err)) != 0)
        return code;
    places = malloc((calls.count + 1) * sizeof *places);
    if ((!places || operators_add_calls(&reading->texts, &calls, places) != 0) &&
        (code = error_short_memory(err, "for the CUDA calls")) != 0)
        goto done;
    for (size_t i = 0; i < calls.count; i++) {
        if (places[i] == NO_OPERATOR || columns_is_null(&calls.columns, CALL_CORRELATION, i))
            continue;
        struct operators_event *list = reading->operators->list;
        uint32_t owner = operators_torch_owner_of(reading, global_process(calls.thread[i]),
                                                  calls.columns.values[CALL_CORRELATION][i]);
        if (owner != NO_OPERATOR)
            list[places[i]].thread = list[owner].thread;
    }
done:
    calls_free(&calls);
    free(places);
    return code;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

enum { TIME, EVENT, DEVICE_TYPE, BYTES, MEMORY_THREAD, MEMORY_COLUMNS };

/* The allocations and frees of one process, in order of time. */
struct memory {
    int64_t process;
    size_t count;
    int64_t *times;   /* owned */
    int64_t *sums[2]; /* owned; sum of bytes before each event, on the CPU and on devices */
    int32_t *covers;  /* owned; number of operators around an event, less that of the event before it */
};

static int memory_open(struct memory *memory, int64_t process, size_t rows)
{
    *memory = (struct memory){ .process = process };
    memory->times = malloc((rows + 1) * sizeof *memory->times);
    memory->covers = calloc(rows + 2, sizeof *memory->covers);
    for (int i = 0; i < 2; i++)
        memory->sums[i] = calloc(rows + 2, sizeof *memory->sums[i]);
    return memory->times && memory->covers && memory->sums[0] && memory->sums[1] ? 0 : ERR_NO_MEMORY;
}

static void memory_free(struct memory *memory)
{
    free(memory->times);
    free(memory->covers);
    free(memory->sums[0]);
    free(memory->sums[1]);
}

static int order_memory(struct memory *memory, const struct report_columns *columns,
                        const struct operators_torch_reading *reading)
{
    uint32_t *order = malloc((columns->rows + 1) * sizeof *order);
    size_t count = 0;
    int code;

    if (!order)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < columns->rows; row++)
        if (global_process(columns->values[MEMORY_THREAD][row]) == memory->process &&
            filter_process(reading->filter, memory->process, columns->values[TIME][row], columns->values[TIME][row]) &&
            strcmp(report_string(reading->report, columns->values[EVENT][row], NULL), "[memory]") == 0)
            order[count++] = (uint32_t)row;
    if ((code = order_by_time(order, count, columns->values[TIME])) != 0)
        goto free_order;
    for (size_t i = 0; i < count; i++) {
        int of_device = columns->values[DEVICE_TYPE][order[i]] != 0;
        memory->times[i] = columns->values[TIME][order[i]];
        memory->sums[of_device][i + 1] = saturating_add(memory->sums[of_device][i], columns->values[BYTES][order[i]]);
        memory->sums[!of_device][i + 1] = memory->sums[!of_device][i];
    }
    memory->count = count;
free_order:
    free(order);
    return code;
}

/* The number of events before the time; or, with also_at, before it or at it. */
static size_t count_before(const struct memory *memory, int64_t time, int also_at)
{
    return BISECT(0, memory->count, i, memory->times[i] < time || (also_at && memory->times[i] == time));
}

static void operators_torch_attribute(struct operators *operators, struct memory *memory)
{
    for (size_t i = 0; i < operators->count; i++) {
        struct operators_event *op = &operators->list[i];
        if (!operator_is_cpu((enum operator_kind)op->kind) || global_process(op->thread) != memory->process)
            continue;
        size_t first = count_before(memory, op->start_ns, 0), behind = count_before(memory, op->end_ns, 1);
        if (behind <= first)
            continue;
        for (int d = 0; d < 2; d++)
            op->bytes[d] = saturating_duration(memory->sums[d][first], memory->sums[d][behind]);
        memory->covers[first]++;
        memory->covers[behind]--;
    }
}

/* Allocations and frees outside of all operators become events of their own. */
static int add_uncovered(struct operators *operators, const struct memory *memory)
{
    int64_t covered = 0;

    for (size_t i = 0; i < memory->count; i++) {
        covered += memory->covers[i];
        if (covered)
            continue;
        struct operators_event *op = operators_add(operators);
        if (!op)
            return ERR_NO_MEMORY;
        op->kind = OPERATOR_MEMORY;
        op->start_ns = op->end_ns = memory->times[i];
        op->thread = memory->process;
        op->name = operators_intern(operators, "[memory]", strlen("[memory]"));
        for (int d = 0; d < 2; d++)
            op->bytes[d] = saturating_duration(memory->sums[d][i], memory->sums[d][i + 1]);
        if (op->name == NO_TEXT)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int read_process_memory(const struct operators_torch_reading *reading, const struct report_columns *columns,
                               int64_t process)
{
    struct memory memory;
    int code;

    if ((code = memory_open(&memory, process, columns->rows)) != 0 ||
        (code = order_memory(&memory, columns, reading)) != 0)
        goto free_memory;
    reading->operators->has_memory |= memory.count > 0; /* events that pass the filter */
    operators_torch_attribute(reading->operators, &memory);
    code = add_uncovered(reading->operators, &memory);
free_memory:
    memory_free(&memory);
    return code;
}

static int operators_torch_add_memory(const struct operators_torch_reading *reading,
                                      const struct report_columns *columns)
{
    struct keys processes = { .width = 1 };
    int code = ERR_NO_MEMORY;

    if (columns->rows >= UINT32_MAX)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < columns->rows; row++)
        if (keys_add(&processes, (int64_t[]){ global_process(columns->values[MEMORY_THREAD][row]) }) == NO_KEY)
            goto free_processes;
    for (uint32_t key = 0; key < processes.count; key++)
        if ((code = read_process_memory(reading, columns, keys_get(&processes, key)[0])) != 0)
            goto free_processes;
    code = 0;
free_processes:
    keys_free(&processes);
    return code;
}

static int operators_torch_read_memory(struct operators_torch_reading *reading, struct error *err)
{
    static const char *const names[MEMORY_COLUMNS] = {
        [TIME] = "timestamp",          [EVENT] = "event", [DEVICE_TYPE] = "deviceType", [BYTES] = "bytes",
        [MEMORY_THREAD] = "globalTid",
    };
    struct report_columns columns = { 0 };
    int code;

    if ((code = columns_read(reading->report, "TACHO_TORCH_MEMORY", names, MEMORY_COLUMNS, &columns, err)) != 0)
        return code;
    if (!columns.rows)
        goto free_columns;
    columns_fill_nulls(&columns, MEMORY_THREAD, 0);
    if (operators_torch_add_memory(reading, &columns) != 0)
        code = error_short_memory(err, "to attribute the allocations");
free_columns:
    report_columns_free(&columns);
    return code;
}

/* ---- settings -------------------------------------------------------------------------------------------------- */

/* Whether the trace was made with "with_flops": 1. */
static int operators_torch_read_settings(struct operators_torch_reading *reading, struct error *err)
{
    enum { SETTING, VALUE };
    static const char *const names[] = { [SETTING] = "name", [VALUE] = "value", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, reading->report, "TACHO_TORCH_METADATA", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows))
        if (strcmp(report_string(reading->report, row_int(&rows, SETTING), NULL), "with_flops") == 0)
            reading->operators->has_flops = strcmp(report_string(reading->report, row_int(&rows, VALUE), NULL), "1") ==
                                            0;
    row_cursor_close(&rows);
    return 0;
}

/* Traces of torch record the operator of each call; captures of running programs do not. */
static int read_linked_cuda(struct operators_torch_reading *reading, struct error *err)
{
    int code;

    if ((code = read_links(reading, err)) != 0 || (code = operators_torch_read_calls(reading, err)) != 0)
        return code;
    return operators_add_work(&reading->texts, operators_torch_owner_of, reading, err);
}

/* ---- Python functions ------------------------------------------------------------------------------------------ */

enum { PYTHON_START, PYTHON_END, PYTHON_THREAD, PYTHON_NAME, PYTHON_ARGS };
static const char *const operators_torch_python_columns[] = {
    [PYTHON_START] = "start", [PYTHON_END] = "end",     [PYTHON_THREAD] = "globalTid",
    [PYTHON_NAME] = "nameId", [PYTHON_ARGS] = "argsId", NULL
};

/* Whether the torch that made the trace lists Python functions among the operators. Traces have no version of torch,
 * but those of such versions also have the caller of each function. */
static int lists_python(struct report *report, const struct report_columns *columns)
{
    return columns->rows && !columns_is_null(columns, PYTHON_ARGS, 0) &&
           strstr(report_string(report, columns->values[PYTHON_ARGS][0], NULL), "\"CallFrom\"") != NULL;
}

static int operators_torch_add_function(struct operators_pool *texts, const struct row_cursor *rows)
{
    uint32_t name = operators_pool_text(texts, row_int(rows, PYTHON_NAME), TEXT_PLAIN);
    struct operators_event *function = name == NO_TEXT ? NULL : operators_add(texts->operators);

    if (!function)
        return ERR_NO_MEMORY;
    function->kind = OPERATOR_PYTHON;
    function->name = name;
    function->start_ns = row_int(rows, PYTHON_START);
    function->end_ns = row_int(rows, PYTHON_END);
    function->thread = row_int_or(rows, PYTHON_THREAD, 0);
    return 0;
}

static int operators_torch_add_functions(struct operators *operators, struct report *report, struct row_cursor *rows,
                                         const struct filter *filter)
{
    struct operators_pool texts = { .operators = operators, .report = report };
    int code = 0;

    while (row_cursor_next(rows)) {
        if (filter && !filter_thread(filter, row_int_or(rows, PYTHON_THREAD, 0), row_int(rows, PYTHON_START),
                                     row_int(rows, PYTHON_END)))
            continue;
        if ((code = operators_torch_add_function(&texts, rows)) != 0)
            goto free_texts;
    }
free_texts:
    operators_pool_free(&texts);
    return code;
}

/* With a filter, adds the functions that pass it, and only if torch lists them. */
static int operators_torch_add_python(struct operators *operators, struct report *report, const struct filter *filter,
                                      struct error *err)
{
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TACHO_TORCH_PYTHON", operators_torch_python_columns, err)) != 0)
        return code;
    if (filter && !lists_python(report, &rows.columns))
        goto close_rows;
    if (operators_torch_add_functions(operators, report, &rows, filter) != 0)
        code = error_short_memory(err, "for the Python functions");
close_rows:
    row_cursor_close(&rows);
    return code;
}

int operators_add_python(struct operators *operators, struct report *report, struct error *err)
{
    return operators_torch_add_python(operators, report, NULL, err);
}

/* ---- all tables ------------------------------------------------------------------------------------------------ */

/* Memory comes after all others, since it belongs to each of them that ran when it was allocated. */
static int operators_torch_read_all(struct operators_torch_reading *reading, int with_python, struct error *err)
{
    int code;

    if ((code = operators_torch_read_ops(reading, err)) != 0)
        return code;
    code = report_rows(reading->report, "TACHO_TORCH_LINK")
               ? read_linked_cuda(reading, err)
               : operators_add_cuda(reading->operators, reading->report, reading->filter, err);
    if (code != 0)
        return code;
    if (with_python &&
        (code = operators_torch_add_python(reading->operators, reading->report, reading->filter, err)) != 0)
        return code;
    if ((code = operators_torch_read_memory(reading, err)) != 0)
        return code;
    return operators_torch_read_settings(reading, err);
}

int operators_read_torch(struct operators *operators, struct report *report, const struct filter *filter,
                         int with_python, struct error *err)
{
    struct operators_torch_reading reading = {
        .operators = operators,
        .report = report,
        .filter = filter,
        .names = { .operators = operators, .report = report, .filter = filter },
        .texts = { .operators = operators, .report = report, .filter = filter },
        .externals.width = 2,
        .links.width = 2,
    };
    int code = operators_torch_read_all(&reading, with_python, err);

    operators_pool_free(&reading.names);
    operators_pool_free(&reading.texts);
    keys_free(&reading.externals);
    keys_free(&reading.links);
    free(reading.by_external);
    free(reading.by_link);
    return code;
}
