/* When threads ran, and on which CPU: the time that a thread lost to other ranks of the job.
 *
 * Ranks that share CPUs take turns. One of them is then the last, but it is not the one that holds the job up: what it
 * lost to the others is not its own time. */
#ifndef TACHO_ANALYZE_STRAGGLERS_CPU_RUNS_H
#define TACHO_ANALYZE_STRAGGLERS_CPU_RUNS_H

#include "analyze/model/ranks/collectives.h"

/* A thread on a CPU, from where it was switched in to where it was switched out. */
struct cpu_run {
    int64_t thread, rank;
    int64_t cpu;      /* of all hosts */
    int64_t start_ns, end_ns;
    int is_preempted; /* it could have gone on */
};

/* Starts from {0}. */
struct cpu_runs {
    struct cpu_run *by_thread, *by_cpu; /* owned; then by time */
    size_t count;
    int is_read;
};

/* Reads them once; to be freed after an error too. */
int cpu_runs_read(struct cpu_runs *runs, const struct collectives *all, struct error *err);
void cpu_runs_free(struct cpu_runs *runs);

/* How long a thread ran in a span of time. */
int64_t cpu_runs_time(const struct cpu_runs *runs, int64_t thread, int64_t from_ns, int64_t to_ns);
/* How long it was ready to run in that span while another rank ran on its CPU. A wait at the beginning of the span is
 * taken to be over. */
int64_t cpu_runs_left_to_ranks(const struct cpu_runs *runs, int64_t thread, int64_t from_ns, int64_t to_ns);
/* How long it was ready to run in that span while no rank ran on its CPU: another program did. cpu: NULL, or set to the
 * last CPU that it was kept off. */
int64_t cpu_runs_kept_off(const struct cpu_runs *runs, int64_t thread, int64_t from_ns, int64_t to_ns, int64_t *cpu);
/* Another CPU on which a thread ran in that span, for a twentieth of its time at least: the last one; -1: none. */
int64_t cpu_runs_other_cpu(const struct cpu_runs *runs, int64_t thread, int64_t cpu, int64_t from_ns, int64_t to_ns);
/* Whether other ranks run on a CPU too: one of them for a twentieth of its time on CPUs in that span. */
int cpu_runs_is_of_several(const struct cpu_runs *runs, int64_t cpu, int64_t rank, int64_t from_ns, int64_t to_ns);

#endif
