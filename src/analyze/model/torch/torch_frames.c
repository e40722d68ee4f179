/* Modules and lines of operators: calls of Python functions nest as operators do, and an operator is in the
 * one that ran when it began. */
#include "torch_frames.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/order.h"
#include "analyze/model/filter.h"
#include "forward_operators.h"
#include "torch_stacks.h"

static const char module_mark[] = "nn.Module: ";

/* The part of a name behind a word; NULL: the word is not in it. */
static const char *behind(const char *name, size_t length, const char *word)
{
    const char *found = memmem(name, length, word, strlen(word));

    return found ? found + strlen(word) : NULL;
}

/* A file of PyTorch as it is installed, or of Python's own library: below lib/python3.N, but not
 * among the packages there. */
static int is_installed(const char *name, size_t length)
{
    static const char *const packages[] = { "site-packages/", "dist-packages/" };

    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        const char *package = behind(name, length, packages[i]);
        if (package)
            return (size_t)(name + length - package) > 6 && memcmp(package, "torch/", 6) == 0;
    }
    return behind(name, length, "/lib/python3.") != NULL;
}

/* A line of the program or of a library that is not PyTorch: "train.py(12): main". */
static int is_users(const char *name, size_t length)
{
    /* as torch cuts paths off */
    static const char *const foreign[] = { "torch/", "<", "threading.py(", "contextlib.py(", "runpy.py(" };

    if (!memmem(name, length, "): ", 3) || !memchr(name, '(', length))
        return 0;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strncmp(name, foreign[i], strlen(foreign[i])) == 0)
            return 0;
    return torch_shows_frame(name, length) && !is_installed(name, length);
}

/* ---- calls of Python functions --------------------------------------------------------------------------------- */

enum { START, END, THREAD, NAME, COLUMNS };

static int add_call(struct torch_frames *frames, struct report *report, const struct report_columns *columns,
                    size_t row)
{
    size_t length;
    const char *name = report_string(report, columns->values[NAME][row], &length);
    int is_module = length >= sizeof module_mark - 1 && memcmp(name, module_mark, sizeof module_mark - 1) == 0;

    if (!is_module && !is_users(name, length))
        return 0;
    struct operators *list = is_module ? &frames->modules : &frames->lines;
    size_t skip = is_module ? sizeof module_mark - 1 : 0;
    struct operator* call = operators_add(list);
    if (!call)
        return ERR_NO_MEMORY;
    call->kind = OPERATOR_ANNOTATION;
    call->start_ns = columns->values[START][row];
    call->end_ns = columns->values[END][row];
    call->thread = columns->values[THREAD][row];
    call->name = operators_intern(list, name + skip, length - skip);
    return call->name == NO_TEXT ? ERR_NO_MEMORY : 0;
}

static int read_calls(struct torch_frames *frames, struct report *report, const struct analysis_request *request,
                      struct error *err)
{
    static const char *const names[COLUMNS] = { "start", "end", "globalTid", "nameId" };
    struct report_columns columns = { 0 };
    struct filter filter;
    int code = filter_open(&filter, report, request, err), short_of_memory = 0;

    if (code == 0)
        code = columns_read(report, "TACHO_TORCH_PYTHON", names, COLUMNS, &columns, err);
    if (columns.values)
        columns_fill_nulls(&columns, THREAD, 0);
    for (size_t row = 0; row < columns.rows && code == 0 && !short_of_memory; row++)
        if (filter_thread(&filter, columns.values[THREAD][row], columns.values[START][row], columns.values[END][row]))
            short_of_memory = add_call(frames, report, &columns, row) != 0;
    filter_close(&filter);
    if (columns.values)
        report_columns_free(&columns);
    if (code == 0 && (short_of_memory || operators_nest(&frames->modules) != 0 || operators_nest(&frames->lines) != 0))
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the Python functions");
    return code;
}

/* ---- operators in them ----------------------------------------------------------------------------------------- */

/* The first frame of a recorded stack, innermost first, that is not PyTorch's. */
static uint32_t line_of_stack(struct torch_frames *frames, struct intern_string stack)
{
    const char *at = stack.bytes, *end = stack.bytes + stack.length;

    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        stop = stop ? stop : end;
        if (is_users(at, (size_t)(stop - at)))
            return operators_intern(&frames->lines, at, (size_t)(stop - at));
        at = stop + 1;
    }
    return NO_TEXT;
}

/* What ran in the operators' threads when they began. */
static int place_operators(struct torch_frames *frames, const struct operators *operators)
{
    size_t count = operators->count;
    struct operators_moment *moments = malloc((count + 1) * sizeof *moments);
    uint32_t *order = malloc((count + 1) * sizeof *order);
    int code = moments && order ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < count && code == 0; i++) {
        moments[i] = (struct operators_moment){ operators->list[i].thread, operators->list[i].start_ns };
        order[i] = (uint32_t)i;
    }
    if (code == 0)
        code = operators_at(&frames->modules, moments, order, count, frames->module);
    if (code == 0)
        code = operators_at(&frames->lines, moments, order, count, frames->line);
    for (size_t i = 0; i < count && code == 0; i++) {
        uint32_t line = frames->line[i];
        frames->line[i] = operators->list[i].stack != NO_TEXT
                              ? line_of_stack(frames, operators_text(operators, operators->list[i].stack))
                          : line == NO_OPERATOR ? NO_TEXT
                                                : frames->lines.list[line].name;
    }
    free(moments);
    free(order);
    return code;
}

/* A backward operator, and all that it calls, is where its forward operator was called.
 * Parents come first in the list. */
static int follow_backward(struct torch_frames *frames, const struct operators *operators)
{
    struct forwards forwards = FORWARDS_NONE;
    int code = 0;

    for (size_t i = 0; i < operators->count && code == 0; i++) {
        const struct operator* operator= & operators->list[i];
        if (!operator_is_cpu((enum operator_kind) operator->kind))
            continue;
        frames->is_backward[i] = operator->is_backward ||(operator->parent != NO_OPERATOR &&
                                                          frames->is_backward[operator->parent]);
        if (!frames->is_backward[i] && operator->sequence >= 0)
            code = forwards_add(&forwards, operator,(uint32_t) i);
    }
    for (size_t i = 0; i < operators->count && code == 0; i++) {
        const struct operator* operator= & operators->list[i];
        if (!frames->is_backward[i])
            continue;
        uint32_t from = operator->is_backward ? forwards_of(&forwards, operator).first : NO_OPERATOR;
        from = from != NO_OPERATOR ? from : operator->parent;
        if (from == NO_OPERATOR)
            continue;
        frames->module[i] = frames->module[from];
        frames->line[i] = frames->line[from];
    }
    forwards_free(&forwards);
    return code;
}

int torch_frames_read(struct torch_frames *frames, const struct operators *operators, struct report *report,
                      const struct analysis_request *request, struct error *err)
{
    *frames = (struct torch_frames){
        .module = malloc((operators->count + 1) * sizeof *frames->module),
        .line = malloc((operators->count + 1) * sizeof *frames->line),
        .is_backward = calloc(operators->count + 1, 1),
    };
    int code = read_calls(frames, report, request, err);

    if (code == 0 && (!frames->module || !frames->line || !frames->is_backward ||
                      place_operators(frames, operators) != 0 || follow_backward(frames, operators) != 0))
        code = error_set(err, ERR_NO_MEMORY, "not enough memory to place the operators");
    if (code != 0)
        torch_frames_free(frames);
    return code;
}

void torch_frames_free(struct torch_frames *frames)
{
    operators_free(&frames->modules);
    operators_free(&frames->lines);
    free(frames->module);
    free(frames->line);
    free(frames->is_backward);
    *frames = (struct torch_frames){ 0 };
}

uint32_t torch_launcher(const struct operators *operators, size_t work)
{
    uint32_t at = operators->list[work].launcher;

    while (at != NO_OPERATOR && (operators->list[at].kind == OPERATOR_CALL || operators->list[at].is_collapsed))
        at = operators->list[at].parent;
    return at;
}
