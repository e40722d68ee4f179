/* cuda_gpu_kern_hist: a histogram of the durations of each kernel, in classes each twice as long as the one before. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/gpu.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/intern.h"
#include "base/saturating.h"
#include "rank_lanes.h"

enum { CLASSES = 64 }; /* 0: below 1 ns; c: from 2^(c - 1) ns on */

struct kernel_histogram {
    int64_t total_ns, runs, runs_of[CLASSES], total_of[CLASSES];
};

struct histograms {
    struct intern names;
    struct kernel_histogram *list; /* owned; by name */
    size_t room;
};

static int class_of(int64_t duration_ns)
{
    return duration_ns < 1 ? 0 : 64 - __builtin_clzll((uint64_t)duration_ns);
}

static int kern_hist_add_event(struct histograms *all, struct report *report, const struct lane_event *event)
{
    size_t length;
    const char *name = report_string(report, event->name, &length);
    int64_t number = intern_add(&all->names, name, length);
    int64_t duration = saturating_duration(event->start_ns, event->end_ns);

    if (number < 0 || array_reserve_zeroed(&all->list, &all->room, (size_t)number + 1, sizeof *all->list) != 0)
        return ERR_NO_MEMORY;
    struct kernel_histogram *histogram = &all->list[number];
    histogram->runs++;
    histogram->total_ns = saturating_add(histogram->total_ns, duration);
    histogram->runs_of[class_of(duration)]++;
    histogram->total_of[class_of(duration)] = saturating_add(histogram->total_of[class_of(duration)], duration);
    return 0;
}

enum { FROM, TO, COUNT, SHARE, TOTAL, NAME, COLUMNS };
static const struct table_column kern_hist_columns[COLUMNS] = {
    [FROM] = { "From", CELL_INT, UNIT_NS, 0 },        [TO] = { "To", CELL_INT, UNIT_NS, 0 },
    [COUNT] = { "Count", CELL_INT, UNIT_NONE, 0 },    [SHARE] = { "Share", CELL_REAL, UNIT_PERCENT, 1 },
    [TOTAL] = { "Total Time", CELL_INT, UNIT_NS, 0 }, [NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

static int add_class(struct table *table, const struct intern_string *name, const struct kernel_histogram *histogram,
                     int slot)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[FROM], slot ? (int64_t)1 << (slot - 1) : 0);
    cell_set_int(&row[TO], slot < CLASSES - 1 ? (int64_t)1 << slot : INT64_MAX);
    cell_set_int(&row[COUNT], histogram->runs_of[slot]);
    cell_set_real(&row[SHARE], 100.0 * (double)histogram->runs_of[slot] / (double)histogram->runs);
    cell_set_int(&row[TOTAL], histogram->total_of[slot]);
    return cell_set_text(table, &row[NAME], name->bytes, name->length);
}

/* The kernel with the most time first, as in cuda_gpu_kern_sum. */
static int kern_hist_compare_kernels(const void *a, const void *b, void *context)
{
    const struct histograms *all = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return COMPARE(all->list[y].total_ns, all->list[x].total_ns)
               ?: strcmp(all->names.strings[x].bytes, all->names.strings[y].bytes);
}

static int kern_hist_fill_table(struct table *table, struct report *report, const struct lanes *lanes,
                                struct histograms *all)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (kern_hist_add_event(all, report, &lanes->events[i]) != 0)
            return ERR_NO_MEMORY;
    uint32_t *order = malloc((all->names.count + 1) * sizeof *order);
    int code = 0;
    if (!order)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < all->names.count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, all->names.count, sizeof *order, kern_hist_compare_kernels, all);
    for (size_t i = 0; i < all->names.count; i++)
        for (int slot = 0; slot < CLASSES; slot++)
            if (all->list[order[i]].runs_of[slot] &&
                (code = add_class(table, &all->names.strings[order[i]], &all->list[order[i]], slot)) != 0)
                goto free_order;
free_order:
    free(order);
    return code;
}

static int cuda_gpu_kern_hist(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    struct table *table = table_new(kern_hist_columns, COLUMNS);
    struct lane_source source = lane_kernels;
    struct histograms all = { 0 };
    struct lanes lanes = { 0 };
    int code;

    source.name = kernel_name_column(request);
    if ((code = lanes_read(&lanes, report, request, &source, 1, 0, err)) != 0)
        goto done;
    code = table ? kern_hist_fill_table(table, report, &lanes, &all) : ERR_NO_MEMORY;
done:
    lanes_free(&lanes);
    intern_free(&all.names);
    free(all.list);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cuda_gpu_kern_hist = {
    .name = "cuda_gpu_kern_hist",
    .title = "CUDA GPU Kernel Duration Histogram",
    .usage = "[:base|:mangled]",
    .help = "Runs of each kernel by their duration, in classes from a power of two up to the next: how many, their "
            "share, and their time. base, mangled: as in cuda_gpu_kern_sum.",
    .needs = { { "CUDA kernel data", gpu_kernel_tables } },
    .is_of_gpus = 1,
    .run = cuda_gpu_kern_hist,
};
