/* Parses the name of a range of emit_nvtx:
 *     NAME[, seq = N][, op_id = N][, sizes = [[2, 3], []]][, input_op_ids = [(1,0)]]
 * Old versions have no op_id. */
#include "operator_text.h"

#include <string.h>

#include "base/array.h"

static const char *operator_text_find(const char *bytes, size_t length, const char *what)
{
    return memmem(bytes, length, what, strlen(what));
}

/* The number after a mark, or -1. */
static int64_t number_behind(const char *bytes, size_t length, const char *mark)
{
    const char *at = operator_text_find(bytes, length, mark), *end = bytes + length;
    int64_t number = 0;

    if (!at || (at += strlen(mark)) >= end || (unsigned char)(*at - '0') > 9)
        return -1;
    for (; at < end && (unsigned char)(*at - '0') <= 9 && number < INT64_MAX / 10 - 1; at++)
        number = number * 10 + (*at - '0');
    return number;
}

/* The list after ", sizes = ", with its brackets; a length of 0: none. */
static struct intern_string shapes_in(const char *bytes, size_t length)
{
    static const char mark[] = ", sizes = [";
    const char *at = operator_text_find(bytes, length, mark), *end = bytes + length;
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

    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        const char *mark = operator_text_find(bytes, (size_t)(end - bytes), marks[i]);
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

/* The part that emit_nvtx adds has an equals sign, and ends with a number or a bracket: most names need no search, and
 * each of millions of events asks. */
size_t operator_name_length(const char *bytes, size_t length)
{
    char last = length ? bytes[length - 1] : 0;

    return ((last >= '0' && last <= '9') || last == ']') && memchr(bytes, '=', length)
               ? operator_text(bytes, length).name_length
               : length;
}
