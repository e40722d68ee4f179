/* The binary interface of NVTX version 3 as a tool sees it, in Tacho's own words: the structs that the headers inside
 * the program pass, and the tables that a tool fills. The facts are those of the public protocol;
 * tests/trace/nvtx_vendor.py compares this file with the vendor's headers where they are installed. Layouts never
 * change; new fields come at the end. */
#ifndef TACHO_ABI_NVTX_ABI_H
#define TACHO_ABI_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define ABI_VERSION 3u

/* ---- The handshake --------------------------------------------------------------------------------------------- */

enum abi_table { ABI_TABLE_CALLBACKS = 1, ABI_TABLE_VERSION = 3 };

enum abi_module {
    ABI_MODULE_CORE = 1,
    ABI_MODULE_CUDA,
    ABI_MODULE_OPENCL,
    ABI_MODULE_CUDART,
    ABI_MODULE_CORE2,
    ABI_MODULE_SYNC,
};

typedef void (*abi_function)(void);
typedef const void *(*abi_get_table)(uint32_t id);

struct abi_callbacks {
    size_t size;
    /* The slots of a module, by callback id, and their number, with the unused slot 0. */
    int (*module_slots)(int module, abi_function ***slots, unsigned *count);
};

struct abi_version_info {
    size_t size;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
};

/* ---- Attributes ------------------------------------------------------------------------------------------------ */

union abi_message {
    const char *ascii;
    const wchar_t *wide;
    const void *registered;
};
enum abi_message_type { ABI_MESSAGE_NONE, ABI_MESSAGE_ASCII, ABI_MESSAGE_WIDE, ABI_MESSAGE_REGISTERED };

enum abi_payload_type {
    ABI_PAYLOAD_NONE,
    ABI_PAYLOAD_UINT64,
    ABI_PAYLOAD_INT64,
    ABI_PAYLOAD_DOUBLE,
    ABI_PAYLOAD_UINT32,
    ABI_PAYLOAD_INT32,
    ABI_PAYLOAD_FLOAT,
};
#define ABI_PAYLOAD_EXTENDED ((int32_t)0xDFBD0009) /* `payload` points to reserved0 structs abi_payload_data */
#define ABI_COLOR_ARGB 1

struct abi_event {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved0;
    union {
        uint64_t bits;
        uint32_t low;
    } payload;
    int32_t message_type;
    union abi_message message;
};
_Static_assert(sizeof(struct abi_event) == 48 && offsetof(struct abi_event, payload) == 24 &&
                   offsetof(struct abi_event, message) == 40,
               "NVTX event attributes, version 2");

struct abi_resource {
    uint16_t version, size;
    int32_t type;
    uint64_t identifier;
    int32_t message_type;
    union abi_message message;
};
_Static_assert(sizeof(struct abi_resource) == 32 && offsetof(struct abi_resource, message) == 24,
               "NVTX resource attributes");

#define ABI_RESOURCE(class, index) ((class) << 16 | (index)) /* classes: 1 generic, 4 CUDA driver, 5 CUDA runtime */

struct abi_sync {
    uint16_t version, size;
    int32_t message_type;
    union abi_message message;
};
_Static_assert(sizeof(struct abi_sync) == 16, "NVTX synchronisation attributes");

#define ABI_PUSH_POP_ERROR (-1)
#define ABI_NO_TRACKING (-2)

/* ---- Extensions ------------------------------------------------------------------------------------------------ */

enum abi_extension { ABI_EXTENSION_PAYLOAD = 2, ABI_EXTENSION_COUNTERS = 4 };

struct abi_segment {
    size_t id, slot_count;
    intptr_t *slots;
};

struct abi_extension_info {
    uint16_t version, size, module, compatibility;
    size_t segment_count;
    struct abi_segment *segments;
    intptr_t (*get_export)(uint32_t id);
    const void *info; /* payload: an array of struct abi_type_info by type; the first one has their number */
};
_Static_assert(sizeof(struct abi_extension_info) == 40, "NVTX extension module");

struct abi_type_info {
    uint16_t size, align;
};

struct abi_payload_data {
    uint64_t schema;
    size_t size; /* SIZE_MAX: as the schema says */
    const void *bytes;
};
_Static_assert(sizeof(struct abi_payload_data) == 24, "NVTX payload data");

struct abi_schema_entry {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset;
    const void *semantics, *reserved;
};
_Static_assert(sizeof(struct abi_schema_entry) == 64, "NVTX schema entry");

enum abi_schema_field {
    ABI_SCHEMA_NAME = 1 << 1,
    ABI_SCHEMA_TYPE = 1 << 2,
    ABI_SCHEMA_FLAGS = 1 << 3,
    ABI_SCHEMA_ENTRIES = 1 << 4,
    ABI_SCHEMA_COUNT = 1 << 5,
    ABI_SCHEMA_SIZE = 1 << 6,
    ABI_SCHEMA_ALIGNMENT = 1 << 7,
    ABI_SCHEMA_ID = 1 << 8,
};

struct abi_schema {
    uint64_t fields;
    const char *name;
    uint64_t type, flags;
    const struct abi_schema_entry *entries;
    size_t entry_count, static_size, alignment;
    uint64_t id;
    void *extension;
};
_Static_assert(sizeof(struct abi_schema) == 80, "NVTX schema attributes");

struct abi_enum_entry {
    const char *name;
    uint64_t value;
    int8_t is_flag;
};
_Static_assert(sizeof(struct abi_enum_entry) == 24, "NVTX enum entry");

enum abi_enum_field {
    ABI_ENUM_NAME = 1 << 1,
    ABI_ENUM_ENTRIES = 1 << 2,
    ABI_ENUM_COUNT = 1 << 3,
    ABI_ENUM_SIZE = 1 << 4,
    ABI_ENUM_ID = 1 << 5,
};

struct abi_enum {
    uint64_t fields;
    const char *name;
    const struct abi_enum_entry *entries;
    size_t entry_count, size;
    uint64_t id;
    void *extension;
};
_Static_assert(sizeof(struct abi_enum) == 56, "NVTX enum attributes");

struct abi_scope {
    size_t size;
    const char *path;
    uint64_t parent, id;
};
_Static_assert(sizeof(struct abi_scope) == 32, "NVTX scope attributes");

struct abi_counter {
    size_t size;
    uint64_t schema;
    const char *name, *description;
    uint64_t scope;
    const void *semantics;
    uint64_t id;
};
_Static_assert(sizeof(struct abi_counter) == 56, "NVTX counter attributes");

struct abi_counter_batch {
    uint64_t counter;
    const void *samples;
    size_t samples_bytes;
    uint64_t flags;
    const int64_t *timestamps;
    size_t timestamps_bytes;
};
_Static_assert(sizeof(struct abi_counter_batch) == 48, "NVTX counter batch");

#endif
