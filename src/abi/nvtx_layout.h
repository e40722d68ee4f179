/* Payloads of NVTX's extensions: the types and flags that describe an entry, in NVTX's own numbers, and the place of
 * the entry. What a schema leaves open follows C's rules: an entry without an offset comes at the next aligned place.
 *
 * The agent needs sizes while the program's memory is there, the collector needs offsets to decode the copy; both use
 * the functions below. All numbers come from the program and may have any value. */
#ifndef TACHO_ABI_NVTX_LAYOUT_H
#define TACHO_ABI_NVTX_LAYOUT_H

#include <stdint.h>

enum abi_entry_flag {
    ABI_ENTRY_POINTER = 1 << 1,
    ABI_ENTRY_FROM_BASE = 1 << 2,
    ABI_ENTRY_FROM_HERE = 1 << 3,
    ABI_ENTRY_ARRAY = 7 << 4, /* one of the next four */
    ABI_ENTRY_FIXED = 1 << 4,
    ABI_ENTRY_ZERO_TERMINATED = 2 << 4,
    ABI_ENTRY_LENGTH_INDEX = 3 << 4,
    ABI_ENTRY_PAYLOAD_INDEX = 4 << 4,
    ABI_ENTRY_DEEP_COPY = 1 << 8,
    ABI_ENTRY_HIDE = 1 << 9,
    ABI_ENTRY_MEANING = 3 << 10,
    ABI_ENTRY_MESSAGE = 1 << 10,
    ABI_ENTRY_TIMESTAMP = 2 << 10,
};
enum abi_entry_type {
    ABI_TYPE_CATEGORY = 68,
    ABI_TYPE_COLOR = 69,
    ABI_TYPE_CSTRING = 75,
    ABI_TYPE_UTF8,
    ABI_TYPE_UTF16,
    ABI_TYPE_UTF32,
    ABI_TYPE_REGISTERED = 80,
    ABI_TYPE_SELECTOR = 100,
    ABI_TYPE_REFERENCED = 1022,
    ABI_TYPE_RAW = 1023,
};
enum abi_schema_type {
    ABI_SCHEMA_TYPE_STATIC = 1,
    ABI_SCHEMA_TYPE_DYNAMIC,
    ABI_SCHEMA_TYPE_UNION,
    ABI_SCHEMA_TYPE_UNION_INTERNAL,
};

#define ABI_DYNAMIC_ID (UINT64_C(1) << 32) /* ids that a tool assigns start here; the program's own are lower */

/* A key for a schema or an enum: static ids are unique in their domain only, dynamic ids in the process. Ids below 2^24
 * are types, not schemas. */
static inline uint64_t abi_schema_key(uint32_t domain, uint64_t id)
{
    return id >= ABI_DYNAMIC_ID ? id : (uint64_t)(domain + 1) << 40 | id;
}

/* The size of a value of one of NVTX's own types; 0 for types without one (inline strings, schemas, unknown types).
 * Both architectures are LP64 with 16-byte long doubles; the alignment is the size. */
static inline uint32_t abi_type_size(uint64_t type)
{
    static const uint8_t sizes[] = {
        [1] = 1,   1,        2,  2,  4, 4, 8, 8, 8, 8, /* char to unsigned long long */
        [11] = 1,  1,        2,  2,  4, 4, 8, 8,       /* int8 to uint64 */
        [19] = 4,  8,        16,                       /* float, double, long double */
        [22] = 8,  8,                                  /* size, address */
        [24] = 4,  1,        2,  4,                    /* wide and sized characters */
        [32] = 1,  16,       16,                       /* byte, int128, uint128 */
        [42] = 2,  4,        8,  16,                   /* float16 to float128 */
        [50] = 2,  [52] = 4,                           /* bf16, tf32 */
        [68] = 4,  4,        8,  4,  8, 4, 8,          /* category, colour, scope, pid, tid */
        [80] = 8,                                      /* registered string */
        [100] = 4,                                     /* union selector */
    };
    return type < sizeof sizes ? sizes[type] : 0;
}

static inline int abi_is_string(uint64_t type)
{
    return type >= ABI_TYPE_CSTRING && type <= ABI_TYPE_UTF32;
}
static inline uint32_t abi_character_size(uint64_t type)
{
    return type == ABI_TYPE_UTF16 ? 2 : type == ABI_TYPE_UTF32 ? 4 : 1;
}
/* True if the payload holds a pointer for this entry. A string without any length is a pointer too. */
static inline int abi_is_pointer(uint64_t type, uint64_t flags, uint64_t detail)
{
    return (flags & ABI_ENTRY_POINTER) || (abi_is_string(type) && !(flags & ABI_ENTRY_ARRAY) && detail == 0);
}
/* True if another schema or an enum describes the entry's bytes in the payload. */
static inline int abi_is_nested(uint64_t type, uint64_t flags)
{
    return !(flags & ABI_ENTRY_POINTER) && !abi_type_size(type) && !abi_is_string(type);
}
static inline int abi_is_union(uint64_t schema_type)
{
    return schema_type == ABI_SCHEMA_TYPE_UNION || schema_type == ABI_SCHEMA_TYPE_UNION_INTERNAL;
}

/* Bytes that an entry or a schema takes in a payload: at most UINT32_MAX, or 0 if only the payload itself can tell.
 * align is never 0. */
struct abi_extent {
    uint64_t size, align;
};
#define ABI_UNKNOWN_EXTENT ((struct abi_extent){ 0, 1 })

/* nested: the extent of the entry's type, if abi_is_nested() holds. */
struct abi_extent abi_entry_extent(uint64_t type, uint64_t flags, uint64_t detail, struct abi_extent nested);
struct abi_extent abi_enum_extent(uint64_t size);

/* A schema whose entries are placed one after another. Initialise .pack and .is_union, and the rest with zeros. */
struct abi_layout {
    uint64_t pack;  /* maximum alignment of an entry; 0: as its type says */
    int is_union;
    uint64_t next;  /* end of the last entry */
    uint64_t end;   /* end of the entry that reaches farthest */
    uint64_t align; /* of the whole; 0: no entry yet */
};

/* The offset of the next entry. given: the offset in the schema, 0 if there is none. */
uint64_t abi_layout_place(struct abi_layout *layout, uint64_t given, uint64_t align);
/* Tells where the entry that was just placed ends. */
void abi_layout_fill(struct abi_layout *layout, uint64_t end);
/* The extent of all entries so far, rounded up as sizeof does. */
struct abi_extent abi_layout_extent(const struct abi_layout *layout);

#endif
