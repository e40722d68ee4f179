/* The savings of causes: see adviser.h. Replays that do not depend on each other run at the same time, and none runs
 * whose result is known or not needed. */
#include <stdlib.h>
#include <string.h>

#include "advice_trials.h"
#include "base/human.h"

static int advice_judge_no_memory(struct error *err)
{
    return error_short_memory(err, "for the advice");
}

/* ---- savings --------------------------------------------------------------------------------------------------- */

static int64_t saved(const struct adviser *adviser, int64_t step_ns)
{
    return adviser->step_ns > step_ns ? saturating_subtract(adviser->step_ns, step_ns) : 0;
}

/* The same if the profiler took as much as it may have. */
static int64_t saved_at_most(const struct adviser *adviser, int64_t least_ns)
{
    return saturating_subtract(adviser->least_step_ns, least_ns);
}

/* The saving in a slow step: steps take longer in one run than in another, and all of that may be the cause's. */
static int64_t in_slow_step(const struct adviser *adviser, int64_t saved_ns)
{
    int64_t slow_ns = adviser->bare.slow_ns,
            mean_ns = adviser->bare.bare_ns > adviser->step_ns ? adviser->bare.bare_ns : adviser->step_ns;

    return mean_ns <= 0 || slow_ns <= mean_ns
               ? saved_ns
               : saturating_from_double((double)saved_ns * ((double)slow_ns / (double)mean_ns));
}

/* No repair saves more: whether the profiler took what it usually does, or as much as it may have. */
static int64_t most_saved(const struct adviser *adviser, const struct advice_steps *step)
{
    int64_t usual_ns = saved(adviser, step->usual_ns), most_ns = saved_at_most(adviser, step->least_ns);

    return adviser->most.count ? in_slow_step(adviser, most_ns > usual_ns ? most_ns : usual_ns) : usual_ns;
}

/* Adds the replay of edits, unless it is known what it yields. */
static int try_usual(struct advice_trials *trials, const struct replay_edits *edits, struct advice_steps *out)
{
    const struct adviser *adviser = trials->adviser;

    if (!edits->count)
        out->usual_ns = adviser->step_ns;
    return out->usual_ns ? 0 : advice_trial_add(trials, REPLAY_EDITS(&adviser->base, edits), &out->usual_ns);
}

static int try_least(struct advice_trials *trials, const struct replay_edits *edits, struct advice_steps *out)
{
    const struct adviser *adviser = trials->adviser;

    if (!edits->count)
        out->least_ns = adviser->least_step_ns;
    return out->least_ns || !adviser->most.count
               ? 0
               : advice_trial_add(trials, REPLAY_EDITS(&adviser->most, edits), &out->least_ns);
}

/* Percent of the estimate. In 46 of the 48 pairs of tests/pairs the repair saved 65 to 160 % of it
 * (bench/results/advice-pairs-h200-2026-11-17.json). Without the bare step the replay has the time of recording in it:
 * programs from outside, whose recorded steps were up to half as long again, saved 45 to 180 %. */
enum {
    LOW_PERCENT = 65,
    HIGH_PERCENT = 160,
    LOW_RECORDED_PERCENT = 45,
    HIGH_RECORDED_PERCENT = 180,
    MOST_PERCENT = 200
};

static int64_t percent_of(int64_t ns, int percent)
{
    return saturating_from_double((double)ns * percent / 100);
}

struct advice_range adviser_range(const struct adviser *adviser, int64_t bound_ns, int64_t estimate_ns)
{
    int is_bare = adviser->bare.bare_ns > 0;
    int64_t low_ns = percent_of(estimate_ns, is_bare ? LOW_PERCENT : LOW_RECORDED_PERCENT),
            high_ns = percent_of(estimate_ns, is_bare ? HIGH_PERCENT : HIGH_RECORDED_PERCENT),
            most_ns = percent_of(estimate_ns, MOST_PERCENT);

    high_ns = bound_ns > most_ns ? most_ns : bound_ns > high_ns ? bound_ns : high_ns;
    return (struct advice_range){ low_ns, high_ns < adviser->step_ns ? high_ns : adviser->step_ns };
}

void advice_add_saving(struct text *out, struct advice_range range, int64_t estimate_ns)
{
    struct text low = { 0 }, high = { 0 };

    human_time(&low, range.low_ns);
    human_time(&high, range.high_ns);
    const char *unit = strchr(text_string(&high), ' '), *low_unit = strchr(text_string(&low), ' ');
    int is_same = unit && low_unit && strcmp(unit, low_unit) == 0 && !strpbrk(unit, "0123456789"); /* "1 h 05 min" */
    text_add(out, "about ");
    human_time(out, estimate_ns);
    text_addf(out, " (%.*s to %s)", is_same ? (int)(low_unit - text_string(&low)) : (int)low.length, text_string(&low),
              text_string(&high));
    text_free(&low);
    text_free(&high);
}

/* ---- verdicts -------------------------------------------------------------------------------------------------- */

static int advice_judge_is_kept(const struct adviser *adviser, const struct advice_cause *cause, int64_t saving_ns)
{
    return cause->confidence == ADVICE_TRY ||
           saving_ns > saturating_multiply(adviser->step_ns, cause->least_percent) / 100;
}

static int are_same(const struct replay_edits *a, const struct replay_edits *b)
{
    return a->count == b->count && (!a->count || memcmp(a->list, b->list, a->count * sizeof *a->list) == 0);
}

/* Sets the bounds of causes that were not judged yet. */
static int judge_bounds(struct adviser *adviser, struct advice_trials *trials, struct error *err)
{
    int code;

    for (size_t i = adviser->judged; i < adviser->count; i++) {
        struct advice_cause *cause = &adviser->causes[i];
        if (try_usual(trials, &cause->bound, &cause->bound_step) != 0 ||
            try_least(trials, &cause->bound, &cause->bound_step) != 0)
            return advice_judge_no_memory(err);
    }
    if ((code = advice_trials_run(trials, err)) != 0)
        return code;
    for (size_t i = adviser->judged; i < adviser->count; i++)
        adviser->causes[i].bound_ns = most_saved(adviser, &adviser->causes[i].bound_step);
    return 0;
}

/* An estimate is never more than the bound, also if the replay of other edits says so. */
static int judge_estimates(struct adviser *adviser, struct advice_trials *trials, struct error *err)
{
    int code;

    for (size_t i = adviser->judged; i < adviser->count; i++) {
        struct advice_cause *cause = &adviser->causes[i];
        if (are_same(&cause->bound, &cause->estimate))
            cause->estimate_step = cause->bound_step;
        if (advice_judge_is_kept(adviser, cause, cause->bound_ns) &&
            try_usual(trials, &cause->estimate, &cause->estimate_step) != 0)
            return advice_judge_no_memory(err);
    }
    if ((code = advice_trials_run(trials, err)) != 0)
        return code;
    for (size_t i = adviser->judged; i < adviser->count; i++) {
        struct advice_cause *cause = &adviser->causes[i];
        int64_t saved_ns = saved(adviser, cause->estimate_step.usual_ns);
        cause->estimate_ns = saved_ns < cause->bound_ns ? saved_ns : cause->bound_ns;
    }
    return 0;
}

/* Sets an estimate to 0 if too little of it remains once the profiler took as much as it may have: then recording may
 * be what was found. */
static int doubt(struct adviser *adviser, struct advice_trials *trials, struct error *err)
{
    int code;

    if (!adviser->most.count)
        return 0;
    for (size_t i = adviser->judged; i < adviser->count; i++) {
        struct advice_cause *cause = &adviser->causes[i];
        if (advice_judge_is_kept(adviser, cause, cause->estimate_ns) &&
            try_least(trials, &cause->estimate, &cause->estimate_step) != 0)
            return advice_judge_no_memory(err);
    }
    if ((code = advice_trials_run(trials, err)) != 0)
        return code;
    for (size_t i = adviser->judged; i < adviser->count; i++) {
        struct advice_cause *cause = &adviser->causes[i];
        if (saved_at_most(adviser, cause->estimate_step.least_ns) <=
            saturating_multiply(adviser->least_step_ns, cause->least_percent) / 100)
            cause->estimate_ns = 0;
    }
    return 0;
}

/* Drops causes that save too little. The others forget their replays: their edits may change, and be judged again. */
static void advice_judge_keep(struct adviser *adviser)
{
    size_t kept = adviser->judged;

    for (size_t i = adviser->judged; i < adviser->count; i++) {
        struct advice_cause *cause = &adviser->causes[i];
        cause->bound_step = cause->estimate_step = (struct advice_steps){ 0 };
        if (advice_judge_is_kept(adviser, cause, cause->estimate_ns))
            adviser->causes[kept++] = *cause;
        else
            advice_cause_free(cause);
    }
    adviser->count = adviser->judged = kept;
}

/* ---- their order ----------------------------------------------------------------------------------------------- */

static int is_general(const struct advice_cause *cause)
{
    return adviser_rule(cause->rule)->order == ADVICE_GENERAL;
}

static int advice_judge_by_rank(const void *a, const void *b)
{
    const struct advice_cause *x = a, *y = b;

    if (x->rank_ns != y->rank_ns)
        return x->rank_ns < y->rank_ns ? 1 : -1;
    if (is_general(x) != is_general(y))
        return is_general(x) ? 1 : -1;
    if (x->estimate_ns != y->estimate_ns)
        return x->estimate_ns < y->estimate_ns ? 1 : -1;
    if (x->bound_ns != y->bound_ns)
        return x->bound_ns < y->bound_ns ? 1 : -1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The time of a step in replays of all special causes together, and of these with each general one, by cause. */
struct ranking {
    struct replay_edits special;
    int64_t special_ns, *step_ns; /* owned */
};

static int try_general(struct adviser *adviser, struct advice_trials *trials, struct ranking *ranking)
{
    if (advice_trial_add(trials, REPLAY_EDITS(&adviser->base, &ranking->special), &ranking->special_ns) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < adviser->count; i++) {
        const struct advice_cause *cause = &adviser->causes[i];
        if (is_general(cause) &&
            advice_trial_add(trials, REPLAY_EDITS(&adviser->base, &ranking->special, &cause->estimate),
                             &ranking->step_ns[i]) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int try_together(struct adviser *adviser, struct advice_trials *trials, struct ranking *ranking,
                        struct error *err)
{
    if (!(ranking->step_ns = calloc(adviser->count, sizeof *ranking->step_ns)))
        return advice_judge_no_memory(err);
    for (size_t i = 0; i < adviser->count; i++)
        if (!is_general(&adviser->causes[i]) && replay_edits_add(&ranking->special, &adviser->causes[i].estimate) != 0)
            return advice_judge_no_memory(err);
    if (ranking->special.count && try_general(adviser, trials, ranking) != 0)
        return advice_judge_no_memory(err);
    return advice_trials_run(trials, err);
}

/* A general cause comes after those of rules that are carried out first if one of these may save as much: within the
 * error of an estimate their order would be chance. */
static void rank_after_first(const struct adviser *adviser, struct advice_cause *general)
{
    for (size_t i = 0; i < adviser->count; i++) {
        const struct advice_cause *cause = &adviser->causes[i];
        if (adviser_rule(cause->rule)->order == ADVICE_FIRST && cause->range.high_ns >= general->estimate_ns &&
            cause->rank_ns < general->rank_ns)
            general->rank_ns = cause->rank_ns;
    }
}

/* A general cause ranks by what it saves in addition to all special ones, if that is less. */
static int rank(struct adviser *adviser, struct advice_trials *trials, struct error *err)
{
    struct ranking ranking = { 0 };
    int code = 0, has_general = 0;

    for (size_t i = 0; i < adviser->count; i++) {
        adviser->causes[i].rank_ns = adviser->causes[i].estimate_ns;
        has_general |= is_general(&adviser->causes[i]);
    }
    if (!has_general)
        return 0;
    code = try_together(adviser, trials, &ranking, err);
    for (size_t i = 0; i < adviser->count && code == 0 && ranking.special.count; i++) {
        struct advice_cause *cause = &adviser->causes[i];
        int64_t more_ns = saturating_subtract(saved(adviser, ranking.step_ns[i]), saved(adviser, ranking.special_ns));
        if (!is_general(cause))
            continue;
        cause->rank_ns = more_ns < cause->rank_ns ? more_ns : cause->rank_ns;
        rank_after_first(adviser, cause);
    }
    replay_edits_free(&ranking.special);
    free(ranking.step_ns);
    return code;
}

int adviser_judge(struct adviser *adviser, struct error *err)
{
    struct advice_trials trials = { .adviser = adviser };
    int code;

    if ((code = adviser_merge(adviser, err)) != 0 || (code = judge_bounds(adviser, &trials, err)) != 0 ||
        (code = judge_estimates(adviser, &trials, err)) != 0 || (code = doubt(adviser, &trials, err)) != 0)
        goto free_trials;
    advice_judge_keep(adviser);
    for (size_t i = 0; i < adviser->count; i++)
        adviser->causes[i].range = adviser_range(adviser, adviser->causes[i].bound_ns, adviser->causes[i].estimate_ns);
    for (size_t i = 0; i < adviser->count; i++)
        if (!adviser->causes[i].where.length && (code = advice_find_where(adviser, &adviser->causes[i], err)) != 0)
            goto free_trials;
    if ((code = rank(adviser, &trials, err)) == 0 && adviser->count)
        qsort(adviser->causes, adviser->count, sizeof *adviser->causes, advice_judge_by_rank);
free_trials:
    advice_trials_free(&trials);
    return code;
}

/* ---- together -------------------------------------------------------------------------------------------------- */

/* Replays two lists of edits. */
static int try_both(struct adviser *adviser, const struct replay_edits *bound, const struct replay_edits *estimate,
                    struct advice_steps *bound_step, struct advice_steps *estimate_step, struct error *err)
{
    struct advice_trials trials = { .adviser = adviser };
    int code = try_usual(&trials, bound, bound_step) != 0 || try_least(&trials, bound, bound_step) != 0 ||
                       try_usual(&trials, estimate, estimate_step) != 0
                   ? advice_judge_no_memory(err)
                   : advice_trials_run(&trials, err);

    advice_trials_free(&trials);
    return code;
}

int adviser_combine(struct adviser *adviser, const struct advice_cause *const *causes, size_t count, int64_t *bound_ns,
                    int64_t *estimate_ns, struct error *err)
{
    struct replay_edits bound = { 0 }, estimate = { 0 };
    struct advice_steps bound_step = { 0 }, estimate_step = { 0 };
    int code = 0;

    for (size_t i = 0; i < count; i++)
        if (replay_edits_add(&bound, &causes[i]->bound) != 0 ||
            replay_edits_add(&estimate, &causes[i]->estimate) != 0) {
            code = advice_judge_no_memory(err);
            goto free_edits;
        }
    if ((code = try_both(adviser, &bound, &estimate, &bound_step, &estimate_step, err)) != 0)
        goto free_edits;
    *bound_ns = most_saved(adviser, &bound_step);
    *estimate_ns = saved(adviser, estimate_step.usual_ns);
    for (size_t i = 0; i < count; i++)
        *bound_ns = causes[i]->bound_ns > *bound_ns ? causes[i]->bound_ns : *bound_ns;
    *estimate_ns = *estimate_ns < *bound_ns ? *estimate_ns : *bound_ns;
free_edits:
    replay_edits_free(&bound);
    replay_edits_free(&estimate);
    return code;
}

int adviser_combine_first(struct adviser *adviser, size_t count, int64_t *bound_ns, int64_t *estimate_ns,
                          struct error *err)
{
    const struct advice_cause **first = malloc((count + 1) * sizeof *first);
    int code;

    count = count < adviser->count ? count : adviser->count;
    for (size_t i = 0; first && i < count; i++)
        first[i] = &adviser->causes[i];
    code = first ? adviser_combine(adviser, first, count, bound_ns, estimate_ns, err) : advice_judge_no_memory(err);
    free(first);
    return code;
}
