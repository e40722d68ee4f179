/* Checks JSON strictly by RFC 8259, and repairs the almost-JSON of traces.
 *
 * The check is strict, so that text that passes can be copied. The repair reads as leniently as the importer does. */
#include "json_check.h"

#include <string.h>

#include "base/json_scan.h"
#include "base/utf8.h"

enum { DEEPEST = 64 };

/* ---- checking -------------------------------------------------------------------------------------------------- */

struct json_check_state {
    const unsigned char *at, *end;
};

static int json_check_is_next(struct json_check_state *check, char c)
{
    if (check->at == check->end || *check->at != (unsigned char)c)
        return 0;
    check->at++;
    return 1;
}

static void skip_space(struct json_check_state *check)
{
    while (check->at < check->end &&
           (*check->at == ' ' || *check->at == '\n' || *check->at == '\t' || *check->at == '\r'))
        check->at++;
}

static int is_hex(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* After a backslash. */
static int is_escape(struct json_check_state *check)
{
    if (check->at == check->end)
        return 0;
    unsigned char c = *check->at++;
    if (c != 'u')
        return c && strchr("\"\\/bfnrt", c) != NULL;
    for (int i = 0; i < 4; i++)
        if (check->at == check->end || !is_hex(*check->at++))
            return 0;
    return 1;
}

static int json_check_is_string(struct json_check_state *check)
{
    if (!json_check_is_next(check, '"'))
        return 0;
    while (check->at < check->end) {
        unsigned char c = *check->at;
        uint32_t code;
        if (c >= 0x80) {
            size_t taken = utf8_decode(check->at, (size_t)(check->end - check->at), &code);
            if (!taken)
                return 0;
            check->at += taken;
            continue;
        }
        check->at++;
        if (c == '"')
            return 1;
        if (c < 0x20 || (c == '\\' && !is_escape(check)))
            return 0;
    }
    return 0;
}

static size_t skip_digits(struct json_check_state *check)
{
    const unsigned char *first = check->at;

    while (check->at < check->end && *check->at >= '0' && *check->at <= '9')
        check->at++;
    return (size_t)(check->at - first);
}

static int json_check_is_number(struct json_check_state *check)
{
    json_check_is_next(check, '-');
    if (!json_check_is_next(check, '0') && !skip_digits(check))
        return 0;
    if (json_check_is_next(check, '.') && !skip_digits(check))
        return 0;
    if (!json_check_is_next(check, 'e') && !json_check_is_next(check, 'E'))
        return 1;
    if (!json_check_is_next(check, '-'))
        json_check_is_next(check, '+');
    return skip_digits(check) > 0;
}

static int json_check_is_word(struct json_check_state *check, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(check->end - check->at) < length || memcmp(check->at, word, length) != 0)
        return 0;
    check->at += length;
    return 1;
}

static int is_value(struct json_check_state *check, int depth);

/* Members up to a closing brace, or up to the end. */
static int are_members(struct json_check_state *check, int depth, int to_brace)
{
    do {
        skip_space(check);
        if (!json_check_is_string(check))
            return 0;
        skip_space(check);
        if (!json_check_is_next(check, ':') || !is_value(check, depth))
            return 0;
    } while (json_check_is_next(check, ','));
    return to_brace ? json_check_is_next(check, '}') : check->at == check->end;
}

/* With the space around it. */
static int is_value(struct json_check_state *check, int depth)
{
    int is_good;

    skip_space(check);
    if (check->at == check->end || depth > DEEPEST)
        return 0;
    switch (*check->at) {
    case '"': is_good = json_check_is_string(check); break;
    case '{':
        check->at++;
        skip_space(check);
        is_good = json_check_is_next(check, '}') || are_members(check, depth + 1, 1);
        break;
    case '[':
        check->at++;
        skip_space(check);
        if (json_check_is_next(check, ']')) {
            is_good = 1;
            break;
        }
        while ((is_good = is_value(check, depth + 1)) && json_check_is_next(check, ','))
            ;
        is_good = is_good && json_check_is_next(check, ']');
        break;
    default:
        is_good = json_check_is_word(check, "true") || json_check_is_word(check, "false") ||
                  json_check_is_word(check, "null") || json_check_is_number(check);
    }
    skip_space(check);
    return is_good;
}

int json_is_value(const char *bytes, size_t length)
{
    struct json_check_state check = { (const unsigned char *)bytes, (const unsigned char *)bytes + length };

    return is_value(&check, 0) && check.at == check.end;
}

int json_is_members(const char *bytes, size_t length)
{
    struct json_check_state check = { (const unsigned char *)bytes, (const unsigned char *)bytes + length };

    return are_members(&check, 0, 0);
}

/* ---- mending --------------------------------------------------------------------------------------------------- */

static void add_mended(struct text *out, struct json_slice value, int depth);

static void add_mended_string(struct text *out, struct json_slice value)
{
    struct text scratch = { 0 };
    struct json_slice text = json_slice_text(value, &scratch);

    json_add_text(out, text.bytes, text.length);
    text_free(&scratch);
}

/* The content of the brackets of an object or an array. */
static void add_mended_parts(struct text *out, struct json_slice value, int is_object, int depth)
{
    struct json_scan scan = json_slice_parts(value);
    struct json_slice name, part;

    for (int count = 0; json_scan_part(&scan, is_object, &name, &part); count++) {
        if (count)
            text_add(out, ", ");
        if (is_object) {
            add_mended_string(out, name);
            text_add(out, ": ");
        }
        add_mended(out, part, depth + 1);
    }
}

static void add_mended(struct text *out, struct json_slice value, int depth)
{
    if (json_is_value(value.bytes, value.length))
        text_add_bytes(out, value.bytes, value.length);
    else if (json_slice_is_string(value))
        add_mended_string(out, value);
    else if (value.length && depth < DEEPEST && (*value.bytes == '{' || *value.bytes == '[')) {
        int is_object = *value.bytes == '{';
        text_add_char(out, is_object ? '{' : '[');
        add_mended_parts(out, value, is_object, depth);
        text_add_char(out, is_object ? '}' : ']');
    } else
        text_add(out, "null");
}

/* The bytes between two marks, followed by the zeros that scanning needs. */
static struct json_slice copy_guarded(struct text *copy, const char *before, const char *bytes, size_t length,
                                      const char *after)
{
    text_add(copy, before);
    text_add_bytes(copy, bytes, length);
    text_add(copy, after);
    size_t whole = copy->length;
    text_add_repeat(copy, '\0', SCAN_GUARD);
    return (struct json_slice){ copy->bytes, text_failed(copy) ? 0 : whole };
}

void json_add_mended_value(struct text *out, const char *bytes, size_t length)
{
    struct text copy = { 0 };
    struct json_slice whole = copy_guarded(&copy, "", bytes, length, ""), value;
    struct json_scan scan = { .at = whole.bytes, .end = whole.bytes + whole.length, .whole = 1 };
    int is_json = whole.length && strchr("\"[{", *bytes) && json_scan_value(&scan, PLACE_ARRAY, &value) == SCAN_OK;

    if (is_json)
        json_scan_space(&scan);
    if (!is_json || scan.at < scan.end)
        json_add_text(out, bytes, length);
    else
        add_mended(out, value, 0);
    text_free(&copy);
}

void json_add_mended_members(struct text *out, const char *bytes, size_t length)
{
    struct text copy = { 0 };
    struct json_slice whole = copy_guarded(&copy, "{", bytes, length, "}");

    if (whole.length)
        add_mended_parts(out, whole, 1, 0);
    text_free(&copy);
}
