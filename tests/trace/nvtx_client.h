/* The program's side of NVTX version 3, as small as it can be: finds the tool through NVTX_INJECTION64_PATH, lets it
 * fill the tables, and calls through them. For test programs, examples and benches, so that none of them needs the
 * vendor's headers. C and C++. All state is static: every module that includes this file attaches for itself, as with
 * the real headers. Link with -ldl. A call with no tool attached costs one load and one branch. */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- What calls take ------------------------------------------------------------------------------------------- */

enum nvtx_message_type { NVTX_MESSAGE_NONE, NVTX_MESSAGE_ASCII, NVTX_MESSAGE_WIDE, NVTX_MESSAGE_REGISTERED };
enum nvtx_payload_type {
    NVTX_PAYLOAD_NONE,
    NVTX_PAYLOAD_UINT64,
    NVTX_PAYLOAD_INT64,
    NVTX_PAYLOAD_DOUBLE,
    NVTX_PAYLOAD_UINT32,
    NVTX_PAYLOAD_INT32,
    NVTX_PAYLOAD_FLOAT
};
#define NVTX_PAYLOAD_EXTENDED ((int32_t)0xDFBD0009u)

union nvtx_message {
    const char *ascii;
    const wchar_t *wide;
    const void *registered;
};

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, payload_count;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
        const void *extended;
    } payload;
    int32_t message_type;
    union nvtx_message message;
};

struct nvtx_resource_attributes {
    uint16_t version, size;
    int32_t type;
    uint64_t identifier;
    int32_t message_type;
    union nvtx_message message;
};

struct nvtx_sync_attributes {
    uint16_t version, size;
    int32_t message_type;
    union nvtx_message message;
};

struct nvtx_payload_data {
    uint64_t schema;
    size_t size;
    const void *bytes;
};
struct nvtx_schema_entry {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset;
    const void *semantics, *reserved;
};
struct nvtx_schema {
    uint64_t fields;
    const char *name;
    uint64_t type, flags;
    const struct nvtx_schema_entry *entries;
    size_t entry_count, static_size, alignment;
    uint64_t id;
    void *extension;
};
struct nvtx_enum_entry {
    const char *name;
    uint64_t value;
    int8_t is_flag;
};
struct nvtx_enum {
    uint64_t fields;
    const char *name;
    const struct nvtx_enum_entry *entries;
    size_t entry_count, size;
    uint64_t id;
    void *extension;
};
struct nvtx_scope {
    size_t size;
    const char *path;
    uint64_t parent, id;
};
struct nvtx_counter {
    size_t size;
    uint64_t schema;
    const char *name, *description;
    uint64_t scope;
    const void *semantics;
    uint64_t id;
};

/* ---- Tables ---------------------------------------------------------------------------------------------------- */

typedef void (*nvtx_function)(void);
enum { NVTX_CORE = 1, NVTX_CUDA, NVTX_OPENCL, NVTX_CUDART, NVTX_CORE2, NVTX_SYNC, NVTX_MODULES };
#define NVTX_SLOTS 16
#define NVTX_EXTENSION_SLOTS 64

struct nvtx_client {
    int state; /* 0 fresh, 1 starting, 2 done */
    uint32_t tool_version;
    int attached;
    void *library;
    nvtx_function functions[NVTX_MODULES][NVTX_SLOTS];
    nvtx_function *slots[NVTX_MODULES][NVTX_SLOTS];
    intptr_t payload[NVTX_EXTENSION_SLOTS], counters[NVTX_EXTENSION_SLOTS];
};
static struct nvtx_client nvtx_client;

struct nvtx_segment {
    size_t id, count;
    intptr_t *slots;
};
struct nvtx_extension_info {
    uint16_t version, size, module, compatibility;
    size_t segment_count;
    struct nvtx_segment *segments;
    intptr_t (*get_export)(uint32_t);
    const void *info;
};

/* Slots of each module, the unused one at 0 included. */
static inline int nvtx_module_slots(int module, nvtx_function ***slots, unsigned *count)
{
    static const unsigned counts[NVTX_MODULES] = { 0, 16, 9, 15, 7, 16, 7 };
    if (module <= 0 || module >= NVTX_MODULES)
        return 0;
    *slots = nvtx_client.slots[module];
    if (count)
        *count = counts[module];
    return 1;
}

static inline void nvtx_set_tool_version(uint32_t version)
{
    nvtx_client.tool_version = version;
}

static inline const void *nvtx_get_table(uint32_t id)
{
    static const struct {
        size_t size;
        int (*module_slots)(int, nvtx_function ***, unsigned *);
    } callbacks = { sizeof callbacks, nvtx_module_slots };
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*set_tool_version)(uint32_t);
    } version = { sizeof version, 3, 0, nvtx_set_tool_version };
    return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&version : NULL;
}

static inline void nvtx_start_extension(uint16_t module, uint16_t compatibility, intptr_t *slots)
{
    struct nvtx_segment segment = { 0, NVTX_EXTENSION_SLOTS, slots };
    struct nvtx_extension_info info = { 3, sizeof info, module, compatibility, 1, &segment, NULL, NULL };
    void *function = nvtx_client.library ? dlsym(nvtx_client.library, "InitializeInjectionNvtxExtension") : NULL;
    int (*start)(struct nvtx_extension_info *);
    memcpy(&start, &function, sizeof start);
    if (start)
        start(&info);
}

static inline void nvtx_attach(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void *function = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    int (*start)(const void *(*)(uint32_t));
    memcpy(&start, &function, sizeof start);
    for (int module = 1; module < NVTX_MODULES; module++)
        for (int i = 1; i < NVTX_SLOTS; i++)
            nvtx_client.slots[module][i] = &nvtx_client.functions[module][i];
    nvtx_client.attached = start && start(nvtx_get_table);
    if (!nvtx_client.attached) {
        memset(nvtx_client.functions, 0, sizeof nvtx_client.functions);
        if (library)
            dlclose(library);
        return;
    }
    nvtx_client.library = library;
    nvtx_start_extension(2, 0x0104, nvtx_client.payload);
    nvtx_start_extension(4, 0x0102, nvtx_client.counters);
}

static __attribute__((noinline, unused)) void nvtx_init_once(void)
{
    int fresh = 0;
    if (__atomic_compare_exchange_n(&nvtx_client.state, &fresh, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        nvtx_attach();
        __atomic_store_n(&nvtx_client.state, 2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&nvtx_client.state, __ATOMIC_ACQUIRE) != 2)
        sched_yield();
}

static inline void nvtx_init(void)
{
    if (__builtin_expect(__atomic_load_n(&nvtx_client.state, __ATOMIC_ACQUIRE) != 2, 0))
        nvtx_init_once();
}

/* ---- Calls: NVTX_CALL(name, module, id, result, value if there is no tool, (parameters), (arguments)) ---------- */

#define NVTX_CALL(name, module, id, result, none, parameters, arguments)                                             \
    static inline __attribute__((unused)) result name parameters                                                     \
    {                                                                                                                \
        nvtx_init();                                                                                                 \
        nvtx_function function = nvtx_client.functions[module][id];                                                  \
        if (!function)                                                                                               \
            return none;                                                                                             \
        typedef result(*type) parameters;                                                                            \
        return ((type)(uintptr_t)function)arguments;                                                                 \
    }
#define NVTX_EXTENSION_CALL(name, table, id, result, none, parameters, arguments)                                    \
    static inline __attribute__((unused)) result name parameters                                                     \
    {                                                                                                                \
        nvtx_init();                                                                                                 \
        intptr_t function = nvtx_client.table[id];                                                                   \
        if (!function)                                                                                               \
            return none;                                                                                             \
        typedef result(*type) parameters;                                                                            \
        return ((type)function)arguments;                                                                            \
    }
#define NVTX_NOTHING ((void)0)

NVTX_CALL(nvtx_mark_ex, NVTX_CORE, 1, void, NVTX_NOTHING, (const struct nvtx_attributes *a), (a))
NVTX_CALL(nvtx_mark, NVTX_CORE, 2, void, NVTX_NOTHING, (const char *text), (text))
NVTX_CALL(nvtx_mark_w, NVTX_CORE, 3, void, NVTX_NOTHING, (const wchar_t *text), (text))
NVTX_CALL(nvtx_start_ex, NVTX_CORE, 4, uint64_t, 0, (const struct nvtx_attributes *a), (a))
NVTX_CALL(nvtx_start, NVTX_CORE, 5, uint64_t, 0, (const char *text), (text))
NVTX_CALL(nvtx_start_w, NVTX_CORE, 6, uint64_t, 0, (const wchar_t *text), (text))
NVTX_CALL(nvtx_end, NVTX_CORE, 7, void, NVTX_NOTHING, (uint64_t id), (id))
NVTX_CALL(nvtx_push_ex, NVTX_CORE, 8, int, -2, (const struct nvtx_attributes *a), (a))
NVTX_CALL(nvtx_push, NVTX_CORE, 9, int, -2, (const char *text), (text))
NVTX_CALL(nvtx_push_w, NVTX_CORE, 10, int, -2, (const wchar_t *text), (text))
NVTX_CALL(nvtx_pop, NVTX_CORE, 11, int, -2, (void), ())
NVTX_CALL(nvtx_category, NVTX_CORE, 12, void, NVTX_NOTHING, (uint32_t id, const char *name), (id, name))
NVTX_CALL(nvtx_category_w, NVTX_CORE, 13, void, NVTX_NOTHING, (uint32_t id, const wchar_t *name), (id, name))
NVTX_CALL(nvtx_thread, NVTX_CORE, 14, void, NVTX_NOTHING, (uint32_t id, const char *name), (id, name))
NVTX_CALL(nvtx_thread_w, NVTX_CORE, 15, void, NVTX_NOTHING, (uint32_t id, const wchar_t *name), (id, name))

NVTX_CALL(nvtx_domain_mark, NVTX_CORE2, 1, void, NVTX_NOTHING, (const void *d, const struct nvtx_attributes *a), (d, a))
NVTX_CALL(nvtx_domain_start, NVTX_CORE2, 2, uint64_t, 0, (const void *d, const struct nvtx_attributes *a), (d, a))
NVTX_CALL(nvtx_domain_end, NVTX_CORE2, 3, void, NVTX_NOTHING, (const void *d, uint64_t id), (d, id))
NVTX_CALL(nvtx_domain_push, NVTX_CORE2, 4, int, -2, (const void *d, const struct nvtx_attributes *a), (d, a))
NVTX_CALL(nvtx_domain_pop, NVTX_CORE2, 5, int, -2, (const void *d), (d))
NVTX_CALL(nvtx_resource_create, NVTX_CORE2, 6, const void *, NULL, (const void *d, struct nvtx_resource_attributes *a),
          (d, a))
NVTX_CALL(nvtx_resource_destroy, NVTX_CORE2, 7, void, NVTX_NOTHING, (const void *resource), (resource))
NVTX_CALL(nvtx_domain_category, NVTX_CORE2, 8, void, NVTX_NOTHING, (const void *d, uint32_t id, const char *name),
          (d, id, name))
NVTX_CALL(nvtx_domain_category_w, NVTX_CORE2, 9, void, NVTX_NOTHING, (const void *d, uint32_t id, const wchar_t *name),
          (d, id, name))
NVTX_CALL(nvtx_register, NVTX_CORE2, 10, const void *, NULL, (const void *d, const char *text), (d, text))
NVTX_CALL(nvtx_register_w, NVTX_CORE2, 11, const void *, NULL, (const void *d, const wchar_t *text), (d, text))
NVTX_CALL(nvtx_domain, NVTX_CORE2, 12, const void *, NULL, (const char *name), (name))
NVTX_CALL(nvtx_domain_w, NVTX_CORE2, 13, const void *, NULL, (const wchar_t *name), (name))
NVTX_CALL(nvtx_domain_destroy, NVTX_CORE2, 14, void, NVTX_NOTHING, (const void *d), (d))
NVTX_CALL(nvtx_initialize, NVTX_CORE2, 15, void, NVTX_NOTHING, (const void *reserved), (reserved))

NVTX_CALL(nvtx_cu_device, NVTX_CUDA, 1, void, NVTX_NOTHING, (int device, const char *name), (device, name))
NVTX_CALL(nvtx_cu_context, NVTX_CUDA, 3, void, NVTX_NOTHING, (const void *context, const char *name), (context, name))
NVTX_CALL(nvtx_cu_stream_w, NVTX_CUDA, 6, void, NVTX_NOTHING, (const void *stream, const wchar_t *name), (stream, name))
NVTX_CALL(nvtx_cuda_device_w, NVTX_CUDART, 2, void, NVTX_NOTHING, (int device, const wchar_t *name), (device, name))
NVTX_CALL(nvtx_cuda_stream, NVTX_CUDART, 3, void, NVTX_NOTHING, (const void *stream, const char *name), (stream, name))
NVTX_CALL(nvtx_cuda_event, NVTX_CUDART, 5, void, NVTX_NOTHING, (const void *event, const char *name), (event, name))

NVTX_CALL(nvtx_sync_create, NVTX_SYNC, 1, const void *, NULL, (const void *d, const struct nvtx_sync_attributes *a),
          (d, a))
NVTX_CALL(nvtx_sync_destroy, NVTX_SYNC, 2, void, NVTX_NOTHING, (const void *object), (object))
NVTX_CALL(nvtx_sync_acquire_start, NVTX_SYNC, 3, void, NVTX_NOTHING, (const void *object), (object))
NVTX_CALL(nvtx_sync_acquire_failed, NVTX_SYNC, 4, void, NVTX_NOTHING, (const void *object), (object))
NVTX_CALL(nvtx_sync_acquire_success, NVTX_SYNC, 5, void, NVTX_NOTHING, (const void *object), (object))
NVTX_CALL(nvtx_sync_releasing, NVTX_SYNC, 6, void, NVTX_NOTHING, (const void *object), (object))

NVTX_EXTENSION_CALL(nvtx_register_schema, payload, 0, uint64_t, 0, (const void *d, const struct nvtx_schema *s), (d, s))
NVTX_EXTENSION_CALL(nvtx_register_enum, payload, 1, uint64_t, 0, (const void *d, const struct nvtx_enum *e), (d, e))
NVTX_EXTENSION_CALL(nvtx_mark_payload, payload, 2, void, NVTX_NOTHING,
                    (const void *d, const struct nvtx_payload_data *p, size_t n), (d, p, n))
NVTX_EXTENSION_CALL(nvtx_push_payload, payload, 3, int, -2,
                    (const void *d, const struct nvtx_payload_data *p, size_t n), (d, p, n))
NVTX_EXTENSION_CALL(nvtx_pop_payload, payload, 4, int, -2, (const void *d, const struct nvtx_payload_data *p, size_t n),
                    (d, p, n))
NVTX_EXTENSION_CALL(nvtx_start_payload, payload, 5, uint64_t, 0,
                    (const void *d, const struct nvtx_payload_data *p, size_t n), (d, p, n))
NVTX_EXTENSION_CALL(nvtx_end_payload, payload, 6, void, NVTX_NOTHING,
                    (const void *d, uint64_t id, const struct nvtx_payload_data *p, size_t n), (d, id, p, n))
NVTX_EXTENSION_CALL(nvtx_domain_is_enabled, payload, 7, uint8_t, 0, (const void *d), (d))
NVTX_EXTENSION_CALL(nvtx_register_scope, payload, 12, uint64_t, 0, (const void *d, const struct nvtx_scope *s), (d, s))

NVTX_EXTENSION_CALL(nvtx_register_counter, counters, 0, uint64_t, 0, (const void *d, const struct nvtx_counter *c),
                    (d, c))
NVTX_EXTENSION_CALL(nvtx_sample_int64, counters, 1, void, NVTX_NOTHING, (const void *d, uint64_t id, int64_t value),
                    (d, id, value))
NVTX_EXTENSION_CALL(nvtx_sample_float64, counters, 2, void, NVTX_NOTHING, (const void *d, uint64_t id, double value),
                    (d, id, value))
NVTX_EXTENSION_CALL(nvtx_sample, counters, 3, void, NVTX_NOTHING,
                    (const void *d, uint64_t id, const void *value, size_t size), (d, id, value, size))
NVTX_EXTENSION_CALL(nvtx_sample_no_value, counters, 4, void, NVTX_NOTHING, (const void *d, uint64_t id, uint8_t reason),
                    (d, id, reason))

/* Attributes with a plain text, to be completed by the caller. */
static inline __attribute__((unused)) struct nvtx_attributes nvtx_text(const char *text)
{
    struct nvtx_attributes attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.version = 3;
    attributes.size = sizeof attributes;
    attributes.message_type = text ? NVTX_MESSAGE_ASCII : NVTX_MESSAGE_NONE;
    attributes.message.ascii = text;
    return attributes;
}

static inline __attribute__((unused)) struct nvtx_attributes nvtx_registered(const void *string)
{
    struct nvtx_attributes attributes = nvtx_text(NULL);
    attributes.message_type = NVTX_MESSAGE_REGISTERED;
    attributes.message.registered = string;
    return attributes;
}

#endif
