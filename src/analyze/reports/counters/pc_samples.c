/* pc_samples_sum and kernel_stall_lines: what warps waited for when they were sampled, by kernel, and by line of each.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/registry.h"
#include "base/text.h"

enum { SHARE, SAMPLES, NOT_ISSUED, REASON, LINE, KERNEL, COLUMNS };
static const struct table_column pc_samples_columns[COLUMNS] = {
    [SHARE] = { "Share", CELL_REAL, UNIT_PERCENT, 1 },
    [SAMPLES] = { "Samples", CELL_INT, UNIT_NONE, 0 },
    [NOT_ISSUED] = { "Not Issued", CELL_INT, UNIT_NONE, 0 },
    [REASON] = { "Reason", CELL_TEXT, UNIT_NONE, 0 },
    [LINE] = { "Line", CELL_TEXT, UNIT_NONE, 0 },
    [KERNEL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

/* Samples that share all but the numbers. */
struct pc_samples_group {
    int64_t kernel, file, line, reason; /* ids of strings, and a number; no file: -1 */
    int64_t samples, not_issued;
    int64_t of_kernel;                  /* all samples of the kernel */
};

struct pc_samples_groups {
    struct pc_samples_group *list; /* owned */
    size_t count;
};

static int pc_samples_by_place(const void *left, const void *right)
{
    const struct pc_samples_group *a = left, *b = right;
    int order = COMPARE(a->kernel, b->kernel) ?: COMPARE(a->file, b->file);

    return order ?: COMPARE(a->line, b->line) ?: COMPARE(a->reason, b->reason);
}

static int by_samples(const void *left, const void *right)
{
    const struct pc_samples_group *a = left, *b = right;
    int order = COMPARE(b->of_kernel, a->of_kernel) ?: COMPARE(a->kernel, b->kernel);

    return order ?: COMPARE(b->samples, a->samples) ?: pc_samples_by_place(a, b);
}

static int pc_samples_read_samples(struct pc_samples_groups *groups, struct report *report, int by_line,
                                   struct error *err)
{
    static const char *const names[] = { "demangledName", "sourceFile",       "sourceLine", "stallReason",
                                         "samples",       "notIssuedSamples", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_PC_SAMPLES", names, err);

    if (code != 0)
        return code;
    groups->list = calloc(rows.columns.rows + 1, sizeof *groups->list);
    while (groups->list && row_cursor_next(&rows))
        groups->list[groups->count++] = (struct pc_samples_group){
            .kernel = row_int_or(&rows, 0, -1),
            .file = by_line ? row_int_or(&rows, 1, -1) : -1,
            .line = by_line ? row_int_or(&rows, 2, 0) : 0,
            .reason = row_int_or(&rows, 3, -1),
            .samples = row_int_or(&rows, 4, 0),
            .not_issued = row_int_or(&rows, 5, 0),
        };
    row_cursor_close(&rows);
    return groups->list ? 0 : error_no_memory(err);
}

/* Adds up equal places, and finds the samples of each kernel. */
static void pc_samples_merge(struct pc_samples_groups *groups)
{
    struct pc_samples_group *list = groups->list;
    size_t count = 0;

    qsort(list, groups->count, sizeof *list, pc_samples_by_place);
    for (size_t i = 0; i < groups->count; i++) {
        if (count && pc_samples_by_place(&list[count - 1], &list[i]) == 0) {
            list[count - 1].samples += list[i].samples;
            list[count - 1].not_issued += list[i].not_issued;
        } else {
            list[count++] = list[i];
        }
    }
    groups->count = count;
    for (size_t first = 0, end; first < count; first = end) {
        int64_t sum = 0;
        for (end = first; end < count && list[end].kernel == list[first].kernel; end++)
            sum += list[end].samples;
        for (size_t i = first; i < end; i++)
            list[i].of_kernel = sum;
    }
    qsort(list, count, sizeof *list, by_samples);
}

static int pc_samples_set_line(struct table *table, struct table_cell *cell, struct report *report,
                               const struct pc_samples_group *group)
{
    struct text place = { 0 };

    if (group->file < 0)
        return cell_set_string(table, cell, "no line information");
    text_addf(&place, "%s:%lld", report_string(report, group->file, NULL), (long long)group->line);
    int code = cell_set_built(table, cell, &place);
    text_free(&place);
    return code;
}

static int pc_samples_add_group(struct table *table, struct report *report, const struct pc_samples_group *group,
                                int by_line)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (group->of_kernel)
        cell_set_real(&row[SHARE], 100.0 * (double)group->samples / (double)group->of_kernel);
    cell_set_int(&row[SAMPLES], group->samples);
    cell_set_int(&row[NOT_ISSUED], group->not_issued);
    if ((by_line && pc_samples_set_line(table, &row[LINE], report, group) != 0) ||
        cell_set_pooled(table, &row[REASON], report, group->reason) != 0)
        return ERR_NO_MEMORY;
    return cell_set_pooled(table, &row[by_line ? KERNEL : LINE], report, group->kernel);
}

static int pc_samples_run(struct report *report, int by_line, struct table **out, struct error *err)
{
    struct table_column shown[COLUMNS];
    struct pc_samples_groups groups = { 0 };

    memcpy(shown, pc_samples_columns, sizeof shown);
    if (!by_line)
        shown[LINE] = pc_samples_columns[KERNEL];
    struct table *table = table_new(shown, by_line ? COLUMNS : COLUMNS - 1);
    int code = table ? pc_samples_read_samples(&groups, report, by_line, err) : ERR_NO_MEMORY;
    if (code != 0)
        goto done;
    pc_samples_merge(&groups);
    for (size_t i = 0; i < groups.count; i++)
        if ((code = pc_samples_add_group(table, report, &groups.list[i], by_line)) != 0)
            goto done;
done:
    free(groups.list);
    return table_hand_over(table, code, out, err);
}

static int sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err)
{
    return pc_samples_run(report, 0, out, err);
}

static int lines(struct report *report, const struct analysis_request *request, struct table **out, struct error *err)
{
    return pc_samples_run(report, 1, out, err);
}

static const char *const pc_samples_tables[] = { "TACHO_PC_SAMPLES", NULL };

const struct analysis analysis_pc_samples_sum = {
    .name = "pc_samples_sum",
    .title = "Warp Samples by Kernel",
    .help = "What the warps of each kernel did when they were sampled (--pc-sampling): the state, its share of the "
            "kernel's samples, and the samples in cycles in which the scheduler issued no instruction. selected is no "
            "stall: the warp issued an instruction.",
    .needs = { { "samples of warps", pc_samples_tables } },
    .by_default = 72,
    .default_where = "TACHO_PC_SAMPLES",
    .run = sum,
};

const struct analysis analysis_kernel_stall_lines = {
    .name = "kernel_stall_lines",
    .title = "Warp Samples by Source Line",
    .help = "The same as pc_samples_sum for each source line of a kernel. Lines are known for programs that were "
            "compiled with -lineinfo.",
    .needs = { { "samples of warps", pc_samples_tables } },
    .by_default = 71,
    .default_where = "TACHO_PC_SAMPLES",
    .run = lines,
};
