/* FLOPs as torch's with_flops counts them: for a few operators, from the shapes of their inputs. */
#include "torch_ops.h"

#include <string.h>

#include "analyze/model/flops/op_inputs.h"
#include "base/array.h"

static uint64_t torch_flops_product(const struct op_input *tensor)
{
    uint64_t all = 1;

    for (size_t i = 0; i < tensor->rank; i++)
        all *= (uint64_t)tensor->dims[i];
    return all;
}

static uint64_t torch_flops_convolution(const struct op_inputs *inputs)
{
    enum { STRIDE, PADDING, DILATION, LISTS, FIRST_LIST = 3, GROUPS = 6 };
    const struct op_input *image = &inputs->list[0], *kernel = &inputs->list[1];
    int64_t lists[LISTS][3], groups;
    uint64_t size[2];

    if (inputs->count <= GROUPS || image->rank != 4 || kernel->rank != 4 ||
        op_value_numbers(&inputs->list[GROUPS], &groups, 1) != 1 || groups < 1)
        return 0;
    for (size_t i = 0; i < LISTS; i++)
        if (op_value_numbers(&inputs->list[FIRST_LIST + i], lists[i], 3) != 2)
            return 0;
    for (int i = 0; i < 2; i++) {
        if (lists[STRIDE][i] < 1)
            return 0;
        size[i] = ((uint64_t)image->dims[2 + i] + 2 * (uint64_t)lists[PADDING][i] -
                   (uint64_t)lists[DILATION][i] * (uint64_t)(kernel->dims[2 + i] - 1) - 1) /
                      (uint64_t)lists[STRIDE][i] +
                  1;
    }
    return 2 * (uint64_t)image->dims[0] * size[0] * size[1] * (uint64_t)kernel->dims[2] * (uint64_t)kernel->dims[3] *
           (uint64_t)image->dims[1] * (uint64_t)kernel->dims[0] / (uint64_t)groups;
}

static uint64_t multiplication(const struct op_input *a, const struct op_input *b, int in_batches)
{
    if (a->rank == 0 || !a->dims[a->rank - 1] || (in_batches && !a->dims[0]))
        return 0;
    uint64_t rows = torch_flops_product(a) / (uint64_t)a->dims[a->rank - 1];
    return 2 * (in_batches ? rows / (uint64_t)a->dims[0] : rows) * torch_flops_product(b);
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
    static const struct intern_string none = { "", 0 };
    struct op_inputs inputs;

    for (size_t i = 0; i < COUNT_OF(counted) && shapes.length; i++) {
        if (strcmp(name, counted[i].name) != 0)
            continue;
        op_inputs_read(&inputs, &(struct op_texts){ shapes, none, none, values });
        if (inputs.count < counted[i].first + (counted[i].how == ELEMENTS ? 1 : 2))
            return 0;
        const struct op_input *first = &inputs.list[counted[i].first];
        switch (counted[i].how) {
        case CONVOLUTION: return (int64_t)torch_flops_convolution(&inputs);
        case ELEMENTS: return (int64_t)torch_flops_product(first);
        default: return (int64_t)multiplication(first, first + 1, counted[i].how == BATCHES);
        }
    }
    return 0;
}
