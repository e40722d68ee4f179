/* The agent's one per-process and one per-thread struct, and the fast path that every hook shares.
 *
 * The agent is a guest in the program: no malloc, no stdio, no lock that the program could hold, no libc function that
 * it hooks itself (sys.h has the system calls), errno kept. A hook asks agent_enter() for its thread; NULL means "pass
 * through". Then it reserves words, fills a record, commits. All of it is safe in signal handlers, in constructors that
 * run before ours, after fork, and in threads that are already being torn down. */
#ifndef TACHO_AGENT_CORE_AGENT_H
#define TACHO_AGENT_CORE_AGENT_H

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <time.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "arena_area.h"
#include "wire/wire.h"
#include "wire/wire_chunks.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define EXPORT __attribute__((visibility("default")))

/* ---- Per process ----------------------------------------------------------------------------------------------- */

enum agent_state {
    AGENT_UNKNOWN = 0, /* not started yet, or a fork wiped the page: the slow path finds out which */
    AGENT_ATTACHED = 1,
    AGENT_OFF = 2,     /* not under tacho, refused, or failed: everything passes through for good */
};

/* On a page of its own that fork() zeroes in the child (MADV_WIPEONFORK), so that a child never touches the arena,
 * which it does not inherit. */
struct agent_switch {
    _Alignas(65536) _Atomic uint32_t state;
    char fill[65536 - sizeof(uint32_t)];
};
extern struct agent_switch agent_switch;

#define AGENT_PAGE_LEAST 4096u     /* bytes: pages are as large as this or larger */
#define AGENT_FILTERED_CHILDREN 16 /* vfork children behind a filter of their own, at one time */
struct agent_filtered_child {
    _Atomic uintptr_t thread; /* that has called vfork(): the address of its agent_self */
    _Atomic uint32_t owner;   /* the pid of the child, while it is one; 0: free */
    struct robust_list link;
    struct robust_list_head list;
};

struct agent {
    struct wire_header *arena;           /* of it, the header alone: the rest is in the areas */
    struct area slots, threads;          /* threads: private half of the slots, same index */
    struct area chunks, note_chunks;
    uint32_t clock;                      /* enum wire_clock */
    uint32_t flags;                      /* enum wire_flag */
    uint32_t sources;
    _Atomic uint32_t chosen;             /* of these, what the next range that the program begins is to record */
    uint32_t pid;                        /* 0: it was forked, and has not attached */
    _Atomic uint32_t first_thread_ended; /* by pthread_exit(): the others go on */
    _Atomic uint32_t own_threads; /* that live: of ours, and of libraries that we have loaded those that are known */
    _Atomic uint32_t calling;     /* threads between agent_begin_calls() and agent_end_calls() */
    uint32_t left;                /* agent_leave() was called here or in a process
                                   * that this one was forked from */
    uint32_t filtered;            /* … because of a seccomp filter: programs that
                                   * it starts are not followed */
    _Atomic uint32_t filtered_children_used; /* of the next, so many have ever been in use: 0 in nearly every program */
    struct agent_filtered_child filtered_children[AGENT_FILTERED_CHILDREN]; /* own_process.h */
    char session[256];      /* value of TACHO_SESSION, for exec hooks and forked children */
    char library[4096];     /* path of the agent itself */
    char preload[2 * 4096]; /* what LD_PRELOAD must name: the agent, and with a colon each
                             * library that a source needs beside it */
};
extern struct agent agent;

/* ---- Per thread ------------------------------------------------------------------------------------------------ */

enum agent_scratch_use { AGENT_SCRATCH_OF_HOOK, AGENT_SCRATCH_OF_SAMPLE, AGENT_SCRATCH_OF_EXEC, AGENT_SCRATCH_USES };
struct agent_scratch {
    void *memory;    /* thread.c: mapped when it is first needed */
    uintptr_t taken; /* the stack pointer of who has it (of exec: the pid); 0: nobody */
};

/* Where a thread writes: a chain of chunks. A signal handler that interrupts the thread in the midst of a record writes
 * to the second lane, whose records say where in the first they belong (WIRE_PLACE). One that interrupts a record there
 * has none: its own are lost. */
struct agent_lane {
    unsigned char *cursor;    /* where the next record goes */
    unsigned char *limit;
    struct wire_chunk *chunk; /* NULL: has none yet */
    uintptr_t busy;           /* a record is being written, with this stack pointer */
    uint64_t place;           /* of the second lane: in the first, as its last WIRE_PLACE says */
    uint32_t in_note_chunk;   /* the chunk is one for notes alone: its limit keeps events out */
};

/* Behind it lies what sources keep for the thread: source.h. */
struct agent_thread {
    struct agent_lane lanes[WIRE_LANES];
    struct wire_thread *slot;
    uint32_t index;      /* of the slot */
    uint32_t end_rounds; /* destructor rounds seen */
    uintptr_t notes;     /* a note is being written, with this stack pointer: it may take a chunk that events may not */
    struct agent_scratch scratch[AGENT_SCRATCH_USES];
};

/* The only thread-local of the agent. NULL: not attached yet. AGENT_NO_THREAD: attaching right now, or gone.
 * AGENT_OWN_THREAD: a thread of ours; AGENT_HIDDEN_THREAD: one of the program that works for us just now. No hook sees
 * those two, nor the threads that they create; what they do is no event, so that nothing of it is lost either. */
extern __thread struct agent_thread *agent_self __attribute__((tls_model("initial-exec"), visibility("hidden")));
#define AGENT_OWN_THREAD ((struct agent_thread *)1)
#define AGENT_HIDDEN_THREAD ((struct agent_thread *)2)
#define AGENT_NO_THREAD ((struct agent_thread *)3) /* the largest that is no pointer */

static inline int agent_is_thread(const struct agent_thread *self)
{
    return (uintptr_t)self > (uintptr_t)AGENT_NO_THREAD;
}

/* Slow paths; they keep errno. */
struct agent_thread *agent_enter_slow(uint32_t source_bits); /* first call, after fork, first call of a thread */
struct agent_thread *agent_thread_slow(void); /* the thread, if it can have a slot, whatever is recording */

/* The calling thread if any of these sources (WIRE_BIT()s) is recording, else NULL. */
static inline struct agent_thread *agent_enter(uint32_t source_bits)
{
    if (unlikely(atomic_load_explicit(&agent_switch.state, memory_order_relaxed) != AGENT_ATTACHED))
        return agent_enter_slow(source_bits);
    if (!(atomic_load_explicit(&agent.arena->recording, memory_order_relaxed) & source_bits))
        return NULL;
    struct agent_thread *thread = agent_self;
    if (unlikely(!agent_is_thread(thread)))
        return agent_enter_slow(source_bits);
    return thread;
}

/* The calling thread whether or not anything records now; NULL if not attached. For state that must be kept. */
static inline struct agent_thread *agent_thread(void)
{
    if (unlikely(atomic_load_explicit(&agent_switch.state, memory_order_relaxed) != AGENT_ATTACHED))
        return agent_thread_slow();
    struct agent_thread *thread = agent_self;
    if (unlikely(!agent_is_thread(thread)))
        return agent_thread_slow();
    return thread;
}

static inline int agent_recording(uint32_t source_bits)
{
    return (atomic_load_explicit(&agent.arena->recording, memory_order_relaxed) & source_bits) != 0;
}

/* Attached, whether or not this thread has a slot. agent.arena may be touched. */
static inline int agent_attached(void)
{
    return atomic_load_explicit(&agent_switch.state, memory_order_relaxed) == AGENT_ATTACHED;
}

/* ---- The clock ------------------------------------------------------------------------------------------------- */

static inline uint64_t agent_ticks(void)
{
#if defined(__x86_64__)
    if (likely(agent.clock == WIRE_CLOCK_COUNTER))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (likely(agent.clock == WIRE_CLOCK_COUNTER)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Writing a record ------------------------------------------------------------------------------------------ */

/* Adds one to a word that this thread's own signal handlers count in too: one instruction is not interrupted halfway,
 * and no other thread writes here, so that it needs no lock. */
static inline void agent_count(struct agent_thread *thread, enum wire_source source, enum wire_fate fate)
{
    _Atomic uint64_t *count = &thread->slot->counts[source][fate];
#if defined(__x86_64__)
    __asm__ volatile("incq %0" : "+m"(*count) : : "cc");
#else
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
#endif
}

/* The next number of a thread's own counter, from 1; no handler gets the same one, for the same reason. */
static inline uint32_t agent_next(uint32_t *counter)
{
#if defined(__x86_64__)
    uint32_t before = 1;
    __asm__ volatile("xaddl %0, %1" : "+r"(before), "+m"(*counter) : : "cc");
    return before + 1;
#else
    return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
#endif
}

static inline uintptr_t agent_frame(void)
{
    uintptr_t frame;
#if defined(__x86_64__)
    __asm__ volatile("mov %%rsp, %0" : "=r"(frame));
#else
    __asm__ volatile("mov %0, sp" : "=r"(frame));
#endif
    return frame;
}

/* In a word that holds the stack pointer of whoever set it: the program has since left a handler by longjmp(). */
#define AGENT_JUMPED 1u

/* True if whoever set this word to its stack pointer will never clear it: the program has jumped, and here is a frame
 * that lies above. Then the word is 0. A handler that switches to another stack by longjmp(), and comes back, is not
 * told apart where that stack lies close above. */
int agent_was_left(uintptr_t *word, uintptr_t here);

/* The thread is in the midst of a record: the lane for another, or NULL if there is none. A record that was left by a
 * jump is counted as lost, and its lane is free again. */
struct agent_lane *agent_free_lane(struct agent_thread *thread, uintptr_t here);

/* Makes room in a lane for a record of this size: 0, or -1 when the buffer is full. */
int agent_make_room(struct agent_thread *thread, struct agent_lane *lane, uint32_t words);

/* Room for a record of so many words (head included) in one of the thread's lanes, its type and size filled in, or
 * NULL: then the event is lost and *fate says why, for the caller to count. Every reserve that succeeds must be
 * followed by emit_commit(). */
static inline struct wire_record *emit_reserve(struct agent_thread *thread, struct agent_lane **its_lane, uint32_t type,
                                               uint32_t words, enum wire_fate *fate)
{
    struct agent_lane *lane = &thread->lanes[WIRE_LANE_THREAD];
    if (unlikely(lane->busy) && !(lane = agent_free_lane(thread, agent_frame()))) {
        *fate = WIRE_LOST_IN_SIGNAL;
        return NULL;
    }
    lane->busy = agent_frame();
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely((size_t)(lane->limit - lane->cursor) < (size_t)words * 8) &&
        agent_make_room(thread, lane, words) != 0) {
        atomic_signal_fence(memory_order_seq_cst);
        lane->busy = 0;
        *fate = WIRE_LOST_BUFFER_FULL;
        return NULL;
    }
    *its_lane = lane;
    struct wire_record *record = (struct wire_record *)lane->cursor;
    /* One store for the head: type, no flags, words, a = b = 0. */
    *(uint64_t *)record = (uint64_t)type | (uint64_t)words << 16;
    return record;
}

/* Chunks come back from the collector's core: ask early for the lines that will be written, so that no store waits. */
static inline void emit_prefetch(const unsigned char *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

static inline void emit_commit(struct agent_lane *lane, const struct wire_record *record)
{
    lane->cursor += (size_t)record->words * 8;
    emit_prefetch(lane->cursor + 256);
    atomic_store_explicit(&lane->chunk->committed, (uint32_t)(lane->cursor - lane->chunk->data), memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    lane->busy = 0;
}

/* Reserve, or count the loss and return NULL. */
static inline struct wire_record *emit_begin(struct agent_thread *thread, struct agent_lane **lane,
                                             enum wire_source source, uint32_t type, uint32_t words)
{
    enum wire_fate fate;
    struct wire_record *record = emit_reserve(thread, lane, type, words, &fate);
    if (unlikely(!record))
        agent_count(thread, source, fate);
    return record;
}

static inline uint32_t emit_text_words(size_t length)
{
    return (uint32_t)((length + 8) / 8); /* always at least one zero byte */
}

/* strlen(), without a call for what is short. Aligned loads never leave the page that the text ends on
 * (but a sanitizer objects). */
__attribute__((no_sanitize("address"))) static inline size_t emit_text_length(const char *text)
{
#if defined(__SSE2__)
    const __m128i *block = (const __m128i *)((uintptr_t)text & ~(uintptr_t)15), zero = _mm_setzero_si128();
    unsigned skip = (uintptr_t)text & 15;
    unsigned ends = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(block), zero)) >> skip;
    if (ends)
        return (size_t)__builtin_ctz(ends);
    ends = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(block + 1), zero));
    if (likely(ends))
        return 16 - skip + (size_t)__builtin_ctz(ends);
#endif
    return strlen(text);
}

/* Copies text (length bytes, no NUL inside, at most WIRE_TEXT_MAX) to the end of a record, padded with zeros. Of 4 to
 * 15 bytes, the first and the last ones are read and put together, where they overlap too: no loop and no call. */
static inline void emit_text(uint64_t *to, const char *text, size_t length)
{
    if (length - 8 < 8) {
        uint64_t head, tail;
        memcpy(&head, text, 8);
        memcpy(&tail, text + length - 8, 8);
        to[0] = head;
        to[1] = tail >> 8 * (15 - length) >> 8;
    } else if (length - 4 < 4) {
        uint32_t head, tail;
        memcpy(&head, text, 4);
        memcpy(&tail, text + length - 4, 4);
        to[0] = head | (uint64_t)tail << 8 * (length - 4);
    } else {
        to[length / 8] = 0;
        memcpy(to, text, length);
    }
}

/* A record for bookkeeping (names, paths, exits, diagnostics), with or without text. There are chunks for these when
 * the buffer is full; those that are lost even so are counted as such. Keeps errno. */
void emit_note(uint32_t type, uint16_t a, const uint64_t *head, uint32_t head_words, const char *text);

/* ---- Room for what is large ------------------------------------------------------------------------------------ */

/* Hooks run on coroutines' stacks and on handlers', which may have a few kilobytes: buffers of more than a few
 * hundred bytes are taken here, once at a time; samples, which may interrupt a hook at any moment, have one of
 * their own. NULL: there is no memory, or this is a handler that has interrupted the hook that has it; either
 * is counted as a lost note. */
#define AGENT_SCRATCH_BYTES 16384u
void *agent_scratch_take(struct agent_thread *thread, enum agent_scratch_use use);
void agent_scratch_give(struct agent_thread *thread, enum agent_scratch_use use);

#endif
