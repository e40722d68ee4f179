/* Processes that others report: see children.h.
 *
 * A report may come before the process attaches, or long after it has ended. So reports are kept for a while; those of
 * a process that is known by then are not needed. */
#include "children.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/core/collector.h"
#include "collect/core/procfs.h"
#include "process.h"
#include "unattached.h"

struct process_child {
    pid_t pid, parent_pid;
    int64_t start_ns, end_ns; /* end: PROCESS_NO_TIME until it is reported */
    int64_t path_id;
    enum wire_cause cause;
    unsigned heard_at;        /* the tick of the last report */
    int execs, is_borrowed;
    int is_told;              /* an agent reported it */
    int is_settled;
    int has_status, status;
    char name[64];
};

/* Is this the process that had the pid at that time, and not an earlier one? */
static int children_was_there(const struct process *process, int64_t time_ns)
{
    return process &&
           (process->ending == PROCESS_RUNS || process->end_ns == PROCESS_NO_TIME || process->end_ns >= time_ns);
}

static struct process *children_find_process(struct collector *collector, pid_t pid, int64_t time_ns)
{
    struct process *process = process_find(collector, pid);
    return children_was_there(process, time_ns) ? process : NULL;
}

static struct process_child *find_child(struct collector *collector, pid_t pid)
{
    const struct children_of_pid *known = children_pid_map_find(&collector->children->by_pid, pid);
    return known ? &collector->children->list[known->index_plus_1 - 1] : NULL;
}

/* The child at the end of the list is the newest in its pid. Returns 0, or -1 when memory is short. */
static int note_newest(struct children *children)
{
    const struct children_of_pid added = { children->list[children->count - 1].pid, (uint32_t)children->count };
    struct children_of_pid *known = children_pid_map_find(&children->by_pid, added.pid);
    if (!known)
        return children_pid_map_add(&children->by_pid, &added) ? 0 : -1;
    *known = added;
    return 0;
}

static struct process_child *children_add_child(struct collector *collector, pid_t pid, pid_t parent_pid,
                                                int64_t time_ns)
{
    struct children *children = collector->children;
    if (array_reserve(&children->list, &children->capacity, children->count + 1, sizeof *children->list) != 0)
        return NULL;
    struct process_child *child = &children->list[children->count++];
    *child = (struct process_child){
        .pid = pid, .parent_pid = parent_pid, .start_ns = time_ns, .end_ns = PROCESS_NO_TIME
    };
    if (note_newest(children) == 0)
        return child;
    children->count--;
    return NULL;
}

static struct process_child *take_child(struct collector *collector, pid_t pid, pid_t parent_pid, int64_t time_ns)
{
    struct process_child *child = find_child(collector, pid);
    if (child && child->end_ns != PROCESS_NO_TIME && child->end_ns < time_ns)
        child = NULL; /* another process has the pid now */
    if (!child)
        child = children_add_child(collector, pid, parent_pid, time_ns);
    if (!child)
        return NULL;
    child->heard_at = collector->ticks;
    if (!child->parent_pid)
        child->parent_pid = parent_pid;
    return child;
}

/* ---- Reports from all sources ---------------------------------------------------------------------------------- */

void children_add(struct collector *collector, const struct children_news *news)
{
    struct process *process = children_find_process(collector, news->pid, news->time_ns);
    if (process) {
        process->is_borrowed |= !process->is_recorded && news->what == WIRE_CHILD_BORROWED;
        process->cause = process->cause ? process->cause : news->cause;
        if (process->has_left && news->what == WIRE_CHILD_EXECS && news->time_ns > process->left_ns)
            process->left_ns = news->time_ns;
        return;
    }
    struct process_child *child = take_child(collector, news->pid, news->parent_pid, news->time_ns);
    if (!child)
        return;
    child->start_ns = news->time_ns < child->start_ns ? news->time_ns : child->start_ns;
    child->is_borrowed |= news->what == WIRE_CHILD_BORROWED;
    child->execs |= news->what == WIRE_CHILD_EXECS;
    child->cause = news->cause ? news->cause : child->cause;
    child->path_id = news->path_id ? news->path_id : child->path_id;
    if (news->name && *news->name)
        snprintf(child->name, sizeof child->name, "%s", news->name);
}

static void set_end(struct collector *collector, struct process_child *child, int64_t time_ns)
{
    child->heard_at = collector->ticks;
    if (child->end_ns == PROCESS_NO_TIME || child->end_ns > time_ns)
        child->end_ns = time_ns;
}

void children_end(struct collector *collector, pid_t pid, int64_t time_ns)
{
    struct process_child *child = find_child(collector, pid);
    if (child)
        set_end(collector, child, time_ns);
}

/* A child belongs to the tree if its parents lead there. */
static int is_of_tree(struct collector *collector, const struct process_child *child)
{
    if (!collector->hears_of_strangers)
        return 1;
    for (size_t steps = 0; child && steps <= collector->children->count; steps++) {
        if (child->is_told || children_find_process(collector, child->parent_pid, child->start_ns))
            return 1;
        child = find_child(collector, child->parent_pid);
    }
    return 0;
}

static int knows(struct collector *collector, pid_t pid)
{
    const struct process_child *child = find_child(collector, pid);
    return pid == getpid() || process_find(collector, pid) || (child && is_of_tree(collector, child));
}

void children_add_parents(struct collector *collector, pid_t parent_pid)
{
    pid_t parents[64]; /* they may lead to a daemon outside the tree */
    size_t count = 0, most = COUNT_OF(parents);
    pid_t pid = parent_pid;
    for (; pid > 1 && !knows(collector, pid) && count < most; pid = procfs_parent(pid))
        parents[count++] = pid;
    if (pid <= 1 || !knows(collector, pid))
        return;
    for (; count > 0; pid = parents[count])
        children_add(collector, &(struct children_news){
                                    .pid = parents[--count], .parent_pid = pid, .time_ns = collector_now(collector) });
}

/* ---- Reports from agents --------------------------------------------------------------------------------------- */

static int is_in_our_namespace(const struct process *process)
{
    return process->own_pid == (uint32_t)process->pid;
}

void children_add_from_agent(struct process *parent, struct children_news *news)
{
    news->parent_pid = parent->pid;
    if (!is_in_our_namespace(parent))
        return;
    children_add(parent->collector, news);
    struct process *process = children_find_process(parent->collector, news->pid, news->time_ns);
    struct process_child *child = find_child(parent->collector, news->pid);
    if (process && !process->is_recorded && news->what == WIRE_CHILD_STAYS)
        process->cause = WIRE_CAUSE_UNKNOWN;
    if (child)
        child->is_told = 1;
    if (child && news->what == WIRE_CHILD_STAYS) {
        child->execs = 0;
        child->cause = WIRE_CAUSE_UNKNOWN;
        child->path_id = child->name[0] = 0;
    }
}

void children_end_from_agent(struct process *parent, pid_t number, int64_t time_ns, int status, int may_be_thread)
{
    struct collector *collector = parent->collector;
    int is_ours = is_in_our_namespace(parent);
    struct process_child *child = is_ours ? find_child(collector, number) : NULL;
    struct process *process = child     ? NULL
                              : is_ours ? process_find(collector, number)
                                        : process_find_child(parent, (uint32_t)number);
    if (process && process != parent)
        process_set_wait_status(process, status);
    if (!child && !process && is_ours && !may_be_thread)
        child = take_child(collector, number, parent->pid, time_ns);
    if (!child)
        return;
    set_end(collector, child, time_ns);
    child->is_told = child->has_status = 1;
    child->status = status;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static void hand_over(struct process *process, const struct process_child *child)
{
    process->is_borrowed |= !process->is_recorded && child->is_borrowed;
    process->cause = process->cause ? process->cause : child->cause;
    if (child->has_status)
        process_set_wait_status(process, child->status);
}

static void name_it(struct collector *collector, struct process *process, const struct process_child *child)
{
    const struct process *parent = process_find(collector, child->parent_pid);
    process->exe_id = child->path_id;
    if (child->name[0] || parent)
        snprintf(process->name, sizeof process->name, "%s", child->name[0] ? child->name : parent->name);
    if (!process->exe_id && child->name[0])
        process->command_id = collector_string(collector, child->name);
    if (!child->execs && parent) { /* still the same program as its parent */
        process->exe_id = parent->exe_id;
        process->command_id = parent->command_id;
        process->cause = child->cause ? child->cause : parent->cause;
        process->filters = parent->filters;
    }
}

static void children_add_process(struct collector *collector, const struct process_child *child, children_begun begun)
{
    int is_alive = child->end_ns == PROCESS_NO_TIME && procfs_is_alive(child->pid, 0);
    struct process *process = process_add(collector, child->pid, child->parent_pid, "found");
    if (!process)
        return;
    process->start_ns = child->start_ns;
    name_it(collector, process, child);
    hand_over(process, child);
    if (is_alive)
        process_describe_unseen(process);
    int64_t end_ns = child->end_ns != PROCESS_NO_TIME ? child->end_ns : collector_now(collector);
    begun(process, is_alive, end_ns > process->start_ns ? end_ns : process->start_ns);
}

/* An agent reports forks, and vfork children that end without exec. The children that it does not report are those of
 * posix_spawn() calls that found no program: the program did not ask for a process then. */
static int children_is_wanted(struct collector *collector, const struct process_child *child)
{
    const struct process *parent = process_find(collector, child->parent_pid);
    if (!is_of_tree(collector, child))
        return 0;
    if (child->execs)
        return 1;
    return collector->options->trace_fork_before_exec &&
           (child->is_told || !parent || !parent->is_recorded || parent->has_left);
}

void children_settle(struct collector *collector, int is_end, children_begun begun)
{
    struct children *children = collector->children;
    size_t count = children->count;
    for (size_t i = 0; i < count; i++) {
        struct process_child *child = &children->list[i];
        struct process *process = children_find_process(collector, child->pid, child->start_ns);
        child->is_settled = process || is_end || collector->ticks - child->heard_at > 1;
        if (process)
            hand_over(process, child);
        else if (child->is_settled && children_is_wanted(collector, child))
            children_add_process(collector, child, begun);
    }
    children_pid_map_clear(&children->by_pid);
    children->count = 0;
    for (size_t i = 0; i < count; i++)
        if (!children->list[i].is_settled) {
            children->list[children->count++] = children->list[i];
            note_newest(children); /* needs no memory: the map keeps its room */
        }
}

/* ---- The count ------------------------------------------------------------------------------------------------- */

void children_count_unrecorded(struct collector *collector)
{
    for (struct process *process = collector->processes->first; process; process = process->next) {
        if (!process_is_unrecorded(process))
            continue;
        enum wire_cause cause = unattached_take(collector, process);
        process_set_unrecorded(process, cause ? cause : process_cause(process));
        unattached_count(collector, process->unrecorded, process);
    }
    unattached_count_rest(collector);
}

void children_free(struct collector *collector)
{
    free(collector->children->list);
    children_pid_map_free(&collector->children->by_pid);
}
