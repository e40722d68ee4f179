/* Operators as torch.autograd.profiler.emit_nvtx makes ranges of them:
 *     NAME[, seq = N][, op_id = N][, sizes = [[2, 3], []]][, input_op_ids = [(1,0)]]
 * Old versions have no op_id. Work on GPUs belongs to the innermost range around the call that launched it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/ranges.h"
#include "operators_gpu.h"

static const char *find(const char *bytes, size_t length, const char *what)
{
    return memmem(bytes, length, what, strlen(what));
}

/* The number behind a mark, or -1. */
static int64_t number_behind(const char *bytes, size_t length, const char *mark)
{
    const char *at = find(bytes, length, mark), *end = bytes + length;
    int64_t number = 0;

    if (!at || (at += strlen(mark)) >= end || (unsigned char)(*at - '0') > 9)
        return -1;
    for (; at < end && (unsigned char)(*at - '0') <= 9 && number < INT64_MAX / 10 - 1; at++)
        number = number * 10 + (*at - '0');
    return number;
}

/* The list behind ", sizes = ", with its brackets; a length of 0: none. */
static struct intern_string shapes_in(const char *bytes, size_t length)
{
    static const char mark[] = ", sizes = [";
    const char *at = find(bytes, length, mark), *end = bytes + length;
    int depth = 0;

    if (!at)
        return (struct intern_string){ NULL, 0 };
    at += sizeof mark - 2;
    for (const char *c = at; c < end; c++) {
        depth += (*c == '[') - (*c == ']');
        if (depth == 0)
            return (struct intern_string){ at, (size_t)(c + 1 - at) };
    }
    return (struct intern_string){ NULL, 0 };
}

static int is_backward(const char *name, size_t length)
{
    static const char ending[] = "Backward";

    while (length && (unsigned char)(name[length - 1] - '0') < 10)
        length--;
    return length >= sizeof ending - 1 && memcmp(name + length - (sizeof ending - 1), ending, sizeof ending - 1) == 0;
}

struct operator_text operator_text(const char *bytes, size_t length)
{
    static const char *const marks[] = { ", seq = ", ", op_id = ", ", sizes = [", ", input_op_ids = [" };
    const char *end = bytes + length;

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *mark = find(bytes, (size_t)(end - bytes), marks[i]);
        end = mark ? mark : end;
    }
    return (struct operator_text){
        .name_length = (size_t)(end - bytes),
        .sequence = number_behind(bytes, length, ", seq = "),
        .shapes = shapes_in(bytes, length),
        .is_operator = end < bytes + length || (length > 6 && memcmp(bytes, "aten::", 6) == 0),
        .is_backward = is_backward(bytes, (size_t)(end - bytes)),
    };
}

/* Fills what the range's text says; 0 if it is a name that torch does not show, -1 when memory is short. */
static int parse_range(struct operators *operators, struct operator* operator, const char * bytes, size_t length)
{
    struct operator_text text = operator_text(bytes, length);

    operator->kind = text.is_operator ? OPERATOR : OPERATOR_ANNOTATION;
    operator->sequence = text.sequence;
    operator->is_backward = text.is_backward && text.sequence >= 0;
    if (!operators_name(operators, bytes, text.name_length, &operator->name))
        return 0;
    if (text.shapes.length &&
        (operator->shapes = operators_intern(operators, text.shapes.bytes, text.shapes.length)) == NO_TEXT)
        return -1;
    return operator->name == NO_TEXT ? -1 : 1;
}

/* 1 if some of the ranges are operators; then all of the default domain's are taken. */
static int add_ranges(struct operators *operators, const struct ranges *ranges, struct report *report)
{
    int is_torch = 0;

    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->list[i];
        if (range->domain != NVTX_NO_NAME || range->name == NVTX_NO_NAME)
            continue;
        size_t length;
        const char *bytes = report_string(report, range->name, &length);
        struct operator* operator= operators_add(operators);
        int taken = operator? parse_range(operators, operator, bytes, length) : - 1;
        if (taken < 0)
            return -1;
        if (!taken) {
            operators->count--;
            continue;
        }
        operator->start_ns = range->start_ns;
        operator->end_ns = range->end_ns;
        operator->thread = range->thread;
        is_torch |= operator->kind == OPERATOR;
    }
    return is_torch;
}

int operators_read_nvtx(struct operators *operators, struct report *report, const struct filter *filter,
                        struct error *err)
{
    struct ranges ranges;
    int code = ranges_read(&ranges, report, RANGE_PUSHPOP, filter, err);

    if (code != 0)
        return code;
    int found = add_ranges(operators, &ranges, report);
    ranges_free(&ranges);
    if (found < 0)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the operators");
    if (!found) {
        operators->count = 0;
        return 0;
    }
    return operators_add_cuda(operators, report, filter, err);
}
