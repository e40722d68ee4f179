/* The request summary: parts of the summary are read one after the other, the quick ones first, and each answer has
 * those that were read so far. */
#include <math.h>
#include <stdlib.h>

#include "analyze/reports/run_sum.h"
#include "analyze/summary/run_figures.h"
#include "analyze/summary/step_figures.h"
#include "analyze/summary/step_parts.h"
#include "base/json_write.h"
#include "summary_places.h"
#include "view/answer/answer_cache.h"
#include "view/answer/answers.h"
#include "view/answer/event_fields.h"
#include "view/answer/row_answers.h"
#include "view/load/derived.h"

/* ---- parts ----------------------------------------------------------------------------------------------------- */

/* Parts that are no tables: the figures of the mean step, and the rank that all others wait for. */
enum { PART_FIGURES = RUN_TABLES, PART_LATE_RANK };
enum { TOP_ROWS = 10, FEW_EVENTS = 100000 }; /* with few events, nothing takes long */

/* In the order in which they are read. A long one takes seconds for millions of events; some share the replay of the
 * advice. */
static const struct summary_part {
    int table; /* of enum run_table, or one of those above */
    int is_long, is_replayed;
    size_t rows;
    struct summary_places places;
} parts[] = {
    { RUN_TABLE_RUN, 0, 0, TOP_ROWS, { 0 } },
    { RUN_TABLE_BUSY, 0, 0, TOP_ROWS, { SUMMARY_BY_TIME, 0, "First Start", "Last End", 1 } },
    { RUN_TABLE_KERNELS, 0, 0, TOP_ROWS, { SUMMARY_BY_NAME, ROW_STREAM, "Name", NULL, 0 } },
    { RUN_TABLE_FUNCTIONS, 0, 0, TOP_ROWS, { SUMMARY_BY_NAME, ROW_SAMPLES, "Function", NULL, 0 } },
    { RUN_TABLE_PYTHON, 0, 0, TOP_ROWS, { SUMMARY_BY_NAME, ROW_PYTHON_SAMPLES, "Function", NULL, 0 } },
    { RUN_TABLE_OS_CALLS, 0, 0, TOP_ROWS, { SUMMARY_BY_NAME, ROW_OSRT, "Name", NULL, 0 } },
    { PART_LATE_RANK, 1, 0, 0, { 0 } },
    { RUN_TABLE_WALL, 1, 0, TOP_ROWS, { SUMMARY_BY_TIME, 0, "Start", "Longest", 0 } },
    { RUN_TABLE_WAITS, 1, 0, TOP_ROWS, { SUMMARY_BY_THREAD, ROW_OSRT, "Waited For", NULL, 0 } },
    { RUN_TABLE_OPERATORS, 1, 0, TOP_ROWS, { SUMMARY_BY_NAME, ROW_TORCH, "Name", NULL, 0 } },
    { RUN_TABLE_MEMORY, 1, 0, TOP_ROWS, { SUMMARY_BY_TIME, 0, "Peak", NULL, 0 } },
    { PART_FIGURES, 1, 0, 0, { 0 } },
    { RUN_TABLE_STEP_PARTS, 1, 1, SUMMARY_ROWS, { SUMMARY_BY_STEP, ROW_STEPS, NULL, NULL, 0 } },
    { RUN_TABLE_IDLE, 1, 1, TOP_ROWS, { SUMMARY_BY_GAP, ROW_IDLE, "Start", "Max", 0 } },
    { RUN_TABLE_STEPS, 1, 0, SUMMARY_ROWS, { SUMMARY_BY_STEP, ROW_STEPS, NULL, NULL, 0 } },
};
enum { PARTS = COUNT_OF(parts) };

struct view_summary {
    size_t read;         /* parts */
    struct text late;    /* "" if no rank is */
    struct text tables;  /* members of the list */
    struct text figures; /* "" before they are read */
    struct text memory, step_parts;
};

static void summary_answer_free(struct view_summary *summary)
{
    text_free(&summary->late);
    text_free(&summary->tables);
    text_free(&summary->figures);
    text_free(&summary->memory);
    text_free(&summary->step_parts);
    free(summary);
}

/* ---- figures --------------------------------------------------------------------------------------------------- */

static void summary_answer_add_percent(struct text *out, const char *member, double percent)
{
    json_addf(out, "%s:%g", member, percent < 0 ? NAN : percent);
}

/* The mean step, or the GPU's part of the run, as the first line of `tacho summary`. */
static void summary_answer_add_figures(struct text *out, const struct adviser *adviser)
{
    struct step_figures figures = step_figures_of(adviser, NULL);
    struct text words = { 0 };

    if (adviser->steps->count)
        adviser_add_steps(&words, adviser);
    json_addf(out, "{'step':%jd,'steps':%jd,'words':%s", adviser->step_ns,
              adviser->steps->count ? (int64_t)adviser->step_count : 0, text_string(&words));
    summary_answer_add_percent(out, "busy", figures.busy);
    summary_answer_add_percent(out, "mfu", figures.mfu);
    summary_answer_add_percent(out, "peak", figures.mfu < 0 ? -1 : figures.peak);
    summary_answer_add_percent(out, "tensor", figures.tensor);
    summary_answer_add_percent(out, "unknown", figures.tensor < 0 ? -1 : figures.tensor_unknown);
    text_add_char(out, '}');
    text_free(&words);
}

static int read_figures(struct view_summary *summary, struct view *view, struct error *err)
{
    struct adviser *adviser;
    int code = answer_cache_adviser(view->cache, view->report, &adviser, err);

    if (code != 0)
        return code;
    if (adviser->replay.graph.points)
        summary_answer_add_figures(&summary->figures, adviser);
    if (view->cache->is_advised)
        answer_cache_forget_adviser(view->cache);
    return 0;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static void summary_answer_add_memory(struct text *out, const struct table *memory)
{
    const char *device;
    double bytes = run_memory_peak(memory, &device);

    if (bytes > 0)
        json_addf(out, "{'bytes':%jd,'device':%s}", (int64_t)bytes, device);
}

static void add_step_parts(struct text *out, const struct table *table, const struct steps *steps)
{
    double means[STEP_PARTS];

    step_parts_mean(means, table, steps);
    for (int i = 0; i < STEP_PARTS; i++) {
        json_addf(out, "{'column':%s,'name':%s", step_parts[i].column, step_part_name(&step_parts[i]));
        if (step_parts[i].cause == STEP_PART_BUSY)
            json_addf(out, "'kind':%s", step_parts[i].kind);
        else
            json_addf(out, "'cause':%s,'state':%d", gap_cause_names[step_parts[i].cause],
                      STATE_FIRST_CAUSE + (int)step_parts[i].cause);
        json_addf(out, "'mean':%g}", means[i]);
    }
}

/* The number of the state, and with it the colour, of each cause for which a GPU is idle. */
static void summary_answer_add_causes(struct text *out)
{
    json_addf(out, "'causes':{");
    for (int i = 0; i < GAP_CAUSES; i++)
        json_addf(out, "%s:%d", gap_cause_names[i], STATE_FIRST_CAUSE + i);
    text_add_char(out, '}');
}

static void summary_answer_add_place(struct view *view, struct text *out, const struct summary_found *found)
{
    if (!found->is_found) {
        json_addf(out, "null");
    } else if (found->place.row != VIEW_NO_ROW) {
        view_add_event(view, out, found->place.row, found->place.event);
    } else {
        json_addf(out, "{'row':-1,'event':-1,'name':'','from':");
        event_fields_add_time(view, out, found->from_ns);
        json_addf(out, "'to':");
        event_fields_add_time(view, out, found->to_ns);
        text_add_char(out, '}');
    }
}

static int summary_answer_add_table(struct text *out, struct view *view, const struct summary_part *part,
                                    const struct table *table, struct error *err)
{
    struct summary_found found[SUMMARY_ROWS];
    size_t rows = table_row_count(table) < part->rows ? table_row_count(table) : part->rows;
    int code = summary_places_find(found, view, table, rows, &part->places, err);

    if (code != 0)
        return code;
    json_addf(out, "{");
    view_add_table_members(view, out, run_table_analysis((enum run_table)part->table), table, rows);
    json_addf(out, "'places':[");
    for (size_t row = 0; row < rows; row++)
        summary_answer_add_place(view, out, &found[row]);
    text_add(out, "]}");
    return 0;
}

/* With the adviser, which the rules use after this. */
static int read_replayed(struct table **out, struct view *view, struct adviser **adviser, enum run_table which,
                         struct error *err)
{
    int code = answer_cache_adviser(view->cache, view->report, adviser, err);

    if (code != 0)
        return code;
    return (*adviser)->replay.graph.points ? run_table_read_replayed(out, *adviser, which, err)
                                           : run_table_read(out, view->report, which, NULL, err);
}

static int summary_answer_read_table(struct view_summary *summary, struct view *view, const struct summary_part *part,
                                     struct error *err)
{
    struct table *table;
    struct adviser *adviser = NULL;
    size_t before = summary->tables.length;
    int code = part->is_replayed ? read_replayed(&table, view, &adviser, (enum run_table)part->table, err)
                                 : run_table_read(&table, view->report, (enum run_table)part->table, NULL, err);

    if (code != 0 || !table)
        return code;
    if ((code = summary_answer_add_table(&summary->tables, view, part, table, err)) != 0)
        text_cut(&summary->tables, before);
    else if (part->table == RUN_TABLE_MEMORY)
        summary_answer_add_memory(&summary->memory, table);
    else if (part->table == RUN_TABLE_STEP_PARTS)
        add_step_parts(&summary->step_parts, table, adviser->steps);
    table_delete(table);
    if (adviser && view->cache->is_advised)
        answer_cache_forget_adviser(view->cache);
    return code;
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

static int summary_answer_is_missing(struct view *view, const struct summary_part *part)
{
    return part->table < RUN_TABLES && run_table_is_missing((enum run_table)part->table, view->report);
}

static int summary_answer_read_part(struct view_summary *summary, struct view *view, const struct summary_part *part,
                                    struct error *err)
{
    switch (part->table) {
    case PART_FIGURES: return read_figures(summary, view, err);
    case PART_LATE_RANK: return run_late_rank_read(&summary->late, view->report, err);
    default: return summary_answer_read_table(summary, view, part, err);
    }
}

enum summary_answer_reading { READ_ALL, READ_ONE, READ_QUICK };

/* Reads all parts, the next one, or those that do not take long. A map of many ranks has none: its pages of ranks do.
 */
static int summary_answer_read_parts(struct view_summary *summary, struct view *view,
                                     enum summary_answer_reading reading, struct error *err)
{
    int code = 0, has_read = 0;

    while (!view->is_map && summary->read < PARTS) {
        const struct summary_part *part = &parts[summary->read];
        if (reading == READ_QUICK && part->is_long)
            return 0;
        if (!summary_answer_is_missing(view, part)) {
            if (has_read && reading == READ_ONE)
                return 0;
            has_read = 1;
            code = summary_answer_read_part(summary, view, part, err);
        }
        /* a part that was cancelled, or had no memory, is read again at the next request */
        summary->read += code != ERR_CANCELLED && code != ERR_NO_MEMORY;
        if (code != 0)
            return code;
    }
    return 0;
}

static void summary_answer_add_list(struct text *out, const char *member, const struct text *list)
{
    json_addf(out, "%s:[", member);
    text_add_bytes(out, text_string(list), list->length);
    text_add_char(out, ']');
}

static void summary_answer_add_object(struct text *out, const char *member, const struct text *object)
{
    json_addf(out, "%s:", member);
    text_add(out, object->length ? text_string(object) : "null");
}

int view_summary(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct answer_cache *cache = view->cache;
    int64_t step = 0, quick = 0;
    int code;

    if ((code = argument_int(arguments, "step", 0, 1, &step, err)) != 0 ||
        (code = argument_int(arguments, "quick", 0, 1, &quick, err)) != 0)
        return code;
    if (!cache->summary) {
        cache->summary = calloc(1, sizeof *cache->summary);
        cache->free_summary = summary_answer_free;
    }
    struct view_summary *summary = cache->summary;
    if (!summary)
        return error_short_memory(err, "for the summary");
    if ((code = summary_answer_read_parts(summary, view, quick ? READ_QUICK : step ? READ_ONE : READ_ALL, err)) != 0)
        return code;
    int is_complete = view->is_map || summary->read == PARTS;
    json_addf(out, "{'late':%s", text_string(&summary->late));
    summary_answer_add_object(out, "figures", &summary->figures);
    summary_answer_add_object(out, "memory", &summary->memory);
    summary_answer_add_list(out, "parts", &summary->step_parts);
    summary_answer_add_causes(out);
    summary_answer_add_list(out, "tables", &summary->tables);
    json_addf(out, "'long':%i,'complete':%i}",
              !is_complete && parts[summary->read].is_long && view->event_count > FEW_EVENTS, is_complete);
    return 0;
}
