/* The purpose of a CUDA call, by its name, where that is not the way to a launch. */
#ifndef TACHO_ANALYZE_REPLAY_CALL_USES_H
#define TACHO_ANALYZE_REPLAY_CALL_USES_H

enum call_use {
    USE_MEMORY, /* allocates, frees, maps or pins memory */
    USE_COPY,   /* copies or fills memory */
    USE_CODE,   /* loads, links or unloads code */
    USE_WAIT,   /* waits for a device, a stream or an event */
    USE_OTHER,  /* launches, and all other calls */
    CALL_USES
};
enum call_use call_use_of(const char *name);

#endif
