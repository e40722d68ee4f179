/* The collector's side of a source: one struct collect_source collect_source_<name> for each row of wire/sources.def.
 * The rest of the collector knows no source by name: it iterates over the rows and calls the functions that they have.
 *
 * Every function may be NULL. The collector calls all of them from its main thread, in the order of the rows; where it
 * switches recording off, in the reverse order. Functions must be quick while a process waits for the collector: see
 * process_attach. */
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
struct process_reader;
struct symbols_mapping;
struct text;
struct variables;
struct writer;

/* Index of a source's state in struct collector, struct process and struct process_reader. */
enum collect_source_id {
#define SOURCE(id, ...) COLLECT_SOURCE_##id,
#define UNCOUNTED_SOURCE(id, ...) COLLECT_SOURCE_##id,
#define COLLECT_SOURCE(id, name) COLLECT_SOURCE_##id,
#include "wire/sources.def"
    COLLECT_SOURCE_COUNT
};

/* The thread that a record comes from. */
struct collect_origin {
    struct collector *collector;
    struct process *process;
    struct process_reader *reader;
};

/* Handles one type of record. `words` is the whole size, checked against the chunk. The record is a private copy,
 * which the program cannot change. */
typedef void (*record_handler)(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);

/* One handler for the record types first to last. */
struct collect_records {
    uint8_t first, last;
    record_handler read; /* NULL: the end of the list */
};

/* A table whose rows are events of the source. If the disk is full, rows that are not written are subtracted from the
 * count of recorded events. */
struct collect_table {
    enum table_id table;
    const char *source; /* its name in TACHO_COUNT; NULL: the end of the list */
    size_t recorded;    /* offset of the uint64_t count in struct collect_result */
};

#define COLLECT_RECORDED(member) offsetof(struct collect_result, member)
#define COLLECT_RECORDED_OF(id) COLLECT_RECORDED(counts[WIRE_SOURCE_##id].recorded)

/* The cost of one event in the program: clock readings, and ns for everything else. */
struct collect_cost {
    int recorded_reads, recorded_ns;
    int counted_reads, counted_ns; /* for events below the threshold, or lost */
    int untimed_ns, left_out_ns;
};

/* How --cost-limit records less of a source. */
struct collect_levels {
    /* What holds at each level from 1 on, as the end of a sentence: "OS calls were not recorded". Ends with NULL. */
    const char *const *words;
    int windows; /* the level of windows (cost_control.h), in which the source is switched off now and then; 0: none */
    int off;     /* from this level on it is switched off; 0: no level does that */
    int counted; /* the level of these at which its events are still counted; 0: none */
    /* Passes a new level on to the processes that live. New ones learn it in arena(). NULL: a level only switches the
     * source off or on. */
    void (*set)(struct collector *collector, int level);
    int (*is_possible)(const struct collector *collector); /* in this capture; NULL: always */
    /* What recording has taken so far that the counts of processes do not have yet, ns. */
    double (*uncounted_ns)(const struct collector *collector);
};

/* The texts that belong to the settings of a new arena. */
struct collect_arena_texts {
    struct wire_header *arena;
    uint32_t used;
};

/* A library of the source for the program, in the folder of the agent. The core lets the program load it, or warns
 * that it cannot (agent_file.h). */
struct collect_file {
    const char *name;     /* NULL: the source has none */
    const char *without;  /* begins the warning: "Such calls are not recorded" */
    const char *variable; /* by which another library finds it; NULL: the program preloads it */
    /* NULL or: ends the warning with a reason of the source's own, and returns whether it has one. */
    int (*refuse)(struct text *why, const struct collect_options *options, const char *path);
    uint32_t models; /* MODEL_BIT()s: of collect_options.if_used, only programs that use one of these preload it */
    int stays_on;    /* 1: the source has events without the library, too */
};

struct collect_source {
    /* Size of the source's state in collector->state[], zeroed at the start; 0: none. */
    size_t state_bytes;
    const struct collect_records *records; /* types of records that agents write for this source */
    const struct collect_table *tables;
    struct collect_file file;
    /* The cost of one event; for sources whose events are counted by fate. */
    struct collect_cost cost;
    struct collect_levels levels;
    /* CPU time of the program for its events beyond `cost`, ns. */
    double (*extra_cost_ns)(const struct collect_result *result);

    /* ---- The capture, from its start to its end ---- */

    /* Adds variables to the program's environment. */
    void (*environment)(struct variables *variables, const struct collect_options *options, const char *agent_path);
    /* The report is open: writes rows of META_DATA_CAPTURE with machine_parameter(). */
    void (*describe)(struct collector *collector);
    /* The program is about to start: warns about data that will be missing. */
    void (*check)(struct collector *collector, const char *agent_path);
    /* Called before the program runs and before agents attach. pid: its process, which has not called exec yet; 0: it
     * runs already. A facility that is not available is left out with a warning. */
    void (*begin)(struct collector *collector, pid_t pid);
    /* Recording is about to go on or off in all processes; collector->is_recording still has the old value. */
    void (*switching)(struct collector *collector, int on);
    /* Called with every tick, a few times a second. */
    void (*tick)(struct collector *collector);
    /* A program waits until all that it did is in the report: writes the rows that would come with the next tick. */
    void (*write_down)(struct collector *collector);
    /* Recording is off for good; the records of the processes have not all been read. */
    void (*end)(struct collector *collector);
    /* The records of all processes have been read: writes the last rows and counts. */
    void (*finish)(struct collector *collector);
    /* No rows may follow, except warnings. Also called if the program could not be started. */
    void (*stop)(struct collector *collector);
    /* Releases what the state holds; the collector frees the state itself. Called after process_free of all
     * processes. */
    void (*free)(struct collector *collector);

    /* ---- A process ---- */

    /* Bytes that the source needs for itself in an arena, after the chunks. chunk_bytes: the size of all chunks. At
     * most one source may ask for any. */
    uint64_t (*arena_bytes)(const struct collector *collector, uint64_t chunk_bytes);
    /* Writes the source's settings into a new arena, which no other process sees yet. */
    void (*arena)(const struct collector *collector, struct collect_arena_texts *texts);
    /* A process of the tree was found, or called exec; it may have no agent. */
    void (*process_begin)(struct process *process);
    /* The process has its arena and waits for our answer: do nothing slow here. */
    void (*process_attach)(struct process *process);
    /* The process is a zombie and about to be reaped. */
    void (*process_dying)(struct process *process);
    /* The process has ended or called exec; records may still be unread. May be called twice. */
    void (*process_gone)(struct process *process);
    /* All records of the process have been read and its threads have ended: writes the last rows and counts, and frees
     * the source's state of the process. */
    void (*process_end)(struct process *process);
    /* Frees the source's state of a process for which process_end was not called. */
    void (*process_free)(struct process *process);
    /* Calls process_set_counts() if the source keeps its own counts. */
    void (*counts)(struct process *process);

    /* A round of reading: round_begin() runs before the threads' records are read, round_end() after. round_end()
     * reads data of its own, up to about `budget` bytes but at least some if there is any, and returns the number of
     * bytes. is_all_read: everything that the threads had written when the round began has been read. */
    void (*round_begin)(struct process *process);
    size_t (*round_end)(struct process *process, size_t budget, int is_all_read);
    /* Flush goals: see drain.h. */
    void (*set_goal)(struct process *process);
    int (*has_reached_goal)(const struct process *process);
    void (*settle_goal)(struct process *process);
    /* Recording is off: does the agent still have records to deliver? */
    int (*is_awaited)(struct process *process);
    /* The process has been idle for a while: releases arena pages that hold nothing. */
    void (*trim)(struct process *process);

    /* An object was loaded at an address, or unloaded. */
    void (*module_begin)(struct process *process, const struct symbols_mapping *mapping);
    void (*module_end)(struct process *process, uint64_t address, uint64_t bytes);
    /* The program has named a resource, which may belong to this source. The record has an enum wire_resource in its
     * flags, then the identifier and the handle as words, and the text. */
    void (*resource_named)(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);

    /* ---- A thread ---- */

    /* The thread is read for the first time. May set reader->is_agents. */
    void (*thread_begin)(struct process *process, struct process_reader *reader, const struct wire_thread *slot);
    /* The call chains of the next record of this source, from a WIRE_STACK record. The native one is the number of a
     * stack (symbols.h); a source without chain_row gets no rows for it. */
    void (*take_chains)(const struct collect_origin *origin, const struct wire_record *record,
                        struct call_chains chains);
    /* The most frames of such a chain; 0, or no function: no limit. */
    uint32_t (*chain_depth)(const struct collector *collector);
    /* Writes one line of such a chain into the source's table of call chains, once its names are known. */
    void (*chain_row)(struct writer *writer, const struct chain_row *row);
    /* A row of the thread may be written: sets reader->name_id if the source has a better name than the kernel's. */
    void (*thread_name)(const struct process *process, struct process_reader *reader);
    /* The thread is read for the last time and did not end by itself: closes what it had open. */
    void (*thread_cut)(const struct collect_origin *origin, struct wire_thread *slot, int64_t end_ns);
    /* Reads counters of the source's own in the slot. The thread may be counting right now: nothing may be written. */
    void (*thread_counts)(struct process *process, struct process_reader *reader, const struct wire_thread *slot);
    /* The thread ended at end_ns, unless reader->end_ns is set (end_ns PROCESS_NO_TIME: it keeps running). Writes the
     * last rows and frees the source's state of the thread. */
    void (*thread_end)(struct process *process, struct process_reader *reader, int64_t end_ns);
};

#endif
