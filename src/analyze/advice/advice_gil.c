/* Waits for the GIL: see advice_gil.h. A round of the sampler looks at all threads of a process at one time, and stands
 * for the time up to the next one. Threads that Python does not know, such as those of autograd, are not sampled, but
 * need the GIL to free an object. Python waits for it in pthread_cond_timedwait(): such a wait of a thread without
 * samples, while another thread holds the GIL, is one for the GIL. */
#include "advice_gil.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "base/array.h"
#include "base/saturating.h"

enum { HOLDS = 1, WAITS = 2 };
enum { START, THREAD, GIL, SAMPLE_COLUMNS };
enum { LONGEST_ROUND_NS = 10000000 }; /* a longer gap between rounds says nothing about its middle */

struct advice_gil_rounds {
    struct report_columns samples;
    uint32_t *order;  /* owned; samples by process, then by time */
    int64_t *process; /* owned; by sample */
};

static int64_t advice_gil_value(const struct advice_gil_rounds *rounds, int column, size_t at)
{
    return rounds->samples.values[column][rounds->order[at]];
}

static int advice_gil_arrange(struct advice_gil_rounds *rounds)
{
    size_t rows = rounds->samples.rows;

    rounds->order = malloc((rows + 1) * sizeof *rounds->order);
    rounds->process = malloc((rows + 1) * sizeof *rounds->process);
    if (!rounds->order || !rounds->process || rows >= UINT32_MAX)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < rows; row++) {
        rounds->order[row] = (uint32_t)row;
        rounds->process[row] = global_process(rounds->samples.values[THREAD][row]);
    }
    return order_by_thread(rounds->order, rows, rounds->process, rounds->samples.values[START]);
}

/* The GIL was held in a round. */
struct hold {
    int64_t process, holder, start_ns, end_ns;
};
struct holds {
    struct hold *list; /* owned; by process, then by time */
    size_t count, room;
};

/* The samples from `first` up to `behind` are one round, which ends at end_ns. */
static int advice_gil_add_round(struct gil_waits *waits, struct holds *holds, const struct advice_gil_rounds *rounds,
                                size_t first, size_t behind, int64_t end_ns)
{
    size_t holder = first;

    while (holder < behind && advice_gil_value(rounds, GIL, holder) != HOLDS)
        holder++;
    if (holder == behind)
        return 0;
    if (ARRAY_PUSH(holds->list, holds->room, holds->count,
                   (struct hold){ rounds->process[rounds->order[first]], advice_gil_value(rounds, THREAD, holder),
                                  advice_gil_value(rounds, START, holder), end_ns }) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = first; i < behind; i++) {
        if (advice_gil_value(rounds, GIL, i) != WAITS)
            continue;
        if (ARRAY_PUSH(waits->list, waits->room, waits->count,
                       (struct gil_wait){ advice_gil_value(rounds, THREAD, i), advice_gil_value(rounds, THREAD, holder),
                                          advice_gil_value(rounds, START, i), end_ns }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int add_rounds(struct gil_waits *waits, struct holds *holds, const struct advice_gil_rounds *rounds)
{
    size_t count = rounds->samples.rows;

    for (size_t first = 0, behind; first < count; first = behind) {
        int64_t start = advice_gil_value(rounds, START, first), process = rounds->process[rounds->order[first]];
        for (behind = first + 1; behind < count && advice_gil_value(rounds, START, behind) == start &&
                                 rounds->process[rounds->order[behind]] == process;)
            behind++;
        if (behind == count || rounds->process[rounds->order[behind]] != process)
            continue;
        int64_t next = advice_gil_value(rounds, START, behind), most = saturating_add(start, LONGEST_ROUND_NS);
        if (advice_gil_add_round(waits, holds, rounds, first, behind, next < most ? next : most) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Adds the parts of a wait of a thread in which another thread holds the GIL. */
static int add_held(struct gil_waits *waits, const struct holds *holds, int64_t thread, int64_t start_ns,
                    int64_t end_ns)
{
    int64_t process = global_process(thread);
    size_t first = BISECT(0, holds->count, i,
                          holds->list[i].process < process ||
                              (holds->list[i].process == process && holds->list[i].end_ns <= start_ns));

    for (; first < holds->count; first++) {
        const struct hold *hold = &holds->list[first];
        if (hold->process != process || hold->start_ns >= end_ns)
            break;
        if (ARRAY_PUSH(waits->list, waits->room, waits->count,
                       (struct gil_wait){ thread, hold->holder, hold->start_ns > start_ns ? hold->start_ns : start_ns,
                                          hold->end_ns < end_ns ? hold->end_ns : end_ns }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* The waits of threads that are not sampled. */
static int add_unsampled(struct gil_waits *waits, const struct holds *holds, const struct advice_gil_rounds *rounds,
                         struct report *report, struct error *err)
{
    enum { OS_START, OS_END, OS_THREAD, OS_NAME, OS_COLUMNS };
    static const char *const names[OS_COLUMNS] = { "start", "end", "globalTid", "nameId" };
    struct keys sampled = { .width = 1 };
    struct report_columns calls = { 0 };
    int64_t wait_name = -1;
    int code = columns_read(report, "OSRT_API", names, OS_COLUMNS, &calls, err);

    for (size_t row = 0; code == 0 && row < rounds->samples.rows; row++)
        if (keys_add(&sampled, &rounds->samples.values[THREAD][row]) == NO_KEY)
            code = ERR_NO_MEMORY;
    for (size_t row = 0; code == 0 && row < calls.rows; row++) {
        int64_t name = calls.values[OS_NAME][row], thread = calls.values[OS_THREAD][row];
        if (wait_name < 0 && strcmp(report_string(report, name, NULL), "pthread_cond_timedwait") == 0)
            wait_name = name;
        if (name == wait_name && keys_find(&sampled, &thread) == NO_KEY)
            code = add_held(waits, holds, thread, calls.values[OS_START][row], calls.values[OS_END][row]);
    }
    report_columns_free(&calls);
    keys_free(&sampled);
    return code;
}

static int advice_gil_by_thread(const void *a, const void *b)
{
    const struct gil_wait *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns);
}

int gil_waits_read(struct gil_waits *waits, struct report *report, struct error *err)
{
    static const char *const names[SAMPLE_COLUMNS] = { "start", "globalTid", "gil" };
    struct advice_gil_rounds rounds = { 0 };
    struct holds holds = { 0 };
    int code = columns_read(report, "TACHO_PYTHON_SAMPLE", names, SAMPLE_COLUMNS, &rounds.samples, err);

    if (code != 0 || !rounds.samples.rows)
        goto done;
    if ((advice_gil_arrange(&rounds) != 0 || add_rounds(waits, &holds, &rounds) != 0 ||
         add_unsampled(waits, &holds, &rounds, report, err) != 0) &&
        (code = error_short_memory(err, "for the waits for the GIL")) != 0)
        goto done;
    if (waits->count)
        qsort(waits->list, waits->count, sizeof *waits->list, advice_gil_by_thread);
done:
    free(holds.list);
    free(rounds.order);
    free(rounds.process);
    report_columns_free(&rounds.samples);
    return code;
}

void gil_waits_free(struct gil_waits *waits)
{
    free(waits->list);
    *waits = (struct gil_waits){ 0 };
}

size_t gil_waits_from(const struct gil_waits *waits, int64_t thread, int64_t time_ns)
{
    return BISECT(0, waits->count, i,
                  waits->list[i].thread < thread ||
                      (waits->list[i].thread == thread && waits->list[i].end_ns <= time_ns));
}
