/* Stretches of time of threads: see thread_spans.h. */
#include "thread_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { THREAD_STATE_UNSCHEDULED = 6 }; /* of ENUM_SAMPLING_THREAD_STATE: it could have gone on */
#define LONGEST_SAMPLE_NS INT64_C(1000000000) /* what a sample speaks for at most */

int thread_spans_add(struct thread_spans *spans, const struct thread_span *span)
{
    if (array_reserve(&spans->list, &spans->capacity, spans->count + 1, sizeof *span) != 0)
        return ERR_NO_MEMORY;
    spans->list[spans->count++] = *span;
    return 0;
}

void thread_spans_free(struct thread_spans *spans)
{
    free(spans->list);
    *spans = (struct thread_spans){ 0 };
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

int thread_spans_read(struct thread_spans *spans, struct report *report, const struct span_source *source,
                      const struct filter *filter, struct error *err)
{
    enum { START, END, THREAD, NAME, CHAIN, OTHER, PYTHON, CLASS, COLUMNS };
    const char *names[COLUMNS] = { "start",
                                   "end",
                                   "globalTid",
                                   source->name,
                                   source->chain ? source->chain : "",
                                   source->other ? source->other : "",
                                   source->python ? source->python : "",
                                   source->class_column ? source->class_column : "" };
    struct report_columns rows = { 0 };
    int code = columns_read(report, source->table, names, COLUMNS, &rows, err);

    for (size_t row = 0; row < rows.rows && code == 0; row++) {
        if (columns_is_null(&rows, END, row) || columns_is_null(&rows, THREAD, row) ||
            columns_is_null(&rows, NAME, row) ||
            (source->class_column &&
             (columns_is_null(&rows, CLASS, row) || rows.values[CLASS][row] != source->class_value)))
            continue;
        struct thread_span span = {
            rows.values[THREAD][row],
            rows.values[START][row],
            rows.values[END][row],
            rows.values[NAME][row],
            columns_is_null(&rows, CHAIN, row) ? 0 : rows.values[CHAIN][row],
            columns_is_null(&rows, OTHER, row) ? 0 : rows.values[OTHER][row],
            columns_is_null(&rows, PYTHON, row) ? 0 : rows.values[PYTHON][row],
        };
        if (span.end_ns > span.start_ns && filter_thread(filter, span.thread, span.start_ns, span.end_ns))
            code = thread_spans_add(spans, &span);
    }
    if (rows.values)
        report_columns_free(&rows);
    return code == ERR_NO_MEMORY ? error_set(err, code, "not enough memory for the calls of threads") : code;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct thread_span *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread > y->thread ? 1 : -1;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? 1 : -1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static void put_in_order(struct thread_spans *spans)
{
    for (size_t i = 1; i < spans->count; i++)
        if (compare(&spans->list[i - 1], &spans->list[i]) > 0) {
            qsort(spans->list, spans->count, sizeof *spans->list, compare);
            return;
        }
}

void thread_spans_keep_outermost(struct thread_spans *spans)
{
    size_t kept = 0;

    put_in_order(spans);
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

/* Those around the moment at hand, the innermost last. */
struct open_spans {
    const struct thread_span **list;
    size_t count, capacity;
};

static int open_one(struct open_spans *open, const struct thread_span *span)
{
    if (array_reserve(&open->list, &open->capacity, open->count + 1, sizeof *open->list) != 0)
        return ERR_NO_MEMORY;
    open->list[open->count++] = span;
    return 0;
}

/* What is innermost from *at on, up to this time; those that end on the way are closed. */
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

    put_in_order(spans);
    for (size_t i = 0; i <= spans->count && code == 0; i++) {
        const struct thread_span *span = i < spans->count ? &spans->list[i] : NULL;
        int is_next_thread = !span || (i && span->thread != spans->list[i - 1].thread);
        code = emit_until(&out, &open, &at, is_next_thread ? INT64_MAX : span->start_ns);
        if (is_next_thread && span)
            at = span->start_ns;
        if (code == 0 && span)
            code = open_one(&open, span);
    }
    free(open.list);
    if (code == 0) {
        thread_spans_free(spans);
        *spans = out;
    } else {
        thread_spans_free(&out);
    }
    return code;
}

size_t thread_spans_from(const struct thread_spans *spans, int64_t thread, int64_t time_ns, size_t *behind)
{
    size_t low = 0, high = spans->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct thread_span *span = &spans->list[middle];
        if (span->thread < thread || (span->thread == thread && span->end_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    for (high = spans->count, *behind = low; *behind < high;) {
        size_t middle = *behind + (high - *behind) / 2;
        if (spans->list[middle].thread <= thread)
            *behind = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- off the CPU ----------------------------------------------------------------------------------------------- */

int thread_spans_off_cpu(struct thread_spans *spans, struct report *report, const struct filter *filter,
                         struct error *err)
{
    enum { START, THREAD, IS_IN, STATE, COLUMNS };
    static const char *const names[COLUMNS] = { "start", "globalTid", "isSchedIn", "threadState" };
    struct report_columns rows = { 0 };
    struct thread_spans events = { 0 }; /* moments: name is IS_IN, chain the state */
    int code = columns_read(report, "SCHED_EVENTS", names, COLUMNS, &rows, err);

    for (size_t row = 0; row < rows.rows && code == 0; row++)
        if (!columns_is_null(&rows, THREAD, row))
            code = thread_spans_add(&events,
                                    &(struct thread_span){
                                        rows.values[THREAD][row], rows.values[START][row], rows.values[START][row],
                                        rows.values[IS_IN][row] != 0,
                                        columns_is_null(&rows, STATE, row) ? 0 : rows.values[STATE][row], 0, 0 });
    if (rows.values)
        report_columns_free(&rows);
    put_in_order(&events);
    for (size_t i = 0; i + 1 < events.count && code == 0; i++) {
        const struct thread_span *out = &events.list[i], *in = &events.list[i + 1];
        struct thread_span span = { out->thread,
                                    out->start_ns,
                                    in->start_ns,
                                    out->chain == THREAD_STATE_UNSCHEDULED ? OFF_CPU_PREEMPTED : OFF_CPU_BLOCKED,
                                    0,
                                    0,
                                    0 };
        if (out->thread == in->thread && !out->name && in->name && span.start_ns < span.end_ns &&
            filter_thread(filter, span.thread, span.start_ns, span.end_ns))
            code = thread_spans_add(spans, &span);
    }
    thread_spans_free(&events);
    return code == ERR_NO_MEMORY ? error_set(err, code, "not enough memory for the switches of threads") : code;
}

/* ---- samples --------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The usual distance of a thread's samples. */
static int64_t usual_distance(const struct stack_sample *samples, size_t count, int64_t *scratch)
{
    if (count < 2)
        return LONGEST_SAMPLE_NS / 1000;
    for (size_t i = 1; i < count; i++)
        scratch[i - 1] = saturating_duration(samples[i - 1].time_ns, samples[i].time_ns);
    qsort(scratch, count - 1, sizeof *scratch, by_value);
    int64_t median = scratch[(count - 1) / 2];
    return median < 1 ? 1 : median > LONGEST_SAMPLE_NS ? LONGEST_SAMPLE_NS : median;
}

/* The first sample of this thread or of one behind it. */
static size_t first_of(const struct stacks *stacks, int64_t thread)
{
    size_t low = 0, high = stacks->sample_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stacks->samples[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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

static int add_thread(struct thread_spans *spans, const struct stack_sample *samples, size_t count, int64_t *scratch)
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
    int code = scratch ? 0 : ERR_NO_MEMORY;

    for (size_t first = 0, behind; first < stacks->sample_count && code == 0; first = behind) {
        for (behind = first;
             behind < stacks->sample_count && stacks->samples[behind].thread == stacks->samples[first].thread;)
            behind++;
        code = add_thread(spans, stacks->samples + first, behind - first, scratch);
    }
    free(scratch);
    return code;
}
