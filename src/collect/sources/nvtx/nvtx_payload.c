/* Decodes structured payloads into JSON, according to their schemas.
 *
 * Both the bytes and the schemas come from the program: every offset and length is checked, nesting and output are
 * bounded, and a value that cannot be read becomes null. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nvtx_layout.h"
#include "nvtx_schema.h"

#define DEPTH_MAX 16
#define JSON_MAX 65536u
#define HEX_MAX 65536u
#define ELEMENTS_MAX 65536u
#define BUDGET 100000

struct nvtx_payload_reading {
    const struct nvtx_process *process;
    struct nvtx_event *event;
    const struct nvtx_part *part; /* the payload being read; parts after it hold the targets of its pointers */
    struct text *json;
    int depth;
    /* Entries that may still be read. Schemas can refer to each other without end. */
    int budget;
};

/* A part of the payload: offsets count from the schema's own first byte. */
struct nvtx_payload_span {
    const unsigned char *bytes;
    size_t length;
};

static const struct nvtx_schema *nvtx_payload_find(const struct nvtx_payload_reading *reading, uint64_t id)
{
    return nvtx_schema_find(reading->process, reading->event->domain, id);
}

static int full(const struct nvtx_payload_reading *reading)
{
    return reading->json->length > JSON_MAX;
}

/* ---- Text ------------------------------------------------------------------------------------------------------ */

static void nvtx_payload_add_character(struct text *json, uint32_t code)
{
    char bytes[4];
    if (code == '"' || code == '\\')
        text_addf(json, "\\%c", (char)code);
    else if (code < 0x20)
        text_addf(json, "\\u%04x", code);
    else if (code < 0x80)
        text_add_char(json, (char)code);
    else if (code < 0x800) {
        bytes[0] = (char)(0xC0 | code >> 6), bytes[1] = (char)(0x80 | (code & 63));
        text_add_bytes(json, bytes, 2);
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xE0 | code >> 12), bytes[1] = (char)(0x80 | (code >> 6 & 63)),
        bytes[2] = (char)(0x80 | (code & 63));
        text_add_bytes(json, bytes, 3);
    } else {
        bytes[0] = (char)(0xF0 | code >> 18), bytes[1] = (char)(0x80 | (code >> 12 & 63));
        bytes[2] = (char)(0x80 | (code >> 6 & 63)), bytes[3] = (char)(0x80 | (code & 63));
        text_add_bytes(json, bytes, 4);
    }
}

/* Decodes the code point at the start of UTF-8 bytes; *used: its length. U+FFFD and one byte if it is invalid. */
static uint32_t utf8_code(const unsigned char *bytes, size_t room, size_t *used)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = bytes[0] < 0x80       ? 1
                    : bytes[0] >> 5 == 6  ? 2
                    : bytes[0] >> 4 == 14 ? 3
                    : bytes[0] >> 3 == 30 ? 4
                                          : 0;
    *used = 1;
    if (length == 0 || length > room)
        return 0xFFFD;
    uint32_t code = length == 1 ? bytes[0] : bytes[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (bytes[i] >> 6 != 2)
            return 0xFFFD;
        code = code << 6 | (bytes[i] & 63);
    }
    if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return 0xFFFD;
    *used = length;
    return code;
}

static uint32_t wide_code(const unsigned char *bytes, size_t room, uint32_t unit, size_t *used)
{
    uint16_t half = 0, other = 0;
    uint32_t code = 0;
    *used = unit;
    if (unit == 4) {
        memcpy(&code, bytes, 4);
        return code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0xFFFD : code;
    }
    memcpy(&half, bytes, 2);
    if (half < 0xD800 || half >= 0xE000)
        return half;
    if (half >= 0xDC00 || room < 4)
        return 0xFFFD;
    memcpy(&other, bytes + 2, 2);
    if (other < 0xDC00 || other >= 0xE000)
        return 0xFFFD;
    *used = 4;
    return 0x10000 + ((uint32_t)(half - 0xD800) << 10 | (uint32_t)(other - 0xDC00));
}

/* Adds the characters up to a zero or the end, in quotes. */
static void nvtx_payload_add_string(struct text *json, const unsigned char *bytes, size_t length, uint32_t unit)
{
    text_add_char(json, '"');
    for (size_t at = 0, used; at + unit <= length && json->length <= JSON_MAX; at += used) {
        uint32_t code = unit == 1 ? utf8_code(bytes + at, length - at, &used)
                                  : wide_code(bytes + at, length - at, unit, &used);
        if (code == 0)
            break;
        nvtx_payload_add_character(json, code);
    }
    text_add_char(json, '"');
}

/* The length in bytes up to a zero unit or the end. */
static size_t terminated(const unsigned char *bytes, size_t length, uint32_t unit)
{
    size_t at = 0;
    for (; at + unit <= length; at += unit) {
        uint32_t i = 0;
        while (i < unit && bytes[at + i] == 0)
            i++;
        if (i == unit)
            break;
    }
    return at;
}

/* ---- Single values --------------------------------------------------------------------------------------------- */

static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

static void nvtx_payload_add_real(struct text *json, double value, int digits)
{
    if (isfinite(value))
        text_addf(json, "%.*g", digits, value);
    else
        text_add(json, isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
}

static uint64_t unsigned_at(const unsigned char *bytes, uint32_t size)
{
    uint64_t value = 0;
    memcpy(&value, bytes, size <= 8 ? size : 8);
    return value;
}

static int64_t signed_at(const unsigned char *bytes, uint32_t size)
{
    unsigned shift = 64 - (size <= 8 ? size : 8) * 8;
    return (int64_t)(unsigned_at(bytes, size) << shift) >> shift;
}

static void add_float(struct text *json, uint64_t type, const unsigned char *bytes)
{
    float single = 0;
    double real = 0;
    long double wide = 0;
    uint32_t bits;
    switch (type) {
    case 19:
    case 43:
    case 52:
        memcpy(&single, bytes, 4);
        nvtx_payload_add_real(json, (double)single, 9);
        break;
    case 20:
    case 44:
        memcpy(&real, bytes, 8);
        nvtx_payload_add_real(json, real, 17);
        break;
    case 21:
    case 45:
        memcpy(&wide, bytes, sizeof wide);
        nvtx_payload_add_real(json, type == 21 ? (double)wide : NAN, 17);
        break;
    case 42: nvtx_payload_add_real(json, half_to_double((uint16_t)unsigned_at(bytes, 2)), 5); break;
    default: /* bf16: the upper half of a float */
        bits = (uint32_t)unsigned_at(bytes, 2) << 16;
        memcpy(&single, &bits, 4);
        nvtx_payload_add_real(json, (double)single, 4);
    }
}

/* Adds a registered string, whose id is the lower half of the handle. */
static void add_registered(const struct nvtx_payload_reading *reading, uint64_t handle, struct nvtx_event *message_of)
{
    uint32_t id = (uint32_t)handle;
    if (nvtx_string(reading->process, id) < 0) {
        text_add(reading->json, "null");
        return;
    }
    if (message_of && !(message_of->flags & (WIRE_NVTX_HAS_TEXT | WIRE_NVTX_REGISTERED))) {
        message_of->flags |= WIRE_NVTX_REGISTERED;
        message_of->string = id;
    }
    const char *text = reading->process->strings[id].text;
    nvtx_payload_add_string(reading->json, (const unsigned char *)(text ? text : ""), text ? strlen(text) : 0, 1);
}

/* Adds a value of one of NVTX's own types, which have fixed sizes. */
static void nvtx_payload_add_value(const struct nvtx_payload_reading *reading, uint64_t type,
                                   const unsigned char *bytes)
{
    struct text *json = reading->json;
    uint32_t size = abi_type_size(type);
    if ((type >= 19 && type <= 21) || (type >= 42 && type <= 52))
        add_float(json, type, bytes);
    else if (type == 23)
        text_addf(json, "\"0x%" PRIx64 "\"", unsigned_at(bytes, 8));
    else if (type == 33 || type == 34)
        text_addf(json, "\"0x%016" PRIx64 "%016" PRIx64 "\"", unsigned_at(bytes + 8, 8), unsigned_at(bytes, 8));
    else if (type == ABI_TYPE_REGISTERED)
        add_registered(reading, unsigned_at(bytes, 8), NULL);
    else if (type == 1 || (type >= 24 && type <= 27))
        nvtx_payload_add_string(json, bytes, size, size == 1 ? 1 : size);
    else if (type <= 17 && type % 2 == 1)
        text_addf(json, "%" PRId64, signed_at(bytes, size));
    else
        text_addf(json, "%" PRIu64, unsigned_at(bytes, size));
}

static void add_enum(struct text *json, const struct nvtx_schema *schema, uint64_t value)
{
    for (uint32_t i = 0; i < schema->count && i < schema->capacity; i++)
        if (schema->entries[i].name && schema->entries[i].detail == value) {
            nvtx_payload_add_string(json, (const unsigned char *)schema->entries[i].name,
                                    strlen(schema->entries[i].name), 1);
            return;
        }
    struct text names = { 0 };
    uint64_t rest = value;
    for (uint32_t i = 0; i < schema->count && i < schema->capacity; i++) {
        const struct nvtx_entry *entry = &schema->entries[i];
        if (!entry->name || !entry->flags || !entry->detail || (rest & entry->detail) != entry->detail)
            continue;
        text_addf(&names, "%s%s", names.length ? "|" : "", entry->name);
        rest &= ~entry->detail;
    }
    if (names.length && rest)
        text_addf(&names, "|0x%" PRIx64, rest);
    if (names.length)
        nvtx_payload_add_string(json, (const unsigned char *)text_string(&names), names.length, 1);
    else
        text_addf(json, "%" PRIu64, value);
    text_free(&names);
}

/* ---- Entries --------------------------------------------------------------------------------------------------- */

static size_t nvtx_payload_add_schema(struct nvtx_payload_reading *reading, const struct nvtx_schema *schema,
                                      struct nvtx_payload_span span, uint64_t selected);

/* The size of one element of a type in place; 0 if it is not fixed. */
static uint64_t element_size(const struct nvtx_payload_reading *reading, uint64_t type)
{
    uint32_t size = abi_is_string(type) ? abi_character_size(type) : abi_type_size(type);
    const struct nvtx_schema *schema = size ? NULL : nvtx_payload_find(reading, type);
    if (!schema)
        return size;
    return schema->size < UINT32_MAX ? schema->size : 0;
}

static uint64_t alignment(struct nvtx_payload_reading *reading, const struct nvtx_entry *entry, int depth)
{
    const struct nvtx_schema *schema = abi_is_nested(entry->type, entry->flags)
                                           ? nvtx_payload_find(reading, entry->type)
                                           : NULL;
    struct abi_extent nested = ABI_UNKNOWN_EXTENT;

    if (schema && schema->is_enum) {
        nested = abi_enum_extent(schema->size);
    } else if (schema) {
        struct abi_layout layout = { .pack = schema->align };
        for (uint32_t i = 0; i < schema->count && i < schema->capacity && depth < 4 && reading->budget-- > 0; i++)
            abi_layout_place(&layout, 0, alignment(reading, &schema->entries[i], depth + 1));
        nested = abi_layout_extent(&layout);
    }
    return abi_entry_extent(entry->type, entry->flags, entry->detail, nested).align;
}

/* Adds one element and returns its size in bytes; 0 if it is not there. */
static size_t add_element(struct nvtx_payload_reading *reading, uint64_t type, struct nvtx_payload_span span,
                          uint64_t selected)
{
    uint32_t size = abi_type_size(type);
    const struct nvtx_schema *schema = size ? NULL : nvtx_payload_find(reading, type);
    if (size && size <= span.length) {
        nvtx_payload_add_value(reading, type, span.bytes);
        return size;
    }
    if (schema && schema->is_enum && schema->size >= 1 && schema->size <= 8 && schema->size <= span.length) {
        add_enum(reading->json, schema, unsigned_at(span.bytes, (uint32_t)schema->size));
        return schema->size;
    }
    if (schema && !schema->is_enum)
        return nvtx_payload_add_schema(reading, schema, span, selected);
    text_add(reading->json, "null");
    return 0;
}

static size_t add_array(struct nvtx_payload_reading *reading, uint64_t type, struct nvtx_payload_span span,
                        uint64_t count, int until_zero)
{
    size_t at = 0;
    text_add_char(reading->json, '[');
    for (uint64_t i = 0; i < count && i < ELEMENTS_MAX && at < span.length && !full(reading) && reading->budget-- > 0;
         i++) {
        uint64_t size = element_size(reading, type);
        if (until_zero && size && size <= span.length - at &&
            terminated(span.bytes + at, size, (uint32_t)(size <= 16 ? size : 1)) == 0) {
            at += size;
            break;
        }
        if (i)
            text_add_char(reading->json, ',');
        size_t used = add_element(reading, type, (struct nvtx_payload_span){ span.bytes + at, span.length - at }, 0);
        if (used == 0)
            break;
        at += used;
    }
    text_add_char(reading->json, ']');
    return at;
}

/* Adds the data of an entry, which lies in its place or behind its pointer. `numbers`: the integers read so far, by
 * entry. */
static size_t add_data(struct nvtx_payload_reading *reading, const struct nvtx_entry *entry,
                       struct nvtx_payload_span span, const uint64_t *numbers, uint32_t index)
{
    uint64_t array = entry->flags & ABI_ENTRY_ARRAY;
    uint64_t count = array == ABI_ENTRY_LENGTH_INDEX ? (entry->detail < index ? numbers[entry->detail] : 0)
                                                     : entry->detail;
    if (abi_is_string(entry->type)) {
        uint32_t unit = abi_character_size(entry->type);
        size_t length = span.length;
        int is_terminated = array == ABI_ENTRY_ZERO_TERMINATED || (!array && entry->detail == 0);
        if (is_terminated)
            length = terminated(span.bytes, span.length, unit);
        else if (count < span.length / unit)
            length = (size_t)count * unit;
        nvtx_payload_add_string(reading->json, span.bytes, length, unit);
        return is_terminated && length + unit <= span.length ? length + unit : length;
    }
    if (!array)
        return add_element(reading, entry->type, span, entry->detail < index ? numbers[entry->detail] : 0);
    if ((entry->type == 1 || entry->type == 25) && array != ABI_ENTRY_PAYLOAD_INDEX) { /* characters: a text */
        size_t length = array == ABI_ENTRY_ZERO_TERMINATED ? terminated(span.bytes, span.length, 1) : span.length;
        length = array != ABI_ENTRY_ZERO_TERMINATED && count < length ? (size_t)count : length;
        nvtx_payload_add_string(reading->json, span.bytes, length, 1);
        return length + (array == ABI_ENTRY_ZERO_TERMINATED && length < span.length);
    }
    return add_array(reading, entry->type, span, array == ABI_ENTRY_ZERO_TERMINATED ? ELEMENTS_MAX : count,
                     array == ABI_ENTRY_ZERO_TERMINATED);
}

/* The target of the pointer at this offset of the payload, if the agent has copied it. */
static const struct nvtx_part *pointed(const struct nvtx_payload_reading *reading, uint64_t offset)
{
    const struct nvtx_part *part = reading->depth == 1 && reading->part ? reading->part->next : NULL;
    for (; part && part->pointed; part = part->next)
        if (part->id == offset)
            return part;
    return NULL;
}

static size_t add_pointer(struct nvtx_payload_reading *reading, const struct nvtx_entry *entry,
                          struct nvtx_payload_span span, uint64_t offset, const uint64_t *numbers, uint32_t index)
{
    uint64_t address = unsigned_at(span.bytes, 8);
    const struct nvtx_part *part = pointed(reading, offset);
    if (part)
        add_data(reading, entry, (struct nvtx_payload_span){ part->data, part->bytes }, numbers, index);
    else if (address == 0)
        text_add(reading->json, "null");
    else
        text_addf(reading->json, "\"0x%" PRIx64 "\"", address);
    return 8;
}

/* Takes a category and a colour from the payload as those of the event. */
static void take_attributes(struct nvtx_event *event, const struct nvtx_entry *entry, struct nvtx_payload_span span)
{
    if (span.length < 4)
        return;
    if (entry->type == ABI_TYPE_CATEGORY && !(event->flags & WIRE_NVTX_HAS_CATEGORY) && unsigned_at(span.bytes, 4)) {
        event->flags |= WIRE_NVTX_HAS_CATEGORY;
        event->category = (uint32_t)unsigned_at(span.bytes, 4);
    } else if (entry->type == ABI_TYPE_COLOR && !(event->flags & WIRE_NVTX_HAS_COLOR)) {
        event->flags |= WIRE_NVTX_HAS_COLOR;
        event->color = (uint32_t)unsigned_at(span.bytes, 4);
    }
}

/* Takes a string as the event's message, out of the JSON that was just written from `from` on, without its quotes. */
static void take_message(struct nvtx_payload_reading *reading, size_t from)
{
    struct nvtx_event *event = reading->event;
    const char *bytes = text_string(reading->json) + from;
    size_t length = reading->json->length - from;
    if (length < 2 || bytes[0] != '"' || (event->flags & (WIRE_NVTX_HAS_TEXT | WIRE_NVTX_REGISTERED)) ||
        memchr(bytes, '\\', length))
        return;
    event->flags |= WIRE_NVTX_HAS_TEXT;
    event->text = writer_string(reading->process->writer, bytes + 1, length - 2);
}

static size_t nvtx_payload_add_entry(struct nvtx_payload_reading *reading, const struct nvtx_entry *entry,
                                     struct nvtx_payload_span span, uint64_t offset, uint64_t *numbers, uint32_t index)
{
    size_t from = reading->json->length, used;
    int is_message = (entry->flags & ABI_ENTRY_MEANING) == ABI_ENTRY_MESSAGE;
    uint32_t size = abi_type_size(entry->type);
    if (abi_is_pointer(entry->type, entry->flags, entry->detail)) {
        used = span.length >= 8 ? add_pointer(reading, entry, span, offset, numbers, index) : 0;
    } else if (is_message && entry->type == ABI_TYPE_REGISTERED && span.length >= 8) {
        add_registered(reading, unsigned_at(span.bytes, 8), reading->event);
        used = 8;
    } else {
        take_attributes(reading->event, entry, span);
        used = add_data(reading, entry, span, numbers, index);
        if (!(entry->flags & ABI_ENTRY_ARRAY) && size && size <= 8 && size <= span.length)
            numbers[index] = unsigned_at(span.bytes, size);
        else if ((entry->flags & ABI_ENTRY_ARRAY) == ABI_ENTRY_FIXED && size && size <= 8) { /* dimensions */
            numbers[index] = 1;
            for (uint64_t i = 0; i < entry->detail && i < 8 && (i + 1) * size <= span.length; i++)
                if (__builtin_mul_overflow(numbers[index], unsigned_at(span.bytes + i * size, size), &numbers[index]))
                    numbers[index] = ELEMENTS_MAX;
        }
    }
    if (is_message)
        take_message(reading, from);
    if (used == 0 && reading->json->length == from)
        text_add(reading->json, "null");
    return used;
}

static void nvtx_payload_add_name(struct text *json, const struct nvtx_entry *entry, uint32_t index)
{
    if (entry->name[0])
        nvtx_payload_add_string(json, (const unsigned char *)entry->name, strlen(entry->name), 1);
    else
        text_addf(json, "\"%u\"", index);
    text_add_char(json, ':');
}

/* The selected member of a union: given from outside, or by an entry of its own. */
static uint64_t nvtx_payload_member(const struct nvtx_schema *schema, struct nvtx_payload_span span, uint64_t selected)
{
    if (schema->type != ABI_SCHEMA_TYPE_UNION_INTERNAL)
        return selected;
    for (uint32_t i = 0; i < schema->count && i < schema->capacity; i++) {
        const struct nvtx_entry *entry = &schema->entries[i];
        if (entry->name && entry->type == ABI_TYPE_SELECTOR && entry->offset + 4 <= span.length &&
            entry->offset < span.length)
            return unsigned_at(span.bytes + entry->offset, 4);
    }
    return UINT64_MAX;
}

/* Adds a value of a schema and returns its whole size in bytes. */
static size_t nvtx_payload_add_schema(struct nvtx_payload_reading *reading, const struct nvtx_schema *schema,
                                      struct nvtx_payload_span span, uint64_t selected)
{
    if (reading->depth >= DEPTH_MAX || full(reading)) {
        text_add(reading->json, "null");
        return 0;
    }
    reading->depth++;
    struct abi_layout layout = { .pack = schema->align, .is_union = abi_is_union(schema->type) };
    uint64_t only = layout.is_union ? nvtx_payload_member(schema, span, selected) : 0;
    uint64_t *numbers = calloc(schema->count ? schema->count : 1, sizeof *numbers);
    const char *comma = "";
    text_add_char(reading->json, '{');
    for (uint32_t i = 0;
         numbers && i < schema->count && i < schema->capacity && !full(reading) && reading->budget-- > 0; i++) {
        const struct nvtx_entry *entry = &schema->entries[i];
        if (!entry->name || (layout.is_union && i != only))
            continue;
        uint64_t offset = abi_layout_place(&layout, entry->offset, alignment(reading, entry, 0));
        if (offset > span.length)
            break;
        if (!(entry->flags & ABI_ENTRY_HIDE)) {
            text_add(reading->json, comma);
            nvtx_payload_add_name(reading->json, entry, i);
            comma = ",";
        }
        size_t before = reading->json->length;
        struct nvtx_payload_span rest = { span.bytes + offset, span.length - offset };
        abi_layout_fill(&layout, offset + nvtx_payload_add_entry(reading, entry, rest, offset, numbers, i));
        if (entry->flags & ABI_ENTRY_HIDE && reading->json->bytes)
            reading->json->length = before, reading->json->bytes[before] = 0;
    }
    text_add_char(reading->json, '}');
    free(numbers);
    reading->depth--;
    uint64_t size = schema->size && schema->type != ABI_SCHEMA_TYPE_DYNAMIC ? schema->size
                                                                            : abi_layout_extent(&layout).size;
    return size < span.length ? (size_t)size : span.length;
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

static int nvtx_payload_is_plain(uint64_t id)
{
    return abi_type_size(id) || abi_is_string(id) || id == ABI_TYPE_RAW || id == ABI_TYPE_REFERENCED;
}

/* Is this schema known, and are the schemas directly inside it? Deeper ones are not worth waiting for. */
static int nvtx_payload_is_known(const struct nvtx_process *process, uint32_t domain, uint64_t id, int depth)
{
    if (nvtx_payload_is_plain(id))
        return 1;
    const struct nvtx_schema *schema = nvtx_schema_find(process, domain, id);
    if (!schema)
        return 0;
    for (uint32_t i = 0; depth == 0 && !schema->is_enum && i < schema->count && i < schema->capacity; i++)
        if (schema->entries[i].type >= 1 << 24 &&
            !nvtx_payload_is_known(process, domain, schema->entries[i].type, depth + 1))
            return 0;
    return 1;
}

int nvtx_payload_known(const struct nvtx_process *process, const struct nvtx_event *event)
{
    for (const struct nvtx_part *part = event->parts; part; part = part->next)
        if (!part->pointed && !nvtx_payload_is_known(process, event->domain, part->id, 0))
            return 0;
    return 1;
}

static void add_payload(struct nvtx_payload_reading *reading)
{
    const struct nvtx_part *part = reading->part;
    struct nvtx_payload_span span = { part->data, part->bytes };
    if (abi_is_string(part->id))
        nvtx_payload_add_string(reading->json, span.bytes, span.length, abi_character_size(part->id));
    else if (part->id == ABI_TYPE_RAW)
        text_addf(reading->json, "{\"bytes\":%u}", part->bytes);
    else
        add_element(reading, part->id, span, 0);
}

static void add_hex(struct text *hex, const struct nvtx_part *part)
{
    static const char digits[] = "0123456789abcdef";
    if (hex->length)
        text_add_char(hex, ',');
    for (uint32_t i = 0; i < part->bytes && hex->length < HEX_MAX; i++) {
        text_add_char(hex, digits[part->data[i] >> 4]);
        text_add_char(hex, digits[part->data[i] & 15]);
    }
}

void nvtx_payload_decode(const struct nvtx_process *process, struct nvtx_event *event, struct text *json,
                         struct text *hex)
{
    size_t count = 0;
    for (const struct nvtx_part *part = event->parts; part; part = part->next)
        count += !part->pointed && part->id != ABI_TYPE_REFERENCED;
    struct nvtx_payload_reading reading = { .process = process, .event = event, .json = json, .budget = BUDGET };
    const char *comma = "";
    if (count > 1)
        text_add_char(json, '[');
    for (const struct nvtx_part *part = event->parts; part; part = part->next) {
        if (part->pointed)
            continue;
        add_hex(hex, part);
        if (part->id == ABI_TYPE_REFERENCED)
            continue;
        text_add(json, comma);
        comma = ",";
        reading.part = part;
        add_payload(&reading);
    }
    if (count > 1)
        text_add_char(json, ']');
}

void nvtx_parts_free(struct nvtx_part *parts)
{
    while (parts) {
        struct nvtx_part *next = parts->next;
        free(parts);
        parts = next;
    }
}
