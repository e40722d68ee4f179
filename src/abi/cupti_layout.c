/* The table of layouts and the lookup in it. No size from outside is trusted: an impossible one is rejected. */
#include "cupti_layout.h"

#include "base/array.h"

/* Little-endian, as both architectures are: a field of `width` bytes at `offset` lies in the word of offset / 8. */
#define TEXTS(...) \
    .texts = { __VA_ARGS__ }, .text_count = sizeof((uint16_t[]){ 0, ##__VA_ARGS__ }) / sizeof(uint16_t) - 1
#define AT(record, field, offset, width, type)                                                                         \
    [CUPTI_##record##_##field] =                                                                                       \
        { (offset) / 8 * 8, 64 - 8 * ((offset) % 8 + (width)), 64 - 8 * (width), 1, SIGNED_##type }
enum { SIGNED_U, SIGNED_I };

/* Sorted by record, then by version. */
static const struct cupti_layout table[] = {
#define CUPTI_LAYOUT(record_, since_, bytes_, texts_, ...)                                                            \
    { .record = CUPTI_RECORD_##record_, .since = since_, .bytes = bytes_, texts_, .at = { __VA_ARGS__ } },
#include "cupti_layout.def"
#undef CUPTI_LAYOUT
};
enum { LAYOUT_COUNT = COUNT_OF(table) };

/* The number of the record of each kind, plus 1; 0: unknown. */
static const uint8_t cupti_layout_records[CUPTI_KIND_COUNT] = {
#define CUPTI_RECORD(record, name, first)
#define CUPTI_KIND(kind, record) [CUPTI_KIND_##kind] = CUPTI_RECORD_##record + 1,
#define CUPTI_FIELD(record, field, member)
#include "cupti_fields.def"
#undef CUPTI_RECORD
#undef CUPTI_KIND
#undef CUPTI_FIELD
};

const struct cupti_layout *cupti_layout(uint32_t version, uint32_t kind)
{
    const struct cupti_layout *best = NULL;

    if (kind >= CUPTI_KIND_COUNT || cupti_layout_records[kind] == 0)
        return NULL;
    for (uint32_t i = 0; i < LAYOUT_COUNT; i++)
        if (table[i].record + 1 == cupti_layout_records[kind] && table[i].since <= version)
            best = &table[i];
    return best;
}

void cupti_layouts_init(struct cupti_layouts *layouts, uint32_t version)
{
    memset(layouts, 0, sizeof *layouts);
    for (uint32_t kind = 0; kind < CUPTI_KIND_COUNT; kind++) {
        layouts->of[kind] = cupti_layout(version, kind);
        layouts->bytes[kind] = layouts->of[kind] ? layouts->of[kind]->bytes : 0;
    }
}

/* The newest layout of that kind with exactly this size, or NULL. */
static const struct cupti_layout *layout_of_size(uint32_t kind, uint64_t bytes)
{
    const struct cupti_layout *best = NULL;

    for (uint32_t i = 0; kind < CUPTI_KIND_COUNT && i < LAYOUT_COUNT; i++)
        if (table[i].record + 1 == cupti_layout_records[kind] && table[i].bytes == bytes)
            best = &table[i];
    return best;
}

int cupti_layouts_learn(struct cupti_layouts *layouts, uint32_t kind, uint64_t bytes)
{
    const struct cupti_layout *now;

    if (kind == 0 || kind >= CUPTI_KIND_LIMIT || bytes < 8 || bytes > CUPTI_RECORD_LIMIT || bytes % 8 != 0)
        return -1;
    now = layouts->of[kind];
    layouts->bytes[kind] = (uint16_t)bytes;
    if (now && now->bytes == bytes)
        return 0;
    layouts->of[kind] = layout_of_size(kind, bytes);
    if (!layouts->of[kind] && now && now->bytes < bytes)
        layouts->of[kind] = now;
    return 0;
}

/* Versions before 13.2 have no call for the size of a record. But they can be made to step over one: in a buffer
 * where every word starts a record of this kind, the second record that is found lies one record size behind the
 * first. */
static size_t bytes_stepped(const struct cupti_functions *cupti, uint32_t kind)
{
    uint64_t words[2 * CUPTI_RECORD_LIMIT / 8];
    void *record = NULL, *first;

    for (uint32_t i = 0; i < 2 * CUPTI_RECORD_LIMIT / 8; i++)
        words[i] = kind;
    if (cupti->cuptiActivityGetNextRecord((uint8_t *)words, sizeof words, &record) != CUPTI_RESULT_SUCCESS)
        return 0;
    first = record;
    if (cupti->cuptiActivityGetNextRecord((uint8_t *)words, sizeof words, &record) != CUPTI_RESULT_SUCCESS)
        return 0;
    return record > first ? (size_t)((char *)record - (char *)first) : 0;
}

uint32_t cupti_bytes_told(const struct cupti_functions *cupti, uint32_t kind)
{
    size_t bytes = 0;

    if (!cupti->cuptiActivityGetStructSize)
        bytes = bytes_stepped(cupti, kind);
    else if (cupti->cuptiActivityGetStructSize(kind, 0, &bytes) != CUPTI_RESULT_SUCCESS)
        bytes = 0;
    return bytes <= CUPTI_RECORD_LIMIT ? (uint32_t)bytes : 0;
}
