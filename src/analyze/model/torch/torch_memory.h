/* Events of PyTorch's allocators or, if those were not recorded, of CUDA's: each with the operator that caused it, each
 * allocation with its end, and the peak of each device. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_TORCH_MEMORY_H
#define TACHO_ANALYZE_MODEL_TORCH_TORCH_MEMORY_H

#include "analyze/engine/keys.h"
#include "operators.h"

enum { NO_EVENT_INDEX = UINT32_MAX };
#define MEMORY_UNKNOWN INT64_MIN

struct torch_memory_event {
    int64_t time_ns, thread, address;
    int64_t bytes;               /* below 0: freed */
    int64_t allocated, reserved; /* on the device after it; reserved may be MEMORY_UNKNOWN */
    uint32_t place;
    uint32_t op;                 /* innermost in its thread, or NO_OPERATOR */
    uint32_t until;              /* of an allocation: the event that freed it, or NO_EVENT_INDEX */
};

/* A process's memory on one device. */
struct torch_memory_place {
    int64_t process, device_type, device; /* 0: CPU, 1: CUDA, as in PyTorch */
    int64_t peak_bytes;
    uint32_t peak;                        /* the event that led to it, or NO_EVENT_INDEX */
};

struct torch_memory {
    struct operators operators;        /* nested */
    struct torch_memory_event *list;   /* owned; in order of time */
    size_t count;
    struct torch_memory_place *places; /* owned */
    size_t place_count;
};

extern const char *const torch_memory_tables[]; /* for a list of needs */

int torch_memory_read(struct torch_memory *memory, struct report *report, const struct analysis_request *request,
                      struct error *err);
void torch_memory_free(struct torch_memory *memory);

/* Whether the event allocated memory that was still in use at its device's peak. */
int torch_memory_is_at_peak(const struct torch_memory *memory, size_t event);

/* "CPU", "CUDA 0" */
struct text;
void torch_memory_place_label(struct text *out, const struct torch_memory_place *place);

#endif
