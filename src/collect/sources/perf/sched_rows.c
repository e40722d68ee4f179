/* Scheduling: see sched_rows.h. */
#include "sched_rows.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/core/procfs.h"
#include "collect/process/process.h"
#include "samples_state.h"

#define THREADS_A_LOOK 4096 /* per process: more would take too much of the collector's time */

/* ---- Switches -------------------------------------------------------------------------------------------------- */

/* nsys's ENUM_SAMPLING_THREAD_STATE. */
static const int64_t states[] = {
    [SCHED_IN] = 1 /* Running */,
    [SCHED_PREEMPTED] = 6 /* Unscheduled */,
    [SCHED_WAITS] = 7 /* Waiting */,
    [SCHED_ENDS] = 5 /* Terminated */,
};

void sched_switch(struct collector *collector, int64_t time_ns, uint32_t cpu, int64_t global_tid,
                  enum sched_change change)
{
    size_t count = 1;
    struct row_SCHED_EVENTS *row = writer_reserve(collector->writer, TABLE_SCHED_EVENTS, &count);
    row->present = 0;
    ROW_SET(row, SCHED_EVENTS, start, time_ns);
    ROW_SET(row, SCHED_EVENTS, cpu, cpu);
    ROW_SET(row, SCHED_EVENTS, isSchedIn, change == SCHED_IN);
    ROW_SET(row, SCHED_EVENTS, globalTid, global_tid);
    ROW_SET(row, SCHED_EVENTS, threadState, states[change]);
    writer_commit(collector->writer, TABLE_SCHED_EVENTS, 1);
    collector->result->cpu.switches++;
}

/* ---- Sums of threads ------------------------------------------------------------------------------------------- */

/* Returns NULL when memory is short. */
static struct sched_sums *sched_rows_sums_of(struct sched *sched, int64_t global_tid)
{
    struct sched_thread *thread = sched_thread_map_find(&sched->threads, global_tid);
    if (!thread)
        thread = sched_thread_map_add(&sched->threads, &(struct sched_thread){ .global_tid = global_tid });
    return thread ? &thread->sums : NULL;
}

void sched_note_end(struct collector *collector, int64_t global_tid, uint64_t run_ns, uint64_t slices)
{
    struct sched_sums *sums = samples_state(collector)->sched.wanted && run_ns <= INT64_MAX && slices <= INT64_MAX
                                  ? sched_rows_sums_of(&samples_state(collector)->sched, global_tid)
                                  : NULL;
    if (!sums)
        return;
    sums->run_ns = run_ns;
    sums->slices = slices;
}

static void note_look(struct sched *sched, int64_t global_tid, const struct sched_sums *look)
{
    struct sched_sums *sums = look->run_ns <= INT64_MAX && look->queue_ns <= INT64_MAX
                                  ? sched_rows_sums_of(sched, global_tid)
                                  : NULL;
    if (sums)
        *sums = *look;
}

/* Parses "run queue slices" of schedstat. */
static int sched_rows_read_sums(const char *path, struct sched_sums *sums)
{
    FILE *file = fopen(path, "re");
    int got = file ? fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &sums->run_ns, &sums->queue_ns, &sums->slices)
                   : 0;
    if (file)
        fclose(file);
    return got == 3 ? 0 : -1;
}

void sched_look(struct process *process)
{
    char path[64];
    if (!samples_state(process->collector)->sched.wanted)
        return;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
    DIR *folder = opendir(path);
    struct dirent *entry;
    for (int looked = 0; folder && looked < THREADS_A_LOOK && (entry = readdir(folder)) != NULL; looked++) {
        struct sched_sums sums;
        unsigned long tid = strtoul(entry->d_name, NULL, 10);
        if (tid == 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%lu/schedstat", (int)process->pid, tid);
        if (sched_rows_read_sums(path, &sums) == 0)
            note_look(&samples_state(process->collector)->sched, process_global_tid(process, (uint32_t)tid), &sums);
    }
    if (folder)
        closedir(folder);
}

/* ---- Load of CPUs ---------------------------------------------------------------------------------------------- */

static void cpu_row(struct collector *collector, int64_t now, unsigned cpu, int64_t busy_ns, int64_t idle_ns)
{
    struct row_TACHO_CPU_TIME row = { 0 };
    ROW_SET(&row, TACHO_CPU_TIME, timestamp, now);
    ROW_SET(&row, TACHO_CPU_TIME, cpu, cpu);
    ROW_SET(&row, TACHO_CPU_TIME, busyNs, busy_ns);
    ROW_SET(&row, TACHO_CPU_TIME, idleNs, idle_ns);
    writer_append(collector->writer, TABLE_TACHO_CPU_TIME, &row);
}

/* Parses "cpuN user nice system idle iowait irq softirq steal ..." of /proc/stat, in ticks. */
static void sched_rows_read_loads(struct collector *collector)
{
    struct text text = { 0 };
    int64_t now = collector_now(collector), tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    if (procfs_read("/proc/stat", &text) != 0)
        return;
    char *rest = text.bytes, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        unsigned cpu;
        uint64_t user, nice, system, idle, io, interrupt, soft;
        if (strncmp(line, "cpu", 3) == 0 && line[3] != ' ' && /* the line without a number is the sum */
            sscanf(line, "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &cpu,
                   &user, &nice, &system, &idle, &io, &interrupt, &soft) == 8)
            cpu_row(collector, now, cpu, (int64_t)(user + nice + system + interrupt + soft) * tick_ns,
                    (int64_t)(idle + io) * tick_ns);
    }
    text_free(&text);
}

void sched_tick(struct collector *collector)
{
    if (!samples_state(collector)->sched.wanted)
        return;
    sched_rows_read_loads(collector);
    for (struct process *process = collector->processes->first; process; process = process->next)
        if (process->ending == PROCESS_RUNS)
            sched_look(process);
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

void sched_finish(struct collector *collector)
{
    struct sched *sched = &samples_state(collector)->sched;
    for (const struct sched_thread *thread = sched_thread_map_next(&sched->threads, NULL); thread;
         thread = sched_thread_map_next(&sched->threads, thread)) {
        struct row_TACHO_THREAD_SCHED row = { 0 };
        ROW_SET(&row, TACHO_THREAD_SCHED, globalTid, thread->global_tid);
        ROW_SET(&row, TACHO_THREAD_SCHED, runNs, (int64_t)thread->sums.run_ns);
        ROW_SET(&row, TACHO_THREAD_SCHED, queueNs, (int64_t)thread->sums.queue_ns);
        ROW_SET(&row, TACHO_THREAD_SCHED, slices, (int64_t)thread->sums.slices);
        writer_append(collector->writer, TABLE_TACHO_THREAD_SCHED, &row);
    }
    sched_free(collector);
}

void sched_free(struct collector *collector)
{
    struct sched *sched = &samples_state(collector)->sched;
    sched_thread_map_free(&sched->threads);
    *sched = (struct sched){ 0 };
}
