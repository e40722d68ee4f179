/* Matrix multiplications, convolutions and attention: what tensor cores compute. A multiply-add is two operations.
 * Biases are not counted, as in torch's flop_counter. */
#include "op_work.h"

/* ---- matrix multiplications ------------------------------------------------------------------------------------ */

enum { A, B, BIAS, B_IS_TRANSPOSED };

/* [..., m, k] × [..., k, n]; with B_IS_TRANSPOSED × [n, k], with a vector × [k]. */
static void matmul(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *a = op_tensor(inputs, rule->at[A]), *b = op_tensor(inputs, rule->at[B]);
    const struct op_input *bias = op_tensor(inputs, rule->at[BIAS]);

    if (!a || !b || !a->rank || !b->rank)
        return;
    int is_vector = b->rank == 1;
    int64_t n = is_vector ? 1 : b->dims[rule->at[B_IS_TRANSPOSED] ? b->rank - 2 : b->rank - 1];
    int64_t k = a->dims[a->rank - 1];
    work->flops = 2 * a->elements * (double)n;
    if (a->bytes && b->bytes && k > 0)
        work->bytes = op_tensor_bytes(a) + op_tensor_bytes(b) + (bias && bias->bytes ? op_tensor_bytes(bias) : 0) +
                      a->elements / (double)k * (double)n * a->bytes;
    if (a->type == DATA_COMPLEX)
        work->flops *= 4;
}

/* ---- convolutions ---------------------------------------------------------------------------------------------- */

enum { STRIDE, PADDING, DILATION, TRANSPOSED };
enum { ALWAYS = -2 }; /* TRANSPOSED: whatever the inputs say */

static int64_t of_list(const int64_t *list, size_t count, size_t i, int64_t otherwise)
{
    return !count ? otherwise : list[i < count ? i : count - 1];
}

/* Points of the output in space; NOT_KNOWN if the values were not recorded. */
static double output_points(const struct op_inputs *inputs, const struct op_rule *rule, const struct op_input *image,
                            const struct op_input *kernel)
{
    int64_t lists[3][OP_MOST_DIMS];
    size_t counts[3];
    double points = 1;

    for (int i = 0; i < 3; i++) {
        counts[i] = rule->at[i] >= 0 && (size_t)rule->at[i] < inputs->count
                        ? op_value_numbers(&inputs->list[rule->at[i]], lists[i], OP_MOST_DIMS)
                        : 0;
        if (rule->at[i] >= 0 && !counts[i])
            return NOT_KNOWN;
    }
    for (size_t i = 2; i < image->rank; i++) {
        double stride = (double)of_list(lists[STRIDE], counts[STRIDE], i - 2, 1);
        double room = (double)image->dims[i] + 2 * (double)of_list(lists[PADDING], counts[PADDING], i - 2, 0) -
                      (double)of_list(lists[DILATION], counts[DILATION], i - 2, 1) * (double)(kernel->dims[i] - 1) - 1;
        if (stride < 1 || room < 0)
            return NOT_KNOWN;
        points *= (double)(int64_t)(room / stride) + 1;
    }
    return points;
}

static double input_points(const struct op_input *image)
{
    double points = 1;

    for (size_t i = 2; i < image->rank; i++)
        points *= (double)image->dims[i];
    return points;
}

static int truth_at(const struct op_inputs *inputs, int place)
{
    int64_t truth = 0;

    return place >= 0 && (size_t)place < inputs->count && op_value_numbers(&inputs->list[place], &truth, 1) && truth;
}

/* image, weights, …; the shape of the weights has the groups in it. */
static void op_convolution(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *image = op_tensor(inputs, 0), *kernel = op_tensor(inputs, 1);
    int is_transposed = rule->at[TRANSPOSED] == ALWAYS || truth_at(inputs, rule->at[TRANSPOSED]);

    if (!image || !kernel || image->rank < 3 || image->rank != kernel->rank)
        return;
    double points = is_transposed ? input_points(image) : output_points(inputs, rule, image, kernel);
    if (points < 0)
        return;
    work->flops = 2 * (double)image->dims[0] * points * kernel->elements;
    if (!is_transposed && image->bytes && kernel->bytes)
        work->bytes = op_tensor_bytes(image) + op_tensor_bytes(kernel) +
                      (double)image->dims[0] * (double)kernel->dims[0] * points * image->bytes;
}

enum { BACKWARD_TRANSPOSED, MASK };

/* gradient, image, weights, …: each of the two gradients costs as much as the forward convolution. */
static void convolution_backward(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *gradient = op_tensor(inputs, 0), *image = op_tensor(inputs, 1),
                          *kernel = op_tensor(inputs, 2);
    int64_t mask[3] = { 0 };

    if (!gradient || !image || !kernel || image->rank < 3 || image->rank != gradient->rank ||
        image->rank != kernel->rank || (size_t)rule->at[MASK] >= inputs->count ||
        op_value_numbers(&inputs->list[rule->at[MASK]], mask, 3) < 2)
        return;
    double points = input_points(truth_at(inputs, rule->at[BACKWARD_TRANSPOSED]) ? image : gradient);
    double once = 2 * (double)image->dims[0] * points * kernel->elements;
    work->flops = once * ((mask[0] != 0) + (mask[1] != 0));
    if (gradient->bytes && image->bytes && kernel->bytes)
        work->bytes = (mask[0] ? op_tensor_bytes(gradient) + op_tensor_bytes(kernel) + image->elements * image->bytes
                               : 0) +
                      (mask[1] ? op_tensor_bytes(gradient) + op_tensor_bytes(image) + kernel->elements * kernel->bytes
                               : 0);
}

/* ---- attention ------------------------------------------------------------------------------------------------- */

enum { QUERY, CAUSAL, IS_BACKWARD, HEADS_LAST, BOTTOM_RIGHT, MASK_TYPE };

/* Pairs of a query and a key that a causal mask leaves. The mask's corner is that of the first pair, or of the last. */
static double causal_pairs(double queries, double keys, int is_bottom_right)
{
    double shift = is_bottom_right ? keys - queries : 0; /* query i sees the keys up to i + shift */
    double first = shift < 0 ? -shift : 0;               /* queries before it see none */
    double full = keys - shift;                          /* queries from here on see all */

    full = full > queries ? queries : full;
    full = full < first ? first : full;
    double ramp = full - first;
    return ramp * (first + shift + 1 + full + shift) / 2 + (queries - full) * keys;
}

/* Query × key and score × value; backwards the gradients of all four, and the scores again. */
static void attention(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *q = op_tensor(inputs, rule->at[QUERY]), *k = op_tensor(inputs, rule->at[QUERY] + 1),
                          *v = op_tensor(inputs, rule->at[QUERY] + 2);
    int place = rule->at[HEADS_LAST]
                    ? 1
                    : 2; /* of the sequence: [batch, head, sequence, …] or [batch, sequence, head, …] */
    int64_t causal = 0;

    if (!q || !k || !v || q->rank != 4 || k->rank != 4 || v->rank != 4)
        return; /* sequences of different lengths in one tensor: their lengths are not recorded */
    if (rule->at[CAUSAL] >= 0 &&
        ((size_t)rule->at[CAUSAL] >= inputs->count || !op_value_numbers(&inputs->list[rule->at[CAUSAL]], &causal, 1)))
        return;
    double queries = (double)q->dims[place], keys = (double)k->dims[place];
    double heads = (double)q->dims[0] * (double)q->dims[3 - place];
    int is_bottom_right = rule->at[MASK_TYPE] ? causal == 2 : rule->at[BOTTOM_RIGHT];
    double pairs = heads * (causal ? causal_pairs(queries, keys, is_bottom_right) : queries * keys);
    double scores = 2 * pairs * (double)q->dims[3], values = 2 * pairs * (double)v->dims[3];

    work->flops = rule->at[IS_BACKWARD] ? 3 * scores + 2 * values : scores + values;
    work->recomputed = rule->at[IS_BACKWARD] ? scores : 0;
    if (q->bytes) {
        double output = q->elements / (double)(q->dims[3] ? q->dims[3] : 1) * (double)v->dims[3] * q->bytes;
        double all = op_tensor_bytes(q) + op_tensor_bytes(k) + op_tensor_bytes(v) + output;
        work->bytes = rule->at[IS_BACKWARD] ? 2 * all : all; /* output and its gradient, inputs and their gradients */
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

#define MATMUL(name, a, b, bias, is_transposed)                                                                        \
    {                                                                                                                  \
        "aten::" name, OP_MATMUL, matmul,                                                                              \
        {                                                                                                              \
            a, b, bias, is_transposed                                                                                  \
        }                                                                                                              \
    }
#define CONVOLUTION(name, stride, padding, dilation, transposed)                                                       \
    {                                                                                                                  \
        "aten::" name, OP_CONVOLUTION, op_convolution,                                                                 \
        {                                                                                                              \
            stride, padding, dilation, transposed                                                                      \
        }                                                                                                              \
    }
#define CONVOLUTION_BACKWARD(name, transposed, mask)                                                                   \
    {                                                                                                                  \
        "aten::" name, OP_CONVOLUTION, convolution_backward,                                                           \
        {                                                                                                              \
            transposed, mask                                                                                           \
        }                                                                                                              \
    }
#define ATTENTION(name, query, causal, is_backward, heads_last, bottom_right, mask_type)                               \
    {                                                                                                                  \
        name, OP_ATTENTION, attention,                                                                                 \
        {                                                                                                              \
            query, causal, is_backward, heads_last, bottom_right, mask_type                                            \
        }                                                                                                              \
    }

/* clang-format off */
const struct op_rule matrix_rules[] = {
    MATMUL("mm", 0, 1, -1, 0),
    MATMUL("addmm", 1, 2, 0, 0),
    MATMUL("bmm", 0, 1, -1, 0),
    MATMUL("baddbmm", 1, 2, 0, 0),
    MATMUL("addbmm", 1, 2, 0, 0),
    MATMUL("_addmm_activation", 1, 2, 0, 0),
    MATMUL("linear", 0, 1, 2, 1),
    MATMUL("mv", 0, 1, -1, 0),
    MATMUL("addmv", 1, 2, 0, 0),
    MATMUL("dot", 0, 1, -1, 0),
    MATMUL("vdot", 0, 1, -1, 0),
    MATMUL("_scaled_mm", 0, 1, -1, 0),
    MATMUL("_int_mm", 0, 1, -1, 0),
    MATMUL("mkldnn_linear", 0, 1, 2, 1),

    CONVOLUTION("convolution", 3, 4, 5, 6),
    CONVOLUTION("_convolution", 3, 4, 5, 6),
    CONVOLUTION("convolution_overrideable", 3, 4, 5, 6),
    CONVOLUTION("conv1d", 3, 4, 5, -1),
    CONVOLUTION("conv2d", 3, 4, 5, -1),
    CONVOLUTION("conv3d", 3, 4, 5, -1),
    CONVOLUTION("cudnn_convolution", 3, 2, 4, -1),
    CONVOLUTION("cudnn_convolution_relu", 3, 4, 5, -1),
    CONVOLUTION("cudnn_convolution_transpose", 4, 2, 5, ALWAYS),
    CONVOLUTION("mkldnn_convolution", 4, 3, 5, -1),
    CONVOLUTION("_slow_conv2d_forward", 4, 5, -1, -1),
    CONVOLUTION("slow_conv3d_forward", 4, 5, -1, -1),
    CONVOLUTION("slow_conv_dilated2d", 4, 5, 6, -1),
    CONVOLUTION("slow_conv_dilated3d", 4, 5, 6, -1),
    CONVOLUTION("_conv_depthwise2d", 4, 5, 6, -1),
    CONVOLUTION("conv_depthwise3d", 4, 5, 6, -1),
    CONVOLUTION("conv_transpose1d", 3, 4, 7, ALWAYS),
    CONVOLUTION("conv_transpose2d", 3, 4, 7, ALWAYS),
    CONVOLUTION("conv_transpose3d", 3, 4, 7, ALWAYS),
    CONVOLUTION("slow_conv_transpose2d", 4, 5, 7, ALWAYS),
    CONVOLUTION("slow_conv_transpose3d", 4, 5, 7, ALWAYS),
    CONVOLUTION_BACKWARD("convolution_backward", 7, 10),
    CONVOLUTION_BACKWARD("convolution_backward_overrideable", 6, 9),
    CONVOLUTION_BACKWARD("_slow_conv2d_backward", -1, 6),
    CONVOLUTION_BACKWARD("_conv_depthwise2d_backward", -1, 7),

    /* query, causal, is backward, heads come after the sequence, the mask begins at the last pair, or its kind does */
    ATTENTION("aten::_scaled_dot_product_flash_attention", 0, 4, 0, 0, 0, 0),
    ATTENTION("aten::_scaled_dot_product_flash_attention_for_cpu", 0, 4, 0, 0, 0, 0),
    ATTENTION("aten::_scaled_dot_product_efficient_attention", 0, 6, 0, 0, 0, 0),
    ATTENTION("aten::_scaled_dot_product_cudnn_attention", 0, 6, 0, 0, 0, 0),
    ATTENTION("aten::_scaled_dot_product_fused_attention_overrideable", 0, 5, 0, 0, 0, 0),
    ATTENTION("aten::_flash_attention_forward", 0, 8, 0, 1, 1, 0),
    ATTENTION("aten::_efficient_attention_forward", 0, 9, 0, 1, 0, 1),
    ATTENTION("aten::_cudnn_attention_forward", 0, 10, 0, 0, 0, 0),
    ATTENTION("aten::_scaled_dot_product_flash_attention_backward", 1, 11, 1, 0, 0, 0),
    ATTENTION("aten::_scaled_dot_product_flash_attention_for_cpu_backward", 1, 7, 1, 0, 0, 0),
    ATTENTION("aten::_scaled_dot_product_efficient_attention_backward", 1, 11, 1, 0, 0, 0),
    ATTENTION("aten::_scaled_dot_product_cudnn_attention_backward", 1, 14, 1, 0, 0, 0),
    ATTENTION("aten::_flash_attention_backward", 1, 11, 1, 1, 1, 0),
    ATTENTION("aten::_efficient_attention_backward", 1, 14, 1, 1, 0, 1),
    ATTENTION("aten::_cudnn_attention_backward", 1, 14, 1, 0, 0, 0),
    ATTENTION("flash_attn::_flash_attn_forward", 0, 5, 0, 1, 1, 0),
    ATTENTION("flash_attn::_flash_attn_backward", 1, 11, 1, 1, 1, 0),
    { 0 },
};
/* clang-format on */
