/* Notices the end of processes: by wait() for our children, by a pidfd for all others, and by polling /proc where the
 * kernel has no pidfd. Also sends signals to the tree. */
#include "process_watch.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "ending.h"
#include "process_end.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/* Ends a process that is not our child: only its parent knows its exit status. */
static void process_watch_lose(struct process *process)
{
    process_end_soon(process, PROCESS_LOST, 0, collector_now(process->collector));
    if (process->is_primary)
        ending_of_primary(process->collector, 0);
}

/* A pidfd becomes readable once the whole process is gone or a zombie. For our own children wait() knows more. */
static void died(evutil_socket_t unused, short what, void *argument)
{
    struct process *process = argument;
    struct collector *collector = process->collector;
    process_sample_cpu(process);
    process_reap(collector);
    if (process->ending == PROCESS_RUNS && !process->is_child)
        process_watch_lose(process);
    ending_check(collector);
}

void process_watch(struct process *process)
{
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd < 0)
        return;
    if (!collector_descriptor_is_spare(process->collector, process->pidfd)) {
        process_unwatch(process);
        return;
    }
    process->death = event_new(process->collector->base, process->pidfd, EV_READ, died, process);
    if (process->death && event_add(process->death, NULL) == 0)
        return;
    process_unwatch(process);
}

int process_is_gone(const struct process *process)
{
    struct pollfd death = { .fd = process->pidfd, .events = POLLIN };
    return process->pidfd >= 0 ? poll(&death, 1, 0) > 0 : !procfs_is_alive(process->pid, process->start_time);
}

void process_poll(struct collector *collector)
{
    struct process *next;
    for (struct process *process = collector->processes->first_live; process; process = next) {
        next = process->next_live;
        if (process->is_over) /* another process may have its pid */
            continue;
        process_sample_cpu(process);
        if (process->pidfd < 0 && !process->is_child && !procfs_is_alive(process->pid, process->start_time))
            process_watch_lose(process);
    }
}

/* Samples a zombie before it is reaped: afterwards the kernel has forgotten its own CPU time. */
static void reap_one(struct collector *collector, pid_t pid)
{
    struct process *process = process_find(collector, pid);
    if (process && process->ending == PROCESS_RUNS) {
        process_sample_cpu(process);
        SOURCES_CALL(process_dying, process);
    }
    int status;
    struct rusage usage;
    if (wait4(pid, &status, WNOHANG | __WNOTHREAD, &usage) != pid)
        return;
    collector->result->cpu_ns += ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
                                 ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
    if (!process) {
        children_end(collector, pid, collector_now(collector));
        return;
    }
    if (process->is_primary) {
        collector->result->cpu_ns -= capture_of(collector)->launch_cpu_ns;
        ending_of_primary(collector, status);
    }
    process_end_by_status(process, status);
}

/* A child that has ended; 0 if all of them run; -1 if there are none. Children of our other threads, which read debug
 * information, are none of the program's. */
static pid_t ended_child(void)
{
    siginfo_t info = { 0 };
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WNOTHREAD) == 0 ? info.si_pid
           : errno == ECHILD                                                       ? -1
                                                                                   : 0;
}

/* Is it, or was it, a child of another thread of ours? */
static int is_own_helper(const struct procfs_stat *stat)
{
    siginfo_t info;
    return stat->parent == getpid() &&
           waitid(P_PID, (id_t)stat->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WNOTHREAD) != 0 && errno == ECHILD;
}

void process_note_strangers(struct collector *collector)
{
    if (ended_child() >= 0)
        capture_of(collector)->strangers = procfs_descendants(getpid(), &(struct procfs_tree){ 0 });
}

static int only_strangers_left(const struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    if (!capture->strangers.count)
        return 0;
    struct procfs_tree tree = procfs_descendants(getpid(), &capture->strangers);
    free(tree.list);
    return tree.count == 0;
}

void process_reap(struct collector *collector)
{
    pid_t ended;
    while ((ended = ended_child()) > 0)
        reap_one(collector, ended);
    capture_of(collector)->children_left = ended == 0 && !only_strangers_left(collector);
}

/* A process gets its row when it is found. Processes that end before the next search are missed. */
void process_find_unseen(struct collector *collector)
{
    struct procfs_tree tree = procfs_descendants(getpid(), &capture_of(collector)->strangers);
    for (size_t i = 0; i < tree.count; i++) {
        const struct procfs_stat *stat = &tree.list[i];
        struct process *known = process_find(collector, stat->pid);
        if (known && known->ending == PROCESS_RUNS && !process_has_agent(known))
            known->filters = procfs_filters(stat->pid);
        if (stat->is_dead || is_own_helper(stat) ||
            (known && (known->ending == PROCESS_RUNS || known->start_time == stat->start_time)))
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

void process_begun(struct process *process, int is_alive, int64_t end_ns)
{
    if (is_alive)
        process_watch(process);
    else
        process_end(process, PROCESS_LOST, 0, end_ns);
}

void process_begun_at_end(struct process *process, int is_alive, int64_t end_ns)
{
    process_end(process, is_alive ? PROCESS_RUNS : PROCESS_LOST, 0, end_ns);
}

/* Signals programs without an agent (static programs, programs whose environment was cleared). We adopt orphans, so
 * the whole tree descends from us. */
static void kill_unseen(struct collector *collector, const struct procfs_tree *tree, int signal)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct procfs_stat *stat = &tree->list[i];
        const struct process *known = process_find(collector, stat->pid);
        if (stat->is_dead || is_own_helper(stat) || (known && known->ending == PROCESS_RUNS))
            continue;
        int pidfd = (int)syscall(SYS_pidfd_open, stat->pid, 0);
        if (procfs_is_alive(stat->pid, stat->start_time)) { /* so the descriptor does not belong to another process */
            if (pidfd >= 0)
                syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
            else
                kill(stat->pid, signal);
        }
        if (pidfd >= 0)
            close(pidfd);
    }
}

/* Our process group is the one in which we were started, and other processes are in it. So each process of the tree is
 * signalled by itself. */
void process_kill_all(struct collector *collector, int signal)
{
    /* Read the tree before the first signal, so that processes which a handler starts to clean up are not hit. */
    struct procfs_tree tree = procfs_descendants(getpid(), &capture_of(collector)->strangers);
    for (struct process *process = collector->processes->first; process; process = process->next) {
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
