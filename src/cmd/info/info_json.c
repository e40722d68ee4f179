/* A report as one JSON object: the file and its losses, and the rows of the small tables. A row of `sections` is a
 * table of the report, its key, and the keys of its columns. */
#include "info_json.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/model/lowered_detail.h"
#include "analyze/model/recorder.h"
#include "analyze/model/stacks/missing_stacks.h"
#include "base/json_write.h"
#include "base/number.h"
#include "cmd/report_sources.h"
#include "cmd/small_table.h"
#include "info_health.h"
#include "info_set.h"
#include "report/reader/unite.h"

enum { COLUMNS_MAX = 20 };

/* ---- The file -------------------------------------------------------------------------------------------------- */

static void info_json_add_loss(struct text *out, const struct loss *loss)
{
    struct text sentence = { 0 };

    loss_add(&sentence, loss);
    json_addf(out, "\n    {'source': %s, 'lost': %ju, 'total': %ju, 'causes': {", loss->source, loss->lost,
              loss->total);
    for (size_t i = 0; i < loss->cause_count; i++)
        json_addf(out, i ? ", %s: %ju" : "%s: %ju", loss->causes[i].name, loss->causes[i].count);
    json_addf(out, "}, 'is_note': %i, 'sentence': %s}", loss->is_note, text_string(&sentence));
    text_free(&sentence);
}

static int add_missing_stacks(struct text *out, struct report *report, struct error *err)
{
    struct missing_stacks list[MISSING_STACKS_MAX];
    size_t count;
    int code = missing_stacks_read(list, &count, report, err);

    if (code != 0)
        return code;
    json_addf(out, "\n  'missing_stacks': [");
    for (size_t i = 0; i < count; i++)
        json_addf(out, "\n    {'table': %s, 'events': %ju, 'without_stack': %ju, 'at_end': %ju, 'at_end_ns': %jd}",
                  list[i].table, list[i].events, list[i].without, list[i].at_end, list[i].at_end_ns);
    text_add(out, "]");
    return 0;
}

static int info_json_add_lowered(struct text *out, struct report *report, struct error *err)
{
    struct lowered_detail detail;
    int code = lowered_detail_read(&detail, report, err);

    if (code != 0)
        return code;
    json_addf(out, "\n  'lowered': [");
    for (size_t i = 0; i < detail.count; i++) {
        struct text sentence = { 0 };
        lowered_detail_add(&sentence, &detail.list[i]);
        json_addf(out, "\n    {'source': %s, 'level': %jd, 'from_ns': %jd", detail.list[i].source, detail.list[i].level,
                  detail.list[i].from_ns);
        if (detail.list[i].to_ns != LOWERED_NO_END)
            json_addf(out, ", 'to_ns': %jd", detail.list[i].to_ns);
        json_addf(out, ", 'sentence': %s}", text_string(&sentence));
        text_free(&sentence);
    }
    text_add(out, "]");
    return 0;
}

static int add_health(struct text *out, struct report *report, const char *path, struct error *err)
{
    struct info_health health;
    struct text words = { 0 };
    int code = info_health_read(&health, report, path, err);

    if (code != 0)
        return code;
    info_add_health(&words, &health);
    text_cut(&words, words.length ? words.length - 1 : 0); /* without its line feed */
    text_add_char(out, '{');
    json_addf(out, "'file': %s,\n  'bytes': %ju,\n  'health': %s,\n  'health_text': %s", path, health.file_bytes,
              health.state, text_string(&words));
    json_addf(out, "\n  'recovered': %i,\n  'damaged_chunks': %ju,\n  'damaged_bytes': %ju,\n  'losses': [",
              health.file.recovered, health.file.damaged_chunks, health.file.damaged_bytes);
    for (size_t i = 0; i < health.counts.loss_count; i++)
        info_json_add_loss(out, &health.counts.losses[i]);
    text_add(out, "]");
    text_free(&words);
    if ((code = info_json_add_lowered(out, report, err)) != 0)
        return code;
    return add_missing_stacks(out, report, err);
}

/* ---- Sources and tables ---------------------------------------------------------------------------------------- */

static void info_json_add_source(struct text *out, const struct report_source *source)
{
    json_addf(out, "\n    {'name': %s, 'recorded': %ju", source->name, source->recorded);
    if (source->is_counted)
        json_addf(out, ", 'below_threshold': %ju, 'untimed': %ju, 'left_out': %ju, 'lost': %ju, 'empty_polls': %ju",
                  source->below_threshold, source->untimed, source->left_out, source->lost, source->empty_polls);
    if (source->table)
        json_addf(out, ", 'bytes': %ju", source->table->packed_bytes);
    if (source->table && source->table->first_ns <= source->table->last_ns)
        json_addf(out, ", 'first_ns': %jd, 'last_ns': %jd", source->table->first_ns, source->table->last_ns);
    text_add(out, "}");
}

static int add_sources(struct text *out, struct report *report, struct error *err)
{
    struct report_sources *sources = malloc(sizeof *sources);
    int code;

    if (!sources)
        return error_no_memory(err);
    if ((code = report_sources_read(sources, report, err)) != 0)
        goto free_sources;
    json_addf(out, "\n  'sources': [");
    for (size_t i = 0; i < sources->count; i++)
        info_json_add_source(out, &sources->list[i]);
    text_add(out, "]");
free_sources:
    free(sources);
    return code;
}

static void info_json_add_tables(struct text *out, struct report *report)
{
    json_addf(out, "\n  'tables': [");
    for (size_t i = 0; i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        if (table->rows)
            json_addf(out, "\n    {'name': %s, 'rows': %ju, 'bytes': %ju}", table->name, table->rows,
                      table->packed_bytes);
    }
    text_add(out, "]");
}

/* ---- Rows of small tables -------------------------------------------------------------------------------------- */

enum form { NUMBER, PID, WORDS };
struct info_json_section {
    const char *key, *table;
    struct {
        const char *name, *key;
        enum form form;
    } columns[COLUMNS_MAX]; /* the first `identity` of them are a row's key: its last row counts */
    size_t identity;
};

/* clang-format off */
static const struct info_json_section sections[] = {
    { "processes", "TACHO_PROCESS",
      { { "globalPid", "pid", PID }, { "image", "image", NUMBER }, { "parentGlobalPid", "parent_pid", PID },
        { "exe", "exe", WORDS }, { "command", "command", WORDS }, { "origin", "origin", WORDS },
        { "start", "start_ns", NUMBER }, { "end", "end_ns", NUMBER }, { "ending", "ending", WORDS },
        { "exitStatus", "exit_status", NUMBER }, { "signal", "signal", NUMBER }, { "cpuNs", "cpu_ns", NUMBER },
        { "host", "host", WORDS }, { "rank", "rank", NUMBER }, { "localRank", "local_rank", NUMBER },
        { "worldSize", "world_size", NUMBER }, { "unrecorded", "unrecorded", WORDS } }, 2 },
    { "process_names", "PROCESSES", { { "globalPid", "pid", PID }, { "name", "name", WORDS } }, 0 },
    { "ranges", "TACHO_RANGE",
      { { "start", "start_ns", NUMBER }, { "end", "end_ns", NUMBER }, { "cause", "cause", WORDS } }, 0 },
    { "messages", "DIAGNOSTIC_EVENT", { { "severity", "severity", NUMBER }, { "text", "text", WORDS } }, 0 },
    { "not_imported", "TACHO_IMPORT",
      { { "tableName", "table", WORDS }, { "columnName", "column", WORDS }, { "reason", "reason", WORDS },
        { "count", "count", NUMBER } }, 0 },
    { "sampling", "TACHO_SAMPLING",
      { { "method", "method", WORDS }, { "event", "event", WORDS }, { "frequency", "frequency", NUMBER },
        { "period", "period", NUMBER }, { "scope", "scope", WORDS }, { "backtrace", "backtrace", WORDS },
        { "kernelMode", "kernel_mode", NUMBER }, { "switches", "switches", WORDS },
        { "refusal", "refusal", WORDS } }, 0 },
    { "gpus", "TARGET_INFO_GPU",
      { { "id", "id", NUMBER }, { "name", "name", WORDS }, { "totalMemory", "memory_bytes", NUMBER },
        { "smCount", "multiprocessors", NUMBER }, { "computeMajor", "compute_major", NUMBER },
        { "computeMinor", "compute_minor", NUMBER }, { "busLocation", "bus", WORDS } }, 0 },
    { "contexts", "TARGET_INFO_CUDA_CONTEXT_INFO",
      { { "processId", "pid", NUMBER }, { "deviceId", "gpu", NUMBER }, { "contextId", "id", NUMBER } }, 0 },
    { "streams", "TARGET_INFO_CUDA_STREAM",
      { { "processId", "pid", NUMBER }, { "contextId", "context", NUMBER }, { "streamId", "id", NUMBER } }, 0 },
    { "cupti", "TACHO_CUPTI",
      { { "globalPid", "pid", PID }, { "version", "version", NUMBER }, { "path", "path", WORDS },
        { "calls", "calls", WORDS }, { "refusal", "refusal", WORDS } }, 0 },
    { "cuda_checks", "TACHO_CUDA_CHECK",
      { { "globalPid", "pid", PID }, { "finding", "finding", WORDS }, { "count", "count", NUMBER } }, 0 },
    { "pytorch", "TACHO_TORCH_METADATA", { { "name", "name", WORDS }, { "value", "value", WORDS } }, 0 },
};
/* clang-format on */

static void info_json_add_cell(struct text *out, const struct small_table *rows, size_t row, size_t column,
                               enum form form)
{
    size_t length;

    if (form == WORDS) {
        const char *words = small_table_text(rows, row, column, &length);
        json_add_text(out, words, length);
    } else {
        int64_t number = small_table_number(rows, row, column, 0);
        json_add_int(out, form == PID ? global_pid_number(number) : number);
    }
}

/* A column that is NULL is left out. */
static void info_json_add_row(struct text *out, const struct info_json_section *section, const struct small_table *rows,
                              size_t row)
{
    const char *before = "";

    json_addf(out, "\n    {");
    for (size_t c = 0; section->columns[c].name; c++) {
        if (small_table_is_null(rows, row, c))
            continue;
        text_add(out, before);
        json_addf(out, "%s: ", section->columns[c].key);
        info_json_add_cell(out, rows, row, c, section->columns[c].form);
        before = ", ";
    }
    text_add(out, "}");
}

/* Says for each row whether it is the last with its key; the caller frees the list; NULL: out of memory. */
static char *find_last_rows(const struct info_json_section *section, const struct small_table *rows)
{
    size_t count = rows->columns.rows;
    struct keys keys = { .width = 2 };
    char *is_last = calloc(count + 1, 1);
    size_t *last = calloc(count + 1, sizeof *last);

    for (size_t i = 0; is_last && last && i < count; i++) {
        const int64_t key[] = { section->identity ? small_table_number(rows, i, 0, 0) : (int64_t)i,
                                section->identity ? small_table_number(rows, i, 1, 0) : 0 };
        size_t known = keys.count;
        uint32_t number = keys_add(&keys, key);
        if (number == NO_KEY) {
            free(is_last);
            is_last = NULL;
            break;
        }
        if (number < known)
            is_last[last[number]] = 0;
        last[number] = i;
        is_last[i] = 1;
    }
    keys_free(&keys);
    free(last);
    return is_last;
}

static int info_json_add_section(struct text *out, struct report *report, const struct info_json_section *section,
                                 struct error *err)
{
    const char *names[COLUMNS_MAX + 1] = { 0 };
    struct small_table rows;
    int code;

    for (size_t c = 0; section->columns[c].name; c++)
        names[c] = section->columns[c].name;
    if ((code = small_table_read(&rows, report, section->table, names, err)) != 0)
        return code;
    char *is_last = find_last_rows(section, &rows);
    if (!is_last) {
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for %s", section->table);
        goto free_rows;
    }
    json_addf(out, "\n  %s: [", section->key);
    for (size_t i = 0; i < rows.columns.rows; i++)
        if (is_last[i])
            info_json_add_row(out, section, &rows, i);
    text_add(out, "]");
    free(is_last);
free_rows:
    small_table_free(&rows);
    return code;
}

/* The profiler that made the report; null where that is not known. */
static int add_recorder(struct text *out, struct report *report, struct error *err)
{
    const char *recorder;
    int code = recorder_read(&recorder, report, err);

    if (code != 0)
        return code;
    json_addf(out, "\n  'recorded_by': %s", recorder);
    return 0;
}

/* When the capture began, and how long it took; null where the report does not say. */
static int info_json_add_times(struct text *out, struct report *report, struct error *err)
{
    static const char *const start_names[] = { "utcTime", NULL }, *const detail_names[] = { "duration", NULL };
    struct small_table start, details;
    size_t length = 0;
    int code;

    if ((code = small_table_read(&start, report, "TARGET_INFO_SESSION_START_TIME", start_names, err)) != 0)
        return code;
    const char *utc = start.columns.rows ? small_table_text(&start, 0, 0, &length) : NULL;
    json_addf(out, utc ? "\n  'started_utc': %.*s" : "\n  'started_utc': null", (int)length, utc);
    small_table_free(&start);
    if ((code = small_table_read(&details, report, "ANALYSIS_DETAILS", detail_names, err)) != 0)
        return code;
    json_addf(out, details.columns.rows ? "\n  'duration_ns': %jd" : "\n  'duration_ns': null",
              details.columns.rows ? small_table_number(&details, 0, 0, 0) : 0);
    small_table_free(&details);
    return 0;
}

/* Rows of name and value as one object. */
static int info_json_add_pairs(struct text *out, struct report *report, const char *key, const char *table,
                               struct error *err)
{
    static const char *const names[] = { "name", "value", NULL };
    struct small_table rows;
    size_t name_length, length;
    int code = small_table_read(&rows, report, table, names, err);

    if (code != 0)
        return code;
    json_addf(out, "\n  %s: {", key);
    for (size_t i = 0; i < rows.columns.rows; i++) {
        const char *name = small_table_text(&rows, i, 0, &name_length), *value = small_table_text(&rows, i, 1, &length);
        json_addf(out, "\n    %.*s: %.*s", (int)name_length, name, (int)length, value);
    }
    text_add(out, "}");
    small_table_free(&rows);
    return 0;
}

/* The common facts of a set's reports; the document of each has the rest. */
static int info_json_add_set(struct text *out, struct report *set, const char *path, struct error *err)
{
    struct text missing = { 0 };
    int64_t world_size;
    int code;

    if ((code = add_health(out, set, path, err)) != 0)
        return code;
    if ((code = info_add_missing(&missing, set, &world_size, err)) != 0)
        return code;
    if (missing.length)
        json_addf(out, "\n  'missing_ranks': %s", text_string(&missing));
    text_free(&missing);
    json_addf(out, "\n  'reports': ");
    for (size_t i = 0; i < report_part_count(set); i++) {
        const struct report_part *part = report_part_at(set, i);
        json_addf(out, i ? "\n    {'file': %s" : "[\n    {'file': %s", part->name);
        if (part->rank >= 0)
            json_addf(out, ", 'rank': %jd", part->rank);
        if (part->rank_count) {
            struct text ranks = { 0 };
            info_add_ranks(&ranks, part);
            json_addf(out, ", 'ranks': %s", text_string(&ranks));
            text_free(&ranks);
        }
        if (part->host)
            json_addf(out, ", 'host': %s", part->host);
        json_addf(out, ", 'health': %s, 'clock': %s, 'clock_offset_ns': %jd, 'clock_drift_ppm': ",
                  info_part_state(report_part_report(set, i)), part->clock, report_part_offset(part));
        number_add_shortest(out, report_part_drift(part));
        if (part->clock_error_ns >= 0)
            json_addf(out, ", 'clock_error_ns': %jd", part->clock_error_ns);
        text_add(out, "}");
    }
    text_add(out, "]");
    if ((code = add_sources(out, set, err)) != 0)
        return code;
    info_json_add_tables(out, set);
    text_add(out, "}");
    return 0;
}

int info_add_json(struct text *out, struct report *report, const char *path, struct error *err)
{
    int code;

    if (info_is_set(report, path))
        return info_json_add_set(out, report, path, err);
    if ((code = add_health(out, report, path, err)) != 0 || (code = add_recorder(out, report, err)) != 0 ||
        (code = info_json_add_pairs(out, report, "capture", "META_DATA_CAPTURE", err)) != 0 ||
        (code = info_json_add_pairs(out, report, "machine", "TARGET_INFO_SYSTEM_ENV", err)) != 0 ||
        (code = info_json_add_times(out, report, err)) != 0 || (code = add_sources(out, report, err)) != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        if ((code = info_json_add_section(out, report, &sections[i], err)) != 0)
            return code;
    info_json_add_tables(out, report);
    text_add(out, "}");
    return 0;
}
