/* Writes values as JSON. The output is valid whatever the bytes of the input. */
#ifndef TACHO_BASE_JSON_WRITE_H
#define TACHO_BASE_JSON_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* A string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void json_add_text(struct text *out, const char *bytes, size_t length);
void json_add_int(struct text *out, int64_t value);
/* The shortest form that reads back as the same number; null for NaN and infinities. */
void json_add_real(struct text *out, double value);

/* Adds members or values as the format has them, with ' for ": json_addf(out, "{'id':%jd,'name':%s", id, name). A comma
 * comes first where a value stands before. %s and %.*s are strings, escaped and with their quotes, NULL is null; %i is
 * true or false, %g is json_add_real(); %d, %u, %jd, %ju (int64_t, uint64_t) and %zu are numbers. There are no others.
 */
void json_addf(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
