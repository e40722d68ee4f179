/* Processes of the tree that are reported by others: by the agents of their parents, and by the kernel.
 * Most have an agent of their own, which attaches. The others get a row, and are counted as not recorded at the end. */
#ifndef TACHO_COLLECT_PROCESS_CHILDREN_H
#define TACHO_COLLECT_PROCESS_CHILDREN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "wire/wire.h"
#include "wire/wire_marks.h"

struct collector;
struct process;
struct process_child;

struct children_of_pid {
    pid_t pid;
    uint32_t index_plus_1; /* in the list, of the newest child in this pid */
};
MAP(children_pid_map, struct children_of_pid, pid_t, pid, index_plus_1, hash_number, map_is_same_number)

struct children {
    struct process_child *list; /* reported, and not yet known to be recorded or not */
    size_t count, capacity;
    struct children_pid_map by_pid;
};

struct children_news {
    pid_t pid, parent_pid; /* parent 0: not known */
    int64_t time_ns;       /* no later than the event that is reported; the process may have ended since */
    enum wire_child what;
    enum wire_cause cause;
    int64_t path_id;       /* of the program that it becomes, in the writer's string pool; 0: not known */
    const char *name;      /* the last part of that path; NULL: not known */
};

/* A process was forked, or becomes another program. Reports may come in any order, from any source, and of processes
 * outside the tree. */
void children_add(struct collector *collector, const struct children_news *news);

/* A process has ended. Does nothing if it was not reported before. */
void children_end(struct collector *collector, pid_t pid, int64_t time_ns);

/* The same, reported by the agent of the parent. Pids of another pid namespace than ours are ignored, unless the child
 * has an agent itself. */
void children_add_from_agent(struct process *parent, struct children_news *news);
void children_end_from_agent(struct process *parent, pid_t number, int64_t time_ns, int status, int may_be_thread);

/* A process has attached whose parent was never reported: adds its parents up to one of the tree, if they lead to one.
 */
void children_add_parents(struct collector *collector, pid_t parent_pid);

/* Called with every tick: writes the rows of children that were not reported for one tick; of all at the end
 * (`is_end`). Calls begun() for each process that got its first row: it is alive, or ended at end_ns. */
typedef void (*children_begun)(struct process *process, int is_alive, int64_t end_ns);
void children_settle(struct collector *collector, int is_end, children_begun begun);

/* At the very end: counts all processes that are not recorded, by cause, and writes the cause into their rows. */
void children_count_unrecorded(struct collector *collector);

void children_free(struct collector *collector);

#endif
