/* UTF-8, checked: what a program gave for a name may be any bytes, but other programs expect text. */
#ifndef TACHO_BASE_UTF8_H
#define TACHO_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* The character at bytes (length of them, at least one); returns how many it takes, or 0 if it
 * is none that UTF-8 allows. */
size_t utf8_decode(const void *bytes, size_t length, uint32_t *code);

/* How many bytes there are before the first that belongs to no character. */
size_t utf8_valid_length(const void *bytes, size_t length);

/* Adds them, with U+FFFD in place of each byte that belongs to no character. */
void utf8_add(struct text *out, const void *bytes, size_t length);

#endif
