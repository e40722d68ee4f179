/* Operators that are bound by memory: norms, softmax, pooling, embeddings, elementwise operators, reductions,
 * optimizers, copies and communication. An operation on a number counts 1, be it an addition, a comparison, a division,
 * a root or an exponential. */
#include "op_work.h"

/* ---- elementwise ----------------------------------------------------------------------------------------------- */

/* Bytes of all tensors among the inputs; NOT_KNOWN if the type of one is. */
static double input_bytes(const struct op_inputs *inputs)
{
    double sum = 0;

    for (size_t i = 0; i < inputs->count; i++) {
        const struct op_input *input = op_tensor(inputs, (int)i);
        if (input && !input->bytes)
            return NOT_KNOWN;
        sum += input ? op_tensor_bytes(input) : 0;
    }
    return sum;
}

/* Elements of all tensors broadcast to one shape. */
static double broadcast_elements(const struct op_inputs *inputs)
{
    int64_t shape[OP_MOST_DIMS]; /* from the last dimension on */
    size_t rank = 0;
    double elements = 1;

    for (size_t i = 0; i < inputs->count; i++) {
        const struct op_input *input = op_tensor(inputs, (int)i);
        for (size_t d = 0; input && d < input->rank; d++) {
            int64_t size = input->dims[input->rank - 1 - d];
            if (d == rank)
                shape[rank++] = size;
            else if (shape[d] == 1)
                shape[d] = size;
        }
    }
    for (size_t d = 0; d < rank; d++)
        elements *= (double)shape[d];
    return elements;
}

/* Bytes of an element of the result. A number among the inputs, which torch records as a double without dimensions,
 * does not make it wider, unless there are only such. */
static int widest(const struct op_inputs *inputs)
{
    int bytes[2] = { 0 }; /* of tensors without dimensions, and with some */

    for (size_t i = 0; i < inputs->count; i++) {
        const struct op_input *input = op_tensor(inputs, (int)i);
        if (input && input->bytes > bytes[input->rank > 0])
            bytes[input->rank > 0] = input->bytes;
    }
    return bytes[1] ? bytes[1] : bytes[0];
}

static int has_tensor(const struct op_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (inputs->list[i].tensors)
            return 1;
    return 0;
}

enum { COST, OUTPUT_BYTES };

/* COST operations for each element of the output; OUTPUT_BYTES each, 0: as the widest input. */
static void elementwise(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    double read = input_bytes(inputs), elements = broadcast_elements(inputs);
    int bytes = rule->at[OUTPUT_BYTES] ? rule->at[OUTPUT_BYTES] : widest(inputs);

    if (!has_tensor(inputs))
        return;
    work->flops = rule->at[COST] * elements;
    if (read >= 0)
        work->bytes = read + elements * bytes;
}

/* The same for each tensor of a list; the lists have the type of the tensors in none of torch's versions. */
static void of_lists(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *list = op_tensor(inputs, 0);

    if (list)
        work->flops = rule->at[COST] * list->elements;
}

/* Writes its first input, and reads the second if it has one. */
static void op_copy(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *to = op_tensor(inputs, 0), *from = op_tensor(inputs, 1);

    if (!to)
        return;
    work->flops = rule->at[COST];
    if (to->bytes && (!from || from->bytes))
        work->bytes = to->elements * to->bytes + (from ? op_tensor_bytes(from) : 0);
}

/* Reads the tensors of a list and writes them into one. */
static void concatenation(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    if (has_tensor(inputs))
        work->flops = rule->at[COST];
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

enum { DIMS = 1 };

/* Elements that a reduction over the dimensions in this input leaves; all dimensions if it names none. */
static double reduced_elements(const struct op_inputs *inputs, const struct op_input *tensor, int place)
{
    int64_t dims[OP_MOST_DIMS];
    size_t count = place > 0 && (size_t)place < inputs->count
                       ? op_value_numbers(&inputs->list[place], dims, OP_MOST_DIMS)
                       : 0;
    double left = tensor->elements;

    if (!count)
        return 1;
    for (size_t i = 0; i < count; i++) {
        int64_t d = dims[i] < 0 ? dims[i] + (int64_t)tensor->rank : dims[i];
        if (d >= 0 && d < (int64_t)tensor->rank && tensor->dims[d] > 0)
            left /= (double)tensor->dims[d];
    }
    return left;
}

/* COST operations for each element of the input. */
static void op_reduction(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *tensor = op_tensor(inputs, 0);

    if (!tensor)
        return;
    work->flops = rule->at[COST] * tensor->elements;
    if (tensor->bytes)
        work->bytes = op_tensor_bytes(tensor) + reduced_elements(inputs, tensor, rule->at[DIMS]) * tensor->bytes;
}

/* ---- norms and softmax ----------------------------------------------------------------------------------------- */

enum { TRAINING = 1, COST_WITHOUT };

/* COST operations for each element of the first input; the inputs of its size are read, and one is written. With a
 * place of TRAINING that says no, COST_WITHOUT operations. */
static void normalization(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *tensor = op_tensor(inputs, 0);
    int64_t truth = 1;
    double bytes;

    if (!tensor)
        return;
    if (rule->at[TRAINING] && (size_t)rule->at[TRAINING] < inputs->count)
        op_value_numbers(&inputs->list[rule->at[TRAINING]], &truth, 1);
    work->flops = (truth ? rule->at[COST] : rule->at[COST_WITHOUT]) * tensor->elements;
    if ((bytes = input_bytes(inputs)) >= 0)
        work->bytes = bytes + tensor->elements * tensor->bytes;
}

/* ---- pooling --------------------------------------------------------------------------------------------------- */

enum { WINDOW, INDEX_BYTES };

/* image, window, stride, padding, dilation: an operation for each point of each window. */
static void pooling(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *image = op_tensor(inputs, 0);
    int64_t lists[3][OP_MOST_DIMS]; /* window, stride, padding */
    size_t counts[3], of = (size_t)rule->at[WINDOW];
    double points = 1, window = 1;

    if (!image || image->rank <= of || inputs->count < 4)
        return;
    for (size_t i = 0; i < 3; i++)
        counts[i] = op_value_numbers(&inputs->list[1 + i], lists[i], OP_MOST_DIMS);
    for (size_t i = 0; i < of; i++) {
        double size = (double)image->dims[image->rank - of + i];
        if (!counts[0])
            return;
        double length = (double)lists[0][i < counts[0] ? i : 0];
        double stride = counts[1] ? (double)lists[1][i < counts[1] ? i : 0] : length;
        double padding = counts[2] ? (double)lists[2][i < counts[2] ? i : 0] : 0;
        if (stride < 1 || size + 2 * padding < length)
            return;
        points *= (double)(int64_t)((size + 2 * padding - length) / stride) + 1;
        window *= length;
        points /= size > 0 ? size : 1;
    }
    double output = image->elements * points;
    work->flops = output * window;
    if (image->bytes)
        work->bytes = op_tensor_bytes(image) + output * (image->bytes + rule->at[INDEX_BYTES]);
}

/* image, size of the output: an addition for each number. */
static void adaptive_pooling(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *image = op_tensor(inputs, 0);
    int64_t size[OP_MOST_DIMS];
    size_t of = (size_t)rule->at[WINDOW], count = inputs->count > 1 ? op_value_numbers(&inputs->list[1], size, of) : 0;
    double output = 1;

    if (!image || image->rank < of || count < of)
        return;
    for (size_t i = 0; i < image->rank; i++)
        output *= (double)(i < image->rank - of ? image->dims[i] : size[i - (image->rank - of)]);
    work->flops = image->elements;
    if (image->bytes && output >= 0)
        work->bytes = op_tensor_bytes(image) + output * image->bytes;
}

/* gradient, image: COST operations for each element of the larger one. */
static void pooling_backward(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *gradient = op_tensor(inputs, 0), *image = op_tensor(inputs, 1);

    if (!gradient || !image)
        return;
    work->flops = rule->at[COST] * (gradient->elements > image->elements ? gradient->elements : image->elements);
    if (gradient->bytes && image->bytes)
        work->bytes = op_tensor_bytes(gradient) + image->elements * image->bytes;
}

/* ---- embeddings ------------------------------------------------------------------------------------------------ */

enum { TABLE, INDEX };

/* Copies a row of the table for each index. */
static void lookup(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *table = op_tensor(inputs, rule->at[TABLE]), *index = op_tensor(inputs, rule->at[INDEX]);

    if (!table || !index || !table->rank)
        return;
    double row = table->dims[0] > 0 ? table->elements / (double)table->dims[0] : 0;
    work->flops = 0;
    if (table->bytes && index->bytes)
        work->bytes = 2 * index->elements * row * table->bytes + op_tensor_bytes(index);
}

/* gradient, index, rows of the table: an addition for each element of the gradient. */
static void lookup_backward(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *gradient = op_tensor(inputs, 0), *index = op_tensor(inputs, 1);
    int64_t rows = 0;

    if (!gradient || !index || !gradient->rank)
        return;
    work->flops = gradient->elements;
    if (gradient->bytes && index->bytes && inputs->count > 2 &&
        op_value_numbers(&inputs->list[rule->at[COST]], &rows, 1))
        work->bytes = op_tensor_bytes(gradient) + op_tensor_bytes(index) +
                      (double)rows * (double)gradient->dims[gradient->rank - 1] * gradient->bytes;
}

/* ---- communication --------------------------------------------------------------------------------------------- */

/* The bytes of the message are known if the type is. */
static void message(struct op_work *work, const struct op_inputs *inputs, const struct op_rule *rule)
{
    const struct op_input *tensor = op_tensor(inputs, 0);

    work->flops = rule->at[COST];
    if (tensor && tensor->bytes)
        work->bytes = op_tensor_bytes(tensor);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

#define ROW(class, count, name, ...)                                                                                   \
    {                                                                                                                  \
        "aten::" name, class, count,                                                                                   \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define EACH(name, cost) ROW(OP_ELEMENTWISE, elementwise, name, cost, 0)
#define TRUTH(name) ROW(OP_ELEMENTWISE, elementwise, name, 1, 1)
#define FOREACH(name, cost) ROW(OP_OPTIMIZER, of_lists, name, cost)
#define REDUCE(name, cost, dims) ROW(OP_REDUCTION, op_reduction, name, cost, dims)
#define NORM(name, cost, training, cost_without) ROW(OP_NORM, normalization, name, cost, training, cost_without)

/* clang-format off */
const struct op_rule tensor_rules[] = {
    /* one operation: arithmetic, comparison, or a function that a GPU computes as one */
    EACH("add", 1), EACH("sub", 1), EACH("rsub", 1), EACH("mul", 1), EACH("div", 1), EACH("neg", 1), EACH("abs", 1),
    EACH("pow", 1), EACH("sqrt", 1), EACH("rsqrt", 1), EACH("reciprocal", 1), EACH("exp", 1), EACH("log", 1),
    EACH("sin", 1), EACH("cos", 1), EACH("tanh", 1), EACH("erf", 1), EACH("floor", 1), EACH("ceil", 1),
    EACH("round", 1),
    EACH("sign", 1), EACH("square", 1), EACH("maximum", 1), EACH("minimum", 1), EACH("relu", 1), EACH("clamp", 1),
    EACH("clamp_min", 1), EACH("clamp_max", 1), EACH("threshold", 1), EACH("threshold_backward", 1), EACH("where", 1),
    EACH("masked_fill", 1), EACH("remainder", 1), EACH("fmod", 1), EACH("bitwise_and", 1), EACH("bitwise_or", 1),
    EACH("bitwise_not", 1), EACH("floor_divide", 1), EACH("tril", 1), EACH("triu", 1),
    TRUTH("eq"), TRUTH("ne"), TRUTH("lt"), TRUTH("le"), TRUTH("gt"), TRUTH("ge"), TRUTH("logical_and"),
    TRUTH("logical_or"), TRUTH("logical_not"), TRUTH("isnan"), TRUTH("isinf"), TRUTH("isfinite"),
    /* several */
    EACH("addcmul", 3), EACH("addcdiv", 3), EACH("lerp", 3), EACH("expm1", 2), EACH("log1p", 2), EACH("leaky_relu", 2),
    EACH("leaky_relu_backward", 2), EACH("hardtanh", 2), EACH("sigmoid", 4), EACH("silu", 5), EACH("gelu", 5),
    EACH("elu", 3), EACH("softplus", 3), EACH("mish", 6), EACH("hardswish", 4), EACH("hardsigmoid", 3),
    EACH("sigmoid_backward", 3), EACH("tanh_backward", 3), EACH("silu_backward", 9), EACH("gelu_backward", 12),
    EACH("elu_backward", 3), EACH("native_dropout_backward", 2), EACH("mse_loss", 2), EACH("mse_loss_backward", 3),
    EACH("binary_cross_entropy_with_logits", 6), ROW(OP_ELEMENTWISE, elementwise, "native_dropout", 3, 0),
    ROW(OP_ELEMENTWISE, elementwise, "_fused_dropout", 3, 0),

    ROW(OP_COPY, op_copy, "copy", 0), ROW(OP_COPY, op_copy, "fill", 0), ROW(OP_COPY, op_copy, "zero", 0),
    ROW(OP_COPY, op_copy, "bernoulli", 0), ROW(OP_COPY, op_copy, "normal", 0), ROW(OP_COPY, op_copy, "uniform", 0),
    ROW(OP_COPY, op_copy, "random", 0), ROW(OP_COPY, concatenation, "cat", 0), ROW(OP_COPY, concatenation, "stack", 0),

    REDUCE("sum", 1, 1), REDUCE("mean", 1, 1), REDUCE("amax", 1, 1), REDUCE("amin", 1, 1), REDUCE("max", 1, 1),
    REDUCE("min", 1, 1), REDUCE("argmax", 1, 1), REDUCE("argmin", 1, 1), REDUCE("prod", 1, 1), REDUCE("any", 1, 1),
    REDUCE("all", 1, 1), REDUCE("var", 4, 1), REDUCE("std", 4, 1), REDUCE("var_mean", 4, 1), REDUCE("norm", 2, 2),
    REDUCE("linalg_vector_norm", 2, 2), REDUCE("cumsum", 1, 0), REDUCE("logsumexp", 4, 1),
    REDUCE("nll_loss_forward", 0, 0), REDUCE("nll_loss2d_forward", 0, 0),

    /* mean 1, variance 3, (x - mean) × factor 2, weight and bias 2 */
    NORM("native_layer_norm", 8, 0, 0), NORM("native_group_norm", 8, 0, 0), NORM("native_batch_norm", 8, 5, 4),
    NORM("cudnn_batch_norm", 8, 5, 4), NORM("_batch_norm_with_update", 8, 0, 0),
    NORM("_native_batch_norm_legit", 8, 5, 4),
    NORM("_batch_norm_impl_index", 8, 5, 4), NORM("_fused_rms_norm", 4, 0, 0), NORM("batch_norm_elemt", 4, 0, 0),
    NORM("batch_norm_stats", 4, 0, 0),
    /* x̂ 2, two sums of products 3, gradients of weight and bias 3, of x 5 */
    NORM("native_layer_norm_backward", 13, 0, 0), NORM("native_group_norm_backward", 13, 0, 0),
    NORM("native_batch_norm_backward", 13, 7, 7), NORM("cudnn_batch_norm_backward", 13, 0, 0),
    NORM("batch_norm_backward", 13, 7, 7), NORM("_fused_rms_norm_backward", 10, 0, 0),

    ROW(OP_SOFTMAX, normalization, "_softmax", 5), ROW(OP_SOFTMAX, normalization, "_log_softmax", 5),
    ROW(OP_SOFTMAX, normalization, "_masked_softmax", 6), ROW(OP_SOFTMAX, normalization, "_safe_softmax", 5),
    ROW(OP_SOFTMAX, normalization, "_softmax_backward_data", 4),
    ROW(OP_SOFTMAX, normalization, "_log_softmax_backward_data", 4),

    ROW(OP_POOLING, pooling, "max_pool2d_with_indices", 2, 8),
    ROW(OP_POOLING, pooling, "max_pool3d_with_indices", 3, 8),
    ROW(OP_POOLING, pooling, "avg_pool2d", 2, 0), ROW(OP_POOLING, pooling, "avg_pool3d", 3, 0),
    ROW(OP_POOLING, adaptive_pooling, "_adaptive_avg_pool2d", 2),
    ROW(OP_POOLING, adaptive_pooling, "_adaptive_avg_pool3d", 3),
    ROW(OP_POOLING, pooling_backward, "max_pool2d_with_indices_backward", 1),
    ROW(OP_POOLING, pooling_backward, "avg_pool2d_backward", 2),
    ROW(OP_POOLING, pooling_backward, "_adaptive_avg_pool2d_backward", 1),

    ROW(OP_EMBEDDING, lookup, "embedding", 0, 1), ROW(OP_EMBEDDING, lookup, "index_select", 0, 2),
    ROW(OP_EMBEDDING, lookup_backward, "embedding_dense_backward", 2),

    /* Adam: two averages 7, root and division 3, step 3; weight decay 2 */
    FOREACH("_fused_adam", 13), FOREACH("_fused_adamw", 15), FOREACH("_fused_sgd", 4), FOREACH("_fused_adagrad", 6),
    FOREACH("_foreach_add", 1), FOREACH("_foreach_sub", 1), FOREACH("_foreach_mul", 1), FOREACH("_foreach_div", 1),
    FOREACH("_foreach_neg", 1), FOREACH("_foreach_sqrt", 1), FOREACH("_foreach_pow", 1),
    FOREACH("_foreach_reciprocal", 1),
    FOREACH("_foreach_lerp", 3), FOREACH("_foreach_addcmul", 3), FOREACH("_foreach_addcdiv", 3),
    FOREACH("_foreach_norm", 2), FOREACH("_foreach_maximum", 1), FOREACH("_foreach_clamp_max", 1),
    FOREACH("_foreach_zero", 0), FOREACH("_foreach_copy", 0), FOREACH("_amp_foreach_non_finite_check_and_unscale", 2),

    { "record_param_comms", OP_COMMUNICATION, message, { 0 } },
    { "c10d::allreduce", OP_COMMUNICATION, message, { 0 } },
    { "c10d::broadcast", OP_COMMUNICATION, message, { 0 } },
    { "c10d::_allgather_base", OP_COMMUNICATION, message, { 0 } },
    { "c10d::allgather", OP_COMMUNICATION, message, { 0 } },
    { "c10d::_reduce_scatter_base", OP_COMMUNICATION, message, { 0 } },
    { "c10d::reduce_scatter", OP_COMMUNICATION, message, { 0 } },
    { "c10d::alltoall_base", OP_COMMUNICATION, message, { 0 } },
    { "c10d::send", OP_COMMUNICATION, message, { 0 } },
    { "c10d::recv", OP_COMMUNICATION, message, { 0 } },
    { 0 },
};
/* clang-format on */
