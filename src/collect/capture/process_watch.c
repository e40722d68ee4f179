/* How the end of a process is noticed: wait() for those we are the parent of, a pidfd for all others, and a look into
 * /proc where the kernel has no pidfd. Also the signals that we send to the tree. */
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/core/collector.h"
#include "collect/core/procfs.h"
#include "shutdown.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

void process_sample_cpu(struct process *process)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(process->pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
        process->cpu_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

void process_set_cpu(struct process *process, uint64_t ns)
{
    if (ns <= INT64_MAX && (int64_t)ns > process->cpu_ns)
        process->cpu_ns = (int64_t)ns;
}

/* One that we are not the parent of: how it ended only its parent knows. */
static void lose(struct process *process)
{
    process_end_soon(process, PROCESS_LOST, 0, collector_now(process->collector));
    if (process->is_primary)
        shutdown_primary_ended(process->collector, 0);
}

/* A pidfd is readable once the whole process is gone or a zombie. If we are to reap it, wait() says more. */
static void died(evutil_socket_t unused, short what, void *argument)
{
    struct process *process = argument;
    struct collector *collector = process->collector;
    process_sample_cpu(process);
    process_reap(collector);
    if (process->ending == PROCESS_RUNS && !process->is_child)
        lose(process);
    shutdown_check(collector);
}

/* For agents that come in: a process that is not watched can be looked at, one that could not come in is lost. */
#define DESCRIPTORS_KEPT 48

int process_descriptor_is_spare(const struct collector *collector, int descriptor)
{
    return (rlim_t)descriptor + DESCRIPTORS_KEPT < collector->old_files.rlim_max;
}

void process_watch(struct process *process)
{
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd < 0)
        return;
    if (!process_descriptor_is_spare(process->collector, process->pidfd)) {
        process_unwatch(process);
        return;
    }
    process->death = event_new(process->collector->base, process->pidfd, EV_READ, died, process);
    if (process->death && event_add(process->death, NULL) == 0)
        return;
    process_unwatch(process);
}

void process_unwatch(struct process *process)
{
    if (process->death)
        event_free(process->death);
    process->death = NULL;
    if (process->pidfd >= 0)
        close(process->pidfd);
    process->pidfd = -1;
}

int process_is_gone(const struct process *process)
{
    struct pollfd death = { .fd = process->pidfd, .events = POLLIN };
    return process->pidfd >= 0 ? poll(&death, 1, 0) > 0 : !procfs_is_alive(process->pid, process->start_time);
}

void process_poll(struct collector *collector)
{
    struct process *next;
    for (struct process *process = collector->processes.first_live; process; process = next) {
        next = process->next_live;
        if (process->is_over) /* another may have its pid */
            continue;
        process_sample_cpu(process);
        if (process->pidfd < 0 && !process->is_child && !procfs_is_alive(process->pid, process->start_time))
            lose(process);
    }
}

/* Zombies are looked at before they are reaped: afterwards the kernel has forgotten their own CPU time. */
static void reap_one(struct collector *collector, pid_t pid)
{
    struct process *process = process_find(collector, pid);
    if (process && process->ending == PROCESS_RUNS) {
        process_sample_cpu(process);
        sched_look(process);
    }
    int status;
    struct rusage usage;
    if (wait4(pid, &status, WNOHANG, &usage) != pid)
        return;
    collector->result->cpu_ns += ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
                                 ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
    if (!process) {
        children_end(collector, pid, collector_now(collector));
        return;
    }
    if (process->is_primary) {
        collector->result->cpu_ns -= collector->launch_cpu_ns;
        shutdown_primary_ended(collector, status);
    }
    process_status(process, status);
}

/* A child that has ended, 0 if all of them run, -1 if there are none. */
static pid_t ended_child(void)
{
    siginfo_t info = { 0 };
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : errno == ECHILD ? -1 : 0;
}

void process_note_strangers(struct collector *collector)
{
    if (ended_child() >= 0)
        collector->strangers = procfs_descendants(getpid(), &(struct procfs_tree){ 0 });
}

static int only_strangers_left(const struct collector *collector)
{
    if (!collector->strangers.count)
        return 0;
    struct procfs_tree tree = procfs_descendants(getpid(), &collector->strangers);
    free(tree.list);
    return tree.count == 0;
}

void process_reap(struct collector *collector)
{
    pid_t ended;
    while ((ended = ended_child()) > 0)
        reap_one(collector, ended);
    collector->children_left = ended == 0 && !only_strangers_left(collector);
}

/* They get their rows when they are met: of those that end sooner nothing is known. */
void process_find_unseen(struct collector *collector)
{
    struct procfs_tree tree = procfs_descendants(getpid(), &collector->strangers);
    for (size_t i = 0; i < tree.count; i++) {
        const struct procfs_stat *stat = &tree.list[i];
        struct process *known = process_find(collector, stat->pid);
        if (known && known->ending == PROCESS_RUNS && !process_has_agent(known))
            known->filters = procfs_filters(stat->pid);
        if (stat->is_dead || (known && (known->ending == PROCESS_RUNS || known->start_time == stat->start_time)))
            continue;
        struct process *found = process_add(collector, stat->pid, stat->parent, "found");
        if (!found)
            break;
        found->is_child = stat->parent == getpid();
        process_describe_unseen(found);
        process_watch(found);
    }
    free(tree.list);
}

/* Programs that no agent is in (static ones, those whose environment was lost): as we adopt orphans, the whole tree
 * descends from us. */
static void kill_unseen(struct collector *collector, const struct procfs_tree *tree, int signal)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct procfs_stat *stat = &tree->list[i];
        const struct process *known = process_find(collector, stat->pid);
        if (stat->is_dead || (known && known->ending == PROCESS_RUNS))
            continue;
        int pidfd = (int)syscall(SYS_pidfd_open, stat->pid, 0);
        if (procfs_is_alive(stat->pid, stat->start_time)) { /* so that the descriptor is not another's */
            if (pidfd >= 0)
                syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
            else
                kill(stat->pid, signal);
        }
        if (pidfd >= 0)
            close(pidfd);
    }
}

/* Our process group is the one we were started in, with strangers in it: the tree is signalled one by one. */
void process_kill_all(struct collector *collector, int signal)
{
    /* Seen before the first signal: what a handler starts to clean up is not to be hit. */
    struct procfs_tree tree = procfs_descendants(getpid(), &collector->strangers);
    for (struct process *process = collector->processes.first; process; process = process->next) {
        if (process->ending != PROCESS_RUNS || process->is_over)
            continue;
        if (process->pidfd >= 0)
            syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0);
        else if (process->pid > 1 && procfs_is_alive(process->pid, process->start_time))
            kill(process->pid, signal);
    }
    kill_unseen(collector, &tree, signal);
    free(tree.list);
}
