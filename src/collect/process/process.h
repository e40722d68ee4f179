/* The process tree of a capture: its processes, what is known about each, and their rows.
 *
 * A process is one program in a pid: exec ends one and begins the next (image counts them). Exit statuses come from
 * our wait(), from the process's own exit record, or from its parent's wait record, which may arrive much later; then
 * a new row replaces the old one. Ended processes stay in the table, without their arena, until the capture ends. */
#ifndef TACHO_COLLECT_PROCESS_PROCESS_H
#define TACHO_COLLECT_PROCESS_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "collect/core/call_chains.h"
#include "collect/core/collect_source.h"
#include "collect/core/machine.h"
#include "started_names.h"
#include "wire/wire.h"
#include "wire/wire_marks.h"

struct collector;
struct event;
struct symbols_process;

#define PROCESS_NO_TIME INT64_MIN

/* The read position in one lane of a thread. */
struct process_lane {
    uint32_t chunk, offset;          /* the next byte; WIRE_NONE: no chunk yet */
    uint64_t read_bytes, goal_bytes; /* bytes of records in total; goal: drain_set_goals() */
};

/* The collector's half of a thread's slot. */
struct process_reader {
    uint32_t active;           /* a thread is in the slot and its first row is written */
    uint32_t damaged;          /* the chain of chunks is inconsistent: not read any more */
    uint32_t is_agents;        /* a thread of the agent: its records are read, but it gets no row */
    uint32_t slot;
    struct process_lane lanes[WIRE_LANES];
    uint64_t place;            /* position in the thread's lane at which the handler lane's next records belong */
    uint32_t tid, priority;
    int64_t start_ns, end_ns;  /* PROCESS_NO_TIME: still runs */
    int64_t name_id;           /* in the writer's string pool; 0: none */
    int64_t row_name_id;       /* the name in its last row */
    struct call_chains chains; /* of the call that began at chains_ticks, whose record comes next */
    uint64_t chains_ticks;
    void *state[COLLECT_SOURCE_COUNT];
    /* The part of the slot's counts that is already in the process's. */
    uint64_t counted[WIRE_SOURCE_COUNT][WIRE_FATE_COUNT];
};

enum process_ending { PROCESS_RUNS, PROCESS_EXITED, PROCESS_SIGNALLED, PROCESS_EXECED, PROCESS_LOST };

struct process_counts {
    uint64_t recorded, damaged;
    uint64_t recovered;                /* from buffers that were never delivered */
    uint64_t unfinished, unknown_kind; /* lost: events without their end; records of an unknown kind */
    uint64_t fates[WIRE_FATE_COUNT];
};

struct process_module {
    int64_t start_ns, path_id, build_id; /* in the writer's string pool; 0: none */
    uint64_t address, bytes;
};

struct process {
    struct process *next, *older,
        *older_own; /* older: before it in the same pid, and with the same own pid and parent */
    struct process *next_live, *previous_live; /* in the list of processes that have an arena */
    struct collector *collector;
    pid_t pid, parent_pid;                     /* parent 0: unknown */
    /* Its pid in its own pid namespace; 0: unknown. */
    uint32_t own_pid;
    int64_t global_pid;
    unsigned image;
    /* launch, fork, exec; or found: a process without an agent, from process_find_unseen(). */
    const char *origin;
    int is_primary, is_child; /* the process that we started; a process that we reap */
    /* is_recorded: its agent has attached. is_borrowed: a vfork child, which runs in its parent's memory and with its
     * parent's agent. */
    int is_recorded, is_borrowed;
    /* Its agent has stopped (WIRE_LEAVE) at left_ns, or the kernel reported an exec at left_ns after that. */
    int has_left;
    int64_t left_ns;
    int lowers_steps;      /* few of its steps have operators: steps_collect.c has written a row of that */
    enum wire_cause cause; /* why this process, or its current child, is not recorded */
    /* The cause in the report; UNKNOWN: it was recorded, or the capture is not over. */
    enum wire_cause unrecorded;
    int64_t start_ns, end_ns;
    enum process_ending ending;
    int status; /* exit status or signal, by ending */
    /* It has ended in the way of over_ending, and its remaining records are being read: process_end_soon(). */
    int is_over;
    enum process_ending over_ending;
    int over_status;
    int64_t over_ns;
    int exit_seen, exit_status;    /* from its own exit record */
    int parent_said, wait_status;  /* from its parent's wait record */
    int64_t exec_ns;               /* it called exec and has not attached since; PROCESS_NO_TIME: no */
    int64_t exec_path_id, exec_cpu_ns;
    enum wire_cause exec_cause;    /* as cause, for the next program */
    char exec_name[64];
    int64_t exe_id, command_id;    /* in the writer's string pool; 0: unknown */
    char name[64];
    struct job_place place;
    int filters;                   /* seccomp filters, of a process without an agent */
    int64_t cpu_ns, cpu_before_ns; /* CPU time at the last reading; at the end of the previous image */

    struct wire_header *arena;     /* NULL: never attached, or ended and drained */
    uint64_t arena_bytes;
    uint32_t chunk_count;
    struct process_reader *readers;
    size_t reader_count;
    uint32_t next_slot; /* where the next round continues */
    /* The largest number of slots ever taken. It is kept here because the program may overwrite the arena's. */
    uint32_t slots_seen;
    /* Rounds since its last record; whether its unused chunks were released. */
    int idle_rounds, trimmed;
    /* Chunks never used before: those taken by the last round, those prepared ahead. */
    uint32_t chunks_seen, chunks_ready;
    uint64_t threads_seen;
    int behind;                              /* its threads have written more than the last round could read */
    int finished;                            /* drain_finish() has read everything */
    unsigned open_ranges;                    /* capture ranges that it has begun and not ended */
    uint32_t switches_read, switches_missed; /* struct wire_switch: already applied */
    void *state[COLLECT_SOURCE_COUNT];
    struct process_module *modules;          /* loaded now */
    size_t module_count, module_capacity;
    struct symbols_process *space;           /* its address space, for stacks; NULL: not needed so far */
    /* Totals by source, without the slots that are still taken. NULL once the process has ended. The next two follow it
     * in the same allocation. */
    struct process_counts *counts;
    struct process_counts *reported; /* already in rows of TACHO_COUNT */
    struct process_counts *told;     /* the last totals given to process_set_counts() */

    int pidfd;
    uint64_t start_time;             /* from /proc, to recognise a reused pid; 0: unknown */
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
    /* The live process at which the next round continues; NULL: the first. */
    struct process *next_round;
    uint64_t count, live, over; /* over: live processes that are being read to their end */
    uint64_t threads;
    struct started_names started;
};

/* The newest process with this pid, or NULL. */
struct process *process_find(struct collector *collector, pid_t pid);

/* The newest child with this pid in its own namespace, or NULL. */
struct process *process_find_child(const struct process *parent, uint32_t own_pid);
void process_set_own_pid(struct process *process, uint32_t own_pid); /* call once */

/* Adds a process and writes its first row. It is alive since the exec call, or at least for as long as its CPU time.
 * NULL: out of memory. */
struct process *process_add(struct collector *collector, pid_t pid, pid_t parent, const char *origin);

/* process_attach(): the process has its arena and is recorded from now on. process_detach() unmaps the arena here; the
 * program keeps its own mapping. */
void process_attach(struct process *process, struct wire_header *arena, uint64_t arena_bytes, uint32_t chunk_count);
void process_detach(struct process *process);

/* Reads program, command line, environment and ranks from /proc. Call it only while the process is certainly alive. */
void process_describe(struct process *process);

/* The same for a process without an agent. Also finds out why it has none, as far as /proc shows it. */
void process_describe_unseen(struct process *process);

/* Chooses the exit status from what is known, if we did not see the end ourselves. */
void process_settle_status(struct process *process, enum process_ending ending, int status);

/* The status from its parent's wait call, before or after its end. */
void process_set_wait_status(struct process *process, int wait_status);

/* Stops watching for its death. */
void process_unwatch(struct process *process);

/* process_sample_cpu() asks the kernel for the CPU time, if the process still exists. process_set_cpu() takes the time
 * that the process recorded before its end. */
void process_sample_cpu(struct process *process);
void process_set_cpu(struct process *process, uint64_t ns);

/* Was the process not recorded by any agent? process_cause(): why not, as far as is known. */
int process_is_unrecorded(const struct process *process);
enum wire_cause process_cause(const struct process *process);

/* Writes its row again, with the cause. Call it once everything is known: the process is counted under this cause. */
void process_set_unrecorded(struct process *process, enum wire_cause cause);

/* The totals of a source that keeps its own counts. The change since the last call is added to the process's counts. */
void process_set_counts(struct process *process, enum wire_source source, const struct process_counts *totals);

/* Counts a damaged record of an unknown source. */
void process_count_damaged(struct process *process);

/* Writes rows of TACHO_COUNT for the changes since the last call. */
void process_report_counts(struct process *process);

/* process_row() writes its row with what is known now; the last one is valid. process_name_row() writes the row of its
 * pid, once no further program can follow in it. */
void process_row(const struct process *process);
void process_name_row(const struct process *process);

/* Writes one row of TACHO_COUNT; none if count is 0. */
void process_count_row(const struct process *process, const char *source, const char *fate, const char *cause,
                       int64_t count);

/* The loaded modules, so that an unload can be reported by name. process_take_module() returns 0 for an unknown
 * address. */
void process_add_module(struct process *process, const struct process_module *module);
int process_take_module(struct process *process, uint64_t address, struct process_module *module);

void process_table_free(struct collector *collector);

/* Does the current program have an agent? After exec there may be none, and the arena belongs to the previous
 * program. */
static inline int process_has_agent(const struct process *process)
{
    return process->arena && process->exec_ns == PROCESS_NO_TIME;
}

static inline int64_t process_global_tid(const struct process *process, uint32_t tid)
{
    return process->global_pid | (int64_t)(tid & 0xffffff);
}

#endif
