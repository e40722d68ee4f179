/* Events that happened but are not in the report: their counts, by source and cause. */
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
    uint64_t processes;             /* processes that were not recorded: their events are not in the total */
};

/* Whether this is a loss of whole processes. */
int loss_is_of_processes(const struct loss *loss);

/* A report without these counts has no losses. */
int losses_read(struct losses *losses, struct report *report, struct error *err);

#endif
