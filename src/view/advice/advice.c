/* The request advice: each rule of tacho analyze is run once, and its rows become marks on the timeline.
 *
 * One adviser serves all rules on the replay and the gaps. Its findings come first, in its order, as everywhere; then
 * the other rules by their impact; then lists of events and gaps, which are places to look at, without an impact. */
#include <stdlib.h>
#include <string.h>

#include "advice_facts.h"
#include "advice_gaps.h"
#include "analyze/engine/analysis.h"
#include "analyze/engine/event_columns.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "analyze/rules/rule_impact.h"
#include "analyze/rules/rule_state.h"
#include "base/json_write.h"
#include "view/answer/answer_cache.h"
#include "view/answer/answers.h"
#include "view/answer/event_fields.h"
#include "view/load/event_search.h"

/* ---- where on the timeline ------------------------------------------------------------------------------------- */

static int advice_view_is_of_process(const struct view_row *row, int64_t pid)
{
    return row->process != -1 && global_pid_number(row->process) == pid;
}

/* The row of the GPU of a context. */
static int gpu_row_of_context(const struct view *view, int64_t pid, int64_t context)
{
    for (size_t r = 0; r < view->row_count; r++)
        if (view->rows[r].type == ROW_STREAM && view->rows[r].context == context &&
            advice_view_is_of_process(&view->rows[r], pid)) {
            int row = view->rows[r].parent;
            while (row != VIEW_NO_ROW && view->rows[row].type != ROW_GPU)
                row = view->rows[row].parent;
            return row;
        }
    return VIEW_NO_ROW;
}

/* The event of a row that begins at this very time, or -1. */
static int64_t event_at(const struct view_events *events, int64_t start_ns)
{
    for (uint32_t lane = 0; lane < events->lane_count; lane++) {
        uint32_t event = events_from(events, lane, start_ns);
        if (event < events->lanes[lane + 1] && events->start_ns[event] == start_ns)
            return event;
    }
    return ADVICE_NO_EVENT;
}

/* ---- rows of rules --------------------------------------------------------------------------------------------- */

/* The columns of the rules' tables that say where a row lies on the timeline. */
enum { DURATION, START, PID, TID, CONTEXT, STREAM, NUMBERS };
static const char *const number_names[NUMBERS] = { "Duration", "Start", "PID", "TID", "Context ID", "Stream ID" };
static const char longest_name[] = "Longest"; /* duration of the longest wait, for rules on CPUs */

/* Whether a row can have the event that numbers describe: a call of the thread, or work on the stream. */
static int can_have(const struct view_row *row, const int64_t numbers[NUMBERS])
{
    if (!advice_view_is_of_process(row, numbers[PID]))
        return 0;
    if (numbers[TID] >= 0)
        return (row->type == ROW_CUDA_API || row->type == ROW_OSRT) && row->thread != -1 &&
               global_tid_number(row->thread) == numbers[TID];
    return numbers[STREAM] >= 0 && row->type == ROW_STREAM && row->stream == numbers[STREAM] &&
           row->context == numbers[CONTEXT];
}

/* The row of a thread, for advice about a span of its time. */
static int advice_view_thread_row(const struct view *view, const int64_t numbers[NUMBERS])
{
    for (size_t r = 0; r < view->row_count; r++)
        if (view->rows[r].type == ROW_THREAD && advice_view_is_of_process(&view->rows[r], numbers[PID]) &&
            global_tid_number(view->rows[r].thread) == numbers[TID])
            return (int)r;
    return VIEW_NO_ROW;
}

static int find_row(struct view *view, const int64_t numbers[NUMBERS], int64_t *event)
{
    for (size_t r = 0; r < view->row_count; r++) {
        *event = can_have(&view->rows[r], numbers) ? event_at(&view->rows[r].events, numbers[START]) : ADVICE_NO_EVENT;
        if (*event != ADVICE_NO_EVENT)
            return (int)r;
    }
    *event = ADVICE_NO_EVENT;
    if (numbers[TID] >= 0)
        return advice_view_thread_row(view, numbers);
    return numbers[STREAM] < 0 ? gpu_row_of_context(view, numbers[PID], numbers[CONTEXT]) : VIEW_NO_ROW;
}

static void advice_view_find_columns(int places[NUMBERS], const struct table *table)
{
    for (int n = 0; n < NUMBERS; n++) {
        places[n] = -1;
        for (size_t c = 0; c < table_column_count(table); c++)
            if (strcmp(table_columns(table)[c].name, number_names[n]) == 0 ||
                (n == DURATION && places[n] < 0 && strcmp(table_columns(table)[c].name, longest_name) == 0))
                places[n] = (int)c;
    }
}

/* The line of the program that a row of a rule's table names, or "". */
static const char *advice_view_line_of(const struct table *table, size_t row)
{
    static const char *const names[] = { "Where", "Waited In" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t column = table_find_column(table, names[i]);
        if (column != TABLE_NO_COLUMN && table_row(table, row)[column].kind == CELL_TEXT)
            return table_row(table, row)[column].text.bytes;
    }
    return "";
}

/* Takes the figures of a row from the replay: the row-th cause of its rule. */
static void take_cause(struct advice_item *item, const struct adviser *adviser, const struct analysis *rule, size_t row)
{
    for (size_t i = 0; i < adviser->count; i++) {
        const struct advice_cause *cause = &adviser->causes[i];
        if (cause->rule != rule || row-- > 0)
            continue;
        item->order = (int64_t)i;
        item->confidence = advice_confidence_names[cause->confidence];
        if (cause->confidence != ADVICE_TRY) {
            item->about_ns = cause->estimate_ns;
            item->low_ns = cause->range.low_ns;
            item->high_ns = cause->range.high_ns;
        }
        text_add(item->what, text_string(&cause->what));
        return;
    }
}

/* The operator, and the work that came next, of the first findings of a rule. */
static int find_facts(struct advice *advice, struct advice_item *item, const int64_t numbers[NUMBERS],
                      struct error *err)
{
    int thread = numbers[TID] >= 0 ? advice_view_thread_row(advice->view, numbers) : VIEW_NO_ROW;
    const struct advice_place place = {
        .thread = thread == VIEW_NO_ROW ? -1 : advice->view->rows[thread].thread,
        .process = numbers[PID],
        .from_ns = item->from_ns,
        .to_ns = item->to_ns,
        .next = VIEW_NO_PLACE,
    };

    return advice_facts_find(item->operator, item->next, advice->view, &place, err);
}

enum { MOST_FACTS = 50 };

static int advice_view_add_rows(struct advice *advice, const struct adviser *adviser, const struct analysis *rule,
                                const struct table *table, const struct rule_impact *impact, struct advice_words *words,
                                struct error *err)
{
    int places[NUMBERS], code;

    advice_view_find_columns(places, table);
    for (size_t i = 0; i < table_row_count(table) && i < ADVICE_MOST; i++) {
        size_t r = impact->order[i];
        const struct table_cell *cells = table_row(table, r);
        int64_t numbers[NUMBERS];
        for (int n = 0; n < NUMBERS; n++)
            numbers[n] = places[n] >= 0 && cells[places[n]].kind == CELL_INT ? cells[places[n]].integer : -1;
        struct advice_item item = {
            .rule = rule->name,
            .title = rule->title,
            .from_ns = numbers[START],
            .to_ns = saturating_add(numbers[START], numbers[DURATION]),
            .impact_ns = impact->each[r],
            .where = advice_view_line_of(table, r),
            .confidence = "",
            .about_ns = -1,
            .low_ns = -1,
            .high_ns = -1,
            .order = -1,
            .text = &words->text,
            .what = &words->what,
            .operator= & words->operator,
            .next = & words->next,
        };
        if (numbers[DURATION] < 0 || numbers[DURATION] > VIEW_LAST_TIME || numbers[START] > VIEW_FURTHEST ||
            numbers[START] < -VIEW_FURTHEST)
            continue;
        item.row = find_row(advice->view, numbers, &item.event);
        advice_words_clear(words);
        if (adviser)
            take_cause(&item, adviser, rule, r);
        else
            rule_finding(item.what, rule, table, r);
        rule_finding(&words->text, rule, table, r);
        text_addf(&words->text, ". %s", rule_advice(rule, table, r));
        if (i < MOST_FACTS && (code = find_facts(advice, &item, numbers, err)) != 0)
            return code;
        advice_add(advice, &item);
    }
    return 0;
}

/* The place of a rule among all: that of its first cause. Causes stand before all other findings. */
static int64_t advice_view_rank_of(const struct adviser *adviser, const struct analysis *rule)
{
    for (size_t i = 0; i < adviser->count; i++)
        if (adviser->causes[i].rule == rule)
            return INT64_MAX - (int64_t)i;
    return 0;
}

/* Adds the findings of a rule. adviser: the replay, which ranks the rule; NULL: its impact does. */
static int advice_view_add_table(struct advice *advice, const struct adviser *adviser, const struct analysis *rule,
                                 const struct table *table, struct error *err)
{
    struct rule_impact impact = { 0 };
    struct advice_words words = { 0 };
    int64_t capture_ns;
    size_t count = table_row_count(table);
    int code;

    if ((code = rule_capture_time(advice->view->report, &capture_ns, err)) != 0)
        return code == ERR_NO_DATA ? 0 : code;
    if ((code = rule_impact_read(&impact, rule, table, capture_ns, err)) != 0)
        return code;
    if ((code = advice_view_add_rows(advice, adviser, rule, table, &impact, &words, err)) != 0)
        goto free_impact;
    advice_add_rule(advice,
                    &(struct advice_rule){
                        rule->name, rule->title, count ? rule_advice(rule, table, impact.order[0]) : rule->rule->praise,
                        count, impact.all, adviser ? advice_view_rank_of(adviser, rule) : impact.rank });
free_impact:
    rule_impact_free(&impact);
    advice_words_free(&words);
    return code;
}

static int advice_view_run_rule(struct advice *advice, const struct analysis *rule, struct error *err)
{
    static const struct analysis_option all = { "rows", "-1" }; /* few are shown, but all add to the impact */
    const struct analysis_request request = { .options = &all,
                                              .option_count = 1,
                                              .metrics = &advice->view->cache->metrics };
    struct table *table;
    int code = analysis_run(rule, advice->view->report, &request, &table, err);

    if (code != 0)
        return code == ERR_NO_DATA ? 0 : code;
    code = advice_view_add_table(advice, NULL, rule, table, err);
    table_delete(table);
    return code;
}

/* ---- rules on the replay --------------------------------------------------------------------------------------- */

static int advice_view_add_causes(struct advice *advice, struct adviser *adviser, struct error *err)
{
    struct view *view = advice->view;
    int code;

    for (size_t i = 0; rules[i]; i++)
        if (analysis_is_replayed(rules[i]) && rule_state(rules[i], view->report) == RULE_READY &&
            (code = adviser_find(adviser, rules[i], err)) != 0)
            return code;
    if ((code = adviser_judge(adviser, err)) != 0)
        return code;
    for (size_t i = 0; rules[i]; i++) {
        struct table *table;
        if (!analysis_is_replayed(rules[i]) || rule_state(rules[i], view->report) != RULE_READY)
            continue;
        if ((code = advice_table_of(adviser, rules[i], &table, err)) != 0)
            return code;
        code = advice_view_add_table(advice, adviser, rules[i], table, err);
        table_delete(table);
        if (code != 0)
            return code;
    }
    return 0;
}

/* Runs all of these rules at once: they share the adviser, and are ranked together. */
static int run_adviser(struct advice *advice, struct error *err)
{
    struct adviser *adviser;
    int code;

    if ((code = answer_cache_adviser(advice->view->cache, advice->view->report, &adviser, err)) != 0)
        return code;
    if ((code = advice_view_add_causes(advice, adviser, err)) != 0)
        answer_cache_forget_adviser(advice->view->cache); /* it has a part of the causes: begin anew */
    return code;
}

static int advice_view_add_gaps(struct advice *advice, struct error *err)
{
    struct adviser *adviser;
    int code = answer_cache_adviser(advice->view->cache, advice->view->report, &adviser, err);

    if (code != 0)
        return code;
    if ((code = advice_add_gaps(advice, adviser, err)) == 0)
        answer_cache_forget_adviser(advice->view->cache); /* all is known */
    return code;
}

/* ---- one by one ------------------------------------------------------------------------------------------------ */

/* Runs a rule, or all that are on the replay, or looks for gaps (NULL). If that fails, the lists are as before. */
static int advice_view_run_one(struct advice *advice, const struct analysis *rule, struct error *err)
{
    size_t length = advice->items->text.length, rules_length = advice->rules->text.length;
    int code = !rule                        ? advice_view_add_gaps(advice, err)
               : analysis_is_replayed(rule) ? run_adviser(advice, err)
                                            : advice_view_run_rule(advice, rule, err);

    if (text_failed(&advice->items->text) || text_failed(&advice->rules->text))
        code = error_short_memory(err, "for the advice");
    if (code != 0) {
        advice_list_cut(advice->items, length);
        advice_list_cut(advice->rules, rules_length);
    }
    return code;
}

/* A rule whose events were recorded, but did not happen. */
static void add_clear(struct advice *advice, const struct analysis *rule)
{
    advice_add_rule(advice,
                    &(struct advice_rule){ .name = rule->name, .title = rule->title, .words = rule->rule->praise });
}

/* Whether a rule before this one runs it, too. */
static int has_run_with_others(const struct view *view, size_t rule)
{
    if (!rules[rule] || !analysis_is_replayed(rules[rule]))
        return 0;
    for (size_t i = 0; i < rule; i++)
        if (analysis_is_replayed(rules[i]) && rule_state(rules[i], view->report) == RULE_READY)
            return 1;
    return 0;
}

/* Runs the rules, and then the gaps, from the one that is next: all of them, or one. Rules without data in the report
 * are skipped. */
static int run_from_next(struct advice *advice, int is_one_enough, int *is_complete, struct error *err)
{
    struct view *view = advice->view;
    struct answer_cache *cache = view->cache;
    size_t count = 0;
    int code = 0, has_run = 0;

    while (rules[count])
        count++;
    while (cache->rules_run <= count && !(has_run && is_one_enough)) {
        const struct analysis *rule = rules[cache->rules_run]; /* NULL: the gaps */
        enum rule_state state = rule ? rule_state(rule, view->report) : RULE_READY;
        if (state == RULE_READY && !has_run_with_others(view, cache->rules_run)) {
            has_run = 1;
            code = advice_view_run_one(advice, rule, err);
        } else if (state == RULE_CLEAR) {
            add_clear(advice, rule);
        }
        /* a rule that was cancelled, or had no memory, runs again at the next request */
        cache->rules_run += code != ERR_CANCELLED && code != ERR_NO_MEMORY;
        if (code != 0)
            return code;
    }
    *is_complete = cache->is_advised = cache->rules_run > count;
    if (*is_complete)
        gpu_metrics_share_free(&cache->metrics);
    return 0;
}

static int advice_view_run_rules(struct view *view, int is_one_enough, int *is_complete, struct error *err)
{
    struct advice advice = { view, &view->cache->advice, &view->cache->advice_rules };

    return run_from_next(&advice, is_one_enough, is_complete, err);
}

/* The rules that could not run, with the data that they need and the option that records it. Rules on other kinds of
 * programs are not named. */
static void advice_view_add_unchecked(struct view *view, struct text *out)
{
    for (size_t i = 0; rules[i]; i++) {
        const struct analysis_need *missing = analysis_missing(rules[i], view->report);
        if (rule_state(rules[i], view->report) != RULE_UNCHECKED)
            continue;
        const char *option = analysis_need_option(missing);
        json_addf(out, option ? "{'name':%s,'title':%s,'data':%s,'option':%s}" : "{'name':%s,'title':%s,'data':%s}",
                  rules[i]->name, rules[i]->title, missing->data, option);
    }
}

int view_advice(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct answer_cache *cache = view->cache;
    int64_t step = 0;
    int is_complete = 0, code;

    if ((code = argument_int(arguments, "step", 0, 1, &step, err)) != 0 ||
        (code = advice_view_run_rules(view, (int)step, &is_complete, err)) != 0)
        return code;
    json_addf(out, "{'advice':[");
    advice_list_add_to(&cache->advice, out);
    json_addf(out, "],'rules':[");
    advice_list_add_to(&cache->advice_rules, out);
    json_addf(out, "],'unchecked':[");
    advice_view_add_unchecked(view, out);
    json_addf(out, "],'complete':%i}", is_complete);
    return 0;
}
