/* Reads the kernels and finds their operators: see advice_kernels.h. */
#include "advice_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/torch/forward_operators.h"
#include "base/array.h"
#include "report/schema/torch_names.h"

/* ---- by name --------------------------------------------------------------------------------------------------- */

/* The purpose of kernels whose operators were not recorded, by a part of their names. */
static const struct advice_kernels_named {
    const char *part;
    enum op_class class;
} named[] = {
    { "softmax", OP_SOFTMAX },
    { "SoftMax", OP_SOFTMAX },
    { "elementwise_kernel", OP_ELEMENTWISE },
    { "reduce_kernel", OP_REDUCTION },
    { "layer_norm", OP_NORM },
    { "batch_norm", OP_NORM },
    { "multi_tensor_apply", OP_OPTIMIZER },
};
static const char *const layout_names[] = { "nchwToNhwc", "nhwcToNchw", "nchw2nhwc", "nhwc2nchw" };

static const char *kernel_text(const struct advice_kernels *kernels, const int64_t *ids)
{
    int64_t id = ids[TENSOR_DEMANGLED] >= 0 ? ids[TENSOR_DEMANGLED] : ids[TENSOR_MANGLED];

    return id < 0 ? "" : report_string(kernels->adviser->report, id, NULL);
}

/* Arguments are no evidence: the rate of an optimizer is a double. */
static enum data_type type_named(const char *text)
{
    if (strstr(text, "<double") && !strstr(text, "<float") && !strstr(text, "<c10::"))
        return DATA_FP64;
    return strstr(text, "float") && !strstr(text, "BFloat16") && !strstr(text, "bfloat16") && !strstr(text, "Half")
               ? DATA_FP32
               : DATA_UNKNOWN;
}

static struct advice_kernel_name read_name(struct advice_kernels *kernels, const int64_t *ids)
{
    const char *text = kernel_text(kernels, ids);
    struct advice_kernel_name name = {
        .cores = tensor_cores_of_kernel(&kernels->cores, ids[TENSOR_MANGLED], ids[TENSOR_DEMANGLED]),
        .type = type_named(text),
    };

    for (size_t i = 0; i < COUNT_OF(layout_names); i++)
        name.is_layout |= strstr(text, layout_names[i]) != NULL;
    name.class = name.cores.is_matrix ? OP_MATMUL : OP_UNKNOWN;
    for (size_t i = 0; i < COUNT_OF(named) && !name.class; i++)
        if (strstr(text, named[i].part))
            name.class = named[i].class;
    return name;
}

/* Copies and fills have a class, and no name. */
static void classify(const struct advice_kernels *kernels, struct advice_kernel *kernel)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);

    if (work && work->class != OP_UNKNOWN)
        kernel->class = work->class;
    else if (!kernel->class)
        kernel->class = kernels->named[kernel->name].class;
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* What the name of an operator says. */
static int read_op_name(const void *context, uint32_t text)
{
    static const char optimizer[] = "Optimizer.";
    struct intern_string name = operators_text(context, text);
    const struct op_rule *rule = op_rule_find(name.bytes, name.length);

    return (rule ? (int)rule->class : OP_UNKNOWN) | (torch_is_engine(name.bytes, name.length) ? OP_NAME_IS_ENGINE : 0) |
           (strncmp(name.bytes, optimizer, sizeof optimizer - 1) == 0 ? OP_NAME_IS_OPTIMIZER : 0) |
           (strcmp(name.bytes, "aten::copy_") == 0 ? OP_NAME_IS_COPY : 0);
}

/* The node of the backward pass around each operator, or NO_OPERATOR; the operators of the forward pass by their
 * sequence numbers. */
static int find_nodes(const struct advice_kernels *kernels, uint32_t *nodes, struct forward_operators *forwards)
{
    for (size_t i = 0; i < kernels->operators->count; i++) { /* parents come first */
        const struct operators_event *op = &kernels->operators->list[i];
        uint32_t around = op->parent == NO_OPERATOR ? NO_OPERATOR : nodes[op->parent];
        int is_node = op->is_backward || (advice_operator_says(kernels, (uint32_t)i) & OP_NAME_IS_ENGINE);
        nodes[i] = is_node && (around == NO_OPERATOR || op->sequence >= 0) ? (uint32_t)i : around;
        if (nodes[i] == NO_OPERATOR && op->sequence >= 0 && op->kind == OPERATOR &&
            forward_operators_add(forwards, op, (uint32_t)i) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* The outermost operator around each, or around its operator of the forward pass. */
static void find_sources(struct advice_kernels *kernels, const uint32_t *nodes,
                         const struct forward_operators *forwards)
{
    const struct operators_event *list = kernels->operators->list;
    uint32_t *sources = kernels->sources;

    for (size_t i = 0; i < kernels->operators->count; i++) {
        uint32_t parent = list[i].parent;
        int is_inner = parent != NO_OPERATOR && list[parent].kind == OPERATOR && sources[parent] != NO_OPERATOR;
        sources[i] = list[i].kind == OPERATOR ? (is_inner ? sources[parent] : (uint32_t)i) : NO_OPERATOR;
        kernels->is_backward[i] = nodes[i] != NO_OPERATOR;
    }
    for (size_t i = 0; i < kernels->operators->count; i++) {
        if (!kernels->is_backward[i])
            continue;
        uint32_t forward = forward_operators_find(forwards, &list[nodes[i]]).first;
        sources[i] = forward == NO_OPERATOR ? NO_OPERATOR : sources[forward];
    }
}

static int advice_kernels_by_thread(const void *a, const void *b, void *context)
{
    const struct operators_event *list = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return COMPARE(list[x].thread, list[y].thread) ?: COMPARE(x, y);
}

static void advice_kernels_find_program(struct advice_kernels *kernels)
{
    for (size_t i = 0; i < kernels->operators->count; i++)
        if (!kernels->is_backward[i] && kernels->sources[i] == (uint32_t)i && !kernels->operators->list[i].is_collapsed)
            kernels->program[kernels->program_count++] = (uint32_t)i;
    if (kernels->program_count)
        qsort_r(kernels->program, kernels->program_count, sizeof *kernels->program, advice_kernels_by_thread,
                kernels->operators->list);
}

static int advice_kernels_arrange(struct advice_kernels *kernels)
{
    size_t room = kernels->operators->count + 1;
    struct forward_operators forwards = FORWARD_OPERATORS_NONE;
    uint32_t *nodes = calloc(room, sizeof *nodes);
    int code = ERR_NO_MEMORY;

    kernels->sources = calloc(room, sizeof *kernels->sources);
    kernels->program = calloc(room, sizeof *kernels->program);
    kernels->launched = calloc(room, sizeof *kernels->launched);
    kernels->is_backward = calloc(room, 1);
    if (!nodes || !kernels->sources || !kernels->program || !kernels->launched || !kernels->is_backward ||
        name_classes_open(&kernels->op_names, kernels->operators->texts.count, read_op_name, kernels->operators) != 0 ||
        find_nodes(kernels, nodes, &forwards) != 0)
        goto free_nodes;
    find_sources(kernels, nodes, &forwards);
    advice_kernels_find_program(kernels);
    code = 0;
free_nodes:
    free(nodes);
    forward_operators_free(&forwards);
    return code;
}

static int advice_kernels_read_operators(struct advice_kernels *kernels, struct error *err)
{
    int code = adviser_operators(kernels->adviser, &kernels->operators, err);

    return code != 0 || !kernels->operators->count ? code : advice_kernels_arrange(kernels);
}

/* The innermost operator around the launch of each kernel. */
static int advice_kernels_find_operators(struct advice_kernels *kernels)
{
    const struct replay_events *events = &kernels->adviser->replay.events;
    struct operators_moment *moments = calloc(kernels->count + 1, sizeof *moments);
    uint32_t *found = calloc(kernels->count + 1, sizeof *found);
    int code = ERR_NO_MEMORY;

    if (!moments || !found)
        goto done;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct replay_call *call = &events->calls[events->works[kernels->list[i].work].call];
        moments[i] = (struct operators_moment){ events->threads[call->thread].id, call->start_ns };
    }
    if ((code = operators_at(kernels->operators, moments, kernels->count, found)) != 0)
        goto done;
    for (size_t i = 0; i < kernels->count; i++)
        kernels->list[i].op = found[i];
done:
    free(moments);
    free(found);
    return code;
}

static int is_optimizer(const struct advice_kernels *kernels, uint32_t op)
{
    for (; op != NO_OPERATOR; op = kernels->operators->list[op].parent)
        if (advice_operator_says(kernels, op) & OP_NAME_IS_OPTIMIZER)
            return 1;
    return 0;
}

static int use_operator(struct advice_kernels *kernels, struct advice_kernel *kernel)
{
    uint32_t op = kernel->op;

    while (op != NO_OPERATOR && kernels->operators->list[op].kind != OPERATOR)
        op = kernels->operators->list[op].parent;
    kernel->op = op;
    if (op == NO_OPERATOR)
        return 0;
    kernel->source = kernels->sources[op];
    kernel->is_backward = kernels->is_backward[op];
    kernel->is_optimizer = is_optimizer(kernels, op);
    if (!kernel->is_backward && kernel->source != NO_OPERATOR)
        kernels->launched[kernel->source]++;
    kernel->todo = op_works_find(&kernels->works, kernels->operators, &kernels->operators->list[op]);
    return kernel->todo == NO_KEY ? ERR_NO_MEMORY : 0;
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

/* Copies and fills have rows after those of kernels, and no name. */
static int advice_kernels_name_of(struct advice_kernels *kernels, const struct gpu_ops *ops, size_t row, uint32_t *out)
{
    int64_t ids[2];
    size_t before = kernels->names.count;

    for (size_t c = 0; c < 2; c++)
        ids[c] = row >= ops->count || gpu_extra_is_null(ops, c, row) ? -1 : gpu_extra(ops, c, row);
    if (array_reserve(&kernels->named, &kernels->named_room, before + 1, sizeof *kernels->named) != 0)
        return ERR_NO_MEMORY;
    *out = keys_add(&kernels->names, ids);
    if (*out == NO_KEY)
        return ERR_NO_MEMORY;
    if (*out == before)
        kernels->named[*out] = read_name(kernels, ids);
    return 0;
}

static int advice_kernels_counts(const struct advice_kernels *kernels, const struct replay_work *work)
{
    const struct replay_events *events = &kernels->adviser->replay.events;

    return work->call != NO_CALL && replay_table_of(events, work->at) != REPLAY_GRAPH &&
           replay_memory_of(events, work) == REPLAY_DEVICE_MEMORY &&
           adviser_counts(kernels->adviser, &events->calls[work->call]);
}

static int advice_kernels_add_kernels(struct advice_kernels *kernels, const struct gpu_ops *ops)
{
    const struct replay *replay = &kernels->adviser->replay;
    const struct replay_events *events = &replay->events;

    for (uint32_t i = 0; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        if (!advice_kernels_counts(kernels, work))
            continue;
        struct advice_kernel kernel = { .work = i, .op = NO_OPERATOR, .source = NO_OPERATOR, .todo = NO_KEY };
        kernel.class = replay_table_of(events, work->at) == REPLAY_KERNEL ? OP_UNKNOWN : OP_COPY;
        kernel.edge = replay_edge_to(replay, replay_work_end(replay, i), REPLAY_RUN);
        kernel.run_ns = kernel.edge == REPLAY_NO_EDGE ? 0 : replay->graph.lag[kernel.edge];
        if (advice_kernels_name_of(kernels, ops, work->at, &kernel.name) != 0 ||
            array_reserve(&kernels->list, &kernels->room, kernels->count + 1, sizeof *kernels->list) != 0)
            return ERR_NO_MEMORY;
        kernels->list[kernels->count++] = kernel;
    }
    return 0;
}

/* The columns are freed at once: those of millions of kernels take hundreds of MB, and so do the operators. */
static int list_kernels(struct advice_kernels *kernels, struct error *err)
{
    struct gpu_ops ops = { 0 };
    int code = gpu_read(&ops, kernels->adviser->report, GPU_KERNEL, tensor_kernel_columns, err);

    if (code == 0)
        code = advice_kernels_add_kernels(kernels, &ops);
    gpu_free(&ops);
    return code;
}

static int advice_kernels_read_kernels(struct advice_kernels *kernels, struct error *err)
{
    int code;

    if ((code = tensor_kernels_read(&kernels->cores, kernels->adviser->report, err)) != 0 ||
        (code = gpu_peaks_read(&kernels->peaks, kernels->adviser->report, NULL, err)) != 0 ||
        (code = list_kernels(kernels, err)) != 0 || (code = advice_kernels_read_operators(kernels, err)) != 0 ||
        (kernels->operators->count && (code = advice_kernels_find_operators(kernels)) != 0))
        return code;
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernels->operators->count && (code = use_operator(kernels, &kernels->list[i])) != 0)
            return code;
        classify(kernels, &kernels->list[i]);
    }
    return 0;
}

static void free_kernels(struct advice_kernels *kernels)
{
    op_works_free(&kernels->works);
    tensor_kernels_free(&kernels->cores);
    keys_free(&kernels->names);
    free(kernels->sources);
    free(kernels->program);
    free(kernels->launched);
    free(kernels->is_backward);
    free(kernels->named);
    name_classes_free(&kernels->op_names);
    free(kernels->list);
    free(kernels);
}

int adviser_kernels(struct adviser *adviser, struct advice_kernels **out, struct error *err)
{
    int code;

    if ((*out = adviser->kernels))
        return 0;
    struct advice_kernels *kernels = calloc(1, sizeof *kernels);
    if (!kernels)
        return error_short_memory(err, "for the kernels");
    *kernels = (struct advice_kernels){ .adviser = adviser, .works = OP_WORKS_NONE, .names.width = 2 };
    if ((code = advice_kernels_read_kernels(kernels, err)) != 0) {
        free_kernels(kernels);
        return code == ERR_NO_MEMORY ? error_short_memory(err, "for the kernels") : code;
    }
    *out = adviser->kernels = kernels;
    adviser->free_kernels = free_kernels;
    return 0;
}

/* ---- for rules ------------------------------------------------------------------------------------------------- */

int advice_kernel_follows(const struct advice_kernels *kernels, const struct advice_kernel *first,
                          const struct advice_kernel *next)
{
    const struct replay_events *events = &kernels->adviser->replay.events;
    const struct replay_work *a = &events->works[first->work], *b = &events->works[next->work];

    return a->stream == b->stream && adviser_step(kernels->adviser, &events->calls[a->call]) ==
                                         adviser_step(kernels->adviser, &events->calls[b->call]);
}

enum data_type advice_kernel_type(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);

    return work && work->type ? work->type : kernels->named[kernel->name].type;
}

struct intern_string advice_operator_name(const struct advice_kernels *kernels, uint32_t op)
{
    return operators_text(kernels->operators, op == NO_OPERATOR ? NO_TEXT : kernels->operators->list[op].name);
}

uint32_t advice_operator_root(const struct advice_kernels *kernels, uint32_t op)
{
    const struct operators_event *list = kernels->operators->list;

    while (op != NO_OPERATOR && list[op].parent != NO_OPERATOR && list[list[op].parent].kind == OPERATOR)
        op = list[op].parent;
    return op;
}

uint32_t advice_kernel_line(const struct advice_kernels *kernels, struct places *places,
                            const struct advice_kernel *kernel)
{
    const struct replay_events *events = &kernels->adviser->replay.events;
    const struct replay_call *call = &events->calls[events->works[kernel->work].call];

    if (kernel->source != NO_OPERATOR) {
        const struct operators_event *source = &kernels->operators->list[kernel->source];
        return places_line(places, places_at(places, source->thread, source->start_ns, source->end_ns));
    }
    return places_line(places, places_at(places, events->threads[call->thread].id, call->start_ns, call->end_ns));
}

int advice_kernel_note(struct advice_groups *groups, uint32_t group, const struct advice_kernels *kernels,
                       const struct advice_kernel *kernel)
{
    const struct replay_events *events = &kernels->adviser->replay.events;
    const struct replay_call *call = &events->calls[events->works[kernel->work].call];

    return advice_group_note(groups, group,
                             &(struct advice_event){
                                 .place = advice_kernel_line(kernels, groups->places, kernel),
                                 .thread = events->threads[call->thread].id,
                                 .start_ns = call->start_ns,
                                 .end_ns = saturating_add(call->start_ns, kernel->run_ns),
                             });
}

int advice_kernel_take(struct replay_edits *edits, const struct advice_kernel *kernel, int64_t left_ns)
{
    return replay_edit_cut(edits, kernel->edge, kernel->run_ns - left_ns);
}

int advice_kernel_vanish(struct replay_edits *edits, const struct advice_kernels *kernels,
                         const struct advice_kernel *kernel)
{
    const struct replay *replay = &kernels->adviser->replay;
    uint32_t call = replay->events.works[kernel->work].call,
             gap = replay_edge_to(replay, replay_work_start(replay, kernel->work), REPLAY_STREAM),
             launch = replay_edge_to(replay, replay_call_end(call), REPLAY_CALL);

    if (advice_kernel_take(edits, kernel, 0) != 0 ||
        (gap != REPLAY_NO_EDGE && replay_edit_cut(edits, gap, replay->graph.lag[gap]) != 0) ||
        (launch != REPLAY_NO_EDGE && replay_edit_cut(edits, launch, replay->graph.lag[launch]) != 0))
        return ERR_NO_MEMORY;
    return 0;
}

int advice_operator_vanish(struct replay_edits *edits, const struct advice_kernels *kernels, uint32_t op)
{
    const struct replay_events *events = &kernels->adviser->replay.events;
    const struct operators_event *span = op == NO_OPERATOR ? NULL : &kernels->operators->list[op];
    const struct replay_thread *thread = span ? replay_thread_of(events, span->thread) : NULL;

    return thread ? advice_cut_time(&kernels->adviser->replay, edits, thread, span->start_ns, span->end_ns, 0) : 0;
}

int advice_kernels_find(struct adviser *adviser, const struct advice_kernel_rule *rule, struct error *err)
{
    struct advice_kernels *kernels;
    struct advice_groups groups;
    int code = advice_groups_open(&groups, adviser, err);

    if (code != 0 || (code = adviser_kernels(adviser, &kernels, err)) != 0)
        goto free_groups;
    if (rule->add(&groups, kernels) != 0)
        code = error_short_memory(err, "for the kernels");
    else
        code = advice_groups_add(&groups, advice_least(adviser), rule->describe, err);
free_groups:
    advice_groups_free(&groups);
    return code;
}

void advice_group_say(struct advice_groups *groups, uint32_t group, const char *before, const char *behind)
{
    struct advice_cause *cause = &groups->list[group].cause;
    uint32_t place;
    int64_t unused;

    text_add(&cause->what, before);
    advice_cause_figure(cause, FIGURE_COUNT);
    text_add(&cause->what, behind);
    advice_cause_figure(cause, FIGURE_TIME);
    advice_group_most(groups, group, &place, &unused);
    place_text(&cause->where, groups->places, place);
}

struct advice_product advice_product_of(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    struct advice_product product = { 0 };
    const struct op_input *a = NULL, *b = NULL;
    struct op_inputs inputs;

    if (kernel->op == NO_OPERATOR)
        return product;
    struct op_texts texts = op_texts_of(kernels->operators, &kernels->operators->list[kernel->op]);
    op_inputs_read(&inputs, &texts);
    for (size_t i = 0; i < inputs.count; i++) /* the last two tensors: others are added to the product */
        if (inputs.list[i].tensors && inputs.list[i].rank >= 2) {
            a = b;
            b = &inputs.list[i];
        }
    if (!a || a->rank != b->rank || a->dims[a->rank - 1] != b->dims[b->rank - 2] || a->elements <= 0)
        return product;
    product.rows = (double)a->dims[a->rank - 2];
    product.depth = (double)a->dims[a->rank - 1];
    product.columns = (double)b->dims[b->rank - 1];
    product.batch = a->elements / (product.rows * product.depth);
    product.bytes = a->bytes;
    return product;
}

/* ---- rates ----------------------------------------------------------------------------------------------------- */

const struct advice_rates advice_peak = { 1, 1 }, advice_usual = { 0.6, 0.8 };

int64_t advice_work_ns(const struct gpu_peaks *peaks, const struct advice_rates *share, enum gpu_rate rate,
                       double flops, double bytes)
{
    double computes = rate < GPU_RATES ? peaks->rate[rate] * share->compute : 0,
           moves = peaks->rate[RATE_MEMORY] * share->memory;
    double compute_s = flops > 0 && computes > 0 ? flops / computes : 0,
           memory_s = bytes > 0 && moves > 0 ? bytes / moves : 0;

    return saturating_from_double(1e9 * (compute_s > memory_s ? compute_s : memory_s));
}
