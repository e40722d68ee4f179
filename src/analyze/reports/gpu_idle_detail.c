/* gpu_idle_sum:detail: gaps of GPUs by the activity of the thread that launched the work after the gap.
 *
 * The layers of thread activity are searched in order, the most specific first. Each layer explains the parts of a gap
 * that it covers and leaves the rest to the next one. Parts that no layer covers are unknown. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/calls.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "idle_layers.h"

/* A span of time to explain by the activity of one thread. */
struct idle_stretch {
    int64_t owner;       /* the GPU, or the thread itself */
    int64_t thread, start_ns, end_ns;
    int64_t launched_ns; /* when the launch had returned */
};

struct time_piece {
    int64_t start_ns, end_ns;
};
struct time_pieces {
    struct time_piece *list;
    size_t count, capacity;
};

enum { KEY_OWNER, KEY_CAUSE, KEY_WHAT, KEY_WHERE, KEY_PARTS };
/* The pieces of a cause in one gap. */
struct cause_in_gap {
    int64_t total_ns, longest_ns;
    int64_t thread, middle_ns; /* those of the longest piece */
};
struct idle_detail_cause_sum {
    int64_t total_ns, gaps;
    size_t last_gap;                   /* number of the last gap that counted, plus 1 */
    struct cause_in_gap last, longest; /* that gap, and the one with most time of this cause */
};

struct idle_summary {
    struct report *report;
    struct idle_layers layers;
    struct idle_stretch *stretches; /* owned, as all below */
    size_t stretch_count, stretch_room;
    struct keys keys;
    struct idle_detail_cause_sum *causes;
    size_t cause_room;
    struct time_pieces left, next;
    size_t gap; /* number of the stretch that is being explained */
    int of_threads;
};

static void idle_free(struct idle_summary *idle)
{
    idle_layers_free(&idle->layers);
    free(idle->stretches);
    keys_free(&idle->keys);
    free(idle->causes);
    free(idle->left.list);
    free(idle->next.list);
}

static int idle_detail_add_stretch(struct idle_summary *idle, const struct idle_stretch *stretch)
{
    return ARRAY_PUSH(idle->stretches, idle->stretch_room, idle->stretch_count, *stretch);
}

/* ---- from gap to causes ---------------------------------------------------------------------------------------- */

static int idle_detail_add_time(struct idle_summary *idle, const struct idle_stretch *stretch, enum idle_cause cause,
                                const struct thread_span *span, struct time_piece piece)
{
    int64_t length = saturating_duration(piece.start_ns, piece.end_ns),
            middle = saturating_add(piece.start_ns, length / 2);
    int64_t key[KEY_PARTS] = { stretch->owner, cause, span ? idle_what(&idle->layers, cause, span) : IDLE_NO_TEXT,
                               span ? idle_where(&idle->layers, cause, span, middle) : IDLE_NO_TEXT };
    size_t before = idle->keys.count;
    uint32_t number = keys_add(&idle->keys, key);

    if (number == NO_KEY || array_reserve(&idle->causes, &idle->cause_room, number + 1u, sizeof *idle->causes) != 0)
        return ERR_NO_MEMORY;
    struct idle_detail_cause_sum *sum = &idle->causes[number];
    if (number == before)
        *sum = (struct idle_detail_cause_sum){ 0 };
    if (sum->last_gap != idle->gap + 1) {
        sum->gaps++;
        sum->last_gap = idle->gap + 1;
        sum->last = (struct cause_in_gap){ .longest_ns = -1 };
    }
    sum->total_ns = saturating_add(sum->total_ns, length);
    sum->last.total_ns = saturating_add(sum->last.total_ns, length);
    if (length > sum->last.longest_ns) {
        sum->last.longest_ns = length;
        sum->last.thread = stretch->thread;
        sum->last.middle_ns = middle;
    }
    if (sum->gaps == 1 || sum->last.total_ns > sum->longest.total_ns)
        sum->longest = sum->last;
    return 0;
}

static int idle_detail_leave(struct time_pieces *pieces, int64_t start_ns, int64_t end_ns)
{
    if (start_ns >= end_ns)
        return 0;
    return ARRAY_PUSH(pieces->list, pieces->capacity, pieces->count, (struct time_piece){ start_ns, end_ns });
}

/* Attributes the parts of a piece that the spans from *at on cover, and leaves the rest. */
static int idle_detail_take_piece(struct idle_summary *idle, const struct idle_stretch *stretch, enum idle_cause cause,
                                  struct time_piece piece, size_t *at, size_t behind)
{
    const struct thread_span *spans = idle->layers.spans[cause].list;

    while (*at < behind && spans[*at].end_ns <= piece.start_ns)
        ++*at;
    while (*at < behind && spans[*at].start_ns < piece.end_ns) {
        const struct thread_span *span = &spans[*at];
        struct time_piece taken = { span->start_ns > piece.start_ns ? span->start_ns : piece.start_ns,
                                    span->end_ns < piece.end_ns ? span->end_ns : piece.end_ns };
        if (idle_detail_leave(&idle->next, piece.start_ns, taken.start_ns) != 0 ||
            idle_detail_add_time(idle, stretch, cause, span, taken) != 0)
            return ERR_NO_MEMORY;
        piece.start_ns = taken.end_ns;
        if (span->end_ns > taken.end_ns)
            break;
        ++*at;
    }
    return idle_detail_leave(&idle->next, piece.start_ns, piece.end_ns);
}

/* The same for all pieces that are left and the layer of the cause. */
static int take_layer(struct idle_summary *idle, const struct idle_stretch *stretch, enum idle_cause cause)
{
    size_t behind, at = thread_spans_from(&idle->layers.spans[cause], stretch->thread, stretch->start_ns, &behind);

    idle->next.count = 0;
    for (size_t i = 0; i < idle->left.count; i++)
        if (idle_detail_take_piece(idle, stretch, cause, idle->left.list[i], &at, behind) != 0)
            return ERR_NO_MEMORY;
    struct time_pieces swap = idle->left;
    idle->left = idle->next;
    idle->next = swap;
    return 0;
}

static int idle_detail_explain(struct idle_summary *idle, const struct idle_stretch *stretch)
{
    int64_t end = stretch->end_ns;

    if (stretch->launched_ns < end) {
        end = stretch->launched_ns > stretch->start_ns ? stretch->launched_ns : stretch->start_ns;
        if (idle_detail_add_time(idle, stretch, IDLE_LAUNCHED, NULL, (struct time_piece){ end, stretch->end_ns }) != 0)
            return ERR_NO_MEMORY;
    }
    idle->left.count = 0;
    if (idle_detail_leave(&idle->left, stretch->start_ns, end) != 0)
        return ERR_NO_MEMORY;
    for (int cause = IDLE_SYNC; cause < IDLE_UNKNOWN; cause++)
        if (take_layer(idle, stretch, (enum idle_cause)cause) != 0)
            return ERR_NO_MEMORY;
    for (size_t i = 0; i < idle->left.count; i++)
        if (idle_detail_add_time(idle, stretch, IDLE_UNKNOWN, NULL, idle->left.list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* ---- what is to be explained ----------------------------------------------------------------------------------- */

/* The rows of a table of GPU work, read when a gap first needs them. */
struct work_rows {
    const char *table;
    struct report_columns rows;
};
enum { WORK_TABLES = 4, WORK_PROCESS = 0, WORK_CORRELATION = 1 };

static int idle_detail_work_of(struct work_rows *works, struct report *report, const char *table,
                               const struct report_columns **out, struct error *err)
{
    static const char *const names[] = { "globalPid", "correlationId" };
    int i = 0, code;

    while (i < WORK_TABLES - 1 && works[i].table && strcmp(works[i].table, table) != 0)
        i++;
    if (!works[i].table && (code = columns_read(report, table, names, 2, &works[i].rows, err)) != 0)
        return code;
    works[i].table = table;
    *out = &works[i].rows;
    return 0;
}

/* Finds the thread that launched the work which ended the gap; the main thread of the process if no launch is known. */
static void find_launch(struct idle_stretch *stretch, const struct report_columns *rows, size_t row,
                        const struct calls *calls)
{
    int64_t process = row < rows->rows ? rows->values[WORK_PROCESS][row] : 0;
    uint32_t call = row >= rows->rows || columns_is_null(rows, WORK_CORRELATION, row)
                        ? NO_CALL
                        : calls_find(calls, process, rows->values[WORK_CORRELATION][row]);

    stretch->thread = call == NO_CALL ? global_process(process) | global_pid_number(process) : calls->thread[call];
    stretch->launched_ns = call == NO_CALL ? INT64_MAX : calls->end[call];
}

static int idle_detail_add_gap(struct idle_summary *idle, const struct gpu_busy_gap *gap, struct work_rows *works,
                               const struct calls *calls, struct error *err)
{
    const struct report_columns *rows;
    struct idle_stretch stretch = {
        .owner = gap->gpu,
        .start_ns = gap->start_ns,
        .end_ns = saturating_add(gap->start_ns, gap->length_ns),
    };
    int code = idle_detail_work_of(works, idle->report, gap->table, &rows, err);

    if (code != 0)
        return code;
    find_launch(&stretch, rows, gap->row, calls);
    return idle_detail_add_stretch(idle, &stretch) == 0 ? 0 : error_short_memory(err, "for the gaps");
}

static int idle_detail_add_gaps(struct idle_summary *idle, const struct analysis_request *request, int64_t least_ns,
                                struct error *err)
{
    struct gpu_busy busy = { 0 };
    struct calls calls = { 0 };
    struct work_rows works[WORK_TABLES] = { { 0 } };
    int code = gpu_busy_read_gaps(&busy, idle->report, request, least_ns, err);

    if (code != 0)
        goto done;
    if (!busy.device_count) {
        code = error_set(
            err, ERR_NO_DATA,
            "the report has no GPU work; to show what a thread did, name it: gpu_idle_sum:thread=<number or name>");
        goto done;
    }
    if (busy.gap_count && (code = calls_read(&calls, idle->report, err)) != 0)
        goto done;
    for (size_t i = 0; i < busy.gap_count; i++)
        if ((code = idle_detail_add_gap(idle, &busy.gaps[i], works, &calls, err)) != 0)
            goto done;
done:
    for (int i = 0; i < WORK_TABLES; i++)
        report_columns_free(&works[i].rows);
    calls_free(&calls);
    gpu_busy_free(&busy);
    return code;
}

static int idle_detail_is_wanted(const struct thread_names *names, struct report *report, const char *wanted,
                                 int64_t thread)
{
    const struct thread_name *name = thread_name_find(names, thread);
    char *end;
    long long number = strtoll(wanted, &end, 10);

    return (*wanted && !*end && number == global_tid_number(thread)) ||
           (name && strcmp(report_string(report, name->name, NULL), wanted) == 0);
}

/* The stretch of a thread, or NULL while there is none. */
static struct idle_stretch *find_stretch(const struct idle_summary *idle, int64_t thread)
{
    for (size_t i = 0; i < idle->stretch_count; i++)
        if (idle->stretches[i].thread == thread)
            return &idle->stretches[i];
    return NULL;
}

/* Extends the stretches of the wanted threads to all spans of a layer. */
static int idle_detail_add_layer(struct idle_summary *idle, const struct thread_spans *spans,
                                 const struct thread_names *names, const char *wanted)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct thread_span *at = &spans->list[i];
        struct idle_stretch *stretch = find_stretch(idle, at->thread);
        if (stretch) {
            stretch->start_ns = at->start_ns < stretch->start_ns ? at->start_ns : stretch->start_ns;
            stretch->end_ns = at->end_ns > stretch->end_ns ? at->end_ns : stretch->end_ns;
            continue;
        }
        /* the spans of a thread lie side by side: its name is compared once */
        if ((i && at->thread == spans->list[i - 1].thread) ||
            !idle_detail_is_wanted(names, idle->report, wanted, at->thread))
            continue;
        struct idle_stretch first = { at->thread, at->thread, at->start_ns, at->end_ns, INT64_MAX };
        if (idle_detail_add_stretch(idle, &first) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Adds each thread of this number or name, from the first moment that is known of it to the last. */
static int idle_detail_add_threads(struct idle_summary *idle, const char *wanted, const struct report_span *span,
                                   struct error *err)
{
    struct thread_names names = { 0 };
    int code = thread_names_read(&names, idle->report, err);

    if (code != 0)
        goto free_names;
    for (int cause = IDLE_SYNC; cause < IDLE_UNKNOWN; cause++)
        if (idle_detail_add_layer(idle, &idle->layers.spans[cause], &names, wanted) != 0 &&
            (code = error_short_memory(err, "for the threads")) != 0)
            goto free_names;
    if (!idle->stretch_count)
        code = error_set(err, ERR_NO_DATA, "the report has no thread '%s'", wanted);
    for (size_t i = 0; i < idle->stretch_count && span; i++) {
        struct idle_stretch *stretch = &idle->stretches[i];
        stretch->start_ns = stretch->start_ns < span->from_ns ? span->from_ns : stretch->start_ns;
        stretch->end_ns = stretch->end_ns > span->to_ns ? span->to_ns : stretch->end_ns;
    }
free_names:
    thread_names_free(&names);
    return code;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { CELL_SHARE, CELL_TOTAL, CELL_GAPS, CELL_MAX, CELL_OWNER, CELL_CAUSE, CELL_WHAT, CELL_WHERE, CELL_AROUND, CELLS };

static const char *const cause_names[IDLE_CAUSES] = {
    "launch latency", "CUDA synchronization", "CUDA call", "OS call", "off CPU", "Python",
    "Python",         "native code",          "range",     "unknown",
};

static int idle_detail_set_text(struct table *table, struct table_cell *cell, const struct idle_layers *layers,
                                int64_t text)
{
    if (text == IDLE_NO_TEXT)
        return cell_set_text(table, cell, "", 0);
    return cell_set_text(table, cell, layers->texts.strings[text].bytes, layers->texts.strings[text].length);
}

static int idle_detail_add_row(struct table *table, struct idle_summary *idle, uint32_t number, int64_t whole_ns)
{
    const int64_t *key = keys_get(&idle->keys, number);
    const struct idle_detail_cause_sum *cause = &idle->causes[number];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[CELL_SHARE], whole_ns > 0 ? 100.0 * (double)cause->total_ns / (double)whole_ns : 0);
    cell_set_int(&row[CELL_TOTAL], cause->total_ns);
    cell_set_int(&row[CELL_GAPS], cause->gaps);
    cell_set_int(&row[CELL_MAX], cause->longest.total_ns);
    cell_set_int(&row[CELL_OWNER], idle->of_threads ? global_tid_number(key[KEY_OWNER]) : key[KEY_OWNER]);
    if (cell_set_string(table, &row[CELL_CAUSE], cause_names[key[KEY_CAUSE]]) != 0 ||
        idle_detail_set_text(table, &row[CELL_WHAT], &idle->layers, key[KEY_WHAT]) != 0 ||
        idle_detail_set_text(table, &row[CELL_WHERE], &idle->layers, key[KEY_WHERE]) != 0)
        return ERR_NO_MEMORY;
    uint32_t range = idle_range(&idle->layers, cause->longest.thread, cause->longest.middle_ns);
    return idle_detail_set_text(table, &row[CELL_AROUND], &idle->layers, range);
}

static int idle_detail_fill(struct table *table, struct idle_summary *idle)
{
    int64_t whole = 0;

    for (idle->gap = 0; idle->gap < idle->stretch_count; idle->gap++) {
        const struct idle_stretch *stretch = &idle->stretches[idle->gap];
        whole = saturating_add(whole, saturating_duration(stretch->start_ns, stretch->end_ns));
        if (idle_detail_explain(idle, stretch) != 0)
            return ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < idle->keys.count; i++)
        if (idle->layers.failed || idle_detail_add_row(table, idle, i, whole) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(CELL_TOTAL), CELL_OWNER, CELL_CAUSE, CELL_WHAT, CELL_WHERE));
    return idle->layers.failed ? ERR_NO_MEMORY : 0;
}

/* Reads the stretches and the layers: gaps of GPUs, or the threads of a number or name. */
static int idle_read(struct idle_summary *idle, const struct analysis_request *request, const char *thread,
                     struct error *err)
{
    int64_t least_us;
    int code = option_number(request, "gap", 0, 0, INT64_MAX / 1000, &least_us, err);

    if (code != 0)
        return code;
    if (!thread && (code = idle_detail_add_gaps(idle, request, least_us > 0 ? least_us * 1000 : 1, err)) != 0)
        return code;
    if (!thread && !idle->stretch_count)
        return 0;
    if ((code = idle_layers_read(&idle->layers, idle->report, request->span, err)) != 0)
        return code;
    return thread ? idle_detail_add_threads(idle, thread, request->span, err) : 0;
}

int gpu_idle_detail(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    struct table_column columns[CELLS] = {
        { "Time", CELL_REAL, UNIT_PERCENT, 1 }, { "Total Time", CELL_INT, UNIT_NS, 0 },
        { "Gaps", CELL_INT, UNIT_NONE, 0 },     { "Max", CELL_INT, UNIT_NS, 0 },
        { "GPU", CELL_INT, UNIT_ID, 0 },        { "Cause", CELL_TEXT, UNIT_NONE, 0 },
        { "What", CELL_TEXT, UNIT_NONE, 0 },    { "Where", CELL_TEXT, UNIT_NONE, 0 },
        { "Range", CELL_TEXT, UNIT_NAME, 0 },
    };
    const char *thread = option_text(request, "thread");
    struct idle_summary idle = { .report = report, .keys.width = KEY_PARTS, .of_threads = thread != NULL };
    struct table *table = NULL;
    int code = idle_read(&idle, request, thread, err);

    if (code != 0)
        goto done;
    if (thread)
        columns[CELL_OWNER].name = "TID";
    table = table_new(columns, CELLS);
    if (!table || idle_detail_fill(table, &idle) != 0)
        code = error_short_memory(err, "for the causes");
done:
    idle_free(&idle);
    return table_hand_over(table, code, out, err);
}
