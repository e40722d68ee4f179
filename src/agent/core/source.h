/* What a source provides to the core: one row of functions, which the core calls as the process goes on. The core knows
 * no source by its name; wire/sources.def lists them. A slot that is NULL is passed over. Rows are called in the order
 * of that file. None of these is on the path of an event: hooks call the core, never the other way round.
 *
 * State that a source keeps for the process is its own. State that it keeps for each thread lies behind struct
 * agent_thread, at a place that is known when the agent is compiled: see AGENT_THREAD_STATE. */
#ifndef TACHO_AGENT_CORE_SOURCE_H
#define TACHO_AGENT_CORE_SOURCE_H

#include <signal.h>

#include "agent.h"

/* Which stack the frames of an interpreter are to be read for. */
enum agent_stack_use { AGENT_STACK_OF_CALL, AGENT_STACK_OF_SAMPLE };
/* Bytes of the thread's stack that must be free for that; an estimate from the frames, not measured. */
#define AGENT_FRAMES_NEED 4096u

struct agent_source {
    /* Once, when the agent starts, in a constructor or in the first hook; outside of a capture too, where agent.session
     * is empty. The real functions are known; nothing may be recorded. */
    void (*start)(void);

    /* A new arena: take the settings, map what the source has of it. 0, or -errno: the process stays off. A forked
     * child comes here again, with WIRE_ORIGIN_FORK. agent.arena is not set yet, and the descriptor is good for this
     * call alone. */
    int (*attach)(struct wire_header *arena, int descriptor, enum wire_origin origin);
    void (*prepare)(void);                     /* then, before the first hook of any thread may record */
    void (*attached)(enum wire_origin origin); /* then, with hooks that record: tell the arena what it must know */

    /* A forked child, before it attaches: other threads, and the parent's arena, are gone. May not record. */
    void (*forked)(void);
    void (*not_attached)(void); /* and it does not attach, or could not */

    /* In the thread itself. Until thread_ending() returns it may record; in thread_end() no longer. */
    void (*thread_begin)(struct agent_thread *thread);
    void (*thread_ending)(struct agent_thread *thread);
    void (*thread_end)(struct agent_thread *thread);

    /* The program has switched the recording on or off, in the thread that did so. */
    void (*switched)(void);

    /* An object is loaded that was not there before. The loader's lock is held: remember it, and no more. */
    void (*object_loaded)(const char *path);
    void (*objects_changed)(void);  /* then, without that lock; not in signal handlers */
    void (*objects_unloaded)(void); /* the program has called dlclose(); attached or not */

    /* Before a limit that the process sets itself (enum wire_limit): no system call from here on. No other thread is in
     * one of ours. come_back(): there was no need to. */
    void (*leave)(void);
    void (*come_back)(void);

    void (*flush)(void); /* the program waits until all that was recorded is with the collector; may wait for seconds */
    /* The same, since the process is about to end by _exit(), _Exit() or quick_exit(), or to become another program;
     * not at exit(), for which a source registers a handler of its own. May come in a vfork child and more than once.
     */
    void (*exit)(void);

    /* The number of a stack of its own (an interpreter's frames) that the calling thread is in, told to the collector;
     * 0: none. At any moment, in signal handlers too; keeps errno. */
    uint64_t (*frames)(struct agent_thread *thread, enum agent_stack_use use);

    /* The kernel's alternate signal stack of the calling thread: where that is the source's own, the program's in its
     * place. */
    void (*show_signal_stack)(stack_t *stack);
};

#define SOURCE(id, name, ...) extern const struct agent_source agent_source_##name;
#define UNCOUNTED_SOURCE(id, name, ...) extern const struct agent_source agent_source_##name;
#include "wire/sources.def"

/* ---- State in each thread -------------------------------------------------------------------------------------- */

enum agent_thread_place {
    AGENT_THREAD_BEFORE = sizeof(struct agent_thread) - 1,
#define PLACE(id, bytes) AGENT_THREAD_AT_##id, AGENT_THREAD_TO_##id = AGENT_THREAD_AT_##id + (bytes)-1,
#define SOURCE(id, name, text, kinds, thread_bytes, ...) PLACE(id, thread_bytes)
#define UNCOUNTED_SOURCE(id, name, kinds, thread_bytes, ...) PLACE(id, thread_bytes)
#include "wire/sources.def"
#undef PLACE
    AGENT_THREAD_BYTES /* of a thread, with all of it; zero when it begins */
};

/* Defines function(thread), which returns the source's own part of a thread: a constant offset. */
#define AGENT_THREAD_STATE(id, type, function)                                                                       \
    _Static_assert(sizeof(type) == AGENT_THREAD_TO_##id + 1 - AGENT_THREAD_AT_##id && sizeof(type) % 8 == 0,         \
                   "thread_bytes of its row");                                                                       \
    static inline type *function(struct agent_thread *thread)                                                        \
    {                                                                                                                \
        return (type *)((char *)thread + AGENT_THREAD_AT_##id);                                                      \
    }

/* ---- All of them ----------------------------------------------------------------------------------------------- */

void sources_start(void);
int sources_attach(struct wire_header *arena, int descriptor, enum wire_origin origin); /* the first failure */
void sources_prepare(void);
void sources_attached(enum wire_origin origin);
void sources_forked(void);
void sources_not_attached(void);
void sources_thread_begin(struct agent_thread *thread);
void sources_thread_ending(struct agent_thread *thread);
void sources_thread_end(struct agent_thread *thread);
void sources_switched(void);
void sources_object_loaded(const char *path);
void sources_objects_changed(void);
void sources_objects_unloaded(void);
void sources_leave(void);
void sources_come_back(void);
void sources_flush(void);
void sources_exit(void);
uint64_t sources_frames(struct agent_thread *thread, enum agent_stack_use use); /* of the first that has some */
void sources_show_signal_stack(stack_t *stack);

#endif
