/* The memory and the messages that agent and collector share: the layout of the arena, the records, the handshake.
 *
 * An arena is one sparse memfd per process. The collector creates it, fills in the settings and seals its size; the
 * agent maps it and writes. Both sides run the same build of Tacho (the version in wire_hello proves it), so plain
 * structs suffice. But the program can overwrite the memory, so the collector checks every index and size that it
 * reads. Code here uses libc alone and never allocates or blocks: it runs in hooks and in signal handlers. */
#ifndef TACHO_WIRE_WIRE_H
#define TACHO_WIRE_WIRE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

#define WIRE_MAGIC 0x54434857u /* "WHCT" in memory */
#define WIRE_VERSION 19 /* increases whenever the layout of anything in src/wire changes */

/* ---- Sources and the fates of their events --------------------------------------------------------------------- */

/* The SOURCE rows of sources.def, in its order. */
enum wire_source {
#define SOURCE(id, ...) WIRE_SOURCE_##id,
#include "sources.def"
    /* Bookkeeping records (modules, exits, names). They are not events: only the lost ones are counted. */
    WIRE_SOURCE_NOTES,
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

#define WIRE_BIT(source) (1u << WIRE_SOURCE_##source) /* WIRE_BIT(NVTX): a bit of wire_header.recording and .sources */

/* recorded + below threshold + untimed + left out + lost = produced, always. The collector counts the recorded events
 * as it drains them; the thread that produced an event counts the other fates. An NVTX range counts once, not once for
 * its begin and once for its end. Unsampled threads are outside this sum: nobody knows how many samples they would have
 * had. */
#define WIRE_FATES(X)                                                                                                  \
    X(BELOW_THRESHOLD, "below-threshold", "")                                                                          \
    X(UNTIMED, "untimed", "") /* the lock was free, so the hook read no clock */                                       \
    /* the source is only counted just now, to keep the cost of recording low (--cost-limit) */                       \
    X(LEFT_OUT, "left-out", "")                                                                                        \
    X(EMPTY_POLL, "empty-poll", "") /* the program asked whether something has ended, and it had not */                \
    X(LOST_BUFFER_FULL, "lost", "buffer-full")                                                                         \
    /* The program jumped out of a signal handler and left the record unfinished, or a handler interrupted another */  \
    /* handler while that wrote a record. */                                                                           \
    X(LOST_IN_SIGNAL, "lost", "in-signal")                                                                             \
    X(LOST_NO_THREAD, "lost", "no-thread") /* the thread had no slot yet, or had given it back */                      \
    X(LOST_CUPTI, "lost", "cupti-dropped") /* records that CUPTI reports as dropped */                                 \
    X(LOST_GPU_BUFFER, "lost", "gpu-buffer-full") /* records in buffers for which the arena had no room */             \
    X(LOST_BLOCKED, "lost", "signal-blocked") /* samples of a thread that blocked the signal */                        \
    /* The two below count threads, not events. */                                                                     \
    X(UNSAMPLED_SIGNAL, "unsampled-threads", "signal-taken") /* the program uses the signal itself */                  \
    X(UNSAMPLED_TIMER, "unsampled-threads", "no-timer")      /* the kernel refused a timer */

enum wire_fate {
#define WIRE_FATE_ID(name, fate, cause) WIRE_##name,
    WIRE_FATES(WIRE_FATE_ID) WIRE_FATE_COUNT
#undef WIRE_FATE_ID
};

/* ---- The arena ------------------------------------------------------------------------------------------------- */

#define WIRE_CHUNK_BYTES 65536u
/* These lie before the chunks for events. Only notes may use them, and only when all event chunks are taken. */
#define WIRE_NOTE_CHUNKS 64u
#define WIRE_THREAD_SLOTS 16384u
#define WIRE_TEXT_BYTES 32768u /* size of the text area of the header, which holds the texts of the settings */
#define WIRE_NONE UINT32_MAX        /* no chunk, no slot */
#define WIRE_TEXT_MAX 32768u /* longer texts in records are truncated */

enum wire_clock { WIRE_CLOCK_COUNTER = 1, WIRE_CLOCK_MONOTONIC = 2 };

/* What starts recording: the start of the program, an NVTX range, an API call, or MPI_Pcontrol(). PROFILER occurs only
 * as the cause of a switch: cudaProfilerStart() and cudaProfilerStop(), which take effect in captures of kind API. */
#define WIRE_CAPTURES(X)                                                                                               \
    X(ALWAYS, "start")                                                                                                 \
    X(NVTX, "nvtx")                                                                                                    \
    X(API, "api")                                                                                                      \
    X(PROFILER, "cudaProfilerApi")                                                                                     \
    X(MPI, "mpi")

enum wire_capture {
#define WIRE_CAPTURE_ID(name, text) WIRE_CAPTURE_##name,
    WIRE_CAPTURES(WIRE_CAPTURE_ID) WIRE_CAPTURE_COUNT
#undef WIRE_CAPTURE_ID
};

enum wire_flag {
    WIRE_FLAG_TRACE_FORK = 1,   /* forked children are traced even before they call exec */
    WIRE_FLAG_STEP_PROBES = 2,  /* of the source STEPS: a few steps are only timed, all others recorded */
    WIRE_FLAG_DELAYED = 4,      /* recording begins later, without a word from the program (--delay) */
    WIRE_FLAG_STEP_WINDOWS = 8, /* with STEP_PROBES: where recording costs much, few steps have operators */
};

/* A switch says that the program began or ended a capture range. Switches live in the header and are not records,
 * because a full buffer must not keep a capture from ending. The writer claims a number (switches_made), fills the
 * switch, and publishes it with the release store of `number`. The collector reads switches in order. A writer that
 * finds all of them unread adds to switches_missed instead, whose low half holds the latest missed switch: so the
 * collector knows the final state even then. */
#define WIRE_SWITCHES 256u
struct wire_switch {
    _Atomic uint32_t number; /* counts from 1; any other value: this switch is not written yet */
    uint16_t cause;          /* enum wire_capture */
    uint16_t on;
    uint64_t ticks;
};

/* True if the collector has read none of the last WIRE_SWITCHES switches. The difference is signed because a `made`
 * that was loaded before `read` may be the smaller of the two. */
static inline int wire_switches_full(uint32_t made, uint32_t read)
{
    return (int32_t)(made - read) >= (int32_t)WIRE_SWITCHES;
}

/* Each source has a part of the header for its settings and for words that both sides write. */
enum wire_shared_place {
    WIRE_SHARED_BEFORE = -1,
#define PLACE(id, bytes) WIRE_SHARED_AT_##id, WIRE_SHARED_TO_##id = WIRE_SHARED_AT_##id + (bytes)-1,
#define SOURCE(id, name, text, kinds, thread_bytes, shared_bytes) PLACE(id, shared_bytes)
#define UNCOUNTED_SOURCE(id, name, kinds, thread_bytes, shared_bytes) PLACE(id, shared_bytes)
#include "sources.def"
#undef PLACE
    WIRE_SHARED_BYTES
};

/* Defines function(arena), which returns the source's part of the header. Its offset is a constant, and it has cache
 * lines of its own. */
#define WIRE_SHARED(id, type, function)                                                                                \
    _Static_assert(sizeof(type) == WIRE_SHARED_TO_##id + 1 - WIRE_SHARED_AT_##id && sizeof(type) % 64 == 0,            \
                   "shared_bytes of its row");                                                                         \
    static inline type *function(struct wire_header *arena)                                                            \
    {                                                                                                                  \
        return (type *)(arena->shared + WIRE_SHARED_AT_##id);                                                          \
    }

#define WIRE_SILENT_PATH 256
#define WIRE_SILENT_EXEC 0x10000u

/* The start of the arena. The collector writes the settings before the agent can see them; they never change. The
 * control words below do. */
struct wire_header {
    uint32_t magic, version;
    uint64_t arena_bytes;
    uint32_t chunk_count;
    uint32_t sources;      /* WIRE_BIT()s of the sources that this capture records */
    uint32_t if_used;      /* of these: those that are recorded in programs that use them */
    uint32_t clock;        /* enum wire_clock */
    uint32_t flags;        /* enum wire_flag */
    uint32_t capture;      /* enum wire_capture */
    uint32_t capture_ends; /* 0: the end of a capture range does not stop recording */
    /* A text in the settings is an offset into the text area; 0 means none. A list is NUL-separated strings that end
     * with an empty one. */
    uint32_t report_path; /* absolute */
    /* The collector adopts orphans of the process tree, which must not show in getppid(): where that returns `adopter`
     * (the pid of the collector), the hook answers `orphan_parent`, the process that would have adopted the orphan.
     * Both are 0 for the program that the collector launched itself, and in other pid namespaces. */
    uint32_t adopter, orphan_parent;

    /* Control words have cache lines of their own. Both the collector and the agent write `recording`. */
    _Alignas(64) _Atomic uint32_t recording; /* WIRE_BIT()s that record now, and WIRE_ONLY_COUNTED */
    /* WIRE_BIT()s of the sources that the collector has switched off to keep the cost of recording below the limit of
     * --cost-limit, and WIRE_ONLY_COUNTED. Whoever sets `recording` leaves them out: wire_recording(). */
    _Atomic uint32_t left_out;
    _Atomic uint32_t marks_steps;     /* the agent has found marks of steps */
    _Atomic uint32_t ranges_left;     /* capture ranges that may still begin */
    _Alignas(64) _Atomic uint32_t switches_made;
    _Atomic uint32_t switches_read;   /* written by the collector */
    _Atomic uint64_t switches_missed; /* number of missed switches << 32 | on << 16 | cause of the latest one */
    struct wire_switch switches[WIRE_SWITCHES]; /* indexed by (number - 1) % WIRE_SWITCHES */

    /* Free lists: the low half is an index, the high half a tag that changes with every pop (wire_chunks.h). */
    _Alignas(64) _Atomic uint64_t free_chunks;
    _Atomic uint32_t chunks_taken; /* chunks below this index have been used at least once */
    _Atomic uint32_t note_chunks_taken;
    _Atomic uint64_t free_note_chunks;
    _Alignas(64) _Atomic uint64_t free_threads;
    _Atomic uint32_t threads_taken;
    _Atomic uint64_t process_counts[WIRE_SOURCE_COUNT][WIRE_FATE_COUNT]; /* events of threads that have no slot */
    _Atomic uint64_t start_cpu_ns; /* CPU time that the agent took to start in this process */
    /* errno of a mapping that failed, of a part of the arena or of the agent's private memory; 0: none failed */
    _Atomic uint32_t map_error;

    /* The exec call of a process that has left (WIRE_LEAVE). It may neither make system calls nor read the clock, so it
     * stores these words instead of a record. */
    _Atomic uint32_t silent_exec;       /* WIRE_SILENT_EXEC | cause, as `a` of WIRE_EXEC; 0: no exec, or it failed */
    char silent_path[WIRE_SILENT_PATH]; /* truncated if it is longer */

    _Alignas(64) unsigned char shared[WIRE_SHARED_BYTES]; /* parts of the sources: WIRE_SHARED() */
    _Alignas(64) char text[WIRE_TEXT_BYTES];
};

/* Bits of `recording` beside those of sources. ONLY_COUNTED, also of `left_out`: OS calls are counted, but neither
 * timed nor recorded. PAUSED: the process only times a step, and goes on by itself. */
#define WIRE_ONLY_COUNTED (1u << 31)
#define WIRE_PAUSED (1u << 30)
_Static_assert(WIRE_SOURCE_COUNT < 30, "these are no sources");

/* PyTorch's source follows `left_out` itself, because annotations are recorded all the same. */
#define WIRE_NEVER_OFF WIRE_BIT(TORCH)

/* The value of `recording` when these sources are to record. */
static inline uint32_t wire_recording(const struct wire_header *arena, uint32_t sources)
{
    uint32_t left_out = atomic_load_explicit(&arena->left_out, memory_order_relaxed);
    uint32_t counted = sources & WIRE_BIT(OSRT) ? left_out & WIRE_ONLY_COUNTED : 0;
    return (sources & ~(left_out & ~WIRE_NEVER_OFF)) | counted;
}

/* The same word after `left_out` has changed. What the program itself has switched off stays off. A process that marks
 * steps switches CUDA off and on between them, by itself. */
static inline uint32_t wire_recording_after(uint32_t recording, uint32_t was, uint32_t left_out, uint32_t marks_steps)
{
    uint32_t sources = ~(WIRE_ONLY_COUNTED | WIRE_NEVER_OFF | (marks_steps ? WIRE_BIT(CUDA) : 0));
    uint32_t after = (recording | (was & ~left_out & sources)) & ~(left_out & sources) & ~WIRE_ONLY_COUNTED;
    return (recording | was) & WIRE_BIT(OSRT) ? after | (left_out & WIRE_ONLY_COUNTED) : after;
}

enum wire_thread_state { WIRE_THREAD_FREE, WIRE_THREAD_LIVE, WIRE_THREAD_ENDED };

/* Lane THREAD has the records of the thread. Lane HANDLER has those of signal handlers that interrupted the thread
 * while it wrote a record. */
enum wire_lane { WIRE_LANE_THREAD, WIRE_LANE_HANDLER, WIRE_LANES };

/* A call that a thread is in. ticks 0: none. */
struct wire_open_call {
    _Atomic uint64_t ticks;
    _Atomic uint32_t function;
    _Atomic int32_t peer; /* the meaning of this and the next two is the source's */
    _Atomic uint64_t group, bytes;
};

/* What a thread did in calls of one function that were too short for records. */
struct wire_short_calls {
    _Atomic uint32_t function; /* its number + 1; 0: the place is free */
    _Atomic uint32_t failed;
    _Atomic uint64_t count, ticks;
    _Atomic uint64_t bytes;    /* the sum of the results, of functions that return a number of bytes */
};
/* A function has the place of its number modulo WIRE_SHORT_PLACES, or the next free one. One more place is for all
 * functions that find none. */
#define WIRE_SHORT_PLACES 59u
#define WIRE_SHORT_OTHERS UINT32_MAX /* .function of that place */

/* The slot of a thread. The thread writes it. The collector reads it, and frees it once it is ENDED and drained. */
struct wire_thread {
    _Alignas(4096) _Atomic uint32_t state;    /* slots are aligned so that a page holds whole slots */
    uint32_t tid;
    _Atomic uint32_t first_chunk[WIRE_LANES]; /* WIRE_NONE until the thread has a chunk; each chunk names the next */
    _Atomic uint32_t next_free;               /* used while the slot is on the free list */
    uint64_t start_ticks;
    /* The call that the thread is in, so that the report has it if the process dies inside. call_ticks 0: none. */
    _Atomic uint64_t call_ticks;
    _Atomic uint32_t call_function;
    uint32_t priority;
    char name[16];
    struct wire_open_call open_call; /* the same for calls to MPI: the other sources have none */
    _Atomic uint64_t counts[WIRE_SOURCE_COUNT][WIRE_FATE_COUNT];
    struct wire_short_calls short_calls[WIRE_SHORT_PLACES + 1];
};
_Static_assert(sizeof(struct wire_thread) == 4096, "slots are laid out back to back");

/* A chunk of one thread's records. The thread appends and publishes them with a release store of `committed`. */
struct wire_chunk {
    _Atomic uint32_t committed; /* bytes of data that hold whole records; WIRE_NONE: the collector freed the chunk */
    _Atomic uint32_t next;      /* next chunk of the lane; once it is set, this chunk is complete */
    _Atomic uint32_t next_free;
    uint32_t thread;            /* slot of the thread */
    uint64_t bytes_before;      /* bytes of records in the earlier chunks of this lane */
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
/* The end of the chunks, where the CUDA area begins: wire_cuda.h. */
static inline uint64_t wire_chunks_end(uint32_t chunk_count)
{
    return WIRE_CHUNKS_OFFSET + (uint64_t)(chunk_count + WIRE_NOTE_CHUNKS) * WIRE_CHUNK_BYTES;
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

/* A record is a whole number of 8-byte words. Text comes last and is padded with zeros to a whole word; it ends at the
 * first zero. */
struct wire_record {
    uint8_t type;   /* enum wire_type */
    uint8_t flags;  /* meaning depends on the type */
    uint16_t words; /* length of the record, with this head */
    uint16_t a, b;  /* meaning depends on the type */
    uint64_t ticks; /* time of the event */
    uint64_t body[];
};
#define WIRE_HEAD_WORDS 2u

enum wire_type {
    WIRE_NOTHING, /* never written: zeroed memory must not look like a record */

    /* Threads and processes. */
    WIRE_THREAD_NAME, /* body: text */
    WIRE_THREAD_END,
    /* An exec call; it may still fail. a: enum wire_cause, why the new program does not get the agent; body: [CPU time
     * of the process so far, ns] text, the path */
    WIRE_EXEC,
    WIRE_EXEC_FAILED, /* a: errno */
    /* exit(), _exit() or a return from main. body: [status][CPU time of the process so far, ns] */
    WIRE_EXIT,
    /* News of a child process. a: enum wire_cause, as of WIRE_EXEC; body: [pid][enum wire_child][ticks: before the call
     * that created the child, or when the news became true] text, path of the program that it becomes, or empty */
    WIRE_CHILD,
    /* A wait call returned the status of a child. a: 1 if the pid may be that of a thread; body: [pid][wait status] */
    WIRE_CHILD_STATUS,
    WIRE_LEAVE,      /* a: enum wire_limit, why the agent records nothing more in this process */
    WIRE_MODULE,     /* a: bytes of the build-id; body: [address][bytes][build-id, 3 words] text, the path */
    WIRE_MODULE_END, /* body: [address] */
    /* Only in the lane of handlers. The records up to the next WIRE_PLACE belong before the record of the thread's lane
     * that starts at this offset: the handler interrupted the thread while it wrote that one. It has no time. body:
     * [offset: bytes of records in the thread's lane] */
    WIRE_PLACE,
    WIRE_DIAGNOSTIC, /* a: severity (1 information, 2 warning, 3 error); body: text */

    /* The program began a range with the name that the capture waits for, but in another domain. body: text, the name
     * of that domain. (The begin and the end of a capture range are not records: see struct wire_switch.) */
    WIRE_CAPTURE_ELSEWHERE,

    /* A copy of the thread's stack, which the collector unwinds into a call chain. It belongs to a later record of the
     * same thread, of source `a` (enum wire_source), and has the time of that record. body: [key, meaning depends on
     * the source][number of the Python stack, 0: none][bit mask of the known registers, by DWARF number][their values,
     * in that order][words of the stack, from the stack pointer upwards] */
    WIRE_STACK,

/* Each source has a range of types. Its header, wire_NAME.h, names them. */
#define TYPES(id, kinds) WIRE_FIRST_##id, WIRE_LAST_##id = WIRE_FIRST_##id + (kinds)-1,
#define SOURCE(id, name, text, kinds, ...) TYPES(id, kinds)
#define UNCOUNTED_SOURCE(id, name, kinds, ...) TYPES(id, kinds)
#include "sources.def"
#undef TYPES
    WIRE_TYPE_COUNT
};
_Static_assert(WIRE_TYPE_COUNT <= 256, "wire_record.type is a byte");

/* Checks that a source's header names exactly as many types as its row in sources.def says. */
#define WIRE_TYPES_END_AT(id, last) _Static_assert((int)(last) == (int)WIRE_LAST_##id, "the row has another number")

/* Limits that a process sets itself and that silence the agent: name, and the sentence about it in messages. */
#define WIRE_LIMITS(X)                                                                                                 \
    X(FILTER, "it installed a seccomp filter. Programs that it starts are not recorded")                               \
    X(PRIVILEGES, "it set no_new_privs")                                                                               \
    X(CLOCK, "it disabled the time stamp counter for itself (PR_SET_TSC)")

enum wire_limit {
#define WIRE_LIMIT_ID(name, text) WIRE_LIMIT_##name,
    WIRE_LIMITS(WIRE_LIMIT_ID) WIRE_LIMIT_COUNT
#undef WIRE_LIMIT_ID
};

enum wire_child {
    WIRE_CHILD_FORKED,
    /* A vfork child called exec. It ran in its parent's memory, so its first own record comes from the new program. */
    WIRE_CHILD_EXECS,
    WIRE_CHILD_STAYS,    /* exec failed: the child is not that program */
    WIRE_CHILD_BORROWED, /* a vfork child that exits without exec: the parent's agent recorded what it did */
};

#define WIRE_STACK_REGISTERS 33u
#define WIRE_STACK_BYTES_MAX (WIRE_CHUNK_DATA - 8 * (WIRE_HEAD_WORDS + 3 + WIRE_STACK_REGISTERS))

/* ---- The handshake: one SOCK_SEQPACKET message each way -------------------------------------------------------- */

/* TACHO_SESSION=<token, 32 hex digits>:<number of seccomp filters of the collector>:<abstract socket name>[:<path of
 * the same socket in the file system>]. abi/seccomp_status.h explains the filters. */
#define WIRE_SESSION_VARIABLE "TACHO_SESSION"

enum wire_origin {
    WIRE_ORIGIN_EXEC,
    WIRE_ORIGIN_FORK,
    /* The process has an arena already. It asks for a flush: the answer comes once the report holds all that the
     * process has recorded so far. */
    WIRE_ORIGIN_KNOWN,
};

struct wire_hello {
    uint32_t magic, version;
    uint8_t token[16];
    uint32_t pid, tid, parent_pid, origin;
    uint64_t ticks;
};

/* With status 0 the message carries the descriptor of the arena, if the process asked for one. */
struct wire_welcome {
    uint32_t magic;
    int32_t status; /* 0, or -errno: the collector does not record this process */
    uint64_t arena_bytes;
};

#endif
