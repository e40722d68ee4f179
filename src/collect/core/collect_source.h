/* A source of events as the collector sees it: one row, struct collect_source collect_source_<name>, for each row of
 * wire/sources.def. The rest of the collector knows no source by name: it goes through all rows and calls what they
 * have.
 *
 * Every function may be NULL. All are called from the collector's main thread, in the order of the rows; on the way
 * down (switching off) in the opposite order. Time is short wherever a process waits for us: see process_attach. */
#ifndef TACHO_COLLECT_CORE_COLLECT_SOURCE_H
#define TACHO_COLLECT_CORE_COLLECT_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "call_chains.h"
#include "report/schema/schema.h"
#include "wire/wire.h"

struct chain_row;
struct collect_options;
struct collect_result;
struct collector;
struct process;
struct reader;
struct symbols_mapping;
struct text;
struct variables;
struct writer;

/* Index of a source's state in struct collector, struct process and struct reader. */
enum collect_source_id {
#define SOURCE(id, ...) COLLECT_SOURCE_##id,
#define UNCOUNTED_SOURCE(id, ...) COLLECT_SOURCE_##id,
#define COLLECT_SOURCE(id, name) COLLECT_SOURCE_##id,
#include "wire/sources.def"
    COLLECT_SOURCE_COUNT
};

/* Who wrote a record. */
struct origin {
    struct collector *collector;
    struct process *process;
    struct reader *reader;
};

/* One type of record; words is its whole size and has been checked against the chunk. The record is a private copy. */
typedef void (*record_handler)(const struct origin *origin, const struct wire_record *record, uint32_t words);

/* The types first to last go to one function. */
struct collect_records {
    uint8_t first, last;
    record_handler read; /* NULL: the end of the list */
};

/* A table whose rows are events of the source: what the disk has no room for is taken off their count. */
struct collect_table {
    enum table_id table;
    const char *source; /* in TACHO_COUNT; NULL: the end of the list */
    size_t recorded;    /* where the uint64_t count is in struct collect_result */
};

#define COLLECT_RECORDED(member) offsetof(struct collect_result, member)
#define COLLECT_RECORDED_OF(id) COLLECT_RECORDED(counts[WIRE_SOURCE_##id].recorded)

/* What one event costs the program: clock readings, and ns of everything else. */
struct collect_cost {
    int recorded_reads, recorded_ns;
    int counted_reads, counted_ns; /* below the threshold, or lost */
    int untimed_ns;
};

/* Where the settings of a new arena put their texts. */
struct arena_texts {
    struct wire_header *arena;
    uint32_t used;
};

struct collect_source {
    size_t state_bytes;                    /* of the capture: collector->state[], zeroed; 0: none */
    const struct collect_records *records; /* that agents write for it */
    const struct collect_table *tables;
    const char *agent_file;                /* of its part in the program, in the folder of the agent; NULL: none */
    struct collect_cost cost;              /* of an event; for sources whose events are counted by fate */
    /* What else the events took, ns. */
    double (*extra_cost_ns)(const struct collect_result *result);

    /* ---- The capture, from its start to its end ---- */

    /* The program's environment is made: libraries to preload, each with a colon before it; and variables. */
    void (*preload)(struct text *to, const struct collect_options *options, const char *agent_path);
    void (*environment)(struct variables *variables, const struct collect_options *options, const char *agent_path);
    /* The report is open: rows of META_DATA_CAPTURE by machine_parameter(). */
    void (*describe)(struct collector *collector);
    /* The program is about to be started: warns of what will be missing. */
    void (*check)(struct collector *collector, const char *agent_path);
    /* Before the program runs, and before agents come in. pid: its process, which has not called exec; 0: it runs
     * already. What cannot be had is warned of and left out. */
    void (*begin)(struct collector *collector, pid_t pid);
    /* Recording goes on or off, in all processes; the collector's own state is still that before. */
    void (*switching)(struct collector *collector, int on);
    /* With every tick, some times a second. */
    void (*tick)(struct collector *collector);
    /* Recording is off for good; the processes have not been read to their end. */
    void (*end)(struct collector *collector);
    /* All processes have been read: last rows and counts. */
    void (*finish)(struct collector *collector);
    /* No more rows but warnings. Also called when the program could not be started. */
    void (*stop)(struct collector *collector);
    /* Gives back what its state holds; the state itself is the collector's. After process_free of all processes. */
    void (*free)(struct collector *collector);

    /* ---- A process ---- */

    /* How many bytes of its own it wants behind the chunks of an arena with so many bytes of them. One source may. */
    uint64_t (*arena_bytes)(const struct collector *collector, uint64_t chunk_bytes);
    /* Settings in a new arena that nobody else sees yet. */
    void (*arena)(const struct collector *collector, struct arena_texts *texts);
    /* One of the tree was found, or began another program; it need not have an agent. */
    void (*process_begin)(struct process *process);
    /* It has its arena, and waits for our answer: nothing slow. */
    void (*process_attach)(struct process *process);
    /* It is a zombie, and about to be reaped. */
    void (*process_dying)(struct process *process);
    /* It has ended or begun another program, and what it wrote may not all have been read. May be called twice. */
    void (*process_gone)(struct process *process);
    /* Its records are all read, its threads have ended: last rows, counts; gives its state back. */
    void (*process_end)(struct process *process);
    /* Gives its state back, if process_end was not called. */
    void (*process_free)(struct process *process);
    /* Calls process_set_counts(), if the source keeps its own counts. */
    void (*counts)(struct process *process);

    /* A round of reading: before the threads' records are read, and after. Then returns how many bytes it has read of
     * its own, at least some if there are any, and about `budget`; is_all_read: all that the threads had written when
     * the round began has been read. */
    void (*round_begin)(struct process *process);
    size_t (*round_end)(struct process *process, size_t budget, int is_all_read);
    /* Flush goals: see drain.h. */
    void (*set_goal)(struct process *process);
    int (*has_reached_goal)(const struct process *process);
    void (*settle_goal)(struct process *process);
    /* Recording is off: does the agent still have records to fetch? */
    int (*is_awaited)(struct process *process);
    /* The process has been idle for a while: gives back pages of the arena that hold nothing. */
    void (*trim)(struct process *process);

    /* An object was loaded at an address, and unloaded. */
    void (*module_begin)(struct process *process, const struct symbols_mapping *mapping);
    void (*module_end)(struct process *process, uint64_t address, uint64_t bytes);
    /* The program has given a name to a resource, which may be one of its own: a record with enum wire_resource
     * in its flags, the identifier and the handle as words, and a text. */
    void (*resource_named)(const struct origin *origin, const struct wire_record *record, uint32_t words);

    /* ---- A thread ---- */

    /* It is read for the first time. May set reader->is_agents. */
    void (*thread_begin)(struct process *process, struct reader *reader, const struct wire_thread *slot);
    /* Who makes the call of this source whose record comes next: a WIRE_STACK. A source with take_chains has chain_row.
     */
    void (*take_chains)(const struct origin *origin, const struct wire_record *record, struct call_chains chains);
    /* The most frames of such a chain; 0 or no function: all. */
    uint32_t (*chain_depth)(const struct collector *collector);
    /* Writes one line of such a chain into the source's table of call chains, once names are known. */
    void (*chain_row)(struct writer *writer, const struct chain_row *row);
    /* It is read for the last time, and has not ended itself: what it was in the midst of. */
    void (*thread_cut)(const struct origin *origin, struct wire_thread *slot, int64_t end_ns);
    /* It has ended then, unless reader->end_ns says more (end_ns PROCESS_NO_TIME: it goes on): last rows, a better
     * name; gives its state back. */
    void (*thread_end)(struct process *process, struct reader *reader, int64_t end_ns);
};

#endif
