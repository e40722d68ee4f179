/* Access to the fields of a record: see record.h. */
#include "record.h"

#include <stdio.h>
#include <string.h>

#include "collector.h"

const char *record_text(const struct wire_record *record, uint32_t words, uint32_t body_words, size_t *length)
{
    uint32_t start = WIRE_HEAD_WORDS + body_words;
    const char *text = (const char *)record + (size_t)start * 8;
    *length = words > start ? strnlen(text, (size_t)(words - start) * 8) : 0;
    return *length ? text : "";
}

void record_copy_text(char *out, size_t size, const struct wire_record *record, uint32_t words, uint32_t body_words)
{
    size_t length;
    const char *text = record_text(record, words, body_words, &length);
    snprintf(out, size, "%.*s", (int)length, text);
}

int64_t record_text_id(const struct collect_origin *origin, const struct wire_record *record, uint32_t words,
                       uint32_t body_words)
{
    size_t length;
    const char *text = record_text(record, words, body_words, &length);
    return writer_string(origin->collector->writer, text, length);
}

int64_t record_time(const struct collect_origin *origin, const struct wire_record *record)
{
    return clock_map_time(&origin->collector->clock, record->ticks);
}
