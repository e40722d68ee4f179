/* The thread that samples Python stacks: it wakes up at the sampling rate, reads every process once, and sleeps.
 *
 * One lock guards everything. The sampler holds it while it reads a process, a few microseconds for each running
 * thread. The main thread holds it to add or remove a process or to exchange batches, never while it writes rows; it is
 * let in between two processes (give_way()), since programs that start wait for it. A long round delays the next one,
 * so that sampling never takes more than a quarter of a CPU; skipped samples count as late. As long as no process is
 * Python the sampler only wakes up to search for an interpreter. */
#include "python_sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/process/process.h"
#include "python_find.h"

#define SHARE 4              /* rounds take at most 1/SHARE of the time */
#define PRIORITY (-10)       /* a nice value */
#define BATCH_MAX (1u << 20) /* samples that wait to be written; further ones count as late */

struct python_sampler {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* signalled to switch, stop or add a process; else the sampler wakes up by timeout */
    int64_t sleeps_until_ns;
    atomic_int waiting;  /* main threads that want the lock */
    pthread_cond_t done; /* signalled when one has had it */
    int stop, on;
    int is_automatic;
    int64_t interval_ns;
    uint32_t random;
    struct python_others others;
    struct python_target **targets;
    size_t target_count, target_room;
    struct python_names names;
    struct python_batch batch;
    size_t last_samples; /* of the last round */
    uint64_t late;
    int64_t cpu_ns;
};

/* ---- The thread ------------------------------------------------------------------------------------------------ */

/* Rounds are slightly irregular. Else a program that works in step with them would always be sampled at the same
 * place. */
static int64_t jitter(struct python_sampler *sampler)
{
    sampler->random = sampler->random * 1664525u + 1013904223u;
    return (int64_t)(sampler->random >> 8) % (sampler->interval_ns / 8 + 1) - sampler->interval_ns / 16;
}

/* Waits until this time or a signal: 0 if there was a signal. INT64_MAX: for a signal alone. */
static int python_sampler_wait_for(struct python_sampler *sampler, int64_t time_ns)
{
    struct timespec until = { time_ns / 1000000000, time_ns % 1000000000 };
    sampler->sleeps_until_ns = time_ns;
    if (time_ns == INT64_MAX)
        return pthread_cond_wait(&sampler->wake, &sampler->lock);
    return pthread_cond_timedwait(&sampler->wake, &sampler->lock, &until);
}

/* When the next round has work: at once if a process is read, else at the next search for an interpreter.
 * INT64_MAX: there is none. */
static int64_t python_sampler_next_work(const struct python_sampler *sampler)
{
    int64_t next_ns = INT64_MAX;
    for (size_t i = 0; sampler->on && i < sampler->target_count; i++) {
        int64_t due_ns = python_target_due(sampler->targets[i]);
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

/* Lets the main thread have the lock if it wants it. To unlock is not enough: we would take it again before it runs. */
static void give_way(struct python_sampler *sampler)
{
    while (atomic_load(&sampler->waiting))
        pthread_cond_wait(&sampler->done, &sampler->lock);
}

/* Does the process only time its steps now? To read its memory would cost it time: its thread fetches the
 * lines again that we have read. The arena stays mapped until the process is no target any more. */
static int only_times_steps(const struct process *process)
{
    return process->arena && (atomic_load(&process->arena->recording) & WIRE_PAUSED) != 0;
}

/* The main thread may change the list, and take the batch, between two processes. */
static void sample_all(struct python_sampler *sampler)
{
    size_t samples = 0;
    if (sampler->batch.sample_count + sampler->last_samples > BATCH_MAX) {
        sampler->late += sampler->last_samples;
        return;
    }
    for (size_t i = 0; i < sampler->target_count; i++, give_way(sampler)) {
        const struct process *process = python_target_process(sampler->targets[i]);
        size_t before = sampler->batch.sample_count;
        int was_timing = only_times_steps(process);
        int64_t now_ns = clock_monotonic_ns();
        /* before and after that: a sample is then never in a step that is only timed */
        if (was_timing || only_times_steps(process))
            continue;
        python_target_round(sampler->targets[i], &sampler->names, now_ns);
        samples += sampler->batch.sample_count - before;
    }
    sampler->last_samples = samples;
}

static int64_t cpu_time(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The time of the next round; rounds that are overdue are skipped. */
static int64_t python_sampler_next_round(struct python_sampler *sampler, int64_t due_ns, int64_t used_ns)
{
    int64_t earliest_ns = clock_monotonic_ns() + (SHARE - 1) * used_ns, next_ns = due_ns + sampler->interval_ns;
    if (next_ns >= earliest_ns)
        return next_ns;
    int64_t missed = (earliest_ns - next_ns) / sampler->interval_ns + 1;
    if (sampler->on)
        sampler->late += (uint64_t)missed * sampler->last_samples;
    return next_ns + missed * sampler->interval_ns;
}

static void *python_sampler_run(void *argument)
{
    struct python_sampler *sampler = argument;
    prctl(PR_SET_NAME, "tacho-python");
    prctl(PR_SET_TIMERSLACK, 1);
    setpriority(PRIO_PROCESS, 0, PRIORITY); /* where it is allowed: little work, but it must be on time */
    pthread_mutex_lock(&sampler->lock);
    for (int64_t due_ns = clock_monotonic_ns(); !sampler->stop;) {
        int64_t work_ns = python_sampler_next_work(sampler);
        if (work_ns > due_ns) { /* no process is read: no rounds until then */
            python_sampler_wait_for(sampler, work_ns);
            due_ns = clock_monotonic_ns();
            continue;
        }
        for (int64_t round_ns = due_ns + jitter(sampler);
             !sampler->stop && python_sampler_wait_for(sampler, round_ns) == 0;)
            ;
        int64_t before_ns = cpu_time();
        if (sampler->on && !sampler->stop)
            sample_all(sampler);
        due_ns = python_sampler_next_round(sampler, due_ns, cpu_time() - before_ns);
    }
    sampler->cpu_ns = cpu_time();
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

/* ---- Functions for the main thread ----------------------------------------------------------------------------- */

static void python_sampler_enter(struct python_sampler *sampler)
{
    atomic_fetch_add(&sampler->waiting, 1);
    pthread_mutex_lock(&sampler->lock);
    atomic_fetch_sub(&sampler->waiting, 1);
}

static void python_sampler_leave(struct python_sampler *sampler)
{
    pthread_cond_signal(&sampler->done);
    pthread_mutex_unlock(&sampler->lock);
}

struct python_sampler *python_sampler_start(unsigned frequency, int is_automatic)
{
    struct python_sampler *sampler = calloc(1, sizeof *sampler);
    pthread_condattr_t attributes;
    if (!sampler)
        return NULL;
    sampler->interval_ns = 1000000000 / frequency;
    sampler->is_automatic = is_automatic;
    sampler->names.batch = &sampler->batch;
    pthread_mutex_init(&sampler->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_cond_init(&sampler->done, NULL);
    int failed = pthread_create(&sampler->thread, NULL, python_sampler_run, sampler);
    if (!failed)
        return sampler;
    free(sampler);
    errno = failed;
    return NULL;
}

void python_sampler_stop(struct python_sampler *sampler, int64_t *cpu_ns)
{
    python_sampler_enter(sampler);
    sampler->stop = 1;
    pthread_cond_signal(&sampler->wake);
    python_sampler_leave(sampler);
    pthread_join(sampler->thread, NULL);
    *cpu_ns = sampler->cpu_ns;
    for (size_t i = 0; i < sampler->target_count; i++)
        python_target_free(sampler->targets[i]);
    free(sampler->targets);
    python_names_free(&sampler->names);
    python_batch_free(&sampler->batch);
    pthread_cond_destroy(&sampler->wake);
    pthread_cond_destroy(&sampler->done);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler);
}

void python_sampler_switch(struct python_sampler *sampler, int on)
{
    python_sampler_enter(sampler);
    sampler->on = on;
    pthread_cond_signal(&sampler->wake);
    python_sampler_leave(sampler);
}

/* The index of a process among the targets; target_count if it is not one. */
static size_t python_sampler_place_of(const struct python_sampler *sampler, const struct process *process)
{
    size_t at = 0;
    while (at < sampler->target_count && python_target_process(sampler->targets[at]) != process)
        at++;
    return at;
}

void python_sampler_add(struct python_sampler *sampler, struct process *process, pid_t pid)
{
    struct python_target *target = python_target_new(process, pid, sampler->is_automatic, &sampler->others);
    if (!target)
        return;
    python_sampler_enter(sampler);
    int is_new = python_sampler_place_of(sampler, process) == sampler->target_count &&
                 array_reserve(&sampler->targets, &sampler->target_room, sampler->target_count + 1,
                               sizeof *sampler->targets) == 0;
    if (is_new)
        sampler->targets[sampler->target_count++] = target;
    if (is_new && python_target_due(target) < sampler->sleeps_until_ns)
        pthread_cond_signal(&sampler->wake);
    python_sampler_leave(sampler);
    if (!is_new)
        python_target_free(target);
}

int python_sampler_remove(struct python_sampler *sampler, const struct process *process, struct python_outcome *outcome)
{
    python_sampler_enter(sampler);
    size_t at = python_sampler_place_of(sampler, process);
    int found = at < sampler->target_count;
    if (found) {
        struct python_target *target = sampler->targets[at];
        *outcome = (struct python_outcome){ *python_target_counts(target), python_target_is_python(target),
                                            python_target_saw_collector(target), python_target_refusal(target) };
        python_target_free(target);
        sampler->targets[at] = sampler->targets[--sampler->target_count];
    }
    python_sampler_leave(sampler);
    return found;
}

void python_sampler_take(struct python_sampler *sampler, struct python_batch *batch, uint64_t *late)
{
    python_sampler_enter(sampler);
    struct python_batch filled = sampler->batch;
    sampler->batch = *batch;
    *batch = filled;
    *late = sampler->late;
    sampler->late = 0;
    python_sampler_leave(sampler);
}
