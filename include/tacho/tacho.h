/* Tacho's control interface: what a program may say to the profiler that it runs under.
 *
 * Without a profiler every call is one load and one branch. Link with -ltacho (libtacho.so); C and C++.
 * Reading reports is in <tacho/report.h>.                                                                           */
#ifndef TACHO_TACHO_H
#define TACHO_TACHO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TACHO_API_VERSION 1

/* What the agent offers. `size` grows with later versions; a caller uses a member only if size covers it, which the
 * functions below see to. */
struct tacho_calls {
    size_t size;
    void (*start)(void);
    void (*stop)(void);
    void (*step)(void);
    void (*mark)(const char *text);
    void (*push)(const char *text);
    void (*pop)(void);
};

/* NULL when the program is not being profiled. Read it through the functions below. */
extern const struct tacho_calls *tacho_calls;

/* Recording on. With `tacho profile -c api` nothing is recorded before the first call; other processes of the capture
 * follow within some milliseconds. Safe in any thread, also when recording is on already. */
static inline void tacho_start(void)
{
    if (tacho_calls)
        tacho_calls->start();
}

/* Recording off, until the next tacho_start(). What was recorded is kept. */
static inline void tacho_stop(void)
{
    if (tacho_calls)
        tacho_calls->stop();
}

/* One step (iteration) of the program's main loop ends here and the next begins: steps become ranges called "step" in
 * the NVTX domain "tacho", numbered from 0 by their int64 payload. The first call begins step 0. */
static inline void tacho_step(void)
{
    if (tacho_calls)
        tacho_calls->step();
}

/* A moment with a name. The text is copied. */
static inline void tacho_mark(const char *text)
{
    if (tacho_calls)
        tacho_calls->mark(text);
}

/* A range with a name on this thread, until the matching tacho_pop(). Ranges nest. The text is copied. */
static inline void tacho_push(const char *text)
{
    if (tacho_calls)
        tacho_calls->push(text);
}

static inline void tacho_pop(void)
{
    if (tacho_calls)
        tacho_calls->pop();
}

/* Is the program being profiled? */
static inline int tacho_profiled(void)
{
    return tacho_calls != NULL;
}

/* The version of the library, as "0.1.0". */
const char *tacho_version(void);

#ifdef __cplusplus
}
#endif

#endif
