/* Numbers for sentences: "1.5 s", "2.3 MB", "1,234". */
#ifndef TACHO_CMD_HUMAN_H
#define TACHO_CMD_HUMAN_H

#include <stdint.h>

#include "../base/text.h"

void human_time(struct text *out, int64_t ns);      /* 850 ns, 1.50 ms, 12.3 s, 2 h 05 min */
void human_bytes(struct text *out, uint64_t bytes); /* powers of ten: 2.3 MB */
void human_count(struct text *out, uint64_t count);

#endif
