/* Definitions from NVTX's extensions: schemas, enums, scopes, counters; and the samples of counters.
 *
 * Each description is written as a row at once, and is kept for decoding payloads. A sample of a counter that is not
 * described yet (the thread that did is drained later) is postponed. */
#include "nvtx_schema.h"

#include <stdlib.h>
#include <string.h>

#include "abi/nvtx_layout.h"
#include "base/array.h"
#include "base/map.h"
#include "collect/core/clock_map.h"
#include "wire/wire_nvtx.h"

#define SCHEMAS_MAX 65536u
#define COUNTERS_MAX 65536u
#define POSTPONED_MAX 4096u

struct nvtx_schema_counter {
    uint64_t key, schema;
    char *name;
};

struct postponed {
    int64_t tid;
    uint32_t words;
    struct wire_record *record; /* a copy */
};

struct schema_key {
    uint64_t key;               /* abi_schema_key() */
    struct nvtx_schema *schema; /* owned */
};
MAP(schema_map, struct schema_key, uint64_t, key, schema, hash_number, map_is_same_number)

struct nvtx_payload_state {
    struct schema_map schemas;
    struct nvtx_schema_counter *counters;
    size_t counter_count, counter_capacity;
    struct postponed *postponed;
    size_t postponed_count, postponed_capacity;
    size_t told; /* definitions since the samples were last retried */
};

static struct nvtx_schema *schema_make(struct nvtx_process *process, uint32_t domain, uint64_t id, int is_enum)
{
    struct schema_map *schemas = &process->payload->schemas;
    struct schema_key added = { .key = abi_schema_key(domain, id) };
    const struct schema_key *known = schema_map_find(schemas, added.key);
    if (known)
        return known->schema->is_enum == is_enum ? known->schema : NULL;
    if (schemas->count == SCHEMAS_MAX || !(added.schema = calloc(1, sizeof *added.schema)))
        return NULL;
    added.schema->is_enum = (uint8_t)is_enum;
    if (schema_map_add(schemas, &added))
        return added.schema;
    free(added.schema);
    return NULL;
}

const struct nvtx_schema *nvtx_schema_find(const struct nvtx_process *process, uint32_t domain, uint64_t id)
{
    const struct schema_key *known = process->payload
                                         ? schema_map_find(&process->payload->schemas, abi_schema_key(domain, id))
                                         : NULL;
    return known && known->schema->has_head && known->schema->seen >= known->schema->count ? known->schema : NULL;
}

/* Returns an empty entry; NULL if this one has come already, or when memory is short. */
static struct nvtx_entry *entry_make(struct nvtx_schema *schema, uint64_t index)
{
    if (index >= NVTX_ENTRIES_MAX || array_reserve_zeroed_up_to(&schema->entries, &schema->capacity, index + 1,
                                                                NVTX_ENTRIES_MAX, sizeof *schema->entries) != 0)
        return NULL;
    return schema->entries[index].name ? NULL : &schema->entries[index];
}

/* ---- Texts of a record: a name, and a description after its NUL ------------------------------------------------ */

struct nvtx_schema_texts {
    const char *name, *more;
    size_t name_length, more_length;
};

static struct nvtx_schema_texts nvtx_schema_texts_of(const struct wire_record *record, uint32_t at, uint32_t body)
{
    const char *bytes = (const char *)(record->body + at);
    size_t room = body > at ? (size_t)(body - at) * 8 : 0;
    struct nvtx_schema_texts texts = { .name = bytes, .name_length = strnlen(bytes, room) };
    if (texts.name_length < room) {
        texts.more = bytes + texts.name_length + 1;
        texts.more_length = strnlen(texts.more, room - texts.name_length - 1);
    }
    return texts;
}

static int64_t nvtx_schema_string_id(struct nvtx_process *process, const char *bytes, size_t length)
{
    return writer_string(process->writer, bytes, length);
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

static int schema_record(struct nvtx_process *process, const struct wire_record *record, uint32_t body)
{
    if (body < WIRE_SCHEMA_WORDS || record->body[WIRE_SCHEMA_ENTRIES] > NVTX_ENTRIES_MAX)
        return -1;
    const uint64_t *words = record->body;
    struct nvtx_schema_texts texts = nvtx_schema_texts_of(record, WIRE_SCHEMA_WORDS, body);
    struct nvtx_schema *schema = schema_make(process, record->a, words[WIRE_SCHEMA_ID], 0);
    if (schema && !schema->has_head) {
        schema->has_head = 1;
        schema->type = words[WIRE_SCHEMA_TYPE];
        schema->size = words[WIRE_SCHEMA_SIZE];
        schema->align = words[WIRE_SCHEMA_ALIGN];
        schema->count = (uint32_t)words[WIRE_SCHEMA_ENTRIES];
        if (schema->count > schema->capacity && schema->count > 0 && !entry_make(schema, schema->count - 1))
            schema->has_head = 0;
    }
    struct row_NVTX_PAYLOAD_SCHEMAS row = { 0 };
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMAS, domainId, record->a);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMAS, schemaId, (int64_t)words[WIRE_SCHEMA_ID]);
    if (texts.name_length)
        ROW_SET(&row, NVTX_PAYLOAD_SCHEMAS, name, nvtx_schema_string_id(process, texts.name, texts.name_length));
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMAS, type, (int64_t)words[WIRE_SCHEMA_TYPE]);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMAS, flags, (int64_t)words[WIRE_SCHEMA_FLAGS]);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMAS, numEntries, (int64_t)words[WIRE_SCHEMA_ENTRIES]);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMAS, payloadSize, (int64_t)words[WIRE_SCHEMA_SIZE]);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMAS, alignTo, (int64_t)words[WIRE_SCHEMA_ALIGN]);
    writer_append(process->writer, TABLE_NVTX_PAYLOAD_SCHEMAS, &row);
    return 0;
}

static int schema_entry_record(struct nvtx_process *process, const struct wire_record *record, uint32_t body)
{
    if (body < WIRE_ENTRY_WORDS)
        return -1;
    const uint64_t *words = record->body;
    struct nvtx_schema_texts texts = nvtx_schema_texts_of(record, WIRE_ENTRY_WORDS, body);
    struct nvtx_schema *schema = schema_make(process, record->a, words[WIRE_ENTRY_SCHEMA], 0);
    struct nvtx_entry *entry = schema ? entry_make(schema, words[WIRE_ENTRY_INDEX]) : NULL;
    if (entry && (entry->name = strndup(texts.name, texts.name_length))) {
        entry->flags = words[WIRE_ENTRY_FLAGS];
        entry->type = words[WIRE_ENTRY_TYPE];
        entry->detail = words[WIRE_ENTRY_DETAIL];
        entry->offset = words[WIRE_ENTRY_OFFSET];
        schema->seen++;
    }
    struct row_NVTX_PAYLOAD_SCHEMA_ENTRIES row = { 0 };
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, domainId, record->a);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, schemaId, (int64_t)words[WIRE_ENTRY_SCHEMA]);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, idx, (int64_t)words[WIRE_ENTRY_INDEX]);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, flags, (int64_t)words[WIRE_ENTRY_FLAGS]);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, type, (int64_t)words[WIRE_ENTRY_TYPE]);
    if (texts.name_length)
        ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, name, nvtx_schema_string_id(process, texts.name, texts.name_length));
    if (texts.more_length)
        ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, description,
                nvtx_schema_string_id(process, texts.more, texts.more_length));
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, arrayOrUnionDetail, (int64_t)words[WIRE_ENTRY_DETAIL]);
    ROW_SET(&row, NVTX_PAYLOAD_SCHEMA_ENTRIES, offset, (int64_t)words[WIRE_ENTRY_OFFSET]);
    writer_append(process->writer, TABLE_NVTX_PAYLOAD_SCHEMA_ENTRIES, &row);
    return 0;
}

static int enum_record(struct nvtx_process *process, const struct wire_record *record, uint32_t body)
{
    if (body < WIRE_ENUM_WORDS || record->body[WIRE_ENUM_ENTRIES] > NVTX_ENTRIES_MAX)
        return -1;
    const uint64_t *words = record->body;
    struct nvtx_schema_texts texts = nvtx_schema_texts_of(record, WIRE_ENUM_WORDS, body);
    struct nvtx_schema *schema = schema_make(process, record->a, words[WIRE_ENUM_ID], 1);
    if (schema && !schema->has_head) {
        schema->has_head = 1;
        schema->size = words[WIRE_ENUM_SIZE];
        schema->count = (uint32_t)words[WIRE_ENUM_ENTRIES];
        if (schema->count > schema->capacity && schema->count > 0 && !entry_make(schema, schema->count - 1))
            schema->has_head = 0;
    }
    struct row_NVTX_PAYLOAD_ENUMS row = { 0 };
    ROW_SET(&row, NVTX_PAYLOAD_ENUMS, domainId, record->a);
    ROW_SET(&row, NVTX_PAYLOAD_ENUMS, schemaId, (int64_t)words[WIRE_ENUM_ID]);
    if (texts.name_length)
        ROW_SET(&row, NVTX_PAYLOAD_ENUMS, name, nvtx_schema_string_id(process, texts.name, texts.name_length));
    ROW_SET(&row, NVTX_PAYLOAD_ENUMS, numEntries, (int64_t)words[WIRE_ENUM_ENTRIES]);
    ROW_SET(&row, NVTX_PAYLOAD_ENUMS, size, (int64_t)words[WIRE_ENUM_SIZE]);
    writer_append(process->writer, TABLE_NVTX_PAYLOAD_ENUMS, &row);
    return 0;
}

static int enum_entry_record(struct nvtx_process *process, const struct wire_record *record, uint32_t body)
{
    if (body < WIRE_ENUM_ENTRY_WORDS)
        return -1;
    const uint64_t *words = record->body;
    struct nvtx_schema_texts texts = nvtx_schema_texts_of(record, WIRE_ENUM_ENTRY_WORDS, body);
    struct nvtx_schema *schema = schema_make(process, record->a, words[WIRE_ENUM_ENTRY_ENUM], 1);
    struct nvtx_entry *entry = schema ? entry_make(schema, words[WIRE_ENUM_ENTRY_INDEX]) : NULL;
    if (entry && (entry->name = strndup(texts.name, texts.name_length))) {
        entry->detail = words[WIRE_ENUM_ENTRY_VALUE];
        entry->flags = words[WIRE_ENUM_ENTRY_FLAG] != 0;
        schema->seen++;
    }
    struct row_NVTX_PAYLOAD_ENUM_ENTRIES row = { 0 };
    ROW_SET(&row, NVTX_PAYLOAD_ENUM_ENTRIES, domainId, record->a);
    ROW_SET(&row, NVTX_PAYLOAD_ENUM_ENTRIES, schemaId, (int64_t)words[WIRE_ENUM_ENTRY_ENUM]);
    ROW_SET(&row, NVTX_PAYLOAD_ENUM_ENTRIES, idx, (int64_t)words[WIRE_ENUM_ENTRY_INDEX]);
    if (texts.name_length)
        ROW_SET(&row, NVTX_PAYLOAD_ENUM_ENTRIES, name, nvtx_schema_string_id(process, texts.name, texts.name_length));
    ROW_SET(&row, NVTX_PAYLOAD_ENUM_ENTRIES, value, (int64_t)words[WIRE_ENUM_ENTRY_VALUE]);
    ROW_SET(&row, NVTX_PAYLOAD_ENUM_ENTRIES, isFlag, words[WIRE_ENUM_ENTRY_FLAG] != 0);
    writer_append(process->writer, TABLE_NVTX_PAYLOAD_ENUM_ENTRIES, &row);
    return 0;
}

static int scope_record(struct nvtx_process *process, const struct wire_record *record, uint32_t body)
{
    if (body < WIRE_SCOPE_WORDS)
        return -1;
    struct nvtx_schema_texts texts = nvtx_schema_texts_of(record, WIRE_SCOPE_WORDS, body);
    struct row_NVTX_SCOPES row = { 0 };
    ROW_SET(&row, NVTX_SCOPES, domainId, record->a);
    ROW_SET(&row, NVTX_SCOPES, scopeId, (int64_t)record->body[WIRE_SCOPE_ID]);
    ROW_SET(&row, NVTX_SCOPES, parentScopeId, (int64_t)record->body[WIRE_SCOPE_PARENT]);
    ROW_SET(&row, NVTX_SCOPES, path, nvtx_schema_string_id(process, texts.name, texts.name_length));
    writer_append(process->writer, TABLE_NVTX_SCOPES, &row);
    return 0;
}

/* ---- Counters -------------------------------------------------------------------------------------------------- */

static const struct nvtx_schema_counter *counter_find(const struct nvtx_payload_state *state, uint32_t domain,
                                                      uint64_t id)
{
    for (size_t i = 0; i < state->counter_count; i++)
        if (state->counters[i].key == abi_schema_key(domain, id))
            return &state->counters[i];
    return NULL;
}

static int counter_record(struct nvtx_process *process, const struct wire_record *record, uint32_t body)
{
    struct nvtx_payload_state *state = process->payload;
    if (body < WIRE_COUNTER_WORDS)
        return -1;
    if (counter_find(state, record->a, record->body[WIRE_COUNTER_ID]) ||
        array_reserve_up_to(&state->counters, &state->counter_capacity, state->counter_count + 1, COUNTERS_MAX,
                            sizeof *state->counters) != 0)
        return 0;
    struct nvtx_schema_texts texts = nvtx_schema_texts_of(record, WIRE_COUNTER_WORDS, body);
    char *name = strndup(texts.name, texts.name_length);
    if (name)
        state->counters[state->counter_count++] = (struct nvtx_schema_counter){
            .key = abi_schema_key(record->a, record->body[WIRE_COUNTER_ID]),
            .schema = record->body[WIRE_COUNTER_SCHEMA],
            .name = name,
        };
    return 0;
}

struct nvtx_schema_sample {
    struct nvtx_process *process;
    const struct wire_record *record;
    int64_t tid;
};

/* The value of one counter; integer: `whole` has it, too. */
struct nvtx_schema_number {
    int known, integer;
    double real;
    int64_t whole;
};

static void nvtx_schema_counter_row(const struct nvtx_schema_sample *sample, int64_t name,
                                    const struct nvtx_schema_number *number)
{
    struct row_TACHO_COUNTER row = { 0 };
    ROW_SET(&row, TACHO_COUNTER, timestamp, clock_map_time(sample->process->clock, sample->record->ticks));
    ROW_SET(&row, TACHO_COUNTER, globalTid, sample->tid);
    ROW_SET(&row, TACHO_COUNTER, domainId, sample->record->a);
    ROW_SET(&row, TACHO_COUNTER, counterId, (int64_t)sample->record->body[0]);
    ROW_SET(&row, TACHO_COUNTER, nameId, name);
    if (number->known)
        ROW_SET(&row, TACHO_COUNTER, value, number->integer ? (double)number->whole : number->real);
    if (number->known && number->integer)
        ROW_SET(&row, TACHO_COUNTER, intValue, number->whole);
    writer_append(sample->process->writer, TABLE_TACHO_COUNTER, &row);
}

/* Reads a number of one of NVTX's own types out of a sample's bytes. */
static struct nvtx_schema_number nvtx_schema_read_number(uint64_t type, const unsigned char *bytes, size_t room)
{
    struct nvtx_schema_number number = { 0 };
    uint32_t size = abi_type_size(type);
    if (size == 0 || size > 8 || size > room)
        return number;
    number.known = 1;
    if (type == 19 || type == 43) { /* float */
        float single;
        memcpy(&single, bytes, sizeof single);
        number.real = single;
    } else if (type == 20 || type == 44) {
        memcpy(&number.real, bytes, sizeof number.real);
    } else if (type >= 42 && type <= 52) { /* half precision and rarer formats: not read */
        number.known = 0;
    } else {
        uint64_t bits = 0;
        memcpy(&bits, bytes, size);
        int is_signed = type == 1 || (type <= 17 && type % 2 == 1); /* char, then every other integer type */
        unsigned shift = 64 - size * 8;
        number.integer = 1;
        number.whole = is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
    }
    return number;
}

static void sample_group(const struct nvtx_schema_sample *sample, const struct nvtx_schema_counter *counter,
                         const struct nvtx_schema *schema, size_t bytes)
{
    struct abi_layout layout = { .pack = schema->align, .is_union = abi_is_union(schema->type) };
    for (uint32_t i = 0; i < schema->count && i < schema->capacity; i++) {
        const struct nvtx_entry *entry = &schema->entries[i];
        uint32_t size = abi_type_size(entry->type);
        if (size == 0 || !entry->name || (entry->flags & (ABI_ENTRY_ARRAY | ABI_ENTRY_POINTER)))
            return;
        uint64_t at = abi_layout_place(&layout, entry->offset, size);
        if (at > bytes || size > bytes - at)
            return;
        struct nvtx_schema_number number = nvtx_schema_read_number(entry->type,
                                                                   (const unsigned char *)(sample->record->body + 2) +
                                                                       at,
                                                                   bytes - at);
        struct text name = { 0 };
        text_addf(&name, "%s/%s", counter->name, entry->name);
        nvtx_schema_counter_row(sample, nvtx_schema_string_id(sample->process, text_string(&name), name.length),
                                &number);
        text_free(&name);
        abi_layout_fill(&layout, at + size);
    }
}

/* Returns 0, -1 if the record is malformed, or 1 if its counter or schema is not known yet. */
static int sample_record(const struct nvtx_schema_sample *sample, uint32_t body, int force)
{
    const struct wire_record *record = sample->record;
    struct nvtx_process *process = sample->process;
    if (body < 2 || record->flags < WIRE_SAMPLE_INT64 || record->flags > WIRE_SAMPLE_NO_VALUE)
        return -1;
    const struct nvtx_schema_counter *counter = counter_find(process->payload, record->a, record->body[0]);
    const struct nvtx_schema *schema = counter ? nvtx_schema_find(process, record->a, counter->schema) : NULL;
    int group = counter && !abi_type_size(counter->schema);
    if (!force && (!counter || (group && record->flags == WIRE_SAMPLE_BYTES && !schema)))
        return 1;
    process->counts.recorded++;
    size_t bytes = record->flags == WIRE_SAMPLE_BYTES && record->body[1] <= (uint64_t)(body - 2) * 8 ? record->body[1]
                                                                                                     : 0;
    if (counter && schema && bytes) {
        sample_group(sample, counter, schema, bytes);
        return 0;
    }
    struct nvtx_schema_number number = {
        .known = record->flags == WIRE_SAMPLE_INT64 || record->flags == WIRE_SAMPLE_DOUBLE,
        .integer = record->flags == WIRE_SAMPLE_INT64,
        .whole = (int64_t)record->body[1],
    };
    if (record->flags == WIRE_SAMPLE_DOUBLE)
        memcpy(&number.real, &record->body[1], sizeof number.real);
    else if (record->flags == WIRE_SAMPLE_BYTES && counter)
        number = nvtx_schema_read_number(counter->schema, (const unsigned char *)(record->body + 2), bytes);
    struct text name = { 0 };
    if (counter)
        text_add(&name, counter->name);
    else
        text_addf(&name, "counter %llu", (unsigned long long)record->body[0]);
    nvtx_schema_counter_row(sample, nvtx_schema_string_id(process, text_string(&name), name.length), &number);
    text_free(&name);
    return 0;
}

static void postpone(struct nvtx_payload_state *state, const struct nvtx_schema_sample *sample, uint32_t words)
{
    int has_room = array_reserve_up_to(&state->postponed, &state->postponed_capacity, state->postponed_count + 1,
                                       POSTPONED_MAX, sizeof *state->postponed) == 0;
    struct wire_record *copy = has_room ? malloc((size_t)words * 8) : NULL;
    if (!copy) {
        sample_record(sample, words - WIRE_HEAD_WORDS, 1);
        return;
    }
    memcpy(copy, sample->record, (size_t)words * 8);
    state->postponed[state->postponed_count++] = (struct postponed){
        .tid = sample->tid,
        .words = words,
        .record = copy,
    };
}

/* Retries only once in a while, as with waiting rows. */
static void retry(struct nvtx_process *process, int force)
{
    struct nvtx_payload_state *state = process->payload;
    size_t kept = 0;
    if (!force && ++state->told * 16 < state->postponed_count)
        return;
    state->told = 0;
    for (size_t i = 0; i < state->postponed_count; i++) {
        struct postponed *one = &state->postponed[i];
        struct nvtx_schema_sample sample = { .process = process, .record = one->record, .tid = one->tid };
        if (sample_record(&sample, one->words - WIRE_HEAD_WORDS, force) == 1)
            state->postponed[kept++] = *one;
        else
            free(one->record);
    }
    state->postponed_count = kept;
}

static int nvtx_schema_describe(struct nvtx_process *process, const struct wire_record *record, uint32_t body)
{
    switch (record->type) {
    case WIRE_NVTX_SCHEMA: return schema_record(process, record, body);
    case WIRE_NVTX_SCHEMA_ENTRY: return schema_entry_record(process, record, body);
    case WIRE_NVTX_ENUM: return enum_record(process, record, body);
    case WIRE_NVTX_ENUM_ENTRY: return enum_entry_record(process, record, body);
    case WIRE_NVTX_SCOPE: return scope_record(process, record, body);
    case WIRE_NVTX_COUNTER: return counter_record(process, record, body);
    default: return -1;
    }
}

int nvtx_payload_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words)
{
    struct nvtx_process *process = thread->process;
    uint32_t body = words - WIRE_HEAD_WORDS;
    if (!process->payload && !(process->payload = calloc(1, sizeof *process->payload)))
        return 0;
    if (record->type == WIRE_NVTX_SAMPLE) {
        struct nvtx_schema_sample sample = { .process = process, .record = record, .tid = thread->tid };
        int result = sample_record(&sample, body, 0);
        if (result == 1)
            postpone(process->payload, &sample, words);
        return result == -1 ? -1 : 0;
    }
    int result = nvtx_schema_describe(process, record, body);
    if (process->payload->postponed_count)
        retry(process, 0);
    if (process->waiting_count)
        nvtx_write_waiting(process, 0);
    return result;
}

void nvtx_payload_finish(struct nvtx_process *process)
{
    struct nvtx_payload_state *state = process->payload;
    if (!state)
        return;
    retry(process, 1);
    for (const struct schema_key *known = schema_map_next(&state->schemas, NULL); known;
         known = schema_map_next(&state->schemas, known)) {
        for (size_t entry = 0; entry < known->schema->capacity; entry++)
            free(known->schema->entries[entry].name);
        free(known->schema->entries);
        free(known->schema);
    }
    for (size_t i = 0; i < state->counter_count; i++)
        free(state->counters[i].name);
    schema_map_free(&state->schemas);
    free(state->counters);
    free(state->postponed);
    free(state);
    process->payload = NULL;
}
