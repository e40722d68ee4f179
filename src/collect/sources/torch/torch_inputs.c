/* The inputs of an operator in the form of torch's own profiler: shapes, strides, types and values. wire/wire_torch.h
 * describes the words. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "torch_records.h"
#include "wire/wire_torch.h"

/* Types by torch's own numbers, with their C++ names. */
static const char *const torch_inputs_type_names[] = {
    "unsigned char",
    "signed char",
    "short int",
    "int",
    "long int",
    "c10::Half",
    "float",
    "double",
    "c10::complex<c10::Half>",
    "c10::complex<float>",
    "c10::complex<double>",
    "bool",
    "c10::qint8",
    "c10::quint8",
    "c10::qint32",
    "c10::BFloat16",
    "c10::quint4x2",
    "c10::quint2x4",
    "c10::bits1x8",
    "c10::bits2x4",
    "c10::bits4x2",
    "c10::bits8",
    "c10::bits16",
    "c10::Float8_e5m2",
    "c10::Float8_e4m3fn",
    "c10::Float8_e5m2fnuz",
    "c10::Float8_e4m3fnuz",
    "short unsigned int",
    "unsigned int",
    "long unsigned int",
};

struct torch_inputs_cursor {
    const uint64_t *words;
    uint32_t left;
};

struct torch_inputs_item {
    enum wire_torch_input kind;
    uint32_t type, count;
    const uint64_t *words; /* after its head */
};

static int next_item(struct torch_inputs_cursor *cursor, struct torch_inputs_item *item)
{
    if (!cursor->left)
        return -1;
    uint64_t head = *cursor->words++;
    cursor->left--;
    *item = (struct torch_inputs_item){
        .kind = (enum wire_torch_input)(head & 0xffff),
        .type = (uint32_t)(head >> 16 & 0xffff),
        .count = (uint32_t)(head >> 32),
        .words = cursor->words,
    };
    uint32_t words = item->kind == WIRE_TORCH_TENSOR
                         ? 2 * item->count
                         : item->kind == WIRE_TORCH_INT || item->kind == WIRE_TORCH_DOUBLE ||
                               item->kind == WIRE_TORCH_BOOL;
    if (item->kind > WIRE_TORCH_CUT || (item->kind == WIRE_TORCH_TENSOR && item->count > WIRE_TORCH_DIMENSIONS) ||
        words > cursor->left)
        return -1;
    cursor->words += words;
    cursor->left -= words;
    return 0;
}

static void torch_inputs_add_numbers(struct text *out, const uint64_t *words, uint32_t count)
{
    text_add_char(out, '[');
    for (uint32_t i = 0; i < count; i++)
        text_addf(out, "%s%" PRId64, i ? ", " : "", (int64_t)words[i]);
    text_add_char(out, ']');
}

/* Adds a value as torch prints it: a whole number keeps its point. */
static void torch_inputs_add_value(struct text *out, const struct torch_inputs_item *item)
{
    double real;
    memcpy(&real, item->words, sizeof real);
    if (item->kind == WIRE_TORCH_INT)
        text_addf(out, "%" PRId64, (int64_t)item->words[0]);
    else if (item->kind == WIRE_TORCH_BOOL)
        text_add(out, item->words[0] ? "True" : "False");
    else if (item->kind == WIRE_TORCH_DOUBLE && fabs(real) < 1e10 && real == (double)(int64_t)real)
        text_addf(out, "%s%" PRId64 ".", signbit(real) && real == 0 ? "-" : "", (int64_t)real);
    else if (item->kind == WIRE_TORCH_DOUBLE)
        text_addf(out, "%.17g", real);
}

static int is_scalar(const struct torch_inputs_item *item)
{
    return item->kind >= WIRE_TORCH_INT && item->kind <= WIRE_TORCH_COMPLEX;
}

/* Adds the shape and strides of one tensor, or empty lists in their place. */
static void torch_inputs_add_tensor(const struct torch_texts *texts, const struct torch_inputs_item *item)
{
    uint32_t count = item->kind == WIRE_TORCH_TENSOR ? item->count : 0;
    torch_inputs_add_numbers(texts->dims, item->words, count);
    torch_inputs_add_numbers(texts->strides, item->words + count, count);
}

static void add_size(const struct torch_texts *texts, const struct torch_inputs_item *item, int *is_first)
{
    text_add(texts->sizes, *is_first ? "" : ", ");
    torch_inputs_add_numbers(texts->sizes, item->words, item->kind == WIRE_TORCH_TENSOR ? item->count : 0);
    *is_first = 0;
}

/* Stands for sizes that had no room. */
static void add_left_out(const struct torch_texts *texts, int *is_first)
{
    text_add(texts->sizes, *is_first ? "[...]" : ", [...]");
    *is_first = 0;
}

static int add_tensor_list(struct torch_inputs_cursor *cursor, const struct torch_texts *texts,
                           const struct torch_inputs_item *list, int *is_first)
{
    uint32_t count = list->type == WIRE_TORCH_LEFT_OUT ? 0 : list->count;
    struct torch_inputs_item item;
    if (list->type == WIRE_TORCH_LEFT_OUT)
        add_left_out(texts, is_first);
    text_add_char(texts->dims, '[');
    text_add_char(texts->strides, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (next_item(cursor, &item) != 0)
            return -1;
        if (count <= WIRE_TORCH_LIST_MAX) {
            text_add(texts->dims, i ? ", " : "");
            text_add(texts->strides, i ? ", " : "");
            torch_inputs_add_tensor(texts, &item);
        }
        add_size(texts, &item, is_first);
    }
    text_add_char(texts->dims, ']');
    text_add_char(texts->strides, ']');
    text_add(texts->types, "\"TensorList\"");
    text_add(texts->values, "\"\"");
    return 0;
}

static int add_scalar_list(struct torch_inputs_cursor *cursor, const struct torch_texts *texts, uint32_t count)
{
    struct torch_inputs_item item;
    text_add(texts->values, "\"[");
    for (uint32_t i = 0; i < count; i++) {
        if (next_item(cursor, &item) != 0)
            return -1;
        text_add(texts->values, i ? ", " : "");
        torch_inputs_add_value(texts->values, &item);
    }
    text_add(texts->values, "]\"");
    text_add(texts->types, "\"ScalarList\"");
    text_add(texts->dims, "[]");
    text_add(texts->strides, "[]");
    return 0;
}

static void add_plain(const struct torch_texts *texts, const struct torch_inputs_item *item)
{
    const char *type = item->kind == WIRE_TORCH_TENSOR && item->type < COUNT_OF(torch_inputs_type_names)
                           ? torch_inputs_type_names[item->type]
                           : "";
    torch_inputs_add_tensor(texts, item);
    text_addf(texts->types, "\"%s\"", is_scalar(item) ? "Scalar" : type);
    text_add_char(texts->values, '"');
    torch_inputs_add_value(texts->values, item);
    text_add_char(texts->values, '"');
}

/* The list of inputs was truncated: its last type is "...". */
static int torch_inputs_add_cut(const struct torch_texts *texts, int *is_first)
{
    add_left_out(texts, is_first);
    text_add(texts->dims, "[]");
    text_add(texts->strides, "[]");
    text_add(texts->types, "\"...\"");
    text_add(texts->values, "\"\"");
    return 0;
}

/* In the sizes of emit_nvtx the tensors of a list stand one by one. */
static int torch_inputs_add_item(struct torch_inputs_cursor *cursor, const struct torch_texts *texts,
                                 const struct torch_inputs_item *item, int *is_first)
{
    if (item->kind == WIRE_TORCH_TENSOR_LIST)
        return add_tensor_list(cursor, texts, item, is_first);
    if (item->kind == WIRE_TORCH_CUT)
        return torch_inputs_add_cut(texts, is_first);
    add_size(texts, item, is_first);
    if (item->kind == WIRE_TORCH_SCALAR_LIST)
        return add_scalar_list(cursor, texts, item->count);
    add_plain(texts, item);
    return 0;
}

int torch_inputs_text(const uint64_t *words, uint32_t count, const struct torch_texts *texts)
{
    struct text *const all[] = { texts->dims, texts->types, texts->strides, texts->values, texts->sizes };
    struct torch_inputs_cursor cursor = { words, count };
    struct torch_inputs_item item;
    int is_first = 1;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        text_clear(all[i]);
        text_add_char(all[i], '[');
    }
    for (uint32_t number = 0; cursor.left; number++) {
        if (next_item(&cursor, &item) != 0)
            return -1;
        for (size_t i = 0; number && i < 4; i++)
            text_add(all[i], ", ");
        if (torch_inputs_add_item(&cursor, texts, &item, &is_first) != 0)
            return -1;
    }
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        text_add_char(all[i], ']');
        if (text_failed(all[i]))
            return -1;
    }
    return 0;
}
