/* Records of OpenMP: begins and ends of constructs in one thread, and moments. The collector pairs them. */
#ifndef TACHO_WIRE_WIRE_OPENMP_H
#define TACHO_WIRE_WIRE_OPENMP_H

#include "wire.h"

#define WIRE_OPENMP_FILE "libtacho-openmp.so" /* the library with the names that OpenMP programs and runtimes look up */

enum wire_openmp_type {
    /* flags: enum wire_openmp_event; a: its kind, a value of OMPT; b: the thread's number in its team, of an implicit
     * task; body: [parallel region][task][address that the runtime returns to][event's own: the team's threads
     * (TASK), lock, amount of work, new or next task, number of the thread].
     * A CRITICAL_SECTION that begins also ends the wait for its lock. */
    WIRE_OPENMP_BEGIN = WIRE_FIRST_OPENMP,
    /* flags: as above; body: [parallel region (PARALLEL), task (TASK) or lock (CRITICAL_SECTION); else 0] */
    WIRE_OPENMP_END,
    WIRE_OPENMP_POINT, /* as WIRE_OPENMP_BEGIN */
};
WIRE_TYPES_END_AT(OPENMP, WIRE_OPENMP_POINT);

#define WIRE_OPENMP_BODY 4u

enum wire_openmp_event {
#define OPENMP_EVENT(id, ...) WIRE_OPENMP_##id,
#include "openmp_events.def"
#undef OPENMP_EVENT
    WIRE_OPENMP_EVENTS
};

/* Tasks are numbers that also say which kind they are: an implicit task has its region and the number of its thread in
 * it, an explicit one counts up. 0: unknown. */
#define WIRE_OPENMP_IMPLICIT 1u
static inline uint64_t wire_openmp_implicit_task(uint64_t region, uint32_t index)
{
    return (region << 16 | (index & 0xffff)) << 1 | WIRE_OPENMP_IMPLICIT;
}
static inline int wire_openmp_is_implicit(uint64_t task)
{
    return task & WIRE_OPENMP_IMPLICIT;
}
static inline uint64_t wire_openmp_region_of(uint64_t implicit_task)
{
    return implicit_task >> 17;
}

enum wire_openmp_detail {
    WIRE_OPENMP_DETAIL_DISPATCH = 1,
    WIRE_OPENMP_DETAIL_FLUSH = 2,
};

struct wire_openmp_shared {
    _Alignas(64) uint32_t details; /* enum wire_openmp_detail: frequent events, recorded only on request */
    /* Shorter waits for locks are only counted, and the times that locks are held are not recorded; 0: all are. */
    uint64_t lock_wait_ticks;
};
WIRE_SHARED(OPENMP, struct wire_openmp_shared, wire_openmp)

#endif
