/* The schemas and enums that a process has told of: what payloads are read by. Nothing here trusts their numbers. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_SCHEMA_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_SCHEMA_H

#include "nvtx_state.h"

#define NVTX_ENTRIES_MAX 4096u

struct nvtx_entry {
    uint64_t flags, type, detail, offset; /* of an enum: detail is the value, flags 1 for a flag */
    char *name;                           /* NULL: has not come yet */
};

struct nvtx_schema {
    uint8_t is_enum, has_head;
    uint64_t type, size, align;
    uint32_t count, seen; /* entries that the head announces; entries that have come */
    struct nvtx_entry *entries;
    size_t capacity;
};

/* The schema or enum with this id, all of it known; NULL if not. */
const struct nvtx_schema *nvtx_schema_find(const struct nvtx_process *process, uint32_t domain, uint64_t id);

#endif
