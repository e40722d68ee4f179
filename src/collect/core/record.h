/* Access to the fields of an agent's record, for the functions that handle it. */
#ifndef TACHO_COLLECT_CORE_RECORD_H
#define TACHO_COLLECT_CORE_RECORD_H

#include "collect_source.h"

/* The report time of the record. */
int64_t record_time(const struct collect_origin *origin, const struct wire_record *record);

/* The text after `body_words` words of the body. It ends at its first zero or at the end of the record, and is empty if
 * there is none. */
const char *record_text(const struct wire_record *record, uint32_t words, uint32_t body_words, size_t *length);
void record_copy_text(char *out, size_t size, const struct wire_record *record, uint32_t words, uint32_t body_words);
int64_t record_text_id(const struct collect_origin *origin, const struct wire_record *record, uint32_t words,
                       uint32_t body_words);

#endif
