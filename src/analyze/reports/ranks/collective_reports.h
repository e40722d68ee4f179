/* Shared by the reports on collectives. */
#ifndef TACHO_ANALYZE_REPORTS_RANKS_COLLECTIVE_REPORTS_H
#define TACHO_ANALYZE_REPORTS_RANKS_COLLECTIVE_REPORTS_H

#include "analyze/engine/analysis.h"
#include "analyze/model/ranks/collectives.h"

/* The tables that all of them need. */
extern const char *const collective_tables[];
#define COLLECTIVE_NEED { "collectives of MPI, NCCL or PyTorch", collective_tables }

/* The collectives that a request asks for, and room for the waits of any instance. */
struct collective_request {
    struct filter filter;
    struct collectives all;
    int64_t *waits; /* owned */
};
/* Closed by the caller after an error too. */
int collective_request_open(struct collective_request *request, struct report *report,
                            const struct analysis_request *asked, struct error *err);
void collective_request_close(struct collective_request *request);

#endif
