/* Checked UTF-8: a name that a program gave may be any bytes, but other programs expect valid text. */
#ifndef TACHO_BASE_UTF8_H
#define TACHO_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* Whether the byte is one of a character, but not its first. */
static inline int utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* How many characters begin in the bytes. */
size_t utf8_characters(const char *bytes, size_t length);

/* The place of the character before the one at `at`; 0 stays 0. */
static inline size_t utf8_before(const char *bytes, size_t at)
{
    while (at > 0 && utf8_continues(bytes[--at]))
        continue;
    return at;
}

/* The place of the character behind the one at `at`; `length`, the end, stays. */
static inline size_t utf8_behind(const char *bytes, size_t length, size_t at)
{
    while (at < length && ++at < length && utf8_continues(bytes[at]))
        continue;
    return at;
}

/* Decodes the character at `bytes` (`length` of them, at least one). Returns the bytes that it takes, or 0 if UTF-8
 * does not allow it. */
size_t utf8_decode(const void *bytes, size_t length, uint32_t *code);

/* The number of bytes before the first one that belongs to no character. */
size_t utf8_valid_length(const void *bytes, size_t length);

/* Appends the bytes, with U+FFFD in place of each byte that belongs to no character. */
void utf8_add(struct text *out, const void *bytes, size_t length);

#endif
