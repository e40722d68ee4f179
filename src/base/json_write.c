/* Writes values as JSON. Nearly all names need no escape, so the code checks for that first, eight bytes at a time. */
#include "json_write.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "number.h"
#include "utf8.h"

static int json_write_is_plain(const char *bytes, size_t length)
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
    if (json_write_is_plain(bytes, length)) {
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

/* One conversion, behind its %; returns its last character. */
static const char *json_write_add_argument(struct text *out, const char *at, va_list *arguments)
{
    const char *string;
    int length;

    switch (*at) {
    case 's':
        string = va_arg(*arguments, const char *);
        if (string)
            json_add_text(out, string, strlen(string));
        else
            text_add(out, "null");
        return at;
    case '.':
        length = va_arg(*arguments, int);
        json_add_text(out, va_arg(*arguments, const char *), (size_t)length);
        return at + 2;
    case 'j': json_add_int(out, va_arg(*arguments, intmax_t)); return at + 1;
    case 'z': json_add_int(out, (int64_t)va_arg(*arguments, size_t)); return at + 1;
    case 'd': json_add_int(out, va_arg(*arguments, int)); return at;
    case 'u': json_add_int(out, va_arg(*arguments, unsigned)); return at;
    case 'i': text_add(out, va_arg(*arguments, int) ? "true" : "false"); return at;
    default: json_add_real(out, va_arg(*arguments, double)); return at;
    }
}

void json_addf(struct text *out, const char *format, ...)
{
    va_list arguments;

    if (out->length && !strchr("{[:,\n ", out->bytes[out->length - 1]) && !strchr("}]:,", *format))
        text_add_char(out, ',');
    va_start(arguments, format);
    for (const char *at = format; *at; at++) {
        size_t plain = strcspn(at, "'%");
        text_add_bytes(out, at, plain);
        at += plain;
        if (*at == '%')
            at = json_write_add_argument(out, at + 1, &arguments);
        else if (*at)
            text_add_char(out, '"');
        else
            break;
    }
    va_end(arguments);
}
