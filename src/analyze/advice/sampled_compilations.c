/* Compilations in Python samples: see sampled_compilations.h. Stacks are stored once, and hardly any has one of these
 * functions: samples are read only if one does. */
#include "sampled_compilations.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/torch/python_files.h"
#include "base/array.h"
#include "base/saturating.h"
#include "base/text.h"

/* A longer gap between two samples says nothing about its middle. If both compile for the same line, it may be much
 * longer: stacks that change fast are often read in vain, and a busy machine has no time for the sampler. */
enum { LONGEST_ROUND_NS = 10000000, LONGEST_PAUSE_NS = 200000000 };
enum { NO_FUNCTION = -1 };

static const struct sampled_function {
    enum sampled_kind kind;
    const char *function, *file;
} sampled_functions[] = {
#define SAMPLED_FUNCTION(kind, function, file) { kind, function, file },
#include "sampled_compilations.def"
};

/* A stack that compiles. */
struct compiling_stack {
    int64_t id;
    struct sampled_compilation of; /* without thread and time */
};

struct sampled_reading {
    struct report *report;
    struct keys symbols;            /* texts that were compared */
    int *function_of;               /* owned; by symbol: the first function of that name, or NO_FUNCTION */
    size_t symbol_room;
    struct compiling_stack *stacks; /* owned; by id */
    size_t stack_count, stack_room;
};

/* The name without class and function around it: "_compile" of "Outer.<locals>._compile". */
static int first_function_of_name(const char *name)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; i < COUNT_OF(sampled_functions); i++)
        if (strcmp(dot ? dot + 1 : name, sampled_functions[i].function) == 0)
            return (int)i;
    return NO_FUNCTION;
}

/* Sets *function to the row of a frame, or to NO_FUNCTION. ERR_NO_MEMORY or 0. */
static int find_function(struct sampled_reading *reading, int64_t symbol, int64_t module, int *function)
{
    size_t before = reading->symbols.count;
    uint32_t number;

    if (array_reserve(&reading->function_of, &reading->symbol_room, before + 1, sizeof *reading->function_of) != 0 ||
        (number = keys_add(&reading->symbols, &symbol)) == NO_KEY)
        return ERR_NO_MEMORY;
    if (number == before)
        reading->function_of[number] = first_function_of_name(report_string(reading->report, symbol, NULL));
    *function = reading->function_of[number];
    while (*function != NO_FUNCTION &&
           !text_ends_with(report_string(reading->report, module, NULL), sampled_functions[*function].file)) {
        const char *name = sampled_functions[(*function)++].function;
        if (*function == COUNT_OF(sampled_functions) || strcmp(sampled_functions[*function].function, name) != 0)
            *function = NO_FUNCTION;
    }
    return 0;
}

/* The frames of a stack come from the innermost to the outermost: a function farther out takes the place of the last
 * one, and the first frame of the program outside of it is where it was called. */
static int take_frame(struct sampled_reading *reading, int64_t id, struct sampled_compilation frame)
{
    struct compiling_stack *last = reading->stack_count ? &reading->stacks[reading->stack_count - 1] : NULL;
    int function, is_open = last && last->id == id;
    size_t length;

    if (find_function(reading, frame.symbol, frame.module, &function) != 0)
        return ERR_NO_MEMORY;
    if (function != NO_FUNCTION) {
        struct compiling_stack stack = { id, { .kind = sampled_functions[function].kind } };
        if (!is_open)
            return ARRAY_PUSH(reading->stacks, reading->stack_room, reading->stack_count, stack);
        *last = stack;
    } else if (is_open && !last->of.symbol) {
        const char *file = report_string(reading->report, frame.module, &length);
        if (python_file_owner(file, length) == PYTHON_PROGRAM) {
            last->of.symbol = frame.symbol;
            last->of.module = frame.module;
            last->of.line = frame.line;
        }
    }
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct compiling_stack *x = a, *y = b;

    return COMPARE(x->id, y->id);
}

static int read_stacks(struct sampled_reading *reading, struct error *err)
{
    enum { ID, SYMBOL, MODULE, LINE };
    static const char *const names[] = { "id", "symbol", "module", "line", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, reading->report, "TACHO_PYTHON_CALLCHAINS", names, err);

    if (code != 0)
        return code;
    while (code == 0 && row_cursor_next(&rows)) {
        const struct sampled_compilation frame = { .symbol = row_int(&rows, SYMBOL),
                                                   .module = row_int(&rows, MODULE),
                                                   .line = row_int_or(&rows, LINE, 0) };
        if (take_frame(reading, row_int(&rows, ID), frame) != 0)
            code = error_short_memory(err, "for the Python stacks");
    }
    row_cursor_close(&rows);
    if (code == 0 && reading->stack_count)
        qsort(reading->stacks, reading->stack_count, sizeof *reading->stacks, by_id);
    return code;
}

/* NULL: a thread with this stack compiles nothing. */
static const struct sampled_compilation *compiling(const struct sampled_reading *reading, int64_t id)
{
    size_t at = BISECT(0, reading->stack_count, i, reading->stacks[i].id < id);

    return at < reading->stack_count && reading->stacks[at].id == id ? &reading->stacks[at].of : NULL;
}

static int is_same_compilation(const struct sampled_compilation *a, const struct sampled_compilation *b)
{
    return a->kind == b->kind && a->symbol == b->symbol && a->module == b->module && a->line == b->line;
}

/* A sample belongs to the compilation of the sample before it, if nothing else lies between them. */
static int add_sample(struct sampled_compilations *all, const struct sampled_compilation *of, int64_t thread,
                      int64_t start_ns, int64_t end_ns)
{
    struct sampled_compilation *last = all->count ? &all->list[all->count - 1] : NULL;

    if (last && last->thread == thread && last->end_ns >= start_ns && is_same_compilation(last, of)) {
        last->end_ns = end_ns;
        return 0;
    }
    struct sampled_compilation added = *of;
    added.thread = thread;
    added.start_ns = start_ns;
    added.end_ns = end_ns;
    return ARRAY_PUSH(all->list, all->room, all->count, added);
}

enum { START, THREAD, CHAIN, SAMPLE_COLUMNS };

struct sampled_rows {
    const struct sampled_reading *reading;
    struct report_columns columns;
    uint32_t *order; /* owned; by thread, then by time */
};

static int64_t sampled_value(const struct sampled_rows *rows, int column, size_t at)
{
    return rows->columns.values[column][rows->order[at]];
}

/* How far a sample that compiles reaches towards its neighbour in its thread: half way, or not at all without one
 * (SIZE_MAX is before the first row). */
static int64_t reach_ns(const struct sampled_rows *rows, const struct sampled_compilation *of, size_t at,
                        size_t neighbour)
{
    if (neighbour >= rows->columns.rows || sampled_value(rows, THREAD, neighbour) != sampled_value(rows, THREAD, at))
        return 0;
    const struct sampled_compilation *other = compiling(rows->reading, sampled_value(rows, CHAIN, neighbour));
    int64_t most_ns = other && is_same_compilation(of, other) ? LONGEST_PAUSE_NS : LONGEST_ROUND_NS;
    int64_t gap_ns = neighbour < at
                         ? saturating_duration(sampled_value(rows, START, neighbour), sampled_value(rows, START, at))
                         : saturating_duration(sampled_value(rows, START, at), sampled_value(rows, START, neighbour));
    /* the earlier one has the odd nanosecond, so that both meet */
    int64_t half_ns = gap_ns / 2 + (neighbour > at ? gap_ns % 2 : 0);
    return half_ns < most_ns ? half_ns : most_ns;
}

static int add_samples(struct sampled_compilations *all, const struct sampled_rows *rows)
{
    for (size_t i = 0; i < rows->columns.rows; i++) {
        const struct sampled_compilation *of = compiling(rows->reading, sampled_value(rows, CHAIN, i));
        int64_t at_ns = sampled_value(rows, START, i);
        if (of && add_sample(all, of, sampled_value(rows, THREAD, i), at_ns - reach_ns(rows, of, i, i - 1),
                             saturating_add(at_ns, reach_ns(rows, of, i, i + 1))) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int read_samples(struct sampled_compilations *all, const struct sampled_reading *reading, struct error *err)
{
    static const char *const names[SAMPLE_COLUMNS] = { "start", "globalTid", "callchainId" };
    struct sampled_rows rows = { .reading = reading };
    struct report_columns *columns = &rows.columns;
    int code = columns_read(reading->report, "TACHO_PYTHON_SAMPLE", names, SAMPLE_COLUMNS, columns, err);

    if (code != 0 || !columns->rows)
        goto done;
    rows.order = malloc(columns->rows * sizeof *rows.order);
    for (size_t row = 0; rows.order && row < columns->rows; row++)
        rows.order[row] = (uint32_t)row;
    if (!rows.order || columns->rows >= UINT32_MAX ||
        order_by_thread(rows.order, columns->rows, columns->values[THREAD], columns->values[START]) != 0 ||
        add_samples(all, &rows) != 0)
        code = error_short_memory(err, "for the Python samples");
done:
    free(rows.order);
    report_columns_free(columns);
    return code;
}

int sampled_compilations_read(struct sampled_compilations *compilations, struct report *report, struct error *err)
{
    struct sampled_reading reading = { .report = report, .symbols.width = 1 };
    int code = read_stacks(&reading, err);

    if (code == 0 && reading.stack_count)
        code = read_samples(compilations, &reading, err);
    keys_free(&reading.symbols);
    free(reading.function_of);
    free(reading.stacks);
    return code;
}

void sampled_compilations_free(struct sampled_compilations *compilations)
{
    free(compilations->list);
    *compilations = (struct sampled_compilations){ 0 };
}
