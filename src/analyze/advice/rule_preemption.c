/* The rule preemption: a thread that launches work could run, but has no CPU, because other threads have all of them or
 * because a quota of CPU time is used up. Bound and estimate: the thread keeps its CPU. */
#include "advice_groups.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/stacks/thread_spans.h"
#include "analyze/model/threads.h"
#include "analyze/registry.h"
#include "base/human.h"

/* The threads that ran instead. */
enum { SAME_PROCESS, OTHER_PROCESS, NOT_RECORDED, OWNERS };
static const struct owner {
    const char *ran, *advice;
} owners[OWNERS] = {
    [SAME_PROCESS] = { " of this process ran instead",
                       "Start no more threads than the program has CPUs: OMP_NUM_THREADS, torch.set_num_threads(), "
                       "smaller thread pools. Or give it more CPUs (taskset, cgroups, Slurm's --cpus-per-task)." },
    [OTHER_PROCESS] = { " of other processes ran instead",
                        "Run fewer processes on these CPUs (DataLoader workers, ranks, other programs), or give each "
                        "its own (taskset, cgroups, Slurm's --exclusive)." },
    [NOT_RECORDED] = { "an unrecorded program ran, or a CPU quota was used up",
                       "Raise the CPU quota (cpu.max of the cgroup, docker --cpus, a Kubernetes limit), or stop other "
                       "programs; --cpuctxsw=system-wide records which." },
};

struct preemptions {
    struct advice_groups
        groups; /* the first member: preemption_describe() gets it. Keys: process, owner. Kinds are threads */
    struct thread_spans pauses;
    struct thread_names names;
};

static int preemption_owner_of(const struct thread_span *pause)
{
    if (!global_tid_number(pause->other)) /* not known, or the idle thread */
        return NOT_RECORDED;
    return global_process(pause->other) == global_process(pause->thread) ? SAME_PROCESS : OTHER_PROCESS;
}

static int preemption_add_pause(struct advice_groups *groups, const struct thread_span *pause)
{
    const struct replay *replay = &groups->adviser->replay;
    const struct replay_thread *thread = advice_thread(groups->adviser, pause->thread, pause->start_ns);
    const struct advice_event event = { .place = NO_PLACE,
                                        .kind = pause->other,
                                        .thread = pause->thread,
                                        .start_ns = pause->start_ns,
                                        .end_ns = pause->end_ns };

    if (!thread || pause->name != OFF_CPU_PREEMPTED)
        return 0;
    uint32_t group = advice_group(groups, global_process(pause->thread), preemption_owner_of(pause));
    if (group == NO_KEY || advice_group_note(groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    if (advice_cut_time(replay, &cause->bound, thread, pause->start_ns, pause->end_ns, 1) != 0)
        return ERR_NO_MEMORY;
    return advice_cut_time(replay, &cause->estimate, thread, pause->start_ns, pause->end_ns, 1);
}

/* The CPUs on which threads of a process ran; 0: not known. */
static size_t count_cpus(struct report *report, int64_t process)
{
    enum { CPU, THREAD };
    static const char *const names[] = { [CPU] = "cpu", [THREAD] = "globalTid", NULL };
    struct keys cpus = { .width = 1 };
    struct row_cursor rows;
    struct error err;

    if (row_cursor_open(&rows, report, "SCHED_EVENTS", names, &err) != 0)
        return 0;
    while (row_cursor_next(&rows))
        if (global_process(row_int_or(&rows, THREAD, 0)) == process &&
            keys_add(&cpus, &(int64_t){ row_int(&rows, CPU) }) == NO_KEY)
            break;
    size_t count = cpus.count;
    row_cursor_close(&rows);
    keys_free(&cpus);
    return count;
}

/* "no CPU for 2.10 ms in each step: 31 threads of this process ran instead, most worker (17); it ran on 2 CPUs" */
static int preemption_describe(struct advice_groups *groups, uint32_t group)
{
    const struct preemptions *all = (const struct preemptions *)groups;
    struct advice_cause *cause = &groups->list[group].cause;
    struct report *report = groups->adviser->report;
    const int64_t *key = keys_get(&groups->keys, group);
    const struct owner *owner = &owners[key[1]];
    size_t threads = advice_group_kinds(groups, group), cpus = count_cpus(report, key[0]);
    uint32_t place;
    int64_t most;

    advice_group_most(groups, group, &place, &most);
    text_add(&cause->what, "no CPU for ");
    human_time(&cause->what, groups->list[group].total_ns / (int64_t)groups->adviser->step_count);
    text_addf(&cause->what, "%s: ", groups->adviser->steps->count ? " in each step" : "");
    if (key[1] != NOT_RECORDED)
        text_addf(&cause->what, "%zu thread%s", threads, threads == 1 ? "" : "s");
    text_add(&cause->what, owner->ran);
    if (key[1] != NOT_RECORDED) {
        text_add(&cause->what, threads == 1 ? ", " : ", most ");
        thread_name_label(&cause->what, &all->names, report, most);
    }
    if (cpus)
        text_addf(&cause->what, "; it ran on %zu CPU%s", cpus, cpus == 1 ? "" : "s");
    cause->advice = owner->advice;
    return 1;
}

static int find_preemption(struct adviser *adviser, struct error *err)
{
    static const struct filter all_threads;
    struct preemptions all = { 0 };
    int code;

    if ((code = advice_groups_open(&all.groups, adviser, err)) != 0 ||
        (code = thread_spans_off_cpu(&all.pauses, adviser->report, &all_threads, err)) != 0 ||
        (code = thread_names_read(&all.names, adviser->report, err)) != 0)
        goto done;
    for (size_t i = 0; i < all.pauses.count; i++)
        if (preemption_add_pause(&all.groups, &all.pauses.list[i]) != 0 &&
            (code = error_short_memory(err, "for the context switches")) != 0)
            goto done;
    code = advice_groups_add(&all.groups, advice_least(adviser), preemption_describe, err);
done:
    thread_names_free(&all.names);
    thread_spans_free(&all.pauses);
    advice_groups_free(&all.groups);
    return code;
}

const struct analysis rule_preemption = {
    .name = "preemption",
    .title = "Launching Threads without a CPU",
    .help = "Times in which a thread that launches work could run, but another thread had its CPU, while the GPU waits "
            "for the next launch. The saving is that of a replay in which the thread keeps its CPU. Needs "
            "--cpuctxsw=process-tree, and permission to record context switches.",
    .needs = { { "CUDA trace data", advice_call_tables },
               { "GPU trace data", advice_work_tables },
               { "context switches", TABLES("SCHED_EVENTS") } },
    ADVICE_RULE(preemption, .advice = "Start no more threads than the program has CPUs.",
                .praise = "The GPU does not wait for threads that have no CPU."),
};
