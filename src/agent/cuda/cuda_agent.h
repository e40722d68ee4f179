/* What the files of the CUDA source share.
 *
 *     cuda_agent.c      the function that CUDA calls, the life of the source, what a capture enables
 *     cupti_library.c   finds and loads CUPTI
 *     cuda_api.c        API calls: their names, which are recorded, which have callbacks
 *     cuda_callbacks.c  CUPTI's callbacks: contexts, streams, calls that order or wait, capture ranges
 *     cuda_buffers.c    lends CUPTI the arena's buffers and takes them back full
 *     cuda_texts.c      texts that records point to
 *     cuda_thread.c     the agent's own thread: flushes, follows the recording, reads the properties of the devices
 *     cuda_exit.c       the last flush of a process
 *     cuda_range.c      cudaProfilerStart() and its variants, also where CUDA is not recorded
 *     cuda_client.c     programs that use CUPTI themselves
 *     cuda_modules.c    the machine code of modules that are loaded
 *     cuda_cubin_parts.c  line information of these, for samples
 *     cuda_pc_sampling.c  samples of warps: why they stall
 *     cuda_counters.c  counts single kernels, in the callbacks of their launches; with the files of its header
 *
 * Callbacks run in the program's threads, at any moment: they call no CUDA function, take no lock that is held across a
 * call into CUPTI, allocate nothing, and keep errno. From CUPTI they request only ids, with these exceptions:
 *
 *     unload()           flushes, which needs the driver: where the program enters the call that unloads, before the
 *                        driver begins and takes its locks; the agent holds no lock
 *     context_created()  configures and enables unified memory, which CUPTI refuses before there is a context: once
 *                        in a process, after the first context was created and before anything runs in it; the agent
 *                        holds no lock
 *     cuda_pc_…()        configures PC sampling for a new context, fetches samples before a module or context goes,
 *                        and starts and stops it with the recording: under a lock for which it waits 100 ms at most
 *     counters_…()       start and stop the range profiler around launches, and call cuCtxSynchronize(),
 *                        cuMemGetInfo() and cuFuncGetAttribute(): under a lock that is held until the launch returns
 *     call_made()        enables its own callback, if the agent disabled that while the thread was about to call it
 *     cuda_follow()      switches what is enabled, where a range begins or ends: under `switching`, for which it
 *                        waits no longer than 100 ms, because the holder may be waiting for CUPTI; after that the
 *                        agent's own thread does it
 *
 * The agent never finalises CUPTI: that would tear it down under running threads. */
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
    CUDA_ABSENT,     /* the process has not initialised CUDA */
    CUDA_LOADED,     /* CUPTI is loaded and costs nothing yet */
    CUDA_SUBSCRIBED, /* waits for a capture range that CUDA calls begin */
    CUDA_RECORDING,
    CUDA_OVER,       /* refused, yielded to the program, or in a forked child: the agent does not touch CUPTI again */
};

enum cuda_stage {
    CUDA_STAGE_NONE,
    CUDA_STAGE_ALL,    /* these two as in WIRE_CUDA_LOADED */
    CUDA_STAGE_CHOSEN,
    CUDA_STAGE_PAUSED, /* recording will go on: only calls that unload modules call back */
};

struct cuda {
    _Atomic uint32_t state;      /* enum cuda_state; changed under `switching` */
    _Atomic uint32_t switching;  /* one thread at a time changes what is enabled */
    _Atomic uint32_t entered;    /* CUDA was initialised, here or in a process that this one was forked from */
    _Atomic uint32_t stage;      /* enum cuda_stage */
    _Atomic uint32_t epoch;      /* number of times that recording began */
    _Atomic uint32_t unsettled;  /* a callback is still enabled because a thread is in its call: cuda_api.c */
    _Atomic uint32_t by_records; /* CUPTI writes the records of the chosen calls: cuda_api.c */
    uint32_t pid;                /* of the process that CUPTI lives in */
    uint32_t version;            /* of CUPTI, see cupti_version_told_apart() */
    void *library;               /* handle of CUPTI */
    void *subscriber;
    struct cupti_functions cupti;
    struct cuda_driver_functions driver;
    struct wire_cuda_settings settings;
    struct cupti_layouts layouts;
    char path[4096];               /* of CUPTI */

    struct area buffers;           /* of the arena */
    struct wire_cuda_buffer *descriptors;
    char *names;                   /* the mapped part of the text area; it grows, and moves */
    size_t names_bytes;

    struct agent_thread *own_slot; /* the agent's own thread writes here; hooks do not see that thread */
    struct agent_thread *hidden;   /* the thread that works for the agent now, under `switching`: cuda_hide() */
    int starting;                  /* inside the first cuInit(): what is enabled now sees all of CUDA */
    _Atomic uint32_t wake;         /* futex of the agent's thread */
    _Atomic uint32_t lent;         /* number of buffers that CUPTI has */
    _Atomic uint32_t new_context;  /* id of the newest context, until its first kernel has finished; 0: none */
    _Atomic uint32_t contexts_seen;
};
extern struct cuda cuda;

struct cuda_thread {
    uint32_t call; /* the outermost CUDA call with a callback that the thread is in: domain << 16 | id; 0: none */
    uint32_t correlation;
    uint32_t epoch, round; /* of struct cuda and of the call, when the thread entered it */
    uint64_t start;        /* ticks */
    uint32_t counted;      /* the launch that is being counted, for which it holds the counters' lock; 0: none */
};
AGENT_THREAD_STATE(CUDA, struct cuda_thread, cuda_of)

/* True in the process that set CUPTI up, as long as the agent uses it. */
static inline int cuda_in_use(void)
{
    uint32_t state = atomic_load_explicit(&cuda.state, memory_order_acquire);
    return state != CUDA_ABSENT && state != CUDA_OVER && agent_attached() && cuda.pid == agent.pid;
}

/* Brackets work that the agent does in a thread of the program, under `switching`: hooks do not record it, and threads
 * that are created meanwhile count as the agent's. */
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
int cuda_lock_within(_Atomic uint32_t *lock, int patience_ms); /* sets it from 0 to 1: 1, or 0 if that takes too long */
int cuda_lock(void);                                           /* the same of `switching` */
void cuda_unlock(void);
void cuda_enable_unified_memory(void);    /* if the capture records it; CUPTI refuses before the first context */
void cuda_follow(int is_own_thread);      /* recording was switched on or off: changes what is enabled */
int cuda_is_awaited(void);                /* recording is off, and may begin in this process */
const char *cuda_sentence_of(int result); /* what CUPTI's result means, for the user */
const char *cuda_counters_sentence_of(int result); /* the same, of calls that read hardware counters */
void cuda_stop_for_good(void);                     /* disables everything and unsubscribes; under the lock */
void cuda_callbacks_changed(void);                 /* the agent's thread enables and disables callbacks anew */
struct cuda_note {
    uint16_t type, a, b;
    uint16_t word_count;
    const uint64_t *words;
    const char *text;
};
void cuda_emit(const struct cuda_note *note); /* from a thread of the program or of the agent */

/* ---- cupti_library.c ------------------------------------------------------------------------------------------- */
const char *cuda_library_load(void); /* sets library, cupti, driver, path, version of `cuda`: NULL, or a sentence */
void *cuda_library_function(const char *name); /* of the CUPTI in use, by the agent or the program; NULL: none */

/* ---- cuda_api.c ------------------------------------------------------------------------------------------------ */
struct cuda_api {
    uint8_t known, chosen, wait, range; /* wait: enum cuda_wait_kind; range: 1 begins, 2 ends one */
    uint8_t group, per_thread;
    uint8_t unloads;                    /* the names of kernels go away with this call */
    uint8_t launch;                     /* enum cuda_launch_kind */
    _Atomic uint8_t called_back;        /* its callback is enabled */
    uint8_t of_cupti;                   /* CUPTI makes this call at each launch, to get the name: the program did not */
    uint8_t refused;                    /* CUPTI refused to write its records */
    uint8_t round;                      /* number of times that its callback was disabled */
    _Atomic uint32_t inside;            /* number of threads that are in such a call, of those with a callback */
};
#define CUDA_API_MAX 1536u             /* callback ids of a domain */
extern struct cuda_api cuda_apis[2][CUDA_API_MAX]; /* by enum cuda_domain */
void cuda_api_learn(void);                         /* once: reads the names and what they mean */
void cuda_api_records(int on);                     /* chosen calls, recorded by CUPTI where that works */
enum cuda_stage cuda_api_last_stage(void);         /* the final stage of a capture: all calls, or the chosen ones */
void cuda_api_callbacks(enum cuda_stage stage);    /* enables the callbacks of this stage, and disables the others */
/* By callbacks: a call begins, and ends. */
void cuda_api_entered(enum cuda_domain domain, uint32_t id, const struct cupti_call *call);
void cuda_api_left(enum cuda_domain domain, uint32_t id, const struct cupti_call *call);
void cuda_api_forget_callbacks(void);             /* CUPTI has disabled all of them with the subscription */
int cuda_api_is_ours(const struct cuda_api *api); /* true if the agent writes the record of this call */

/* ---- cuda_callbacks.c ------------------------------------------------------------------------------------------ */
void cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data);
void cuda_events_enable(int on);                           /* callbacks on contexts, streams and modules */
#define CUDA_CONTEXTS_MAX 64u
uint32_t cuda_contexts(void *contexts[CUDA_CONTEXTS_MAX]); /* fills in the live contexts and returns their number */

/* ---- cuda_buffers.c -------------------------------------------------------------------------------------------- */
int cuda_buffers_attach(struct wire_header *arena, int descriptor, enum wire_origin origin);
void cuda_buffer_wanted(uint8_t **buffer, size_t *bytes, size_t *most_records);
void cuda_buffer_done(void *context, uint32_t stream_id, uint8_t *buffer, size_t bytes, size_t valid_bytes);
int cuda_buffers_older_than(uint64_t ns); /* true if CUPTI has had a buffer for this long */
void cuda_buffers_prepare(void);          /* maps pages for the buffers that will be lent next */
void cuda_buffers_count_lost(void);       /* at the end: records in emergency buffers that CUPTI did not return */
void cuda_buffers_tell_names(void);       /* at the end: copies texts for records in buffers that CUPTI still has */

/* ---- cuda_texts.c ---------------------------------------------------------------------------------------------- */
int cuda_names_prepare(void);
void cuda_name_text(const char *text); /* a text that a record points to */
void cuda_name_add(enum wire_cuda_name what, uint64_t key, const char *text);
void cuda_names_forget(void);          /* a module is being unloaded: its pointers may get another meaning */

/* ---- cuda_thread.c --------------------------------------------------------------------------------------------- */
int cuda_thread_start(void); /* 0, or -1; the caller has blocked the program's signals */
/* Bracket calls that may start threads, of the agent or of CUPTI: those inherit the mask and leave the program's
 * signals to its own threads. */
void cuda_block_signals(sigset_t *before);
void cuda_restore_signals(const sigset_t *before);
void cuda_thread_wake(void);
uint64_t cuda_stat_number(const char *path, int index, char *state); /* a word of /proc/…/stat after the name; or 0 */
void cuda_thread_finish(uint64_t patience_ns); /* the last flush; returns when it is done, or after patience_ns */

/* ---- cuda_exit.c ----------------------------------------------------------------------------------------------- */
void cuda_flush(void);         /* waits for the GPU, and for CUPTI to hand over its records; two seconds at most */
void cuda_exit(void);          /* the same, because the process ends */
void cuda_exit_register(void); /* the flush at exit() runs before all handlers that were registered until now */
void cuda_exit_flushed(void);  /* what is left to do after the last flush */

/* ---- cuda_modules.c -------------------------------------------------------------------------------------------- */
void cuda_modules_enable(void); /* for as long as the subscription lasts: modules are loaded before a capture, too */
void cuda_module_loaded(const struct cupti_module_data *module);

/* ---- cuda_cubin_parts.c ---------------------------------------------------------------------------------------- */
struct cuda_code;
void cuda_cubin_loaded(const struct cupti_module_data *module, const struct cuda_code *code);

/* ---- cuda_pc_sampling.c ---------------------------------------------------------------------------------------- */
int cuda_pc_wanted(void);                      /* the capture asks for it, and CUPTI has not refused */
void cuda_pc_context_created(void *context, uint32_t id, uint32_t device);
void cuda_pc_context_destroyed(void *context); /* it will be: the last moment to fetch its samples */
void cuda_pc_record(int on);                   /* recording begins or ends */
void cuda_pc_fetch(void);                      /* takes the samples that CUPTI has */
void cuda_pc_finish(void);                     /* the same, and those that the GPU still has */
int cuda_pc_crc(const struct cupti_module_data *module, uint64_t *crc); /* the name of its cubin in samples; 0 or -1 */

/* ---- cuda_counters.c ----------------------------------------------------------------------------------------- */
/* True while launches may still be counted. */
int counters_are_wanted(void);

/* True then, and until the profiler is disabled: launches of graphs must not meet it. */
int counters_are_in_use(void);

/* Called at the entry and at the exit of every launch. */
void counters_enter(enum cuda_launch_kind kind, const struct cupti_call *call);
void counters_leave(enum cuda_launch_kind kind, const struct cupti_call *call);

/* No kernel is counted until counters_release(), unless it says that one is being counted for longer than this. */
enum counters_hold { COUNTERS_IDLE, COUNTERS_HELD, COUNTERS_BUSY };
enum counters_hold counters_hold(int patience_ms);
void counters_release(void);

/* The context is about to be destroyed. */
void counters_context_ends(void *context);

/* Recording ends, or the process does: hands over what has been counted. */
void counters_finish(void);

/* ---- cuda_range.c ---------------------------------------------------------------------------------------------- */
void cuda_range_begin(void); /* the program has called cuProfilerStart() or a variant of it */
void cuda_range_end(void);

#endif
