/* The agent's one per-process and one per-thread struct, and the fast path that every hook shares.
 *
 * The agent is a guest in the program: it never calls malloc, stdio or a libc function that it hooks itself (sys.h has
 * the system calls), takes no lock that the program could hold, and keeps errno. A hook asks agent_enter() for its
 * thread; NULL means "pass through". Then it reserves words, fills a record, commits. All of this is safe in signal
 * handlers, in constructors that run before the agent's, after fork, and in threads that are being torn down. */
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
    AGENT_UNKNOWN = 0, /* not started yet, or fork() wiped the page: the slow path finds out which */
    AGENT_ATTACHED = 1,
    AGENT_OFF = 2,     /* not under tacho, refused, or failed: every hook passes through for good */
};

/* This struct has a page of its own, which fork() zeroes in the child (MADV_WIPEONFORK). So a child never touches the
 * arena, which it does not inherit. */
struct agent_switch {
    _Alignas(65536) _Atomic uint32_t state;
    /* agent.arena while the process is attached, else NULL: hooks that are called most need only this to tell. */
    _Atomic(struct wire_header *) arena;
    char fill[65536 - sizeof(uint64_t) - sizeof(void *)];
};
extern struct agent_switch agent_switch;

#define AGENT_PAGE_LEAST 4096u     /* bytes: the smallest page size */
#define AGENT_FILTERED_CHILDREN 16 /* vfork children that have installed a seccomp filter, at one time */
struct agent_filtered_child {
    _Atomic uintptr_t thread; /* the thread that called vfork(): the address of its agent_self */
    _Atomic uint32_t owner;   /* the pid of the child; 0: the entry is free */
    struct robust_list link;
    struct robust_list_head list;
};

struct agent {
    struct wire_header *arena;           /* the header alone: the areas map the rest */
    struct area slots, threads;          /* threads: the private half of each slot, with the same index */
    struct area chunks, note_chunks;
    uint32_t clock;                      /* enum wire_clock */
    uint32_t flags;                      /* enum wire_flag */
    uint32_t sources;
    uint32_t if_used;                    /* of these: those whose libraries only programs preload that use them */
    _Atomic uint32_t chosen;             /* the sources that the next range of the program is to record */
    uint32_t pid;                        /* 0: a forked child that has not attached */
    _Atomic uint32_t first_thread_ended; /* it called pthread_exit(), and the other threads go on */
    _Atomic uint32_t own_threads;        /* live threads of the agent, and known ones of libraries that it loaded */
    _Atomic uint32_t calling;            /* threads between agent_begin_calls() and agent_end_calls() */
    uint32_t left;                       /* this process, or one that it was forked from, called agent_leave() */
    uint32_t filtered; /* it left because of a seccomp filter: the programs that it starts are not traced */
    _Atomic uint32_t filtered_children_used; /* entries below that were ever in use: 0 in nearly every program */
    struct agent_filtered_child filtered_children[AGENT_FILTERED_CHILDREN]; /* own_process.h */
    char session[256];      /* value of TACHO_SESSION, for exec hooks and forked children */
    char library[4096];     /* path of the agent itself */
    char preload[8 * 4096]; /* for LD_PRELOAD: the agent, and after a colon each library that a source preloads */
};
extern struct agent agent;

/* ---- Per thread ------------------------------------------------------------------------------------------------ */

enum agent_scratch_use { AGENT_SCRATCH_OF_HOOK, AGENT_SCRATCH_OF_SAMPLE, AGENT_SCRATCH_OF_EXEC, AGENT_SCRATCH_USES };
struct agent_scratch {
    void *memory;    /* mapped on first use: thread.c */
    uintptr_t taken; /* the stack pointer of the function that has it (for exec: the pid); 0: it is free */
};

/* A lane is a chain of chunks that a thread writes to. A signal handler that interrupts the thread while it writes a
 * record uses the second lane, whose records say where in the first they belong (WIRE_PLACE). A handler that interrupts
 * a record in the second lane has no lane: its records are lost. */
struct agent_lane {
    unsigned char *cursor;    /* address of the next record */
    unsigned char *limit;
    struct wire_chunk *chunk; /* NULL: no chunk yet */
    uintptr_t busy;           /* stack pointer of the function that is writing a record; 0: none */
    uint64_t place;           /* second lane only: the offset into the first in its last WIRE_PLACE */
    uint32_t in_note_chunk;   /* the chunk takes notes alone: the limit keeps events out */
};

/* The per-thread state of the sources follows this struct: source.h. */
struct agent_thread {
    struct agent_lane lanes[WIRE_LANES];
    struct wire_thread *slot;
    uint32_t index;      /* of the slot */
    uint32_t end_rounds; /* rounds of thread-specific destructors so far */
    uint32_t loading;    /* calls of dlopen() that it is in */
    /* Stack pointer of the function that is writing a note; 0: none. A note may take a chunk that events may not. */
    uintptr_t notes;
    struct agent_scratch scratch[AGENT_SCRATCH_USES];
};

/* The only thread-local variable of the agent. NULL: not attached yet. AGENT_NO_THREAD: attaching right now, or ended.
 * AGENT_OWN_THREAD: a thread that the agent created. AGENT_HIDDEN_THREAD: a thread of the program that works for the
 * agent just now. Hooks ignore the last two kinds and the threads that they create: their calls are not events, so they
 * do not count as lost either. */
extern __thread struct agent_thread *agent_self __attribute__((tls_model("initial-exec"), visibility("hidden")));
#define AGENT_OWN_THREAD ((struct agent_thread *)1)
#define AGENT_HIDDEN_THREAD ((struct agent_thread *)2)
#define AGENT_NO_THREAD ((struct agent_thread *)3) /* the largest value that is not a pointer */

static inline int agent_is_thread(const struct agent_thread *self)
{
    return (uintptr_t)self > (uintptr_t)AGENT_NO_THREAD;
}

/* Slow paths; they keep errno. */
struct agent_thread *agent_enter_slow(uint32_t source_bits); /* first call, after fork, first call of a thread */
struct agent_thread *agent_thread_slow(void); /* the thread, if it can get a slot; sources need not be recording */

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

/* The calling thread whether or not anything records now; NULL if not attached. For state that must always be kept. */
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

/* True if the process is attached, whether or not this thread has a slot: agent.arena may be touched. */
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

/* Adds one to a counter that signal handlers of this thread may also increment. One instruction cannot be interrupted
 * halfway, and no other thread writes here, so it needs no lock prefix. */
static inline void agent_count(struct agent_thread *thread, enum wire_source source, enum wire_fate fate)
{
    _Atomic uint64_t *count = &thread->slot->counts[source][fate];
#if defined(__x86_64__)
    __asm__ volatile("incq %0" : "+m"(*count) : : "cc");
#else
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
#endif
}

/* The same for other amounts. */
static inline void agent_add(_Atomic uint64_t *counter, uint64_t amount)
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(*counter) : "r"(amount) : "cc");
#else
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
#endif
}

/* The next number of a thread's own counter, from 1. No signal handler can get the same number, for the same reason. */
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

/* Some words hold the stack pointer of the function that set them. This bit in such a word says that the program has
 * left a signal handler by longjmp() since. */
#define AGENT_JUMPED 1u

/* True if the function that set this word to its stack pointer will never clear it: the program has jumped, and the
 * frame `here` lies above that function's. Then it clears the word. The answer is wrong if a handler switches by
 * longjmp() to another stack close above and later comes back. */
int agent_was_left(uintptr_t *word, uintptr_t here);

/* The thread is writing a record: returns a lane for another one, or NULL if there is none. If the program jumped out
 * of the unfinished record, that record counts as lost and its lane is free again. */
struct agent_lane *agent_free_lane(struct agent_thread *thread, uintptr_t here);

/* Makes room in a lane for a record of this size: 0, or -1 when the buffer is full. */
int agent_make_room(struct agent_thread *thread, struct agent_lane *lane, uint32_t words);

/* Reserves a record of `words` words (with its head) in one of the thread's lanes and fills in type and size. NULL: the
 * event is lost, and *fate says why, for the caller to count. After every reserve that succeeds the caller must call
 * emit_commit(). */
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

/* The lines of a recycled chunk are in the cache of the collector's core. Request them early, so that no store waits
 * for one. */
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

/* Reserves a record, or counts the loss and returns NULL. */
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

/* strlen(), without a call for short texts. Aligned loads never leave the page that the text ends on, but a sanitizer
 * would report them. */
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

/* Copies a text to the end of a record, padded with zeros. It has no NUL inside and at most WIRE_TEXT_MAX bytes. For 4
 * to 15 bytes it reads the first and the last few and combines them, even where they overlap: no loop and no call. */
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

/* Writes a bookkeeping record (names, paths, exits, diagnostics), with or without text. Notes have chunks of their own
 * for when the buffer is full; notes that are lost even so are counted. Keeps errno. */
void emit_note(uint32_t type, uint16_t a, const uint64_t *head, uint32_t head_words, const char *text);

/* ---- Large buffers --------------------------------------------------------------------------------------------- */

/* Hooks run on the stacks of coroutines and signal handlers, which may have only a few kilobytes. So a hook takes
 * buffers of more than a few hundred bytes here, one at a time. A sample, which may interrupt a hook at any moment, has
 * a buffer of its own. NULL: there is no memory, or the caller is a signal handler that interrupted the hook that has
 * the buffer. Both count as a lost note. */
#define AGENT_SCRATCH_BYTES 16384u
void *agent_scratch_take(struct agent_thread *thread, enum agent_scratch_use use);
void agent_scratch_give(struct agent_thread *thread, enum agent_scratch_use use);

#endif
