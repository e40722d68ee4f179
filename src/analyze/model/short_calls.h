/* OS calls that were too short for rows of OSRT_API, from TACHO_SHORT_CALL: how many there were, and how long they
 * took. Nobody knows when they were, or which thread made them: in a part of a capture they do not count. */
#ifndef TACHO_ANALYZE_MODEL_SHORT_CALLS_H
#define TACHO_ANALYZE_MODEL_SHORT_CALLS_H

#include "analyze/engine/request.h"
#include "base/text.h"

struct short_call {
    int64_t process, image; /* the program: global id, and the number of the program in it */
    int64_t name;           /* of the function, in the string pool */
    int64_t count, failed, total_ns, bytes;
};

/* Starts from {0}. */
struct short_calls {
    struct short_call *list; /* owned; in the order of the table: rows of a program and function add up */
    size_t count, room;
};

int short_calls_read(struct short_calls *calls, struct report *report, struct error *err);
void short_calls_free(struct short_calls *calls);

/* Whether short calls belong to what is asked for: to all of the capture, or of one process. */
int short_calls_count(const struct short_call *call, const struct analysis_request *request);

/* Adds "1,766 × pwrite64 (802 µs), 40 × 3 others (12 µs)", the functions with most calls first. Nothing, if there are
 * no short calls. */
int short_calls_add_text(struct text *out, const struct short_calls *calls, struct report *report,
                         const struct analysis_request *request);

#endif
