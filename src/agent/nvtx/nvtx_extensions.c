/* NVTX's extensions: payloads with a layout (schemas, enums, scopes) and counters.
 *
 * Descriptions go into the journal; payloads follow their event as bytes, which the collector decodes. Of a schema the
 * agent keeps only what it needs while the program's memory is there: the size, if the program leaves it to the tool,
 * and the pointers to follow (strings, and entries that are marked for a deep copy). The agent trusts these pointers,
 * as every tool must; it never follows pointers beyond the first level. */

#include "abi/nvtx_layout.h"
#include "agent/core/agent.h"
#include "agent/core/lifecycle.h"
#include "nvtx_agent.h"

#define SHAPES 1024u /* schemas whose shape is kept; payloads of others must come with their size */
#define POINTERS_MAX 8u
#define POINTED_BYTES_MAX 4096u
#define BINARY_WORDS_MAX 3072u /* fits into a chunk together with the longest text */
#define ENTRIES_MAX 4096u

static _Atomic uint32_t dynamic_ids;

/* ---- Shapes: an insert-only hash table; writing its key claims a slot, `ready` publishes it -------------------- */

struct pointer {
    uint32_t offset;
    uint32_t unit;  /* size of one element of the target */
    uint32_t count; /* 0: zero-terminated; else the number of elements, or 1 if length_at has the number */
    uint32_t length_at, length_bytes;
};

struct nvtx_extensions_shape {
    _Atomic uint64_t key;
    _Atomic uint32_t ready;
    uint32_t size; /* 0: unknown */
    uint32_t align;
    uint32_t pointer_count;
    struct pointer pointers[POINTERS_MAX];
};
static struct nvtx_extensions_shape shapes[SHAPES];

static struct nvtx_extensions_shape *shape_slot(uint64_t key, int insert)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (uint32_t i = 0; i < SHAPES; i++) {
        struct nvtx_extensions_shape *shape = &shapes[(hash + i) % SHAPES];
        uint64_t found = atomic_load_explicit(&shape->key, memory_order_acquire);
        if (found == key)
            return insert ? NULL : shape;
        if (found)
            continue;
        if (!insert)
            return NULL;
        if (atomic_compare_exchange_strong(&shape->key, &found, key))
            return shape;
        if (found == key)
            return NULL;
    }
    return NULL;
}

static const struct nvtx_extensions_shape *find_shape(uint32_t domain, uint64_t id)
{
    const struct nvtx_extensions_shape *shape = shape_slot(abi_schema_key(domain, id), 0);
    return shape && atomic_load_explicit(&shape->ready, memory_order_acquire) ? shape : NULL;
}

/* The extent of a schema or an enum that was registered before. */
static struct abi_extent shape_extent(uint32_t domain, uint64_t id)
{
    const struct nvtx_extensions_shape *shape = find_shape(domain, id);
    return shape ? (struct abi_extent){ shape->size, shape->align } : ABI_UNKNOWN_EXTENT;
}

/* Describes the target of a pointer; unit 0: do not follow it. */
static struct pointer describe_pointer(const struct abi_schema *schema, const uint32_t *offsets, size_t index)
{
    const struct abi_schema_entry *entry = &schema->entries[index];
    struct pointer pointer = { .offset = offsets[index] };
    int string = abi_is_string(entry->type);
    if (!string && !(entry->flags & ABI_ENTRY_DEEP_COPY))
        return pointer;
    pointer.unit = string ? abi_character_size(entry->type) : abi_type_size(entry->type);
    switch (entry->flags & ABI_ENTRY_ARRAY) {
    case ABI_ENTRY_FIXED: /* an array of length 0 has nothing to follow */
        pointer.count = entry->detail < POINTED_BYTES_MAX ? (uint32_t)entry->detail : POINTED_BYTES_MAX;
        pointer.unit = pointer.count ? pointer.unit : 0;
        break;
    case ABI_ENTRY_LENGTH_INDEX: /* nor does one whose length cannot be read */
        pointer.count = 1;
        pointer.length_at = entry->detail < index ? offsets[entry->detail] : 0;
        pointer.length_bytes = entry->detail < index ? abi_type_size(schema->entries[entry->detail].type) : 0;
        pointer.unit = pointer.length_bytes ? pointer.unit : 0;
        break;
    case ABI_ENTRY_ZERO_TERMINATED: break;
    default: pointer.count = string ? 0 : 1;
    }
    return pointer;
}

static void keep_shape(uint32_t domain, const struct abi_schema *schema, uint64_t id)
{
    struct nvtx_extensions_shape *shape = shape_slot(abi_schema_key(domain, id), 1);
    if (!shape)
        return;
    uint64_t type = schema->fields & ABI_SCHEMA_TYPE ? schema->type : 0;
    struct abi_layout layout = { .pack = schema->fields & ABI_SCHEMA_ALIGNMENT ? schema->alignment : 0,
                                 .is_union = abi_is_union(type) };
    uint32_t offsets[64];
    size_t count = schema->entry_count < 64 ? schema->entry_count : 64, i;
    for (i = 0; i < count; i++) {
        const struct abi_schema_entry *entry = &schema->entries[i];
        struct abi_extent extent = abi_entry_extent(entry->type, entry->flags, entry->detail,
                                                    shape_extent(domain, entry->type));
        uint64_t offset = abi_layout_place(&layout, entry->offset, extent.align);
        if (!extent.size || offset > UINT32_MAX)
            break;
        offsets[i] = (uint32_t)offset;
        abi_layout_fill(&layout, offset + extent.size);
        if (!abi_is_pointer(entry->type, entry->flags, entry->detail) || shape->pointer_count == POINTERS_MAX)
            continue;
        struct pointer pointer = describe_pointer(schema, offsets, i);
        if (pointer.unit)
            shape->pointers[shape->pointer_count++] = pointer;
    }
    struct abi_extent whole = abi_layout_extent(&layout);
    if ((schema->fields & ABI_SCHEMA_SIZE) && schema->static_size && schema->static_size < UINT32_MAX)
        shape->size = (uint32_t)schema->static_size;
    else if (i == schema->entry_count && type != ABI_SCHEMA_TYPE_DYNAMIC && whole.size <= UINT32_MAX)
        shape->size = (uint32_t)whole.size;
    shape->align = (uint32_t)whole.align;
    atomic_store_explicit(&shape->ready, 1, memory_order_release);
}

/* ---- Descriptions ---------------------------------------------------------------------------------------------- */

static void nvtx_extensions_tell(uint32_t type, const void *domain, const uint64_t *head, uint32_t words,
                                 const char *text, const char *more)
{
    nvtx_tell(&(struct nvtx_note){
        .type = type,
        .domain = nvtx_domain_of(domain),
        .head = head,
        .head_words = words,
        .text = nvtx_ascii(text),
        .more = nvtx_ascii(more),
    });
}

static uint64_t new_id(uint64_t wanted)
{
    return wanted ? wanted : ABI_DYNAMIC_ID + nvtx_take_number(&dynamic_ids, UINT32_MAX - 1);
}

static uint64_t schema_register(const void *domain, const struct abi_schema *given)
{
    if (!given || !agent_attached() || !(given->fields & ABI_SCHEMA_ENTRIES) || !given->entries)
        return 0;
    struct abi_schema schema = *given;
    if (!(schema.fields & ABI_SCHEMA_COUNT) || schema.entry_count > ENTRIES_MAX)
        return 0;
    uint64_t id = new_id(schema.fields & ABI_SCHEMA_ID ? schema.id : 0);
    uint64_t head[WIRE_SCHEMA_WORDS] = {
        [WIRE_SCHEMA_ID] = id,
        [WIRE_SCHEMA_TYPE] = schema.fields & ABI_SCHEMA_TYPE ? schema.type : 0,
        [WIRE_SCHEMA_FLAGS] = schema.fields & ABI_SCHEMA_FLAGS ? schema.flags : 0,
        [WIRE_SCHEMA_ENTRIES] = schema.entry_count,
        [WIRE_SCHEMA_SIZE] = schema.fields & ABI_SCHEMA_SIZE ? schema.static_size : 0,
        [WIRE_SCHEMA_ALIGN] = schema.fields & ABI_SCHEMA_ALIGNMENT ? schema.alignment : 0,
    };
    keep_shape(nvtx_domain_of(domain), &schema, id);
    nvtx_extensions_tell(WIRE_NVTX_SCHEMA, domain, head, WIRE_SCHEMA_WORDS,
                         schema.fields & ABI_SCHEMA_NAME ? schema.name : NULL, NULL);
    for (size_t i = 0; i < schema.entry_count; i++) {
        const struct abi_schema_entry *entry = &schema.entries[i];
        uint64_t words[WIRE_ENTRY_WORDS] = {
            [WIRE_ENTRY_SCHEMA] = id,
            [WIRE_ENTRY_INDEX] = i,
            [WIRE_ENTRY_FLAGS] = entry->flags,
            [WIRE_ENTRY_TYPE] = entry->type,
            [WIRE_ENTRY_DETAIL] = entry->detail,
            [WIRE_ENTRY_OFFSET] = entry->offset,
        };
        nvtx_extensions_tell(WIRE_NVTX_SCHEMA_ENTRY, domain, words, WIRE_ENTRY_WORDS, entry->name ? entry->name : "",
                             entry->description);
    }
    return id;
}

static uint64_t enum_register(const void *domain, const struct abi_enum *given)
{
    if (!given || !agent_attached() || !(given->fields & ABI_ENUM_ENTRIES) || !given->entries)
        return 0;
    size_t count = given->fields & ABI_ENUM_COUNT ? given->entry_count : 0;
    if (count > ENTRIES_MAX)
        return 0;
    uint64_t id = new_id(given->fields & ABI_ENUM_ID ? given->id : 0);
    uint64_t size = given->fields & ABI_ENUM_SIZE && given->size ? given->size : sizeof(int);
    uint64_t head[WIRE_ENUM_WORDS] = { [WIRE_ENUM_ID] = id, [WIRE_ENUM_ENTRIES] = count, [WIRE_ENUM_SIZE] = size };
    struct nvtx_extensions_shape *shape = shape_slot(abi_schema_key(nvtx_domain_of(domain), id), 1);
    if (shape) {
        struct abi_extent extent = abi_enum_extent(size);
        shape->size = (uint32_t)extent.size;
        shape->align = (uint32_t)extent.align;
        atomic_store_explicit(&shape->ready, 1, memory_order_release);
    }
    nvtx_extensions_tell(WIRE_NVTX_ENUM, domain, head, WIRE_ENUM_WORDS,
                         given->fields & ABI_ENUM_NAME ? given->name : NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        uint64_t words[WIRE_ENUM_ENTRY_WORDS] = {
            [WIRE_ENUM_ENTRY_ENUM] = id,
            [WIRE_ENUM_ENTRY_INDEX] = i,
            [WIRE_ENUM_ENTRY_VALUE] = given->entries[i].value,
            [WIRE_ENUM_ENTRY_FLAG] = given->entries[i].is_flag != 0,
        };
        nvtx_extensions_tell(WIRE_NVTX_ENUM_ENTRY, domain, words, WIRE_ENUM_ENTRY_WORDS, given->entries[i].name, NULL);
    }
    return id;
}

static uint64_t scope_register(const void *domain, const struct abi_scope *given)
{
    if (!given || given->size < sizeof *given || !agent_attached())
        return 0;
    uint64_t head[WIRE_SCOPE_WORDS] = { [WIRE_SCOPE_ID] = new_id(given->id), [WIRE_SCOPE_PARENT] = given->parent };
    nvtx_extensions_tell(WIRE_NVTX_SCOPE, domain, head, WIRE_SCOPE_WORDS, given->path ? given->path : "", NULL);
    return head[WIRE_SCOPE_ID];
}

static uint64_t counter_register(const void *domain, const struct abi_counter *given)
{
    if (!given || given->size < sizeof *given || !agent_attached())
        return 0;
    uint64_t head[WIRE_COUNTER_WORDS] = { [WIRE_COUNTER_ID] = new_id(given->id),
                                          [WIRE_COUNTER_SCHEMA] = given->schema,
                                          [WIRE_COUNTER_SCOPE] = given->scope };
    nvtx_extensions_tell(WIRE_NVTX_COUNTER, domain, head, WIRE_COUNTER_WORDS, given->name ? given->name : "",
                         given->description);
    return head[WIRE_COUNTER_ID];
}

static uint8_t domain_is_enabled(const void *domain)
{
    return nvtx_domain_on(nvtx_domain_of(domain)) != 0;
}

/* ---- Payloads -------------------------------------------------------------------------------------------------- */

static void plan_part(struct nvtx_binary *plan, uint64_t id, const void *from, size_t bytes, uint32_t flags)
{
    uint32_t head = WIRE_HEAD_WORDS + 2;
    if (plan->count == COUNT_OF(plan->parts) || plan->words + head >= BINARY_WORDS_MAX)
        return;
    size_t room = (size_t)(BINARY_WORDS_MAX - plan->words - head) * 8;
    uint32_t kept = (uint32_t)(bytes < room ? bytes : room);
    plan->parts[plan->count].id = id;
    plan->parts[plan->count].from = from;
    plan->parts[plan->count].bytes = bytes;
    plan->parts[plan->count].kept = kept;
    plan->parts[plan->count].flags = flags;
    plan->count++;
    plan->words += head + (kept + 7) / 8;
}

static uint64_t nvtx_extensions_read_number(const void *from, uint32_t bytes)
{
    uint64_t number = 0;
    memcpy(&number, from, bytes <= 8 ? bytes : 0); /* both architectures are little-endian */
    return number;
}

/* Bytes of zero-terminated units, without the terminator. */
static size_t terminated_bytes(const char *from, uint32_t unit)
{
    size_t bytes = 0;
    while (bytes + unit <= POINTED_BYTES_MAX) {
        uint32_t zeros = 0;
        while (zeros < unit && from[bytes + zeros] == 0)
            zeros++;
        if (zeros == unit)
            break;
        bytes += unit;
    }
    return bytes;
}

static void plan_pointed(struct nvtx_binary *plan, const struct nvtx_extensions_shape *shape, const char *payload,
                         size_t size)
{
    for (uint32_t i = 0; i < shape->pointer_count; i++) {
        const struct pointer *pointer = &shape->pointers[i];
        if (size < 8 || pointer->offset > size - 8)
            continue;
        const char *to;
        memcpy(&to, payload + pointer->offset, 8);
        if (!to)
            continue;
        uint64_t count = pointer->count;
        if (pointer->length_bytes)
            count = pointer->length_at + (uint64_t)pointer->length_bytes <= size
                        ? nvtx_extensions_read_number(payload + pointer->length_at, pointer->length_bytes)
                        : 0;
        size_t bytes = pointer->count == 0                          ? terminated_bytes(to, pointer->unit)
                       : count <= POINTED_BYTES_MAX / pointer->unit ? (size_t)count * pointer->unit
                                                                    : POINTED_BYTES_MAX;
        plan_part(plan, pointer->offset, to, bytes, WIRE_BINARY_POINTED);
    }
}

void nvtx_plan_binary(const struct nvtx_event *event, struct nvtx_binary *plan)
{
    plan->count = plan->words = 0;
    for (size_t i = 0; i < event->binary_count && i < COUNT_OF(plan->parts); i++) {
        const struct abi_payload_data *data = &event->binary[i];
        const struct nvtx_extensions_shape *shape = find_shape(event->domain, data->schema);
        size_t size = data->bytes ? data->size : 0;
        if (size == SIZE_MAX && abi_is_string(data->schema))
            size = terminated_bytes(data->bytes, abi_character_size(data->schema));
        else if (size == SIZE_MAX)
            size = shape ? shape->size : abi_type_size(data->schema);
        plan_part(plan, data->schema, data->bytes, size, 0);
        if (shape && data->bytes)
            plan_pointed(plan, shape, data->bytes, size);
    }
}

void nvtx_put_binary(uint64_t *to, const struct nvtx_binary *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t kept = plan->parts[i].kept, words = WIRE_HEAD_WORDS + 2 + (kept + 7) / 8;
        struct wire_record *record = (struct wire_record *)to;
        *record = (struct wire_record){
            .type = WIRE_NVTX_BINARY,
            .words = (uint16_t)words,
            .flags = (uint8_t)(plan->parts[i].flags | (i + 1 < plan->count ? WIRE_NVTX_HAS_BINARY : 0)),
        };
        record->body[0] = plan->parts[i].id;
        record->body[1] = plan->parts[i].bytes;
        if (kept) {
            record->body[2 + (kept - 1) / 8] = 0;
            memcpy(record->body + 2, plan->parts[i].from, kept);
        }
        to += words;
    }
}

static struct nvtx_event payload_event(const void *domain, const struct abi_payload_data *data, size_t count)
{
    return (struct nvtx_event){ .domain = nvtx_domain_of(domain), .binary = data, .binary_count = data ? count : 0 };
}
static void mark_payload(const void *domain, const struct abi_payload_data *data, size_t count)
{
    struct nvtx_event event = payload_event(domain, data, count);
    nvtx_mark(&event);
}
static int push_payload(const void *domain, const struct abi_payload_data *data, size_t count)
{
    struct nvtx_event event = payload_event(domain, data, count);
    return nvtx_push(&event);
}
static int pop_payload(const void *domain, const struct abi_payload_data *data, size_t count)
{
    struct nvtx_event event = payload_event(domain, data, count);
    return nvtx_pop(&event);
}
static uint64_t start_payload(const void *domain, const struct abi_payload_data *data, size_t count)
{
    struct nvtx_event event = payload_event(domain, data, count);
    return nvtx_start(&event);
}
static void end_payload(const void *domain, uint64_t id, const struct abi_payload_data *data, size_t count)
{
    struct nvtx_event event = payload_event(domain, data, count);
    nvtx_end(id, &event);
}

/* ---- Samples of counters --------------------------------------------------------------------------------------- */

static void nvtx_extensions_sample(const void *handle, uint64_t counter, enum wire_sample kind, uint64_t word,
                                   const void *bytes)
{
    uint32_t domain = nvtx_domain_of(handle);
    struct agent_thread *thread = agent_enter(WIRE_BIT(NVTX));
    if (!thread || !nvtx_domain_on(domain))
        return;
    uint32_t kept = kind == WIRE_SAMPLE_BYTES ? (uint32_t)word : 0;
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_NVTX, WIRE_NVTX_SAMPLE,
                                            WIRE_HEAD_WORDS + 2 + (kept + 7) / 8);
    if (!record)
        return;
    record->flags = (uint8_t)kind;
    record->a = (uint16_t)domain;
    record->body[0] = counter;
    record->body[1] = word;
    if (kept) {
        record->body[2 + (kept - 1) / 8] = 0;
        memcpy(record->body + 2, bytes, kept);
    }
    record->ticks = agent_ticks();
    emit_commit(lane, record);
}
static void sample_int64(const void *domain, uint64_t counter, int64_t value)
{
    nvtx_extensions_sample(domain, counter, WIRE_SAMPLE_INT64, (uint64_t)value, NULL);
}
static void sample_float64(const void *domain, uint64_t counter, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    nvtx_extensions_sample(domain, counter, WIRE_SAMPLE_DOUBLE, bits, NULL);
}
static void sample_bytes(const void *domain, uint64_t counter, const void *value, size_t size)
{
    if (value)
        nvtx_extensions_sample(domain, counter, WIRE_SAMPLE_BYTES,
                               size < BINARY_WORDS_MAX * 8 ? size : BINARY_WORDS_MAX * 8, value);
}
static void sample_no_value(const void *domain, uint64_t counter, uint8_t reason)
{
    nvtx_extensions_sample(domain, counter, WIRE_SAMPLE_NO_VALUE, reason, NULL);
}

/* ---- Attaching ------------------------------------------------------------------------------------------------- */

#define CALL(number, name) { number, (abi_function)(uintptr_t)(name) }

/* Ids start at 0 here. Slots that are not filled (deferred events, batches, other clocks) stay no-ops. */
static const struct nvtx_callback payload_calls[] = {
    CALL(0, schema_register), CALL(1, enum_register),     CALL(2, mark_payload),
    CALL(3, push_payload),    CALL(4, pop_payload),       CALL(5, start_payload),
    CALL(6, end_payload),     CALL(7, domain_is_enabled), CALL(12, scope_register),
};
static const struct nvtx_callback counter_calls[] = {
    CALL(0, counter_register), CALL(1, sample_int64),    CALL(2, sample_float64),
    CALL(3, sample_bytes),     CALL(4, sample_no_value),
};
static const struct {
    enum abi_extension module;
    const struct nvtx_callback *calls;
    size_t count;
} extensions[] = {
    { ABI_EXTENSION_PAYLOAD, payload_calls, COUNT_OF(payload_calls) },
    { ABI_EXTENSION_COUNTERS, counter_calls, COUNT_OF(counter_calls) },
};

EXPORT int InitializeInjectionNvtxExtension(struct abi_extension_info *info);

/* The agent knows version 1 of each extension; 0 makes its calls no-ops. */
int InitializeInjectionNvtxExtension(struct abi_extension_info *info)
{
    agent_start();
    if (!agent_attached() || !(agent.sources & (WIRE_BIT(NVTX) | WIRE_BIT(LIBRARIES))) || !info ||
        info->size < sizeof *info || info->compatibility >> 8 != 1 || info->segment_count < 1 || !info->segments ||
        !info->segments->slots)
        return 0;
    for (size_t i = 0; i < COUNT_OF(extensions); i++) {
        if (extensions[i].module != info->module)
            continue;
        for (size_t call = 0; call < extensions[i].count; call++)
            if (extensions[i].calls[call].id < info->segments->slot_count)
                info->segments->slots[extensions[i].calls[call].id] = (intptr_t)extensions[i].calls[call].function;
        return 1;
    }
    return 0;
}
