/* Reads context switches, sorts them by thread and by CPU, and looks up spans of time. */
#include "cpu_runs.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"

enum { STATE_PREEMPTED = 6 /* ENUM_SAMPLING_THREAD_STATE */, SYSTEM_SHIFT = 48 };

struct switching {
    int64_t thread, cpu, time_ns;
    int is_in, is_preempted;
};

static int compare_switches(const void *a, const void *b)
{
    const struct switching *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->time_ns, y->time_ns);
}

static int compare_on_cpu(const void *a, const void *b)
{
    const struct cpu_run *x = a, *y = b;

    return COMPARE(x->cpu, y->cpu) ?: COMPARE(x->start_ns, y->start_ns);
}

/* CPUs of two systems are two, whatever their numbers. */
static int64_t cpu_of(int64_t thread, int64_t cpu)
{
    return (int64_t)((uint64_t)thread >> SYSTEM_SHIFT << 32) + cpu;
}

static int make_runs(struct cpu_runs *runs, const struct collectives *all, struct switching *switches, size_t count)
{
    runs->by_thread = array_alloc(count + 1, sizeof *runs->by_thread);
    runs->by_cpu = array_alloc(count + 1, sizeof *runs->by_cpu);
    if (!runs->by_thread || !runs->by_cpu)
        return ERR_NO_MEMORY;
    qsort(switches, count, sizeof *switches, compare_switches);
    for (size_t i = 0; i + 1 < count; i++) {
        const struct switching *in = &switches[i], *out = in + 1;
        if (in->thread == out->thread && in->is_in && !out->is_in)
            runs->by_thread[runs->count++] = (struct cpu_run){ in->thread,
                                                               collectives_rank(all, in->thread),
                                                               cpu_of(in->thread, in->cpu),
                                                               in->time_ns,
                                                               out->time_ns,
                                                               out->is_preempted };
    }
    if (runs->count) {
        memcpy(runs->by_cpu, runs->by_thread, runs->count * sizeof *runs->by_cpu);
        qsort(runs->by_cpu, runs->count, sizeof *runs->by_cpu, compare_on_cpu);
    }
    return 0;
}

int cpu_runs_read(struct cpu_runs *runs, const struct collectives *all, struct error *err)
{
    static const char *const names[] = { "start", "isSchedIn", "globalTid", "cpu", "threadState", NULL };
    struct row_cursor rows;
    int code = runs->is_read ? 0 : row_cursor_open(&rows, all->report, "SCHED_EVENTS", names, err);

    if (code != 0 || runs->is_read)
        return code;
    struct switching *switches = array_alloc(rows.columns.rows + 1, sizeof *switches);
    size_t count = 0;
    while (switches && row_cursor_next(&rows))
        if (!row_is_null(&rows, 2))
            switches[count++] = (struct switching){ row_int(&rows, 2), row_int_or(&rows, 3, 0), row_int(&rows, 0),
                                                    row_int(&rows, 1) != 0,
                                                    row_int_or(&rows, 4, 0) == STATE_PREEMPTED };
    code = switches ? make_runs(runs, all, switches, count) : ERR_NO_MEMORY;
    runs->is_read = code == 0;
    free(switches);
    row_cursor_close(&rows);
    return code;
}

void cpu_runs_free(struct cpu_runs *runs)
{
    free(runs->by_thread);
    free(runs->by_cpu);
    *runs = (struct cpu_runs){ 0 };
}

/* ---- Spans ------------------------------------------------------------------------------------------------------ */

/* The first run of a thread, or on a CPU, that ends after this time; those of one do not overlap. */
static size_t first_run(const struct cpu_run *list, size_t count, int on_cpu, int64_t id, int64_t from_ns)
{
    return BISECT(0, count, i,
                  (on_cpu ? list[i].cpu : list[i].thread) < id ||
                      ((on_cpu ? list[i].cpu : list[i].thread) == id && list[i].end_ns <= from_ns));
}

static int64_t cpu_runs_overlap(const struct cpu_run *run, int64_t from_ns, int64_t to_ns)
{
    int64_t start_ns = run->start_ns > from_ns ? run->start_ns : from_ns;
    int64_t end_ns = run->end_ns < to_ns ? run->end_ns : to_ns;

    return end_ns > start_ns ? saturating_subtract(end_ns, start_ns) : 0;
}

int64_t cpu_runs_time(const struct cpu_runs *runs, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    int64_t total_ns = 0;

    for (size_t i = first_run(runs->by_thread, runs->count, 0, thread, from_ns);
         i < runs->count && runs->by_thread[i].thread == thread && runs->by_thread[i].start_ns < to_ns; i++)
        total_ns += cpu_runs_overlap(&runs->by_thread[i], from_ns, to_ns);
    return total_ns;
}

static int64_t others_on(const struct cpu_runs *runs, int64_t cpu, int64_t rank, int64_t from_ns, int64_t to_ns)
{
    int64_t total_ns = 0;

    for (size_t i = first_run(runs->by_cpu, runs->count, 1, cpu, from_ns);
         i < runs->count && runs->by_cpu[i].cpu == cpu && runs->by_cpu[i].start_ns < to_ns; i++)
        if (runs->by_cpu[i].rank != rank && runs->by_cpu[i].rank != COLLECTIVE_UNKNOWN)
            total_ns += cpu_runs_overlap(&runs->by_cpu[i], from_ns, to_ns);
    return total_ns;
}

int64_t cpu_runs_left_to_ranks(const struct cpu_runs *runs, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    int64_t total_ns = 0, at_ns = from_ns;
    size_t i = first_run(runs->by_thread, runs->count, 0, thread, from_ns);

    /* The gap before each run, and the one after the last. It waited where it ran before. */
    for (; at_ns < to_ns; i++) {
        int is_run = i < runs->count && runs->by_thread[i].thread == thread;
        const struct cpu_run *before = i && runs->by_thread[i - 1].thread == thread ? &runs->by_thread[i - 1] : NULL;
        int64_t end_ns = is_run && runs->by_thread[i].start_ns < to_ns ? runs->by_thread[i].start_ns : to_ns;
        if (before && end_ns > at_ns && (before->is_preempted || before->end_ns <= from_ns))
            total_ns += others_on(runs, before->cpu, before->rank, at_ns, end_ns);
        if (!is_run)
            break;
        at_ns = runs->by_thread[i].end_ns;
    }
    return total_ns;
}

int64_t cpu_runs_kept_off(const struct cpu_runs *runs, int64_t thread, int64_t from_ns, int64_t to_ns, int64_t *cpu)
{
    size_t i = first_run(runs->by_thread, runs->count, 0, thread, from_ns);
    int64_t total_ns = 0;

    /* The gaps after the runs that it did not end itself; the first of them may have ended before the span. */
    for (i -= i && runs->by_thread[i - 1].thread == thread;
         i < runs->count && runs->by_thread[i].thread == thread && runs->by_thread[i].end_ns < to_ns; i++) {
        const struct cpu_run *run = &runs->by_thread[i], *next = i + 1 < runs->count ? run + 1 : NULL;
        int64_t begin_ns = run->end_ns > from_ns ? run->end_ns : from_ns;
        int64_t end_ns = next && next->thread == thread && next->start_ns < to_ns ? next->start_ns : to_ns;
        int64_t off_ns = run->is_preempted && end_ns > begin_ns
                             ? saturating_subtract(saturating_subtract(end_ns, begin_ns),
                                                   others_on(runs, run->cpu, run->rank, begin_ns, end_ns))
                             : 0;
        total_ns = saturating_add(total_ns, off_ns);
        if (cpu && off_ns > 0)
            *cpu = run->cpu;
    }
    return total_ns;
}

enum { LEAST_PART = 20 }; /* of the time on CPUs, one in so many: less is a move for a moment */

int64_t cpu_runs_other_cpu(const struct cpu_runs *runs, int64_t thread, int64_t cpu, int64_t from_ns, int64_t to_ns)
{
    int64_t there_ns = 0, all_ns = 0, other = -1;

    for (size_t i = first_run(runs->by_thread, runs->count, 0, thread, from_ns);
         i < runs->count && runs->by_thread[i].thread == thread && runs->by_thread[i].start_ns < to_ns; i++) {
        int64_t time_ns = cpu_runs_overlap(&runs->by_thread[i], from_ns, to_ns);
        all_ns += time_ns;
        if (runs->by_thread[i].cpu != cpu) {
            there_ns += time_ns;
            other = runs->by_thread[i].cpu;
        }
    }
    return there_ns * LEAST_PART >= all_ns ? other : -1;
}

int cpu_runs_is_of_several(const struct cpu_runs *runs, int64_t cpu, int64_t rank, int64_t from_ns, int64_t to_ns)
{
    int64_t there_ns = 0, all_ns = 0;

    /* By thread: those of a rank follow each other. */
    for (size_t i = 0; i < runs->count; i++) {
        const struct cpu_run *at = &runs->by_thread[i];
        int64_t time_ns = cpu_runs_overlap(at, from_ns, to_ns);
        if (at->rank == rank || at->rank == COLLECTIVE_UNKNOWN)
            continue;
        if (i && at[-1].rank != at->rank)
            there_ns = all_ns = 0;
        all_ns += time_ns;
        there_ns += at->cpu == cpu ? time_ns : 0;
        int is_last = i + 1 == runs->count || at[1].rank != at->rank;
        if (is_last && there_ns > 0 && there_ns * LEAST_PART >= all_ns)
            return 1;
    }
    return 0;
}
