/* cuda_kern_occupancy: estimated occupancy and SM efficiency of kernels, from their launches. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/model/flops/occupancy.h"
#include "analyze/model/gpu.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/saturating.h"

/* Kernels of one name; means are weighted by time. */
struct kernel_group {
    int64_t count, total_ns, known_ns;
    double percent, efficiency, waves; /* × ns */
    int64_t limit_ns[OCCUPANCY_LIMITS];
};

struct kernel_groups {
    struct gpu_ops kernels;
    struct occupancy_gpus gpus;
    struct keys names;
    struct kernel_group *list; /* owned; by name */
    size_t room;
    int64_t total_ns;
};

enum { NAME, GRID, BLOCK = GRID + 3, REGISTERS = BLOCK + 3, STATIC, DYNAMIC };

static int64_t kern_occupancy_product(const struct gpu_ops *ops, size_t first, size_t row)
{
    return saturating_multiply(saturating_multiply(gpu_extra(ops, first, row), gpu_extra(ops, first + 1, row)),
                               gpu_extra(ops, first + 2, row));
}

static int kern_occupancy_add_kernel(struct kernel_groups *groups, size_t row)
{
    const struct gpu_ops *ops = &groups->kernels;
    size_t before = groups->names.count;
    uint32_t key = keys_add(&groups->names, &(int64_t){ gpu_extra(ops, NAME, row) });
    int64_t ns = saturating_duration(ops->start[row], ops->end[row]);

    if (key == NO_KEY || array_reserve(&groups->list, &groups->room, (size_t)key + 1, sizeof *groups->list) != 0)
        return ERR_NO_MEMORY;
    struct kernel_group *group = &groups->list[key];
    if (key == before)
        *group = (struct kernel_group){ 0 };
    struct occupancy own = occupancy_of(&groups->gpus, &(struct occupancy_kernel){
                                                           .device = ops->device[row],
                                                           .grid = kern_occupancy_product(ops, GRID, row),
                                                           .block_threads = kern_occupancy_product(ops, BLOCK, row),
                                                           .registers = gpu_extra(ops, REGISTERS, row),
                                                           .shared_bytes = saturating_add(gpu_extra(ops, STATIC, row),
                                                                                          gpu_extra(ops, DYNAMIC, row)),
                                                       });
    group->count++;
    group->total_ns = saturating_add(group->total_ns, ns);
    groups->total_ns = saturating_add(groups->total_ns, ns);
    if (!own.is_known)
        return 0;
    group->known_ns = saturating_add(group->known_ns, ns);
    group->percent += own.percent * (double)ns;
    group->efficiency += (own.blocks < 1 ? own.blocks : 1) * 100 * (double)ns;
    group->waves += own.waves * (double)ns;
    group->limit_ns[own.limit] = saturating_add(group->limit_ns[own.limit], ns);
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { SHARE, TIME, COUNT, OCCUPANCY, EFFICIENCY, WAVES, LIMIT, KERNEL, COLUMNS };
static const struct table_column kern_occupancy_columns[COLUMNS] = {
    [SHARE] = { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    [TIME] = { "Total Time", CELL_INT, UNIT_NS, 0 },
    [COUNT] = { "Instances", CELL_INT, UNIT_NONE, 0 },
    [OCCUPANCY] = { "Occupancy", CELL_REAL, UNIT_PERCENT, 1 },
    [EFFICIENCY] = { "SM Efficiency", CELL_REAL, UNIT_PERCENT, 1 },
    [WAVES] = { "Waves", CELL_REAL, UNIT_NONE, 2 },
    [LIMIT] = { "Limited By", CELL_TEXT, UNIT_NONE, 0 },
    [KERNEL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

static int kern_occupancy_add_row(struct table *table, struct report *report, const struct kernel_groups *groups,
                                  uint32_t key)
{
    const struct kernel_group *group = &groups->list[key];
    struct table_cell *row = table_add_row(table);
    int limit = 0;

    if (!row)
        return ERR_NO_MEMORY;
    if (groups->total_ns > 0)
        cell_set_real(&row[SHARE], 100.0 * (double)group->total_ns / (double)groups->total_ns);
    cell_set_int(&row[TIME], group->total_ns);
    cell_set_int(&row[COUNT], group->count);
    if (group->known_ns > 0) {
        cell_set_real(&row[OCCUPANCY], group->percent / (double)group->known_ns);
        cell_set_real(&row[EFFICIENCY], group->efficiency / (double)group->known_ns);
        cell_set_real(&row[WAVES], group->waves / (double)group->known_ns);
        for (int i = 1; i < OCCUPANCY_LIMITS; i++)
            limit = group->limit_ns[i] > group->limit_ns[limit] ? i : limit;
        if (cell_set_string(table, &row[LIMIT], occupancy_limit_name((enum occupancy_limit)limit)) != 0)
            return ERR_NO_MEMORY;
    }
    return cell_set_string(table, &row[KERNEL], report_string(report, keys_get(&groups->names, key)[0], NULL));
}

static int kern_occupancy_fill(struct table *table, struct report *report, struct kernel_groups *groups,
                               const struct filter *filter)
{
    for (size_t row = 0; row < groups->kernels.count; row++)
        if (gpu_counts(&groups->kernels, row, filter) && kern_occupancy_add_kernel(groups, row) != 0)
            return ERR_NO_MEMORY;
    for (uint32_t key = 0; key < groups->names.count; key++)
        if (kern_occupancy_add_row(table, report, groups, key) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(TIME)));
    return 0;
}

static int kern_occupancy_run(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    static const char *const extra[] = { "demangledName",
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
    struct kernel_groups groups = { .names.width = 1 };
    struct table *table = table_new(kern_occupancy_columns, COLUMNS);
    struct filter filter = { 0 };
    int code;

    if ((code = filter_open(&filter, report, request, err)) != 0 ||
        (code = occupancy_gpus_read(&groups.gpus, report, err)) != 0 ||
        (code = gpu_read(&groups.kernels, report, GPU_KERNEL, extra, err)) != 0)
        goto done;
    code = table ? kern_occupancy_fill(table, report, &groups, &filter) : ERR_NO_MEMORY;
done:
    gpu_free(&groups.kernels);
    occupancy_gpus_free(&groups.gpus);
    keys_free(&groups.names);
    free(groups.list);
    filter_close(&filter);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cuda_kern_occupancy = {
    .name = "cuda_kern_occupancy",
    .title = "CUDA Kernel Occupancy",
    .help =
        "Kernels by name, with figures estimated from their launches and weighted by time. Occupancy is the share of "
        "the most warps that run at once, SM Efficiency the share of the multiprocessors with a block, Waves the "
        "number of rounds that the blocks need. Limited By names what keeps more warps from running: the size of "
        "the grid, warps, blocks, registers or shared memory.",
    .needs = { { "CUDA kernel data", gpu_kernel_tables } },
    .is_of_gpus = 1,
    .run = kern_occupancy_run,
};
