/* Copies from the host to GPUs, each with the code that makes it: what rules on copies and on waits share. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_COPIES_H
#define TACHO_ANALYZE_ADVICE_ADVICE_COPIES_H

#include "advice_operators.h"
#include "adviser.h"

struct advice_copy {
    uint32_t work, call;
    int64_t bytes;
    int64_t from_ns, to_ns; /* of its operator, or of its call */
    int64_t made_ns;        /* start of the operator that made its memory on the CPU right before; from_ns: none */
    uint32_t first, run;    /* the first copy of its run, and how many that has: no other work was launched between */
    int is_part;            /* a tensor was split on the CPU right before its run */
};

/* Starts from {0}. */
struct advice_copies {
    struct advice_copy *list; /* owned; by thread, then by time */
    size_t count, room;
};

/* Reads the copies to GPUs that rules change. Needs advice_copies_free() after an error too. */
int advice_copies_read(struct advice_copies *copies, struct adviser *adviser, struct error *err);
void advice_copies_free(struct advice_copies *copies);

/* Whether a call waits for a copy to the GPU that it made, or that the operator around it made. The operators are those
 * around the start of the call. */
int advice_waits_for_copy(const struct replay_events *events, const struct advice_operators *operators, uint32_t call);

/* The bytes of each copy of the report. */
int advice_copy_bytes(struct adviser *adviser, struct report_columns *out, struct error *err);
static inline int64_t advice_bytes_of(const struct replay_events *events, const struct report_columns *bytes,
                                      const struct replay_work *work)
{
    size_t row = work->at - events->first_at[REPLAY_COPY];

    return row < bytes->rows && bytes->values[0][row] > 0 ? bytes->values[0][row] : 0;
}

/* How fast copies of pinned memory are. */
struct advice_copy_rate {
    double bytes_ns;
    const char *source; /* "measured", or the bus */
};
int advice_pinned_rate(struct adviser *adviser, const struct report_columns *bytes, enum replay_engine engine,
                       struct advice_copy_rate *out, struct error *err);
/* "pinned memory 55 GB/s (PCIe 5)" */
void advice_rate_text(struct text *out, const struct advice_copy_rate *rate);

/* Add edits: a copy takes this time instead, or is gone and leaves no gap. ERR_NO_MEMORY or 0. */
int advice_shorten_copy(const struct replay *replay, struct replay_edits *edits, uint32_t work, int64_t run_ns);
int advice_remove_copy(const struct replay *replay, struct replay_edits *edits, uint32_t work);

#endif
