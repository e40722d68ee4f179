/* What the agent (inside the program) and the collector share: the arena's layout, the records, the handshake.
 *
 * An arena is one sparse memfd per process. The collector makes it, fills in the settings and seals its size; the
 * agent maps it and writes. Both sides run the same build of Tacho (wire_hello says so), hence plain structs; but the
 * program can scribble over its side, so the collector checks every index and size that it reads from here.
 * Libc only; nothing here may allocate or block. */
#ifndef TACHO_WIRE_WIRE_H
#define TACHO_WIRE_WIRE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC 0x54434857u /* "WHCT" in memory */
#define WIRE_VERSION 10 /* counts up whenever anything in src/wire is laid out differently */

/* ---- Sources and what becomes of their events ------------------------------------------------------------------ */

/* The rows of sources.def that have events, in its order. */
enum wire_source {
#define SOURCE(id, ...) WIRE_SOURCE_##id,
#include "sources.def"
    WIRE_SOURCE_NOTES, /* no source of events: bookkeeping (modules, exits, names). Only its losses are counted */
    WIRE_SOURCE_COUNT
};
_Static_assert(WIRE_SOURCE_COUNT <= 32, "a bit for each");

static inline const char *wire_source_name(enum wire_source source)
{
    static const char *const names[] = {
#define SOURCE(id, name, text, ...) [WIRE_SOURCE_##id] = text,
#include "sources.def"
        [WIRE_SOURCE_NOTES] = "notes",
    };
    return names[source];
}

#define WIRE_BIT(source) (1u << WIRE_SOURCE_##source) /* WIRE_BIT(NVTX): in wire_header.recording and .sources */

/* recorded + below threshold + untimed + lost = produced, always. Recorded is what the collector drained; the rest is
 * counted by the thread that produced it. An NVTX range counts once, not once for each end. Threads without samples
 * stand apart: how many events they would have made is not known. */
#define WIRE_FATES(X)                                                                                                  \
    X(BELOW_THRESHOLD, "below-threshold", "")                                                                          \
    X(UNTIMED, "untimed", "")              /* a lock that was free: no clock was read */                               \
    X(LOST_BUFFER_FULL, "lost", "buffer-full")                                                                         \
    /* left by a jump out of a handler; or of a handler in the midst of another's record */                            \
    X(LOST_IN_SIGNAL, "lost", "in-signal")                                                                             \
    X(LOST_NO_THREAD, "lost", "no-thread") /* before a thread has its slot, or after it gave it back */                \
    X(LOST_CUPTI, "lost", "cupti-dropped") /* CUPTI says that it had no room for so many records */                    \
    X(LOST_GPU_BUFFER, "lost", "gpu-buffer-full") /* records in buffers that had no place in the arena */              \
    X(LOST_BLOCKED, "lost", "signal-blocked") /* samples of a thread that let no signal in */                          \
    /* threads, not events: the program has a use for the signal */                                                    \
    X(UNSAMPLED_SIGNAL, "unsampled-threads", "signal-taken")                                                           \
    X(UNSAMPLED_TIMER, "unsampled-threads", "no-timer")      /* the kernel refused theirs */

enum wire_fate {
#define WIRE_FATE_ID(name, fate, cause) WIRE_##name,
    WIRE_FATES(WIRE_FATE_ID) WIRE_FATE_COUNT
#undef WIRE_FATE_ID
};

/* ---- The arena ------------------------------------------------------------------------------------------------- */

#define WIRE_CHUNK_BYTES 65536u
#define WIRE_NOTE_CHUNKS 64u        /* before the chunks for events: notes may use them when those are all taken */
#define WIRE_THREAD_SLOTS 65536u
#define WIRE_TEXT_BYTES 32768u      /* settings text behind the header */
#define WIRE_NONE UINT32_MAX        /* no chunk, no slot */
#define WIRE_TEXT_MAX 32768u        /* a longer text in a record is cut */

enum wire_clock { WIRE_CLOCK_COUNTER = 1, WIRE_CLOCK_MONOTONIC = 2 };

/* What switches the recording on: the start of the program, a range, a call. PROFILER stands in switches alone:
 * cudaProfilerStart() and …Stop(), which count in captures of kind API. */
#define WIRE_CAPTURES(X)                                                                                               \
    X(ALWAYS, "start")                                                                                                 \
    X(NVTX, "nvtx")                                                                                                    \
    X(API, "api")                                                                                                      \
    X(PROFILER, "cudaProfilerApi")

enum wire_capture {
#define WIRE_CAPTURE_ID(name, text) WIRE_CAPTURE_##name,
    WIRE_CAPTURES(WIRE_CAPTURE_ID) WIRE_CAPTURE_COUNT
#undef WIRE_CAPTURE_ID
};

enum wire_flag {
    WIRE_FLAG_TRACE_FORK = 1, /* a forked child that has not called exec is traced too */
};

/* The program has begun or ended a capture range. These are words of the header and no records: a full buffer must not
 * keep a capture from ending. The writer claims a number (switches_made), fills the switch, and publishes it with the
 * release store of `number`. The collector reads them in order. A writer that finds all of them unread adds to
 * switches_missed, whose low half is the last such switch, so that the outcome is known even then. */
#define WIRE_SWITCHES 256u
struct wire_switch {
    _Atomic uint32_t number; /* counts from 1; any other: not written yet */
    uint16_t cause;          /* enum wire_capture */
    uint16_t on;
    uint64_t ticks;
};

/* Are there WIRE_SWITCHES that nobody has read? A `made` that was loaded before `read` may be the lower of the two. */
static inline int wire_switches_full(uint32_t made, uint32_t read)
{
    return (int32_t)(made - read) >= (int32_t)WIRE_SWITCHES;
}

/* A part of the header for each source: its settings, and words that both sides write. */
enum wire_shared_place {
    WIRE_SHARED_BEFORE = -1,
#define PLACE(id, bytes) WIRE_SHARED_AT_##id, WIRE_SHARED_TO_##id = WIRE_SHARED_AT_##id + (bytes)-1,
#define SOURCE(id, name, text, kinds, thread_bytes, shared_bytes) PLACE(id, shared_bytes)
#define UNCOUNTED_SOURCE(id, name, kinds, thread_bytes, shared_bytes) PLACE(id, shared_bytes)
#include "sources.def"
#undef PLACE
    WIRE_SHARED_BYTES
};

/* Defines function(arena), which returns the source's own part of the header: a constant offset, on a cache line of its
 * own. */
#define WIRE_SHARED(id, type, function)                                                                                \
    _Static_assert(sizeof(type) == WIRE_SHARED_TO_##id + 1 - WIRE_SHARED_AT_##id && sizeof(type) % 64 == 0,            \
                   "shared_bytes of its row");                                                                         \
    static inline type *function(struct wire_header *arena)                                                            \
    {                                                                                                                  \
        return (type *)(arena->shared + WIRE_SHARED_AT_##id);                                                          \
    }

#define WIRE_SILENT_PATH 256
#define WIRE_SILENT_EXEC 0x10000u

/* Page 0 of the arena. Settings are written by the collector before the agent sees them and never change. */
struct wire_header {
    uint32_t magic, version;
    uint64_t arena_bytes;
    uint32_t chunk_count;
    uint32_t sources;      /* WIRE_BIT()s that this capture wants */
    uint32_t clock;        /* enum wire_clock */
    uint32_t flags;        /* enum wire_flag */
    uint32_t capture;      /* enum wire_capture */
    uint32_t capture_ends; /* 0: the end of a capture range does not stop the recording */
    /* A text of the settings is an offset into the text area, 0 for none. Lists are NUL-separated and end with an empty
     * string. */
    uint32_t report_path;            /* of the report, absolute */
    uint32_t adopter, orphan_parent; /* the collector, if only orphans are its children here; who
                                      * would have them without it */

    /* Control, on lines of their own. The collector and the agent both write `recording`. */
    _Alignas(64) _Atomic uint32_t recording;    /* WIRE_BIT()s that record now */
    _Atomic uint32_t ranges_left;               /* capture ranges that may still begin */
    _Alignas(64) _Atomic uint32_t switches_made;
    _Atomic uint32_t switches_read;             /* the collector's */
    _Atomic uint64_t switches_missed;           /* how many << 32 | on << 16 | cause of the last of them */
    struct wire_switch switches[WIRE_SWITCHES]; /* by number - 1, modulo their count */

    /* Free lists: low half an index, high half a tag that changes with every pop (wire_chunks.h). */
    _Alignas(64) _Atomic uint64_t free_chunks;
    _Atomic uint32_t chunks_taken; /* chunks below this one have been used at least once */
    _Atomic uint32_t note_chunks_taken;
    _Atomic uint64_t free_note_chunks;
    _Alignas(64) _Atomic uint64_t free_threads;
    _Atomic uint32_t threads_taken;
    _Atomic uint64_t process_counts[WIRE_SOURCE_COUNT][WIRE_FATE_COUNT]; /* events of threads that have no slot */
    _Atomic uint64_t start_cpu_ns; /* CPU time that the agent took to start here */
    _Atomic uint32_t map_error;    /* why a part of the buffer, or memory for the agent's own use, could not be
                                    * mapped; 0: it never happened */

    /* What a process does that has left (WIRE_LEAVE): words in memory take neither a system call nor the clock. */
    _Atomic uint32_t silent_exec;       /* WIRE_SILENT_EXEC, with what `a` of WIRE_EXEC would be; 0: it has not
                                         * called exec, or that failed */
    char silent_path[WIRE_SILENT_PATH]; /* cut short, if need be */

    _Alignas(64) unsigned char shared[WIRE_SHARED_BYTES]; /* with the sources: WIRE_SHARED() */
    _Alignas(64) char text[WIRE_TEXT_BYTES];
};

enum wire_thread_state { WIRE_THREAD_FREE, WIRE_THREAD_LIVE, WIRE_THREAD_ENDED };

/* A thread's records, and those of handlers that came while it was writing one of these. */
enum wire_lane { WIRE_LANE_THREAD, WIRE_LANE_HANDLER, WIRE_LANES };

/* A thread's slot. The owner writes; the collector reads, and frees the slot once it is ENDED and drained. */
struct wire_thread {
    _Alignas(1024) _Atomic uint32_t state;    /* so that a page has whole slots */
    uint32_t tid;
    _Atomic uint32_t first_chunk[WIRE_LANES]; /* WIRE_NONE until the owner has one; each chunk names the next */
    _Atomic uint32_t next_free;               /* while on the free list */
    uint64_t start_ticks;
    /* The call that the thread is in right now, so that a death inside it is told: ticks 0 = in none. */
    _Atomic uint64_t call_ticks;
    _Atomic uint32_t call_function;
    uint32_t priority;
    char name[16];
    _Atomic uint64_t counts[WIRE_SOURCE_COUNT][WIRE_FATE_COUNT];
};
_Static_assert(sizeof(struct wire_thread) == 1024, "slots are laid out back to back");

/* A chunk of one thread's records. The owner appends and publishes with one release store of `committed`. */
struct wire_chunk {
    _Atomic uint32_t committed; /* bytes of data that hold whole records; WIRE_NONE: the collector has freed it */
    _Atomic uint32_t next;      /* the lane's next chunk: once set, this one is finished */
    _Atomic uint32_t next_free;
    uint32_t thread;            /* slot of the owner */
    uint64_t bytes_before;      /* of records, in the chunks of this lane that came before */
    _Alignas(64) unsigned char data[WIRE_CHUNK_BYTES - 64];
};
_Static_assert(sizeof(struct wire_chunk) == WIRE_CHUNK_BYTES, "chunks tile the arena");
#define WIRE_CHUNK_DATA ((uint32_t)(WIRE_CHUNK_BYTES - 64))

#define WIRE_THREADS_OFFSET ((sizeof(struct wire_header) + 65535) / 65536 * 65536)
#define WIRE_CHUNKS_OFFSET (WIRE_THREADS_OFFSET + (size_t)WIRE_THREAD_SLOTS * sizeof(struct wire_thread))

static inline struct wire_thread *wire_threads(struct wire_header *arena)
{
    return (struct wire_thread *)((char *)arena + WIRE_THREADS_OFFSET);
}
static inline struct wire_chunk *wire_chunks(struct wire_header *arena)
{
    return (struct wire_chunk *)((char *)arena + WIRE_CHUNKS_OFFSET);
}
/* The end of the chunks, where the area for CUDA begins: wire_cuda.h. */
static inline uint64_t wire_chunks_end(uint32_t chunk_count)
{
    return WIRE_CHUNKS_OFFSET + (uint64_t)(chunk_count + WIRE_NOTE_CHUNKS) * WIRE_CHUNK_BYTES;
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

/* Every record is whole 8-byte words. Text stands last, padded with zeros to a word; its
 * length is up to the first zero. */
struct wire_record {
    uint8_t type;   /* enum wire_type */
    uint8_t flags;  /* by type */
    uint16_t words; /* of the whole record, this head included */
    uint16_t a, b;  /* by type */
    uint64_t ticks; /* when */
    uint64_t body[];
};
#define WIRE_HEAD_WORDS 2u

enum wire_type {
    WIRE_NOTHING, /* never written: zeroed memory is no record */

    /* Threads and processes. */
    WIRE_THREAD_NAME,  /* body: text */
    WIRE_THREAD_END,
    WIRE_EXEC,         /* a: enum wire_cause, for which the agent is not passed on; body: [ns of CPU time so far]
                        * text, the path; the call may still fail */
    WIRE_EXEC_FAILED,  /* a: errno */
    WIRE_EXIT,         /* body: [status] of exit(), _exit() or a return from main, [ns of CPU time so far] */
    WIRE_CHILD,        /* a: as of WIRE_EXEC; body: [pid][enum wire_child][ticks when it was not there yet, or was
                        * as it is told] text, the path of the program that it becomes, or nothing */
    WIRE_CHILD_STATUS, /* a: 1 if it may be that of a thread; body: [pid][wait status] seen by a wait call */
    WIRE_LEAVE,        /* a: enum wire_limit, for which the agent says and does nothing more here */
    WIRE_MODULE,       /* a: bytes of the build-id; body: [address][bytes][build-id, 3 words] text, the path */
    WIRE_MODULE_END,   /* body: [address] */
    /* of the handlers' lane: the records up to the next of these were written in the midst of the record that begins so
     * far into the thread's lane, or would. No time; body: [bytes of records before that] */
    WIRE_PLACE,
    WIRE_DIAGNOSTIC, /* a: severity (1 information, 2 warning, 3 error); body: text */

    /* The capture range; its begin and end are no records: struct wire_switch. */
    WIRE_CAPTURE_ELSEWHERE, /* a range as the capture awaits it, but in another domain;
                             * body: text, that domain's name */

    /* The stack of a thread, copied, for the collector to walk: who called. a: enum wire_source, a record of which
     * follows from the same thread; key: by source. The time is that record's. body: [key][number of its Python
     * stack, 0: none][registers that are known, as bits by DWARF's numbers][their values, in that order][words of the
     * stack, from the stack pointer upwards] */
    WIRE_STACK,

/* Then those of the sources, a range for each; the header of a source names its own. */
#define TYPES(id, kinds) WIRE_FIRST_##id, WIRE_LAST_##id = WIRE_FIRST_##id + (kinds)-1,
#define SOURCE(id, name, text, kinds, ...) TYPES(id, kinds)
#define UNCOUNTED_SOURCE(id, name, kinds, ...) TYPES(id, kinds)
#include "sources.def"
#undef TYPES
    WIRE_TYPE_COUNT
};
_Static_assert(WIRE_TYPE_COUNT <= 256, "wire_record.type is a byte");

/* Beside the types of a source: it has as many as its row says. */
#define WIRE_TYPES_END_AT(id, last) _Static_assert((int)(last) == (int)WIRE_LAST_##id, "the row has another number")

/* What a process does to itself that silences the agent: name, and what it does in words. */
#define WIRE_LIMITS(X)                                                                                               \
    X(FILTER, "it installed a seccomp filter. Programs that it starts are not recorded")                              \
    X(PRIVILEGES, "it set no_new_privs")                                                                              \
    X(CLOCK, "it forbade itself the time stamp counter (PR_SET_TSC)")

enum wire_limit {
#define WIRE_LIMIT_ID(name, text) WIRE_LIMIT_##name,
    WIRE_LIMITS(WIRE_LIMIT_ID) WIRE_LIMIT_COUNT
#undef WIRE_LIMIT_ID
};

enum wire_child {
    WIRE_CHILD_FORKED,
    WIRE_CHILD_EXECS,    /* as a vfork child, in its parent's memory: its own first word comes from the next program */
    WIRE_CHILD_STAYS,    /* …and it did not become that program: exec failed */
    WIRE_CHILD_BORROWED, /* a vfork child that ends as such: its parent's agent has seen what it did */
};

#define WIRE_STACK_REGISTERS 33u
#define WIRE_STACK_BYTES_MAX (WIRE_CHUNK_DATA - 8 * (WIRE_HEAD_WORDS + 3 + WIRE_STACK_REGISTERS))

/* ---- The handshake: one SOCK_SEQPACKET message each way -------------------------------------------------------- */

/* TACHO_SESSION=<token, 32 hex digits>:<filters of the collector, see seccomp_status.h>:<abstract socket name>[:<path
 * of the same on a file system>] */
#define WIRE_SESSION_VARIABLE "TACHO_SESSION"

enum wire_origin {
    WIRE_ORIGIN_EXEC,
    WIRE_ORIGIN_FORK,
    WIRE_ORIGIN_KNOWN, /* has an arena already: asks that all that it recorded so far be in the
                        * report before it is answered */
};

struct wire_hello {
    uint32_t magic, version;
    uint8_t token[16];
    uint32_t pid, tid, parent_pid, origin;
    uint64_t ticks;
};

struct wire_welcome { /* carries the arena's descriptor, if one was asked for and status is 0 */
    uint32_t magic;
    int32_t status;   /* 0, or -errno: this process is not to be recorded */
    uint64_t arena_bytes;
};

#endif
