/* Writes values as JSON. Nearly all names need no escape, so the code checks for that first, eight bytes at a time. */
#include "json_write.h"

#include <math.h>
#include <string.h>

#include "number.h"
#include "utf8.h"

static int is_plain(const char *bytes, size_t length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t odd = 0, word;
    size_t i = 0;

    /* A byte below 0x20, a quote or a backslash borrows into its high bit; one above 0x7f has it. */
    for (; i + sizeof word <= length; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        uint64_t quotes = word ^ ones * '"', slashes = word ^ ones * '\\';
        odd |= word | (word - ones * 0x20) | (quotes - ones) | (slashes - ones);
    }
    for (; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        odd |= c < ' ' || c >= 0x80 || c == '"' || c == '\\' ? highs : 0;
    }
    return !(odd & highs);
}

void json_add_text(struct text *out, const char *bytes, size_t length)
{
    size_t from = 0;

    text_add_char(out, '"');
    if (is_plain(bytes, length)) {
        text_add_bytes(out, bytes, length);
        text_add_char(out, '"');
        return;
    }
    for (size_t i = 0; i <= length; i++) {
        unsigned char c = i < length ? (unsigned char)bytes[i] : 0;
        if (i < length && c >= 0x20 && c != '"' && c != '\\')
            continue;
        utf8_add(out, bytes + from, i - from);
        from = i + 1;
        if (i == length)
            break;
        if (c == '"' || c == '\\')
            text_addf(out, "\\%c", c);
        else
            text_addf(out, "\\u%04x", c);
    }
    text_add_char(out, '"');
}

void json_add_int(struct text *out, int64_t value)
{
    number_add_integer(out, value, 0);
}

void json_add_real(struct text *out, double value)
{
    if (isfinite(value))
        number_add_shortest(out, value);
    else
        text_add(out, "null");
}
