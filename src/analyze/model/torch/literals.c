/* A value ends at a comma, a colon or a bracket that closes what is around it, so that the scanner only counts
 * brackets and steps over strings. */
#include "literals.h"

#include <string.h>

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct literal_scan *scan)
{
    while (scan->at < scan->end && is_space(*scan->at))
        scan->at++;
}

/* The byte after a string that begins at `at`. */
static const char *behind_string(const char *at, const char *end)
{
    char quote = *at++;

    while (at < end && *at != quote)
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    return at < end ? at + 1 : end;
}

static int scan_value(struct literal_scan *scan, struct literal *out)
{
    size_t depth = 0;

    skip_space(scan);
    const char *start = scan->at, *at = start;
    while (at < scan->end && (depth > 0 || !strchr(",:)]}", *at) || !*at)) {
        if (*at == '\'' || *at == '"') {
            at = behind_string(at, scan->end);
            continue;
        }
        depth += *at == '(' || *at == '[' || *at == '{';
        depth -= *at == ')' || *at == ']' || *at == '}';
        at++;
    }
    scan->at = at;
    while (at > start && is_space(at[-1]))
        at--;
    *out = (struct literal){ start, (size_t)(at - start) };
    return out->length > 0;
}

static int literals_take(struct literal_scan *scan, char mark)
{
    skip_space(scan);
    return scan->at < scan->end && *scan->at == mark ? (scan->at++, 1) : 0;
}

struct literal_scan literal_parts(struct literal whole)
{
    if (whole.length < 2 || !strchr("([{", whole.bytes[0]) || !whole.bytes[0])
        return (struct literal_scan){ whole.bytes, whole.bytes };
    return (struct literal_scan){ whole.bytes + 1, whole.bytes + whole.length - 1 };
}

int literal_element(struct literal_scan *scan, struct literal *value)
{
    int found = scan_value(scan, value);

    if (!literals_take(scan, ','))
        scan->at = scan->end;
    return found;
}

int literal_member(struct literal_scan *scan, struct literal *name, struct literal *value)
{
    return scan_value(scan, name) && literals_take(scan, ':') && literal_element(scan, value);
}

struct literal literal_find(struct literal dict, const char *name)
{
    struct literal_scan scan = literal_parts(dict);
    struct literal key, value;

    while (literal_member(&scan, &key, &value))
        if (literal_is(key, name))
            return value;
    return (struct literal){ "", 0 };
}

int literal_is_string(struct literal value)
{
    return value.length >= 2 && (value.bytes[0] == '\'' || value.bytes[0] == '"') &&
           value.bytes[value.length - 1] == value.bytes[0];
}

int literal_is(struct literal value, const char *characters)
{
    return literal_is_string(value) && value.length - 2 == strlen(characters) &&
           memcmp(value.bytes + 1, characters, value.length - 2) == 0;
}

void literal_add(struct text *out, struct literal value)
{
    if (!literal_is_string(value)) {
        text_add_bytes(out, value.bytes, value.length);
        return;
    }
    const char *at = value.bytes + 1, *end = value.bytes + value.length - 1;
    for (; at < end; at++) {
        if (*at == '\\' && end - at > 1 && strchr("\\'\"", at[1]))
            at++;
        text_add_char(out, *at);
    }
}

int literal_integer(struct literal value, int64_t *out)
{
    const char *at = value.bytes, *end = at + value.length;
    int negative = at < end && *at == '-';
    int64_t number = 0;

    at += negative;
    if (at == end)
        return 0;
    for (; at < end; at++)
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return 0;
    *out = negative ? -number : number;
    return 1;
}
