/* The schemas and enums that a process has registered, which describe its payloads. All their numbers are checked. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_SCHEMA_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_SCHEMA_H

#include "nvtx_state.h"

#define NVTX_ENTRIES_MAX 4096u

struct nvtx_entry {
    uint64_t flags, type, detail, offset; /* of an enum: detail is the value, flags 1 for a flag */
    char *name;                           /* NULL: not read yet */
};

struct nvtx_schema {
    uint8_t is_enum, has_head;
    uint64_t type, size, align;
    uint32_t count, seen; /* entries that the head announces; entries that have come */
    struct nvtx_entry *entries;
    size_t capacity;
};

/* Returns the schema or enum with this id; NULL if not all of it is known. */
const struct nvtx_schema *nvtx_schema_find(const struct nvtx_process *process, uint32_t domain, uint64_t id);

#endif
