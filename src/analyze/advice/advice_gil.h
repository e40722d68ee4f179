/* When a thread waited for Python's GIL, and which thread held it, as samples show. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_GIL_H
#define TACHO_ANALYZE_ADVICE_ADVICE_GIL_H

#include "report/reader/reader.h"

struct gil_wait {
    int64_t thread, holder; /* of the same process */
    int64_t start_ns, end_ns;
};
/* Starts from {0}. */
struct gil_waits {
    struct gil_wait *list; /* owned; by thread, then by time */
    size_t count, room;
};

/* Reads the samples; a report without any has no waits. gil_waits_free() is safe after an error. */
int gil_waits_read(struct gil_waits *waits, struct report *report, struct error *err);
void gil_waits_free(struct gil_waits *waits);

/* The first wait of a thread that ends after this time, or the first one of a later thread. */
size_t gil_waits_from(const struct gil_waits *waits, int64_t thread, int64_t time_ns);

#endif
