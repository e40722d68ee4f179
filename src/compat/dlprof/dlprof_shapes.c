/* Shapes of inputs and outputs as DLProf writes them: the dimensions of convolutions and matrix products have letters,
 * those of other operators are bare numbers. */
#include <string.h>

#include "analyze/model/torch/literals.h"
#include "dlprof_internal.h"

enum { MOST_RANK = 16, LABELLED_INPUTS = 3 };

struct dlprof_shape {
    size_t rank;
    int64_t sizes[MOST_RANK];
};

/* Letters of the dimensions, input by input: an input of another rank has none. A letter of the output is the size of
 * an input's dimension of the same letter, or the output of a window (windows[]). */
static const struct dlprof_shapes_kind {
    const char *type;
    const char *inputs[LABELLED_INPUTS];
    const char *output;
} dlprof_shapes_kinds[] = {
    { "conv1d", { "NCW", "KCS" }, "NKQ" },
    { "conv2d", { "NCHW", "KCRS" }, "NKPQ" },
    { "conv3d", { "NCDHW", "KCTRS" }, "NKOPQ" },
    { "linear", { "NK", "MK" }, "NM" },
    { "mm", { "NK", "KM" }, "NM" },
    { "matmul", { "NK", "KM" }, "NM" },
    { "bmm", { "BNK", "BKM" }, "BNM" },
    { "addmm", { "", "NK", "KM" }, "NM" },
    { "baddbmm", { "", "BNK", "BKM" }, "BNM" },
};

/* The input of an output's dimension, and the window that slides over it; from_last counts from the last dimension. */
static const struct dlprof_shapes_window {
    char output, input, window;
    size_t from_last;
} windows[] = { { 'O', 'D', 'T', 3 }, { 'P', 'H', 'R', 2 }, { 'Q', 'W', 'S', 1 } };

/* Parameters of convolutions by their places among the arguments. */
enum { STRIDE = 3, PADDING, DILATION, GROUPS, PARAMETERS_END };
static const char *const parameter_names[] = {
    [STRIDE] = "stride", [PADDING] = "padding", [DILATION] = "dilation", [GROUPS] = "groups"
};

static const struct dlprof_shapes_kind *dlprof_shapes_find_kind(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(dlprof_shapes_kinds); i++)
        if (strcmp(dlprof_shapes_kinds[i].type, type) == 0)
            return &dlprof_shapes_kinds[i];
    return NULL;
}

static struct dlprof_shape read_shape(struct literal literal)
{
    struct dlprof_shape shape = { 0 };
    struct literal size;

    for (struct literal_scan scan = literal_parts(literal); literal_element(&scan, &size) && shape.rank < MOST_RANK;)
        if (literal_integer(size, &shape.sizes[shape.rank]))
            shape.rank++;
    return shape;
}

/* "<N:32, C:3>", or without letters "<32, 3>". */
static void add_shape(struct text *out, const struct dlprof_shape *shape, const char *letters)
{
    int labelled = letters && *letters && strlen(letters) == shape->rank;

    text_add(out, out->length ? "; <" : "<");
    for (size_t i = 0; i < shape->rank; i++) {
        text_add(out, i ? ", " : "");
        if (labelled)
            text_addf(out, "%c:", letters[i]);
        text_addf(out, "%lld", (long long)shape->sizes[i]);
    }
    text_add_char(out, '>');
}

static int is_tensor(const struct dlprof_argument *argument)
{
    return argument->shape.length > 0;
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

static const struct dlprof_argument *find_parameter(const struct dlprof_argument *arguments, size_t count, size_t which)
{
    for (size_t i = 0; i < count; i++)
        if (!is_tensor(&arguments[i]) && literal_is(arguments[i].name, parameter_names[which]))
            return &arguments[i];
    return which < count && !is_tensor(&arguments[which]) && arguments[which].value.length ? &arguments[which] : NULL;
}

/* The number of a parameter for a dimension: (1, 2), or one number for all. */
static int64_t parameter_number(const struct dlprof_argument *parameter, size_t from_last, int64_t otherwise)
{
    int64_t number;

    if (!parameter)
        return otherwise;
    struct dlprof_shape list = read_shape(parameter->value);
    if (list.rank)
        return list.rank >= from_last ? list.sizes[list.rank - from_last] : list.sizes[0];
    return literal_integer(parameter->value, &number) ? number : otherwise;
}

static void add_parameters(struct text *out, const struct dlprof_argument *arguments, size_t count)
{
    for (size_t which = STRIDE; which < PARAMETERS_END; which++) {
        const struct dlprof_argument *parameter = find_parameter(arguments, count, which);
        if (!parameter)
            continue;
        text_addf(out, "%s%s: ", out->length ? "; " : "", parameter_names[which]);
        literal_add(out, parameter->value);
    }
}

/* ---- outputs --------------------------------------------------------------------------------------------------- */

struct labelled {
    const struct dlprof_shapes_kind *kind;
    struct dlprof_shape inputs[LABELLED_INPUTS];
    const struct dlprof_argument *arguments;
    size_t count;
};

static int dlprof_shapes_size_of(const struct labelled *op, char letter, int64_t *out)
{
    for (size_t i = 0; i < LABELLED_INPUTS; i++) {
        const char *letters = op->kind->inputs[i], *found = letters ? strchr(letters, letter) : NULL;
        if (!found || strlen(letters) != op->inputs[i].rank)
            continue;
        *out = op->inputs[i].sizes[found - letters];
        return 1;
    }
    return 0;
}

static int window_size(const struct labelled *op, const struct dlprof_shapes_window *window, int64_t *out)
{
    int64_t values[PARAMETERS_END] = { [STRIDE] = 1, [DILATION] = 1 }, size, width, reach, room;

    for (size_t which = STRIDE; which < GROUPS; which++)
        values[which] = parameter_number(find_parameter(op->arguments, op->count, which), window->from_last,
                                         values[which]);
    if (values[STRIDE] <= 0 || !dlprof_shapes_size_of(op, window->input, &size) ||
        !dlprof_shapes_size_of(op, window->window, &width) ||
        __builtin_mul_overflow(values[DILATION], width - 1, &reach) ||
        __builtin_mul_overflow(values[PADDING], 2, &room) || __builtin_add_overflow(room, size, &room) ||
        __builtin_sub_overflow(room, reach, &room) || __builtin_sub_overflow(room, 1, &room))
        return 0;
    *out = room < 0 ? 0 : room / values[STRIDE] + 1;
    return 1;
}

static int output_size(const struct labelled *op, char letter, int64_t *out)
{
    for (size_t i = 0; i < COUNT_OF(windows); i++)
        if (windows[i].output == letter)
            return window_size(op, &windows[i], out);
    return dlprof_shapes_size_of(op, letter, out);
}

static void add_output(struct text *out, const struct labelled *op)
{
    struct dlprof_shape shape = { .rank = strlen(op->kind->output) };

    for (size_t i = 0; i < shape.rank; i++)
        if (!output_size(op, op->kind->output[i], &shape.sizes[i]))
            return;
    add_shape(out, &shape, op->kind->output);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

/* Names that PyTorch's profiler has for types, and those of Python. */
static void add_data_type(struct text *out, struct literal type)
{
    static const char *const names[][2] = { { "float", "float32" },      { "double", "float64" },
                                            { "c10::Half", "float16" },  { "c10::BFloat16", "bfloat16" },
                                            { "long int", "int64" },     { "int", "int32" },
                                            { "short int", "int16" },    { "signed char", "int8" },
                                            { "unsigned char", "uint8" } };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (literal_is(type, names[i][0])) {
            text_add(out, names[i][1]);
            return;
        }
    literal_add(out, type);
}

/* The types of all tensors, each once: "float16; int64". */
static void add_data_types(struct text *out, const struct dlprof_argument *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t earlier = 0;
        if (!is_tensor(&arguments[i]) || !arguments[i].data_type.length)
            continue;
        while (earlier < i && (!is_tensor(&arguments[earlier]) ||
                               arguments[earlier].data_type.length != arguments[i].data_type.length ||
                               memcmp(arguments[earlier].data_type.bytes, arguments[i].data_type.bytes,
                                      arguments[i].data_type.length) != 0))
            earlier++;
        if (earlier < i)
            continue;
        text_add(out, out->length ? "; " : "");
        add_data_type(out, arguments[i].data_type);
    }
}

int dlprof_describe(struct dlprof *dlprof, struct dlprof_words *words, const struct dlprof_argument *arguments,
                    size_t count)
{
    struct labelled op = { dlprof_shapes_find_kind(dlprof_text(dlprof, words->type).bytes), .arguments = arguments,
                           .count = count };
    struct text text = { 0 };
    size_t tensors = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_tensor(&arguments[i]))
            continue;
        struct dlprof_shape shape = read_shape(arguments[i].shape);
        int has_letters = op.kind && tensors < LABELLED_INPUTS;
        if (has_letters)
            op.inputs[tensors] = shape;
        add_shape(&text, &shape, has_letters ? op.kind->inputs[tensors] : NULL);
        tensors++;
    }
    words->inputs = dlprof_intern_built(dlprof, &text);
    if (op.kind && text_begins_with(op.kind->type, "conv"))
        add_parameters(&text, arguments, count);
    words->parameters = dlprof_intern_built(dlprof, &text);
    if (op.kind)
        add_output(&text, &op);
    words->outputs = dlprof_intern_built(dlprof, &text);
    add_data_types(&text, arguments, count);
    words->data_type = dlprof_intern_built(dlprof, &text);
    text_free(&text);
    return words->data_type == UINT32_MAX || words->inputs == UINT32_MAX ? ERR_NO_MEMORY : 0;
}
