/* Causes of one rule at one place that say the same are one change: whoever follows one of them follows all. They
 * become one cause before it is judged, so that the replay has all of its edits at once and the saving has the rank
 * that the change deserves. To compare them, what they say keeps its figures apart until then.
 *
 * A cause may also take those of another rule at its place: an operator that computes on the CPU what the line copies
 * there. Each of them says what it is, and the cause what to change. */
#include <string.h>

#include "adviser.h"
#include "base/human.h"

/* ---- figures --------------------------------------------------------------------------------------------------- */

void advice_cause_figure(struct advice_cause *cause, enum advice_figure kind)
{
    cause->figures[cause->figure_count++] = (struct advice_figure_at){ kind, cause->what.length };
}

static void add_figure(struct text *out, const struct adviser *adviser, const struct advice_cause *cause,
                       enum advice_figure kind)
{
    int64_t steps = (int64_t)adviser->step_count, each = (cause->count + steps / 2) / steps;

    switch (kind) {
    case FIGURE_TIME: human_time(out, cause->total_ns / steps); return;
    case FIGURE_COUNT: human_count(out, (uint64_t)(each ? each : 1)); return;
    case FIGURE_TIMES:
        if (each < 2)
            return;
        text_add(out, " (");
        human_count(out, (uint64_t)each);
        text_add(out, adviser->steps->count ? " in each step)" : " times)");
    }
}

/* Puts the figures of a cause into what it says. */
static int advice_merge_say(const struct adviser *adviser, struct advice_cause *cause)
{
    struct text words = cause->what;
    size_t from = 0;

    cause->what = (struct text){ 0 };
    for (size_t i = 0; i < cause->figure_count; i++) {
        text_add_bytes(&cause->what, text_string(&words) + from, cause->figures[i].at - from);
        add_figure(&cause->what, adviser, cause, cause->figures[i].kind);
        from = cause->figures[i].at;
    }
    text_add(&cause->what, text_string(&words) + from);
    text_free(&words);
    cause->figure_count = 0;
    return text_failed(&cause->what) ? ERR_NO_MEMORY : 0;
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

static int has_same_text(const struct text *a, const struct text *b)
{
    return strcmp(text_string(a), text_string(b)) == 0;
}

/* A cause whose figures are part of its words, or whose place is not known, stays alone. */
static int is_same_change(const struct advice_cause *a, const struct advice_cause *b)
{
    if (a->rule != b->rule || a->advice != b->advice || a->confidence != b->confidence || !a->figure_count ||
        a->figure_count != b->figure_count || !a->where.length || !has_same_text(&a->where, &b->where) ||
        !has_same_text(&a->what, &b->what) || !has_same_text(&a->rate, &b->rate))
        return 0;
    for (size_t i = 0; i < a->figure_count; i++)
        if (a->figures[i].kind != b->figures[i].kind || a->figures[i].at != b->figures[i].at)
            return 0;
    return 1;
}

/* Adds a cause to another one. The longest event of both remains the place on the timeline. */
static int advice_merge_join(struct advice_cause *cause, const struct advice_cause *more)
{
    cause->count = saturating_add(cause->count, more->count);
    cause->total_ns = saturating_add(cause->total_ns, more->total_ns);
    if (more->duration_ns > cause->duration_ns) {
        cause->start_ns = more->start_ns;
        cause->duration_ns = more->duration_ns;
        cause->thread = more->thread;
    }
    return replay_edits_add(&cause->bound, &more->bound) != 0 ||
                   replay_edits_add(&cause->estimate, &more->estimate) != 0
               ? ERR_NO_MEMORY
               : 0;
}

/* Adds a cause of another rule. The rate of either is that of both: only one of them is modelled. */
static int take(struct advice_cause *cause, struct advice_cause *other)
{
    text_addf(&cause->what, "; %s", text_string(&other->what));
    if (other->confidence == ADVICE_MODELLED && cause->confidence == ADVICE_MEASURED) {
        cause->confidence = ADVICE_MODELLED;
        text_add(&cause->rate, text_string(&other->rate));
    }
    return text_failed(&cause->what) || text_failed(&cause->rate) ||
                   replay_edits_add(&cause->bound, &other->bound) != 0 ||
                   replay_edits_add(&cause->estimate, &other->estimate) != 0
               ? ERR_NO_MEMORY
               : 0;
}

/* The first cause that takes another one, or NULL. */
static struct advice_cause *taker_of(const struct adviser *adviser, const struct advice_cause *other)
{
    for (size_t i = adviser->judged; i < adviser->count && other->where.length; i++)
        if (adviser->causes[i].takes == other->rule && has_same_text(&adviser->causes[i].where, &other->where))
            return &adviser->causes[i];
    return NULL;
}

static int take_others(struct adviser *adviser)
{
    size_t kept = adviser->judged;
    int code = 0;

    for (size_t i = adviser->judged; i < adviser->count; i++) {
        struct advice_cause *other = &adviser->causes[i], *taker = taker_of(adviser, other);
        if (taker) {
            code |= take(taker, other);
            advice_cause_free(other);
            *other = (struct advice_cause){ 0 };
        }
    }
    for (size_t i = adviser->judged; i < adviser->count; i++)
        if (adviser->causes[i].rule)
            adviser->causes[kept++] = adviser->causes[i];
    adviser->count = kept;
    return code;
}

int adviser_merge(struct adviser *adviser, struct error *err)
{
    struct advice_cause *list = adviser->causes;
    size_t kept = adviser->judged;
    int code = 0;

    for (size_t i = adviser->judged; i < adviser->count; i++) {
        size_t same = adviser->judged;
        while (same < kept && !is_same_change(&list[same], &list[i]))
            same++;
        if (same == kept) {
            list[kept++] = list[i];
            continue;
        }
        code |= advice_merge_join(&list[same], &list[i]);
        advice_cause_free(&list[i]);
    }
    adviser->count = kept;
    for (size_t i = adviser->judged; i < kept; i++)
        if (list[i].figure_count)
            code |= advice_merge_say(adviser, &list[i]);
    code |= take_others(adviser);
    return code != 0 ? error_short_memory(err, "for the advice") : 0;
}
