/* Ranks as people write them. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_RANK_LISTS_H
#define TACHO_ANALYZE_MODEL_RANKS_RANK_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* "0,2-4": runs of rising numbers are joined. At most `most` runs, then "…"; 0: all. */
void rank_list_add(struct text *out, const int64_t *ranks, size_t count, size_t most);
/* Reads "0,2,4" into ranks, which has room for `room`; returns how many there are, or 0 if the text is something else.
 */
size_t rank_list_read(const char *text, int64_t *ranks, size_t room);

#endif
