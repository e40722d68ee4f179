/* An area of the arena: a row of units of one size, mapped a window at a time (arena_window.h). */
#ifndef TACHO_AGENT_CORE_ARENA_AREA_H
#define TACHO_AGENT_CORE_ARENA_AREA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define AREA_WINDOWS 256u

struct area {
    uint32_t unit_bytes, count; /* of each unit; units that there are */
    uint32_t per_window;        /* a window of these has whole pages */
    uint32_t link;              /* where in a unit the link of its free list is */
    _Atomic uint32_t mapped;    /* units that can be reached now */
    int is_private;             /* memory of this process alone, not of the arena */
    struct area *twin;          /* an area whose units belong to these, by index: grows first; NULL: none */
    char *before;               /* a mapping that ends where the area begins… */
    size_t before_bytes;        /* …so long; NULL: the first window is there from the start */
    _Atomic(char *) windows[AREA_WINDOWS];
};

#endif
