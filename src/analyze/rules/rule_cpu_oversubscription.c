/* The rule cpu_oversubscription: threads that were ready to run but had no CPU, because there are more of them than
 * CPUs or because other programs had the CPUs. A capture of the whole machine has the switches of other programs too:
 * findings are about the recorded processes alone. */
#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/sched_times.h"
#include "analyze/model/threads.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "rule.h"

#define LEAST_NS INT64_C(100000000)
enum { LEAST_PERCENT = 10, LEAST_CAPTURE_PERCENT = 5 };

/* The threads of one process, which follow one another in sched_times. */
struct oversubscribed_process {
    int64_t id, start_ns, end_ns, running_ns, runnable_ns;
    const struct sched_thread *worst; /* the one that was ready for longest */
};

/* The CPUs of the machine, and the share of their time that other programs used; -1: not known. */
struct oversubscribed_machine {
    int64_t cpus;
    double others_percent;
};

struct oversubscribed_search {
    struct rule_search base;
    struct sched_times times;
    struct thread_names threads;
    struct process_names processes;
    struct keys recorded; /* processes; none in an import, where all count */
    struct oversubscribed_machine machine;
};

static void oversubscribed_search_free(void *context)
{
    struct oversubscribed_search *search = context;

    sched_times_free(&search->times);
    thread_names_free(&search->threads);
    process_names_free(&search->processes);
    keys_free(&search->recorded);
}

static int read_recorded(struct oversubscribed_search *search, struct error *err)
{
    static const char *const names[] = { "globalPid", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, search->base.report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (keys_add(&search->recorded, &(int64_t){ global_process(row_int(&rows, 0)) }) == NO_KEY &&
            (code = error_short_memory(err, "for the processes")) != 0)
            goto close_rows;
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* Whether a process is part of the program. */
static int oversubscribed_is_recorded(const struct oversubscribed_search *search, int64_t id)
{
    return !search->recorded.count || keys_find(&search->recorded, &(int64_t){ global_process(id) }) != NO_KEY;
}

static struct oversubscribed_machine oversubscribed_look_at(const struct oversubscribed_search *search)
{
    const struct sched_times *times = &search->times;
    struct oversubscribed_machine machine = { 0, -1 };
    double busy = 0, all = 0, running = 0;

    for (size_t i = 0; i < times->cpu_count; i++) {
        const struct sched_cpu *cpu = &times->cpus[i];
        machine.cpus++;
        busy += cpu->has_load ? (double)cpu->busy_ns : 0;
        all += cpu->has_load ? (double)cpu->busy_ns + (double)cpu->idle_ns : 0;
    }
    for (size_t i = 0; i < times->thread_count; i++)
        if (oversubscribed_is_recorded(search, times->threads[i].id))
            running += (double)times->threads[i].state_ns[SCHED_RUNNING];
    if (all > 0)
        machine.others_percent = busy > running ? 100 * (busy - running) / all : 0;
    return machine;
}

static void oversubscribed_add_thread(struct oversubscribed_process *process, const struct sched_thread *thread)
{
    process->start_ns = thread->start_ns < process->start_ns ? thread->start_ns : process->start_ns;
    process->end_ns = thread->end_ns > process->end_ns ? thread->end_ns : process->end_ns;
    process->running_ns = saturating_add(process->running_ns, thread->state_ns[SCHED_RUNNING]);
    process->runnable_ns = saturating_add(process->runnable_ns, thread->state_ns[SCHED_RUNNABLE]);
    if (!process->worst || thread->state_ns[SCHED_RUNNABLE] > process->worst->state_ns[SCHED_RUNNABLE])
        process->worst = thread;
}

/* The process whose threads begin at *at, which moves past them. */
static struct oversubscribed_process oversubscribed_next_process(const struct sched_times *times, size_t *at)
{
    struct oversubscribed_process process = { .id = global_process(times->threads[*at].id),
                                              .start_ns = INT64_MAX,
                                              .end_ns = INT64_MIN };

    for (; *at < times->thread_count && global_process(times->threads[*at].id) == process.id; ++*at)
        oversubscribed_add_thread(&process, &times->threads[*at]);
    return process;
}

static int oversubscribed_is_found(const struct oversubscribed_search *search,
                                   const struct oversubscribed_process *process)
{
    double ready = (double)process->running_ns + (double)process->runnable_ns,
           wall = (double)saturating_duration(search->base.time.from_ns, search->base.time.to_ns);

    return oversubscribed_is_recorded(search, process->id) && process->runnable_ns >= LEAST_NS &&
           (double)process->runnable_ns >= ready * (double)search->base.percent / 100 &&
           (double)process->worst->state_ns[SCHED_RUNNABLE] >= wall * LEAST_CAPTURE_PERCENT / 100;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, RUNNABLE, SHARE, RUNNING, DURATION, START, WANTED, CPUS, OTHERS, PID, PROGRAM, TID, THREAD, CELLS };
static const struct table_column oversubscribed_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },
    { "Runnable", CELL_INT, UNIT_NS, 0 },
    { "Share", CELL_REAL, UNIT_PERCENT, 1 },
    { "Running", CELL_INT, UNIT_NS, 0 },
    { "Duration", CELL_INT, UNIT_NS, 0 },
    { "Start", CELL_INT, UNIT_TIME, 0 },
    { "CPUs Wanted", CELL_REAL, UNIT_NONE, 1 },
    { "CPUs", CELL_INT, UNIT_NONE, 0 },
    { "Other Programs", CELL_REAL, UNIT_PERCENT, 1 },
    { "PID", CELL_INT, UNIT_ID, 0 },
    { "Program", CELL_TEXT, UNIT_NONE, 0 },
    { "TID", CELL_INT, UNIT_ID, 0 },
    { "Thread", CELL_TEXT, UNIT_NONE, 0 },
};

static int oversubscribed_add_row(struct table *table, const struct oversubscribed_search *search,
                                  const struct oversubscribed_process *process)
{
    const struct oversubscribed_machine *machine = &search->machine;
    struct table_cell *row = table_add_row(table);
    double ready = (double)process->running_ns + (double)process->runnable_ns;
    int64_t duration = saturating_duration(process->start_ns, process->end_ns);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], process->worst->state_ns[SCHED_RUNNABLE]);
    cell_set_int(&row[RUNNABLE], process->runnable_ns);
    cell_set_real(&row[SHARE], 100.0 * (double)process->runnable_ns / ready);
    cell_set_int(&row[RUNNING], process->running_ns);
    cell_set_int(&row[DURATION], duration);
    cell_set_int(&row[START], process->start_ns);
    if (duration > 0)
        cell_set_real(&row[WANTED], ready / (double)duration);
    if (machine->cpus)
        cell_set_int(&row[CPUS], machine->cpus);
    if (machine->others_percent >= 0)
        cell_set_real(&row[OTHERS], machine->others_percent);
    cell_set_int(&row[PID], global_pid_number(process->id));
    cell_set_int(&row[TID], global_tid_number(process->worst->id));
    if (rule_set_program(table, &row[PROGRAM], &search->processes, search->base.report, process->id) != 0)
        return ERR_NO_MEMORY;
    return rule_set_thread(table, &row[THREAD], &search->threads, search->base.report, process->worst->id);
}

static int oversubscribed_read_all(void *context, struct error *err)
{
    struct oversubscribed_search *search = context;
    int code;

    if ((code = rule_sched_times(&search->base, &search->times, err)) != 0 ||
        (code = read_recorded(search, err)) != 0 ||
        (code = thread_names_read(&search->threads, search->base.report, err)) != 0)
        return code;
    search->machine = oversubscribed_look_at(search);
    return process_names_read(&search->processes, search->base.report, err);
}

static int oversubscribed_fill(void *context, struct table *table, struct error *err)
{
    struct oversubscribed_search *search = context;

    for (size_t at = 0; at < search->times.thread_count;) {
        struct oversubscribed_process process = oversubscribed_next_process(&search->times, &at);
        if (oversubscribed_is_found(search, &process) && oversubscribed_add_row(table, search, &process) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int cpu_oversubscription(struct report *report, const struct analysis_request *request, struct table **out,
                                struct error *err)
{
    static const struct rule_steps steps = {
        oversubscribed_columns,    CELLS, LEAST_PERCENT, "the threads", oversubscribed_read_all, oversubscribed_fill,
        oversubscribed_search_free
    };
    struct oversubscribed_search search = { .base.report = report, .recorded.width = 1 };

    return rule_run(&steps, &search.base, request, out, err);
}

/* What kept threads from a CPU, as far as it is known. */
enum oversubscribed_by {
    BY_UNKNOWN,
    BY_LIMITS, /* the machine had CPUs for all of these threads, also beside other programs */
    BY_OTHERS, /* without other programs there would have been enough, or they used more than was lacking */
    BY_THREADS,
    OVERSUBSCRIBED_BY
};
static const char *const oversubscribed_advices[OVERSUBSCRIBED_BY] = {
    [BY_UNKNOWN] = "It is not recorded what had the CPUs. Look for more threads than the program has CPUs "
                   "(OMP_NUM_THREADS, thread pools, torch.set_num_threads()), for other programs, and for a CPU quota "
                   "(cpu.max of the cgroup).",
    [BY_LIMITS] = "The machine had CPUs for these threads, so that the program may not use all of them, or its threads "
                  "want them at the same moments. Raise its CPU quota (cpu.max of the cgroup, docker --cpus, a "
                  "Kubernetes limit), let it run on more CPUs (taskset, Slurm's --cpus-per-task), or start fewer "
                  "threads.",
    [BY_OTHERS] = "Other programs use the CPUs that this one wants. Stop them, move them to other CPUs "
                  "(taskset, cgroups, Slurm's --exclusive), or run at another time.",
    [BY_THREADS] = "More threads want to run than there are CPUs. Start as many threads as the program has CPUs "
                   "(OMP_NUM_THREADS, thread pools, torch.set_num_threads(), DataLoader workers), or ask for more CPUs "
                   "(cgroup and Slurm limits count).",
};

static enum oversubscribed_by oversubscribed_why(const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);
    int knows_others = row[OTHERS].kind == CELL_REAL;
    double others = knows_others ? row[OTHERS].real / 100 : 0;

    if (row[WANTED].kind != CELL_REAL || row[CPUS].kind != CELL_INT)
        return BY_UNKNOWN;
    double cpus = (double)row[CPUS].integer, wanted = row[WANTED].real;
    if (wanted <= cpus * (1 - others))
        return knows_others ? BY_LIMITS : BY_UNKNOWN;
    return wanted <= cpus * (1 + others) ? BY_OTHERS : BY_THREADS;
}

static int oversubscribed_is_outside(const struct table *table, size_t row)
{
    return oversubscribed_why(table, row) == BY_OTHERS;
}

/* "make (2100): on average 7.9 threads wanted a CPU, of 2; ready but not running for 3.10 s, 74 % of the time that
 * they wanted one; longest thread worker (2104), 1.20 s; other programs used 35 % of the CPUs", or
 * "make (2100): other programs used 82 % of the CPUs; ready but not running for …" */
static void oversubscribed_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);
    int for_others = oversubscribed_is_outside(table, at);

    rule_add_process(out, &row[PROGRAM], &row[PID]);
    text_add(out, ": ");
    if (for_others)
        text_addf(out, "other programs used %.0f %% of the CPUs; ", row[OTHERS].real);
    else if (row[WANTED].kind == CELL_REAL && row[CPUS].kind == CELL_INT)
        text_addf(out, "on average %.1f threads wanted a CPU, of %lld; ", row[WANTED].real,
                  (long long)row[CPUS].integer);
    text_add(out, "ready but not running for ");
    human_time(out, row[RUNNABLE].integer);
    text_addf(out, ", %.0f %% of the time that its threads wanted one; longest thread ", row[SHARE].real);
    rule_add_text(out, "", &row[THREAD]);
    text_add(out, ", ");
    human_time(out, row[IMPACT].integer);
    if (!for_others && row[OTHERS].kind == CELL_REAL)
        text_addf(out, "; other programs used %.0f %% of the CPUs", row[OTHERS].real);
}

static const char *oversubscribed_advise(const struct table *table, size_t row)
{
    return oversubscribed_advices[oversubscribed_why(table, row)];
}

const struct analysis rule_cpu_oversubscription = {
    .name = "cpu_oversubscription",
    .title = "Oversubscribed CPUs",
    .usage = RULE_OPTIONS "[:threshold=<percent>][:process=<pid>][:thread=<tid>]",
    .help =
        "Processes whose threads were ready to run but had no CPU. A process is a finding if that is at least "
        "threshold (10) percent of the time in which its threads ran or could have run, and 100 ms, and if one of its "
        "threads was without a CPU for 5 percent of the capture's time. CPUs Wanted is the time in which threads ran "
        "or could have run, divided by the wall time of the process. Impact is the time of the thread that was ready "
        "but not running for longest.",
    .needs = { { "context switches", TABLES("SCHED_EVENTS", "TACHO_THREAD_SCHED") } },
    .run = cpu_oversubscription,
    .rule = ANALYSIS_RULE(.finding = oversubscribed_say, .advise = oversubscribed_advise,
                          .is_outside = oversubscribed_is_outside,
                          .advice = "Start as many threads as the program has CPUs, or give it more CPUs.",
                          .praise = "Threads that were ready to run had a CPU nearly always."),
};
