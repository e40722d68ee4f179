/* Reads the waits of threads: see wall_waits.h. */
#include "wall_waits.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/threads.h"
#include "base/array.h"
#include "base/saturating.h"
#include "report/reader/unite.h"
#include "wall_delays.h"

/* Shorter waits are a part of the work around them. */
#define LEAST_WAIT_NS 20000

/* While they are read. */
struct wall_reading {
    struct wall_waits *waits;
    struct report *report;
    struct os_calls calls;
};

void wall_waits_free(struct wall_waits *waits)
{
    free(waits->list);
    free(waits->locked);
    thread_spans_free(&waits->ready);
}

static int wall_waits_by_thread(const void *a, const void *b)
{
    const struct wall_wait *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns);
}

/* Of a pipe, or a socket. */
static int wall_is_exchange(enum os_call_kind kind, const char *call)
{
    static const char names[] = " read readv recv recvfrom recvmsg recvmmsg write writev send sendto sendmsg sendmmsg"
                                " fread fgets fgetc getc getline getdelim fwrite fputs fflush splice tee ";
    struct text name = { 0 };

    if (kind == OS_CALL_EVENTS)
        return 1;
    if (kind != OS_CALL_IO)
        return 0;
    text_addf(&name, " %s ", call);
    int found = strstr(names, text_string(&name)) != NULL;
    text_free(&name);
    return found;
}

static int wall_add_wait(struct wall_reading *reading, int64_t thread, int64_t start_ns, int64_t end_ns,
                         const struct os_call *call)
{
    struct wall_waits *waits = reading->waits;
    struct wall_wait wait = { .thread = thread, .start_ns = start_ns, .end_ns = end_ns, .call = -1 };

    if (call) {
        wait.call = call->name;
        wait.chain = call->chain;
        wait.python = call->python;
        wait.holder = call->holder;
        wait.lock = call->lock;
        wait.result = call->result;
        wait.kind = call->kind;
        const char *name = report_string(reading->report, call->name, NULL);
        wait.is_sleep = strstr(name, "sleep") != NULL;
        wait.is_join = strstr(name, "join") != NULL;
        wait.is_exchange = wall_is_exchange(call->kind, name);
    }
    return ARRAY_PUSH(waits->list, waits->room, waits->count, wait);
}

/* The call that a thread is in at this time, or NULL. */
static const struct os_call *wall_call_at(const struct os_calls *calls, int64_t thread, int64_t time_ns)
{
    size_t behind, at = os_calls_from(calls, thread, time_ns, &behind);
    const struct os_call *call = at < behind ? &calls->list[calls->by_thread[at]] : NULL;

    return call && call->start_ns <= time_ns ? call : NULL;
}

/* Times off the CPU, each with the call that it lies in. */
static int wall_add_blocked(struct wall_reading *reading, const struct thread_spans *off_cpu)
{
    for (size_t i = 0; i < off_cpu->count; i++) {
        const struct thread_span *off = &off_cpu->list[i];
        int code = 0;
        if (off->name == OFF_CPU_PREEMPTED)
            code = thread_spans_add(&reading->waits->ready, off);
        else if (saturating_duration(off->start_ns, off->end_ns) >= LEAST_WAIT_NS)
            code = wall_add_wait(reading, off->thread, off->start_ns, off->end_ns,
                                 wall_call_at(&reading->calls, off->thread, off->start_ns));
        if (code != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Without switches, calls that wait are taken to wait all the time. */
static int wall_add_calls(struct wall_reading *reading)
{
    for (size_t i = 0; i < reading->calls.count; i++) {
        const struct os_call *call = &reading->calls.list[i];
        if (call->kind != OS_CALL_OTHER && call->kind != OS_CALL_START && call->kind != OS_CALL_LOAD &&
            wall_add_wait(reading, call->thread, call->start_ns, call->end_ns, call) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

static int wall_compare_lock(const struct wall_wait *x, const struct wall_wait *y)
{
    return COMPARE(global_process(x->thread), global_process(y->thread)) ?: COMPARE(x->lock, y->lock);
}

static int wall_locked_by_end(const void *a, const void *b, void *list)
{
    const struct wall_wait *waits = list, *x = &waits[*(const uint32_t *)a], *y = &waits[*(const uint32_t *)b];

    return wall_compare_lock(x, y) ?: COMPARE(x->end_ns, y->end_ns);
}

static int wall_sort_locked(struct wall_waits *waits)
{
    waits->locked = calloc(waits->count + 1, sizeof *waits->locked);
    if (!waits->locked)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < waits->count; i++)
        if (waits->list[i].kind == OS_CALL_LOCK && waits->list[i].lock)
            waits->locked[waits->locked_count++] = (uint32_t)i;
    if (waits->locked_count)
        qsort_r(waits->locked, waits->locked_count, sizeof *waits->locked, wall_locked_by_end, waits->list);
    return 0;
}

int64_t wall_wait_heir(const struct wall_waits *waits, const struct wall_wait *wait)
{
    size_t behind = wait->lock ? waits->locked_count : 0;

    behind = BISECT(0, behind, i,
                    (wall_compare_lock(&waits->list[waits->locked[i]], wait)
                         ?: COMPARE(waits->list[waits->locked[i]].end_ns, wait->end_ns)) < 0);
    for (; behind > 0; behind--) {
        const struct wall_wait *other = &waits->list[waits->locked[behind - 1]];
        if (wall_compare_lock(other, wait) != 0 || other->end_ns <= wait->start_ns)
            break;
        if (other->thread != wait->thread)
            return other->thread;
    }
    return 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int wall_read_all(struct wall_reading *reading, struct thread_spans *off_cpu, struct error *err)
{
    static const struct filter all;
    struct wall_waits *waits = reading->waits;
    struct os_call_choice choice;
    int code;

    for (int kind = 0; kind < OS_CALL_KINDS; kind++)
        choice.least_ns[kind] = LEAST_WAIT_NS;
    if ((code = os_calls_read(&reading->calls, reading->report, &choice, &all, err)) != 0 ||
        (code = thread_spans_off_cpu(off_cpu, reading->report, &all, err)) != 0)
        return code;
    thread_spans_keep_outermost(off_cpu);
    if ((code = wall_delays_cut(off_cpu, &waits->ready, reading->report, err)) != 0)
        return code;
    if ((off_cpu->count ? wall_add_blocked(reading, off_cpu) : wall_add_calls(reading)) != 0)
        return error_short_memory(err, "for the waits");
    thread_spans_sort(&waits->ready);
    if (waits->count)
        qsort(waits->list, waits->count, sizeof *waits->list, wall_waits_by_thread);
    return wall_sort_locked(waits) != 0 ? error_short_memory(err, "for the waits") : 0;
}

int wall_waits_read(struct wall_waits *waits, struct report *report, struct error *err)
{
    struct wall_reading reading = { .waits = waits, .report = report };
    struct thread_spans off_cpu = { 0 };

    *waits = (struct wall_waits){ 0 };
    int code = wall_read_all(&reading, &off_cpu, err);
    thread_spans_free(&off_cpu);
    os_calls_free(&reading.calls);
    return code;
}

const struct wall_wait *wall_wait_before(const struct wall_waits *waits, int64_t thread, int64_t time_ns)
{
    const struct wall_wait *list = waits->list;
    size_t behind = BISECT(0, waits->count, i,
                           list[i].thread < thread || (list[i].thread == thread && list[i].start_ns < time_ns));

    return behind && list[behind - 1].thread == thread ? &list[behind - 1] : NULL;
}
