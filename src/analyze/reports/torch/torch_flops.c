/* FLOPs as torch's with_flops counts them: of a few operators, from the shapes of their inputs. */
#include "torch_ops.h"

#include <string.h>

enum { MOST_DIMS = 8, MOST_INPUTS = 8 };

struct tensor_dims {
    int64_t list[MOST_DIMS];
    size_t count;
};

/* Reads the numbers up to the bracket that closes the list; `at` is behind the bracket that opens it. */
static const char *read_dims(const char *at, const char *end, struct tensor_dims *out)
{
    out->count = 0;
    while (at < end && *at != ']') {
        if ((unsigned char)(*at - '0') > 9) {
            at++;
            continue;
        }
        int64_t number = 0;
        for (; at < end && (unsigned char)(*at - '0') <= 9; at++)
            number = number < INT64_MAX / 10 - 1 ? number * 10 + (*at - '0') : number;
        if (out->count < MOST_DIMS)
            out->list[out->count++] = number;
    }
    return at;
}

/* [[5, 3, 224, 224], [64], []]; a list of tensors, [[[2], [3]], …], is read as the first of them. */
static void read_shapes(struct intern_string json, struct tensor_dims out[MOST_INPUTS])
{
    const char *at = json.bytes, *end = at + json.length;
    size_t depth = 0, input = 0;

    memset(out, 0, MOST_INPUTS * sizeof *out);
    for (; at < end && input < MOST_INPUTS; at++) {
        if (*at == '[' && depth == 1) {
            at = read_dims(at + 1, end, &out[input++]);
        } else if (*at == '[') {
            depth++;
        }
    }
}

/* The numbers in element `place` of a list such as ["", "[2, 2]", "1"]. */
static struct tensor_dims value_at(struct intern_string json, size_t place)
{
    const char *at = json.bytes, *end = at + json.length;
    struct tensor_dims out = { 0 };

    for (size_t i = 0; at < end; i++) {
        const char *open = memchr(at, '"', (size_t)(end - at));
        const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
        if (!close)
            break;
        if (i == place) {
            read_dims(open + 1 + (open[1] == '['), close, &out);
            break;
        }
        at = close + 1;
    }
    return out;
}

static uint64_t product(const struct tensor_dims *dims)
{
    uint64_t all = 1;

    for (size_t i = 0; i < dims->count; i++)
        all *= (uint64_t)dims->list[i];
    return all;
}

static uint64_t convolution(const struct tensor_dims inputs[MOST_INPUTS], struct intern_string values)
{
    enum { STRIDE = 3, PADDING = 4, DILATION = 5, GROUPS = 6 };
    const struct tensor_dims *image = &inputs[0], *kernel = &inputs[1];
    struct tensor_dims stride = value_at(values, STRIDE), padding = value_at(values, PADDING),
                       dilation = value_at(values, DILATION), groups = value_at(values, GROUPS);
    uint64_t size[2];

    if (image->count != 4 || kernel->count != 4 || stride.count != 2 || padding.count != 2 || dilation.count != 2 ||
        groups.count != 1 || !stride.list[0] || !stride.list[1] || !groups.list[0])
        return 0;
    for (int i = 0; i < 2; i++)
        size[i] = ((uint64_t)image->list[2 + i] + 2 * (uint64_t)padding.list[i] -
                   (uint64_t)dilation.list[i] * (uint64_t)(kernel->list[2 + i] - 1) - 1) /
                      (uint64_t)stride.list[i] +
                  1;
    return 2 * (uint64_t)image->list[0] * size[0] * size[1] * (uint64_t)kernel->list[2] * (uint64_t)kernel->list[3] *
           (uint64_t)image->list[1] * (uint64_t)kernel->list[0] / (uint64_t)groups.list[0];
}

static uint64_t multiplication(const struct tensor_dims *a, const struct tensor_dims *b, int in_batches)
{
    if (a->count == 0 || !a->list[a->count - 1] || (in_batches && !a->list[0]))
        return 0;
    uint64_t rows = product(a) / (uint64_t)a->list[a->count - 1];
    return 2 * (in_batches ? rows / (uint64_t)a->list[0] : rows) * product(b);
}

int64_t torch_flops(const char *name, struct intern_string shapes, struct intern_string values)
{
    enum { CONVOLUTION, PRODUCT, BATCHES, ELEMENTS };
    static const struct {
        const char *name;
        int how;
        size_t first;
    } counted[] = {
        { "aten::conv2d", CONVOLUTION, 0 }, { "aten::mm", PRODUCT, 0 },      { "aten::addmm", PRODUCT, 1 },
        { "aten::bmm", BATCHES, 0 },        { "aten::baddbmm", BATCHES, 1 }, { "aten::mul", ELEMENTS, 0 },
        { "aten::add", ELEMENTS, 0 },
    };
    struct tensor_dims inputs[MOST_INPUTS];

    for (size_t i = 0; i < sizeof counted / sizeof *counted && shapes.length; i++) {
        if (strcmp(name, counted[i].name) != 0)
            continue;
        read_shapes(shapes, inputs);
        const struct tensor_dims *first = &inputs[counted[i].first];
        switch (counted[i].how) {
        case CONVOLUTION: return (int64_t)convolution(inputs, values);
        case ELEMENTS: return (int64_t)product(first);
        default: return (int64_t)multiplication(first, first + 1, counted[i].how == BATCHES);
        }
    }
    return 0;
}
