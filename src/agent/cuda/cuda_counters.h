/* What the files that count single kernels share.
 *
 *     cuda_counters.c           launches: which are counted, in their callbacks; the end of counting
 *     cuda_counters_file.c      the collector's file, which says what is counted
 *     cuda_counters_image.c     images: the files that CUPTI counts into
 *     cuda_counters_profiler.c  CUPTI's range profiler: contexts, Start and Stop */
#ifndef TACHO_AGENT_CUDA_CUDA_COUNTERS_H
#define TACHO_AGENT_CUDA_CUDA_COUNTERS_H

#include "abi/cupti_profiler.h"
#include "cuda_agent.h"

enum { COUNTERS_PATH_BYTES = 320, COUNTERS_CONTEXTS_MOST = 16 };

struct counted_context {
    _Atomic(void *) handle; /* NULL: this place is free */
    void *profiler;
    struct counters_image { /* its profiler may still have them, until the next configuration */
        uint8_t *memory;    /* NULL: there is none */
        size_t bytes;
    } old, refused;         /* the one before, and one that CUPTI did not take */
};

/* What the collector's file says. Once it was read, only `ranges` changes: it is halved where an image is too large. */
struct counters_config {
    char folder[COUNTERS_PATH_BYTES];
    const char *chip;
    const char **metrics;
    size_t metric_count;
    const uint8_t *image; /* CUPTI's configuration */
    size_t image_bytes;
    uint32_t passes, ranges, replay;
    uint64_t until_ns;    /* 0: no limit */
    uint64_t most_bytes;  /* of all images of the session */
};

struct cuda_counters {
    _Atomic uint32_t choosing;       /* the filter and `uncounted` are in use: never for long */
    _Atomic uint32_t lock;           /* a launch is being counted, or what follows is being changed */
    _Atomic uint64_t owner;          /* of the lock: its tid, and when it took it; 0: none */
    _Atomic uint32_t turns;          /* how often it was released */
    _Atomic uint32_t is_launching;   /* a launch has the lock, and may enable the profiler */
    _Atomic uint32_t in_vain;        /* somebody waited for the lock for ten seconds, and it was not released since */
    _Atomic uint32_t is_lost;        /* CUPTI's objects may be gone: they are not touched any more */
    _Atomic uint32_t is_over;        /* refused, or all is counted */
    _Atomic uint32_t captures;       /* streams that are being captured into graphs: nothing is started or stopped */
    _Atomic uint32_t chosen;         /* launches that the filter wants and that have not been counted yet */
    _Atomic(void *) counted_context; /* from before Start to after Stop; NULL: no kernel is counted now */
    uint64_t uncounted[WIRE_UNCOUNTED_CAUSES];
    int is_read;                     /* the file was read */
    struct counters_config config;
    struct cupti_profiler cupti;

    struct counted_context contexts[COUNTERS_CONTEXTS_MOST];
    struct counted_context *now; /* the context of the image; NULL: there is none */
    int is_on;                   /* between Start and Stop */
    uint8_t *image;
    size_t image_bytes;
    uint32_t image_number;       /* no other image of the session has it */
    uint32_t used;               /* launches in it */
    uint64_t launches;
    uintptr_t frame;             /* of the callback of the launch that is being counted */
    struct wire_counted launch;  /* that launch */
};
extern struct cuda_counters counters;

/* A call of the range profiler, of the struct cupti_… that is its argument: CUPTI's result. */
#define COUNTERS_CALL(call, variable) counters_call(CUPTI_CALL_##call, &(variable))
static inline int counters_call(enum cupti_call_id call, void *arguments)
{
    return atomic_load(&counters.is_lost) ? CUPTI_RESULT_ERROR_INVALID_OPERATION
                                          : cupti_profiler_call(&counters.cupti, call, arguments);
}

/* ---- cuda_counters.c ----------------------------------------------------------------------------------------- */
void counters_give_up(void);                        /* no more launches are counted */
void counters_refuse(const char *what, int result); /* the same, with a sentence; the lock's owner then disables all */

/* ---- cuda_counters_file.c ------------------------------------------------------------------------------------ */
int counters_read_config(void); /* 0, or -1 */

/* ---- cuda_counters_image.c ----------------------------------------------------------------------------------- */
enum { COUNTERS_REFUSED = -1 };                            /* a sentence was said */
int counters_begin_image(struct counted_context *context); /* CUPTI's result, or COUNTERS_REFUSED */
void counters_end_image(void);                             /* stops, and reports to the collector what the image has */
void counters_drop_old_images(struct counted_context *context);

/* ---- cuda_counters_profiler.c -------------------------------------------------------------------------------- */
int counters_start(void *handle); /* what is launched next in this context is counted: 0, or -1 and a refusal */
int counters_stop(void);          /* CUPTI's result */
int counters_has_context(const void *handle);
void counters_disable(void *handle);
void counters_disable_all(void);

#endif
