/* Decodes one character at a time, and plain ASCII, which nearly all names are, eight bytes at a time. */
#include "utf8.h"

#include <string.h>

size_t utf8_characters(const char *bytes, size_t length)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += !utf8_continues(bytes[i]);
    return count;
}

size_t utf8_decode(const void *from, size_t length, uint32_t *code)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {
        { 0x80, 0x00, 0 },
        { 0xe0, 0xc0, 0x80 },
        { 0xf0, 0xe0, 0x800 },
        { 0xf8, 0xf0, 0x10000 },
    };
    const unsigned char *bytes = from;

    for (size_t extra = 0; extra < 4; extra++) {
        if ((bytes[0] & forms[extra].mask) != forms[extra].lead)
            continue;
        if (extra >= length)
            return 0;
        uint32_t value = bytes[0] & (unsigned char)~forms[extra].mask;
        for (size_t i = 1; i <= extra; i++) {
            if (!utf8_continues((char)bytes[i]))
                return 0;
            value = value << 6 | (bytes[i] & 0x3f);
        }
        if (value < forms[extra].least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
            return 0;
        *code = value;
        return extra + 1;
    }
    return 0;
}

static size_t ascii_length(const unsigned char *bytes, size_t length)
{
    size_t at = 0;

    for (uint64_t eight; at + 8 <= length; at += 8) {
        memcpy(&eight, bytes + at, 8);
        if (eight & UINT64_C(0x8080808080808080))
            break;
    }
    while (at < length && bytes[at] < 0x80)
        at++;
    return at;
}

size_t utf8_valid_length(const void *from, size_t length)
{
    const unsigned char *bytes = from;
    size_t at = ascii_length(bytes, length);
    uint32_t code;

    while (at < length) {
        size_t used = utf8_decode(bytes + at, length - at, &code);
        if (used == 0)
            break;
        at += used;
    }
    return at;
}

void utf8_add(struct text *out, const void *from, size_t length)
{
    const unsigned char *bytes = from;

    for (size_t at = 0; at < length;) {
        size_t valid = utf8_valid_length(bytes + at, length - at);
        text_add_bytes(out, bytes + at, valid);
        at += valid;
        if (at < length) {
            text_add(out, "\xef\xbf\xbd");
            at++;
        }
    }
}
