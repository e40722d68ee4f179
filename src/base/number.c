/* Digits, groups of three and decimals: see number.h. */
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 32 }; /* twenty digits and six commas */

/* The digits of a number, padded with zeros to a least count, with a comma before every third from the right. */
static void add_digits(struct text *out, uint64_t value, int at_least, int grouped)
{
    char digits[LONGEST], *at = digits + sizeof digits;

    for (int count = 0; value || count < at_least; value /= 10, count++) {
        if (grouped && count && count % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + value % 10);
    }
    text_add_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

void number_add_integer(struct text *out, int64_t value, int grouped)
{
    if (value < 0)
        text_add_char(out, '-');
    add_digits(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1, grouped);
}

void number_add_decimal(struct text *out, uint64_t count, int decimals, int grouped)
{
    uint64_t unit = 1;

    for (int i = 0; i < decimals; i++)
        unit *= 10;
    add_digits(out, count / unit, 1, grouped);
    if (decimals) {
        text_add_char(out, '.');
        add_digits(out, count % unit, decimals, 0);
    }
}

void number_add_fixed(struct text *out, double value, int decimals, int grouped)
{
    static const long double powers[] = { 1, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L };

    if (!isfinite(value)) {
        text_add(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    /* A double times a thousand is exact in a long double, and so is its remainder: the rounding is that of the true
     * value. */
    long double scaled = (value < 0 ? -(long double)value : (long double)value) * powers[decimals];
    if (scaled >= 9e18L) {
        text_addf(out, "%.*f", decimals, value);
        return;
    }
    uint64_t count = (uint64_t)scaled;
    count += scaled - (long double)count >= 0.5L;
    if (value < 0 && count > 0)
        text_add_char(out, '-');
    number_add_decimal(out, count, decimals, grouped);
}

int number_add_shortest(struct text *out, double value)
{
    char digits[40];

    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add(out, digits);
    return isfinite(value) && !strpbrk(digits, ".e");
}

/* ---- lists ---- */

/* -1: there is no number that fits. */
static int64_t next_number(const char **at)
{
    int64_t number = **at >= '0' && **at <= '9' ? 0 : -1;

    for (; **at >= '0' && **at <= '9'; ++*at)
        number = number < 0 || number > INT32_MAX / 10 ? -1 : number * 10 + (**at - '0');
    return number;
}

int number_list_next(const char **at, struct number_span *out)
{
    if (!**at)
        return 0;
    out->first = out->last = next_number(at);
    if (**at == '-') {
        ++*at;
        out->last = next_number(at);
    }
    if (out->first < 0 || out->last < out->first || (**at == ',' ? !(*at)[1] : **at != 0))
        return -1;
    *at += **at == ',';
    return 1;
}

int number_list_has(const char *list, int64_t number)
{
    struct number_span span;

    while (number_list_next(&list, &span) > 0)
        if (number >= span.first && number <= span.last)
            return 1;
    return 0;
}

int number_list_is_valid(const char *list)
{
    struct number_span span;
    int found, count = 0;

    while ((found = number_list_next(&list, &span)) > 0)
        count++;
    return found == 0 && count;
}
