/* How busy the workers of a DataLoader were, as Python samples show: if they wait themselves, more of them do not
 * help. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_WORKERS_H
#define TACHO_ANALYZE_ADVICE_ADVICE_WORKERS_H

#include "report/reader/reader.h"

struct advice_workers {
    int64_t count;         /* processes; 0: not known */
    int64_t samples, busy; /* of their threads that make batches; busy: those in which they did not wait for an order */
};

/* Reads the samples of a span of time. A report without samples of workers has none. */
int advice_workers_read(struct advice_workers *workers, struct report *report, int64_t start_ns, int64_t end_ns,
                        struct error *err);

/* Whether they had hardly any time to wait: the loop waits because they are too slow, or too few. True if it is not
 * known. */
int advice_workers_are_busy(const struct advice_workers *workers);

#endif
