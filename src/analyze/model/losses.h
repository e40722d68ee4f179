/* What a report says of events that happened and are not in it. */
#ifndef TACHO_ANALYZE_MODEL_LOSSES_H
#define TACHO_ANALYZE_MODEL_LOSSES_H

#include "report/reader/reader.h"

enum { LOSSES_MAX = 64 };

struct losses {
    struct loss {
        const char *source, *cause; /* strings of the report */
        uint64_t count;
    } items[LOSSES_MAX];            /* one for each source and cause, none of them 0 */
    size_t count;
    uint64_t total;                 /* events */
    uint64_t processes;             /* that were not recorded: their events are not in the total */
};

/* Is this a loss of whole processes? */
int loss_is_of_processes(const struct loss *loss);

/* Nothing lost, where the report does not say. */
int losses_read(struct losses *losses, struct report *report, struct error *err);

#endif
