/* NVTX ranges thread by thread, outer before inner, as nesting and the joins with CUDA calls need them. */
#ifndef TACHO_ANALYZE_MODEL_RANGES_H
#define TACHO_ANALYZE_MODEL_RANGES_H

#include "filter.h"
#include "nvtx_domains.h"

/* Styles, to be combined; CROSSING: also start/end ranges that end in another thread than they began in. */
enum { RANGE_PUSHPOP = 1, RANGE_STARTEND = 2, RANGE_CROSSING = 4 };
/* PUSHPOP or STARTEND; 0 for an event that is no range. */
static inline int range_style(int64_t event_type)
{
    switch (event_type) {
    case EVENT_NVTX_PUSHPOP:
    case EVENT_NVTXT_PUSHPOP: return RANGE_PUSHPOP;
    case EVENT_NVTX_STARTEND:
    case EVENT_NVTXT_STARTEND: return RANGE_STARTEND;
    default: return 0;
    }
}

enum { NO_RANGE = UINT32_MAX };

struct range {
    int64_t start_ns, end_ns, thread;
    int64_t name, domain; /* string ids, or NVTX_NO_NAME */
    uint32_t row;         /* in NVTX_EVENTS */
    uint32_t style;
    uint32_t parent;      /* after ranges_nest(): index of the enclosing range, or NO_RANGE */
    uint32_t level, children;
};

struct ranges {
    struct range *list; /* owned; by thread, then by start, the longer one first */
    size_t count;
};

/* Reads the ranges of these styles that pass the filter. Without RANGE_CROSSING, ranges that end in another thread are
 * ignored, as they belong to none. Ranges without an end last until the last time in the table. */
int ranges_read(struct ranges *ranges, struct report *report, int styles, const struct filter *filter,
                struct error *err);
/* The same for ranges with certain names only, for callers that need a few among many. */
struct range_names {
    int (*is_wanted)(void *context, int64_t name);
    void *context;
};
int ranges_read_named(struct ranges *ranges, struct report *report, int styles, const struct filter *filter,
                      const struct range_names *names, struct error *err);
void ranges_free(struct ranges *ranges);

/* Finds each range's parent in its thread, by times only and across domains, as nsys does. */
void ranges_nest(struct ranges *ranges);

/* ":2:3:7", the ids of the ranges around one and its own, outermost first; rows count from 1 there. A stack that is
 * very deep shows its innermost ranges only. */
void range_stack(struct text *out, const struct ranges *ranges, const struct range *range);
enum { RANGES_DEEPEST_SHOWN = 1000 };

const char *range_style_name(uint32_t style);

/* "domain:text", or "" for no range. */
void range_label(struct text *out, struct report *report, const struct range *range);

#endif
