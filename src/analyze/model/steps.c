/* Sorts steps by process, drops steps that lie in others, chooses steps, and finds them by time. torch/steps_read.c
 * reads them from reports. */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/names/operator_text.h"
#include "base/array.h"

void steps_free(struct steps *steps)
{
    free(steps->list);
    free(steps->processes);
    *steps = (struct steps){ 0 };
}

/* ---- a part of them -------------------------------------------------------------------------------------------- */

static int steps_is_inside(const struct step *step, const struct report_span *span)
{
    return step->start_ns >= span->from_ns && step->end_ns <= span->to_ns;
}

static size_t steps_count_inside(const struct steps *steps, size_t first, size_t end, const struct report_span *span)
{
    size_t count = 0;

    for (size_t i = first; i < end; i++)
        count += (size_t)steps_is_inside(&steps->list[i], span);
    return count;
}

void steps_keep(struct steps *steps, const struct report_span *span)
{
    size_t kept = 0;

    for (size_t i = 0; i < steps->process_count; i++) {
        struct step_process *one = &steps->processes[i];
        size_t end = one->first + one->count;
        one->count = steps_count_inside(steps, one->first, end, span);
        one->first = steps_count_inside(steps, 0, one->first, span);
    }
    for (size_t i = 0; i < steps->count; i++)
        if (steps_is_inside(&steps->list[i], span))
            steps->list[kept++] = steps->list[i];
    steps->count = kept;
}

/* ---- in order -------------------------------------------------------------------------------------------------- */

static int steps_by_place(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    return COMPARE(x->process, y->process) ?: COMPARE(x->start_ns, y->start_ns) ?: COMPARE(y->end_ns, x->end_ns);
}

/* Keeps the first of the steps that overlap in a process: the outer one if they nest. */
static void drop_inner(struct steps *steps)
{
    size_t kept = 0;

    for (size_t i = 0; i < steps->count; i++) {
        const struct step *last = kept ? &steps->list[kept - 1] : NULL;
        if (last && last->process == steps->list[i].process && steps->list[i].start_ns < last->end_ns)
            continue;
        steps->list[kept++] = steps->list[i];
    }
    steps->count = kept;
}

static int steps_add_process(struct steps *steps, struct step_process process)
{
    return ARRAY_PUSH(steps->processes, steps->process_room, steps->process_count, process);
}

static int steps_find_own(struct steps *steps)
{
    for (size_t first = 0, i = 1; i <= steps->count; i++) {
        if (i < steps->count && steps->list[i].process == steps->list[first].process)
            continue;
        if (steps->count &&
            steps_add_process(steps, (struct step_process){ steps->list[first].process, first, i - first }) != 0)
            return ERR_NO_MEMORY;
        first = i;
    }
    steps->own_count = steps->process_count;
    return 0;
}

static const struct step_process *own_steps(const struct steps *steps, int64_t process)
{
    for (size_t i = 0; i < steps->own_count; i++)
        if (steps->processes[i].process == process)
            return &steps->processes[i];
    return NULL;
}

/* The nearest ancestor with steps. The depth is limited, since the parents in a damaged report may form a cycle. */
enum { PROCESS, PARENT, PROCESS_COLUMNS }; /* of TACHO_PROCESS */
static const struct step_process *nearest_ancestor(const struct steps *steps, const struct report_columns *rows,
                                                   int64_t process)
{
    for (int depth = 0; depth < 64; depth++) {
        const struct step_process *found = own_steps(steps, process);
        if (found)
            return found;
        size_t row = 0;
        while (row < rows->rows && (rows->values[PROCESS][row] != process || columns_is_null(rows, PARENT, row) ||
                                    rows->values[PARENT][row] == process))
            row++;
        if (row == rows->rows)
            return NULL;
        process = rows->values[PARENT][row];
    }
    return NULL;
}

static int by_process(const void *a, const void *b)
{
    int64_t x = ((const struct step_process *)a)->process, y = ((const struct step_process *)b)->process;

    return (x > y) - (x < y);
}

static int find_children(struct steps *steps, struct report *report, struct error *err)
{
    static const char *const names[PROCESS_COLUMNS] = { [PROCESS] = "globalPid", [PARENT] = "parentGlobalPid" };
    struct report_columns rows = { 0 };
    int code;

    if ((code = columns_read(report, "TACHO_PROCESS", names, PROCESS_COLUMNS, &rows, err)) != 0)
        return code;
    for (size_t row = 0; row < rows.rows; row++) {
        int64_t process = rows.values[PROCESS][row];
        const struct step_process *found = own_steps(steps, process) ? NULL : nearest_ancestor(steps, &rows, process);
        if (found && steps_add_process(steps, (struct step_process){ process, found->first, found->count }) != 0 &&
            (code = error_short_memory(err, "for the steps")) != 0)
            goto free_rows;
    }
    if (steps->process_count)
        qsort(steps->processes, steps->process_count, sizeof *steps->processes, by_process);
free_rows:
    report_columns_free(&rows);
    return code;
}

int steps_arrange(struct steps *steps, struct report *report, struct error *err)
{
    if (steps->count)
        qsort(steps->list, steps->count, sizeof *steps->list, steps_by_place);
    drop_inner(steps);
    if (steps_find_own(steps) != 0)
        return error_short_memory(err, "for the steps");
    return find_children(steps, report, err);
}

/* ---- found ----------------------------------------------------------------------------------------------------- */

const struct step_process *steps_of(const struct steps *steps, int64_t process)
{
    size_t first = BISECT(0, steps->process_count, i, steps->processes[i].process < process);

    if (first < steps->process_count && steps->processes[first].process == process)
        return &steps->processes[first];
    return steps->own_count == 1 ? &steps->processes[0] : NULL;
}

size_t steps_from(const struct steps *steps, const struct step_process *own, int64_t time_ns)
{
    return BISECT(own->first, own->first + own->count, i, steps->list[i].end_ns <= time_ns);
}

static uint32_t steps_find(const struct steps *steps, int64_t process, int64_t time_ns, int with_gaps)
{
    const struct step_process *own = steps_of(steps, process);

    if (!own)
        return NO_STEP;
    size_t at = steps_from(steps, own, time_ns);
    if (at == own->first + own->count)
        return NO_STEP;
    return steps->list[at].start_ns <= time_ns || (with_gaps && at > own->first) ? (uint32_t)at : NO_STEP;
}

uint32_t steps_at(const struct steps *steps, int64_t process, int64_t time_ns)
{
    return steps_find(steps, process, time_ns, 0);
}

uint32_t steps_period_at(const struct steps *steps, int64_t process, int64_t time_ns)
{
    return steps_find(steps, process, time_ns, steps->are_ranges);
}

void step_label(struct text *out, struct report *report, const struct step *step)
{
    size_t length;

    text_clear(out);
    if (step->name < 0) {
        text_addf(out, step->name == STEP_OF_PROFILER ? "ProfilerStep#%lld" : "step %lld", (long long)step->number);
        return;
    }
    const char *name = report_string(report, step->name, &length);
    text_add_bytes(out, name, operator_name_length(name, length));
}

/* ---- chosen ---------------------------------------------------------------------------------------------------- */

/* "3", "3-7", "3-" or "-7". */
static int parse_part(const char *text, size_t length, int64_t *first, int64_t *last)
{
    const char *end = text + length, *dash = memchr(text, '-', length);
    int64_t *out[2] = { first, last };
    const char *from[2] = { text, dash ? dash + 1 : text }, *to[2] = { dash ? dash : end, end };

    *first = 0;
    *last = INT64_MAX;
    if (!length || (length == 1 && dash))
        return 0;
    for (int side = 0; side < 2; side++) {
        if (from[side] == to[side])
            continue;
        if (to[side] - from[side] > 17)
            return 0;
        *out[side] = 0;
        for (const char *at = from[side]; at < to[side]; at++) {
            if ((unsigned char)(*at - '0') > 9)
                return 0;
            *out[side] = *out[side] * 10 + (*at - '0');
        }
    }
    return *first <= *last;
}

static int steps_choose_part(struct steps *steps, int64_t first, int64_t last)
{
    int found = 0;

    for (size_t i = 0; i < steps->count; i++)
        if (steps->list[i].number >= first && steps->list[i].number <= last)
            found = steps->list[i].is_chosen = 1;
    return found;
}

static int steps_complain(const struct steps *steps, const char *part, size_t length, struct error *err)
{
    int64_t least = INT64_MAX, greatest = INT64_MIN;

    for (size_t i = 0; i < steps->count; i++) {
        least = steps->list[i].number < least ? steps->list[i].number : least;
        greatest = steps->list[i].number > greatest ? steps->list[i].number : greatest;
    }
    return error_set(err, ERR_BAD_ARGUMENT, "no step %.*s: %s are numbered %lld to %lld", (int)length, part,
                     steps->source, (long long)least, (long long)greatest);
}

int steps_check(const char *list, struct error *err)
{
    for (const char *part = list;;) {
        size_t length = strcspn(part, ",");
        int64_t first, last;
        if (!parse_part(part, length, &first, &last))
            return error_set(err, ERR_BAD_ARGUMENT,
                             "--steps must be N, N-M or N-, or several separated by commas "
                             "(3,5,9-), not '%s'",
                             list);
        if (!part[length])
            return 0;
        part += length + 1;
    }
}

int steps_choose(struct steps *steps, const char *list, struct error *err)
{
    int code;

    if ((code = steps_check(list, err)) != 0)
        return code;
    for (size_t i = 0; i < steps->count; i++)
        steps->list[i].is_chosen = 0;
    for (const char *part = list;;) {
        size_t length = strcspn(part, ",");
        int64_t first, last;
        if (!parse_part(part, length, &first, &last) || !steps_choose_part(steps, first, last))
            return steps_complain(steps, part, length, err);
        if (!part[length])
            return 0;
        part += length + 1;
    }
}
