/* Modules and lines of operators. Calls of Python functions nest as operators do; an operator belongs to the innermost
 * one that runs when it begins. */
#include "torch_frames.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/filter.h"
#include "forward_operators.h"
#include "python_files.h"
#include "torch_stacks.h"

static const char module_mark[] = "nn.Module: ";

/* Whether a frame belongs to the program or to a library other than PyTorch: "train.py(12): main". */
static int torch_frames_is_users(const char *name, size_t length)
{
    return python_frame_read(name, length).owner <= PYTHON_PACKAGE && torch_shows_frame(name, length);
}

/* ---- calls of Python functions --------------------------------------------------------------------------------- */

enum { START, END, THREAD, NAME };
static const char *const torch_frames_python_columns[] = {
    [START] = "start", [END] = "end", [THREAD] = "globalTid", [NAME] = "nameId", NULL
};

static int torch_frames_add_call(struct torch_frames *frames, struct report *report, const struct row_cursor *rows)
{
    size_t length;
    const char *name = report_string(report, row_int(rows, NAME), &length);
    int is_module = length >= sizeof module_mark - 1 && memcmp(name, module_mark, sizeof module_mark - 1) == 0;

    if (!is_module && !torch_frames_is_users(name, length))
        return 0;
    struct operators *list = is_module ? &frames->modules : &frames->lines;
    size_t skip = is_module ? sizeof module_mark - 1 : 0;
    struct operators_event *call = operators_add(list);
    if (!call)
        return ERR_NO_MEMORY;
    call->kind = OPERATOR_ANNOTATION;
    call->start_ns = row_int(rows, START);
    call->end_ns = row_int(rows, END);
    call->thread = row_int_or(rows, THREAD, 0);
    call->name = operators_intern(list, name + skip, length - skip);
    return call->name == NO_TEXT ? ERR_NO_MEMORY : 0;
}

static int torch_frames_add_calls(struct torch_frames *frames, struct report *report, struct row_cursor *rows,
                                  const struct filter *filter)
{
    while (row_cursor_next(rows))
        if (filter_thread(filter, row_int_or(rows, THREAD, 0), row_int(rows, START), row_int(rows, END)) &&
            torch_frames_add_call(frames, report, rows) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int torch_frames_read_calls(struct torch_frames *frames, struct report *report,
                                   const struct analysis_request *request, struct error *err)
{
    struct row_cursor rows = { 0 };
    struct filter filter;
    int code;

    if ((code = filter_open(&filter, report, request, err)) != 0 ||
        (code = row_cursor_open(&rows, report, "TACHO_TORCH_PYTHON", torch_frames_python_columns, err)) != 0)
        goto done;
    if (torch_frames_add_calls(frames, report, &rows, &filter) != 0 || operators_nest(&frames->modules) != 0 ||
        operators_nest(&frames->lines) != 0)
        code = error_short_memory(err, "for the Python functions");
done:
    filter_close(&filter);
    row_cursor_close(&rows);
    return code;
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* The first frame of a recorded stack, innermost first, that is not PyTorch's. */
static uint32_t line_of_stack(struct torch_frames *frames, struct intern_string stack)
{
    const char *at = stack.bytes, *end = stack.bytes + stack.length;

    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        stop = stop ? stop : end;
        if (torch_frames_is_users(at, (size_t)(stop - at)))
            return operators_intern(&frames->lines, at, (size_t)(stop - at));
        at = stop + 1;
    }
    return NO_TEXT;
}

/* A recorded stack takes precedence over the call that ran. */
static uint32_t torch_frames_line_of(struct torch_frames *frames, const struct operators *operators, size_t i,
                                     uint32_t call)
{
    uint32_t stack = operators->list[i].stack;

    if (stack != NO_TEXT)
        return line_of_stack(frames, operators_text(operators, stack));
    return call == NO_OPERATOR ? NO_TEXT : frames->lines.list[call].name;
}

/* Finds the calls that ran in the operators' threads when these began. */
static int place_operators(struct torch_frames *frames, const struct operators *operators)
{
    size_t count = operators->count;
    struct operators_moment *moments = malloc((count + 1) * sizeof *moments);
    int code = ERR_NO_MEMORY;

    if (!moments)
        goto done;
    for (size_t i = 0; i < count; i++)
        moments[i] = (struct operators_moment){ operators->list[i].thread, operators->list[i].start_ns };
    if ((code = operators_at(&frames->modules, moments, count, frames->module)) != 0 ||
        (code = operators_at(&frames->lines, moments, count, frames->line)) != 0)
        goto done;
    for (size_t i = 0; i < count; i++)
        frames->line[i] = torch_frames_line_of(frames, operators, i, frames->line[i]);
done:
    free(moments);
    return code;
}

/* Marks backward operators and all that they call, and collects the others. Parents come first in the list. */
static int find_forwards(struct torch_frames *frames, const struct operators *operators,
                         struct forward_operators *forwards)
{
    for (size_t i = 0; i < operators->count; i++) {
        const struct operators_event *op = &operators->list[i];
        if (!operator_is_cpu((enum operator_kind)op->kind))
            continue;
        frames->is_backward[i] = op->is_backward || (op->parent != NO_OPERATOR && frames->is_backward[op->parent]);
        if (!frames->is_backward[i] && op->sequence >= 0 && forward_operators_add(forwards, op, (uint32_t)i) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* A backward operator, and all that it calls, has the module and line of its forward operator. */
static int follow_backward(struct torch_frames *frames, const struct operators *operators)
{
    struct forward_operators forwards = FORWARD_OPERATORS_NONE;
    int code;

    if ((code = find_forwards(frames, operators, &forwards)) != 0)
        goto free_forwards;
    for (size_t i = 0; i < operators->count; i++) {
        const struct operators_event *op = &operators->list[i];
        if (!frames->is_backward[i])
            continue;
        uint32_t from = op->is_backward ? forward_operators_find(&forwards, op).first : NO_OPERATOR;
        from = from != NO_OPERATOR ? from : op->parent;
        if (from == NO_OPERATOR)
            continue;
        frames->module[i] = frames->module[from];
        frames->line[i] = frames->line[from];
    }
free_forwards:
    forward_operators_free(&forwards);
    return code;
}

static int torch_frames_find_frames(struct torch_frames *frames, const struct operators *operators)
{
    frames->module = malloc((operators->count + 1) * sizeof *frames->module);
    frames->line = malloc((operators->count + 1) * sizeof *frames->line);
    frames->is_backward = calloc(operators->count + 1, 1);
    if (!frames->module || !frames->line || !frames->is_backward || place_operators(frames, operators) != 0)
        return ERR_NO_MEMORY;
    return follow_backward(frames, operators);
}

int torch_frames_read(struct torch_frames *frames, const struct operators *operators, struct report *report,
                      const struct analysis_request *request, struct error *err)
{
    int code;

    *frames = (struct torch_frames){ 0 };
    if ((code = torch_frames_read_calls(frames, report, request, err)) != 0)
        goto free_frames;
    if (torch_frames_find_frames(frames, operators) != 0 &&
        (code = error_short_memory(err, "to place the operators")) != 0)
        goto free_frames;
    return 0;
free_frames:
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
