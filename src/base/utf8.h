/* Checked UTF-8: a name that a program gave may be any bytes, but other programs expect valid text. */
#ifndef TACHO_BASE_UTF8_H
#define TACHO_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* Decodes the character at `bytes` (`length` of them, at least one). Returns the bytes that it takes, or 0 if UTF-8
 * does not allow it. */
size_t utf8_decode(const void *bytes, size_t length, uint32_t *code);

/* The number of bytes before the first one that belongs to no character. */
size_t utf8_valid_length(const void *bytes, size_t length);

/* Appends the bytes, with U+FFFD in place of each byte that belongs to no character. */
void utf8_add(struct text *out, const void *bytes, size_t length);

#endif
