/* Compares the findings of two runs: see diff_advice.h.
 *
 * A finding is the same one in both if its rule, its place and its words are, figures and line numbers apart: lines
 * move when a program is repaired. The closest pairs are made first. The joint promise of several findings is a replay
 * without all of them; the gain that they delivered is the change of the step. */
#include "diff_advice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "base/human.h"

/* ---- sides ----------------------------------------------------------------------------------------------------- */

int diff_advice_side_read(struct diff_advice_side *side, struct report *report, const struct analysis_request *part,
                          struct error *err)
{
    int code;

    if ((code = adviser_open(&side->adviser, report, part, err)) != 0 ||
        (code = bare_step_read(&side->bare, report, err)) != 0)
        return code;
    return findings_read(&side->findings, &side->adviser, &(struct findings_request){ .part = part }, err);
}

void diff_advice_side_free(struct diff_advice_side *side)
{
    findings_free(&side->findings);
    adviser_free(&side->adviser);
}

static const struct rule_answer *answer_of(const struct diff_advice_side *side, const struct analysis *rule)
{
    for (size_t i = 0; i < side->findings.answer_count; i++)
        if (side->findings.answers[i].rule == rule)
            return &side->findings.answers[i];
    return NULL;
}

/* ---- pairs ----------------------------------------------------------------------------------------------------- */

/* Appends the words of a text without figures and their units: "launch-bound: kernels of launched in". */
static void add_words(struct text *out, const char *text)
{
    static const char *const units[] = { "ns",      "µs",   "ms", "s",  "min", "h", "%",
                                         "TFLOP/s", "GB/s", "B",  "kB", "MB",  "GB" };

    while (*text) {
        size_t length = strcspn(text, " ,()"), is_left_out = length == 0;
        for (size_t i = 0; i < length; i++)
            is_left_out |= isdigit((unsigned char)text[i]) != 0;
        for (size_t i = 0; i < COUNT_OF(units); i++)
            is_left_out |= strlen(units[i]) == length && strncmp(units[i], text, length) == 0;
        if (!is_left_out) {
            text_add_bytes(out, text, length);
            text_add_char(out, ' ');
        }
        text += length + (text[length] != 0);
    }
}

/* Appends a place without the number of its line: "train.py forward". */
static void diff_advice_add_place(struct text *out, const char *where)
{
    for (; *where; where++) {
        if (*where == ':' && isdigit((unsigned char)where[1]))
            where += strspn(where + 1, "0123456789");
        else
            text_add_char(out, *where);
    }
}

static int same(const struct text *a, const struct text *b, void (*add)(struct text *out, const char *text))
{
    struct text one = { 0 }, two = { 0 };

    add(&one, text_string(a));
    add(&two, text_string(b));
    int is_same = strcmp(text_string(&one), text_string(&two)) == 0;
    text_free(&one);
    text_free(&two);
    return is_same;
}

/* How likely two findings of one rule are the same; 0: they are not. */
static int likeness(const struct finding *a, const struct finding *b)
{
    int place = same(&a->where, &b->where, diff_advice_add_place), words = same(&a->what, &b->what, add_words);

    if (a->rule != b->rule)
        return 0;
    if (place && words)
        return strcmp(text_string(&a->where), text_string(&b->where)) == 0 ? 4 : 3;
    return place && a->where.length ? 2 : words;
}
enum { MOST_ALIKE = 4 };

/* other[i]: the finding after that is finding i before, or NO_OTHER. */
#define NO_OTHER SIZE_MAX
struct pairs {
    size_t *other;  /* owned; by finding before */
    uint8_t *taken; /* owned; by finding after */
};

static int make_pairs(struct pairs *pairs, const struct findings *before, const struct findings *after,
                      struct error *err)
{
    pairs->other = malloc((before->count + 1) * sizeof *pairs->other);
    pairs->taken = calloc(after->count + 1, 1);
    if (!pairs->other || !pairs->taken)
        return error_short_memory(err, "for the findings");
    for (size_t i = 0; i < before->count; i++)
        pairs->other[i] = NO_OTHER;
    for (int least = MOST_ALIKE; least > 0; least--)
        for (size_t i = 0; i < before->count; i++)
            for (size_t j = 0; j < after->count && pairs->other[i] == NO_OTHER; j++)
                if (!pairs->taken[j] && likeness(&before->list[i], &after->list[j]) >= least) {
                    pairs->other[i] = j;
                    pairs->taken[j] = 1;
                }
    return 0;
}

static void free_pairs(struct pairs *pairs)
{
    free(pairs->other);
    free(pairs->taken);
}

static enum diff_advice_state diff_advice_state_of(const struct diff_advice *diff, const struct pairs *pairs,
                                                   size_t finding)
{
    const struct rule_answer *after = answer_of(diff->after, diff->before->findings.list[finding].rule);

    if (pairs->other[finding] != NO_OTHER)
        return ADVICE_REMAINS;
    return !after || after->answer == ANSWER_NOT_CHECKED ? ADVICE_NOT_CHECKED : ADVICE_GONE;
}

/* ---- the step -------------------------------------------------------------------------------------------------- */

/* The steps as the adviser replays them without the profiler, if --advise timed both runs; else as they were recorded:
 * a bare step and a recorded one do not compare. */
static void compare_steps(struct diff_advice *diff)
{
    const struct adviser *before = &diff->before->adviser, *after = &diff->after->adviser;

    diff->has_steps = before->steps->count && after->steps->count;
    diff->is_bare = diff->has_steps && diff->before->bare.bare_ns && diff->after->bare.bare_ns;
    if (!before->steps->count != !after->steps->count || !before->recorded_ns || !after->recorded_ns)
        return;
    diff->before_ns = diff->is_bare ? before->step_ns : before->recorded_ns;
    diff->after_ns = diff->is_bare ? after->step_ns : after->recorded_ns;
}

static int has_saving(const struct finding *finding)
{
    return finding && finding->cause && finding->cause->confidence != ADVICE_TRY;
}

/* The joint promise of the findings that are gone. */
static int sum_up_gone(struct diff_advice *diff, const struct pairs *pairs, struct error *err)
{
    const struct findings *before = &diff->before->findings;
    const struct advice_cause **gone = malloc((before->count + 1) * sizeof *gone);
    int code = 0;

    if (!gone)
        return error_short_memory(err, "for the findings");
    for (size_t i = 0; i < before->count; i++)
        if (has_saving(&before->list[i]) && diff_advice_state_of(diff, pairs, i) == ADVICE_GONE)
            gone[diff->gone++] = before->list[i].cause;
    if (diff->gone)
        code = adviser_combine(&diff->before->adviser, gone, diff->gone, &diff->bound_ns, &diff->estimate_ns, err);
    free(gone);
    return code;
}

enum { BEFORE, AFTER, DELIVERED, OF_BEFORE, GONE, PROMISE, OF, STEP_CELLS };

static int diff_advice_add_step(struct diff_advice *diff)
{
    struct table_cell *row = table_add_row(diff->steps);

    if (!row)
        return ERR_NO_MEMORY;
    if (diff->before_ns) {
        int64_t delivered_ns = saturating_subtract(diff->before_ns, diff->after_ns);
        cell_set_int(&row[BEFORE], diff->before_ns);
        cell_set_int(&row[AFTER], diff->after_ns);
        cell_set_int(&row[DELIVERED], delivered_ns);
        cell_set_real(&row[OF_BEFORE], 100 * (double)delivered_ns / (double)diff->before_ns);
    }
    cell_set_int(&row[GONE], (int64_t)diff->gone);
    if (diff->gone)
        cell_set_int(&row[PROMISE], diff->estimate_ns);
    return cell_set_string(diff->steps, &row[OF],
                           diff->is_bare     ? "bare step"
                           : diff->has_steps ? "recorded step"
                                             : "GPU's part of the run");
}

/* ---- findings -------------------------------------------------------------------------------------------------- */

static const char *const state_names[DIFF_ADVICE_STATES] = {
    [ADVICE_GONE] = "gone",
    [ADVICE_REMAINS] = "remains",
    [ADVICE_NEW] = "new",
    [ADVICE_NOT_CHECKED] = "not checked",
};

enum { STATE, PROMISED, GOT, LEFT, CONFIDENCE, RULE, WHERE, FINDING, ADVICE, CELLS };

/* A row for a finding before, after, or both; NULL: it is not there. */
static int diff_advice_add_change(struct diff_advice *diff, enum diff_advice_state state, const struct finding *before,
                                  const struct finding *after)
{
    struct table *table = diff->changes;
    struct table_cell *row = table_add_row(table);
    const struct finding *last = after ? after : before;

    if (!row)
        return ERR_NO_MEMORY;
    if (has_saving(before))
        cell_set_int(&row[PROMISED], before->cause->estimate_ns);
    if (has_saving(after))
        cell_set_int(&row[LEFT], after->cause->estimate_ns);
    if (state == ADVICE_GONE && has_saving(before) && diff->gone == 1 &&
        diff->before_ns) /* the step's row has the gain of several */
        cell_set_int(&row[GOT], saturating_subtract(diff->before_ns, diff->after_ns));
    if (last->cause && cell_set_string(table, &row[CONFIDENCE], advice_confidence_names[last->cause->confidence]) != 0)
        return ERR_NO_MEMORY;
    if (cell_set_string(table, &row[STATE], state_names[state]) != 0 ||
        cell_set_string(table, &row[RULE], last->rule->name) != 0 ||
        cell_set_built(table, &row[WHERE], &last->where) != 0 || cell_set_built(table, &row[FINDING], &last->what) != 0)
        return ERR_NO_MEMORY;
    return after ? cell_set_string(table, &row[ADVICE], after->advice) : 0;
}

/* Adds findings that are gone or cannot be checked any more; then those that are left, the largest first. */
static int diff_advice_add_changes(struct diff_advice *diff, const struct pairs *pairs)
{
    const struct findings *before = &diff->before->findings, *after = &diff->after->findings;

    for (size_t i = 0; i < before->count; i++)
        if (pairs->other[i] == NO_OTHER &&
            diff_advice_add_change(diff, diff_advice_state_of(diff, pairs, i), &before->list[i], NULL) != 0)
            return ERR_NO_MEMORY;
    for (size_t j = 0; j < after->count; j++) {
        size_t i = 0;
        while (i < before->count && pairs->other[i] != j)
            i++;
        int is_new = i == before->count;
        if (diff_advice_add_change(diff, is_new ? ADVICE_NEW : ADVICE_REMAINS, is_new ? NULL : &before->list[i],
                                   &after->list[j]) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int diff_advice_make_tables(struct diff_advice *diff, const struct pairs *pairs)
{
    static const struct table_column step_columns[STEP_CELLS] = {
        [BEFORE] = { "Before", CELL_INT, UNIT_NS, 0 },        [AFTER] = { "After", CELL_INT, UNIT_NS, 0 },
        [DELIVERED] = { "Delivered", CELL_INT, UNIT_NS, 0 },  [OF_BEFORE] = { "Of Before", CELL_REAL, UNIT_PERCENT, 1 },
        [GONE] = { "Findings Gone", CELL_INT, UNIT_NONE, 0 }, [PROMISE] = { "Promised", CELL_INT, UNIT_NS, 0 },
        [OF] = { "Times Of", CELL_TEXT, UNIT_NONE, 0 },
    };
    static const struct table_column columns[CELLS] = {
        [STATE] = { "State", CELL_TEXT, UNIT_NONE, 0 },
        [PROMISED] = { "Promised", CELL_INT, UNIT_NS, 0 },
        [GOT] = { "Delivered", CELL_INT, UNIT_NS, 0 },
        [LEFT] = { "Left", CELL_INT, UNIT_NS, 0 },
        [CONFIDENCE] = { "Confidence", CELL_TEXT, UNIT_NONE, 0 },
        [RULE] = { "Rule", CELL_TEXT, UNIT_NONE, 0 },
        [WHERE] = { "Where", CELL_TEXT, UNIT_NONE, 0 },
        [FINDING] = { "Finding", CELL_TEXT, UNIT_NONE, 0 },
        [ADVICE] = { "Advice", CELL_TEXT, UNIT_NONE, 0 },
    };

    diff->steps = table_new(step_columns, STEP_CELLS);
    diff->changes = table_new(columns, CELLS);
    if (!diff->steps || !diff->changes || diff_advice_add_step(diff) != 0)
        return ERR_NO_MEMORY;
    return diff_advice_add_changes(diff, pairs);
}

int diff_advice_make(struct diff_advice *diff, struct diff_advice_side *before, struct diff_advice_side *after,
                     struct error *err)
{
    struct pairs pairs = { 0 };
    int code;

    *diff = (struct diff_advice){ .before = before, .after = after };
    compare_steps(diff);
    if ((code = make_pairs(&pairs, &before->findings, &after->findings, err)) != 0 ||
        (code = sum_up_gone(diff, &pairs, err)) != 0)
        goto free_pairs;
    if (diff_advice_make_tables(diff, &pairs) != 0)
        code = error_short_memory(err, "for the findings");
free_pairs:
    free_pairs(&pairs);
    return code;
}

void diff_advice_free(struct diff_advice *diff)
{
    table_delete(diff->steps);
    table_delete(diff->changes);
}

/* ---- in words -------------------------------------------------------------------------------------------------- */

/* "The bare step took 6.54 ms before and 5.01 ms after: 1.53 ms less (23.4 %)." */
static void add_delivered(struct text *out, const struct diff_advice *diff)
{
    int64_t saved_ns = saturating_subtract(diff->before_ns, diff->after_ns);

    if (!diff->before_ns) {
        text_add(out, "What was delivered is not known: the reports have no steps to compare.\n");
        return;
    }
    text_addf(out, "The %s took ",
              diff->is_bare     ? "bare step"
              : diff->has_steps ? "recorded step"
                                : "GPU's part of the run");
    human_time(out, diff->before_ns);
    text_add(out, " before and ");
    human_time(out, diff->after_ns);
    text_add(out, " after: ");
    human_time(out, saved_ns < 0 ? -saved_ns : saved_ns);
    text_addf(out, " %s (%.1f %%).\n", saved_ns < 0 ? "more" : "less",
              100 * (double)(saved_ns < 0 ? -saved_ns : saved_ns) / (double)diff->before_ns);
}

/* "The finding that is gone promised about 1.52 ms (988 µs to 2.43 ms)." */
static void add_promised(struct text *out, const struct diff_advice *diff)
{
    if (!diff->gone) {
        text_add(out, "No finding with a saving is gone. Promised and Left say how those that remain changed.\n");
        return;
    }
    if (diff->gone == 1)
        text_add(out, "The finding that is gone promised ");
    else
        text_addf(out, "The %zu findings that are gone promised together ", diff->gone);
    advice_add_saving(out, adviser_range(&diff->before->adviser, diff->bound_ns, diff->estimate_ns), diff->estimate_ns);
    text_add(out, ".\n");
}

void diff_advice_notes(struct text *out, const struct diff_advice *diff)
{
    const struct findings *after = &diff->after->findings;
    const struct finding *next = after->list;

    add_delivered(out, diff);
    add_promised(out, diff);
    if (!after->count || !next->cause) {
        text_add(out, "Next: no rule found anything that would save 1 % of the step.\n");
        return;
    }
    text_addf(out, "Next: %s", text_string(&next->what));
    if (next->where.length)
        text_addf(out, ", %s", text_string(&next->where));
    text_add(out, ", saves ");
    finding_add_saving(out, next, &diff->after->adviser);
    text_addf(out, ". %s\n", next->advice);
}
