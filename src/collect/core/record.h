/* What a record of an agent holds, for those who handle one. */
#ifndef TACHO_COLLECT_CORE_RECORD_H
#define TACHO_COLLECT_CORE_RECORD_H

#include "collect_source.h"

/* Report time. */
int64_t record_time(const struct origin *origin, const struct wire_record *record);

/* The text behind so many body words goes up to its first zero, or to the end of the record; it is empty if there is
 * none. */
const char *record_text(const struct wire_record *record, uint32_t words, uint32_t body_words, size_t *length);
void record_copy_text(char *out, size_t size, const struct wire_record *record, uint32_t words, uint32_t body_words);
int64_t record_text_id(const struct origin *origin, const struct wire_record *record, uint32_t words,
                       uint32_t body_words);

#endif
