/* nvtx_kern_sum: kernels by the NVTX ranges that they were launched in, each under every range around its launch. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/executions.h"
#include "analyze/model/nvtx_fold.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { KEY_DOMAIN, KEY_RANGE, KEY_STYLE, KEY_THREAD, KEY_KERNEL, KEY_WIDTH };
enum { NO_STYLE = 0 };

/* One kernel of one call in one range. */
struct range_kernel {
    uint32_t group, kernel, range; /* range NO_RANGE: outside of all */
};

struct range_kernels {
    struct executions executions;
    struct ranges ranges;
    struct nvtx_fold fold;
    struct keys keys;
    uint32_t *first, *next;       /* owned; chains of the executions of a call: by call, by execution */
    struct range_kernel *entries; /* owned */
    size_t count, capacity;
    int64_t *instances[2];        /* owned; by group: numbers of different ranges, and of kernels */
    struct keys_figures *figures; /* owned; by group */
};

static int nvtx_kern_sum_add_entry(struct range_kernels *summary, uint32_t group, uint32_t kernel, uint32_t range)
{
    if (group == NO_KEY)
        return ERR_NO_MEMORY;
    return ARRAY_PUSH(summary->entries, summary->capacity, summary->count,
                      (struct range_kernel){ group, kernel, range });
}

static int nvtx_kern_sum_add_call(void *context, uint32_t call, const uint32_t *around, size_t around_count)
{
    struct range_kernels *summary = context;
    int64_t thread = summary->executions.calls.thread[call];

    for (uint32_t i = summary->first[call]; i != NO_CALL; i = summary->next[i]) {
        const struct execution *execution = &summary->executions.list[i];
        int64_t kernel = execution_kernel_name(&summary->executions, execution);
        for (size_t j = 0; j < around_count; j++) {
            const struct range *range = &summary->ranges.list[around[j]];
            int64_t name = nvtx_fold_name(&summary->fold, range->name);
            int64_t key[KEY_WIDTH] = { range->domain, name, range->style, thread, kernel };
            if (summary->fold.failed ||
                nvtx_kern_sum_add_entry(summary, keys_add(&summary->keys, key), execution->kernel, around[j]) != 0)
                return ERR_NO_MEMORY;
        }
        int64_t key[KEY_WIDTH] = { NVTX_NO_NAME, NVTX_NO_NAME, NO_STYLE, thread, kernel };
        if (!around_count &&
            nvtx_kern_sum_add_entry(summary, keys_add(&summary->keys, key), execution->kernel, NO_RANGE) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int nvtx_kern_sum_collect(struct range_kernels *summary)
{
    const struct executions *executions = &summary->executions;
    uint32_t *list = malloc((executions->calls.count + 1) * sizeof *list);
    size_t count = 0;
    int code = ERR_NO_MEMORY;

    summary->first = malloc((executions->calls.count + 1) * sizeof *summary->first);
    summary->next = malloc((executions->count + 1) * sizeof *summary->next);
    if (!list || !summary->first || !summary->next || executions->count >= NO_CALL)
        goto free_list;
    memset(summary->first, 0xff, (executions->calls.count + 1) * sizeof *summary->first);
    for (size_t i = executions->count; i-- > 0;) {
        uint32_t call = executions->list[i].call;
        if (summary->first[call] == NO_CALL)
            list[count++] = call;
        summary->next[i] = summary->first[call];
        summary->first[call] = (uint32_t)i;
    }
    code = launches_sweep(&executions->calls, list, count, &summary->ranges, SIZE_MAX, nvtx_kern_sum_add_call, summary);
free_list:
    free(list);
    return code;
}

/* The number of different ids. They come from a sweep in order of time and are nearly always in order. */
static int64_t count_different(uint32_t *ids, size_t count)
{
    int64_t different = count > 0;
    size_t i = 1;

    while (i < count && ids[i - 1] <= ids[i])
        i++;
    if (i < count)
        qsort(ids, count, sizeof *ids, array_by_uint32);
    for (i = 1; i < count; i++)
        different += ids[i - 1] != ids[i];
    return different;
}

static uint32_t range_or_kernel(const struct range_kernel *entry, int of_kernels)
{
    return of_kernels ? entry->kernel : entry->range;
}

/* Counts the different ranges, or kernels, of each group. A kernel with two calls has two entries, and its time counts
 * twice, but it is one kernel: nsys counts in the same way. */
static int count_instances(struct range_kernels *summary, int of_kernels)
{
    size_t groups = summary->keys.count;
    uint32_t *ids = malloc((summary->count + 1) * sizeof *ids);
    size_t *next = calloc(groups + 2, sizeof *next); /* [group + 1]: the position of the group's next id */
    int code = ERR_NO_MEMORY;

    if (!ids || !next)
        goto done;
    for (size_t i = 0; i < summary->count; i++)
        next[summary->entries[i].group + 2]++;
    for (size_t g = 0; g < groups; g++)
        next[g + 2] += next[g + 1];
    for (size_t i = 0; i < summary->count; i++)
        ids[next[summary->entries[i].group + 1]++] = range_or_kernel(&summary->entries[i], of_kernels);
    for (size_t g = 0; g < groups; g++)
        summary->instances[of_kernels][g] = count_different(ids + next[g], next[g + 1] - next[g]);
    code = 0;
done:
    free(ids);
    free(next);
    return code;
}

static int nvtx_kern_sum_summarize(struct range_kernels *summary)
{
    const struct gpu_ops *kernels = &summary->executions.kernels;
    uint32_t *groups = malloc((summary->count + 1) * sizeof *groups);
    int64_t *values = malloc((summary->count + 1) * sizeof *values);
    int code = ERR_NO_MEMORY;

    for (int i = 0; i < 2; i++)
        summary->instances[i] = calloc(summary->keys.count + 1, sizeof *summary->instances[i]);
    summary->figures = malloc((summary->keys.count + 1) * sizeof *summary->figures);
    if (!groups || !values || !summary->instances[0] || !summary->instances[1] || !summary->figures)
        goto done;
    if (count_instances(summary, 0) != 0 || count_instances(summary, 1) != 0)
        goto done;
    for (size_t i = 0; i < summary->count; i++) {
        uint32_t kernel = summary->entries[i].kernel;
        groups[i] = summary->entries[i].group;
        values[i] = saturating_duration(kernels->start[kernel], kernels->end[kernel]);
    }
    code = keys_summarize(summary->figures, summary->keys.count, groups, values, summary->count);
done:
    free(groups);
    free(values);
    return code;
}

enum { RANGE, STYLE, PID, TID, RANGES, KERNELS, TOTAL, MEAN, MEDIAN, LEAST, GREATEST, DEVIATION, NAME, COLUMNS };
static const struct table_column nvtx_kern_sum_columns[COLUMNS] = {
    { "NVTX Range", CELL_TEXT, UNIT_NAME, 0 },
    { "Style", CELL_TEXT, UNIT_NONE, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },
    { "TID", CELL_INT, UNIT_ID, 0 },
    { "NVTX Inst", CELL_INT, UNIT_NONE, 0 },
    { "Kern Inst", CELL_INT, UNIT_NONE, 0 },
    { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "Avg", CELL_REAL, UNIT_NS, 1 },
    { "Med", CELL_REAL, UNIT_NS, 1 },
    { "Min", CELL_INT, UNIT_NS, 0 },
    { "Max", CELL_INT, UNIT_NS, 0 },
    { "StdDev", CELL_REAL, UNIT_NS, 1 },
    { "Kernel Name", CELL_TEXT, UNIT_NONE, 0 },
};

static int set_range(const struct range_kernels *summary, struct table *table, struct table_cell *row,
                     struct text *text, const int64_t *key)
{
    if (key[KEY_STYLE] == NO_STYLE)
        return 0;
    nvtx_fold_label(text, &summary->fold, key[KEY_DOMAIN], key[KEY_RANGE]);
    if (cell_set_built(table, &row[RANGE], text) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &row[STYLE], range_style_name((uint32_t)key[KEY_STYLE]));
}

static int nvtx_kern_sum_add_row(const struct range_kernels *summary, struct table *table, struct text *text,
                                 uint32_t group)
{
    const int64_t *key = keys_get(&summary->keys, group);
    const struct keys_figures *figures = &summary->figures[group];
    struct table_cell *row = table_add_row(table);

    if (!row || set_range(summary, table, row, text, key) != 0)
        return ERR_NO_MEMORY;
    cell_set_int(&row[PID], global_pid_number(key[KEY_THREAD]));
    cell_set_int(&row[TID], global_tid_number(key[KEY_THREAD]));
    cell_set_int(&row[RANGES], key[KEY_STYLE] == NO_STYLE ? 0 : summary->instances[0][group]);
    cell_set_int(&row[KERNELS], summary->instances[1][group]);
    cell_set_int(&row[TOTAL], (int64_t)figures->figures.total);
    cell_set_real(&row[MEAN], statistics_mean(&figures->figures));
    cell_set_real(&row[MEDIAN], figures->median);
    cell_set_int(&row[LEAST], figures->figures.min);
    cell_set_int(&row[GREATEST], figures->figures.max);
    cell_set_real(&row[DEVIATION], statistics_deviation(&figures->figures));
    return cell_set_pooled(table, &row[NAME], summary->executions.report, key[KEY_KERNEL]);
}

static int nvtx_kern_sum_fill_table(struct range_kernels *summary, struct table *table)
{
    struct text text = { 0 };
    int code;

    if ((code = nvtx_kern_sum_collect(summary)) != 0)
        goto free_text;
    if ((code = nvtx_kern_sum_summarize(summary)) != 0)
        goto free_text;
    for (uint32_t group = 0; group < summary->keys.count; group++)
        if ((code = nvtx_kern_sum_add_row(summary, table, &text, group)) != 0)
            goto free_text;
    table_sort_by(table, BY(RANGE, STYLE, PID, TID, DOWN(TOTAL), NAME));
free_text:
    text_free(&text);
    return code;
}

static void nvtx_kern_sum_summary_free(struct range_kernels *summary)
{
    executions_free(&summary->executions);
    ranges_free(&summary->ranges);
    nvtx_fold_close(&summary->fold);
    keys_free(&summary->keys);
    free(summary->first);
    free(summary->next);
    free(summary->entries);
    free(summary->instances[0]);
    free(summary->instances[1]);
    free(summary->figures);
}

static int nvtx_kern_sum(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    struct range_kernels summary = { .keys.width = KEY_WIDTH };
    struct table *table = table_new(nvtx_kern_sum_columns, COLUMNS);
    struct filter everything = { 0 }; /* executions_read() has filtered the kernels */
    int code;

    if ((code = nvtx_fold_open(&summary.fold, report, request, err)) != 0)
        goto done;
    if ((code = executions_read(&summary.executions, report, request, 0, err)) != 0)
        goto done;
    if ((code = ranges_read(&summary.ranges, report, RANGE_PUSHPOP | RANGE_STARTEND, &everything, err)) != 0)
        goto done;
    if (!table || nvtx_kern_sum_fill_table(&summary, table) != 0)
        code = error_short_memory(err, "to group the kernels");
done:
    nvtx_kern_sum_summary_free(&summary);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_nvtx_kern_sum = {
    .name = "nvtx_kern_sum",
    .title = "NVTX Range Kernel Summary",
    .usage = "[:base|:mangled]" NVTX_FOLD_USAGE,
    .help = "Kernels by the NVTX ranges around their launch. A kernel counts for every range around it, so times of "
            "nested ranges must not be added up. Kernels that were launched outside of all ranges come first. "
            "fold: merge the calls of an operator (emit_nvtx) into one range.",
    .needs = { { "NV Tools Extension (NVTX) data", TABLES("NVTX_EVENTS") }, { "CUDA kernel data", gpu_kernel_tables } },
    .overlap = "ranges contain each other",
    .for_people = NVTX_FOLD_FOR_PEOPLE,
    .run = nvtx_kern_sum,
};
