/* Texts of a fixed size and the digits of numbers: printf() allocates, and reads the program's locale. */
#ifndef TACHO_AGENT_CORE_SMALL_TEXT_H
#define TACHO_AGENT_CORE_SMALL_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Appends as much of a text as the room holds, and a NUL: 0, or -1 if that was not all. */
static inline int small_text_add(char *to, size_t room, const char *text)
{
    size_t used = strlen(to), length = strlen(text), fits = room - 1 - used;
    size_t taken = length < fits ? length : fits;
    memcpy(to + used, text, taken);
    to[used + taken] = 0;
    return taken == length ? 0 : -1;
}

struct small_digits {
    char bytes[24];
};

/* The number in decimal digits, with a NUL after them; they are at the end of `digits`. */
static inline const char *small_digits(struct small_digits *digits, uint64_t number)
{
    char *at = digits->bytes + sizeof digits->bytes - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    return at;
}

static inline int small_text_add_number(char *to, size_t room, uint64_t number)
{
    struct small_digits digits;
    return small_text_add(to, room, small_digits(&digits, number));
}

/* The number that a text begins with; 0 if it begins with none. */
static inline uint64_t small_number(const char *text)
{
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return number;
}

#endif
