/* The recorded time: the spans in which a capture recorded, from TACHO_RANGE. Every figure that is a share of "the time
 * recorded" takes it from here, so that a capture with a range says the same as that span of a whole capture. */
#ifndef TACHO_ANALYZE_MODEL_RECORDED_H
#define TACHO_ANALYZE_MODEL_RECORDED_H

#include "report/reader/reader.h"

struct recorded {
    struct report_span *spans; /* owned; by start; they do not touch. None: the report does not say (an import) */
    size_t count;
    int is_part; /* the user chose them: by a range, a delay, or a cut of a report; else recording was on from the start
                  * of the capture */
};

/* A set has the spans in which any of its reports recorded. A span without an end lasts to the last event. After
 * an error there is nothing to free. */
int recorded_read(struct recorded *recorded, struct report *report, struct error *err);
void recorded_free(struct recorded *recorded);

/* The recorded part of the time from one point to another; all of it where the report does not say. */
int64_t recorded_within(const struct recorded *recorded, int64_t from_ns, int64_t to_ns);
/* All of it: the sum of the spans. */
int64_t recorded_time(const struct recorded *recorded);

#endif
