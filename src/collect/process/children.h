/* Processes of the tree that are heard of from others: from the agents of their parents, and from the kernel where
 * it tells. Most have an agent and say hello themselves. The others get a row of their own, and are counted
 * as not recorded at the end. */
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
struct child;

struct child_of_pid {
    pid_t pid;
    uint32_t index_plus_1; /* in the list, of the newest child in this pid */
};
MAP(child_pid_map, struct child_of_pid, pid_t, pid, index_plus_1, hash_number, map_is_same_number)

struct children {
    struct child *list; /* heard of, and not yet known to be recorded or not */
    size_t count, capacity;
    struct child_pid_map by_pid;
};

struct child_news {
    pid_t pid, parent_pid; /* parent 0: not known */
    int64_t time_ns;       /* no later than what is told: it may have come and gone since */
    enum wire_child what;
    enum wire_cause cause;
    int64_t path_id;       /* of the program that it becomes; in the writer's string pool; 0: not known */
    const char *name;      /* the same in short; NULL: not known */
};

/* One that was forked, or becomes another program, by whatever source. In any order, and of processes that
 * are none of the tree's, too. */
void children_add(struct collector *collector, const struct child_news *news);

/* One has ended; nothing, if it was not heard of before. */
void children_end(struct collector *collector, pid_t pid, int64_t time_ns);

/* What an agent says of its own children. Their numbers in another pid namespace than ours say nothing here, but for
 * those of processes that have an agent themselves. */
void children_add_from_agent(struct process *parent, struct child_news *news);
void children_end_from_agent(struct process *parent, pid_t number, int64_t time_ns, int status, int may_be_thread);

/* A process has come whose parent nobody has told of: its parents up to one of the tree, if they lead to one. */
void children_add_parents(struct collector *collector, pid_t parent_pid);

/* With every tick: those of whom nothing more was heard for one get their rows. At the end (`is_end`) all do. begun():
 * a process has got its first row; it is alive, or ended then. */
typedef void (*children_begun)(struct process *process, int is_alive, int64_t end_ns);
void children_settle(struct collector *collector, int is_end, children_begun begun);

/* At the very end: counts all processes that are not recorded, by cause, and writes the cause into their rows. */
void children_count_unrecorded(struct collector *collector);

void children_free(struct collector *collector);

#endif
