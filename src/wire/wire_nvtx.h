/* Bodies of the NVTX records that describe payloads, scopes and counters; `a` is the domain in all of them.
 *
 * A schema or enum is told as one head record and one record for each entry, in any order. Static ids (below 2^32) are
 * the program's and unique in their domain; the agent gives the others, unique in the process. Types and flags are
 * NVTX's own numbers. Text stands last; where a record has two texts, the first ends at its NUL. */
#ifndef TACHO_WIRE_WIRE_NVTX_H
#define TACHO_WIRE_WIRE_NVTX_H

#include <stdint.h>

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
 * detail: array length, index of the entry with the length, or of the selector of a union */
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

/* WIRE_NVTX_SAMPLE: flags say which; body: [counter id] and then [value], [reason], or [bytes] and the bytes, padded */
enum wire_sample { WIRE_SAMPLE_INT64 = 1, WIRE_SAMPLE_DOUBLE, WIRE_SAMPLE_BYTES, WIRE_SAMPLE_NO_VALUE };

/* WIRE_NVTX_BINARY: [schema id][bytes of the payload] then as many of the bytes as the record holds (the rest
 * was cut). flags: WIRE_NVTX_HAS_BINARY when another one follows for the same event. With WIRE_BINARY_POINTED
 * the first word is not a schema but an offset into the payload before it, where there is a pointer, and the
 * bytes are what it points to. */
#define WIRE_BINARY_POINTED 1

/* WIRE_NVTX_SYNC: flags say which; `a` is the domain; body: [handle], on creation followed by text: the name */
enum wire_sync {
    WIRE_SYNC_CREATE = 1,
    WIRE_SYNC_DESTROY,
    WIRE_SYNC_ACQUIRE_START,
    WIRE_SYNC_ACQUIRE_FAILED,
    WIRE_SYNC_ACQUIRE_SUCCESS,
    WIRE_SYNC_RELEASING,
};

/* The size of a value of one of NVTX's own types, 0 for those that have none (strings in place, schemas, unknown ones).
 * Both architectures are LP64 with 16-byte long doubles; alignment is the size. */
static inline uint32_t wire_type_size(uint64_t type)
{
    static const uint8_t sizes[] = {
        0,        1,         1,        2,        2,        4,        4,        8, 8, 8, 8, /* char to unsigned long long
                                                                                            */
        1,        1,         2,        2,        4,        4,        8,        8,          /* int8 to uint64 */
        4,        8,         16,       8,        8,        4,        1,        2, 4, 0, 0, 0,
        0, /* float, double, long double, size, address,
            * wide and sized characters */
        1,        16,        16,       0,        0,        0,        0,        0, 0, 0, /* 32: byte, int128, uint128 */
        2,        4,         8,        16,       0,        0,        0,        0, 2, 0, 4, /* 42: float16 to float128;
                                                                                              50: bf16; 52: tf32 */
        [68] = 4, [69] = 4,  [70] = 8, [71] = 4, [72] = 8, [73] = 4, [74] = 8, /* category, colour, scope, pid, tid */
        [80] = 8, [100] = 4,                                                   /* registered string, union selector */
    };
    return type < sizeof sizes ? sizes[type] : 0;
}

/* Flags of schema entries, and the types and ids with a meaning of their own: NVTX's numbers. */
enum wire_entry_flag {
    WIRE_ENTRY_POINTER = 1 << 1,
    WIRE_ENTRY_FROM_BASE = 1 << 2,
    WIRE_ENTRY_FROM_HERE = 1 << 3,
    WIRE_ENTRY_ARRAY = 7 << 4, /* one of the next four */
    WIRE_ENTRY_FIXED = 1 << 4,
    WIRE_ENTRY_ZERO_TERMINATED = 2 << 4,
    WIRE_ENTRY_LENGTH_INDEX = 3 << 4,
    WIRE_ENTRY_PAYLOAD_INDEX = 4 << 4,
    WIRE_ENTRY_DEEP_COPY = 1 << 8,
    WIRE_ENTRY_HIDE = 1 << 9,
    WIRE_ENTRY_MEANING = 3 << 10,
    WIRE_ENTRY_MESSAGE = 1 << 10,
    WIRE_ENTRY_TIMESTAMP = 2 << 10,
};
enum wire_entry_type {
    WIRE_TYPE_CATEGORY = 68,
    WIRE_TYPE_COLOR = 69,
    WIRE_TYPE_CSTRING = 75,
    WIRE_TYPE_UTF8,
    WIRE_TYPE_UTF16,
    WIRE_TYPE_UTF32,
    WIRE_TYPE_REGISTERED = 80,
    WIRE_TYPE_SELECTOR = 100,
    WIRE_TYPE_REFERENCED = 1022,
    WIRE_TYPE_RAW = 1023,
};
enum wire_schema_type { WIRE_SCHEMA_STATIC = 1, WIRE_SCHEMA_DYNAMIC, WIRE_SCHEMA_UNION, WIRE_SCHEMA_UNION_INTERNAL };

static inline int wire_is_string(uint64_t type)
{
    return type >= WIRE_TYPE_CSTRING && type <= WIRE_TYPE_UTF32;
}
static inline uint32_t wire_character_size(uint64_t type)
{
    return type == WIRE_TYPE_UTF16 ? 2 : type == WIRE_TYPE_UTF32 ? 4 : 1;
}
/* The entry's place in the payload holds a pointer: a string without any length is one too. */
static inline int wire_is_pointer(uint64_t type, uint64_t flags, uint64_t detail)
{
    return (flags & WIRE_ENTRY_POINTER) || (wire_is_string(type) && !(flags & WIRE_ENTRY_ARRAY) && detail == 0);
}

/* WIRE_NVTX_RESOURCE with this flag: destroyed; body: [identifier][handle] */
#define WIRE_RESOURCE_DESTROYED 128

#endif
