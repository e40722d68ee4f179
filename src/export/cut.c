/* Copies rows from a report to a writer, table by table. Tables that this version does not know are left out, because
 * it cannot distinguish their strings from their numbers. */
#include "cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/event_counts.h"
#include "analyze/model/filter.h"
#include "analyze/model/recorded.h"
#include "base/array.h"
#include "cut_overview.h"
#include "cut_window.h"
#include "export_rows.h"
#include "report/schema/chain_tables.h"
#include "report/writer/writer.h"

#define LEVEL 9               /* zstd level for slow networks. Level 12 takes twice as long for 1 % less */
#define CACHED_STRINGS (1 << 26)
#define TRIES 8 /* tries to reach a size; two are usual */
/* Bytes of the target size per row of the overview. A row takes about ten, so the overview stays a small part. */
#define OVERVIEW_SHARE 80
#define AIM 0.95 /* share of the size to aim at: strings and tables kept whole do not shrink in proportion */

struct numbers {
    int64_t *values; /* owned; sorted once all are there */
    size_t count, capacity;
};

struct cut {
    struct report *report;
    struct writer *writer;
    const struct export_options *part; /* selects the rows */
    int64_t *strings;                  /* owned; the writer's id by ours; 0: not yet looked up */
    size_t string_room;
    struct numbers used[CHAIN_TABLES]; /* stacks of the rows that were kept */
    int is_to_size;                    /* the cut has a target size, and an overview of the rest */
    int failed;                        /* an allocation failed */
};

/* The copy of one table. */
struct passage {
    struct cut *cut;
    const struct report_table *from;
    enum table_id to;
    int columns[EXPORT_COLUMNS_MAX]; /* columns of `from`, in the order of `to`; -1: `from` lacks the column */
    size_t count;
    uint64_t strings;                /* a bit for each column that is an id of a string */
    struct chain_column {
        size_t column;
        enum chain_table chains;
    } used[CHAIN_USERS];        /* the columns that hold numbers of stacks */
    size_t used_count;
    const struct numbers *only; /* rows of stacks: only these; NULL: all */
    int event_type;             /* the column of NVTX_EVENTS, or -1 */
    int descriptions;           /* NVTX_EVENTS: copy only names (domains, categories, …), or only other rows */
};

/* ---- numbers of stacks ----------------------------------------------------------------------------------------- */

static void cut_add_number(struct cut *cut, struct numbers *numbers, int64_t value)
{
    if (numbers->count && numbers->values[numbers->count - 1] == value)
        return;
    if (array_reserve(&numbers->values, &numbers->capacity, numbers->count + 1, sizeof *numbers->values) != 0)
        cut->failed = 1;
    else
        numbers->values[numbers->count++] = value;
}

static int has_number(const struct numbers *numbers, int64_t value)
{
    return numbers->count && bsearch(&value, numbers->values, numbers->count, sizeof value, array_by_int64) != NULL;
}

static int cut_is_named(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

/* Whether rows are chosen by time or by a filter. A cut to a size has an overview of the rest: its counts cover all. */
static int cut_is_part(const struct cut *cut)
{
    return (cut->part->range_count || cut->part->filter) && !cut->is_to_size;
}

/* Whether rows are chosen by time, or by steps, which are spans of time. */
static int cut_is_part_of_time(const struct cut *cut)
{
    const struct filter *filter = cut->part->filter;

    return cut_is_part(cut) && (cut->part->range_count || (filter && (filter->span || filter->only.only & ONLY_STEPS)));
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static int64_t new_string(struct cut *cut, int64_t id)
{
    size_t length;

    if (id <= 0)
        return 0;
    int is_cached = id < CACHED_STRINGS &&
                    array_reserve_zeroed(&cut->strings, &cut->string_room, (size_t)id + 1, sizeof *cut->strings) == 0;
    int64_t *cached = is_cached ? &cut->strings[id] : NULL;
    if (cached && *cached)
        return *cached;
    const char *bytes = report_string(cut->report, id, &length);
    int64_t made = writer_string(cut->writer, bytes, length);
    if (cached)
        *cached = made;
    return made;
}

/* Domains, categories and names given to things are rows of NVTX_EVENTS too. */
static int is_description(int64_t event_type)
{
    return !nvtx_is_range(event_type) && !(event_type >= EVENT_NVTX_MARK && event_type <= EVENT_NVTX_END_RANGE) &&
           !(event_type >= EVENT_NVTXT_MARK && event_type <= EVENT_NVTXT_END_RANGE);
}

static const char *text_at(const struct passage *passage, const struct export_window *window, size_t column)
{
    return report_string(passage->cut->report, window->values[column][window->at], NULL);
}

/* In a part of a capture, the rows of its tables give the number of events, not the counts of the whole. Counts of
 * losses stay, since the losses may be in this part; so do counts of stacks, which have many rows each. */
static int is_count_of_whole(const struct passage *passage, const struct export_window *window)
{
    static const char *const fates[] = { "recorded", "below-threshold", "untimed" };

    if (passage->to == TABLE_TACHO_SHORT_CALL)
        return cut_is_part(passage->cut);
    return passage->to == TABLE_TACHO_COUNT && cut_is_part(passage->cut) &&
           cut_is_named(text_at(passage, window, TACHO_COUNT_fate), fates, COUNT_OF(fates)) &&
           strcmp(text_at(passage, window, TACHO_COUNT_source), COUNTED_STACKS) != 0;
}

static int wants_row(const struct passage *passage, const struct export_window *window)
{
    if (is_count_of_whole(passage, window))
        return 0;
    /* `id` comes first in all of them */
    if (passage->only && !has_number(passage->only, window->values[0][window->at]))
        return 0;
    return passage->event_type < 0 ||
           is_description(window->values[passage->event_type][window->at]) == passage->descriptions;
}

static int cut_is_inside(const struct report_span *span, int64_t start_ns, int64_t end_ns)
{
    return span->from_ns <= start_ns && end_ns <= span->to_ns;
}

/* A recorded step whose events the part lacks would count as a step without events and distort savings, which are means
 * over steps. So it is marked as settling. Steps that were only timed have no events and stay. */
static void settle_step(struct cut *cut, uint64_t *row)
{
    const struct export_options *part = cut->part;
    int64_t start_ns = (int64_t)row[TACHO_STEP_TIME_start + 1], end_ns = (int64_t)row[TACHO_STEP_TIME_end + 1];
    const struct report_span *span = part->filter ? part->filter->span : NULL;
    int is_whole = !part->range_count;

    for (size_t i = 0; i < part->range_count; i++)
        is_whole |= cut_is_inside(&part->ranges[i], start_ns, end_ns);
    if (is_whole && (!span || cut_is_inside(span, start_ns, end_ns)))
        return;
    if ((int64_t)row[TACHO_STEP_TIME_phase + 1] != writer_string(cut->writer, "timed", 5))
        row[TACHO_STEP_TIME_phase + 1] = (uint64_t)writer_string(cut->writer, "settling", 8);
}

static void cut_copy_row(struct passage *passage, const struct export_window *window)
{
    uint64_t row[EXPORT_COLUMNS_MAX + 1]; /* as struct row_<TABLE> is */
    uint64_t all = passage->count == 64 ? UINT64_MAX : (UINT64_C(1) << passage->count) - 1;

    row[0] = all & ~window->null_masks[window->at];
    for (size_t c = 0; c < passage->count; c++) {
        int64_t value = window->values[c][window->at];
        if (!(row[0] >> c & 1))
            row[c + 1] = 0;
        else
            row[c + 1] = (uint64_t)(passage->strings >> c & 1 ? new_string(passage->cut, value) : value);
    }
    for (const struct chain_column *used = passage->used; used < passage->used + passage->used_count; used++)
        if (row[0] >> used->column & 1)
            cut_add_number(passage->cut, &passage->cut->used[used->chains], (int64_t)row[used->column + 1]);
    if (passage->to == TABLE_TACHO_STEP_TIME)
        settle_step(passage->cut, row);
    writer_append(passage->cut->writer, passage->to, row);
}

static int copy_rows(struct passage *passage, const struct export_options *part, struct error *err)
{
    struct export_rows *rows;
    int code;

    if ((code = export_rows_open(passage->cut->report, passage->from, passage->columns, passage->count, part, 0, &rows,
                                 err)) != 0)
        return code;
    while ((code = export_rows_next(rows, err)) == 1) {
        const struct export_window *window = export_window(rows);
        if (wants_row(passage, window))
            cut_copy_row(passage, window);
    }
    export_rows_close(rows);
    if (code != 0)
        return code;
    return passage->cut->failed ? error_no_memory(err) : 0;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static size_t column_of(const struct schema_table *table, const char *name)
{
    size_t c = 0;

    while (c < table->column_count && strcmp(table->columns[c].name, name) != 0)
        c++;
    return c;
}

static void begin_passage(struct passage *passage, struct cut *cut, const struct report_table *table, enum table_id to)
{
    const struct schema_table *schema = &schema_tables[to];

    *passage = (struct passage){ .cut = cut, .from = table, .to = to, .count = schema->column_count, .event_type = -1 };
    for (size_t c = 0; c < schema->column_count; c++) {
        int column = report_column(table, schema->columns[c].name);
        int is_string = schema->columns[c].type == COLUMN_TEXT || schema->columns[c].type == COLUMN_STRING;
        if (column >= 0) { /* a column whose type has changed since would not mean the same */
            enum column_type type = table->columns[column].type;
            column = is_string == (type == COLUMN_TEXT || type == COLUMN_STRING) ? column : -1;
        }
        passage->columns[c] = column;
        passage->strings |= (uint64_t)is_string << c;
    }
    for (const struct chain_user *user = chain_users; user < chain_users + CHAIN_USERS; user++)
        if (strcmp(user->table, table->name) == 0)
            passage->used[passage->used_count++] = (struct chain_column){ column_of(schema, user->column),
                                                                          user->chains };
}

/* Stacks are copied second: by then the rows that refer to them are known. An earlier cut may have kept rows in detail
 * that this one drops, so its TACHO_DETAIL is not copied. */
static int copy_table(struct cut *cut, const struct report_table *table, int of_stacks, struct error *err)
{
    static const struct export_options everything = { .lazy = 1 };
    int to = schema_find(table->name), chain = chain_table_find(table->name),
        is_cut = cut->part->range_count || cut->part->filter;
    struct passage passage;
    int code;

    if (to < 0 || (to == TABLE_TACHO_DETAIL && cut->is_to_size) || to == TABLE_StringIds || table->rows == 0 ||
        (chain >= 0) != of_stacks || !export_wants_table(cut->part, table->name))
        return 0;
    if (to == TABLE_TACHO_RANGE && cut_is_part_of_time(cut)) /* cut_write_recorded() writes them */
        return 0;
    begin_passage(&passage, cut, table, (enum table_id)to);
    if (chain >= 0 && is_cut) {
        struct numbers *numbers = &cut->used[chain];
        if (numbers->count)
            qsort(numbers->values, numbers->count, sizeof *numbers->values, array_by_int64);
        passage.only = numbers;
    }
    int whole = schema_is_kept_whole(table->name);
    if (to != TABLE_NVTX_EVENTS || !is_cut)
        return copy_rows(&passage, whole ? &everything : cut->part, err);
    passage.event_type = NVTX_EVENTS_eventType;
    passage.descriptions = 1;
    if ((code = copy_rows(&passage, &everything, err)) != 0)
        return code;
    passage.descriptions = 0;
    return copy_rows(&passage, cut->part, err);
}

static int copy_tables(struct cut *cut, struct error *err)
{
    int code;

    for (int of_stacks = 0; of_stacks < 2; of_stacks++)
        for (size_t i = 0; i < report_table_count(cut->report); i++)
            if ((code = copy_table(cut, report_table_at(cut->report, i), of_stacks, err)) != 0)
                return code;
    return 0;
}

/* ---- recorded time --------------------------------------------------------------------------------------------- */

/* A part has less recorded time than the whole, so that its shares are of the part. */
static void add_recorded(struct cut *cut, const struct recorded *recorded, struct report_span part)
{
    const struct report_span *span = cut->part->filter ? cut->part->filter->span : NULL;
    struct report_span all = report_times(cut->report);
    const struct report_span *spans = recorded->count ? recorded->spans : &all;

    if (span) {
        part.from_ns = part.from_ns > span->from_ns ? part.from_ns : span->from_ns;
        part.to_ns = part.to_ns < span->to_ns ? part.to_ns : span->to_ns;
    }
    for (size_t i = 0; i < (recorded->count ? recorded->count : 1); i++) {
        int64_t from = part.from_ns > spans[i].from_ns ? part.from_ns : spans[i].from_ns;
        int64_t to = part.to_ns < spans[i].to_ns ? part.to_ns : spans[i].to_ns;
        struct row_TACHO_RANGE row = { 0 };
        if (from >= to)
            continue;
        ROW_SET(&row, TACHO_RANGE, start, from);
        ROW_SET(&row, TACHO_RANGE, end, to);
        ROW_SET(&row, TACHO_RANGE, cause, writer_string(cut->writer, "cut", 3));
        writer_append(cut->writer, TABLE_TACHO_RANGE, &row);
    }
}

/* A part of some steps has their time: all of it in each process, because reports join spans that overlap. */
static void add_recorded_steps(struct cut *cut, const struct recorded *recorded, const struct report_span *part)
{
    const struct steps *steps = cut->part->filter->only.steps;

    for (size_t i = 0; i < steps->count; i++) {
        struct report_span step = { steps->list[i].start_ns, steps->list[i].end_ns };
        step.from_ns = step.from_ns > part->from_ns ? step.from_ns : part->from_ns;
        step.to_ns = step.to_ns < part->to_ns ? step.to_ns : part->to_ns;
        if (steps->list[i].is_chosen)
            add_recorded(cut, recorded, step);
    }
}

static int cut_write_recorded(struct cut *cut, struct error *err)
{
    static const struct report_span always = { INT64_MIN, INT64_MAX };
    const struct export_options *part = cut->part;
    struct recorded recorded;
    int code, has_steps = part->filter && (part->filter->only.only & ONLY_STEPS);

    if (!cut_is_part_of_time(cut) || !export_wants_table(part, "TACHO_RANGE"))
        return 0;
    if ((code = recorded_read(&recorded, cut->report, err)) != 0)
        return code;
    for (size_t i = 0; i < (part->range_count ? part->range_count : 1); i++) {
        const struct report_span *span = part->range_count ? &part->ranges[i] : &always;
        if (has_steps)
            add_recorded_steps(cut, &recorded, span);
        else
            add_recorded(cut, &recorded, *span);
    }
    recorded_free(&recorded);
    return 0;
}

static void write_detail(struct writer *writer, const struct export_options *part)
{
    for (size_t i = 0; i < part->range_count; i++) {
        struct row_TACHO_DETAIL row = { 0 };
        ROW_SET(&row, TACHO_DETAIL, start, part->ranges[i].from_ns);
        ROW_SET(&row, TACHO_DETAIL, end, part->ranges[i].to_ns);
        writer_append(writer, TABLE_TACHO_DETAIL, &row);
    }
}

static int cut_write_rows(struct cut *cut, struct cut_overview *overview, struct error *err)
{
    int code;

    if ((code = copy_tables(cut, err)) != 0 || (code = cut_write_recorded(cut, err)) != 0)
        return code;
    if (cut->part->more)
        cut->part->more(cut->writer, cut->part->more_context);
    if (!overview)
        return 0;
    overview->writer = cut->writer;
    write_detail(cut->writer, cut->part);
    return cut_overview_write(overview, err);
}

/* Writes one part, with an overview of the rest if there is one. Returns its size in *bytes. */
static int cut_write_part(struct report *report, const char *path, const struct export_options *part,
                          struct cut_overview *overview, uint64_t *bytes, struct error *err)
{
    struct cut cut = { .report = report, .part = part, .is_to_size = overview != NULL };
    const struct writer_options options = { .overwrite = 1, .level = LEVEL };
    struct stat status;
    int code;

    if ((code = writer_open(path, &options, &cut.writer, err)) != 0)
        return code;
    code = cut_write_rows(&cut, overview, err);
    for (size_t i = 0; i < CHAIN_TABLES; i++)
        free(cut.used[i].values);
    free(cut.strings);
    if ((code = writer_close_after(cut.writer, code, err)) != 0)
        return code;
    if (stat(path, &status) != 0)
        return error_set_errno(err, "cannot read '%s' back", path);
    *bytes = (uint64_t)status.st_size;
    return 0;
}

/* ---- to a size ------------------------------------------------------------------------------------------------- */

/* The requested ranges, clipped to the window. The caller frees them. */
static struct report_span *cut_narrow(const struct export_options *options, struct report_span window, size_t *count)
{
    struct report_span *ranges = malloc((options->range_count + 1) * sizeof *ranges);

    *count = 0;
    if (ranges && options->range_count == 0)
        ranges[(*count)++] = window;
    for (size_t i = 0; ranges && i < options->range_count; i++) {
        struct report_span range = options->ranges[i];
        range.from_ns = range.from_ns > window.from_ns ? range.from_ns : window.from_ns;
        range.to_ns = range.to_ns < window.to_ns ? range.to_ns : window.to_ns;
        if (range.from_ns <= range.to_ns)
            ranges[(*count)++] = range;
    }
    return ranges;
}

static int write_window(const char *path, struct cut_overview *overview, uint64_t *bytes, struct error *err)
{
    struct export_options part = *overview->part;
    static const struct report_span nothing = { INT64_MAX, INT64_MIN };

    part.ranges = cut_narrow(overview->part, overview->window, &part.range_count);
    if (!part.ranges)
        return error_no_memory(err);
    if (part.range_count == 0)
        part.ranges[part.range_count++] = nothing;
    int code = cut_write_part(overview->report, path, &part, overview, bytes, err);
    free(part.ranges);
    return code;
}

static void say_what_is_left(const struct export_options *options, const struct cut_density *density,
                             struct report_span window, double share)
{
    if (options->note)
        text_addf(options->note,
                  "exported %.6f s to %.6f s of %.6f s to %.6f s, %.1f %% of the events%s, to keep the size limit; "
                  "choose another part with --filter-time or --steps",
                  (double)window.from_ns / 1e9, (double)window.to_ns / 1e9, (double)density->from_ns / 1e9,
                  (double)density->to_ns / 1e9, share * 100, density->where);
}

/* Tries smaller windows until one fits: the next guess scales the last one by its size, further each time, because the
 * data that every part has (names, processes) does not shrink with the window. */
static int cut_to(struct report *report, const char *path, const struct export_options *options, uint64_t most,
                  uint64_t bytes, struct error *err)
{
    struct cut_density density;
    struct cut_overview overview = {
        .report = report, .part = options, .all = &density, .most_rows = most / OVERVIEW_SHARE
    };
    double share = 1;
    int code;

    if ((code = cut_density(&density, report, options, err)) != 0)
        return code;
    for (int try = 0; try < TRIES; try++) {
        share *= pow(AIM * (double)most / (double)bytes, try + 1);
        overview.window = cut_window(&density, share);
        if ((code = write_window(path, &overview, &bytes, err)) != 0)
            return code;
        if (bytes <= most) {
            say_what_is_left(options, &density, overview.window, share);
            return 0;
        }
    }
    return error_set(err, ERR_NO_SPACE,
                     "cannot reach that size: the smallest part takes %llu bytes, and the limit leaves %llu",
                     (unsigned long long)bytes, (unsigned long long)most);
}

int cut_report(struct report *report, const char *path, const struct export_options *options, struct cut_size size,
               struct error *err)
{
    uint64_t bytes,
        most = options->max_bytes > size.taken ? (options->max_bytes - size.taken) / size.scale_percent * 100 : 0;
    int code;

    if (options->shift_ns || options->normalize)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--ts-shift and --ts-normalize have no meaning for --type tacho: a report contains its "
                         "clocks");
    if (options->max_bytes && most == 0)
        return error_set(err, ERR_NO_SPACE,
                         "cannot reach that size: the page alone takes %llu "
                         "bytes",
                         (unsigned long long)size.taken);
    int is_all = options->range_count == 0 && options->pattern_count == 0 && !options->filter;
    bytes = report_health(report).file_bytes;
    /* A whole report of twice the size cannot fit; the size of its file is enough for a first guess. */
    int is_too_large = is_all && options->max_bytes && bytes / 2 > most;
    if (!is_too_large && (code = cut_write_part(report, path, options, NULL, &bytes, err)) != 0)
        return code;
    return options->max_bytes && bytes > most ? cut_to(report, path, options, most, bytes, err) : 0;
}

/* ---- as an export ---------------------------------------------------------------------------------------------- */

static int cut_export_report(struct report *report, const char *path, const struct export_options *options,
                             struct error *err)
{
    return cut_report(report, path, options, (struct cut_size){ 0, 100 }, err);
}

const struct exporter export_tacho = {
    .name = "tacho",
    .help = "part of the report, as a report",
    .extension = "part.tacho",
    .limits = 1,
    .needs_file = 1,
    .export_report = cut_export_report,
};
