/* Finds the causes of gaps: see idle_causes.h. */
#include "idle_causes.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/json_write.h"
#include "idle_rows.h"
#include "view/load/derived.h"
#include "view/load/event_search.h"

enum { GAPS_BETWEEN_LOOKS = 1024 }; /* whether the request was cancelled */

void idle_causes_init(struct idle_causes *causes)
{
    *causes = (struct idle_causes){ 0 };
    pthread_mutex_init(&causes->lock, NULL);
}

static void idle_causes_forget(struct idle_causes *causes)
{
    for (size_t i = 0; i < causes->row_count; i++)
        free(causes->rows[i].firsts);
    free(causes->rows);
    free(causes->parts);
    intern_free(&causes->lines);
    causes->rows = NULL;
    causes->parts = NULL;
    causes->row_count = causes->part_count = causes->part_room = 0;
}

void idle_causes_free(struct idle_causes *causes)
{
    idle_causes_forget(causes);
    pthread_mutex_destroy(&causes->lock);
}

/* ---- one gap --------------------------------------------------------------------------------------------------- */

/* The analysis, while the gaps are explained. */
struct explaining {
    struct idle_causes *causes;
    struct view *view;
    struct gap_causes gaps;
    size_t first;      /* the first part of the gap that is being explained */
    uint32_t *line_of; /* owned; by place, and one for none: its text + 1; 0: not known yet */
    size_t line_room;
    struct text text;
};

/* Texts of places, each made once. UINT32_MAX when memory is short. */
static uint32_t idle_causes_line_of(struct explaining *explaining, uint32_t place)
{
    size_t at = place == NO_PLACE ? 0 : (size_t)place + 1;

    if (array_reserve_zeroed(&explaining->line_of, &explaining->line_room, at + 1, sizeof *explaining->line_of) != 0)
        return UINT32_MAX;
    if (!explaining->line_of[at]) {
        text_clear(&explaining->text);
        place_text(&explaining->text, explaining->gaps.places, place);
        int64_t id = intern_add(&explaining->causes->lines, text_string(&explaining->text), explaining->text.length);
        if (id < 0)
            return UINT32_MAX;
        explaining->line_of[at] = (uint32_t)id + 1;
    }
    return explaining->line_of[at] - 1;
}

static int idle_causes_add_piece(void *context, const struct gap_piece *piece)
{
    struct explaining *explaining = context;
    struct idle_causes *causes = explaining->causes;
    int64_t length = saturating_duration(piece->start_ns, piece->end_ns);
    uint32_t line = idle_causes_line_of(explaining, piece->place);
    size_t at = explaining->first;

    while (at < causes->part_count && (causes->parts[at].cause != piece->cause || causes->parts[at].line != line))
        at++;
    if (line == UINT32_MAX || array_reserve(&causes->parts, &causes->part_room, at + 1, sizeof *causes->parts) != 0)
        return ERR_NO_MEMORY;
    struct idle_part *part = &causes->parts[at];
    if (at == causes->part_count) {
        *part = (struct idle_part){ .cause = piece->cause, .line = line };
        causes->part_count++;
    }
    part->total_ns = saturating_add(part->total_ns, length);
    if (length > saturating_duration(part->start_ns, part->end_ns)) {
        part->thread = piece->thread;
        part->start_ns = piece->start_ns;
        part->end_ns = piece->end_ns;
    }
    return 0;
}

static int idle_causes_by_total(const void *a, const void *b)
{
    const struct idle_part *x = a, *y = b;

    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return COMPARE(x->cause, y->cause) ?: COMPARE(x->line, y->line);
}

/* The cause that took most of a gap, over all lines of these parts. */
static enum gap_cause chief_cause(const struct idle_causes *causes, size_t first, size_t behind)
{
    const struct idle_part *parts = causes->parts;
    int64_t totals[GAP_CAUSES] = { 0 };
    int chief = GAP_UNKNOWN;

    for (size_t i = first; i < behind; i++)
        totals[parts[i].cause] = saturating_add(totals[parts[i].cause], parts[i].total_ns);
    for (int cause = 0; cause < GAP_CAUSES; cause++)
        chief = totals[cause] > totals[chief] ? cause : chief;
    return (enum gap_cause)chief;
}

static int explain_gap(struct explaining *explaining, const struct view_events *events, uint32_t event)
{
    struct idle_causes *causes = explaining->causes;
    const struct gap gap = { .start_ns = events->start_ns[event],
                             .end_ns = event_end(events, event),
                             .table = idle_rows_table(events, event),
                             .row = events->table_row[event] };

    int code;

    explaining->first = causes->part_count;
    if ((code = gap_causes_explain(&explaining->gaps, &gap, idle_causes_add_piece, explaining)) != 0)
        return code;
    if (causes->part_count > explaining->first)
        qsort(causes->parts + explaining->first, causes->part_count - explaining->first, sizeof *causes->parts,
              idle_causes_by_total);
    return 0;
}

/* ---- all gaps -------------------------------------------------------------------------------------------------- */

static int explain_row(struct explaining *explaining, struct idle_row *row)
{
    const struct view_events *events = &explaining->view->rows[row->row].events;
    int code;

    row->firsts = malloc(((size_t)events->count + 1) * sizeof *row->firsts);
    if (!row->firsts)
        return ERR_NO_MEMORY;
    for (uint32_t event = 0; event < events->count; event++) {
        row->firsts[event] = explaining->causes->part_count;
        if (event % GAPS_BETWEEN_LOOKS == 0 && cancel_is_raised(cancel_flag()))
            return ERR_CANCELLED;
        if ((code = explain_gap(explaining, events, event)) != 0)
            return code;
    }
    row->firsts[events->count] = explaining->causes->part_count;
    return 0;
}

/* Tiles may be answered meanwhile: a gap has either name then. */
static void name_gaps(const struct idle_causes *causes, struct view *view)
{
    uint32_t names[GAP_CAUSES];

    for (int cause = 0; cause < GAP_CAUSES; cause++)
        names[cause] = derived_cause_name(view, (enum gap_cause)cause);
    for (size_t i = 0; i < causes->row_count; i++) {
        const struct idle_row *row = &causes->rows[i];
        const struct view_events *events = &view->rows[row->row].events;
        for (uint32_t event = 0; event < events->count; event++) {
            enum gap_cause cause = chief_cause(causes, row->firsts[event], row->firsts[event + 1]);
            __atomic_store_n(&events->name[event], names[cause], __ATOMIC_RELAXED);
        }
    }
}

static int idle_causes_list_rows(struct idle_causes *causes, const struct view *view)
{
    causes->rows = calloc(view->row_count + 1, sizeof *causes->rows);
    if (!causes->rows)
        return ERR_NO_MEMORY;
    for (size_t r = 0; r < view->row_count; r++)
        if (view->rows[r].type == ROW_IDLE)
            causes->rows[causes->row_count++].row = (int)r;
    return 0;
}

static int explain_rows(struct explaining *explaining)
{
    struct idle_causes *causes = explaining->causes;
    int code;

    for (size_t i = 0; i < causes->row_count; i++)
        if ((code = explain_row(explaining, &causes->rows[i])) != 0)
            return code;
    return 0;
}

static int idle_causes_find_causes(struct idle_causes *causes, struct view *view, struct error *err)
{
    struct explaining explaining = { .causes = causes, .view = view };
    int code;

    if (idle_causes_list_rows(causes, view) != 0)
        return error_short_memory(err, "for the gaps");
    causes->is_known = !causes->row_count;
    if (causes->is_known)
        return 0;
    if ((code = gap_causes_open(&explaining.gaps, view->report, NULL, NULL, err)) != 0)
        goto done;
    if ((code = explain_rows(&explaining)) != 0) {
        error_set(err, code, code == ERR_CANCELLED ? "cancelled" : "not enough memory for the gaps");
        goto done;
    }
    name_gaps(causes, view);
    causes->is_known = 1;
done:
    gap_causes_close(&explaining.gaps);
    free(explaining.line_of);
    text_free(&explaining.text);
    return code;
}

int idle_causes_find(struct idle_causes *causes, struct view *view, struct error *err)
{
    int code = 0;

    pthread_mutex_lock(&causes->lock);
    if (!causes->is_known && (code = idle_causes_find_causes(causes, view, err)) != 0)
        idle_causes_forget(causes);
    pthread_mutex_unlock(&causes->lock);
    return code;
}

int idle_causes_are_known(struct idle_causes *causes)
{
    if (pthread_mutex_trylock(&causes->lock) != 0)
        return 0;
    int is_known = causes->is_known;
    pthread_mutex_unlock(&causes->lock);
    return is_known;
}

/* ---- answers --------------------------------------------------------------------------------------------------- */

const struct idle_part *idle_causes_of(const struct idle_causes *causes, int row, uint32_t event, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < causes->row_count; i++)
        if (causes->rows[i].row == row) {
            size_t first = causes->rows[i].firsts[event];
            *count = causes->rows[i].firsts[event + 1] - first;
            return *count ? &causes->parts[first] : NULL;
        }
    return NULL;
}

const char *idle_causes_line(const struct idle_causes *causes, const struct idle_part *part)
{
    return causes->lines.strings[part->line].bytes;
}

struct cause_total {
    int cause;
    int64_t total_ns;
    size_t gaps;
};

static int by_cause_total(const void *a, const void *b)
{
    const struct cause_total *x = a, *y = b;

    return COMPARE(y->total_ns, x->total_ns) ?: COMPARE(x->cause, y->cause);
}

/* Adds up the causes of a row; a cause counts once in a gap. */
static void sum_row(const struct idle_causes *causes, const struct idle_row *row, uint32_t events,
                    struct cause_total totals[GAP_CAUSES])
{
    for (int cause = 0; cause < GAP_CAUSES; cause++)
        totals[cause] = (struct cause_total){ .cause = cause };
    for (uint32_t event = 0; event < events; event++) {
        uint32_t seen = 0;
        for (size_t i = row->firsts[event]; i < row->firsts[event + 1]; i++) {
            struct cause_total *total = &totals[causes->parts[i].cause];
            total->total_ns = saturating_add(total->total_ns, causes->parts[i].total_ns);
            total->gaps += !(seen & UINT32_C(1) << total->cause);
            seen |= UINT32_C(1) << total->cause;
        }
    }
    qsort(totals, GAP_CAUSES, sizeof *totals, by_cause_total);
}
_Static_assert(GAP_CAUSES <= 32, "sum_row() has a bit for each");

void idle_causes_add(const struct idle_causes *causes, const struct view *view, struct text *out)
{
    struct cause_total totals[GAP_CAUSES];

    json_addf(out, "{'rows':[");
    for (size_t r = 0; r < causes->row_count; r++) {
        const struct idle_row *row = &causes->rows[r];
        sum_row(causes, row, view->rows[row->row].events.count, totals);
        json_addf(out, "{'row':%d,'causes':[", row->row);
        for (int i = 0; i < GAP_CAUSES && totals[i].gaps; i++)
            json_addf(out, "{'cause':%s,'state':%d,'time':%jd,'gaps':%zu}", gap_cause_names[totals[i].cause],
                      STATE_FIRST_CAUSE + totals[i].cause, totals[i].total_ns, totals[i].gaps);
        text_add(out, "]}");
    }
    text_add(out, "]}");
}
