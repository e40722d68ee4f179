/* Leaves steps that are alike, and joins those that come in a rhythm: see timed_rounds.h. Whether long intervals do
 * more than short ones is asked of a few steps that were recorded, so that a long capture takes no longer. */
#include "timed_rounds.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"
#include "base/text.h"
#include "outer_steps.h"
#include "report/reader/window.h"

enum { LEAST_TRACED = 2, WORK_SAMPLES = 3 };

/* ---- steps of several marks ------------------------------------------------------------------------------------ */

/* The last step of the thread whose steps begin here. */
static size_t last_of_thread(const struct timed_steps *steps, size_t first)
{
    while (first + 1 < steps->count && steps->list[first + 1].thread == steps->list[first].thread)
        first++;
    return first;
}

/* The marks of a thread. */
struct timed_rounds_marks {
    const struct timed_step *list;
    size_t count;
    struct outer_steps outer; /* owned */
    struct outer_work work;
};

static int timed_rounds_find(struct timed_rounds_marks *marks)
{
    int64_t *lengths_ns = array_alloc(marks->count, sizeof *lengths_ns);

    if (!lengths_ns)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < marks->count; i++)
        lengths_ns[i] = saturating_duration(i ? marks->list[i - 1].end_ns : marks->list[i].start_ns,
                                            marks->list[i].end_ns);
    int code = outer_steps_find(&marks->outer, lengths_ns, marks->count);
    free(lengths_ns);
    return code;
}

/* The phase of all marks of a whole step; STEP_SETTLING if they differ, or if the step is none. */
static enum step_phase timed_rounds_phase(const struct timed_rounds_marks *marks, const struct outer_step *step)
{
    enum step_phase phase = marks->list[step->first].phase;

    for (size_t i = step->first; i < step->end; i++)
        if (!step->is_whole || marks->list[i].phase != phase)
            return STEP_SETTLING;
    return phase;
}

/* Counts the events of a table in the marks of a step. */
static int count_rows(struct timed_rounds_marks *marks, const struct outer_step *step, struct report *report,
                      const char *table, struct error *err)
{
    enum { START, THREAD };
    static const char *const names[] = { "start", "globalTid", NULL };
    const struct timed_step *first = &marks->list[step->first], *last = &marks->list[step->end - 1];
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t start_ns = row_int(&rows, START);
        if (row_int_or(&rows, THREAD, 0) != first->thread || start_ns < first->start_ns || start_ns >= last->end_ns)
            continue;
        *(start_ns < first->end_ns ? &marks->work.in_long : &marks->work.in_short) += 1;
    }
    row_cursor_close(&rows);
    return 0;
}

/* A report that has no window, such as a set, is read whole. */
static int timed_rounds_count_work(struct timed_rounds_marks *marks, const struct outer_step *step,
                                   struct report *report, struct error *err)
{
    static const char *const tables[] = { "CUPTI_ACTIVITY_KIND_RUNTIME", "TACHO_TORCH_OP" };
    const struct report_span span = { marks->list[step->first].start_ns, marks->list[step->end - 1].end_ns };
    struct report *window = NULL;
    int code = report_open_window(report, &span, NULL, &window, err);

    if (code == ERR_NO_MEMORY)
        return code;
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if ((code = count_rows(marks, step, window ? window : report, tables[i], err)) != 0)
            goto close_window;
close_window:
    report_close(window);
    return code;
}

static int is_traced(const struct timed_rounds_marks *marks, const struct outer_step *step)
{
    return step->is_whole && timed_rounds_phase(marks, step) == STEP_TRACED;
}

/* Counts work in some traced steps. Forgets the rhythm if there are too few, or if long intervals only take longer. */
static int timed_rounds_check(struct timed_rounds_marks *marks, struct report *report, struct error *err)
{
    const struct outer_steps *outer = &marks->outer;
    size_t traced = 0, seen = 0;
    int code;

    for (size_t i = 0; i < outer->count; i++)
        traced += (size_t)is_traced(marks, &outer->list[i]);
    for (size_t i = 0; i < outer->count && traced >= LEAST_TRACED; i++)
        if (is_traced(marks, &outer->list[i]) && seen++ % (traced / WORK_SAMPLES + 1) == 0 &&
            (code = timed_rounds_count_work(marks, &outer->list[i], report, err)) != 0)
            return code;
    if (!outer_steps_do_more(outer, marks->work))
        outer_steps_free(&marks->outer);
    return 0;
}

/* Puts the steps of a thread in the place of its marks; returns how many there are. */
static size_t timed_rounds_put(const struct timed_rounds_marks *marks, struct timed_step *out)
{
    const struct outer_steps *outer = &marks->outer;

    if (outer->marks == 1) {
        memmove(out, marks->list, marks->count * sizeof *out);
        return marks->count;
    }
    for (size_t i = 0; i < outer->count; i++) {
        const struct outer_step *step = &outer->list[i];
        struct timed_step joined = marks->list[step->first];
        joined.end_ns = marks->list[step->end - 1].end_ns;
        joined.phase = timed_rounds_phase(marks, step);
        joined.number = (int64_t)i;
        joined.marks = (uint32_t)outer->marks;
        out[i] = joined; /* not before the first mark of the step */
    }
    return outer->count;
}

static int join_marks_of_thread(struct timed_rounds_marks *marks, struct report *report, struct error *err)
{
    int code;

    if (!text_begins_with(report_string(report, marks->list->name, NULL), "Optimizer.step#"))
        return 0;
    if (timed_rounds_find(marks) != 0)
        return error_short_memory(err, "for the steps");
    if (marks->outer.marks > 1 && (code = timed_rounds_check(marks, report, err)) != 0)
        return code;
    return 0;
}

static int join_marks(struct timed_steps *steps, struct report *report, struct error *err)
{
    size_t kept = 0;
    int code;

    for (size_t first = 0, end; first < steps->count; first = end) {
        end = last_of_thread(steps, first) + 1;
        struct timed_rounds_marks marks = { .list = steps->list + first, .count = end - first, .outer.marks = 1 };
        if ((code = join_marks_of_thread(&marks, report, err)) != 0) {
            outer_steps_free(&marks.outer);
            return code;
        }
        kept += timed_rounds_put(&marks, steps->list + kept);
        outer_steps_free(&marks.outer);
    }
    steps->count = kept;
    return 0;
}

/* ---- steps that are alike -------------------------------------------------------------------------------------- */

/* The median length of traced steps, or 0. */
static int median_traced(const struct timed_steps *steps, int64_t *out)
{
    int64_t *lengths = malloc((steps->count + 1) * sizeof *lengths);
    size_t count = 0;

    if (!lengths)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->list[i].phase == STEP_TRACED)
            lengths[count++] = saturating_duration(steps->list[i].start_ns, steps->list[i].end_ns);
    if (count)
        qsort(lengths, count, sizeof *lengths, array_by_int64);
    *out = count ? lengths[count / 2] : 0;
    free(lengths);
    return 0;
}

int timed_rounds_settle(struct timed_steps *steps, struct report *report, struct error *err)
{
    size_t kept = 0, last = 0;
    int64_t median_ns;
    int code;

    for (size_t i = 0; i < steps->count; i++) {
        if (!i || steps->list[i].thread != steps->list[i - 1].thread)
            last = last_of_thread(steps, i);
        if (steps->list[i].name == steps->list[last].name)
            steps->list[kept++] = steps->list[i];
    }
    steps->count = kept;
    if ((code = join_marks(steps, report, err)) != 0)
        return code;
    if (median_traced(steps, &median_ns) != 0)
        return error_short_memory(err, "for the steps");
    for (size_t i = 0; i < steps->count; i++) {
        struct timed_step *step = &steps->list[i];
        if (step->phase == STEP_TRACED && saturating_duration(step->start_ns, step->end_ns) / STEP_FAR_OFF > median_ns)
            step->phase = STEP_SETTLING;
    }
    return 0;
}
