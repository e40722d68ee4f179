/* The owner of a CUDA call, for reports that do not record it: the innermost operator or range around the call in
 * its thread. */
#ifndef TACHO_EXPORT_TIMELINE_CALL_OWNERS_H
#define TACHO_EXPORT_TIMELINE_CALL_OWNERS_H

#include "analyze/model/calls.h"

enum { NO_ANNOTATION = UINT32_MAX };

/* A range of the user's with calls in it. */
struct call_owners_annotation {
    int64_t name, external; /* name: string id */
    uint32_t parent;        /* the annotation around it, or NO_ANNOTATION */
};

struct call_owners {
    struct calls calls;
    int64_t *external;      /* owned; by call: the external id of its operator, or 0 */
    unsigned char *pointed; /* owned; by call: 1 once an arrow begins at it */
    uint32_t *annotation;   /* owned; by call: the innermost annotation around it, or NO_ANNOTATION */
    struct call_owners_annotation *annotations; /* owned */
    size_t annotation_count;
};

int call_owners_read(struct call_owners *owners, struct report *report, struct error *err);
void call_owners_free(struct call_owners *owners);

/* External ids for these reports: those of row r of TACHO_TORCH_OP, and of NVTX_EVENTS. */
int64_t call_owners_operator_id(uint64_t row);
int64_t call_owners_range_id(struct report *report, uint64_t row);

#endif
