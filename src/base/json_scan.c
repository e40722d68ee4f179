/* The scanner. It reads strings eight bytes at a time, and nested values with one loop and no recursion. */
#include "json_scan.h"

#include <stdlib.h>
#include <string.h>

#define DEEPEST 63
#define INNER_QUOTES 256 /* a string with more unescaped quotes is not a string */
#define EACH UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

void json_scan_space(struct json_scan *scan)
{
    while ((unsigned char)(*scan->at - 1) < ' ') /* also control characters; not the zeros behind the end */
        scan->at++;
}

static uint64_t zero_bytes(uint64_t word)
{
    return (word - EACH) & ~word & HIGH;
}

/* The next quote or backslash at or behind `at`; the end, or a little behind it, if there is none. */
static const char *find_quote(const char *at, const char *end)
{
    for (; at < end; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        uint64_t found = zero_bytes(word ^ EACH * '"') | zero_bytes(word ^ EACH * '\\');
        if (found) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            return at + __builtin_ctzll(found) / 8; /* the lowest hit is always a real one */
#else
            while (*at != '"' && *at != '\\')
                at++;
            return at;
#endif
        }
    }
    return at;
}

static const char *behind_space(const char *at)
{
    while ((unsigned char)(*at - 1) < ' ')
        at++;
    return at;
}

/* Whether a string may end with the quote before `at`: SCAN_OK, SCAN_BAD if the string goes on, SCAN_CUT if the
 * bytes end before that can be seen. */
static int may_end(const struct json_scan *scan, const char *at, enum json_place place)
{
    at = behind_space(at);
    if (at >= scan->end)
        return scan->whole ? SCAN_OK : SCAN_CUT;
    if (place == PLACE_KEY)
        return *at == ':' ? SCAN_OK : SCAN_BAD;
    if (*at == (place == PLACE_ARRAY ? ']' : '}'))
        return SCAN_OK;
    if (*at != ',')
        return SCAN_BAD;
    if (place == PLACE_ARRAY)
        return SCAN_OK;
    at = behind_space(at + 1);
    if (at >= scan->end)
        return scan->whole ? SCAN_OK : SCAN_CUT;
    return *at == '"' || *at == '}' ? SCAN_OK : SCAN_BAD;
}

int json_scan_string(struct json_scan *scan, enum json_place place, struct json_slice *out)
{
    const char *first = scan->at, *at = first + 1;
    uint64_t inner = 0;

    for (;;) {
        at = find_quote(at, scan->end);
        if (at >= scan->end)
            return SCAN_CUT;
        if (*at == '\\') {
            at += 2;
            continue;
        }
        int found = may_end(scan, ++at, place);
        if (found == SCAN_CUT)
            return SCAN_CUT;
        if (found == SCAN_OK)
            break;
        if (++inner > INNER_QUOTES)
            return SCAN_BAD;
    }
    scan->repaired += inner;
    scan->at = at;
    *out = (struct json_slice){ first, (size_t)(at - first) };
    return SCAN_OK;
}

enum { PLAIN, QUOTE, OPEN, CLOSE, COMMA, COLON, ZERO };
static const unsigned char classes[256] = {
    [0] = ZERO, ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE, [','] = COMMA, [':'] = COLON,
};

/* An object or an array, to its end. */
static int scan_nested(struct json_scan *scan)
{
    uint64_t objects = 0; /* a bit for each level: whether it is one */
    int deepest = scan->levels ? scan->levels : DEEPEST;
    int depth = 0, key = 0, found;
    struct json_slice string;

    do {
        switch (classes[(unsigned char)*scan->at]) {
        case PLAIN: scan->at++; break;
        case QUOTE:
            found = json_scan_string(scan, key ? PLACE_KEY : objects & 1 ? PLACE_OBJECT : PLACE_ARRAY, &string);
            if (found != SCAN_OK)
                return found;
            break;
        case OPEN:
            if (depth++ == deepest)
                return SCAN_BAD;
            key = *scan->at++ == '{';
            objects = objects << 1 | (uint64_t)key;
            break;
        case CLOSE:
            if ((int)(objects & 1) != (*scan->at++ == '}'))
                return SCAN_BAD;
            objects >>= 1;
            depth--;
            key = 0;
            break;
        case COMMA:
            key = objects & 1;
            scan->at++;
            break;
        case COLON:
            key = 0;
            scan->at++;
            break;
        default:
            if (scan->at >= scan->end)
                return SCAN_CUT;
            scan->at++; /* a NUL between values */
        }
    } while (depth);
    return SCAN_OK;
}

/* A number, true, null, NaN, -Infinity: up to the first byte that cannot be part of one. */
static int scan_word(struct json_scan *scan)
{
    const char *first = scan->at;

    while (classes[(unsigned char)*scan->at] == PLAIN && (unsigned char)*scan->at > ' ')
        scan->at++;
    if (scan->at >= scan->end && !scan->whole)
        return SCAN_CUT;
    return scan->at > first ? SCAN_OK : SCAN_BAD;
}

int json_scan_value(struct json_scan *scan, enum json_place place, struct json_slice *out)
{
    json_scan_space(scan);
    if (scan->at >= scan->end)
        return SCAN_CUT;
    if (*scan->at == '"')
        return json_scan_string(scan, place, out);
    const char *first = scan->at;
    int found = *first == '{' || *first == '[' ? scan_nested(scan) : scan_word(scan);
    *out = (struct json_slice){ first, (size_t)(scan->at - first) };
    return found;
}

int json_scan_mark(struct json_scan *scan, char mark)
{
    json_scan_space(scan);
    if (scan->at >= scan->end)
        return SCAN_CUT;
    if (*scan->at != mark)
        return SCAN_BAD;
    scan->at++;
    return SCAN_OK;
}

struct json_scan json_slice_parts(struct json_slice slice)
{
    return (struct json_scan){ .at = slice.bytes + 1, .end = slice.bytes + slice.length, .whole = 1 };
}

int json_scan_part(struct json_scan *scan, int is_object, struct json_slice *name, struct json_slice *value)
{
    json_scan_space(scan);
    if (scan->at < scan->end && *scan->at == ',') {
        scan->at++;
        json_scan_space(scan);
    }
    if (scan->at >= scan->end - 1)
        return 0;
    if (is_object && (*scan->at != '"' || json_scan_string(scan, PLACE_KEY, name) != SCAN_OK ||
                      json_scan_mark(scan, ':') != SCAN_OK))
        return 0;
    return json_scan_value(scan, is_object ? PLACE_OBJECT : PLACE_ARRAY, value) == SCAN_OK;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* Parses digits into a number that must stay below 2^63; 0 if it does not. */
static int add_digit(uint64_t *number, char digit)
{
    if (*number > (INT64_MAX - 9) / 10)
        return 0;
    *number = *number * 10 + (uint64_t)(digit - '0');
    return 1;
}

static int json_scan_is_digit(const char *at, const char *end)
{
    return at < end && (unsigned char)(*at - '0') < 10;
}

/* Parses numbers with an exponent, which no known writer uses for times, and numbers with too many digits for the
 * exact way. */
static int by_double(struct json_slice slice, double factor, int64_t *out)
{
    char copy[64], *end;

    if (slice.length == 0 || slice.length >= sizeof copy)
        return 0;
    memcpy(copy, slice.bytes, slice.length);
    copy[slice.length] = '\0';
    double value = strtod(copy, &end) * factor;
    if (*end || !(value >= -9.2e18 && value <= 9.2e18))
        return 0;
    *out = (int64_t)value;
    return 1;
}

int json_slice_integer(struct json_slice slice, int64_t *out)
{
    struct json_slice inside = json_slice_inside(slice);
    const char *at = inside.bytes, *end = at + inside.length;
    int negative = at < end && *at == '-';
    uint64_t number = 0;

    at += negative;
    if (!json_scan_is_digit(at, end))
        return 0;
    for (; json_scan_is_digit(at, end); at++)
        if (!add_digit(&number, *at))
            return by_double(inside, 1, out);
    if (at < end)
        return by_double(inside, 1, out);
    *out = negative ? -(int64_t)number : (int64_t)number;
    return 1;
}

int json_slice_ns(struct json_slice slice, int64_t *out)
{
    struct json_slice inside = json_slice_inside(slice);
    const char *at = inside.bytes, *end = at + inside.length;
    int negative = at < end && *at == '-', decimals = 0;
    uint64_t number = 0;

    at += negative;
    if (!json_scan_is_digit(at, end))
        return 0;
    for (; json_scan_is_digit(at, end); at++)
        if (!add_digit(&number, *at))
            return by_double(inside, 1000, out);
    if (at < end && *at == '.')
        for (at++; json_scan_is_digit(at, end); at++) {
            if (decimals < 3 && !add_digit(&number, *at))
                return 0;
            decimals += decimals < 3;
        }
    if (at < end)
        return by_double(inside, 1000, out);
    for (; decimals < 3; decimals++)
        if (!add_digit(&number, '0'))
            return 0;
    *out = negative ? -(int64_t)number : (int64_t)number;
    return 1;
}

static int hex_digits(const char *at, const char *end, uint32_t *out)
{
    *out = 0;
    if (end - at < 4)
        return 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return 0;
        *out = *out << 4 | (uint32_t)digit;
    }
    return 1;
}

static void json_scan_add_character(struct text *out, uint32_t code)
{
    if (code < 0x80) {
        text_add_char(out, (char)code);
        return;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    text_add_char(out, (char)((0xff00u >> (more + 1) & 0xff) | code >> 6 * more));
    while (more-- > 0)
        text_add_char(out, (char)(0x80 | (code >> 6 * more & 0x3f)));
}

/* Decodes one character behind \u, from one escape or from a surrogate pair. Returns the bytes that it took. */
static const char *add_unicode(struct text *out, const char *at, const char *end)
{
    uint32_t code, low;

    if (!hex_digits(at, end, &code)) {
        text_add(out, "\\u");
        return at;
    }
    at += 4;
    if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || end - at < 6 || at[0] != '\\' || at[1] != 'u' || !hex_digits(at + 2, end, &low) ||
            low < 0xdc00 || low > 0xdfff) {
            json_scan_add_character(out, 0xfffd);
            return at;
        }
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
        at += 6;
    }
    json_scan_add_character(out, code);
    return at;
}

struct json_slice json_slice_text(struct json_slice slice, struct text *scratch)
{
    static const char letters[] = "bfnrt/\\\"", meant[] = "\b\f\n\r\t/\\\"";
    struct json_slice inside = json_slice_inside(slice);

    if (!inside.bytes)
        return (struct json_slice){ "", 0 };
    const char *at = inside.bytes, *end = at + inside.length, *escape = memchr(at, '\\', inside.length);
    if (!escape || !json_slice_is_string(slice))
        return inside;
    text_clear(scratch);
    while (escape && escape + 1 < end) {
        text_add_bytes(scratch, at, (size_t)(escape - at));
        const char *letter = escape[1] ? strchr(letters, escape[1]) : NULL;
        at = escape + 2;
        if (letter)
            text_add_char(scratch, meant[letter - letters]);
        else if (escape[1] == 'u')
            at = add_unicode(scratch, at, end);
        else
            text_add_bytes(scratch, escape, 2); /* not a JSON escape: kept as it is */
        escape = memchr(at, '\\', (size_t)(end - at));
    }
    text_add_bytes(scratch, at, (size_t)(end - at));
    return (struct json_slice){ text_string(scratch), scratch->length };
}
