/* An area of the arena: a row of units of one size, mapped a window at a time (arena_window.h). */
#ifndef TACHO_AGENT_CORE_ARENA_AREA_H
#define TACHO_AGENT_CORE_ARENA_AREA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define AREA_WINDOWS 256u

struct area {
    uint32_t unit_bytes, count; /* size and number of units */
    uint32_t per_window;        /* units in a window, which is whole pages */
    uint32_t link;              /* offset of the free list's link in a unit */
    _Atomic uint32_t mapped;    /* number of units that are mapped */
    int is_private;             /* private memory of this process, not part of the arena */
    struct area *twin;          /* an area with a unit for each of these, by index: grows first; NULL: none */
    char *before;               /* a mapping that ends where the area begins; NULL: window 0 is mapped from the start */
    size_t before_bytes;        /* its size */
    _Atomic(char *) windows[AREA_WINDOWS];
};

#endif
