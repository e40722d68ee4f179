/* Numbers for sentences, with three significant digits ("1.50 s", "2.30 MB", "1,234"), and parsing of times as
 * people write them. */
#ifndef TACHO_BASE_HUMAN_H
#define TACHO_BASE_HUMAN_H

#include <stdint.h>

#include "text.h"

void human_time(struct text *out, int64_t ns); /* 850 ns, 1.50 ms, 12.3 s, 2 h 05 min */
/* A moment, with as many digits as tell it from another one that is resolution_ns away: 13.4575 s for 0.1 ms. Always in
 * seconds, so that moments of one text can be compared. */
void human_moment(struct text *out, int64_t ns, int64_t resolution_ns);
void human_bytes(struct text *out, uint64_t bytes); /* powers of ten: 2.30 MB */
void human_count(struct text *out, uint64_t count);

/* The ns in a unit of time ("", ns, us, ms, s, sec), or 0 if the text is no unit. */
double human_time_unit(const char *suffix);
/* Parses a time of `length` bytes, a number with an optional unit: "250", "1.5s". Whole numbers of ns stay exact.
 * Returns whether the text is a time. */
int human_read_time(const char *text, size_t length, int64_t *ns);

#endif
