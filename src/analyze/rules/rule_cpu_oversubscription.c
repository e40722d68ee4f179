/* The rule cpu_oversubscription: threads that were ready to run but had no CPU, because there are more of them than
 * CPUs or because other programs had the CPUs. */
#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/sched_times.h"
#include "analyze/model/threads.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "rule.h"

#define LEAST_NS INT64_C(100000000)
enum { LEAST_PERCENT = 10 };

/* The threads of one process, which follow one another in sched_times. */
struct process {
    int64_t id, start_ns, end_ns, running_ns, runnable_ns;
    const struct sched_thread *worst; /* the one that was ready for longest */
};

/* The CPUs of the machine, and the share of their time that other programs used; -1: not known. */
struct machine {
    int64_t cpus;
    double others_percent;
};

static struct machine look_at(const struct sched_times *times)
{
    struct machine machine = { 0, -1 };
    double busy = 0, all = 0, running = 0;

    for (size_t i = 0; i < times->cpu_count; i++) {
        const struct sched_cpu *cpu = &times->cpus[i];
        machine.cpus++;
        busy += cpu->has_load ? (double)cpu->busy_ns : 0;
        all += cpu->has_load ? (double)cpu->busy_ns + (double)cpu->idle_ns : 0;
    }
    for (size_t i = 0; i < times->thread_count; i++)
        running += (double)times->threads[i].state_ns[SCHED_RUNNING];
    if (all > 0)
        machine.others_percent = busy > running ? 100 * (busy - running) / all : 0;
    return machine;
}

static void add_thread(struct process *process, const struct sched_thread *thread)
{
    process->start_ns = thread->start_ns < process->start_ns ? thread->start_ns : process->start_ns;
    process->end_ns = thread->end_ns > process->end_ns ? thread->end_ns : process->end_ns;
    process->running_ns = saturating_add(process->running_ns, thread->state_ns[SCHED_RUNNING]);
    process->runnable_ns = saturating_add(process->runnable_ns, thread->state_ns[SCHED_RUNNABLE]);
    if (!process->worst || thread->state_ns[SCHED_RUNNABLE] > process->worst->state_ns[SCHED_RUNNABLE])
        process->worst = thread;
}

/* The process whose threads begin at *at, which moves behind them. */
static struct process next_process(const struct sched_times *times, size_t *at)
{
    struct process process = { .id = global_process(times->threads[*at].id),
                               .start_ns = INT64_MAX,
                               .end_ns = INT64_MIN };

    for (; *at < times->thread_count && global_process(times->threads[*at].id) == process.id; ++*at)
        add_thread(&process, &times->threads[*at]);
    return process;
}

static int is_found(const struct process *process, int64_t percent)
{
    double ready = (double)process->running_ns + (double)process->runnable_ns;

    return process->runnable_ns >= LEAST_NS && (double)process->runnable_ns >= ready * (double)percent / 100;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, RUNNABLE, SHARE, RUNNING, DURATION, START, WANTED, CPUS, OTHERS, PID, TID, THREAD, CELLS };
static const struct table_column columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },
    { "Runnable", CELL_INT, UNIT_NS, 0 },
    { "Runnable", CELL_REAL, UNIT_PERCENT, 1 },
    { "Running", CELL_INT, UNIT_NS, 0 },
    { "Duration", CELL_INT, UNIT_NS, 0 },
    { "Start", CELL_INT, UNIT_TIME, 0 },
    { "CPUs Wanted", CELL_REAL, UNIT_NONE, 1 },
    { "CPUs", CELL_INT, UNIT_NONE, 0 },
    { "Other Programs", CELL_REAL, UNIT_PERCENT, 1 },
    { "PID", CELL_INT, UNIT_ID, 0 },
    { "TID", CELL_INT, UNIT_ID, 0 },
    { "Thread", CELL_TEXT, UNIT_NONE, 0 },
};

static int add_row(struct table *table, struct report *report, const struct thread_names *names,
                   const struct process *process, const struct machine *machine)
{
    struct table_cell *row = table_add_row(table);
    double ready = (double)process->running_ns + (double)process->runnable_ns;
    int64_t duration = saturating_duration(process->start_ns, process->end_ns);
    struct text text = { 0 };

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
    thread_name_label(&text, names, report, process->worst->id);
    int code = cell_set_built(table, &row[THREAD], &text);
    text_free(&text);
    return code;
}

/* The kernel's sums of whole lifetimes are used only for a request without a span. */
static int read_times(struct sched_times *times, struct report *report, const struct rule *rule, struct error *err)
{
    struct analysis_request request = rule->request;

    if (rule->span.from_ns == INT64_MIN && rule->span.to_ns == INT64_MAX)
        request.span = NULL;
    return sched_times_read(times, report, &request, err);
}

static int cpu_oversubscription(struct report *report, const struct analysis_request *request, struct table **out,
                                struct error *err)
{
    struct table *table = table_new(columns, CELLS);
    struct sched_times times = { 0 };
    struct thread_names names = { 0 };
    struct rule rule;
    int64_t percent;
    int code;

    if ((code = option_number(request, "threshold", LEAST_PERCENT, 0, 100, &percent, err)) != 0 ||
        (code = rule_open(&rule, report, request, err)) != 0 || (code = read_times(&times, report, &rule, err)) != 0 ||
        (code = thread_names_read(&names, report, err)) != 0)
        goto done;
    struct machine machine = look_at(&times);
    for (size_t at = 0; table && at < times.thread_count;) {
        struct process process = next_process(&times, &at);
        if (is_found(&process, percent) && (code = add_row(table, report, &names, &process, &machine)) != 0)
            goto done;
    }
    code = table ? 0 : ERR_NO_MEMORY;
done:
    thread_names_free(&names);
    sched_times_free(&times);
    return rule_finish(&rule, table, code, rule_by_impact, out, err);
}

/* Whether the program alone would have had enough CPUs. */
static int is_for_others(const struct table_cell *row)
{
    return row[OTHERS].kind == CELL_REAL && row[WANTED].kind == CELL_REAL && row[CPUS].kind == CELL_INT &&
           row[WANTED].real <= (double)row[CPUS].integer;
}

/* "process 2100: on average 7.9 threads wanted a CPU, of 2; ready but not running for 3.10 s, 74 % of the time that
 * they wanted one; longest thread worker (2104), 1.20 s; other programs used 35 % of the CPUs", or
 * "process 2100: other programs used 82 % of the CPUs; ready but not running for …" */
static void say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);
    int for_others = is_for_others(row);

    text_addf(out, "process %lld: ", (long long)row[PID].integer);
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

static const char *const sched_tables[] = { "SCHED_EVENTS", "TACHO_THREAD_SCHED", NULL };
const struct analysis rule_cpu_oversubscription = {
    .name = "cpu_oversubscription",
    .title = "Oversubscribed CPUs",
    .usage = RULE_OPTIONS "[:threshold=<percent>][:process=<pid>][:thread=<tid>]",
    .help =
        "Processes whose threads were ready to run but had no CPU. A process is a finding if that is at least "
        "threshold (10) percent of the time in which its threads ran or could have run, and 100 ms. CPUs Wanted is "
        "that time divided by the wall time of the process. Impact is the time of the thread that was ready but not "
        "running for longest.",
    .needs = { { "context switches", sched_tables } },
    .run = cpu_oversubscription,
    .finding = say,
    .advice = "More threads want to run than there are CPUs for them, those of other programs included. Start as many "
              "threads as the program has CPUs "
              "(OMP_NUM_THREADS, torch.set_num_threads(), DataLoader workers), stop other programs, or ask for more "
              "CPUs (cgroup and Slurm limits count).",
    .praise = "Threads that were ready to run had a CPU nearly always.",
};
