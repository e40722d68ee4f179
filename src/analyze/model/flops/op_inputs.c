/* A small reader of nested lists of numbers and of lists of texts. */
#include "op_inputs.h"

#include <string.h>

#include "base/array.h"

/* ---- numbers --------------------------------------------------------------------------------------------------- */

struct list_cursor {
    const char *at, *end;
};

static int op_inputs_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int64_t op_inputs_read_number(struct list_cursor *cursor)
{
    int64_t number = 0;

    for (; cursor->at < cursor->end && op_inputs_is_digit(*cursor->at); cursor->at++)
        number = number < INT64_MAX / 10 - 1 ? number * 10 + (*cursor->at - '0') : number;
    return number;
}

struct number_list {
    int64_t list[OP_MOST_DIMS];
    size_t count;
};

/* The numbers up to the bracket that closes the list. The cursor is after the opening bracket, and then after the
 * closing one. */
static void read_numbers(struct list_cursor *cursor, struct number_list *out)
{
    out->count = 0;
    while (cursor->at < cursor->end && *cursor->at != ']') {
        if (!op_inputs_is_digit(*cursor->at)) {
            cursor->at++;
            continue;
        }
        int64_t number = op_inputs_read_number(cursor);
        if (out->count < OP_MOST_DIMS)
            out->list[out->count++] = number;
    }
    if (cursor->at < cursor->end)
        cursor->at++;
}

/* Whether the next thing in the list, before it ends, is a list. */
static int op_inputs_next_list(struct list_cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at != '[' && *cursor->at != ']')
        cursor->at++;
    if (cursor->at >= cursor->end || *cursor->at++ == ']')
        return 0;
    return 1;
}

/* Whether the list that the cursor is in begins with a list. */
static int is_list_of_lists(const struct list_cursor *cursor)
{
    const char *at = cursor->at;

    while (at < cursor->end && *at == ' ')
        at++;
    return at < cursor->end && *at == '[';
}

/* ---- tensors --------------------------------------------------------------------------------------------------- */

static void op_inputs_add_tensor(struct op_input *input, const struct number_list *dims,
                                 const struct number_list *strides)
{
    double elements = 1, stored = 1;

    for (size_t i = 0; i < dims->count; i++) {
        elements *= (double)dims->list[i];
        if (i >= strides->count || strides->list[i] || !dims->list[i])
            stored *= (double)dims->list[i];
    }
    if (!input->tensors) {
        memcpy(input->dims, dims->list, dims->count * sizeof *input->dims);
        input->rank = dims->count;
    }
    input->tensors++;
    input->elements += elements;
    input->stored += stored;
}

/* Reads one input, a tensor or a list of them, from the lists of shapes and of strides at once. */
static void op_inputs_read_input(struct list_cursor *shapes, struct list_cursor *strides, int has_strides,
                                 struct op_input *out)
{
    struct number_list dims, steps = { .count = 0 };

    *out = (struct op_input){ .value = { "", 0 } };
    if (!is_list_of_lists(shapes)) {
        read_numbers(shapes, &dims);
        if (has_strides)
            read_numbers(strides, &steps);
        op_inputs_add_tensor(out, &dims, &steps);
        return;
    }
    int has_steps = has_strides && is_list_of_lists(strides);
    out->is_list = 1;
    while (op_inputs_next_list(shapes)) {
        read_numbers(shapes, &dims);
        steps.count = 0;
        if (has_steps && op_inputs_next_list(strides))
            read_numbers(strides, &steps);
        op_inputs_add_tensor(out, &dims, &steps);
    }
    while (has_strides && op_inputs_next_list(strides)) /* to the end of the list */
        read_numbers(strides, &steps);
}

static void read_tensors(struct op_inputs *out, const struct op_texts *texts)
{
    struct list_cursor shapes = { texts->shapes.bytes, texts->shapes.bytes + texts->shapes.length };
    struct list_cursor strides = { texts->strides.bytes, texts->strides.bytes + texts->strides.length };

    if (!texts->shapes.length || !op_inputs_next_list(&shapes))
        return;
    int has_strides = texts->strides.length && op_inputs_next_list(&strides);
    while (op_inputs_next_list(&shapes)) {
        if (out->count == OP_MOST_INPUTS) {
            out->is_cut = 1;
            return;
        }
        has_strides = has_strides && op_inputs_next_list(&strides);
        op_inputs_read_input(&shapes, &strides, has_strides, &out->list[out->count++]);
    }
}

/* ---- types and values ------------------------------------------------------------------------------------------ */

/* The next text of a list such as ["float", "Scalar"]; 0 at its end. */
static int next_text(struct list_cursor *cursor, struct intern_string *out)
{
    size_t left = (size_t)(cursor->end - cursor->at);
    const char *open = left ? memchr(cursor->at, '"', left) : NULL;
    const char *close = open ? memchr(open + 1, '"', (size_t)(cursor->end - open - 1)) : NULL;

    if (!close)
        return 0;
    *out = (struct intern_string){ open + 1, (size_t)(close - open - 1) };
    cursor->at = close + 1;
    return 1;
}

static const struct type_name {
    const char *name;
    enum data_type type;
    int bytes;
} op_inputs_type_names[] = {
    { "float", DATA_FP32, 4 },
    { "float32", DATA_FP32, 4 }, /* as Python has them: markers of PyProf */
    { "float16", DATA_FP16, 2 },
    { "bfloat16", DATA_BF16, 2 },
    { "float64", DATA_FP64, 8 },
    { "int64", DATA_INT, 8 },
    { "int32", DATA_INT, 4 },
    { "int16", DATA_INT, 2 },
    { "int8", DATA_INT8, 1 },
    { "uint8", DATA_INT8, 1 },
    { "c10::Half", DATA_FP16, 2 },
    { "c10::BFloat16", DATA_BF16, 2 },
    { "long int", DATA_INT, 8 },
    { "double", DATA_FP64, 8 },
    { "int", DATA_INT, 4 },
    { "bool", DATA_INT, 1 },
    { "unsigned char", DATA_INT8, 1 },
    { "signed char", DATA_INT8, 1 },
    { "short int", DATA_INT, 2 },
    { "short", DATA_INT, 2 },
    { "long", DATA_INT, 8 },
    { "long long", DATA_INT, 8 },
    { "long long int", DATA_INT, 8 },
    { "short unsigned int", DATA_INT, 2 },
    { "unsigned short", DATA_INT, 2 },
    { "unsigned int", DATA_INT, 4 },
    { "long unsigned int", DATA_INT, 8 },
    { "unsigned long", DATA_INT, 8 },
    { "c10::Float8_e5m2", DATA_FP8, 1 },
    { "c10::Float8_e4m3fn", DATA_FP8, 1 },
    { "c10::Float8_e5m2fnuz", DATA_FP8, 1 },
    { "c10::Float8_e4m3fnuz", DATA_FP8, 1 },
    { "c10::Float8_e8m0fnu", DATA_FP8, 1 },
    { "c10::Float4_e2m1fn_x2", DATA_FP4, 1 }, /* two numbers in a byte are one element */
    { "c10::complex<float>", DATA_COMPLEX, 8 },
    { "c10::complex<double>", DATA_COMPLEX, 16 },
    { "c10::complex<c10::Half>", DATA_COMPLEX, 4 },
    { "c10::qint8", DATA_INT8, 1 },
    { "c10::quint8", DATA_INT8, 1 },
};

static int op_inputs_is_text(const struct intern_string *text, const char *other)
{
    return text->length == strlen(other) && memcmp(text->bytes, other, text->length) == 0;
}

static void set_type(struct op_input *input, const struct intern_string *type)
{
    for (size_t i = 0; i < COUNT_OF(op_inputs_type_names); i++)
        if (op_inputs_is_text(type, op_inputs_type_names[i].name)) {
            input->type = op_inputs_type_names[i].type;
            input->bytes = op_inputs_type_names[i].bytes;
            return;
        }
    if (!type->length || op_inputs_is_text(type, "Scalar") || op_inputs_is_text(type, "ScalarList"))
        input->tensors = 0;
    if (op_inputs_is_text(type, "TensorList") && !input->is_list)
        input->tensors = 0; /* the list was too long to record */
}

void op_inputs_read(struct op_inputs *out, const struct op_texts *texts)
{
    struct list_cursor types = { texts->types.bytes, texts->types.bytes + texts->types.length };
    struct list_cursor values = { texts->values.bytes, texts->values.bytes + texts->values.length };
    struct intern_string text;

    out->count = 0;
    out->is_cut = 0;
    read_tensors(out, texts);
    for (size_t i = 0; i < out->count && next_text(&types, &text); i++)
        set_type(&out->list[i], &text);
    for (size_t i = 0; i < out->count && next_text(&values, &text); i++)
        out->list[i].value = text;
    for (size_t i = 0; i < out->count && !texts->types.length; i++)
        if (!out->list[i].rank) /* a number without dimensions, or no tensor at all */
            out->list[i].tensors = 0;
}

size_t op_value_numbers(const struct op_input *input, int64_t *out, size_t most)
{
    struct list_cursor cursor = { input->value.bytes, input->value.bytes + input->value.length };
    size_t count = 0;

    while (cursor.at < cursor.end && count < most) {
        char c = *cursor.at;
        if (op_inputs_is_digit(c)) {
            int is_negative = cursor.at > input->value.bytes && cursor.at[-1] == '-';
            int64_t number = op_inputs_read_number(&cursor);
            out[count++] = is_negative ? -number : number;
            while (cursor.at < cursor.end && *cursor.at != ',' && *cursor.at != ']') /* a fraction */
                cursor.at++;
        } else if (c == 'T' || c == 'F') {
            out[count++] = c == 'T';
            while (cursor.at < cursor.end && *cursor.at != ',' && *cursor.at != ']')
                cursor.at++;
        } else {
            cursor.at++;
        }
    }
    return count;
}
