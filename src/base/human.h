/* Numbers for sentences, three figures of them: "1.50 s", "2.30 MB", "1,234"; and times as people write them. */
#ifndef TACHO_BASE_HUMAN_H
#define TACHO_BASE_HUMAN_H

#include <stdint.h>

#include "text.h"

void human_time(struct text *out, int64_t ns);      /* 850 ns, 1.50 ms, 12.3 s, 2 h 05 min */
void human_bytes(struct text *out, uint64_t bytes); /* powers of ten: 2.30 MB */
void human_count(struct text *out, uint64_t count);

/* How many ns the unit of a time is ("", ns, us, ms, s, sec); 0: it is none. */
double human_time_unit(const char *suffix);
/* A time of so many bytes, a number and perhaps a unit: "250", "1.5s". Whole numbers of ns stay exact.
 * Returns whether it is one. */
int human_read_time(const char *text, size_t length, int64_t *ns);

#endif
