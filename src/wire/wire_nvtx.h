/* Records of NVTX, and their bodies. `a` is the domain in all records that describe payloads, scopes and counters.
 *
 * A schema or an enum is one head record and one record for each entry, in any order. Static ids (below 2^32) come from
 * the program and are unique in their domain; the agent assigns the others, which are unique in the process. Types and
 * flags are NVTX's own numbers. Text comes last; where a record has two texts, the first ends at its NUL. */
#ifndef TACHO_WIRE_WIRE_NVTX_H
#define TACHO_WIRE_WIRE_NVTX_H

#include "wire.h"

enum wire_nvtx_type {
    /* Events of NVTX, and calls into libraries: those are push/pop ranges in the domains 1 to WIRE_LIBRARY_COUNT if
     * LIBRARY is among the sources. a: domain, 0 is the default domain; flags: enum wire_nvtx_flag, which say what the
     * body holds, in this order: [category | colour << 32][payload][registered string id] or text. Binary payloads
     * follow in a record of their own, WIRE_NVTX_BINARY. */
    WIRE_NVTX_MARK = WIRE_FIRST_NVTX,
    WIRE_NVTX_PUSH,     /* b: level */
    WIRE_NVTX_POP,      /* b: level; only if the push was recorded */
    WIRE_NVTX_START,    /* the body starts with [range id] */
    WIRE_NVTX_END,      /* body: [range id]; only if the start was recorded; any thread may write it */
    WIRE_NVTX_BINARY,   /* extended payload of the record before it: see below */
    WIRE_NVTX_DOMAIN,   /* body: text */
    WIRE_NVTX_DOMAIN_END,
    WIRE_NVTX_STRING,   /* body: [id] text; ids are unique in the process */
    WIRE_NVTX_CATEGORY, /* body: [id] text */
    WIRE_NVTX_THREAD,   /* body: [tid] text; a name for an OS thread */
    WIRE_NVTX_RESOURCE, /* flags: enum wire_resource; body: [identifier][handle] text */
    WIRE_NVTX_SCHEMA,   /* body: see below */
    WIRE_NVTX_SCHEMA_ENTRY,
    WIRE_NVTX_ENUM,
    WIRE_NVTX_ENUM_ENTRY,
    WIRE_NVTX_SCOPE,
    WIRE_NVTX_COUNTER,
    WIRE_NVTX_SAMPLE,
    WIRE_NVTX_SYNC, /* user synchronisation objects; flags: which call; body: [handle] text */
};
WIRE_TYPES_END_AT(NVTX, WIRE_NVTX_SYNC);

enum wire_nvtx_flag {
    WIRE_NVTX_HAS_CATEGORY = 1,
    WIRE_NVTX_HAS_COLOR = 2,
    /* Bits 2..4 are NVTX's payload type: 0 none, 1 u64, 2 i64, 3 double, 4 u32, 5 i32, 6 float. */
    WIRE_NVTX_PAYLOAD_SHIFT = 2,
    WIRE_NVTX_PAYLOAD_MASK = 7 << 2,
    WIRE_NVTX_REGISTERED = 32,
    WIRE_NVTX_HAS_TEXT = 64,
    WIRE_NVTX_HAS_BINARY = 128, /* a WIRE_NVTX_BINARY record follows */
};

enum wire_resource {
    WIRE_RESOURCE_GENERIC_POINTER = 1,
    WIRE_RESOURCE_GENERIC_HANDLE,
    WIRE_RESOURCE_GENERIC_THREAD,
    WIRE_RESOURCE_GENERIC_POSIX,
    WIRE_RESOURCE_CUDA_DEVICE,
    WIRE_RESOURCE_CUDA_CONTEXT,
    WIRE_RESOURCE_CUDA_STREAM,
    WIRE_RESOURCE_CUDA_EVENT,
    WIRE_RESOURCE_OTHER,
};

/* WIRE_NVTX_SCHEMA: [id][type][flags][number of entries][static size][alignment] text: the name */
enum {
    WIRE_SCHEMA_ID,
    WIRE_SCHEMA_TYPE,
    WIRE_SCHEMA_FLAGS,
    WIRE_SCHEMA_ENTRIES,
    WIRE_SCHEMA_SIZE,
    WIRE_SCHEMA_ALIGN,
    WIRE_SCHEMA_WORDS
};

/* WIRE_NVTX_SCHEMA_ENTRY: [schema id][index][flags][type][detail][offset] text: name, NUL, description
 * detail: length of an array, index of the entry that holds the length, or index of the selector of a union */
enum {
    WIRE_ENTRY_SCHEMA,
    WIRE_ENTRY_INDEX,
    WIRE_ENTRY_FLAGS,
    WIRE_ENTRY_TYPE,
    WIRE_ENTRY_DETAIL,
    WIRE_ENTRY_OFFSET,
    WIRE_ENTRY_WORDS
};

/* WIRE_NVTX_ENUM: [id][number of entries][size in bytes] text: the name */
enum { WIRE_ENUM_ID, WIRE_ENUM_ENTRIES, WIRE_ENUM_SIZE, WIRE_ENUM_WORDS };

/* WIRE_NVTX_ENUM_ENTRY: [enum id][index][value][1 if it is a flag] text: the name */
enum {
    WIRE_ENUM_ENTRY_ENUM,
    WIRE_ENUM_ENTRY_INDEX,
    WIRE_ENUM_ENTRY_VALUE,
    WIRE_ENUM_ENTRY_FLAG,
    WIRE_ENUM_ENTRY_WORDS
};

/* WIRE_NVTX_SCOPE: [id][parent] text: the path */
enum { WIRE_SCOPE_ID, WIRE_SCOPE_PARENT, WIRE_SCOPE_WORDS };

/* WIRE_NVTX_COUNTER: [id][schema id or type][scope] text: name, NUL, description */
enum { WIRE_COUNTER_ID, WIRE_COUNTER_SCHEMA, WIRE_COUNTER_SCOPE, WIRE_COUNTER_WORDS };

/* WIRE_NVTX_SAMPLE: the flags are an enum wire_sample; body: [counter id] and then [value], [reason], or [bytes] and
 * the bytes, padded */
enum wire_sample { WIRE_SAMPLE_INT64 = 1, WIRE_SAMPLE_DOUBLE, WIRE_SAMPLE_BYTES, WIRE_SAMPLE_NO_VALUE };

/* WIRE_NVTX_BINARY: [schema id][bytes of the payload] and as many of these bytes as the record holds; a long payload is
 * truncated. flags: WIRE_NVTX_HAS_BINARY when another record follows for the same event. With WIRE_BINARY_POINTED the
 * first word is not a schema but the offset of a pointer in the payload before it, and the bytes are its target. */
#define WIRE_BINARY_POINTED 1

/* WIRE_NVTX_SYNC: the flags are an enum wire_sync; `a` is the domain; body: [handle], for CREATE followed by text: the
 * name */
enum wire_sync {
    WIRE_SYNC_CREATE = 1,
    WIRE_SYNC_DESTROY,
    WIRE_SYNC_ACQUIRE_START,
    WIRE_SYNC_ACQUIRE_FAILED,
    WIRE_SYNC_ACQUIRE_SUCCESS,
    WIRE_SYNC_RELEASING,
};

/* WIRE_NVTX_RESOURCE with this flag says that the resource was destroyed; body: [identifier][handle] */
#define WIRE_RESOURCE_DESTROYED 128

struct wire_nvtx_shared {
    /* Texts. The name "default" means the default domain. */
    _Alignas(64) uint32_t domain_include;
    uint32_t domain_exclude;
    /* The range that begins a capture, and its domain: "*" means any domain, 0 the default one. */
    uint32_t capture_range, capture_domain;
    uint32_t launch_ranges; /* a list of rules: which launches are counted (agent/nvtx/nvtx_launch.c) */
};
WIRE_SHARED(NVTX, struct wire_nvtx_shared, wire_nvtx)

#endif
