/* Spans of time of threads: see thread_spans.h. */
#include "thread_spans.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "analyze/model/ranges.h"
#include "base/array.h"

enum { THREAD_STATE_UNSCHEDULED = 6 }; /* of ENUM_SAMPLING_THREAD_STATE: preempted */
#define LONGEST_SAMPLE_NS INT64_C(1000000000) /* the longest time that a sample represents */

int thread_spans_add(struct thread_spans *spans, const struct thread_span *span)
{
    return ARRAY_PUSH(spans->list, spans->capacity, spans->count, *span);
}

void thread_spans_free(struct thread_spans *spans)
{
    free(spans->list);
    *spans = (struct thread_spans){ 0 };
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

enum { START, END, THREAD, NAME, CHAIN, OTHER, PYTHON, CLASS, COLUMNS };

/* Whether a row has all that a span needs, and the source's class. */
static int is_span(const struct report_columns *rows, size_t row, const struct thread_span_source *source)
{
    if (columns_is_null(rows, END, row) || columns_is_null(rows, THREAD, row) || columns_is_null(rows, NAME, row))
        return 0;
    return !source->class_column ||
           (!columns_is_null(rows, CLASS, row) && rows->values[CLASS][row] == source->class_value);
}

static inline int64_t value_or_0(const struct report_columns *rows, int column, size_t row)
{
    return columns_is_null(rows, (size_t)column, row) ? 0 : rows->values[column][row];
}

/* Tables are in the order of time: rows are put in that of threads before they become spans, which are larger. */
static int thread_spans_add_rows(struct thread_spans *spans, const struct report_columns *rows,
                                 const struct thread_span_source *source, const struct filter *filter)
{
    const int64_t *thread = rows->values[THREAD], *start = rows->values[START], *end = rows->values[END];
    uint32_t *order = malloc((rows->rows + 1) * sizeof *order);
    size_t count = 0;
    int code = ERR_NO_MEMORY;

    if (!order || rows->rows >= UINT32_MAX)
        goto free_order;
    for (size_t row = 0; row < rows->rows; row++)
        if (is_span(rows, row, source) && end[row] > start[row] &&
            filter_thread(filter, thread[row], start[row], end[row]))
            order[count++] = (uint32_t)row;
    if ((code = order_by_thread(order, count, thread, start)) != 0 ||
        (code = array_reserve(&spans->list, &spans->capacity, spans->count + count, sizeof *spans->list)) != 0)
        goto free_order;
    for (size_t i = 0; i < count; i++)
        spans->list[spans->count++] = (struct thread_span){
            .thread = thread[order[i]],
            .start_ns = start[order[i]],
            .end_ns = end[order[i]],
            .name = rows->values[NAME][order[i]],
            .chain = value_or_0(rows, CHAIN, order[i]),
            .other = value_or_0(rows, OTHER, order[i]),
            .python = value_or_0(rows, PYTHON, order[i]),
        };
free_order:
    free(order);
    return code;
}

int thread_spans_read(struct thread_spans *spans, struct report *report, const struct thread_span_source *source,
                      const struct filter *filter, struct error *err)
{
    const char *names[COLUMNS] = {
        [START] = "start",
        [END] = "end",
        [THREAD] = "globalTid",
        [NAME] = source->name,
        [CHAIN] = source->chain ? source->chain : "",
        [OTHER] = source->other ? source->other : "",
        [PYTHON] = source->python ? source->python : "",
        [CLASS] = source->class_column ? source->class_column : "",
    };
    struct report_columns rows = { 0 };
    int code;

    if ((code = columns_read(report, source->table, names, COLUMNS, &rows, err)) != 0)
        return code;
    if (rows.rows && thread_spans_add_rows(spans, &rows, source, filter) != 0)
        code = error_short_memory(err, "for the calls of threads");
    report_columns_free(&rows);
    return code;
}

int thread_spans_ranges(struct thread_spans *spans, struct report *report, const struct filter *filter,
                        struct error *err)
{
    struct ranges ranges = { 0 };
    int code = ranges_read(&ranges, report, RANGE_PUSHPOP, filter, err);

    if (code != 0)
        goto free_ranges;
    for (size_t i = 0; i < ranges.count; i++) {
        const struct range *range = &ranges.list[i];
        struct thread_span span = { range->thread, range->start_ns, range->end_ns, range->name, 0, 0, 0 };
        if (range->name != NVTX_NO_NAME && span.start_ns < span.end_ns && thread_spans_add(spans, &span) != 0 &&
            (code = error_short_memory(err, "for the ranges")) != 0)
            goto free_ranges;
    }
free_ranges:
    ranges_free(&ranges);
    return code;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static int thread_spans_compare(const void *a, const void *b)
{
    const struct thread_span *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns) ?: COMPARE(y->end_ns, x->end_ns);
}

/* Spans of one table are nearly in order: of those that begin together, the longer may come last. */
void thread_spans_sort(struct thread_spans *spans)
{
    size_t moves_left = spans->count;

    for (size_t i = 1; i < spans->count; i++) {
        if (thread_spans_compare(&spans->list[i - 1], &spans->list[i]) <= 0)
            continue;
        struct thread_span span = spans->list[i];
        size_t at = i;
        for (; at > 0 && moves_left > 0 && thread_spans_compare(&spans->list[at - 1], &span) > 0; at--, moves_left--)
            spans->list[at] = spans->list[at - 1];
        spans->list[at] = span;
        if (moves_left == 0) {
            qsort(spans->list, spans->count, sizeof *spans->list, thread_spans_compare);
            return;
        }
    }
}

void thread_spans_keep_outermost(struct thread_spans *spans)
{
    size_t kept = 0;

    thread_spans_sort(spans);
    for (size_t i = 0; i < spans->count; i++) {
        struct thread_span span = spans->list[i];
        const struct thread_span *last = kept ? &spans->list[kept - 1] : NULL;
        if (last && last->thread == span.thread && span.start_ns < last->end_ns)
            span.start_ns = last->end_ns;
        if (span.start_ns < span.end_ns)
            spans->list[kept++] = span;
    }
    spans->count = kept;
}

/* The spans around the current time, the innermost last. */
struct open_spans {
    const struct thread_span **list;
    size_t count, capacity;
};

static int thread_spans_open_one(struct open_spans *open, const struct thread_span *span)
{
    return ARRAY_PUSH(open->list, open->capacity, open->count, span);
}

/* Emits the innermost span at each time from *at to `until`, and closes the spans that end before. */
static int emit_until(struct thread_spans *out, struct open_spans *open, int64_t *at, int64_t until)
{
    while (open->count) {
        const struct thread_span *top = open->list[open->count - 1];
        int64_t end = top->end_ns < until ? top->end_ns : until;
        struct thread_span piece = *top;
        piece.start_ns = *at;
        piece.end_ns = end;
        if (*at < end && thread_spans_add(out, &piece) != 0)
            return ERR_NO_MEMORY;
        *at = end > *at ? end : *at;
        if (top->end_ns > until)
            return 0;
        open->count--;
    }
    *at = until;
    return 0;
}

int thread_spans_keep_innermost(struct thread_spans *spans)
{
    struct thread_spans out = { 0 };
    struct open_spans open = { 0 };
    int64_t at = INT64_MIN;
    int code = 0;

    thread_spans_sort(spans);
    for (size_t i = 0; i < spans->count; i++) {
        const struct thread_span *span = &spans->list[i];
        int is_next_thread = i && span->thread != spans->list[i - 1].thread;
        if ((code = emit_until(&out, &open, &at, is_next_thread ? INT64_MAX : span->start_ns)) != 0)
            goto done;
        if (is_next_thread)
            at = span->start_ns;
        if ((code = thread_spans_open_one(&open, span)) != 0)
            goto done;
    }
    if ((code = emit_until(&out, &open, &at, INT64_MAX)) != 0)
        goto done;
    thread_spans_free(spans);
    *spans = out;
    out = (struct thread_spans){ 0 };
done:
    free(open.list);
    thread_spans_free(&out);
    return code;
}

size_t thread_spans_from(const struct thread_spans *spans, int64_t thread, int64_t time_ns, size_t *behind)
{
    size_t first = BISECT(0, spans->count, i,
                          spans->list[i].thread < thread ||
                              (spans->list[i].thread == thread && spans->list[i].end_ns <= time_ns));

    *behind = BISECT(first, spans->count, i, spans->list[i].thread <= thread);
    return first;
}

/* ---- off the CPU ----------------------------------------------------------------------------------------------- */

/* The context switches as spans of length 0: name is 1 for a switch to the thread and 0 for a switch from it, chain the
 * thread's state, other the thread that the CPU was switched to. */
enum { SWITCH_TIME, SWITCH_THREAD, SWITCH_IS_IN, SWITCH_STATE, SWITCH_CPU, SWITCH_COLUMNS };
enum { SAME_SWITCH_NS = 20000 }; /* a switch from a thread and one to the next are one, if they are no further apart */

/* The rows of known threads, as they come. Returns their number. */
static size_t list_switches(const struct report_columns *rows, uint32_t *order)
{
    size_t count = 0;

    for (size_t row = 0; row < rows->rows; row++)
        if (!columns_is_null(rows, SWITCH_THREAD, row))
            order[count++] = (uint32_t)row;
    return count;
}

/* Sets other[row] to the thread that follows on the CPU. */
static int find_successors(const struct report_columns *rows, uint32_t *order, int64_t *other)
{
    const int64_t *time = rows->values[SWITCH_TIME], *cpu = rows->values[SWITCH_CPU];
    size_t count = list_switches(rows, order);

    if (order_by_thread(order, count, cpu, time) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i + 1 < count; i++) {
        uint32_t from = order[i], to = order[i + 1];
        if (cpu[from] == cpu[to] && !rows->values[SWITCH_IS_IN][from] && rows->values[SWITCH_IS_IN][to] &&
            saturating_duration(time[from], time[to]) <= SAME_SWITCH_NS)
            other[from] = rows->values[SWITCH_THREAD][to];
    }
    return 0;
}

static int add_switches(struct thread_spans *switches, const struct report_columns *rows)
{
    uint32_t *order = malloc((rows->rows + 1) * sizeof *order);
    int64_t *other = calloc(rows->rows + 1, sizeof *other);
    size_t count;
    int code = ERR_NO_MEMORY;

    if (!order || !other || rows->rows >= UINT32_MAX || (code = find_successors(rows, order, other)) != 0)
        goto free_order;
    count = list_switches(rows, order);
    if ((code = order_by_thread(order, count, rows->values[SWITCH_THREAD], rows->values[SWITCH_TIME])) != 0 ||
        (code = array_reserve(&switches->list, &switches->capacity, count, sizeof *switches->list)) != 0)
        goto free_order;
    for (size_t i = 0; i < count; i++)
        switches->list[switches->count++] = (struct thread_span){
            .thread = rows->values[SWITCH_THREAD][order[i]],
            .start_ns = rows->values[SWITCH_TIME][order[i]],
            .end_ns = rows->values[SWITCH_TIME][order[i]],
            .name = rows->values[SWITCH_IS_IN][order[i]] != 0,
            .chain = value_or_0(rows, SWITCH_STATE, order[i]),
            .other = other[order[i]],
        };
free_order:
    free(order);
    free(other);
    return code;
}

/* By thread, then by time. */
static int thread_spans_read_switches(struct thread_spans *switches, struct report *report, struct error *err)
{
    static const char *const names[SWITCH_COLUMNS] = { [SWITCH_TIME] = "start",
                                                       [SWITCH_THREAD] = "globalTid",
                                                       [SWITCH_IS_IN] = "isSchedIn",
                                                       [SWITCH_STATE] = "threadState",
                                                       [SWITCH_CPU] = "cpu" };
    struct report_columns rows = { 0 };
    int code;

    if ((code = columns_read(report, "SCHED_EVENTS", names, SWITCH_COLUMNS, &rows, err)) != 0)
        return code;
    if (rows.rows && add_switches(switches, &rows) != 0)
        code = error_short_memory(err, "for the switches of threads");
    report_columns_free(&rows);
    return code;
}

int thread_spans_off_cpu(struct thread_spans *spans, struct report *report, const struct filter *filter,
                         struct error *err)
{
    struct thread_spans switches = { 0 };
    int code;

    if ((code = thread_spans_read_switches(&switches, report, err)) != 0)
        goto free_switches;
    for (size_t i = 0; i + 1 < switches.count; i++) {
        const struct thread_span *out = &switches.list[i], *in = &switches.list[i + 1];
        struct thread_span span = {
            .thread = out->thread,
            .start_ns = out->start_ns,
            .end_ns = in->start_ns,
            .name = out->chain == THREAD_STATE_UNSCHEDULED ? OFF_CPU_PREEMPTED : OFF_CPU_BLOCKED,
            .other = out->other,
        };
        if (out->thread == in->thread && !out->name && in->name && span.start_ns < span.end_ns &&
            filter_thread(filter, span.thread, span.start_ns, span.end_ns) && thread_spans_add(spans, &span) != 0 &&
            (code = error_short_memory(err, "for the switches of threads")) != 0)
            goto free_switches;
    }
free_switches:
    thread_spans_free(&switches);
    return code;
}

int thread_spans_gone(struct thread_spans *spans, struct report *report, struct error *err)
{
    struct thread_spans switches = { 0 };
    int code;

    if ((code = thread_spans_read_switches(&switches, report, err)) != 0)
        goto free_switches;
    for (size_t i = 0; i < switches.count; i++) {
        const struct thread_span *last = &switches.list[i];
        int is_last = i + 1 == switches.count || last[1].thread != last->thread;
        if (is_last && !last->name &&
            thread_spans_add(spans, &(struct thread_span){ .thread = last->thread,
                                                           .start_ns = last->start_ns,
                                                           .end_ns = INT64_MAX }) != 0 &&
            (code = error_short_memory(err, "for the switches of threads")) != 0)
            goto free_switches;
    }
free_switches:
    thread_spans_free(&switches);
    return code;
}

/* ---- samples --------------------------------------------------------------------------------------------------- */

/* The usual distance of a thread's samples. */
static int64_t usual_distance(const struct stack_sample *samples, size_t count, int64_t *scratch)
{
    if (count < 2)
        return LONGEST_SAMPLE_NS / 1000;
    for (size_t i = 1; i < count; i++)
        scratch[i - 1] = saturating_duration(samples[i - 1].time_ns, samples[i].time_ns);
    qsort(scratch, count - 1, sizeof *scratch, array_by_int64);
    int64_t median = scratch[(count - 1) / 2];
    return median < 1 ? 1 : median > LONGEST_SAMPLE_NS ? LONGEST_SAMPLE_NS : median;
}

/* The first sample of this thread or, if it has none, of the next. */
static size_t first_of(const struct stacks *stacks, int64_t thread)
{
    return BISECT(0, stacks->sample_count, i, stacks->samples[i].thread < thread);
}

int stack_samples_distance(const struct stacks *stacks, int64_t thread, int64_t *out)
{
    size_t first = first_of(stacks, thread),
           behind = thread == INT64_MAX ? stacks->sample_count : first_of(stacks, thread + 1);
    int64_t *scratch = malloc((behind - first + 1) * sizeof *scratch);

    if (!scratch)
        return ERR_NO_MEMORY;
    *out = usual_distance(behind > first ? stacks->samples + first : NULL, behind - first, scratch);
    free(scratch);
    return 0;
}

static int thread_spans_add_thread(struct thread_spans *spans, const struct stack_sample *samples, size_t count,
                                   int64_t *scratch)
{
    int64_t reach = usual_distance(samples, count, scratch);

    for (size_t i = 0; i < count; i++) {
        int64_t time = samples[i].time_ns, before = saturating_subtract(time, reach),
                after = saturating_add(time, reach);
        if (i && saturating_duration(samples[i - 1].time_ns, time) / 2 < reach)
            before = saturating_subtract(time, saturating_duration(samples[i - 1].time_ns, time) / 2);
        if (i + 1 < count && saturating_duration(time, samples[i + 1].time_ns) < 2 * reach)
            after = saturating_subtract(samples[i + 1].time_ns, saturating_duration(time, samples[i + 1].time_ns) / 2);
        struct thread_span span = { samples[i].thread, before, after, 0, samples[i].stack, 0, 0 };
        if (before < after && thread_spans_add(spans, &span) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int thread_spans_samples(struct thread_spans *spans, const struct stacks *stacks)
{
    int64_t *scratch = malloc((stacks->sample_count + 1) * sizeof *scratch);
    int code = 0;

    if (!scratch)
        return ERR_NO_MEMORY;
    for (size_t first = 0, behind; first < stacks->sample_count; first = behind) {
        for (behind = first;
             behind < stacks->sample_count && stacks->samples[behind].thread == stacks->samples[first].thread;)
            behind++;
        if ((code = thread_spans_add_thread(spans, stacks->samples + first, behind - first, scratch)) != 0)
            goto free_scratch;
    }
free_scratch:
    free(scratch);
    return code;
}
