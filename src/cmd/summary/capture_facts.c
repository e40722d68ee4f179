/* Reads the small tables about a capture. A table that is not there leaves its facts unknown. */
#include "capture_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/recorder.h"
#include "analyze/reports/run_sum.h"
#include "base/array.h"
#include "base/path.h"
#include "report/reader/unite.h"

static int capture_facts_read_settings(struct capture_facts *facts, struct report *report, struct error *err)
{
    enum { NAME, VALUE };
    static const char *const names[] = { "name", "value", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "META_DATA_CAPTURE", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const char *name = row_string(&rows, report, NAME);
        if (strcmp(name, "PROGRAM") == 0)
            facts->program = row_string(&rows, report, VALUE);
        else if (strcmp(name, "SOURCES_REQUESTED") == 0)
            facts->requested = row_string(&rows, report, VALUE);
    }
    row_cursor_close(&rows);
    return 0;
}

static int read_capture(struct capture_facts *facts, struct report *report, struct error *err)
{
    enum { OVER, KILL, COST, START_COST, OWN, CUT, THROTTLED };
    static const char *const names[] = { "over",     "killSignal", "costNs",    "startCostNs",
                                         "ownCpuNs", "cutStacks",  "throttled", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_CAPTURE", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        facts->is_over = 1;
        facts->over = row_string(&rows, report, OVER);
        facts->kill_signal = row_int_or(&rows, KILL, facts->kill_signal);
        facts->cost_ns = saturating_add(facts->cost_ns, row_int_or(&rows, COST, 0)); /* over all reports of a set */
        facts->start_cost_ns = saturating_add(facts->start_cost_ns, row_int_or(&rows, START_COST, 0));
        facts->own_cpu_ns = saturating_add(facts->own_cpu_ns, row_int_or(&rows, OWN, 0));
        facts->cut_stacks = saturating_add(facts->cut_stacks, row_int_or(&rows, CUT, 0));
        facts->throttled = saturating_add(facts->throttled, row_int_or(&rows, THROTTLED, 0));
    }
    row_cursor_close(&rows);
    return 0;
}

/* The tree of processes: the last row about a process and program counts. */
struct process_rows {
    struct capture_facts *facts;
    struct report *report;
    struct row_cursor cursor;
    struct keys images, pids, programs; /* globalPid and image; globalPid; exe */
};
enum { PID, IMAGE, EXE, ENDING, STATUS, SIGNAL, RANK };

static void capture_facts_take_ending(struct capture_facts *facts, const struct process_rows *rows)
{
    const struct row_cursor *row = &rows->cursor;

    facts->ending = row_string(row, rows->report, ENDING);
    facts->exit_status = row_int_or(row, STATUS, 0);
    facts->signal = row_int_or(row, SIGNAL, 0);
    facts->rank = report_part_count(rows->report) > 1 ? row_int_or(row, RANK, -1) : -1;
}

/* An unfinished report does not say how its processes ended. */
static int find_cut_ranks(struct capture_facts *facts, struct report *set)
{
    size_t parts = report_part_count(set), room = 0;

    for (size_t i = 0; parts > 1 && i < parts; i++) {
        const struct report_part *about = report_part_at(set, i);
        size_t count = about->rank_count ? about->rank_count : about->rank >= 0;
        if (report_health(report_part_report(set, i)).complete)
            continue;
        if (array_reserve(&facts->cut_ranks, &room, facts->cut_count + count, sizeof *facts->cut_ranks) != 0)
            return ERR_NO_MEMORY;
        for (size_t r = 0; r < count; r++)
            facts->cut_ranks[facts->cut_count++] = about->rank_count ? about->ranks[r].rank : about->rank;
    }
    if (facts->cut_count)
        qsort(facts->cut_ranks, facts->cut_count, sizeof *facts->cut_ranks, array_by_int64);
    size_t all = facts->cut_count; /* a rank may have several processes */
    facts->cut_count = 0;
    for (size_t i = 0; i < all; i++)
        if (!i || facts->cut_ranks[i] != facts->cut_ranks[facts->cut_count - 1])
            facts->cut_ranks[facts->cut_count++] = facts->cut_ranks[i];
    return 0;
}

/* A process that ran when the capture ended is one in its last row. */
static void take_left(struct capture_facts *facts, const struct process_rows *rows)
{
    const struct row_cursor *row = &rows->cursor;

    int64_t rank = row_int_or(row, RANK, -1);

    if (strcmp(row_string(row, rows->report, ENDING), "running") != 0 ||
        (facts->cut_count && bsearch(&rank, facts->cut_ranks, facts->cut_count, sizeof rank, array_by_int64)))
        return;
    if (facts->left_count < CAPTURE_LEFT_MAX)
        facts->left[facts->left_count] = (struct capture_left){
            .pid = (int)global_pid_number(row_int_or(row, PID, 0)),
            .name = path_base_name(row_string(row, rows->report, EXE)),
        };
    facts->left_count++;
}

/* The row that speaks last of each process and program. Returns ERR_NO_MEMORY or 0. */
static int note_keys(struct process_rows *rows, int64_t *last)
{
    const struct row_cursor *row = &rows->cursor;
    const int64_t key[] = { row_int_or(row, PID, 0), row_int_or(row, IMAGE, 0) };
    uint32_t number = keys_add(&rows->images, key);

    if (number == NO_KEY || keys_add(&rows->pids, key) == NO_KEY)
        return ERR_NO_MEMORY;
    if (!row_is_null(row, EXE) && keys_add(&rows->programs, (int64_t[]){ row_int(row, EXE) }) == NO_KEY)
        return ERR_NO_MEMORY;
    last[number] = (int64_t)row->row;
    return 0;
}

static int take_processes(struct process_rows *rows)
{
    size_t count = rows->cursor.columns.rows;
    int64_t *last = calloc(count + 1, sizeof *last);
    int code = ERR_NO_MEMORY;

    if (!last)
        return code;
    while (row_cursor_next(&rows->cursor))
        if ((code = note_keys(rows, last)) != 0)
            goto free_last;
    for (uint32_t i = 0; i < rows->images.count; i++) {
        rows->cursor.row = (size_t)last[i];
        take_left(rows->facts, rows);
    }
    rows->facts->processes = rows->pids.count;
    rows->facts->programs = rows->programs.count;
    code = 0;
free_last:
    free(last);
    return code;
}

/* program_row: the last about the program. */
static int capture_facts_read_processes(struct capture_facts *facts, struct report *report, size_t program_row,
                                        struct error *err)
{
    static const char *const names[] = { "globalPid", "image", "exe", "ending", "exitStatus", "signal", "rank", NULL };
    struct process_rows rows = {
        .facts = facts, .report = report, .images.width = 2, .pids.width = 1, .programs.width = 1
    };
    int code = row_cursor_open(&rows.cursor, report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    if (find_cut_ranks(facts, report) != 0 || take_processes(&rows) != 0)
        code = error_short_memory(err, "for the processes");
    if (program_row < rows.cursor.columns.rows) {
        rows.cursor.row = program_row;
        capture_facts_take_ending(facts, &rows);
    }
    keys_free(&rows.images);
    keys_free(&rows.pids);
    keys_free(&rows.programs);
    row_cursor_close(&rows.cursor);
    return code;
}

/* Different values of one column. */
static int count_different(uint64_t *count, struct report *report, const char *table, const char *column,
                           struct error *err)
{
    const char *const names[] = { column, NULL };
    struct keys keys = { .width = 1 };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (keys_add(&keys, (int64_t[]){ row_int_or(&rows, 0, 0) }) == NO_KEY) {
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for %s", table);
            goto done;
        }
    *count = keys.count;
done:
    keys_free(&keys);
    row_cursor_close(&rows);
    return code;
}

/* A thread that calls exec begins anew in TACHO_THREAD, but remains one. Imports have nsys's tables alone. */
static int capture_facts_count_threads(struct capture_facts *facts, struct report *report, struct error *err)
{
    int code;

    if ((code = count_different(&facts->threads, report, "TACHO_THREAD", "globalTid", err)) != 0)
        return code;
    if (!facts->threads && (code = count_different(&facts->threads, report, "ThreadNames", "globalTid", err)) != 0)
        return code;
    return facts->processes ? 0 : count_different(&facts->processes, report, "PROCESSES", "globalPid", err);
}

static int read_sampling(struct capture_facts *facts, struct report *report, struct error *err)
{
    static const char *const names[] = { "method", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_SAMPLING", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        facts->sampling = row_string(&rows, report, 0);
    row_cursor_close(&rows);
    return 0;
}

enum { SEVERITY, TEXT };

/* A full disk may have taken the text. */
static int is_warning(const struct capture_facts *facts, size_t row)
{
    enum { SEVERITY_WARNING = 2 };

    return facts->is_ours && small_table_number(&facts->messages, row, SEVERITY, 0) >= SEVERITY_WARNING &&
           *small_table_text(&facts->messages, row, TEXT, NULL);
}

static int capture_facts_read_messages(struct capture_facts *facts, struct report *report, struct error *err)
{
    static const char *const names[] = { "severity", "text", NULL };
    int code = small_table_read(&facts->messages, report, "DIAGNOSTIC_EVENT", names, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < facts->messages.columns.rows; i++)
        facts->warning_count += (size_t)is_warning(facts, i);
    return 0;
}

const char *capture_warning(const struct capture_facts *facts, size_t index)
{
    for (size_t i = 0; i < facts->messages.columns.rows; i++)
        if (is_warning(facts, i) && index-- == 0)
            return small_table_text(&facts->messages, i, TEXT, NULL);
    return "";
}

int capture_is_requested(const struct capture_facts *facts, const char *source)
{
    size_t length = strlen(source);

    for (const char *at = facts->requested; *at;) {
        size_t name = strcspn(at, ",");
        if (name == length && memcmp(at, source, length) == 0)
            return 1;
        at += name + (at[name] == ',');
    }
    return 0;
}

int capture_facts_read(struct capture_facts *facts, struct report *report, struct error *err)
{
    struct report_health health = report_health(report);
    struct run_times times;
    int code = run_times_read(&times, report, err);

    if (code != 0)
        return code;
    *facts = (struct capture_facts){ .program = "",
                                     .requested = "",
                                     .ending = "",
                                     .rank = -1,
                                     .over = "",
                                     .sampling = "",
                                     .process_ns = times.process_ns >= 0 ? times.process_ns : times.capture_ns,
                                     .recorded_ns = times.recorded_ns,
                                     .is_part = times.is_part,
                                     .range_count = times.range_count,
                                     .cpu_ns = times.cpu_ns };
    if ((code = recorder_read(&facts->recorder, report, err)) != 0 ||
        (code = capture_facts_read_settings(facts, report, err)) != 0 ||
        (code = read_capture(facts, report, err)) != 0 ||
        (code = capture_facts_read_processes(facts, report, times.program_row, err)) != 0 ||
        (code = capture_facts_count_threads(facts, report, err)) != 0 ||
        (code = read_sampling(facts, report, err)) != 0 ||
        (code = report_sources_read(&facts->sources, report, err)) != 0)
        goto free_ranks;
    /* Imports are whole; an early kill leaves no version in the file. */
    facts->is_ours = !health.complete || (facts->recorder && strcmp(facts->recorder, RECORDER_TACHO) == 0);
    facts->is_over |= facts->is_ours && health.complete && !health.recovered;
    facts->has_output = facts->is_ours && report_rows(report, "ProcessStreams") > 0;
    code = capture_facts_read_messages(facts, report, err);
free_ranks:
    if (code != 0) {
        free(facts->cut_ranks);
        facts->cut_ranks = NULL;
    }
    return code;
}

void capture_facts_free(struct capture_facts *facts)
{
    small_table_free(&facts->messages);
    free(facts->cut_ranks);
}
