/* The process tree of a capture: who is there, what is known of each, and the rows that say so.
 *
 * A process is a program in a pid: exec ends one and begins the next (image counts them). Exit statuses come
 * from whoever knows: wait() here, the process's own exit record, or its parent's wait record, which may
 * arrive much later; then a new row replaces the old one. Ended processes stay in the table, without their
 * arena, until the capture ends. */
#ifndef TACHO_COLLECT_PROCESS_PROCESS_H
#define TACHO_COLLECT_PROCESS_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "collect/core/call_chains.h"
#include "collect/core/collect_source.h"
#include "collect/core/machine.h"
#include "wire/wire.h"
#include "wire/wire_marks.h"

struct collector;
struct event;
struct symbols_process;

#define PROCESS_NO_TIME INT64_MIN

/* How far one lane of a thread is read. */
struct process_lane {
    uint32_t chunk, offset;          /* the next byte; WIRE_NONE: no chunk yet */
    uint64_t read_bytes, goal_bytes; /* of records, in all; drain_set_goals() */
};

/* The collector's half of a thread's slot. */
struct process_reader {
    uint32_t active;           /* a thread is in the slot and its first row is written */
    uint32_t damaged;          /* its chain makes no sense: not read any more */
    uint32_t is_agents;        /* a thread of the agent: its records are read, it has no row */
    uint32_t slot;
    struct process_lane lanes[WIRE_LANES];
    uint64_t place;            /* in the thread's lane, of what is read next in its handlers' */
    uint32_t tid, priority;
    int64_t start_ns, end_ns;  /* PROCESS_NO_TIME: still runs */
    int64_t name_id;           /* in the writer's string pool; 0: none */
    struct call_chains chains; /* of the call that began then and is told of next */
    uint64_t chains_ticks;
    void *state[COLLECT_SOURCE_COUNT];
    uint64_t counted[WIRE_SOURCE_COUNT][WIRE_FATE_COUNT]; /* of the slot's counts, those taken over already */
};

enum process_ending { PROCESS_RUNS, PROCESS_EXITED, PROCESS_SIGNALLED, PROCESS_EXECED, PROCESS_LOST };

struct process_counts {
    uint64_t recorded, damaged;
    uint64_t recovered;                /* from buffers that were never delivered */
    uint64_t unfinished, unknown_kind; /* lost: begun, but without their end; of a kind that we do not know */
    uint64_t fates[WIRE_FATE_COUNT];
};

struct process_module {
    int64_t start_ns, path_id, build_id; /* in the writer's string pool; 0: none */
    uint64_t address, bytes;
};

struct process {
    struct process *next, *older,
        *older_own; /* older: before it in the same pid, and with the same own pid and parent */
    struct process *next_live, *previous_live; /* among those that have an arena */
    struct collector *collector;
    pid_t pid, parent_pid;                     /* parent 0: not known */
    uint32_t own_pid;                          /* what it calls itself: not the same in another
                                                * pid namespace; 0: not known */
    int64_t global_pid;
    unsigned image;
    const char *origin;                        /* launch, fork, exec; found: without an
                                                * agent, by process_find_unseen() */
    int is_primary, is_child;                  /* the one we started; one that we reap */
    int is_recorded, is_borrowed;              /* its agent has come; it is a vfork child, which runs in its parent's
                                                * memory and with its agent */
    int has_left;                              /* its agent was silenced: WIRE_LEAVE… */
    int64_t left_ns;                           /* …then, or when the kernel told of an exec after that */
    enum wire_cause cause;                     /* why it, or a child that it has now, is not recorded */
    enum wire_cause unrecorded;                /* why it was not, in the report; UNKNOWN: it was,
                                                * or the capture is not over */
    int64_t start_ns, end_ns;
    enum process_ending ending;
    int status;                                /* exit status or signal, by ending */
    int is_over;                               /* it has ended so, and what it left is being read: process_end_soon() */
    enum process_ending over_ending;
    int over_status;
    int64_t over_ns;
    int exit_seen, exit_status;    /* it said so itself, before it was gone */
    int parent_said, wait_status;  /* its parent did */
    int64_t exec_ns;               /* it called exec, and nothing was heard since; PROCESS_NO_TIME: no */
    int64_t exec_path_id, exec_cpu_ns;
    enum wire_cause exec_cause;    /* as cause, for the next program */
    char exec_name[64];
    int64_t exe_id, command_id;    /* in the writer's string pool; 0: not known */
    char name[64];
    struct machine_rank rank;
    int filters;                   /* seccomp filters, of one without an agent */
    int64_t cpu_ns, cpu_before_ns; /* CPU time when last looked; at the end of the image before */

    struct wire_header *arena;     /* NULL: never attached, or ended and drained */
    uint64_t arena_bytes;
    uint32_t chunk_count;
    struct process_reader *readers;
    size_t reader_count;
    uint32_t next_slot;                      /* where the next round goes on */
    uint32_t slots_seen;                     /* the most that were taken at any time: the program
                                              * may write over the number */
    int idle_rounds, trimmed;                /* since its last record; its unused chunks were given back */
    uint32_t chunks_seen, chunks_ready;      /* of those never used: taken by the last round, made ready ahead */
    uint64_t threads_seen;
    int behind;                              /* its threads have written more than the last round could read */
    int finished;                            /* drain_finish() has read all of it */
    unsigned open_ranges;                    /* capture ranges that it has begun and not ended */
    uint32_t switches_read, switches_missed; /* struct wire_switch: taken over already */
    void *state[COLLECT_SOURCE_COUNT];
    struct process_module *modules;          /* loaded now */
    size_t module_count, module_capacity;
    struct symbols_process *space;           /* its address space, for stacks; NULL: nobody has asked */
    struct process_counts *counts;           /* by source: totals; slots that are still taken not
                                              * included. NULL once it has ended */
    struct process_counts *reported;         /* what TACHO_COUNT rows say already; behind the
                                              * counts, in the same memory… */
    struct process_counts *told;             /* …as what process_set_counts() was told last */

    int pidfd;
    uint64_t start_time;                     /* /proc's, tells a reused pid; 0: not known */
    struct event *death;
};

struct process_of_pid {
    pid_t pid;
    struct process *newest; /* never NULL */
};

/* The kernel counts pids up: neighbours get slots side by side. */
static inline uint32_t process_pid_hash(pid_t pid)
{
    return (uint32_t)pid;
}
MAP(process_pid_map, struct process_of_pid, pid_t, pid, newest, process_pid_hash, map_is_same_number)

struct process_of_own_pid {
    uint64_t key;           /* own_pid << 32 | parent_pid */
    struct process *newest; /* never NULL */
};
MAP(process_own_pid_map, struct process_of_own_pid, uint64_t, key, newest, hash_number, map_is_same_number)

struct process_table {
    struct process_pid_map by_pid;
    struct process_own_pid_map by_own_pid; /* of those whose own_pid is known */
    struct process *first, *last;          /* in order of appearance */
    struct process *first_live;
    struct process
        *next_round; /* of those that are live: where the next round of reading goes on; NULL: at the first */
    uint64_t count, live, over; /* over: of the live ones, those that are read to their end */
    uint64_t threads;
};

/* The newest process of this pid, or NULL. */
struct process *process_find(struct collector *collector, pid_t pid);

/* Its child that calls itself so, the newest; or NULL. */
struct process *process_find_child(const struct process *parent, uint32_t own_pid);
void process_set_own_pid(struct process *process, uint32_t own_pid); /* once */

/* A new one, with its first row; alive since the exec call, or as long as its CPU time says at least. NULL when memory
 * is short. */
struct process *process_add(struct collector *collector, pid_t pid, pid_t parent, const char *origin);

/* It has its arena: recorded from now on. And the other way: the arena is unmapped, and the program keeps its own
 * mapping. */
void process_attach(struct process *process, struct wire_header *arena, uint64_t arena_bytes, uint32_t chunk_count);
void process_detach(struct process *process);

/* Learns the rest from /proc while the process is certainly alive: program, command line, environment, ranks. */
void process_describe(struct process *process);

/* The same for one that has no agent, and why it has none, as far as that can be seen. */
void process_describe_unseen(struct process *process);

/* Decides how it ended from what is known, if we have not seen it ourselves. */
void process_settle_status(struct process *process, enum process_ending ending, int status);

/* What its parent's wait call said, before or after its end. */
void process_set_wait_status(struct process *process, int wait_status);

/* Its death is not watched for any more. */
void process_unwatch(struct process *process);

/* CPU time so far, if the kernel still says; or as the process itself said when it was about to end. */
void process_sample_cpu(struct process *process);
void process_set_cpu(struct process *process, uint64_t ns);

/* Is there no agent that has recorded it? And why not, as far as is known. */
int process_is_unrecorded(const struct process *process);
enum wire_cause process_cause(const struct process *process);

/* Writes its row again, with why it was not recorded. Once all is known: this is the cause that it is counted under. */
void process_set_unrecorded(struct process *process, enum wire_cause cause);

/* The totals of a source that keeps its own counts: what changed since the last time is added to the process's. */
void process_set_counts(struct process *process, enum wire_source source, const struct process_counts *totals);

/* A record makes no sense, and nothing says whose it was. */
void process_count_damaged(struct process *process);

/* Rows of TACHO_COUNT for what changed since the last time. */
void process_report_counts(struct process *process);

/* Its row, as it is known now: the last one counts. And that of its pid, once no program comes after it. */
void process_row(const struct process *process);
void process_name_row(const struct process *process);

/* One row of TACHO_COUNT; none if count is 0. */
void process_count_row(const struct process *process, const char *source, const char *fate, const char *cause,
                       int64_t count);

/* What is loaded, so that its unloading has a name: take answers 0 for an address that is not known. */
void process_add_module(struct process *process, const struct process_module *module);
int process_take_module(struct process *process, uint64_t address, struct process_module *module);

void process_table_free(struct collector *collector);

/* Is there an agent in the program that it is now? After exec there may not be one, and the arena
 * is of the program before. */
static inline int process_has_agent(const struct process *process)
{
    return process->arena && process->exec_ns == PROCESS_NO_TIME;
}

static inline int64_t process_global_tid(const struct process *process, uint32_t tid)
{
    return process->global_pid | (int64_t)(tid & 0xffffff);
}

#endif
