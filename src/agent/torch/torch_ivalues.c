/* Reads the inputs of a PyTorch operator, which are c10::IValue, by their layout.
 *
 * A value is a word and a tag. Tensors and lists are behind pointers. One table has what differs between versions, by
 * the first version that has it; with an unknown version no inputs are read. Tensors are read from memory, never
 * through their functions, because those of a subclass in Python would run Python.
 *
 * A version number is no proof. Until one tensor was found whose sizes multiply to its number of elements, each tensor
 * is checked for that. If the first few fail, no more inputs are read. This detects a wrong offset. It does not detect
 * a build with a borrowed version number whose values are laid out differently. */
#include "torch_agent.h"

#include "wire/wire_torch.h"

/* Tags that are the same in all known versions. */
enum { TAG_TENSOR = 1, TAG_DOUBLE = 3, TAG_COMPLEX = 4, TAG_INT = 5 };

struct torch_ivalues_value {
    uint64_t word;
    uint32_t tag, reserved;
};

static const struct torch_ivalues_version {
    uint32_t major, minor;
    uint16_t sizes; /* in a tensor: offset of the number of dimensions, then sizes and strides */
    uint16_t list;  /* in a list: offset of first and last value, end of the memory, type of the values */
    uint8_t bool_tag, list_tag;
    uint8_t kind;   /* in a type: offset of its kind */
} torch_ivalues_versions[] = {
    { 1, 8, 64, 24, 6, 10, 24 }, { 1, 10, 72, 24, 6, 10, 24 }, { 1, 11, 72, 24, 6, 10, 8 },
    { 1, 12, 72, 24, 7, 11, 8 }, { 1, 13, 72, 24, 8, 12, 8 },  { 2, 1, 72, 24, 9, 13, 8 },
    { 2, 3, 64, 16, 9, 13, 8 },  { 2, 9, 64, 16, 10, 14, 8 },  { 2, 13, 56, 16, 10, 14, 8 },
};
static const struct {
    uint32_t major, minor;
} last_known = { 2, 15 };
static const struct torch_ivalues_version *known;
static const void *undefined;

enum { INLINE_DIMENSIONS = 5, DIMENSIONS_MAX = WIRE_TORCH_DIMENSIONS, KIND_TENSOR_TYPE = 3 };

int torch_inputs_prepare(const struct torch_version *version, const void *undefined_tensor)
{
    undefined = undefined_tensor;
    if (version->major > last_known.major || (version->major == last_known.major && version->minor > last_known.minor))
        return -1;
    for (size_t i = 0; i < COUNT_OF(torch_ivalues_versions); i++)
        if (version->major > torch_ivalues_versions[i].major ||
            (version->major == torch_ivalues_versions[i].major && version->minor >= torch_ivalues_versions[i].minor))
            known = &torch_ivalues_versions[i];
    return known ? 0 : -1;
}

/* Whether tensors look as the version says. */
enum { UNPROVEN, PROVEN, REFUTED, TRIALS = 8, TYPES = 64 };
static _Atomic uint32_t proof, misfits;

int torch_inputs_are_refuted(void)
{
    return atomic_load_explicit(&proof, memory_order_relaxed) == REFUTED;
}

static void count_misfit(void)
{
    if (atomic_load_explicit(&proof, memory_order_relaxed) == UNPROVEN && atomic_fetch_add(&misfits, 1) + 1 >= TRIALS)
        atomic_store(&proof, REFUTED);
}

/* After sizes and strides come the offset in the storage, the number of elements and the type. Tensors without
 * dimensions, or with more than are stored inline, prove nothing. */
static int torch_ivalues_fits(const char *sizes, uint64_t dimensions, uint16_t type)
{
    uint64_t elements = torch_word(sizes, 8 + 8 * 2 * INLINE_DIMENSIONS + 8), product = 1;
    if (likely(atomic_load_explicit(&proof, memory_order_relaxed) == PROVEN))
        return 1;
    for (uint64_t i = 0; i < dimensions && dimensions <= INLINE_DIMENSIONS; i++)
        product *= torch_word(sizes, 8 + 8 * i);
    int is_right = type < TYPES && dimensions <= DIMENSIONS_MAX &&
                   (dimensions > INLINE_DIMENSIONS || product == elements);
    if (is_right && dimensions && dimensions <= INLINE_DIMENSIONS && product > 1)
        atomic_store(&proof, PROVEN);
    else if (!is_right)
        count_misfit();
    return is_right;
}

struct torch_ivalues_output {
    uint64_t *words;
    uint32_t used, room; /* one word is always left for WIRE_TORCH_CUT */
};

static int torch_ivalues_put(struct torch_ivalues_output *out, uint64_t head, uint32_t more)
{
    if (out->used + 1 + more >= out->room)
        return -1;
    out->words[out->used++] = head;
    return 0;
}

static int put_tensor(struct torch_ivalues_output *out, const char *tensor)
{
    const char *sizes = tensor + known->sizes;
    uint64_t dimensions = torch_word(sizes, 0), is_inline = dimensions <= INLINE_DIMENSIONS;
    uint16_t type;
    memcpy(&type, sizes + 8 + 8 * 2 * INLINE_DIMENSIONS + 16, sizeof type);
    if (!torch_ivalues_fits(sizes, dimensions, type) || dimensions > DIMENSIONS_MAX)
        return torch_ivalues_put(out, wire_torch_item(WIRE_TORCH_OTHER, 0, 0), 0);
    const char *storage = is_inline ? sizes + 8 : (const char *)torch_word(sizes, 8);
    uint32_t count = (uint32_t)dimensions;
    if (torch_ivalues_put(out, wire_torch_item(WIRE_TORCH_TENSOR, type, count), 2 * count) != 0)
        return -1;
    memcpy(out->words + out->used, storage, count * 8);
    memcpy(out->words + out->used + count, storage + 8 * (is_inline ? INLINE_DIMENSIONS : dimensions), count * 8);
    out->used += 2 * count;
    return 0;
}

static int put_scalar(struct torch_ivalues_output *out, enum wire_torch_input kind, uint64_t word)
{
    if (torch_ivalues_put(out, wire_torch_item(kind, 0, 0), 1) != 0)
        return -1;
    out->words[out->used++] = word;
    return 0;
}

static int put_plain(struct torch_ivalues_output *out, const struct torch_ivalues_value *value)
{
    const void *pointer = (const void *)value->word;
    if (value->tag == TAG_TENSOR)
        return pointer && pointer != undefined ? put_tensor(out, pointer)
                                               : torch_ivalues_put(out, wire_torch_item(WIRE_TORCH_UNDEFINED, 0, 0), 0);
    if (value->tag == TAG_INT)
        return put_scalar(out, WIRE_TORCH_INT, value->word);
    if (value->tag == TAG_DOUBLE)
        return put_scalar(out, WIRE_TORCH_DOUBLE, value->word);
    if (value->tag == known->bool_tag)
        return put_scalar(out, WIRE_TORCH_BOOL, value->word & 1);
    return torch_ivalues_put(out,
                             wire_torch_item(value->tag == TAG_COMPLEX ? WIRE_TORCH_COMPLEX : WIRE_TORCH_OTHER, 0, 0),
                             0);
}

/* A list that is longer than PyTorch's profiler shows must leave room for the inputs after it. */
enum { ROOM_BEHIND = 128 };

/* Sorted as PyTorch's profiler does: lists of tensors, lists whose first value is a scalar, and others. */
static int put_list(struct torch_ivalues_output *out, const char *list)
{
    const struct torch_ivalues_value *first = (const void *)torch_word(list, known->list),
                                     *last = (const void *)torch_word(list, known->list + 8u);
    const struct torch_ivalues_value *end = (const void *)torch_word(list, known->list + 16u);
    const char *type = (const char *)torch_word(list, known->list + 24u);
    if (first > last || last > end || (!first && end)) { /* not a list */
        count_misfit();
        return torch_ivalues_put(out, wire_torch_item(WIRE_TORCH_OTHER, 0, 0), 0);
    }
    uint64_t count = (uint64_t)(last - first);
    uint32_t type_kind = 0;
    if (type)
        memcpy(&type_kind, type + known->kind, sizeof type_kind);
    int of_tensors = type_kind == KIND_TENSOR_TYPE;
    int of_scalars = !count || first->tag == TAG_INT || first->tag == TAG_DOUBLE || first->tag == TAG_COMPLEX ||
                     first->tag == known->bool_tag;
    if (!of_tensors && !of_scalars)
        return torch_ivalues_put(out, wire_torch_item(WIRE_TORCH_OTHER, 0, 0), 0);
    uint32_t head = out->used, written = 0;
    if (torch_ivalues_put(out, 0, 0) != 0)
        return -1;
    int is_long = of_tensors && count > WIRE_TORCH_LIST_MAX;
    while (written < count && written < UINT16_MAX && !(is_long && out->used + ROOM_BEHIND > out->room) &&
           put_plain(out, &first[written]) == 0)
        written++;
    if (is_long && written < count) {
        out->used = head + 1;
        out->words[head] = wire_torch_item(WIRE_TORCH_TENSOR_LIST, WIRE_TORCH_LEFT_OUT, (uint32_t)count);
        return 0;
    }
    out->words[head] = wire_torch_item(of_tensors ? WIRE_TORCH_TENSOR_LIST : WIRE_TORCH_SCALAR_LIST, 0, written);
    return written < count ? -1 : 0;
}

uint32_t torch_inputs_read(uint64_t *words, uint32_t room, const void *values, uint64_t count)
{
    struct torch_ivalues_output out = { .words = words, .room = room };
    const struct torch_ivalues_value *value = values;
    for (uint64_t i = 0; i < count; i++, value++) {
        int is_list = value->tag == known->list_tag && value->word;
        if ((is_list ? put_list(&out, (const char *)value->word) : put_plain(&out, value)) != 0) {
            words[out.used++] = wire_torch_item(WIRE_TORCH_CUT, 0, 0);
            break;
        }
    }
    return out.used;
}
