/* The places of a table's rows: see summary_places.h. All rows with names are searched for in one pass over the events:
 * each name is compared once, and an event then costs one look into an array. */
#include "summary_places.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/calls.h"
#include "analyze/summary/run_figures.h"
#include "base/array.h"
#include "view/load/derived.h"
#include "view/load/event_search.h"

enum { LINE_UNKNOWN, LINE_NONE, LINE_FIRST }; /* LINE_FIRST + i: the i-th row of the table */
enum { MOST_NAMES = 1 << 27 };                /* greater ids come from damaged reports */

struct name_lines {
    struct view *view;
    const struct table *table;
    const struct summary_places *places;
    size_t rows, name, thread; /* name, thread: columns */
    uint16_t *lines[2];        /* owned; the first row with a name: by id of the pool, by the view's own */
    size_t room[2];
    struct summary_found *out;
};

static const struct table_cell *summary_places_name_of(const struct name_lines *lines, size_t row)
{
    return &table_row(lines->table, row)[lines->name];
}

static int summary_places_has_name(const struct name_lines *lines, size_t row, const char *text, size_t length)
{
    const struct table_cell *cell = summary_places_name_of(lines, row);

    return cell->kind == CELL_TEXT && cell->text.length == length && memcmp(cell->text.bytes, text, length) == 0;
}

/* The first row from `row` on with a name, as tables print it: calls without their version. */
static size_t row_of_name(const struct name_lines *lines, uint32_t name, size_t row)
{
    size_t length;
    const char *text = view_name(lines->view, name, &length);
    size_t call = call_name_length(text, length);

    while (row < lines->rows && !summary_places_has_name(lines, row, text, length) &&
           !summary_places_has_name(lines, row, text, call))
        row++;
    return row;
}

static int first_row(struct name_lines *lines, uint32_t name, size_t *out)
{
    int is_own = (name & VIEW_OWN_NAME) != 0;
    uint32_t id = name & ~(uint32_t)VIEW_OWN_NAME;

    *out = lines->rows;
    if (id >= MOST_NAMES)
        return 0;
    if (array_reserve_zeroed(&lines->lines[is_own], &lines->room[is_own], (size_t)id + 1,
                             sizeof *lines->lines[is_own]) != 0)
        return ERR_NO_MEMORY;
    uint16_t *line = &lines->lines[is_own][id];
    if (*line == LINE_UNKNOWN) {
        size_t row = row_of_name(lines, name, 0);
        *line = (uint16_t)(row < lines->rows ? LINE_FIRST + row : LINE_NONE);
    }
    *out = *line == LINE_NONE ? lines->rows : (size_t)(*line - LINE_FIRST);
    return 0;
}

static int is_of_thread(const struct name_lines *lines, size_t row, const struct view_row *of)
{
    const struct table_cell *cell = lines->thread == TABLE_NO_COLUMN ? NULL
                                                                     : &table_row(lines->table, row)[lines->thread];

    return lines->places->how != SUMMARY_BY_THREAD ||
           (cell && cell->kind == CELL_INT && of->thread != -1 && global_tid_number(of->thread) == cell->integer);
}

static int is_earlier(const struct summary_found *found, int64_t from_ns, int64_t length_ns)
{
    int64_t best_ns = found->to_ns - found->from_ns;

    return !found->is_found || length_ns > best_ns || (length_ns == best_ns && from_ns < found->from_ns);
}

static int summary_places_take_event(struct name_lines *lines, int row, uint32_t event)
{
    const struct view_row *of = &lines->view->rows[row];
    uint32_t name = of->events.name[event];
    size_t line;

    if (first_row(lines, name, &line) != 0)
        return ERR_NO_MEMORY;
    while (line < lines->rows) {
        struct summary_found *found = &lines->out[line];
        int64_t from_ns = of->events.start_ns[event], length_ns = event_length(&of->events, event);
        if (is_of_thread(lines, line, of) && is_earlier(found, from_ns, length_ns))
            *found = (struct summary_found){ { row, event }, from_ns, from_ns + length_ns, 1 };
        if (lines->places->how != SUMMARY_BY_THREAD)
            break;
        line = row_of_name(lines, name, line + 1); /* the same name on another thread */
    }
    return 0;
}

static int take_events(struct name_lines *lines)
{
    for (size_t row = 0; row < lines->view->row_count; row++) {
        const struct view_row *of = &lines->view->rows[row];
        if (of->type != lines->places->row)
            continue;
        for (uint32_t event = 0; event < of->events.count; event++)
            if (summary_places_take_event(lines, (int)row, event) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

/* The longest time in which the thread of a line was runnable. */
static void take_runnable(struct name_lines *lines, size_t line, const struct view_row *of)
{
    uint32_t runnable = derived_state_find(lines->view, STATE_RUNNABLE);
    struct summary_found *found = &lines->out[line];

    if (of->type != ROW_STATE || !is_of_thread(lines, line, of))
        return;
    for (uint32_t event = 0; event < of->events.count; event++) {
        int64_t from_ns = of->events.start_ns[event], length_ns = event_length(&of->events, event);
        if (of->events.name[event] == runnable && is_earlier(found, from_ns, length_ns))
            *found = (struct summary_found){
                { (int)(of - lines->view->rows), event }, from_ns, from_ns + length_ns, 1
            };
    }
}

/* Preemption is no call: the row of states shows it. */
static void find_preempted(struct name_lines *lines)
{
    static const char preempted[] = "[preempted]";

    for (size_t line = 0; line < lines->rows; line++)
        for (size_t row = 0;
             summary_places_has_name(lines, line, preempted, sizeof preempted - 1) && row < lines->view->row_count;
             row++)
            take_runnable(lines, line, &lines->view->rows[row]);
}

static int summary_places_find_names(struct name_lines *lines, struct error *err)
{
    int code = take_events(lines);

    if (lines->places->how == SUMMARY_BY_THREAD)
        find_preempted(lines);

    free(lines->lines[0]);
    free(lines->lines[1]);
    return code != 0 ? error_set(err, code, "not enough memory for the summary") : 0;
}

/* The step that begins at this very time. */
static void find_step(struct summary_found *found, const struct view *view, int64_t start_ns, int64_t pid)
{
    for (size_t row = 0; row < view->row_count; row++) {
        const struct view_row *of = &view->rows[row];
        if (of->type != ROW_STEPS || (of->process != -1 && global_pid_number(of->process) != pid))
            continue;
        for (uint32_t lane = 0; lane < of->events.lane_count; lane++) {
            uint32_t event = events_from(&of->events, lane, start_ns);
            if (event < of->events.lanes[lane + 1] && of->events.start_ns[event] == start_ns) {
                *found = (struct summary_found){ { (int)row, event }, start_ns, event_end(&of->events, event), 1 };
                return;
            }
        }
    }
}

/* The gap of a GPU that holds a time. */
static void find_gap(struct summary_found *found, const struct view *view, int64_t gpu, int64_t time_ns)
{
    for (size_t row = 0; row < view->row_count; row++) {
        const struct view_row *of = &view->rows[row];
        if (of->type != ROW_IDLE || of->device != gpu)
            continue;
        for (uint32_t lane = 0; lane < of->events.lane_count; lane++) {
            uint32_t event = events_reaching(&of->events, lane, time_ns);
            if (event < of->events.lanes[lane + 1] && of->events.start_ns[event] <= time_ns)
                *found = (struct summary_found){
                    { (int)row, event }, of->events.start_ns[event], event_end(&of->events, event), 1
                };
        }
    }
}

static void find_time(struct summary_found *found, const struct table *table, size_t row,
                      const struct summary_places *places)
{
    const struct table_cell *start = table_cell_at(table, row, places->name);
    const struct table_cell *length = places->length ? table_cell_at(table, row, places->length) : NULL;

    if (!start || start->kind != CELL_INT || (places->length && (!length || length->kind != CELL_INT)))
        return;
    int64_t to_ns = !length         ? start->integer
                    : places->until ? length->integer
                                    : saturating_add(start->integer, length->integer);
    *found = (struct summary_found){ { VIEW_NO_ROW, 0 }, start->integer, to_ns, 1 };
}

int summary_places_find(struct summary_found *out, struct view *view, const struct table *table, size_t rows,
                        const struct summary_places *places, struct error *err)
{
    struct name_lines lines = { .view = view, .table = table, .places = places, .rows = rows, .out = out };

    memset(out, 0, rows * sizeof *out);
    if (places->how == SUMMARY_BY_NAME || places->how == SUMMARY_BY_THREAD) {
        lines.name = table_find_column(table, places->name);
        lines.thread = table_find_column(table, "TID");
        return lines.name == TABLE_NO_COLUMN ? 0 : summary_places_find_names(&lines, err);
    }
    for (size_t row = 0; row < rows; row++)
        if (places->how == SUMMARY_BY_STEP) {
            const struct table_cell *start = table_cell_at(table, row, "Start");
            if (start && start->kind == CELL_INT)
                find_step(&out[row], view, start->integer, (int64_t)table_number_at(table, row, "PID"));
        } else if (places->how == SUMMARY_BY_TIME || places->how == SUMMARY_BY_GAP) {
            find_time(&out[row], table, row, places);
            if (places->how == SUMMARY_BY_GAP && out[row].is_found)
                find_gap(&out[row], view, (int64_t)table_number_at(table, row, "GPU"), out[row].from_ns);
        }
    return 0;
}
