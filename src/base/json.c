/* Writing the values of JSON. Names are nearly always plain, so that is looked at first, eight bytes at a time. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* Whether it can stand between quotes as it is, which is true of nearly every name. */
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
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--at = '-';
    text_add_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

void json_add_real(struct text *out, double value)
{
    char text[40];

    if (!isfinite(value)) {
        text_add(out, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    text_add(out, text);
}
