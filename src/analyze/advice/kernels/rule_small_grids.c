/* The rule small_grids: kernels whose blocks leave multiprocessors idle: there are fewer blocks than multiprocessors,
 * the same kernel is launched with few blocks many times in a row, or the last round of a product of matrices has few
 * of them.
 *
 * With b blocks for each multiprocessor, the busiest has ⌈b⌉ of them. Estimate: the kernel takes b / ⌈b⌉ of its time.
 * Bound: it takes the share of its rounds that have all blocks which fit at once, because a kernel with few blocks may
 * also wait for latencies that others would hide. No kernel takes less than 5 µs, or less than its operator's FLOPs and
 * bytes need on this GPU. Kernels in a row become one, which takes the sum of this, and at least as long as the longest
 * of them. Whether one of them needs the result of another no capture knows; the finding says so. It is unlikely in a
 * loop that launches the next one before the last one ended, with no other work between.
 *
 * Kernels that run beside others share the multiprocessors, short ones wait for latencies, and libraries fix
 * the grid of some: a block for each channel of a norm, for one. These are left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/advice_kernels.h"
#include "analyze/engine/order.h"
#include "analyze/model/flops/occupancy.h"
#include "analyze/model/flops/operator_flops.h"
#include "analyze/registry.h"
#include "base/human.h"

enum { SHORTEST_NS = 5000, LEAST_NS = 20000, MOST_SHARE_PERCENT = 75 };
/* Kernels in a row: at least so many, as long together, each with blocks for at most so many multiprocessors. */
enum { SHORTEST_ROW = 8, LEAST_OF_ROW_NS = 50000, MOST_OF_ROW_PERCENT = 25 };
enum { FEW_BLOCKS, LAST_ROUND, IN_A_ROW }; /* the second part of a group's key; the first is the name of the kernel */

static const char *const fixed_grids[] = { "multi_tensor_apply", "nll_loss", "nccl", "GammaBetaBackward", "bn_", NULL };

enum { NAME, GRID, BLOCK = GRID + 3, REGISTERS = BLOCK + 3, STATIC, DYNAMIC };
static const char *const small_grids_columns[] = { "shortName",
                                                   "gridX",
                                                   "gridY",
                                                   "gridZ",
                                                   "blockX",
                                                   "blockY",
                                                   "blockZ",
                                                   "registersPerThread",
                                                   "staticSharedMemory",
                                                   "dynamicSharedMemory",
                                                   NULL };

struct grids {
    struct advice_groups groups; /* the first member: small_grids_describe() gets it */
    struct advice_kernels *kernels;
    struct gpu_ops ops;
    struct occupancy_gpus gpus;
    unsigned char *is_alone; /* owned; by kernel, as the next */
    unsigned char *is_in_row;
};

/* ---- kernels that have the GPU for themselves ------------------------------------------------------------------ */

static int find_alone(struct grids *grids)
{
    const struct advice_kernels *kernels = grids->kernels;
    const struct replay_work *works = kernels->adviser->replay.events.works;
    uint32_t *order = calloc(kernels->count + 1, sizeof *order);
    int64_t *starts = calloc(kernels->count + 1, sizeof *starts), busy_ns = INT64_MIN;
    int code = ERR_NO_MEMORY;

    grids->is_alone = calloc(kernels->count + 1, 1);
    grids->is_in_row = calloc(kernels->count + 1, 1);
    if (!order || !starts || !grids->is_alone || !grids->is_in_row)
        goto free_order;
    for (size_t i = 0; i < kernels->count; i++) {
        order[i] = (uint32_t)i;
        starts[i] = works[kernels->list[i].work].start_ns;
    }
    if ((code = order_by_time(order, kernels->count, starts)) != 0)
        goto free_order;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct replay_work *work = &works[kernels->list[order[i]].work];
        int64_t next_ns = i + 1 < kernels->count ? starts[order[i + 1]] : INT64_MAX,
                slack_ns = saturating_duration(work->start_ns, work->end_ns) / 10;
        grids->is_alone[order[i]] = saturating_subtract(busy_ns, slack_ns) <= work->start_ns &&
                                    saturating_add(next_ns, slack_ns) >= work->end_ns;
        busy_ns = work->end_ns > busy_ns ? work->end_ns : busy_ns;
    }
free_order:
    free(order);
    free(starts);
    return code;
}

/* ---- what a kernel would take ---------------------------------------------------------------------------------- */

static int64_t small_grids_product(const struct gpu_ops *ops, size_t first, size_t row)
{
    return saturating_multiply(saturating_multiply(gpu_extra(ops, first, row), gpu_extra(ops, first + 1, row)),
                               gpu_extra(ops, first + 2, row));
}

static struct occupancy occupancy_at(const struct grids *grids, size_t row)
{
    const struct gpu_ops *ops = &grids->ops;

    return occupancy_of(&grids->gpus,
                        &(struct occupancy_kernel){
                            .device = ops->device[row],
                            .grid = small_grids_product(ops, GRID, row),
                            .block_threads = small_grids_product(ops, BLOCK, row),
                            .registers = gpu_extra(ops, REGISTERS, row),
                            .shared_bytes = saturating_add(gpu_extra(ops, STATIC, row), gpu_extra(ops, DYNAMIC, row)),
                        });
}

/* The share of time in which all places are taken, given the number of rounds. */
static double full_share(double rounds)
{
    return rounds > 0 ? rounds / ceil(rounds) : 1;
}

/* The time that the operator needs at a share of the GPU's rates; 0: not known. */
static int64_t least_ns(const struct grids *grids, const struct advice_kernel *kernel, const struct advice_rates *share)
{
    const struct op_work *work = advice_kernel_work(grids->kernels, kernel);
    const struct gpu_peaks *peaks = &grids->kernels->peaks;

    if (!work)
        return 0;
    return advice_work_ns(peaks, share,
                          flops_rate(work, grids->kernels->named[kernel->name].cores.use == TENSOR_YES, peaks),
                          work->flops, work->bytes);
}

static int64_t small_grids_left_ns(const struct advice_kernel *kernel, double share, int64_t least)
{
    int64_t left = saturating_from_double((double)kernel->run_ns * share);

    left = left > least ? left : least;
    left = left > SHORTEST_NS ? left : SHORTEST_NS;
    return left < kernel->run_ns ? left : kernel->run_ns;
}

static int is_fixed(const struct grids *grids, size_t row)
{
    const char *name = report_string(grids->kernels->adviser->report, gpu_extra(&grids->ops, NAME, row), NULL);

    for (const char *const *fixed = fixed_grids; *fixed; fixed++)
        if (strstr(name, *fixed))
            return 1;
    return 0;
}

static int small_grids_is_matrix(const struct grids *grids, const struct advice_kernel *kernel)
{
    return grids->kernels->named[kernel->name].cores.is_matrix || op_class_is_matrix(kernel->class);
}

/* Whether the program chose the grid of a kernel, and no other kernel shares the GPU with it. */
static int has_own_grid(const struct grids *grids, size_t number)
{
    const struct advice_kernel *kernel = &grids->kernels->list[number];
    size_t row = grids->kernels->adviser->replay.events.works[kernel->work].at;

    return grids->is_alone[number] && row < grids->ops.count && !kernel->is_optimizer &&
           kernel->class != OP_COMMUNICATION && kernel->class != OP_NORM && !is_fixed(grids, row);
}

static int small_grids_add_kernel(struct grids *grids, size_t number)
{
    const struct advice_kernel *kernel = &grids->kernels->list[number];
    size_t row = grids->kernels->adviser->replay.events.works[kernel->work].at;

    if (kernel->run_ns < LEAST_NS || grids->is_in_row[number] || !has_own_grid(grids, number))
        return 0;
    struct occupancy own = occupancy_at(grids, row);
    int kind = own.blocks < 1 ? FEW_BLOCKS : LAST_ROUND;
    if (!own.is_known || full_share(own.blocks) * 100 > MOST_SHARE_PERCENT ||
        (kind == LAST_ROUND && !small_grids_is_matrix(grids, kernel)))
        return 0;
    uint32_t group = advice_group(&grids->groups, gpu_extra(&grids->ops, NAME, row), kind);
    if (group == NO_KEY || advice_kernel_note(&grids->groups, group, grids->kernels, kernel) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &grids->groups.list[group].cause;
    if (advice_kernel_take(&cause->bound, kernel,
                           small_grids_left_ns(kernel, full_share(own.waves), least_ns(grids, kernel, &advice_peak))) !=
        0)
        return ERR_NO_MEMORY;
    return advice_kernel_take(&cause->estimate, kernel,
                              small_grids_left_ns(kernel, full_share(own.blocks),
                                                  least_ns(grids, kernel, &advice_usual)));
}

/* ---- kernels in a row ------------------------------------------------------------------------------------------ */

struct grid_row {
    size_t first, end; /* kernels */
    double bound_ns, estimate_ns;
    int64_t run_ns, longest_ns;
};

/* Whether a kernel follows another one of its name, whose end its launch did not wait for. What PyTorch's operators
 * launch in a row other rules know better. */
static int is_launched_behind(const struct advice_kernels *kernels, size_t number)
{
    const struct replay_events *events = &kernels->adviser->replay.events;
    const struct advice_kernel *kernel = &kernels->list[number], *before = kernel - 1;
    const struct replay_work *work = &events->works[kernel->work], *last = &events->works[before->work];

    return kernel->name == before->name && kernel->op == NO_OPERATOR && kernel->class != OP_COPY &&
           work->call != last->call && events->calls[work->call].start_ns < last->end_ns &&
           advice_kernel_follows(kernels, before, kernel);
}

/* Adds the next kernel to a row; 0: it does not belong to it. */
static int grid_row_extend(const struct grids *grids, struct grid_row *row)
{
    const struct advice_kernel *kernel = &grids->kernels->list[row->end];

    if ((row->end > row->first && !is_launched_behind(grids->kernels, row->end)) || kernel->op != NO_OPERATOR ||
        !has_own_grid(grids, row->end))
        return 0;
    struct occupancy own = occupancy_at(grids, grids->kernels->adviser->replay.events.works[kernel->work].at);
    if (!own.is_known || own.blocks * 100 > MOST_OF_ROW_PERCENT)
        return 0;
    row->bound_ns += (double)kernel->run_ns * own.waves;
    row->estimate_ns += (double)kernel->run_ns * own.blocks;
    row->run_ns = saturating_add(row->run_ns, kernel->run_ns);
    row->longest_ns = kernel->run_ns > row->longest_ns ? kernel->run_ns : row->longest_ns;
    row->end++;
    return 1;
}

/* The first kernel takes the blocks of all. */
static int grid_row_take(const struct grids *grids, const struct grid_row *row, struct replay_edits *edits,
                         double all_ns)
{
    int64_t left = saturating_from_double(all_ns);

    left = left > row->longest_ns ? left : row->longest_ns;
    left = left > SHORTEST_NS ? left : SHORTEST_NS;
    if (advice_kernel_take(edits, &grids->kernels->list[row->first], left < row->run_ns ? left : row->run_ns) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = row->first + 1; i < row->end; i++)
        if (advice_kernel_vanish(edits, grids->kernels, &grids->kernels->list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int add_row(struct grids *grids, const struct grid_row *row)
{
    size_t at = grids->kernels->adviser->replay.events.works[grids->kernels->list[row->first].work].at;
    uint32_t group = advice_group(&grids->groups, gpu_extra(&grids->ops, NAME, at), IN_A_ROW);

    if (group == NO_KEY)
        return ERR_NO_MEMORY;
    for (size_t i = row->first; i < row->end; i++) {
        if (advice_kernel_note(&grids->groups, group, grids->kernels, &grids->kernels->list[i]) != 0)
            return ERR_NO_MEMORY;
        grids->is_in_row[i] = 1;
    }
    struct advice_cause *cause = &grids->groups.list[group].cause;
    if (grid_row_take(grids, row, &cause->bound, row->bound_ns) != 0)
        return ERR_NO_MEMORY;
    return grid_row_take(grids, row, &cause->estimate, row->estimate_ns);
}

static int small_grids_add_rows(struct grids *grids)
{
    for (size_t first = 0; first < grids->kernels->count;) {
        struct grid_row row = { .first = first, .end = first };
        while (row.end < grids->kernels->count && grid_row_extend(grids, &row))
            continue;
        if (row.end - first >= SHORTEST_ROW && row.run_ns >= LEAST_OF_ROW_NS && add_row(grids, &row) != 0)
            return ERR_NO_MEMORY;
        first = row.end > first ? row.end : first + 1;
    }
    return 0;
}

/* Whether any kernel may count: if not, neither grids nor neighbours of millions of short ones need be looked at. */
static int may_have_causes(const struct grids *grids)
{
    const struct advice_kernels *kernels = grids->kernels;
    size_t in_row = 1;

    for (size_t i = 0; i < kernels->count && grids->gpus.count; i++) {
        in_row = i && is_launched_behind(kernels, i) ? in_row + 1 : 1;
        if (kernels->list[i].run_ns >= LEAST_NS || in_row >= SHORTEST_ROW)
            return 1;
    }
    return 0;
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *what, *advice;
} small_grids_kinds[] = {
    [FEW_BLOCKS] = { "fewer blocks than multiprocessors: ",
                     "Give the kernel more blocks: split the work of each (a reduction in two passes, split-K), "
                     "process "
                     "more of the batch at once, or run independent kernels beside it in other streams." },
    [IN_A_ROW] = { "launches of few blocks in a row: ",
                   "If none of them needs the result of another, make them one launch that has the blocks of all (or "
                   "one batched call of a library), or launch them side by side in several streams." },
    [LAST_ROUND] = { "the last round of blocks is nearly empty: ",
                     "Choose sizes whose tiles fill all multiprocessors: the batch, or padded layers, so that the "
                     "number "
                     "of blocks is a multiple of theirs or slightly less." },
};

/* "fewer blocks than multiprocessors: 12 × softmax_warp in 2.31 ms" */
static int small_grids_describe(struct advice_groups *groups, uint32_t group)
{
    const struct grids *grids = (const struct grids *)groups;
    struct advice_cause *cause = &groups->list[group].cause;
    const int64_t *key = keys_get(&groups->keys, group);
    struct text behind = { 0 };

    text_addf(&behind, " × %s in ", report_string(groups->adviser->report, key[0], NULL));
    advice_group_say(groups, group, small_grids_kinds[key[1]].what, text_string(&behind));
    text_free(&behind);
    text_addf(&cause->rate, "%sas many blocks on each of %lld multiprocessors",
              key[1] == IN_A_ROW ? "if they do not depend on each other: " : "",
              (long long)(grids->gpus.count ? grids->gpus.list[0].sm_count : 0));
    cause->confidence = ADVICE_MODELLED;
    cause->advice = small_grids_kinds[key[1]].advice;
    return 1;
}

static int find_small_grids(struct adviser *adviser, struct error *err)
{
    struct grids grids = { 0 };
    int code;

    if ((code = advice_groups_open(&grids.groups, adviser, err)) != 0 ||
        (code = adviser_kernels(adviser, &grids.kernels, err)) != 0 ||
        (code = occupancy_gpus_read(&grids.gpus, adviser->report, err)) != 0 || !may_have_causes(&grids) ||
        (code = gpu_read(&grids.ops, adviser->report, GPU_KERNEL, small_grids_columns, err)) != 0)
        goto done;
    if ((code = find_alone(&grids)) == 0)
        code = small_grids_add_rows(&grids);
    for (size_t i = 0; i < grids.kernels->count && code == 0; i++)
        code = small_grids_add_kernel(&grids, i);
    if (code == 0)
        code = advice_groups_add(&grids.groups, advice_least(adviser), small_grids_describe, err);
    else
        error_short_memory(err, "for the kernels");
done:
    free(grids.is_alone);
    free(grids.is_in_row);
    gpu_free(&grids.ops);
    occupancy_gpus_free(&grids.gpus);
    advice_groups_free(&grids.groups);
    return code;
}

const struct analysis rule_small_grids = {
    .name = "small_grids",
    .title = "Grids That Leave Multiprocessors Idle",
    .help = "Kernels of at least 20 µs that leave a quarter of the multiprocessors' time idle: they have fewer blocks "
            "than the GPU has multiprocessors, or the last round of a product of matrices has few blocks. And kernels "
            "that are launched eight times or more in a row, each with blocks for at most a quarter of the "
            "multiprocessors. The saving is that of a replay in which the blocks are spread evenly, those of kernels "
            "in a row as one kernel; in the bound, over all places for blocks.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(small_grids,
                .advice = "Give kernels as many blocks as the GPU has multiprocessors, or multiples of that.",
                .praise = "Long kernels have blocks for all multiprocessors."),
};
