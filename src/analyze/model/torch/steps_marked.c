/* Steps by what PyTorch calls once a step: Optimizer.step, the next batch of a DataLoader, the outermost module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/outer_steps.h"
#include "base/array.h"
#include "steps_read_state.h"

enum {
    COMPARED = 8,     /* launches at the begin of a step */
    MOST_SKIPPED = 8, /* launches before those */
    MOST_TIMES = 32,  /* a call that is this much rarer than another is not called once a step */
};

static const struct mark_kind {
    const char *words, *table, *begin;
    int ends_step; /* else it begins one */
} steps_marked_kinds[] = {
    { "calls of Optimizer.step", "TACHO_TORCH_OP", "Optimizer.step#", 1 },
    { "batches of a DataLoader", "TACHO_TORCH_OP", "enumerate(DataLoader)#", 0 },
    { "calls of the outermost module", "TACHO_TORCH_PYTHON", "nn.Module: ", 0 },
};

struct mark {
    int64_t process, start_ns, end_ns, name;
};

struct steps_marked_marks {
    struct mark *list; /* owned; by process, then by start; none lies in another */
    size_t count, room;
};

/* ---- calls ----------------------------------------------------------------------------------------------------- */

static int steps_marked_by_place(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    return COMPARE(x->process, y->process) ?: COMPARE(x->start_ns, y->start_ns) ?: COMPARE(y->end_ns, x->end_ns);
}

static void keep_outermost(struct steps_marked_marks *marks)
{
    size_t kept = 0;

    if (marks->count)
        qsort(marks->list, marks->count, sizeof *marks->list, steps_marked_by_place);
    for (size_t i = 0; i < marks->count; i++)
        if (!kept || marks->list[kept - 1].process != marks->list[i].process ||
            marks->list[i].start_ns >= marks->list[kept - 1].end_ns)
            marks->list[kept++] = marks->list[i];
    marks->count = kept;
}

static int steps_marked_read_marks(struct steps_marked_marks *marks, struct report *report,
                                   const struct mark_kind *kind, struct error *err)
{
    enum { START, END, THREAD, NAME };
    static const char *const names[] = {
        [START] = "start", [END] = "end", [THREAD] = "globalTid", [NAME] = "nameId", NULL
    };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, kind->table, names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const char *name = report_string(report, row_int(&rows, NAME), NULL);
        if (!text_begins_with(name, kind->begin) || row_is_null(&rows, END) || row_is_null(&rows, THREAD) ||
            row_int(&rows, END) < row_int(&rows, START)) /* damaged: the ends must follow each other */
            continue;
        if (ARRAY_PUSH(marks->list, marks->room, marks->count,
                       (struct mark){ global_process(row_int(&rows, THREAD)), row_int(&rows, START),
                                      row_int(&rows, END), row_int(&rows, NAME) }) != 0 &&
            (code = error_short_memory(err, "for the steps")) != 0)
            goto close_rows;
    }
    keep_outermost(marks);
close_rows:
    row_cursor_close(&rows);
    return code;
}

struct called {
    size_t calls, first, last;
};

static int count_calls(struct called *called, struct keys *names, const struct mark *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t name = keys_add(names, &list[i].name);
        if (name == NO_KEY)
            return ERR_NO_MEMORY;
        if (!called[name].calls++)
            called[name].first = i;
        called[name].last = i;
    }
    return 0;
}

/* Several optimizers or modules may be called in a step, and some several times: the one that is called least often,
 * over at least half of the time, is called once. Of the same, that is the last one that ends a step, or the first one
 * that begins it. */
static uint32_t steps_marked_choose_name(const struct called *called, size_t names, const struct mark *list,
                                         size_t count, const struct mark_kind *kind)
{
    double whole = (double)list[count - 1].end_ns - (double)list[0].start_ns;
    uint32_t chosen = NO_KEY;
    size_t most = 0;

    for (size_t i = 0; i < names; i++)
        most = called[i].calls > most ? called[i].calls : most;
    for (uint32_t i = 0; i < names; i++) {
        double span = (double)list[called[i].last].end_ns - (double)list[called[i].first].start_ns;
        if (called[i].calls < 2 || called[i].calls * MOST_TIMES < most || 2 * span < whole)
            continue;
        if (chosen == NO_KEY || called[i].calls < called[chosen].calls ||
            (kind->ends_step && called[i].calls == called[chosen].calls))
            chosen = i;
    }
    return chosen;
}

/* Keeps the calls of one name, those that are made once a step. */
static int keep_one_name(struct mark *list, size_t *count, const struct mark_kind *kind, struct error *err)
{
    struct called *called = calloc(*count + 1, sizeof *called);
    struct keys names = { .width = 1 };
    size_t kept = 0;
    int code = 0;

    if ((!called || count_calls(called, &names, list, *count) != 0) &&
        (code = error_short_memory(err, "for the steps")) != 0)
        goto free_names;
    uint32_t chosen = steps_marked_choose_name(called, names.count, list, *count, kind);
    for (size_t i = 0; chosen != NO_KEY && i < *count; i++)
        if (list[i].name == *keys_get(&names, chosen))
            list[kept++] = list[i];
    *count = kept;
free_names:
    keys_free(&names);
    free(called);
    return code;
}

/* ---- the first and the last step ------------------------------------------------------------------------------- */

static int steps_marked_is_same(const struct gpu_sequence *of, size_t a, size_t b, size_t count)
{
    return memcmp(of->symbols + a, of->symbols + b, count * sizeof *of->symbols) == 0;
}

/* The place before `at` from which on the launches are those from `at` on, as near as possible to `wanted`; `at` itself
 * if there is none. */
static size_t find_before(const struct gpu_sequence *of, size_t from, size_t at, size_t wanted, size_t compared)
{
    size_t best = at;

    for (size_t i = from; i + compared <= at; i++)
        if (steps_marked_is_same(of, i, at, compared) &&
            (best == at || i <= wanted || (best < wanted && i - wanted < wanted - best)))
            best = i;
    return best;
}

/* Calls that end steps do not say when the first one begins. It begins like the second: where the launches at the begin
 * of that came before, as near as possible to as many launches before the end as the second step has. The second may
 * begin with what is left of the first, such as the copy of a loss. Returns the end itself if nothing is alike. */
static int64_t steps_marked_first_start(const struct gpu_sequence *of, int64_t end_ns, int64_t next_end_ns)
{
    if (!of)
        return end_ns;
    size_t at = gpu_sequence_from(of, end_ns), launches = gpu_sequence_from(of, next_end_ns) - at;
    size_t compared = launches < COMPARED ? launches : COMPARED, from = at > 2 * launches ? at - 2 * launches : 0;

    for (size_t skipped = 0; skipped <= MOST_SKIPPED && skipped + compared <= launches && compared; skipped++) {
        size_t like = at + skipped, wanted = like > launches ? like - launches : 0;
        size_t best = find_before(of, from, like, wanted, compared);
        if (best >= at)
            continue;
        int64_t start_ns = saturating_subtract(of->start_ns[best], saturating_subtract(of->start_ns[like], end_ns));
        return best > 0 && of->end_ns[best - 1] > start_ns ? of->end_ns[best - 1] : start_ns;
    }
    return end_ns;
}

/* The last step, which no other call ends, ends with as many launches as the step before it has. */
static int64_t steps_marked_last_end(const struct gpu_sequence *of, const struct mark *before, const struct mark *last)
{
    if (!of)
        return last->end_ns;
    size_t from = gpu_sequence_from(of, last->start_ns), behind = from;
    behind += from - gpu_sequence_from(of, before->start_ns);
    behind = behind < of->sequence.count ? behind : of->sequence.count;
    return behind > from && of->end_ns[behind - 1] > last->end_ns ? of->end_ns[behind - 1] : last->end_ns;
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static struct step step_of(const struct mark_kind *kind, const struct gpu_sequence *of, const struct mark *list,
                           size_t count, size_t i)
{
    struct step step = { .process = list->process, .name = STEP_WITHOUT_NAME };

    if (kind->ends_step) {
        step.start_ns = i > 0 ? list[i - 1].end_ns : steps_marked_first_start(of, list[0].end_ns, list[1].end_ns);
        step.end_ns = list[i].end_ns;
    } else {
        step.start_ns = list[i].start_ns;
        step.end_ns = i + 1 < count ? list[i + 1].start_ns : steps_marked_last_end(of, &list[i - 1], &list[i]);
    }
    return step;
}

static size_t launches_in(const struct gpu_sequence *of, const struct step *step)
{
    return gpu_sequence_from(of, step->end_ns) - gpu_sequence_from(of, step->start_ns);
}

/* Whether the long ones of some steps launch more than the short ones. */
static int steps_marked_do_more(const struct outer_steps *outer, const struct gpu_sequence *of, const struct step *list)
{
    struct outer_work work = { 0 };

    for (size_t i = 0; i < outer->count; i++)
        for (size_t at = outer->list[i].first; at < outer->list[i].end && outer->list[i].is_whole; at++)
            *(at == outer->list[i].first ? &work.in_long : &work.in_short) += launches_in(of, &list[at]);
    return outer_steps_do_more(outer, work);
}

/* Joins steps that come in a rhythm (outer_steps.h); returns how many there are. What lies between two whole rounds is
 * a step if it has no more than two of them have, and none at either end of the capture. */
static size_t steps_marked_join(const struct outer_steps *outer, struct step *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < outer->count; i++) {
        const struct outer_step *own = &outer->list[i];
        int is_edge = i == 0 || i + 1 == outer->count;
        if (!own->is_whole && (is_edge || own->end - own->first > 2 * outer->marks))
            continue;
        struct step joined = list[own->first];
        joined.end_ns = list[own->end - 1].end_ns;
        list[kept++] = joined;
    }
    return kept;
}

static void join_rhythm(struct steps *steps, size_t first, const struct gpu_sequence *of,
                        const struct outer_steps *outer, size_t *marks)
{
    struct step *list = steps->list + first;

    if (outer->marks == 1 || !steps_marked_do_more(outer, of, list))
        return;
    *marks = outer->marks;
    steps->count = first + steps_marked_join(outer, list);
}

/* Looks for a rhythm in the steps of a process, the last ones in the list. Sets how many marks a step has, if it has
 * several. */
static int steps_marked_find_rhythm(struct steps *steps, size_t first, const struct gpu_sequence *of, size_t *marks,
                                    struct error *err)
{
    size_t count = steps->count - first;
    int64_t *lengths_ns = array_alloc(count + 1, sizeof *lengths_ns);
    struct outer_steps outer;
    int code = 0;

    if (!lengths_ns)
        return error_short_memory(err, "for the steps");
    for (size_t i = 0; i < count; i++)
        lengths_ns[i] = saturating_duration(steps->list[first + i].start_ns, steps->list[first + i].end_ns);
    if (outer_steps_find(&outer, lengths_ns, count) != 0)
        code = error_short_memory(err, "for the steps");
    else
        join_rhythm(steps, first, of, &outer, marks);
    outer_steps_free(&outer);
    free(lengths_ns);
    return code;
}

/* Adds the steps between the calls of a process. Steps that launch nothing, while others do, are none: the call that
 * finds no more batches. They are no steps at all if most launches lie outside. */
static int steps_marked_add_steps(struct steps_search *search, const struct mark_kind *kind, const struct mark *list,
                                  size_t count, size_t *marks, struct error *err)
{
    const struct gpu_sequence *of = gpu_sequence_of(&search->sequences, list->process);
    size_t before = search->steps->count, inside = 0;
    int code;

    for (size_t i = 0; i < count; i++) {
        struct step step = step_of(kind, of, list, count, i);
        size_t launches = of ? gpu_sequence_from(of, step.end_ns) - gpu_sequence_from(of, step.start_ns) : 1;
        if (step.start_ns >= step.end_ns || !launches)
            continue;
        inside += launches;
        if ((code = steps_add(search, &step, err)) != 0)
            return code;
    }
    if (search->steps->count - before < 2 || (of && 2 * inside < of->sequence.count))
        search->steps->count = before;
    return of && kind->ends_step ? steps_marked_find_rhythm(search->steps, before, of, marks, err) : 0;
}

static int steps_marked_find_kind(struct steps_search *search, const struct mark_kind *kind, struct error *err)
{
    struct steps_marked_marks marks = { 0 };
    size_t of_step = 1;
    int code = steps_marked_read_marks(&marks, search->report, kind, err);

    if (code != 0)
        goto free_marks;
    for (size_t first = 0, i = 1; i <= marks.count; i++) {
        size_t count = i - first;
        if (i < marks.count && marks.list[i].process == marks.list[first].process)
            continue;
        if ((code = keep_one_name(marks.list + first, &count, kind, err)) != 0 ||
            (count > 1 && (code = steps_marked_add_steps(search, kind, marks.list + first, count, &of_step, err)) != 0))
            goto free_marks;
        first = i;
    }
    if (search->steps->count && of_step > 1)
        snprintf(search->steps->source, sizeof search->steps->source, "steps by %zu %s", of_step, kind->words);
    else if (search->steps->count)
        snprintf(search->steps->source, sizeof search->steps->source, "steps by %s", kind->words);
free_marks:
    free(marks.list);
    return code;
}

int steps_find_marked(struct steps_search *search, struct error *err)
{
    int code;

    for (size_t i = 0; i < COUNT_OF(steps_marked_kinds) && !search->steps->count; i++)
        if ((code = steps_marked_find_kind(search, &steps_marked_kinds[i], err)) != 0)
            return code;
    return 0;
}
