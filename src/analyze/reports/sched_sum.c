/* sched_sum and cpu_util: how threads and CPUs were scheduled. */
#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/model/sched_times.h"
#include "analyze/model/threads.h"
#include "analyze/registry.h"

static double sched_sum_percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- sched_sum ------------------------------------------------------------------------------------------------- */

enum { SHARE, WALL, RUNNING, RUNNABLE, BLOCKED, SWITCHES, PREEMPTED, MIGRATIONS, PID, TID, NAME, SUM_COLUMNS };
static const struct table_column sched_sum_columns[SUM_COLUMNS] = {
    { "Running", CELL_REAL, UNIT_PERCENT, 1 }, { "Wall Time", CELL_INT, UNIT_NS, 0 },
    { "Running", CELL_INT, UNIT_NS, 0 },       { "Runnable", CELL_INT, UNIT_NS, 0 },
    { "Blocked", CELL_INT, UNIT_NS, 0 },       { "Switches", CELL_INT, UNIT_NONE, 0 },
    { "Preempted", CELL_INT, UNIT_NONE, 0 },   { "Migrations", CELL_INT, UNIT_NONE, 0 },
    { "Pid", CELL_INT, UNIT_ID, 0 },           { "Tid", CELL_INT, UNIT_ID, 0 },
    { "Name", CELL_TEXT, UNIT_NONE, 0 },
};

static int64_t wall_of(const struct sched_thread *thread)
{
    int64_t wall = 0;

    for (int state = 0; state < SCHED_STATES; state++)
        wall = saturating_add(wall, thread->state_ns[state]);
    return wall;
}

static int sched_sum_add_thread(struct table *table, struct report *report, const struct thread_names *names,
                                const struct sched_thread *thread)
{
    struct table_cell *row = table_add_row(table);
    const struct thread_name *name = thread_name_find(names, thread->id);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[SHARE], sched_sum_percent(thread->state_ns[SCHED_RUNNING], wall_of(thread)));
    cell_set_int(&row[WALL], wall_of(thread));
    cell_set_int(&row[RUNNING], thread->state_ns[SCHED_RUNNING]);
    cell_set_int(&row[RUNNABLE], thread->state_ns[SCHED_RUNNABLE]);
    cell_set_int(&row[BLOCKED], thread->state_ns[SCHED_WAITING]);
    cell_set_int(&row[SWITCHES], (int64_t)thread->switches);
    if (thread->has_switches) {
        cell_set_int(&row[PREEMPTED], (int64_t)thread->preempted);
        cell_set_int(&row[MIGRATIONS], (int64_t)thread->migrations);
    }
    cell_set_int(&row[PID], global_pid_number(thread->id));
    cell_set_int(&row[TID], global_tid_number(thread->id));
    return name ? cell_set_pooled(table, &row[NAME], report, name->name) : 0;
}

static int sched_sum_fill_threads(struct table *table, struct report *report, const struct thread_names *names,
                                  const struct sched_times *times)
{
    for (size_t i = 0; i < times->thread_count; i++)
        if (sched_sum_add_thread(table, report, names, &times->threads[i]) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(RUNNING)));
    return 0;
}

static int sched_sum(struct report *report, const struct analysis_request *request, struct table **out,
                     struct error *err)
{
    struct table *table = table_new(sched_sum_columns, SUM_COLUMNS);
    struct sched_times times = { 0 };
    struct thread_names names = { 0 };
    int code;

    if ((code = sched_times_read(&times, report, request, err)) != 0)
        goto done;
    if ((code = thread_names_read(&names, report, err)) != 0)
        goto done;
    if (!table || sched_sum_fill_threads(table, report, &names, &times) != 0)
        code = error_no_memory(err);
done:
    thread_names_free(&names);
    sched_times_free(&times);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_sched_sum = {
    .name = "sched_sum",
    .title = "Thread Scheduling Summary",
    .help = "Time of each thread on a CPU (running), ready but without a CPU (runnable), and blocked; the three add up "
            "to its wall time. Runnable time comes from the kernel's run queue statistics over the life of the thread; "
            "with --filter-time, only from preemptions. Without context switches, the table has only the kernel's "
            "totals, and no migrations.",
    .needs = { { "context switches", TABLES("SCHED_EVENTS", "TACHO_THREAD_SCHED") } },
    .run = sched_sum,
};

/* ---- cpu_util -------------------------------------------------------------------------------------------------- */

enum { CPU, PROGRAM_SHARE, PROGRAM, CPU_SWITCHES, BUSY_SHARE, UTIL_COLUMNS };
static const struct table_column util_columns[UTIL_COLUMNS] = {
    { "CPU", CELL_INT, UNIT_ID, 0 },           { "Program", CELL_REAL, UNIT_PERCENT, 1 },
    { "Program", CELL_INT, UNIT_NS, 0 },       { "Switches", CELL_INT, UNIT_NONE, 0 },
    { "Machine", CELL_REAL, UNIT_PERCENT, 1 },
};

static int add_cpu(struct table *table, const struct sched_cpu *cpu, int64_t wall_ns, int has_switches)
{
    struct table_cell *row = table_add_row(table);
    int64_t all = saturating_add(cpu->busy_ns, cpu->idle_ns);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[CPU], cpu->number);
    if (has_switches) {
        cell_set_real(&row[PROGRAM_SHARE], sched_sum_percent(cpu->running_ns, wall_ns));
        cell_set_int(&row[PROGRAM], cpu->running_ns);
        cell_set_int(&row[CPU_SWITCHES], (int64_t)cpu->switches);
    }
    if (cpu->has_load && all > 0)
        cell_set_real(&row[BUSY_SHARE], sched_sum_percent(cpu->busy_ns, all));
    return 0;
}

static int fill_cpus(struct table *table, struct report *report, const struct sched_times *times)
{
    int has_switches = report_rows(report, "SCHED_EVENTS") > 0;

    for (size_t i = 0; i < times->cpu_count; i++)
        if (add_cpu(table, &times->cpus[i], times->wall_ns, has_switches) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int cpu_util(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    struct table *table = table_new(util_columns, UTIL_COLUMNS);
    struct sched_times times = { 0 };
    int code = sched_times_read(&times, report, request, err);

    if (code != 0)
        goto done;
    if (!table || fill_cpus(table, report, &times) != 0)
        code = error_no_memory(err);
done:
    sched_times_free(&times);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cpu_util = {
    .name = "cpu_util",
    .title = "CPU Utilization",
    .help = "Utilization of each CPU: by threads of the program (from context switches, from the start of its first "
            "thread to the end of its last), and by everything on the machine (from the kernel's counters, at "
            "intervals of some hundred milliseconds).",
    .needs = { { "context switches", TABLES("SCHED_EVENTS", "TACHO_CPU_TIME") } },
    .run = cpu_util,
};
