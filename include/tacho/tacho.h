/* Tacho's control interface: calls by which a program controls the profiler that it runs under.
 *
 * Without a profiler every call is one load and one branch. C and C++; with Tacho unpacked or installed in $TACHO:
 *
 *     cc program.c -I$TACHO/include -L$TACHO/lib -Wl,-rpath,$TACHO/lib -ltacho
 *     cc program.c $(PKG_CONFIG_PATH=$TACHO/lib/pkgconfig pkg-config --cflags --libs tacho)
 *
 * Other languages load libtacho.so and call the same functions: ctypes.CDLL("libtacho.so").tacho_start().
 * <tacho/report.h> reads reports; docs/api.md has more explanations and whole examples. */
#ifndef TACHO_TACHO_H
#define TACHO_TACHO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TACHO_API_VERSION 2 /* 1 ended with tacho_profiled() */

/* The functions are inline here, and real ones in libtacho.so for programs that take their address or look them up. */
#if defined(__GNUC_GNU_INLINE__) && !defined(__cplusplus)
#define TACHO_INLINE extern inline /* -std=gnu89 */
#else
#define TACHO_INLINE inline
#endif

/* The functions of the agent. `size` grows with later versions; a member may be used only if size covers it, which the
 * functions below check. */
struct tacho_calls {
    size_t size;
    void (*start)(void);
    void (*stop)(void);
    void (*step)(void);
    void (*mark)(const char *text);
    void (*push)(const char *text);
    void (*pop)(void);
    int (*recording)(void);
    int (*flush)(void);
    const char *(*report)(void);
    unsigned (*choose)(unsigned what);
    unsigned long (*module_begin)(const char *name); /* for the Python package: a call of an nn.Module, "Class_N" */
    void (*module_end)(unsigned long call);          /* call: the result of module_begin(), unless that was 0 */
    const unsigned *modules; /* calls of modules to report now: 0 none, 1 all, 2 those that are not inside another */
    unsigned long (*event_begin)(void); /* for the Python package: the time, or 0 if nothing is being recorded */
    void (*event_end)(unsigned long begun, unsigned kind, const char *fields); /* as in the agent's wire_torch.h */
};

/* What a program can choose with tacho_choose(). */
enum tacho_choice {
    TACHO_CUDA = 1,
    TACHO_TORCH_SHAPES = 2,  /* PyTorch operators: the shapes of their inputs */
    TACHO_TORCH_MEMORY = 4,  /* PyTorch operators: the memory that they allocate and free */
    TACHO_TORCH_STACKS = 8,  /* PyTorch operators: the Python frames that they are called from */
    TACHO_TORCH_MODULES = 16 /* PyTorch modules, if the Python package reports them */
};

/* NULL when the program is not being profiled. Use it through the functions below. */
extern const struct tacho_calls *tacho_calls;

/* Starts recording. With `tacho profile -c api` nothing is recorded before the first call; other processes of the
 * capture follow within some milliseconds. Safe in any thread, also when recording is on already. */
TACHO_INLINE void tacho_start(void);

/* Stops recording until the next tacho_start(). Recorded events are kept. With `tacho profile -c api` this ends the
 * capture range, and --capture-range-end says what happens then: by default the capture is over and the program is
 * ended with SIGTERM (stop-shutdown); with =stop the program runs on unrecorded; with =repeat the next tacho_start()
 * records again. */
TACHO_INLINE void tacho_stop(void);

/* Ends one step (iteration) of the program's main loop and begins the next. Steps become ranges called "step" in the
 * NVTX domain "tacho", numbered from 0 by their int64 payload. The first call begins step 0. */
TACHO_INLINE void tacho_step(void);

/* Records a mark with this name. The text is copied. */
TACHO_INLINE void tacho_mark(const char *text);

/* Begins a range with this name on this thread, until the matching tacho_pop(). Ranges nest. The text is copied. */
TACHO_INLINE void tacho_push(const char *text);

TACHO_INLINE void tacho_pop(void);

/* True if the program is being profiled. */
TACHO_INLINE int tacho_profiled(void);

/* True if recording is on in this process. */
TACHO_INLINE int tacho_recording(void);

/* Waits until the report has all events that were recorded before, those of the GPU too; a report can be read while it
 * grows. 0, or a negative errno: the profiler did not answer. Takes milliseconds, and longer while a GPU is at work. */
TACHO_INLINE int tacho_flush(void);

/* The path of the report that is being written; NULL when the program is not being profiled. */
TACHO_INLINE const char *tacho_report_path(void);

/* Chooses what is recorded in this process and in the children that it forks from now on: a sum of values of enum
 * tacho_choice. All others are left out. CUDA follows at the next tacho_start(), and is never recorded if `tacho
 * profile` was not asked for it. The choices for PyTorch take effect at once, for operators that begin afterwards, even
 * if `tacho profile` was not asked for them; but they need a capture that records operators. Returns the previous
 * choice; at first that is what `tacho profile` was asked for. Safe in any thread. */
TACHO_INLINE unsigned tacho_choose(unsigned what);

/* The version of the library, as "0.1.0". */
const char *tacho_version(void);

TACHO_INLINE void tacho_start(void)
{
    if (tacho_calls)
        tacho_calls->start();
}

TACHO_INLINE void tacho_stop(void)
{
    if (tacho_calls)
        tacho_calls->stop();
}

TACHO_INLINE void tacho_step(void)
{
    if (tacho_calls)
        tacho_calls->step();
}

TACHO_INLINE void tacho_mark(const char *text)
{
    if (tacho_calls)
        tacho_calls->mark(text);
}

TACHO_INLINE void tacho_push(const char *text)
{
    if (tacho_calls)
        tacho_calls->push(text);
}

TACHO_INLINE void tacho_pop(void)
{
    if (tacho_calls)
        tacho_calls->pop();
}

TACHO_INLINE int tacho_profiled(void)
{
    return tacho_calls != NULL;
}

/* An agent of an older version lacks members that came later. */
#define TACHO_HAS(member) (tacho_calls && tacho_calls->size > offsetof(struct tacho_calls, member))

TACHO_INLINE int tacho_recording(void)
{
    return TACHO_HAS(recording) ? tacho_calls->recording() : 0;
}

TACHO_INLINE int tacho_flush(void)
{
    return TACHO_HAS(flush) ? tacho_calls->flush() : 0;
}

TACHO_INLINE const char *tacho_report_path(void)
{
    return TACHO_HAS(report) ? tacho_calls->report() : NULL;
}

TACHO_INLINE unsigned tacho_choose(unsigned what)
{
    return TACHO_HAS(choose) ? tacho_calls->choose(what) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
