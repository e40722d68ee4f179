/* Runs a report on each part of a set, and joins the tables. */
#include "recipe_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/model/gpu.h"
#include "base/array.h"
#include "report/reader/unite.h"

enum { MOST_COLUMNS = 64, MOST_DEVICES = 4096 };

/* ---- ranks ------------------------------------------------------------------------------------------------------*/

static int recipe_tables_add_rank(struct recipe_set *set, size_t part, int64_t kept, int64_t number)
{
    if (array_reserve(&set->ranks, &set->room, set->count + 1, sizeof *set->ranks) != 0)
        return ERR_NO_MEMORY;
    set->ranks[set->count++] = (struct recipe_rank){ part, kept, number };
    return 0;
}

/* Adds each rank of a report of several ranks once. */
static int divide_part(struct recipe_set *set, size_t part, const struct report_part *about)
{
    int64_t *ranks = array_alloc(about->rank_count + 1, sizeof *ranks);
    int code = 0;

    if (!ranks)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < about->rank_count; i++)
        ranks[i] = about->ranks[i].rank;
    qsort(ranks, about->rank_count, sizeof *ranks, array_by_int64);
    for (size_t i = 0; i < about->rank_count; i++)
        if ((!i || ranks[i] != ranks[i - 1]) && report_part_keeps(about, ranks[i]) &&
            (code = recipe_tables_add_rank(set, part, ranks[i], ranks[i])) != 0)
            break;
    free(ranks);
    return code;
}

static int recipe_tables_compare_ranks(const void *a, const void *b)
{
    const struct recipe_rank *x = a, *y = b;

    /* Unknown ones, which are below 0, come last. */
    return COMPARE((uint64_t)x->number, (uint64_t)y->number) ?: COMPARE(x->part, y->part);
}

static int recipe_tables_find_ranks(struct recipe_set *set)
{
    for (size_t i = 0; i < report_part_count(set->report); i++) {
        const struct report_part *about = report_part_at(set->report, i);
        int code = about->rank_count ? divide_part(set, i, about) : recipe_tables_add_rank(set, i, -1, about->rank);
        if (code != 0)
            return code;
    }
    if (set->count)
        qsort(set->ranks, set->count, sizeof *set->ranks, recipe_tables_compare_ranks);
    for (size_t i = 0; i < set->count; i++)
        set->is_by_place |= set->ranks[i].number < 0 || (i && set->ranks[i].number == set->ranks[i - 1].number);
    for (size_t i = 0; i < set->count && set->is_by_place; i++)
        set->ranks[i].number = (int64_t)i;
    return 0;
}

int recipe_set_open(struct recipe_set *set, struct report *report, const struct selection_part_settings *part,
                    struct error *err)
{
    *set = (struct recipe_set){ .report = report };
    if (recipe_tables_find_ranks(set) != 0)
        return error_no_memory(err);
    return selection_part_find(part, report, &set->part, err);
}

/* All parts get the same bins. */
void recipe_set_limit(struct recipe_set *set)
{
    struct report_span whole = report_times(set->report);

    if (whole.from_ns > whole.to_ns)
        return;
    if (!set->part.has_span)
        set->part.span = whole;
    set->part.has_span = 1;
    if (set->part.span.from_ns == INT64_MIN)
        set->part.span.from_ns = whole.from_ns;
    if (set->part.span.to_ns == INT64_MAX)
        set->part.span.to_ns = whole.to_ns;
}

void recipe_set_close(struct recipe_set *set)
{
    selection_part_free(&set->part);
    free(set->ranks);
}

int recipe_files_table(const struct recipe_set *set, struct table **out, struct error *err)
{
    static const struct table_column columns[] = { { "Rank", CELL_INT, UNIT_ID, 0 },
                                                   { "File", CELL_TEXT, UNIT_NAME, 0 },
                                                   { "Host", CELL_TEXT, UNIT_NONE, 0 } };
    struct table *table = table_new(columns, 3);
    int failed = !table;

    for (size_t i = 0; i < set->count && !failed; i++) {
        const struct report_part *part = report_part_at(set->report, set->ranks[i].part);
        struct table_cell *row = table_add_row(table);
        failed = !row || cell_set_string(table, &row[1], part->name) != 0;
        if (row)
            cell_set_int(&row[0], set->ranks[i].number);
        if (row && part->host)
            failed |= cell_set_string(table, &row[2], part->host) != 0;
    }
    return table_hand_over(table, failed ? ERR_NO_MEMORY : 0, out, err);
}

/* ---- tables of parts --------------------------------------------------------------------------------------------*/

int recipe_whole_table(const struct recipe_set *set, const struct selection_item *item, struct table **out,
                       struct error *err)
{
    struct analysis_request request = selection_part_request(&set->part, item);

    return analysis_run(item->analysis, set->report, &request, out, err);
}

/* The table that rows of all parts are joined in: that of the report, and the columns that it lacks. */
struct joined {
    struct table *table;
    size_t width;        /* columns of the report's table */
    size_t rank, device; /* columns */
};

static int start_table(struct joined *joined, const struct table *first, int by_device)
{
    struct table_column columns[MOST_COLUMNS + 2];
    size_t width = table_column_count(first), count = width;

    if (width > MOST_COLUMNS)
        return ERR_UNSUPPORTED;
    memcpy(columns, table_columns(first), width * sizeof *columns);
    joined->width = width;
    joined->rank = table_find_column(first, "Rank");
    if (by_device) {
        joined->device = count;
        columns[count++] = (struct table_column){ "Device ID", CELL_INT, UNIT_ID, 0 };
    }
    if (joined->rank == TABLE_NO_COLUMN) {
        joined->rank = count;
        columns[count++] = (struct table_column){ "Rank", CELL_INT, UNIT_ID, 0 };
    }
    joined->table = table_new(columns, count);
    return joined->table ? 0 : ERR_NO_MEMORY;
}

static int copy_cell(struct table *table, struct table_cell *to, const struct table_cell *from)
{
    if (from->kind == CELL_TEXT)
        return cell_set_text(table, to, from->text.bytes, from->text.length);
    *to = *from;
    return 0;
}

static int recipe_tables_add_rows(struct joined *joined, const struct table *from, int64_t rank, int by_device,
                                  int64_t device)
{
    int code = joined->table ? 0 : start_table(joined, from, by_device);

    if (code != 0)
        return code;
    for (size_t r = 0; r < table_row_count(from); r++) {
        struct table_cell *row = table_add_row(joined->table);
        if (!row)
            return ERR_NO_MEMORY;
        for (size_t c = 0; c < joined->width; c++)
            if (copy_cell(joined->table, &row[c], &table_row(from, r)[c]) != 0)
                return ERR_NO_MEMORY;
        cell_set_int(&row[joined->rank], rank);
        if (by_device)
            cell_set_int(&row[joined->device], device);
    }
    return 0;
}

/* device: NULL for all. A part without data adds nothing. */
static int recipe_tables_add_part(struct joined *joined, const struct recipe_set *set, int64_t number,
                                  struct report *alone, const struct selection_item *item, const int64_t *device,
                                  struct error *err)
{
    struct analysis_request request = selection_part_request(&set->part, item);
    struct analysis_filter filter = set->part.filter;
    struct table *table = NULL;

    if (device) {
        filter.only |= ONLY_DEVICE;
        filter.device = *device;
        request.filter = &filter;
    }
    int code = analysis_run(item->analysis, alone, &request, &table, err);
    if (code == ERR_NO_DATA) {
        *err = (struct error){ 0 };
        return 0;
    }
    if (code != 0)
        return code;
    code = recipe_tables_add_rows(joined, table, number, device != NULL, device ? *device : 0);
    if (code != 0)
        error_set(err, code, "%s", error_name(code));
    table_delete(table);
    return code;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------*/

struct device_list {
    int64_t *list; /* owned; sorted */
    size_t count, room;
};

static int recipe_tables_add_device(struct device_list *devices, int64_t device)
{
    for (size_t i = devices->count; i-- > 0;)
        if (devices->list[i] == device)
            return 0;
    if (devices->count == MOST_DEVICES ||
        array_reserve(&devices->list, &devices->room, devices->count + 1, sizeof *devices->list) != 0)
        return ERR_NO_MEMORY;
    devices->list[devices->count++] = device;
    return 0;
}

static int recipe_tables_add_devices(struct device_list *devices, struct report *report, const char *table,
                                     struct error *err)
{
    static const char *const names[] = { "deviceId" };
    struct report_columns columns = { 0 };
    int code;

    if ((code = columns_read(report, table, names, 1, &columns, err)) != 0)
        return code;
    for (size_t row = 0; row < columns.rows; row++)
        if (!columns_is_null(&columns, 0, row) && recipe_tables_add_device(devices, columns.values[0][row]) != 0) {
            code = error_set(err, ERR_NO_MEMORY, "more than %d GPUs", MOST_DEVICES);
            goto free_columns;
        }
free_columns:
    report_columns_free(&columns);
    return code;
}

static int find_devices(struct device_list *devices, struct report *report, struct error *err)
{
    int code;

    for (int kind = 0; kind < GPU_KINDS; kind++)
        if ((code = recipe_tables_add_devices(devices, report, gpu_tables[kind], err)) != 0)
            return code;
    if (devices->count)
        qsort(devices->list, devices->count, sizeof *devices->list, array_by_int64);
    return 0;
}

static int add_by_device(struct joined *joined, const struct recipe_set *set, int64_t number, struct report *alone,
                         const struct selection_item *item, struct error *err)
{
    struct device_list devices = { 0 };
    int code;

    if ((code = find_devices(&devices, alone, err)) != 0)
        goto free_devices;
    for (size_t i = 0; i < devices.count; i++)
        if ((code = recipe_tables_add_part(joined, set, number, alone, item, &devices.list[i], err)) != 0)
            goto free_devices;
free_devices:
    free(devices.list);
    return code;
}

static int add_rank_rows(struct joined *joined, const struct recipe_set *set, const struct recipe_rank *rank,
                         const struct selection_item *item, int by_device, struct error *err)
{
    const struct report_choice choice = { rank->part, rank->kept < 0 ? NULL : &rank->kept, 1 };
    struct report *alone;
    int code;

    if ((code = report_choose(set->report, &choice, 1, &alone, err)) != 0)
        return code;
    code = by_device ? add_by_device(joined, set, rank->number, alone, item, err)
                     : recipe_tables_add_part(joined, set, rank->number, alone, item, NULL, err);
    report_close(alone);
    return code;
}

int recipe_rank_table(const struct recipe_set *set, const struct selection_item *item, int by_device,
                      struct table **out, struct error *err)
{
    struct joined joined = { 0 };
    int code = 0;

    for (size_t i = 0; i < set->count; i++)
        if ((code = add_rank_rows(&joined, set, &set->ranks[i], item, by_device, err)) != 0)
            goto done;
    if (!joined.table)
        return error_set(err, ERR_NO_DATA, "none of the reports has data for %s", item->analysis->name);
done:
    return table_hand_over(joined.table, code, out, err);
}
