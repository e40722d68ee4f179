/* The largest gaps, in which a GPU was idle, with the causes that gpu_idle_sum names (analyze/idle). They are places to
 * look at: the rules on the replay report what their causes cost. */
#include "advice_gaps.h"

#include <stdlib.h>

#include "advice_facts.h"
#include "analyze/idle/gap_causes.h"
#include "analyze/model/gpu_busy.h"
#include "base/array.h"
#include "base/human.h"
#include "view/links/event_list.h"
#include "view/load/view_state.h"

enum { MOST_GAPS = 50, LEAST_NS = 50000, LONGEST_SHOWN = 120, MOST_CAUSES = 2 };

static const char rule_name[] = "gpu_idle";
static const char title[] = "Largest GPU Gaps";
static const char words[] =
    "Move work that the CPU does before it can launch (loading data, waiting for a result, many small calls) to other "
    "threads, or launch more work first.";

struct advice_gap_search {
    struct advice *advice;
    struct gap_causes causes;
    struct keys keys;       /* cause and place, of one gap */
    int64_t *total_ns;      /* owned; by key */
    size_t room;
    struct advice_words words;
    struct text where;      /* the place of its largest cause */
    struct view_place work; /* the work that ended it */
};

/* Appends the name of the work that ended a gap, if the timeline has it. */
static int advice_gaps_add_ending(struct advice_gap_search *search, const struct gpu_busy_gap *gap, struct error *err)
{
    struct view *view = search->advice->view;
    size_t length;
    int code;

    search->work = VIEW_NO_PLACE;
    if ((code = view_locate(view, gap->table, &gap->row, 1, &search->work, err)) != 0 && code != ERR_NOT_FOUND)
        return code;
    const struct view_place work = search->work;
    if (work.row == VIEW_NO_ROW)
        return 0;
    const char *name = view_name(view, place_name(view, work), &length);
    text_add(&search->words.text, ", until ");
    text_add_bytes(&search->words.text, name, length < LONGEST_SHOWN ? length : LONGEST_SHOWN);
    text_add(&search->words.text, length > LONGEST_SHOWN ? "… began" : " began");
    return 0;
}

static int advice_gaps_add_piece(void *context, const struct gap_piece *piece)
{
    struct advice_gap_search *search = context;
    size_t before = search->keys.count;
    uint32_t key = keys_add(&search->keys, (int64_t[]){ piece->cause, (int64_t)piece->place });

    if (key == NO_KEY || array_reserve(&search->total_ns, &search->room, key + 1u, sizeof *search->total_ns) != 0)
        return ERR_NO_MEMORY;
    if (key == before)
        search->total_ns[key] = 0;
    search->total_ns[key] = saturating_add(search->total_ns[key], saturating_duration(piece->start_ns, piece->end_ns));
    return 0;
}

/* "launch-bound, train.py:41 forward: 1.20 ms": the largest cause, which is then none any more. */
static void add_largest(struct advice_gap_search *search)
{
    uint32_t largest = 0;

    for (uint32_t i = 1; i < search->keys.count; i++)
        largest = search->total_ns[i] > search->total_ns[largest] ? i : largest;
    const int64_t *key = keys_get(&search->keys, largest);
    if (!search->words.what.length) {
        text_addf(&search->words.what, "the GPU was idle: %s", gap_cause_names[key[0]]);
        place_text(&search->where, search->causes.places, (uint32_t)key[1]);
    }
    text_add(&search->words.text, gap_cause_names[key[0]]);
    if ((uint32_t)key[1] != NO_PLACE)
        text_add(&search->words.text, ", ");
    place_text(&search->words.text, search->causes.places, (uint32_t)key[1]);
    text_add(&search->words.text, ": ");
    human_time(&search->words.text, search->total_ns[largest]);
    search->total_ns[largest] = -1;
}

static int advice_gaps_add_causes(struct advice_gap_search *search, const struct gpu_busy_gap *at, struct error *err)
{
    const struct gap gap = { .start_ns = at->start_ns,
                             .end_ns = saturating_add(at->start_ns, at->length_ns),
                             .table = at->table,
                             .row = at->row };

    keys_free(&search->keys);
    search->keys = (struct keys){ .width = 2 };
    if (gap_causes_explain(&search->causes, &gap, advice_gaps_add_piece, search) != 0)
        return error_short_memory(err, "for the gaps");
    for (size_t i = 0; i < search->keys.count && i < MOST_CAUSES; i++) {
        text_add(&search->words.text, i ? "; " : " ");
        add_largest(search);
    }
    text_add(&search->words.text, search->keys.count ? "." : "");
    return 0;
}

/* VIEW_NO_ROW if the timeline lacks the GPU. */
static int advice_gaps_gpu_row(const struct view *view, int64_t gpu)
{
    for (size_t r = 0; r < view->row_count; r++)
        if (view->rows[r].type == ROW_GPU && view->rows[r].device == gpu)
            return (int)r;
    return VIEW_NO_ROW;
}

static int advice_gaps_add_gap(struct advice_gap_search *search, const struct gpu_busy_gap *gap, struct error *err)
{
    struct text *text = &search->words.text;
    int64_t end_ns = saturating_add(gap->start_ns, gap->length_ns);
    int code;

    advice_words_clear(&search->words);
    text_clear(&search->where);
    text_addf(text, "GPU %lld was idle for ", (long long)gap->gpu);
    human_time(text, gap->length_ns);
    if ((code = advice_gaps_add_ending(search, gap, err)) != 0)
        return code;
    text_add_char(text, '.');
    if ((code = advice_gaps_add_causes(search, gap, err)) != 0)
        return code;
    text_addf(text, " %s", words);
    const struct advice_place place = { -1, -1, gap->start_ns, end_ns, search->work };
    if ((code = advice_facts_find(&search->words.operator, & search->words.next, search->advice->view, &place, err)) !=
        0)
        return code;
    const struct advice_item item = {
        .rule = rule_name,
        .title = title,
        .where = text_string(&search->where),
        .confidence = "",
        .about_ns = -1,
        .low_ns = -1,
        .high_ns = -1,
        .order = -1,
        .what = &search->words.what,
        .operator= & search->words.operator,
        .next = & search->words.next,
        .row = advice_gaps_gpu_row(search->advice->view, gap->gpu),
        .event = ADVICE_NO_EVENT,
        .from_ns = gap->start_ns,
        .to_ns = end_ns,
        .text = text,
    };
    advice_add(search->advice, &item);
    return 0;
}

static int advice_gaps_add_all(struct advice_gap_search *search, const struct gpu_busy *busy, struct adviser *adviser,
                               struct error *err)
{
    struct advice_rule rule = { .name = rule_name, .title = title };
    struct places *places;
    int code;

    if ((code = adviser_places(adviser, &places, err)) != 0 ||
        (code = gap_causes_open(&search->causes, adviser->report, &adviser->replay.events, places, err)) != 0)
        return code;
    for (; rule.count < busy->gap_count && busy->gaps[rule.count].length_ns >= LEAST_NS; rule.count++)
        if ((code = advice_gaps_add_gap(search, &busy->gaps[rule.count], err)) != 0)
            return code;
    rule.words = rule.count ? words : "No GPU was idle for longer than 50 µs.";
    advice_add_rule(search->advice, &rule);
    return 0;
}

int advice_add_gaps(struct advice *advice, struct adviser *adviser, struct error *err)
{
    const struct analysis_request everything = { 0 };
    struct advice_gap_search search = { .advice = advice, .keys.width = 2 };
    struct gpu_busy busy = { 0 };
    int code = gpu_busy_read(&busy, adviser->report, &everything, MOST_GAPS, err);

    if (code != 0 || !busy.device_count)
        goto done;
    code = advice_gaps_add_all(&search, &busy, adviser, err);
done:
    gap_causes_close(&search.causes);
    keys_free(&search.keys);
    free(search.total_ns);
    advice_words_free(&search.words);
    text_free(&search.where);
    gpu_busy_free(&busy);
    return code;
}
