/* Counts the events that a cut leaves out, by row of the timeline and by interval of time. */
#include "cut_overview.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "base/array.h"
#include "export_rows.h"

#define NO_NUMBER INT64_MIN /* marks a key that a row lacks */
#define SET_KEY(row, column, value) ((value) != NO_NUMBER ? (void)ROW_SET(row, TACHO_OVERVIEW, column, value) : (void)0)

enum { STRETCHES = 256, TABLE_KEYS = 4, KEY_WIDTH = 1 + TABLE_KEYS };

/* Tables whose events are many. Those of one row of the timeline are counted as one table's. */
enum { NAME, NAME_INSTEAD, KIND, FIRST_KEY, COLUMNS = FIRST_KEY + TABLE_KEYS };
static const struct counted_table {
    const char *table, *as;
    const char *name, *name_instead; /* columns; NULL: none */
    const char *kind;                /* a column that selects the events of the row: see cut_overview_is_counted() */
    const char *keys[TABLE_KEYS];
} counted_tables[] = {
#define GPU_KEYS { "globalPid", "deviceId", "contextId", "streamId" }
    { "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL", "demangledName", NULL, NULL, GPU_KEYS },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_KERNEL", NULL, NULL, NULL, GPU_KEYS },
    { "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_KERNEL", NULL, NULL, NULL, GPU_KEYS },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_KERNEL", NULL, NULL, NULL, GPU_KEYS },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", NULL, NULL, { "globalTid" } },
    { "OSRT_API", "OSRT_API", "nameId", NULL, NULL, { "globalTid" } },
    { "NVTX_EVENTS", "NVTX_EVENTS", "text", "textId", "eventType", { "globalTid", "domainId" } },
    { "TACHO_TORCH_OP", "TACHO_TORCH_OP", "nameId", NULL, "deviceId", { "globalTid" } },
    { "TACHO_TORCH_PYTHON", "TACHO_TORCH_PYTHON", "nameId", NULL, NULL, { "globalTid" } },
};
enum { TABLES = COUNT_OF(counted_tables) };

struct cut_overview_stretch {
    int64_t count, busy_ns, first_ns, longest_ns, name;
};

struct cut_overview_counting {
    const struct cut_overview *overview;
    double stretch_ns;
    struct keys rows;                                    /* rows of the timeline: the table, and its keys */
    struct cut_overview_stretch (*stretches)[STRETCHES]; /* owned; by row */
    size_t capacity;
};

/* ---- counting -------------------------------------------------------------------------------------------------- */

static int64_t cut_overview_begin_of(const struct cut_overview_counting *counting, int stretch)
{
    return saturating_add(counting->overview->all->from_ns, saturating_from_double(counting->stretch_ns * stretch));
}

static int stretch_at(const struct cut_overview_counting *counting, int64_t time_ns)
{
    double at = ((double)time_ns - (double)counting->overview->all->from_ns) / counting->stretch_ns;

    return at < 0 ? 0 : at >= STRETCHES ? STRETCHES - 1 : (int)at;
}

/* The row's stretches; NULL when memory is short. */
static struct cut_overview_stretch *cut_overview_row_of(struct cut_overview_counting *counting,
                                                        const int64_t key[KEY_WIDTH])
{
    uint32_t row = keys_add(&counting->rows, key);

    if (row == NO_KEY ||
        array_reserve_zeroed(&counting->stretches, &counting->capacity, row + 1u, sizeof *counting->stretches) != 0)
        return NULL;
    return counting->stretches[row];
}

static void cut_overview_count_event(struct cut_overview_counting *counting, struct cut_overview_stretch *row,
                                     int64_t start, int64_t end, int64_t name)
{
    int first = stretch_at(counting, start), last = stretch_at(counting, end);

    row[first].count++;
    for (int i = first; i <= last; i++) {
        int64_t from = i == first ? start : cut_overview_begin_of(counting, i),
                to = i == last ? end : cut_overview_begin_of(counting, i + 1);
        if (row[i].busy_ns == 0 || from < row[i].first_ns)
            row[i].first_ns = from;
        row[i].busy_ns = saturating_add(row[i].busy_ns, to > from ? saturating_duration(from, to) : 1);
        if (saturating_duration(start, end) >= row[i].longest_ns) {
            row[i].longest_ns = saturating_duration(start, end);
            row[i].name = name;
        }
    }
}

/* NVTX_EVENTS counts only ranges, TACHO_TORCH_OP only operators on a thread. */
static int cut_overview_is_counted(const struct counted_table *table, const struct export_window *window)
{
    int has_kind = !(window->null_masks[window->at] >> KIND & 1);
    int64_t kind = window->values[KIND][window->at];

    if (!table->kind)
        return 1;
    return strcmp(table->kind, "deviceId") == 0 ? !has_kind : nvtx_is_range(kind);
}

static int64_t cut_overview_value_or(const struct export_window *window, int column, int64_t otherwise)
{
    return window->null_masks[window->at] >> column & 1 ? otherwise : window->values[column][window->at];
}

enum { START = COLUMNS, END, ALL_COLUMNS };

static int cut_overview_count_rows(struct cut_overview_counting *counting, size_t number, struct export_rows *rows,
                                   struct error *err)
{
    const struct counted_table *table = &counted_tables[number];
    const struct report_span *window = &counting->overview->window;
    int code;

    while ((code = export_rows_next(rows, err)) == 1) {
        const struct export_window *at = export_window(rows);
        int64_t start = cut_overview_value_or(at, START, 0), end = cut_overview_value_or(at, END, start),
                key[KEY_WIDTH] = { (int64_t)number };
        if (!cut_overview_is_counted(table, at) || (start <= window->to_ns && end >= window->from_ns))
            continue;
        for (size_t t = 0; t < number; t++) /* rows that several tables share are the first one's */
            if (key[0] == (int64_t)number && strcmp(counted_tables[t].as, table->as) == 0)
                key[0] = (int64_t)t;
        for (int k = 0; k < TABLE_KEYS; k++)
            key[k + 1] = cut_overview_value_or(at, FIRST_KEY + k, NO_NUMBER);
        struct cut_overview_stretch *row = cut_overview_row_of(counting, key);
        if (!row)
            return error_no_memory(err);
        cut_overview_count_event(counting, row, start, end > start ? end : start,
                                 cut_overview_value_or(at, NAME, cut_overview_value_or(at, NAME_INSTEAD, 0)));
    }
    return code;
}

static int cut_overview_count_table(struct cut_overview_counting *counting, size_t number, struct error *err)
{
    const struct cut_overview *overview = counting->overview;
    const struct counted_table *counted = &counted_tables[number];
    const struct report_table *table = report_table(overview->report, counted->table);
    const char *const names[ALL_COLUMNS] = { counted->name,
                                             counted->name_instead,
                                             counted->kind,
                                             counted->keys[0],
                                             counted->keys[1],
                                             counted->keys[2],
                                             counted->keys[3],
                                             "start",
                                             "end" };
    int columns[ALL_COLUMNS];
    struct export_rows *rows;
    int code;

    if (!table || !table->rows || !export_wants_table(overview->part, counted->table))
        return 0;
    for (size_t c = 0; c < ALL_COLUMNS; c++)
        columns[c] = names[c] ? report_column(table, names[c]) : -1;
    if ((code = export_rows_open(overview->report, table, columns, ALL_COLUMNS, overview->part, 0, &rows, err)) != 0)
        return code;
    code = cut_overview_count_rows(counting, number, rows, err);
    export_rows_close(rows);
    return code;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static size_t rows_needed(const struct cut_overview_counting *counting, int together)
{
    size_t needed = 0;

    for (size_t row = 0; row < counting->rows.count; row++)
        for (int i = 0; i < STRETCHES; i += together) {
            int64_t count = 0;
            for (int j = i; j < i + together; j++)
                count += counting->stretches[row][j].busy_ns;
            needed += count != 0;
        }
    return needed;
}

/* Joins several stretches to one, which is busy for at most its length. */
static struct cut_overview_stretch cut_overview_join(const struct cut_overview_stretch *stretches, int together,
                                                     int64_t length_ns)
{
    struct cut_overview_stretch all = { 0 };

    for (int i = 0; i < together; i++) {
        const struct cut_overview_stretch *one = &stretches[i];
        if (one->busy_ns == 0)
            continue;
        if (all.busy_ns == 0)
            all.first_ns = one->first_ns;
        if (one->longest_ns >= all.longest_ns) {
            all.longest_ns = one->longest_ns;
            all.name = one->name;
        }
        all.count += one->count;
        all.busy_ns = saturating_add(all.busy_ns, one->busy_ns);
    }
    all.busy_ns = all.busy_ns < length_ns ? all.busy_ns : length_ns;
    return all;
}

static void write_stretch(const struct cut_overview_counting *counting, const int64_t key[KEY_WIDTH],
                          const struct cut_overview_stretch *stretch, int64_t limit_ns, int64_t length_ns)
{
    struct writer *writer = counting->overview->writer;
    const struct counted_table *table = &counted_tables[key[0]];
    struct row_TACHO_OVERVIEW row = { 0 };
    int64_t end = saturating_add(stretch->first_ns, stretch->busy_ns);
    size_t length;

    end = end < limit_ns ? end : limit_ns;
    ROW_SET(&row, TACHO_OVERVIEW, start, stretch->first_ns);
    ROW_SET(&row, TACHO_OVERVIEW, end, end > stretch->first_ns ? end : stretch->first_ns);
    ROW_SET(&row, TACHO_OVERVIEW, tableName, writer_string(writer, table->as, strlen(table->as)));
    ROW_SET(&row, TACHO_OVERVIEW, stretchNs, length_ns);
    ROW_SET(&row, TACHO_OVERVIEW, busyNs, stretch->busy_ns);
    ROW_SET(&row, TACHO_OVERVIEW, count, stretch->count);
    if (strcmp(table->keys[0], "globalPid") == 0) {
        SET_KEY(&row, globalPid, key[1]);
        SET_KEY(&row, deviceId, key[2]);
        SET_KEY(&row, contextId, key[3]);
        SET_KEY(&row, streamId, key[4]);
    } else {
        SET_KEY(&row, globalTid, key[1]);
        SET_KEY(&row, domainId, key[2]); /* NVTX_EVENTS alone has one */
    }
    if (stretch->name > 0) {
        const char *name = report_string(counting->overview->report, stretch->name, &length);
        ROW_SET(&row, TACHO_OVERVIEW, nameId, writer_string(writer, name, length));
    }
    writer_append(writer, TABLE_TACHO_OVERVIEW, &row);
}

static void cut_overview_write_rows(const struct cut_overview_counting *counting, int together)
{
    const struct report_span *window = &counting->overview->window;
    int64_t length = saturating_from_double(counting->stretch_ns * together);

    for (uint32_t row = 0; row < counting->rows.count; row++)
        for (int i = 0; i < STRETCHES; i += together) {
            struct cut_overview_stretch all = cut_overview_join(counting->stretches[row] + i, together, length);
            int64_t limit = cut_overview_begin_of(counting, i + together);
            if (all.first_ns < window->from_ns && limit > window->from_ns)
                limit = window->from_ns;
            if (all.busy_ns)
                write_stretch(counting, keys_get(&counting->rows, row), &all, limit, length);
        }
}

int cut_overview_write(const struct cut_overview *overview, struct error *err)
{
    struct cut_overview_counting counting = { .overview = overview, .rows.width = KEY_WIDTH };
    int code = 0, together = 1;

    counting.stretch_ns = ((double)overview->all->to_ns - (double)overview->all->from_ns + 1) / STRETCHES;
    for (size_t i = 0; i < TABLES; i++)
        if ((code = cut_overview_count_table(&counting, i, err)) != 0)
            goto done;
    while (together < STRETCHES && rows_needed(&counting, together) > overview->most_rows)
        together *= 2;
    if (rows_needed(&counting, together) <= overview->most_rows)
        cut_overview_write_rows(&counting, together);
done:
    keys_free(&counting.rows);
    free(counting.stretches);
    return code;
}
