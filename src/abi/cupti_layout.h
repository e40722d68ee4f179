/* Reads CUPTI's activity records of any version, without its headers: where each field lies is data (cupti_layout.def,
 * made by scripts/cupti-layouts from cupti_fields.def). Look a layout up once for each kind, then read fields at the
 * cost of a load and two shifts. Nothing here follows a pointer of a record or reads beyond the record's bytes.
 *
 *     struct cupti_layouts layouts;
 *     cupti_layouts_init(&layouts, version);
 *     …
 *     bytes = cupti_record_bytes(&layouts, kind);       0: unknown, the rest of the buffer cannot be walked
 *     layout = layouts.of[kind];                         NULL: step over it
 *     grid = cupti_field(layout, record, CUPTI_KERNEL_gridX); */
#ifndef TACHO_ABI_CUPTI_LAYOUT_H
#define TACHO_ABI_CUPTI_LAYOUT_H

#include <string.h>

#include "cupti.h"

enum cupti_record {
#define CUPTI_RECORD(record, name, first) CUPTI_RECORD_##record,
#define CUPTI_KIND(kind, record)
#define CUPTI_FIELD(record, field, member)
#include "cupti_fields.def"
#undef CUPTI_RECORD
#undef CUPTI_KIND
#undef CUPTI_FIELD
    CUPTI_RECORD_COUNT
};

/* CUPTI_KERNEL_gridX and so on; they count from 0 for each record. */
enum cupti_field {
#define CUPTI_RECORD(record, name, first) CUPTI_BEFORE_##record = -1,
#define CUPTI_KIND(kind, record)
#define CUPTI_FIELD(record, field, member) CUPTI_##record##_##field,
#include "cupti_fields.def"
#undef CUPTI_RECORD
#undef CUPTI_KIND
#undef CUPTI_FIELD
};

#define CUPTI_FIELDS_MAX 48
#define CUPTI_TEXTS_MAX 2
#define CUPTI_NO_FIELD INT64_MIN /* result of cupti_field() if the version lacks the field */

struct cupti_at {
    uint16_t word;       /* offset of the 8-byte word with the field */
    uint8_t left, right; /* shifts that isolate the field */
    uint8_t present, is_signed;
};

struct cupti_layout {
    uint32_t since;                  /* the first version that writes it */
    uint16_t record;                 /* enum cupti_record */
    uint16_t bytes;                  /* size of a record; always a multiple of 8 */
    uint16_t texts[CUPTI_TEXTS_MAX]; /* offsets of pointers to text in the program's memory */
    uint16_t text_count;
    struct cupti_at at[CUPTI_FIELDS_MAX];
};

/* The layout of that kind's records in that version. A version newer than the table gets the newest layout. NULL for
 * kinds that the table or that version does not have. */
const struct cupti_layout *cupti_layout(uint32_t version, uint32_t kind);

/* The layouts of one version, with the sizes that were learned at run time. */
#define CUPTI_KIND_LIMIT 128        /* kinds from here on cannot be walked over */
#define CUPTI_RECORD_LIMIT 4096     /* no record is larger */
struct cupti_layouts {
    const struct cupti_layout *of[CUPTI_KIND_LIMIT];
    uint16_t bytes[CUPTI_KIND_LIMIT]; /* 0: unknown */
};

void cupti_layouts_init(struct cupti_layouts *layouts, uint32_t version);

/* Takes over the size of this kind's records, as CUPTI itself reports it (WIRE_CUDA_NAME_RECORD_BYTES). Selects the
 * layout of that size. If there is none, fields of a longer record stay where they were, because new ones come at
 * the end, and a shorter record is only stepped over. Returns 0, or -1 for an impossible size or kind: then nothing
 * changes. */
int cupti_layouts_learn(struct cupti_layouts *layouts, uint32_t kind, uint64_t bytes);

/* The size of a kind's records as the loaded CUPTI reports it, or 0 if it has no such kind. Needs no GPU work, but
 * only the agent can ask. */
uint32_t cupti_bytes_told(const struct cupti_functions *cupti, uint32_t kind);

static inline uint32_t cupti_record_bytes(const struct cupti_layouts *layouts, uint32_t kind)
{
    return kind < CUPTI_KIND_LIMIT ? layouts->bytes[kind] : 0;
}

static inline uint32_t cupti_kind_of(const void *record)
{
    uint32_t kind;

    memcpy(&kind, record, sizeof kind);
    return kind;
}

/* Reads a field as a number; pointers and unsigned 64-bit fields as their bits. `field` is one of that record's
 * (CUPTI_<record>_…). The record need not be aligned. */
static inline int64_t cupti_field(const struct cupti_layout *layout, const void *record, enum cupti_field field)
{
    const struct cupti_at at = layout->at[field];
    uint64_t word;

    memcpy(&word, (const unsigned char *)record + at.word, sizeof word);
    word <<= at.left;
    if (!at.present)
        return CUPTI_NO_FIELD;
    return at.is_signed ? (int64_t)word >> at.right : (int64_t)(word >> at.right);
}

/* The same for a field that every version has and that is never negative: two shifts at most. */
static inline int64_t cupti_plain_field(const struct cupti_layout *layout, const void *record, enum cupti_field field)
{
    const struct cupti_at *at = &layout->at[field];
    uint64_t word;

    memcpy(&word, (const unsigned char *)record + at->word, sizeof word);
    return (int64_t)(word << at->left >> at->right);
}

/* The i-th pointer to text of a record, i < layout->text_count. */
static inline const char *cupti_text(const struct cupti_layout *layout, const void *record, uint32_t i)
{
    const char *text;

    memcpy(&text, (const unsigned char *)record + layout->texts[i], sizeof text);
    return text;
}

#endif
