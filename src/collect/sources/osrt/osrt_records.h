/* Records of OS calls to rows of OSRT_API.
 *
 * One struct osrt per capture, owned by the thread that owns the writer. The program can overwrite records at any
 * time: every word is read once and checked. */
#ifndef TACHO_COLLECT_SOURCES_OSRT_OSRT_RECORDS_H
#define TACHO_COLLECT_SOURCES_OSRT_OSRT_RECORDS_H

#include <stdint.h>

#include "collect/core/call_chains.h"
#include "collect/core/clock_map.h"
#include "report/writer/writer.h"
#include "wire/wire.h"
#include "wire/wire_osrt.h"

enum { OSRT_LOCKS_KNOWN = 64 };

struct osrt {
    struct writer *writer;
    const struct clock_map *clock;
    /* In the writer's string pool; 0: not needed yet. The last: of functions that are not known one by one. */
    int64_t name_ids[OSRT_FUNCTION_COUNT + 1];
    struct osrt_lock {
        const void *process;
        uint64_t address;
        int64_t chain;
    } locks[OSRT_LOCKS_KNOWN]; /* the last ones by address, as threads wait for the same ones again */
};

/* The writer and the clock must outlive it; nothing needs to be freed. */
void osrt_init(struct osrt *osrt, struct writer *writer, const struct clock_map *clock);

/* The name of a function in the report; of OSRT_FUNCTION_COUNT too, for functions that are not known one by one. */
int64_t osrt_name_id(struct osrt *osrt, uint32_t function);

/* Writes the row of a WIRE_OSRT_CALL with its call chains; the caller has checked `words`. 0, or -1 if it is
 * invalid. */
int osrt_record(struct osrt *osrt, int64_t global_tid, const struct wire_record *record, uint32_t words,
                struct call_chains chains);

/* The thread died, or the capture ended, inside a call (wire_thread.call_function, .call_ticks): writes a row that
 * ends at end_ns and is marked incomplete. 0, or -1 if the two values are invalid. */
int osrt_incomplete(struct osrt *osrt, int64_t global_tid, uint32_t function, uint64_t start_ticks, int64_t end_ns);

#endif
