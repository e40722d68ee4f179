/* The interface between the core and a source: a struct of callbacks, which the core calls over the life of the
 * process. The core knows no source by name; wire/sources.def lists them, and the core calls them in that order. A
 * callback may be NULL. None of them is on the path of an event: hooks call the core, never the other way round.
 *
 * A source owns its per-process state. Its per-thread state follows struct agent_thread, at an offset that is known at
 * compile time: AGENT_THREAD_STATE. */
#ifndef TACHO_AGENT_CORE_SOURCE_H
#define TACHO_AGENT_CORE_SOURCE_H

#include <signal.h>

#include "agent.h"
#include "word_calls.h"

/* What the caller needs an interpreter's frames for. */
enum agent_stack_use { AGENT_STACK_OF_CALL, AGENT_STACK_OF_SAMPLE, AGENT_STACK_OF_BLOCK };
/* Bytes that must be free on the thread's stack to read them. Estimated from frame sizes, not measured. */
#define AGENT_FRAMES_NEED 4096u

struct agent_source {
    /* A library beside the agent that programs must preload; NULL: none. Programs that this one starts get it even if
     * it gives them another environment. */
    const char *preload;
    /* MODEL_BIT()s: where nobody has named the source, only programs that use one of these models preload it. */
    uint32_t models;
    /* For stubs that know the words of their calls (src/agent/stubs/words); NULL: the source has none. */
    const struct word_calls *word_calls;

    /* Called once when the agent starts, in a constructor or in the first hook; outside of a capture too, where
     * agent.session is empty. The real functions of libc are known. The source must not record. */
    void (*start)(void);

    /* A new arena: take the settings, map the source's part of it. 0, or -errno: the agent stays off in this process. A
     * forked child calls this again, with WIRE_ORIGIN_FORK. agent.arena is not set yet, and the descriptor is valid
     * during this call only. */
    int (*attach)(struct wire_header *arena, int descriptor, enum wire_origin origin);
    void (*prepare)(void);                     /* after attach, before any hook can record */
    void (*attached)(enum wire_origin origin); /* hooks record now: write the notes that the collector needs first */

    /* A forked child, before it attaches. It has no other threads and not the parent's arena. It must not record. */
    void (*forked)(void);
    void (*not_attached)(void); /* the forked child does not attach, or could not */

    /* Called in the thread itself. It may record until thread_ending() returns, but not in thread_end(). */
    void (*thread_begin)(struct agent_thread *thread);
    void (*thread_ending)(struct agent_thread *thread);
    void (*thread_end)(struct agent_thread *thread);

    /* The program switched recording on or off. Called in the thread that did so. */
    void (*switched)(void);

    /* The program loaded an object. The loader's lock is held, so a source may only remember the path. */
    void (*object_loaded)(const char *path);
    void (*objects_changed)(void);  /* after that, without the lock; never in signal handlers */
    void (*objects_unloaded)(void); /* the program called dlclose(); the agent may or may not be attached */

    /* The process is about to limit itself (enum wire_limit). No thread is inside a system call of the agent, and from
     * here on there must be none. come_back(): the limit was not set after all. */
    void (*leave)(void);
    void (*come_back)(void);

    /* The program waits until the collector has all events; this may take seconds. */
    void (*flush)(void);
    /* The same, before the process ends by _exit(), _Exit() or quick_exit() or calls exec. Not before exit(), for which
     * a source registers a handler of its own. May be called in a vfork child, and more than once. */
    void (*exit)(void);

    /* Records an interpreter's frames of the calling thread and returns their number; 0: it has none. Called at any
     * moment, in signal handlers too; keeps errno. */
    uint64_t (*frames)(struct agent_thread *thread, enum agent_stack_use use);

    /* `stack` is the alternate signal stack of the calling thread, as the kernel has it. If that is the source's own,
     * replaces it by the program's. */
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
    AGENT_THREAD_BYTES /* size of a thread's whole state; it is zeroed when the thread begins */
};

/* Defines function(thread), which returns the source's part of a thread's state, at a constant offset. */
#define AGENT_THREAD_STATE(id, type, function)                                                                       \
    _Static_assert(sizeof(type) == AGENT_THREAD_TO_##id + 1 - AGENT_THREAD_AT_##id && sizeof(type) % 8 == 0,         \
                   "thread_bytes of its row");                                                                       \
    static inline type *function(struct agent_thread *thread)                                                        \
    {                                                                                                                \
        return (type *)((char *)thread + AGENT_THREAD_AT_##id);                                                      \
    }

/* The object whose stubs call word_calls of this source; NULL: it has not called yet. */
const struct word_object *agent_word_object(enum wire_source source);

void word_objects_changed(void); /* the program has loaded objects */

void agent_add_preloads(void);   /* those of the sources that are recorded */

/* The library of a source (enum wire_source) that a program preloads which uses these models; NULL: none. */
const char *agent_preload_file(uint32_t source, uint32_t models);

/* ---- Calls to all sources -------------------------------------------------------------------------------------- */

void sources_start(void);
int sources_attach(struct wire_header *arena, int descriptor, enum wire_origin origin); /* or the first failure */
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
