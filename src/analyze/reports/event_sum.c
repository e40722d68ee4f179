/* One parallel pass over each source, all into the same groups. */
#include "event_sum.h"

#include "analyze/engine/keys.h"
#include "analyze/engine/summary_partial.h"
#include "analyze/model/gpu.h"

enum column_role {
    START,
    END,
    THREAD,
    CORRELATION,
    DEVICE,
    STREAM,
    NAME,
    NAME_OR,
    NUMBER_OR,
    CLASS,
    VALUE,
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    ROLES
};

struct event_scan {
    const struct event_source *source;
    struct groups *groups;
    struct filter filter;
    const struct event_extra *extra;
    int columns[ROLES];   /* columns of the file that are read */
    int places[ROLES];    /* the position of each role in columns, or -1 */
    size_t column_count;
    int64_t last_ns;      /* the last moment of the table */
    _Atomic int has_open; /* a row counts up to it */
};

enum { KIND_BITS = 8 };

int event_kind(const struct group *group)
{
    return (int)(group->key.part[KEY_KIND] & ((1 << KIND_BITS) - 1));
}

uint32_t event_extra(const struct group *group)
{
    return (uint32_t)(group->key.part[KEY_KIND] >> KIND_BITS) - 1;
}

/* Grids reach 2^31 − 1 in x and 65535 in y and z; blocks are smaller. */
static inline int64_t pack_dimensions(int64_t x, int64_t y, int64_t z)
{
    return (x & 0x7fffffff) << 32 | (y & 0xffff) << 16 | (z & 0xffff);
}

void event_dimensions(int64_t packed, int64_t xyz[3])
{
    xyz[0] = packed >> 32;
    xyz[1] = packed >> 16 & 0xffff;
    xyz[2] = packed & 0xffff;
}

static inline int64_t event_sum_at(const struct report_block *block, const struct event_scan *scan,
                                   enum column_role role, size_t row)
{
    return scan->places[role] < 0 ? 0 : block->values[scan->places[role]][row];
}

static inline int event_sum_is_null(const struct report_block *block, const struct event_scan *scan,
                                    enum column_role role, size_t row)
{
    return block_is_null(block, (size_t)scan->places[role], row);
}

static int event_sum_counts(const struct report_block *block, const struct event_scan *scan, size_t row, int64_t start,
                            int64_t end)
{
    if (scan->places[CLASS] >= 0 && event_sum_at(block, scan, CLASS, row) != scan->source->class_value)
        return 0;
    if ((scan->source->named_only && event_sum_is_null(block, scan, NAME, row)) ||
        (scan->source->value && event_sum_is_null(block, scan, VALUE, row)))
        return 0;
    if (!scan->filter.only.only)
        return span_overlaps(scan->filter.span, start, end);
    if (!scan->source->process)
        return filter_thread(&scan->filter, event_sum_at(block, scan, THREAD, row), start, end);
    struct filter_gpu_work place = { start,
                                     end,
                                     event_sum_at(block, scan, THREAD, row),
                                     event_sum_is_null(block, scan, CORRELATION, row)
                                         ? NO_CORRELATION
                                         : event_sum_at(block, scan, CORRELATION, row),
                                     event_sum_at(block, scan, DEVICE, row),
                                     event_sum_at(block, scan, STREAM, row) };
    return filter_gpu(&scan->filter, &place);
}

static int64_t event_sum_kind_of(const struct event_scan *scan, uint64_t row)
{
    uint32_t extra = scan->extra && row < scan->extra->count ? scan->extra->numbers[row] : NO_KEY;

    return scan->source->kind | ((int64_t)(uint32_t)(extra + 1) << KIND_BITS);
}

/* Names the group of a row without a name. */
static void use_other_name(struct group_key *key, const struct report_block *block, const struct event_scan *scan,
                           size_t row)
{
    if (scan->places[NUMBER_OR] >= 0 && !event_sum_is_null(block, scan, NUMBER_OR, row)) {
        key->part[KEY_KIND] = scan->source->number_kind;
        key->part[KEY_NAME] = event_sum_at(block, scan, NUMBER_OR, row);
    } else {
        key->part[KEY_NAME] = scan->places[NAME_OR] < 0 ? -1 : event_sum_at(block, scan, NAME_OR, row);
    }
}

static int event_sum_visit(void *context, int worker, const struct report_block *block)
{
    struct event_scan *scan = context;
    const int64_t *starts = block->values[START], *ends = block->values[END];

    for (size_t row = 0; row < block->rows; row++) {
        if (scan->source->open_to_last && block_is_null(block, END, row))
            scan->has_open = 1;
        int64_t end = !block_is_null(block, END, row) ? ends[row]
                      : scan->source->open_to_last    ? scan->last_ns
                                                      : starts[row];
        if (!event_sum_counts(block, scan, row, starts[row], end))
            continue;
        struct group_key key = { { event_sum_kind_of(scan, block->first_row + row),
                                   event_sum_at(block, scan, NAME, row) } };
        if (scan->places[NAME] >= 0 && event_sum_is_null(block, scan, NAME, row))
            use_other_name(&key, block, scan, row);
        if (scan->source->by_dimensions) {
            key.part[KEY_GRID] = pack_dimensions(event_sum_at(block, scan, GRID_X, row),
                                                 event_sum_at(block, scan, GRID_Y, row),
                                                 event_sum_at(block, scan, GRID_Z, row));
            key.part[KEY_BLOCK] = pack_dimensions(event_sum_at(block, scan, BLOCK_X, row),
                                                  event_sum_at(block, scan, BLOCK_Y, row),
                                                  event_sum_at(block, scan, BLOCK_Z, row));
        }
        int64_t value = scan->source->value ? event_sum_at(block, scan, VALUE, row)
                                            : saturating_duration(starts[row], end);
        if (groups_add(scan->groups, worker, &key, value) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Chooses the columns that the source needs; no others are decoded. */
static void event_sum_choose_columns(struct event_scan *scan, const struct report_table *table)
{
    const struct event_source *source = scan->source;
    int filtered = scan->filter.only.only != 0, on_gpu = filtered && source->process;
    const char *names[ROLES] = {
        [START] = "start",
        [END] = "end",
        [NAME] = source->name,
        [NAME_OR] = source->name_or,
        [NUMBER_OR] = source->number_or,
        [CLASS] = source->class_column,
        [VALUE] = source->value,
        [THREAD] = !filtered         ? NULL
                   : source->process ? source->process
                                     : "globalTid",
        [CORRELATION] = on_gpu ? "correlationId" : NULL,
        [DEVICE] = on_gpu ? "deviceId" : NULL,
        [STREAM] = on_gpu ? "streamId" : NULL,
    };
    static const char *const dimensions[] = { "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ" };

    for (int i = 0; source->by_dimensions && i < 6; i++)
        names[GRID_X + i] = dimensions[i];
    scan->column_count = 0;
    for (int role = 0; role < ROLES; role++) {
        scan->places[role] = names[role] ? (int)scan->column_count : -1;
        if (names[role])
            scan->columns[scan->column_count++] = report_column(table, names[role]);
    }
}

static int scan_sources(struct report *report, const struct analysis_request *request,
                        const struct event_summary *summary, struct event_scan *scan, struct error *err)
{
    for (size_t i = 0; i < summary->source_count; i++) {
        const struct report_table *table = report_table(report, summary->sources[i].table);
        if (!table || !table->rows)
            continue;
        scan->source = &summary->sources[i];
        scan->extra = summary->extra && summary->extra->table == scan->source->table ? summary->extra : NULL;
        scan->last_ns = request->share ? report_table(request->share->whole, scan->source->table)->last_ns
                                       : table->last_ns;
        event_sum_choose_columns(scan, table);
        int code = report_scan(report, table, scan->columns, scan->column_count, request->span, event_sum_visit, scan,
                               err);
        if (code == ERR_NO_MEMORY)
            return error_short_memory(err, "to group the events");
        if (code != 0)
            return code;
    }
    return 0;
}

int event_summarize(struct report *report, const struct analysis_request *request, const struct event_summary *summary,
                    struct table **out, struct error *err)
{
    struct event_scan scan = { .groups = groups_new(report_workers(report)) };
    struct group *groups;
    size_t count;
    int code;

    if (!scan.groups)
        return error_short_memory(err, "to group the events");
    if ((code = filter_open(&scan.filter, report, request, err)) != 0)
        goto done;
    if ((code = scan_sources(report, request, summary, &scan, err)) != 0)
        goto done;
    if (scan.has_open)
        analysis_share_bind(request->share);
    if ((code = groups_finish(scan.groups, summary->map, summary->context, &groups, &count, err)) != 0)
        goto done;
    code = summary_deliver(request, summary->shape, groups, count, summary->context, out, err);
done:
    filter_close(&scan.filter);
    groups_delete(scan.groups);
    return code;
}

int event_sum(struct report *report, const struct analysis_request *request, const void *as, struct table **out,
              struct error *err)
{
    struct event_summary summary = *(const struct event_summary *)as;

    summary.context = report;
    return event_summarize(report, request, &summary, out, err);
}

void event_label_name(void *report, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    texts[0].bytes = report_string(report, group->key.part[KEY_NAME], &texts[0].length);
}
