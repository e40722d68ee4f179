/* Numbers as text, and as the bytes of binary formats. Tables and answers hold millions of them, so the code avoids
 * printf() wherever it can. */
#ifndef TACHO_BASE_NUMBER_H
#define TACHO_BASE_NUMBER_H

#include <stdint.h>

#include "text.h"

/* grouped: 1,234,567 */
void number_add_integer(struct text *out, int64_t value, int grouped);
/* The last `decimals` digits are decimals: 1500 with three is 1.500. */
void number_add_decimal(struct text *out, uint64_t count, int decimals, int grouped);
/* Rounds half away from zero, on the exact value: 0.25 is 0.3 with one decimal. Nine decimals at most. */
void number_add_fixed(struct text *out, double value, int decimals, int grouped);
/* The fewest digits that read back as the same number. Returns whether they could also be those of an integer. */
int number_add_shortest(struct text *out, double value);

/* ---- lists as people write them: "0,8-15" ---- */

struct number_span {
    int64_t first, last;
};

/* The next span of the list, and moves behind it. Returns 0 at its end, -1 if what stands there is none. */
int number_list_next(const char **at, struct number_span *out);

/* Whether the list has one span or more, and nothing else. */
int number_list_is_valid(const char *list);
int number_list_has(const char *list, int64_t number);

/* ---- as bytes ---- */

enum { VARINT_MOST = 10 }; /* bytes of a varint: groups of seven bits, the least first */

static inline uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}
static inline int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* Writes at most VARINT_MOST bytes and returns their number. */
static inline size_t put_varint(void *to, uint64_t v)
{
    uint8_t *at = to;
    size_t length = 0;
    for (; v >= 0x80; v >>= 7)
        at[length++] = (uint8_t)(v | 0x80);
    at[length++] = (uint8_t)v;
    return length;
}

static inline void text_add_varint(struct text *text, uint64_t v)
{
    char *at = text_room(text, VARINT_MOST);

    if (at)
        text_commit(text, at + put_varint(at, v));
}

static inline void text_add_little_endian(struct text *text, uint64_t v, int bytes)
{
    char *at = text_room(text, sizeof v);

    if (!at)
        return;
    for (int i = 0; i < bytes; i++)
        *at++ = (char)(v >> 8 * i);
    text_commit(text, at);
}

#endif
