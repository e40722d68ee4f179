/* Operators as PyTorch's own profiler recorded them, or the observer of a capture. Work on GPUs belongs to the
 * operator whose external id its call carries, where calls carry one; memory to every operator that ran when it was
 * taken, in whatever thread. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "operators_gpu.h"

struct reading {
    struct operators *operators;
    struct report *report;
    const struct filter *filter;
    struct pool_texts names, texts;
    struct keys externals; /* process and external id, for each an operator in by_external */
    uint32_t *by_external; /* owned */
    struct keys links;     /* process and correlation id, for each an operator in by_link */
    uint32_t *by_link;     /* owned */
};

/* ---- operators and annotations --------------------------------------------------------------------------------- */

enum { START, END, THREAD, NAME, CATEGORY, EXTERNAL, SEQUENCE, FORWARD, SHAPES, VALUES, STACK, COLUMNS };
static const char *const op_columns[COLUMNS] = {
    "start",          "end",           "globalTid",   "nameId",           "category",   "externalId",
    "sequenceNumber", "forwardThread", "inputDimsId", "concreteInputsId", "callStackId"
};

static int kind_of(struct report *report, int64_t category)
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

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return (int)kinds[i].kind;
    return -1;
}

static int64_t value_or(const struct report_columns *columns, size_t column, size_t row, int64_t fallback)
{
    return columns_is_null(columns, column, row) ? fallback : columns->values[column][row];
}

static int add_text(struct reading *reading, const struct report_columns *columns, size_t column, size_t row,
                    uint32_t *out)
{
    if (columns_is_null(columns, column, row))
        return 0;
    *out = pool_text(&reading->texts, columns->values[column][row], TEXT_PLAIN);
    return *out == NO_TEXT ? ERR_NO_MEMORY : 0;
}

static int add_op(struct reading *reading, const struct report_columns *columns, size_t row, int kind)
{
    uint32_t name = pool_text(&reading->names, columns->values[NAME][row], TEXT_NAME);
    struct operator* operator= name == NO_TEXT || name == HIDDEN_TEXT ? NULL : operators_add(reading->operators);

    if (name == HIDDEN_TEXT)
        return 0;
    if (!operator)
        return ERR_NO_MEMORY;
    operator->kind =(unsigned char) kind;
    operator->name = name;
    operator->start_ns = columns->values[START][row];
    operator->end_ns = value_or(columns, END, row, operator->start_ns);
    operator->thread = value_or(columns, THREAD, row, 0);
    operator->sequence = value_or(columns, SEQUENCE, row, -1);
    operator->is_backward = value_or(columns, FORWARD, row, 0) > 0;
    if (add_text(reading, columns, SHAPES, row, &operator->shapes) != 0 ||
        add_text(reading, columns, VALUES, row, &operator->values) != 0 ||
        add_text(reading, columns, STACK, row, &operator->stack) != 0)
        return ERR_NO_MEMORY;
    if (columns_is_null(columns, EXTERNAL, row) || !operator_is_cpu((enum operator_kind)kind))
        return 0;
    size_t before = reading->externals.count;
    uint32_t key = keys_add(&reading->externals,
                            (int64_t[]){ global_process(operator->thread), columns->values[EXTERNAL][row] });
    if (key == NO_KEY)
        return ERR_NO_MEMORY;
    if (key == before)
        reading->by_external[key] = (uint32_t)(operator- reading->operators->list);
    return 0;
}

/* An annotation on a GPU has no thread; it lies where its work does. */
static int counts(const struct reading *reading, const struct report_columns *columns, size_t row, int kind)
{
    int64_t start = columns->values[START][row], end = value_or(columns, END, row, start),
            thread = value_or(columns, THREAD, row, 0);

    return operator_is_cpu((enum operator_kind)kind) ? filter_thread(reading->filter, thread, start, end)
                                                     : filter_process(reading->filter, thread, start, end);
}

static int read_ops(struct reading *reading, struct error *err)
{
    struct report_columns columns = { 0 };
    int64_t category = -1;
    int code = columns_read(reading->report, "TACHO_TORCH_OP", op_columns, COLUMNS, &columns, err), kind = -1;

    if (code != 0)
        return code;
    reading->by_external = malloc((columns.rows + 1) * sizeof *reading->by_external);
    int short_of_memory = !reading->by_external;
    for (size_t row = 0; row < columns.rows && !short_of_memory; row++) {
        if (columns.values[CATEGORY][row] != category) {
            category = columns.values[CATEGORY][row];
            kind = kind_of(reading->report, category);
            if (strcmp(report_string(reading->report, category, NULL), "Trace") == 0)
                reading->operators->start_ns = columns.values[START][row];
        }
        if (kind >= 0 && counts(reading, &columns, row, kind))
            short_of_memory = add_op(reading, &columns, row, kind) != 0;
    }
    if (columns.values)
        report_columns_free(&columns);
    return short_of_memory ? error_set(err, ERR_NO_MEMORY, "not enough memory for the operators") : 0;
}

/* ---- what they launched ---------------------------------------------------------------------------------------- */

static int read_links(struct reading *reading, struct error *err)
{
    enum { PROCESS, CORRELATION, LINK_EXTERNAL, LINK_COLUMNS };
    static const char *const names[LINK_COLUMNS] = { "globalPid", "correlationId", "externalId" };
    struct report_columns columns = { 0 };
    int code = columns_read(reading->report, "TACHO_TORCH_LINK", names, LINK_COLUMNS, &columns, err);

    if (code != 0)
        return code;
    reading->by_link = malloc((columns.rows + 1) * sizeof *reading->by_link);
    int short_of_memory = !reading->by_link;
    for (size_t row = 0; row < columns.rows && !short_of_memory; row++) {
        if (columns_is_null(&columns, CORRELATION, row) || columns_is_null(&columns, LINK_EXTERNAL, row))
            continue;
        int64_t process = columns.values[PROCESS][row];
        uint32_t external = keys_find(&reading->externals, (int64_t[]){ process, columns.values[LINK_EXTERNAL][row] });
        if (external == NO_KEY) /* of no operator that is shown */
            continue;
        uint32_t link = keys_add(&reading->links, (int64_t[]){ process, columns.values[CORRELATION][row] });
        short_of_memory = link == NO_KEY;
        if (!short_of_memory)
            reading->by_link[link] = reading->by_external[external];
    }
    if (columns.values)
        report_columns_free(&columns);
    return short_of_memory ? error_set(err, ERR_NO_MEMORY, "not enough memory for the operators' calls") : 0;
}

static uint32_t owner_of(void *context, int64_t process, int64_t correlation)
{
    const struct reading *reading = context;
    uint32_t link = keys_find(&reading->links, (int64_t[]){ process, correlation });

    return link == NO_KEY ? NO_OPERATOR : reading->by_link[link];
}

/* A call lies in the thread of its operator: that is where torch looks for its parent. */
static int read_calls(struct reading *reading, struct error *err)
{
    struct calls calls;
    int code = calls_read(&calls, reading->report, err);

    if (code != 0)
        return code;
    uint32_t *places = malloc((calls.count + 1) * sizeof *places);
    code = places ? operators_add_calls(&reading->texts, &calls, places) : ERR_NO_MEMORY;
    for (size_t i = 0; i < calls.count && code == 0; i++) {
        if (places[i] == NO_OPERATOR)
            continue;
        struct operator* list = reading->operators->list;
        uint32_t owner = columns_is_null(&calls.columns, CALL_CORRELATION, i)
                             ? NO_OPERATOR
                             : owner_of(reading, global_process(calls.thread[i]),
                                        calls.columns.values[CALL_CORRELATION][i]);
        if (owner != NO_OPERATOR)
            list[places[i]].thread = list[owner].thread;
    }
    calls_free(&calls);
    free(places);
    return code ? error_set(err, code, "not enough memory for the CUDA calls") : 0;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

enum { TIME, EVENT, DEVICE_TYPE, BYTES, MEMORY_THREAD, MEMORY_COLUMNS };

/* Of one process. */
struct memory {
    int64_t process;
    size_t count;
    int64_t *times;   /* owned; in order */
    int64_t *sums[2]; /* owned; bytes of all before it, of the CPU and of devices */
    int32_t *covers;  /* owned; by how much more events it is covered than the one before it */
};

static int order_memory(struct memory *memory, const struct report_columns *columns, const struct reading *reading)
{
    size_t rows = columns->rows;
    uint32_t *order = malloc((rows + 1) * sizeof *order);

    memory->times = malloc((rows + 1) * sizeof *memory->times);
    memory->covers = calloc(rows + 2, sizeof *memory->covers);
    for (int i = 0; i < 2; i++)
        memory->sums[i] = calloc(rows + 2, sizeof *memory->sums[i]);
    if (!order || !memory->times || !memory->covers || !memory->sums[0] || !memory->sums[1]) {
        free(order);
        return ERR_NO_MEMORY;
    }
    size_t count = 0;
    for (size_t row = 0; row < rows; row++)
        if (global_process(columns->values[MEMORY_THREAD][row]) == memory->process &&
            filter_process(reading->filter, memory->process, columns->values[TIME][row], columns->values[TIME][row]) &&
            strcmp(report_string(reading->report, columns->values[EVENT][row], NULL), "[memory]") == 0)
            order[count++] = (uint32_t)row;
    int code = order_by_time(order, count, columns->values[TIME]);
    for (size_t i = 0; i < count && code == 0; i++) {
        int of_device = columns->values[DEVICE_TYPE][order[i]] != 0;
        memory->times[i] = columns->values[TIME][order[i]];
        memory->sums[of_device][i + 1] = saturating_add(memory->sums[of_device][i], columns->values[BYTES][order[i]]);
        memory->sums[!of_device][i + 1] = memory->sums[!of_device][i];
    }
    memory->count = count;
    free(order);
    return code;
}

/* How many are before the time; or, with also_at, before it or at it. */
static size_t count_before(const struct memory *memory, int64_t time, int also_at)
{
    size_t low = 0, high = memory->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->times[middle] < time || (also_at && memory->times[middle] == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void attribute(struct operators *operators, struct memory *memory)
{
    for (size_t i = 0; i < operators->count; i++) {
        struct operator* operator= & operators->list[i];
        if (!operator_is_cpu((enum operator_kind) operator->kind) ||
            global_process(operator->thread) != memory->process)
            continue;
        size_t first = count_before(memory, operator->start_ns, 0), behind = count_before(memory, operator->end_ns, 1);
        if (behind <= first)
            continue;
        for (int d = 0; d < 2; d++)
            operator->bytes[d] = saturating_duration(memory->sums[d][first], memory->sums[d][behind]);
        memory->covers[first]++;
        memory->covers[behind]--;
    }
}

/* What happened outside of all events is an event of its own. */
static int add_uncovered(struct operators *operators, const struct memory *memory)
{
    int64_t covered = 0;

    for (size_t i = 0; i < memory->count; i++) {
        covered += memory->covers[i];
        if (covered)
            continue;
        struct operator* operator= operators_add(operators);
        if (!operator)
            return ERR_NO_MEMORY;
        operator->kind = OPERATOR_MEMORY;
        operator->start_ns = operator->end_ns = memory->times[i];
        operator->thread = memory->process;
        operator->name = operators_intern(operators, "[memory]", strlen("[memory]"));
        for (int d = 0; d < 2; d++)
            operator->bytes[d] = saturating_duration(memory->sums[d][i], memory->sums[d][i + 1]);
        if (operator->name == NO_TEXT)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int read_process_memory(const struct reading *reading, const struct report_columns *columns, int64_t process)
{
    struct memory memory = { .process = process };
    int code = order_memory(&memory, columns, reading);

    reading->operators->has_memory |= memory.count > 0; /* in the part of the report that is asked for */
    if (code == 0) {
        attribute(reading->operators, &memory);
        code = add_uncovered(reading->operators, &memory);
    }
    free(memory.times);
    free(memory.covers);
    free(memory.sums[0]);
    free(memory.sums[1]);
    return code;
}

static int read_memory(struct reading *reading, struct error *err)
{
    static const char *const names[MEMORY_COLUMNS] = { "timestamp", "event", "deviceType", "bytes", "globalTid" };
    struct report_columns columns = { 0 };
    struct keys processes = { .width = 1 };
    int code = columns_read(reading->report, "TACHO_TORCH_MEMORY", names, MEMORY_COLUMNS, &columns, err);

    if (code != 0 || !columns.values)
        return code;
    columns_fill_nulls(&columns, MEMORY_THREAD, 0);
    code = columns.rows < UINT32_MAX ? 0 : ERR_NO_MEMORY;
    for (size_t row = 0; row < columns.rows && code == 0; row++)
        code = keys_add(&processes, (int64_t[]){ global_process(columns.values[MEMORY_THREAD][row]) }) == NO_KEY
                   ? ERR_NO_MEMORY
                   : 0;
    for (uint32_t key = 0; key < processes.count && code == 0; key++)
        code = read_process_memory(reading, &columns, keys_get(&processes, key)[0]);
    report_columns_free(&columns);
    keys_free(&processes);
    return code ? error_set(err, code, "not enough memory to attribute the allocations") : 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

/* Whether the trace says "with_flops": 1. */
static int read_settings(struct reading *reading, struct error *err)
{
    static const char *const names[] = { "name", "value" };
    struct report_columns columns = { 0 };
    int code = columns_read(reading->report, "TACHO_TORCH_METADATA", names, 2, &columns, err);

    if (code != 0 || !columns.values)
        return code;
    for (size_t row = 0; row < columns.rows; row++)
        if (strcmp(report_string(reading->report, columns.values[0][row], NULL), "with_flops") == 0)
            reading->operators->has_flops = strcmp(report_string(reading->report, columns.values[1][row], NULL), "1") ==
                                            0;
    report_columns_free(&columns);
    return 0;
}

/* torch's own traces say whom a call was made for; captures of running programs do not. */
static int has_links(const struct report *report)
{
    const struct report_table *links = report_table(report, "TACHO_TORCH_LINK");

    return links && links->rows;
}

static int read_linked_cuda(struct reading *reading, struct error *err)
{
    int code = read_links(reading, err);

    if (code == 0)
        code = read_calls(reading, err);
    return code ? code : operators_add_work(&reading->texts, owner_of, reading, err);
}

/* ---- Python functions ------------------------------------------------------------------------------------------ */

enum { PYTHON_START, PYTHON_END, PYTHON_THREAD, PYTHON_NAME, PYTHON_ARGS, PYTHON_COLUMNS };

/* No trace says which torch made it. Those that list Python functions also say where each was called from. */
static int lists_python(struct report *report, const struct report_columns *columns)
{
    return columns->rows && !columns_is_null(columns, PYTHON_ARGS, 0) &&
           strstr(report_string(report, columns->values[PYTHON_ARGS][0], NULL), "\"CallFrom\"") != NULL;
}

static int add_functions(struct operators *operators, struct report *report, const struct report_columns *columns,
                         const struct filter *filter)
{
    struct pool_texts texts = { .operators = operators, .report = report };
    int code = 0;

    for (size_t row = 0; row < columns->rows && code == 0; row++) {
        int64_t start = columns->values[PYTHON_START][row], end = columns->values[PYTHON_END][row],
                thread = value_or(columns, PYTHON_THREAD, row, 0);
        if (filter && !filter_thread(filter, thread, start, end))
            continue;
        uint32_t name = pool_text(&texts, columns->values[PYTHON_NAME][row], TEXT_PLAIN);
        struct operator* function = name == NO_TEXT ? NULL : operators_add(operators);
        if (!function) {
            code = ERR_NO_MEMORY;
            break;
        }
        function->kind = OPERATOR_PYTHON;
        function->name = name;
        function->start_ns = start;
        function->end_ns = end;
        function->thread = thread;
    }
    pool_texts_free(&texts);
    return code;
}

/* With a filter: those of its part, and only where torch lists them. */
static int add_python(struct operators *operators, struct report *report, const struct filter *filter,
                      struct error *err)
{
    static const char *const names[PYTHON_COLUMNS] = { "start", "end", "globalTid", "nameId", "argsId" };
    struct report_columns columns = { 0 };
    int code = columns_read(report, "TACHO_TORCH_PYTHON", names, PYTHON_COLUMNS, &columns, err);

    if (code != 0 || !columns.values)
        return code;
    if (!filter || lists_python(report, &columns))
        code = add_functions(operators, report, &columns, filter);
    report_columns_free(&columns);
    return code ? error_set(err, ERR_NO_MEMORY, "not enough memory for the Python functions") : 0;
}

int operators_add_python(struct operators *operators, struct report *report, struct error *err)
{
    return add_python(operators, report, NULL, err);
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

int operators_read_torch(struct operators *operators, struct report *report, const struct filter *filter,
                         int with_python, struct error *err)
{
    struct reading reading = {
        .operators = operators,
        .report = report,
        .filter = filter,
        .names = { .operators = operators, .report = report, .filter = filter },
        .texts = { .operators = operators, .report = report, .filter = filter },
        .externals.width = 2,
        .links.width = 2,
    };
    int code = read_ops(&reading, err);

    if (code == 0)
        code = has_links(report) ? read_linked_cuda(&reading, err) : operators_add_cuda(operators, report, filter, err);
    if (code == 0 && with_python)
        code = add_python(operators, report, filter, err);
    if (code == 0)
        code = read_memory(&reading, err); /* what is taken while any of them runs is that one's */
    if (code == 0)
        code = read_settings(&reading, err);
    pool_texts_free(&reading.names);
    pool_texts_free(&reading.texts);
    keys_free(&reading.externals);
    keys_free(&reading.links);
    free(reading.by_external);
    free(reading.by_link);
    return code;
}
