/* The GPU work that each process asked for, in the order of its calls: launches, copies, fills, graphs and waits, as
 * symbols. The same launch of the same kernel has the same symbol whenever it comes. */
#ifndef TACHO_ANALYZE_MODEL_STEPS_GPU_SEQUENCES_H
#define TACHO_ANALYZE_MODEL_STEPS_GPU_SEQUENCES_H

#include "loops.h"
#include "report/reader/reader.h"

enum sequence_kind {
    SEQUENCE_KERNEL,
    SEQUENCE_COPY,
    SEQUENCE_FILL,
    SEQUENCE_GRAPH,
    SEQUENCE_WAIT,
    SEQUENCE_RANGE, /* the start of an NVTX range */
    SEQUENCE_PAUSE, /* of the process between two calls */
    SEQUENCE_KINDS
};

/* Options: which calls a sequence contains, and which of them differ. */
enum {
    SEQUENCE_GRIDS = 1,      /* launches of a kernel with different grids differ, and fills of different lengths */
    SEQUENCE_ONE_THREAD = 2, /* only calls of the thread that made most */
    SEQUENCE_RANGES = 4,     /* also the starts of ranges, without the numbers in their names */
    SEQUENCE_PAUSES = 8,     /* also pauses, of 50 µs and ten times the median */
};

struct gpu_sequence {
    int64_t process;
    struct sequence sequence;
    /* owned memory behind the sequence */
    uint32_t *symbols;
    int64_t *start_ns, *end_ns;
    int64_t *work_ns; /* by place: of the GPU, for that call */
};

/* Starts from {0}. */
struct gpu_sequences {
    struct gpu_sequence *list; /* owned, as all here; one for each process that used a GPU, by process */
    size_t count, room;
    uint32_t *names;           /* by symbol, as both below */
    uint8_t *kinds, *roles;
};

/* The calls of all processes, read and put in order once. *out is to be closed; NULL after an error, which closing
 * accepts. */
struct gpu_launches;
int gpu_launches_open(struct gpu_launches **out, struct report *report, struct error *err);
void gpu_launches_close(struct gpu_launches *launches);

/* Whether a loop may be found in sequences of these contents that is not in those of SEQUENCE_GRIDS alone: 0 if both
 * are the same, but for a pause before all else. */
int gpu_launches_differ(const struct gpu_launches *launches, int contents);

/* Makes the sequences of all processes, which do not depend on the launches any more. */
int gpu_sequences_make(struct gpu_sequences *out, struct gpu_launches *launches, int contents, struct error *err);
void gpu_sequences_free(struct gpu_sequences *sequences);

const struct gpu_sequence *gpu_sequence_of(const struct gpu_sequences *sequences, int64_t process); /* or NULL */
enum sequence_kind gpu_sequence_kind(const struct gpu_sequences *sequences, uint32_t symbol);

/* The first place of a call that starts at this time or later. */
size_t gpu_sequence_from(const struct gpu_sequence *sequence, int64_t time_ns);

#endif
