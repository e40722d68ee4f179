/* What an operator of PyTorch is given: its inputs as c10::IValue, read by their layout.
 *
 * A value is a word and a tag. Tensors and lists are behind pointers. What differs between versions is in one table, by the first
 * version that has it; a version that is not in it has no inputs. Tensors are read as they lie, never through their functions:
 * those of a subclass in Python would run Python. */
#include "torch.h"

#include "../wire/torch.h"

/* Tags, the same in all versions known. */
enum { TAG_TENSOR = 1, TAG_DOUBLE = 3, TAG_COMPLEX = 4, TAG_INT = 5 };

struct value { uint64_t word; uint32_t tag, reserved; };

static const struct version {
    uint32_t major, minor;
    uint16_t sizes;       /* of a tensor: the number of dimensions, then sizes and strides */
    uint16_t list;        /* of a list: first and last value, end of the memory, type of the values */
    uint8_t bool_tag, list_tag;
} versions[] = {
    { 1, 12, 72, 24, 7, 11 }, { 1, 13, 72, 24, 8, 12 }, { 2, 1, 72, 24, 9, 13 }, { 2, 3, 64, 16, 9, 13 }, { 2, 9, 64, 16, 10, 14 },
    { 2, 13, 56, 16, 10, 14 },
};
static const struct { uint32_t major, minor; } last_known = { 2, 15 };
static const struct version *known;
static const void *undefined;

enum { INLINE_DIMENSIONS = 5, DIMENSIONS_MAX = 64, KIND_TENSOR_TYPE = 3 };

int torch_inputs_prepare(const struct torch_version *version, const void *undefined_tensor)
{
    undefined = undefined_tensor;
    if (version->major > last_known.major || (version->major == last_known.major && version->minor > last_known.minor))
        return -1;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (version->major > versions[i].major || (version->major == versions[i].major && version->minor >= versions[i].minor))
            known = &versions[i];
    return known ? 0 : -1;
}

struct output {
    uint64_t *words;
    uint32_t used, room; /* one word is always kept for WIRE_TORCH_CUT */
};

static int put(struct output *out, uint64_t head, uint32_t more)
{
    if (out->used + 1 + more >= out->room)
        return -1;
    out->words[out->used++] = head;
    return 0;
}

/* Behind the sizes and strides: the offset in its storage, the number of elements, the type. */
static int put_tensor(struct output *out, const char *tensor)
{
    const char *sizes = tensor + known->sizes;
    uint64_t dimensions = torch_word(sizes, 0), is_inline = dimensions <= INLINE_DIMENSIONS;
    uint16_t type;
    memcpy(&type, sizes + 8 + 8 * 2 * INLINE_DIMENSIONS + 16, sizeof type);
    if (dimensions > DIMENSIONS_MAX)
        return put(out, wire_torch_item(WIRE_TORCH_OTHER, 0, 0), 0);
    const char *storage = is_inline ? sizes + 8 : (const char *)torch_word(sizes, 8);
    uint32_t count = dimensions < WIRE_TORCH_DIMENSIONS ? (uint32_t)dimensions : WIRE_TORCH_DIMENSIONS;
    if (put(out, wire_torch_item(WIRE_TORCH_TENSOR, type, count), 2 * count) != 0)
        return -1;
    memcpy(out->words + out->used, storage, count * 8);
    memcpy(out->words + out->used + count, storage + 8 * (is_inline ? INLINE_DIMENSIONS : dimensions), count * 8);
    out->used += 2 * count;
    return 0;
}

static int put_scalar(struct output *out, enum wire_torch_input kind, uint64_t word)
{
    if (put(out, wire_torch_item(kind, 0, 0), 1) != 0)
        return -1;
    out->words[out->used++] = word;
    return 0;
}

static int put_plain(struct output *out, const struct value *value)
{
    const void *pointer = (const void *)value->word;
    if (value->tag == TAG_TENSOR)
        return pointer && pointer != undefined ? put_tensor(out, pointer) : put(out, wire_torch_item(WIRE_TORCH_UNDEFINED, 0, 0), 0);
    if (value->tag == TAG_INT)
        return put_scalar(out, WIRE_TORCH_INT, value->word);
    if (value->tag == TAG_DOUBLE)
        return put_scalar(out, WIRE_TORCH_DOUBLE, value->word);
    if (value->tag == known->bool_tag)
        return put_scalar(out, WIRE_TORCH_BOOL, value->word & 1);
    return put(out, wire_torch_item(value->tag == TAG_COMPLEX ? WIRE_TORCH_COMPLEX : WIRE_TORCH_OTHER, 0, 0), 0);
}

/* As torch's profiler sorts them: lists of tensors, lists whose first value is a scalar, and others. */
static int put_list(struct output *out, const char *list)
{
    const struct value *first = (const void *)torch_word(list, known->list), *last = (const void *)torch_word(list, known->list + 8u);
    const char *type = (const char *)torch_word(list, known->list + 24u);
    uint64_t count = first < last ? (uint64_t)(last - first) : 0;
    uint32_t type_kind = 0;
    if (type)
        memcpy(&type_kind, type + 8, sizeof type_kind);
    int of_tensors = type_kind == KIND_TENSOR_TYPE;
    int of_scalars = !count || first->tag == TAG_INT || first->tag == TAG_DOUBLE || first->tag == TAG_COMPLEX || first->tag == known->bool_tag;
    if (!of_tensors && !of_scalars)
        return put(out, wire_torch_item(WIRE_TORCH_OTHER, 0, 0), 0);
    uint32_t head = out->used, written = 0;
    if (put(out, 0, 0) != 0)
        return -1;
    while (written < count && written < UINT16_MAX && put_plain(out, &first[written]) == 0)
        written++;
    out->words[head] = wire_torch_item(of_tensors ? WIRE_TORCH_TENSOR_LIST : WIRE_TORCH_SCALAR_LIST, 0, written);
    return written < count ? -1 : 0;
}

uint32_t torch_inputs_read(uint64_t *words, uint32_t room, const void *values, uint64_t count)
{
    struct output out = { .words = words, .room = room };
    const struct value *value = values;
    for (uint64_t i = 0; i < count; i++, value++) {
        int is_list = value->tag == known->list_tag && value->word;
        if ((is_list ? put_list(&out, (const char *)value->word) : put_plain(&out, value)) != 0) {
            words[out.used++] = wire_torch_item(WIRE_TORCH_CUT, 0, 0);
            break;
        }
    }
    return out.used;
}
