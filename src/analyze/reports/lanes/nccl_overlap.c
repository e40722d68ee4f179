/* nccl_gpu_overlap_trace: for each kernel on a GPU where NCCL runs too, the share of its time in which other kernels of
 * NCCL ran, and in which other kernels that compute did. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/intern.h"
#include "base/saturating.h"
#include "rank_lanes.h"

enum kernel_class { COMMUNICATION, COMPUTE, CLASSES };

/* By class: the time in which at least one of its kernels runs, and at least two. */
struct lane_classes {
    struct coverage one[CLASSES], two[CLASSES];
};

static int cover_classes(struct lane_classes *classes, const struct lanes *lanes, uint32_t lane)
{
    for (int which = 0; which < CLASSES; which++)
        if (lanes_cover(lanes, lane, 1u << which, 1, &classes->one[which]) != 0 ||
            lanes_cover(lanes, lane, 1u << which, 2, &classes->two[which]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static void classes_free(struct lane_classes *classes)
{
    for (int which = 0; which < CLASSES; which++) {
        coverage_free(&classes->one[which]);
        coverage_free(&classes->two[which]);
    }
}

/* The ns of a kernel in which another kernel of the class runs. If it is of that class itself, two must run. */
static int64_t overlap_ns(const struct lane_classes *classes, const struct lane_event *event, int which)
{
    const struct coverage *coverage = event->kind == which ? &classes->two[which] : &classes->one[which];

    return coverage_within(coverage, event->start_ns, event->end_ns);
}

static double share(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? 100.0 * (double)part_ns / (double)whole_ns : 0;
}

/* ---- kernel by kernel -------------------------------------------------------------------------------------------*/

enum { NAME, AT, UNTIL, PID, DEVICE, WITH_COMMUNICATION, WITH_COMPUTE, RANK, TRACE_COLUMNS };
static const struct table_column nccl_overlap_trace_columns[TRACE_COLUMNS] = {
    { "Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Start", CELL_INT, UNIT_TIME, 0 },
    { "End", CELL_INT, UNIT_TIME, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },
    { "DeviceID", CELL_INT, UNIT_ID, 0 },
    { "Communication Overlap", CELL_REAL, UNIT_PERCENT, 1 },
    { "Compute Overlap", CELL_REAL, UNIT_PERCENT, 1 },
    { "Rank", CELL_INT, UNIT_ID, 0 },
};

struct overlap_sum {
    int64_t count, whole_ns, by_class_ns[CLASSES];
};

struct overlaps {
    struct report *report;
    struct lanes lanes;
    struct table *table;
    struct intern names; /* names of the sums */
    struct overlap_sum *sums;
    size_t sum_room;
};

static int add_trace_row(struct overlaps *all, const struct lane_event *event, const int64_t by_class_ns[CLASSES])
{
    int64_t whole = saturating_duration(event->start_ns, event->end_ns);
    struct table_cell *row = table_add_row(all->table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[AT], event->start_ns);
    cell_set_int(&row[UNTIL], event->end_ns);
    cell_set_real(&row[WITH_COMMUNICATION], share(by_class_ns[COMMUNICATION], whole));
    cell_set_real(&row[WITH_COMPUTE], share(by_class_ns[COMPUTE], whole));
    lane_set_cells(&all->lanes, event->lane, &row[RANK], &row[PID], &row[DEVICE]);
    return cell_set_pooled(all->table, &row[NAME], all->report, event->name);
}

/* ---- by name ----------------------------------------------------------------------------------------------------*/

static const struct table_column nccl_overlap_sum_columns[] = {
    { "Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Count", CELL_INT, UNIT_NONE, 0 },
    { "Communication Overlap", CELL_REAL, UNIT_PERCENT, 1 },
    { "Compute Overlap", CELL_REAL, UNIT_PERCENT, 1 },
};

static int add_to_sum(struct overlaps *all, const struct lane_event *event, const int64_t by_class_ns[CLASSES])
{
    size_t length;
    const char *name = report_string(all->report, event->name, &length);
    int64_t number = intern_add(&all->names, name, length);

    if (number < 0 || array_reserve_zeroed(&all->sums, &all->sum_room, (size_t)number + 1, sizeof *all->sums) != 0)
        return ERR_NO_MEMORY;
    struct overlap_sum *sum = &all->sums[number];
    sum->count++;
    sum->whole_ns = saturating_add(sum->whole_ns, saturating_duration(event->start_ns, event->end_ns));
    for (int which = 0; which < CLASSES; which++)
        sum->by_class_ns[which] = saturating_add(sum->by_class_ns[which], by_class_ns[which]);
    return 0;
}

static int nccl_overlap_add_sums(struct overlaps *all)
{
    for (size_t i = 0; i < all->names.count; i++) {
        const struct overlap_sum *sum = &all->sums[i];
        struct table_cell *row = table_add_row(all->table);
        if (!row || cell_set_text(all->table, &row[0], all->names.strings[i].bytes, all->names.strings[i].length) != 0)
            return ERR_NO_MEMORY;
        cell_set_int(&row[1], sum->count);
        cell_set_real(&row[2], share(sum->by_class_ns[COMMUNICATION], sum->whole_ns));
        cell_set_real(&row[3], share(sum->by_class_ns[COMPUTE], sum->whole_ns));
    }
    table_sort_by(all->table, BY(0));
    return 0;
}

/* ---- */

/* A GPU without NCCL has nothing to overlap with. */
static int visit_lane(struct overlaps *all, uint32_t lane,
                      int (*visit)(struct overlaps *all, const struct lane_event *event, const int64_t *by_class_ns))
{
    struct lane_classes classes = { 0 };
    int code;

    if ((code = cover_classes(&classes, &all->lanes, lane)) != 0 || !classes.one[COMMUNICATION].count)
        goto free_classes;
    for (size_t i = all->lanes.first[lane]; i < all->lanes.first[lane + 1]; i++) {
        const struct lane_event *event = &all->lanes.events[i];
        int64_t by_class_ns[CLASSES];
        for (int which = 0; which < CLASSES; which++)
            by_class_ns[which] = overlap_ns(&classes, event, which);
        if ((code = visit(all, event, by_class_ns)) != 0)
            goto free_classes;
    }
free_classes:
    classes_free(&classes);
    return code;
}

static int nccl_overlap_fill_table(struct overlaps *all, int by_name)
{
    struct lanes *lanes = &all->lanes;

    for (size_t i = 0; i < lanes->count; i++)
        lanes->events[i].kind = lane_is_nccl_kernel(all->report, &lanes->events[i]) ? COMMUNICATION : COMPUTE;
    for (size_t i = 0; i < lanes->keys.count; i++)
        if (visit_lane(all, lanes->order[i], by_name ? add_to_sum : add_trace_row) != 0)
            return ERR_NO_MEMORY;
    return by_name ? nccl_overlap_add_sums(all) : 0;
}

static int nccl_gpu_overlap_trace(struct report *report, const struct analysis_request *request, struct table **out,
                                  struct error *err)
{
    int by_name = option_given(request, "by-name");
    struct overlaps all = { .report = report,
                            .table = by_name ? table_new(nccl_overlap_sum_columns, 4)
                                             : table_new(nccl_overlap_trace_columns, TRACE_COLUMNS) };
    int code;

    if ((code = lanes_read(&all.lanes, report, request, &lane_kernels, 1, 1, err)) != 0)
        goto done;
    code = all.table ? nccl_overlap_fill_table(&all, by_name) : ERR_NO_MEMORY;
done:
    lanes_free(&all.lanes);
    intern_free(&all.names);
    free(all.sums);
    return table_hand_over(all.table, code, out, err);
}

const struct analysis analysis_nccl_gpu_overlap_trace = {
    .name = "nccl_gpu_overlap_trace",
    .title = "NCCL GPU Overlap Trace",
    .usage = "[:by-name]",
    .help = "Kernels of GPUs that run NCCL (names that begin with nccl): the share of each kernel's time in which "
            "another kernel of NCCL ran, and in which another kernel that is not of NCCL did. by-name: a row for each "
            "name.",
    .needs = { { "CUDA kernel data", TABLES("CUPTI_ACTIVITY_KIND_KERNEL") } },
    .is_of_gpus = 1,
    .run = nccl_gpu_overlap_trace,
};
