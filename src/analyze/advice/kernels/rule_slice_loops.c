/* The rule slice_loops: the program calls an operator for each slice of a tensor, with many small kernels.
 *
 * A loop is an operator that comes at least eight times with the same shapes, each time on new slices, and with no
 * other operator in between that computes anything: then no slice depends on another. Batched, it is one kernel on the
 * whole tensor. Slices, the operator that puts the results together, and the gradients of slices, each as large as the
 * whole tensor, go. Bound: the batched operator computes and moves memory at the peaks of the GPU. Estimate: at the
 * shares that products usually reach. */
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/advice_kernels.h"
#include "analyze/model/flops/operator_flops.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { FEWEST = 8 }; /* times in a row */
enum { FORWARD, BACKWARD, PASSES };

static const char *const slicers[] = { "aten::select", "aten::slice", "aten::narrow", "aten::index_select" };
static const char *const splitters[] = { "aten::unbind", "aten::split", "aten::chunk", "aten::tensor_split" };
static const char *const joiners[] = { "aten::stack", "aten::cat" };
static const char *const writers[] = { "aten::copy_" }; /* of results into slices */

/* One loop. */
struct loop {
    uint32_t op;       /* the first call of its operator */
    size_t first, end; /* in the operators of the program */
    uint32_t times;
};

/* The kernels of a pass that one batched kernel replaces. */
struct slice_loops_pass {
    double flops, bytes;
    int64_t run_ns;
    size_t longest; /* of them, plus 1; 0: there are none */
    enum gpu_rate rate;
    int is_known;   /* FLOPs or bytes of all of them are */
};

/* Starts from {0}. */
struct slice_loops_search {
    struct advice_groups *groups;
    struct advice_kernels *kernels;
    struct loop *list; /* owned, as all below */
    size_t count, room;
    uint32_t *of_op;   /* by operator of the program: its loop plus 1, or 0 */
    struct slice_loops_pass *passes;
};

/* ---- loops ----------------------------------------------------------------------------------------------------- */

static int slice_loops_is_in(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return 1;
    return 0;
}
#define IS_IN(name, list) slice_loops_is_in(name, list, COUNT_OF(list))

static int slice_loops_is_same(const struct operators *operators, uint32_t a, uint32_t b)
{
    const struct operators_event *x = &operators->list[a], *y = &operators->list[b];

    return x->name == y->name && x->shapes == y->shapes && x->thread == y->thread;
}

/* A cell of a recurrent layer needs the state that the last one left. */
static int is_recurrent(const struct slice_loops_search *search, const struct loop *loop)
{
    return strstr(advice_operator_name(search->kernels, loop->op).bytes, "_cell") != NULL;
}

static int add_loop(struct slice_loops_search *search, const struct loop *loop)
{
    if (loop->times < FEWEST || is_recurrent(search, loop))
        return 0;
    if (ARRAY_PUSH(search->list, search->room, search->count, *loop) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = loop->first; i < loop->end; i++)
        search->of_op[search->kernels->program[i]] = (uint32_t)search->count;
    return 0;
}

static int find_loops(struct slice_loops_search *search)
{
    const struct advice_kernels *kernels = search->kernels;
    struct loop loop = { 0 };
    int is_sliced = 0, is_split = 0;
    size_t slices = 0; /* where those of the next call begin */

    for (size_t i = 0; i < kernels->program_count; i++) {
        uint32_t op = kernels->program[i];
        const char *name = advice_operator_name(kernels, op).bytes;
        is_split |= IS_IN(name, splitters);
        if (IS_IN(name, slicers) || !kernels->launched[op]) {
            is_sliced |= IS_IN(name, slicers);
            continue;
        }
        if (loop.times && (is_sliced || is_split) && slice_loops_is_same(kernels->operators, loop.op, op)) {
            loop.times++;
            loop.end = i + 1;
        } else if (!loop.times || !IS_IN(name, writers)) {
            loop.end += loop.times && IS_IN(name, joiners) ? i + 1 - loop.end : 0;
            if (add_loop(search, &loop) != 0)
                return ERR_NO_MEMORY;
            is_split &= loop.times < FEWEST;
            loop = (struct loop){ .op = op, .first = slices, .end = i + 1, .times = is_sliced || is_split };
        }
        is_sliced = 0;
        slices = i + 1;
    }
    return add_loop(search, &loop);
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static uint32_t slice_loop_of(const struct slice_loops_search *search, const struct advice_kernel *kernel)
{
    return kernel->source == NO_OPERATOR ? 0 : search->of_op[kernel->source];
}

/* Whether a kernel computes what the loop is for, and is not there because of the slices. */
static int is_batched(const struct slice_loops_search *search, const struct advice_kernel *kernel)
{
    const struct loop *loop = &search->list[slice_loop_of(search, kernel) - 1];

    return slice_loops_is_same(search->kernels->operators, loop->op, kernel->source) &&
           (kernel->class != OP_COPY || kernel->op == kernel->source);
}

static struct slice_loops_pass *pass_of(struct slice_loops_search *search, const struct advice_kernel *kernel)
{
    return &search->passes[PASSES * (slice_loop_of(search, kernel) - 1) + (kernel->is_backward ? BACKWARD : FORWARD)];
}

static void sum_kernel(struct slice_loops_search *search, size_t number)
{
    const struct advice_kernels *kernels = search->kernels;
    const struct advice_kernel *kernel = &kernels->list[number];
    const struct op_work *work = advice_kernel_work(kernels, kernel);
    struct slice_loops_pass *pass = pass_of(search, kernel);

    if (!pass->longest)
        *pass = (struct slice_loops_pass){ .rate = GPU_RATES, .is_known = 1 };
    pass->is_known &= work && work->bytes >= 0;
    pass->run_ns = saturating_add(pass->run_ns, kernel->run_ns);
    if (!pass->longest || kernel->run_ns > kernels->list[pass->longest - 1].run_ns)
        pass->longest = number + 1;
    if (!work)
        return;
    pass->bytes += work->bytes > 0 ? work->bytes : 0;
    if (op_class_is_matrix(work->class) && work->flops > 0) {
        pass->flops += work->flops;
        pass->rate = flops_rate(work, kernels->named[kernel->name].cores.use == TENSOR_YES, &kernels->peaks);
    }
}

/* The time of the batched kernel of a pass: no longer than that of the kernels it replaces. */
static int64_t slice_loops_left_of(const struct slice_loops_search *search, const struct slice_loops_pass *pass,
                                   const struct advice_rates *rates)
{
    int64_t left_ns = pass->is_known
                          ? advice_work_ns(&search->kernels->peaks, rates, pass->rate, pass->flops, pass->bytes)
                          : 0;

    return left_ns && left_ns < pass->run_ns ? left_ns : pass->run_ns;
}

static int cut_kernel(struct slice_loops_search *search, size_t number, struct advice_cause *cause)
{
    const struct advice_kernel *kernel = &search->kernels->list[number];
    const struct slice_loops_pass *pass = pass_of(search, kernel);

    if (pass->longest == number + 1)
        return advice_kernel_take(&cause->bound, kernel, slice_loops_left_of(search, pass, &advice_peak)) != 0 ||
                       advice_kernel_take(&cause->estimate, kernel, slice_loops_left_of(search, pass, &advice_usual)) !=
                           0
                   ? ERR_NO_MEMORY
                   : 0;
    return advice_kernel_vanish(&cause->bound, search->kernels, kernel) != 0 ||
                   advice_kernel_vanish(&cause->estimate, search->kernels, kernel) != 0
               ? ERR_NO_MEMORY
               : 0;
}

/* The group of a loop: its line, or if that is not known its operator. */
static uint32_t slice_loops_group_of(struct slice_loops_search *search, const struct advice_kernel *kernel)
{
    const struct operators_event *ops = search->kernels->operators->list;
    uint32_t line = advice_kernel_line(search->kernels, search->groups->places, kernel);

    return advice_group(search->groups, line, line == NO_PLACE ? ops[kernel->source].name : 0);
}

/* The operators of a loop, and the nodes of their gradients, take no time on the CPU but for the first call. */
static int cut_operators(struct slice_loops_search *search, uint32_t group, uint32_t loop)
{
    const struct advice_kernels *kernels = search->kernels;
    struct advice_cause *cause = &search->groups->list[group].cause;
    const struct loop *own = &search->list[loop - 1];

    for (size_t i = own->first; i < own->end; i++)
        if (kernels->program[i] != own->op &&
            (advice_operator_vanish(&cause->bound, kernels, kernels->program[i]) != 0 ||
             advice_operator_vanish(&cause->estimate, kernels, kernels->program[i]) != 0))
            return ERR_NO_MEMORY;
    return 0;
}

static int cut_nodes(struct slice_loops_search *search, const uint32_t *group_of_loop)
{
    const struct advice_kernels *kernels = search->kernels;

    for (uint32_t op = 0; op < kernels->operators->count; op++) {
        uint32_t source = kernels->sources[op], loop = source == NO_OPERATOR ? 0 : search->of_op[source];
        if (!loop || !kernels->is_backward[op] || source == search->list[loop - 1].op ||
            group_of_loop[loop - 1] == NO_KEY || advice_operator_root(kernels, op) != op)
            continue;
        struct advice_cause *cause = &search->groups->list[group_of_loop[loop - 1]].cause;
        if (advice_operator_vanish(&cause->bound, kernels, op) != 0 ||
            advice_operator_vanish(&cause->estimate, kernels, op) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int cut_loops(struct slice_loops_search *search, uint32_t *group_of_loop)
{
    const struct advice_kernels *kernels = search->kernels;

    for (size_t i = 0; i < search->count; i++)
        group_of_loop[i] = NO_KEY;
    for (size_t i = 0; i < kernels->count; i++)
        if (slice_loop_of(search, &kernels->list[i]) && is_batched(search, &kernels->list[i]))
            sum_kernel(search, i);
    for (size_t i = 0; i < kernels->count; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        uint32_t loop = slice_loop_of(search, kernel);
        if (!loop)
            continue;
        if (group_of_loop[loop - 1] == NO_KEY) {
            uint32_t group = slice_loops_group_of(search, kernel);
            if (group == NO_KEY || cut_operators(search, group, loop) != 0)
                return ERR_NO_MEMORY;
            group_of_loop[loop - 1] = group;
        }
        if (advice_kernel_note(search->groups, group_of_loop[loop - 1], kernels, kernel) != 0 ||
            cut_kernel(search, i, &search->groups->list[group_of_loop[loop - 1]].cause) != 0)
            return ERR_NO_MEMORY;
    }
    return cut_nodes(search, group_of_loop);
}

static int slice_loops_add_kernels(struct advice_groups *groups, struct advice_kernels *kernels)
{
    struct slice_loops_search search = { .groups = groups, .kernels = kernels };
    uint32_t *group_of_loop = NULL;
    int code = ERR_NO_MEMORY;

    search.of_op = calloc(kernels->operators->count + 1, sizeof *search.of_op);
    if (!search.of_op || find_loops(&search) != 0)
        goto free_search;
    search.passes = calloc(PASSES * search.count + 1, sizeof *search.passes);
    group_of_loop = calloc(search.count + 1, sizeof *group_of_loop);
    if (search.passes && group_of_loop)
        code = cut_loops(&search, group_of_loop);
free_search:
    free(search.list);
    free(search.of_op);
    free(search.passes);
    free(group_of_loop);
    return code;
}

/* "loop over slices: 288 kernels in 4.11 ms" */
static int slice_loops_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;

    advice_group_say(groups, group, "loop over slices: ", " kernels in ");
    text_addf(&cause->rate, "one batched kernel at %.0f %% of the GPU's peak", 100 * advice_usual.compute);
    cause->confidence = ADVICE_MODELLED;
    cause->advice =
        "If no call needs the result of the one before it, call the operator once on the whole tensor: "
        "torch.bmm() for products, torch.vmap() for functions. In training, the gradient of each slice is as "
        "large as the whole tensor.";
    return 1;
}

static int find_slice_loops(struct adviser *adviser, struct error *err)
{
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ slice_loops_add_kernels, slice_loops_describe },
                               err);
}

const struct analysis rule_slice_loops = {
    .name = "slice_loops",
    .title = "Loops over Slices",
    .help = "An operator that the program calls eight times or more in a row, each time on other slices of a tensor. "
            "The saving is that of a replay with one kernel for all slices: at the GPU's peaks in the bound, at the "
            "share that products usually reach in the estimate. Gradients of the slices are gone.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(slice_loops, .is_of_torch = 1,
                .advice = "If no slice needs the result of another, call the operator once on the whole tensor: "
                          "torch.bmm(), torch.vmap().",
                .praise = "No operator is called for each slice of a tensor."),
};
