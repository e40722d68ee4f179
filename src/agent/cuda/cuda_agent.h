/* What the files of the CUDA source know of each other. Who calls whom:
 *
 *     cuda_agent.c          the entry that CUDA calls, the life of the source, what a capture enables
 *     cupti_library.c  finds and loads CUPTI
 *     cuda_api.c      API calls: their names, which are recorded, which have callbacks
 *     cuda_callbacks.c   CUPTI's callbacks: contexts, streams, calls that order or wait, capture ranges
 *     cuda_buffers.c  lends CUPTI the arena's buffers and takes them back full
 *     cuda_texts.c    texts that records point to
 *     cuda_thread.c   the one thread of ours: flushes, follows the recording, asks for the devices' properties
 *     cuda_exit.c     the last flush of a process
 *     cuda_range.c    cudaProfilerStart() and its siblings, also where CUDA is not recorded
 *     cuda_client.c   programs that use CUPTI themselves
 *
 * Callbacks run in the program's threads, at any moment: they call no CUDA function, take no lock that is held across a
 * call into CUPTI, allocate nothing, and keep errno. Of CUPTI they ask for ids and no more, but for these:
 *
 *     unload()           flushes, which needs the driver: where the program enters the call that unloads, before the
 *                        driver has begun and has its locks; none of ours is held
 *     context_created()  configures and enables unified memory, which CUPTI refuses before there is a context: once
 *                        in a process, when the first one has been made and nothing has run in it; no lock of ours
 *                        is held
 *     cuda_follow()      switches what is enabled, where a range begins or ends: under `switching`, which it does
 *                        not wait for longer than 100 ms, as who has that may be waiting for CUPTI; then our own
 *                        thread does it
 *
 * CUPTI is never finalised: it would be torn down under running threads. */
#ifndef TACHO_AGENT_CUDA_CUDA_AGENT_H
#define TACHO_AGENT_CUDA_CUDA_AGENT_H

#include <signal.h>

#include "abi/cuda_calls.h"
#include "abi/cupti.h"
#include "abi/cupti_layout.h"
#include "agent/core/agent.h"
#include "agent/core/source.h"
#include "wire/wire_cuda.h"

enum cuda_state {
    CUDA_ABSENT,     /* CUDA has not come to life in this process */
    CUDA_LOADED,     /* CUPTI is there and costs nothing yet */
    CUDA_SUBSCRIBED, /* waits for a capture range that CUDA's own calls begin */
    CUDA_RECORDING,
    CUDA_OVER,       /* refused, yielded to the program, or forked off: CUPTI is not touched again */
};

enum cuda_stage { CUDA_STAGE_NONE, CUDA_STAGE_ALL, CUDA_STAGE_CHOSEN }; /* as in WIRE_CUDA_LOADED */

struct cuda {
    _Atomic uint32_t state;                                             /* enum cuda_state; changed under `switching` */
    _Atomic uint32_t switching;  /* one thread at a time changes what is enabled */
    _Atomic uint32_t entered;    /* CUDA has come to life, here or in a process that this one was forked from */
    _Atomic uint32_t stage;      /* enum cuda_stage */
    _Atomic uint32_t epoch;      /* counts the times that recording began */
    _Atomic uint32_t by_records; /* CUPTI writes the records of the chosen calls: cuda_api.c */
    uint32_t pid;                /* of the process that CUPTI lives in */
    uint32_t version;            /* of CUPTI, told apart */
    void *library;               /* CUPTI's handle */
    void *subscriber;
    struct cupti_functions cupti;
    struct cuda_driver_functions driver;
    struct wire_cuda_settings settings;
    struct cupti_layouts layouts;
    char path[4096];               /* CUPTI's */

    struct area buffers;           /* of the arena */
    struct wire_cuda_buffer *descriptors;
    char *names;                   /* so much of it is mapped; it grows, and moves */
    size_t names_bytes;

    struct agent_thread *own_slot; /* what our own thread writes to, though no hook sees that thread */
    struct agent_thread *hidden;   /* the thread that works for us now, under `switching`: cuda_hide() */
    int starting;                  /* inside the first cuInit(): what is enabled now sees all of CUDA */
    _Atomic uint32_t wake;         /* futex of our thread */
    _Atomic uint32_t lent;         /* buffers that CUPTI has */
    _Atomic uint32_t new_context;  /* id of the newest context, until its first kernel has finished; 0: none */
    _Atomic uint32_t contexts_seen;
};
extern struct cuda cuda;

struct cuda_thread {
    uint32_t call;         /* into CUDA, the outermost of those that have callbacks: domain << 16 | id; 0: none */
    uint32_t correlation;
    uint32_t epoch, round; /* struct cuda's and its own, when it was entered */
    uint64_t start;        /* ticks */
};
AGENT_THREAD_STATE(CUDA, struct cuda_thread, cuda_of)

/* True in the process that CUPTI was set up in, as long as it is in use. */
static inline int cuda_in_use(void)
{
    uint32_t state = atomic_load_explicit(&cuda.state, memory_order_acquire);
    return state != CUDA_ABSENT && state != CUDA_OVER && agent_attached() && cuda.pid == agent.pid;
}

/* For the time that we do something of our own in a thread of the program, under `switching`: no hook records it, and
 * threads that are created meanwhile are ours. */
static inline struct agent_thread *cuda_hide(void)
{
    struct agent_thread *self = agent_self;
    if (self != AGENT_OWN_THREAD) {
        cuda.hidden = agent_is_thread(self) ? self : NULL;
        agent_self = AGENT_HIDDEN_THREAD;
    }
    return self;
}
static inline void cuda_show(struct agent_thread *self)
{
    agent_self = self;
}

/* ---- cuda_agent.c ---------------------------------------------------------------------------------------------- */
int cuda_lock(void);                   /* of `switching`: 1, or 0 if it could not be had soon */
void cuda_unlock(void);
void cuda_enable_unified_memory(void); /* where it is wanted; CUPTI refuses before the first context */
void cuda_follow(int is_own_thread);   /* the recording was switched on or off: what is enabled follows */
void cuda_stop_for_good(void);         /* disables all and unsubscribes; under the lock */
struct cuda_note {
    uint16_t type, a, b;
    uint16_t word_count;
    const uint64_t *words;
    const char *text;
};
void cuda_emit(const struct cuda_note *note); /* from a thread of the program or ours */

/* ---- cupti_library.c ------------------------------------------------------------------------------------------- */
const char *cuda_library_load(void);           /* fills cuda.library, .cupti, .driver, .path,
                                                * .version: NULL, or a sentence */
void *cuda_library_function(const char *name); /* of the CUPTI in use, ours or the program's; NULL if there is none */

/* ---- cuda_api.c ------------------------------------------------------------------------------------------------ */
struct cuda_api {
    uint8_t known, chosen, wait, range;            /* wait: enum cuda_wait_kind; range: 1 begins, 2 ends one */
    uint8_t group, per_thread;
    uint8_t unloads;                               /* names of kernels go away with it */
    uint8_t called_back;                           /* its callback is enabled */
    uint8_t of_cupti;                              /* CUPTI makes it at each launch, for the
                                                    * name: not the program's doing */
    uint8_t refused;                               /* CUPTI would not write its records */
    uint8_t round;                                 /* counts the times that its callback was switched off */
};
#define CUDA_API_MAX 1536u             /* callback ids of a domain */
extern struct cuda_api cuda_apis[2][CUDA_API_MAX]; /* by enum cuda_domain */
void cuda_api_learn(void);                         /* once: names and what they mean */
void cuda_api_records(int on);                     /* chosen calls, by CUPTI where that works */
enum cuda_stage cuda_api_last_stage(void);         /* the one that a capture comes to: all calls, or the chosen ones */
void cuda_api_callbacks(enum cuda_stage stage);    /* which calls come to cuda_callback() */
void cuda_api_forget_callbacks(void);              /* CUPTI has, with the subscription */
int cuda_api_is_ours(const struct cuda_api *api);  /* is the record of this call ours to write? */

/* ---- cuda_callbacks.c ------------------------------------------------------------------------------------------ */
void cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data);
void cuda_events_enable(int on);                           /* callbacks on contexts, streams and modules */
#define CUDA_CONTEXTS_MAX 64u
uint32_t cuda_contexts(void *contexts[CUDA_CONTEXTS_MAX]); /* those that live: how many */

/* ---- cuda_buffers.c -------------------------------------------------------------------------------------------- */
int cuda_buffers_attach(struct wire_header *arena, int descriptor, enum wire_origin origin);
void cuda_buffer_wanted(uint8_t **buffer, size_t *bytes, size_t *most_records);
void cuda_buffer_done(void *context, uint32_t stream_id, uint8_t *buffer, size_t bytes, size_t valid_bytes);
int cuda_buffers_older_than(uint64_t ns); /* has CUPTI had one for so long? */
void cuda_buffers_prepare(void);          /* pages for the buffers that will be lent next */
void cuda_buffers_count_lost(void);       /* at the end: records in emergency buffers that CUPTI did not give back */
void cuda_buffers_tell_names(void);       /* of the records in buffers that CUPTI keeps, when the process ends */

/* ---- cuda_texts.c ---------------------------------------------------------------------------------------------- */
int cuda_names_prepare(void);
void cuda_name_text(const char *text); /* one that a record points to */
void cuda_name_add(enum wire_cuda_name what, uint64_t key, const char *text);
void cuda_names_forget(void);          /* a module is being unloaded: its pointers may come to mean something else */

/* ---- cuda_thread.c --------------------------------------------------------------------------------------------- */
int cuda_thread_start(void); /* 0, or -1; the program's signals are blocked */
/* Around whatever may start threads, ours or CUPTI's: they inherit the mask, and leave the program's
 * signals to its own threads. */
void cuda_block_signals(sigset_t *before);
void cuda_restore_signals(const sigset_t *before);
void cuda_thread_wake(void);
void cuda_thread_finish(uint64_t patience_ns); /* the last flush; returns once it is done, or when patience ends */

/* ---- cuda_exit.c ----------------------------------------------------------------------------------------------- */
void cuda_flush(void);         /* waits for the GPU, and for CUPTI to hand over its records; two seconds at most */
void cuda_exit(void);          /* the same, since the process ends */
void cuda_exit_register(void); /* the flush comes before all that was registered until now */
void cuda_exit_flushed(void);  /* what is left to do after the last flush */

/* ---- cuda_range.c ---------------------------------------------------------------------------------------------- */
void cuda_range_begin(void); /* the program has called cuProfilerStart() or one of its siblings */
void cuda_range_end(void);

#endif
