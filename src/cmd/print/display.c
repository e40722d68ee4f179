/* Cleaning and measuring text for the terminal. The widths are our own short table, since the program is static and
 * must not depend on the locales of the machine. */
#include "display.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct code_range {
    uint32_t first, last;
};

/* Marks that sit on the character before them. */
static const struct code_range zero_width[] = {
    { 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
    { 0x064b, 0x065f }, { 0x0900, 0x0902 }, { 0x093c, 0x093c }, { 0x0941, 0x0948 },
    { 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
    { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xe0100, 0xe01ef },
};

/* Two columns each. */
static const struct code_range double_width[] = {
    { 0x1100, 0x115f }, { 0x231a, 0x231b },   { 0x2329, 0x232a },   { 0x23e9, 0x23ec },   { 0x25fd, 0x25fe },
    { 0x2614, 0x2615 }, { 0x2648, 0x2653 },   { 0x26a1, 0x26a1 },   { 0x2705, 0x2705 },   { 0x2728, 0x2728 },
    { 0x274c, 0x274c }, { 0x2753, 0x2755 },   { 0x2757, 0x2757 },   { 0x2795, 0x2797 },   { 0x2b1b, 0x2b1c },
    { 0x2b50, 0x2b50 }, { 0x2e80, 0x303e },   { 0x3041, 0x33ff },   { 0x3400, 0x4dbf },   { 0x4e00, 0xa4cf },
    { 0xa960, 0xa97f }, { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
    { 0xffe0, 0xffe6 }, { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
};

/* Characters that a reader cannot see but that change what he sees. */
static const struct code_range deceptive[] = {
    { 0x00ad, 0x00ad }, { 0x061c, 0x061c }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
    { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

#define IN_RANGES(code, ranges) display_in_ranges(code, ranges, COUNT_OF(ranges))
static int display_in_ranges(uint32_t code, const struct code_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return 1;
    return 0;
}

/* One character (or one bad byte) as it is shown: its text, its columns, and the bytes that it used up. */
struct display_shown {
    char text[12];
    size_t text_length, columns, used;
};

static void spell_out(struct display_shown *shown, const char *format, unsigned code)
{
    shown->text_length = (size_t)snprintf(shown->text, sizeof shown->text, format, code);
    shown->columns = shown->text_length;
}

static struct display_shown show_next(const char *bytes, size_t length)
{
    struct display_shown shown = { .used = 1 };
    uint32_t code;
    size_t used = utf8_decode(bytes, length, &code);

    if (used == 0) {
        spell_out(&shown, "\\x%02x", (unsigned char)bytes[0]);
        return shown;
    }
    shown.used = used;
    if (code == '\n' || code == '\t' || code == '\r') {
        shown.text[0] = '\\';
        shown.text[1] = code == '\n' ? 'n' : code == '\t' ? 't' : 'r';
        shown.text_length = shown.columns = 2;
    } else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
        spell_out(&shown, "\\x%02x", code);
    } else if (code >= 0xa0 && IN_RANGES(code, deceptive)) {
        spell_out(&shown, "\\u{%x}", code);
    } else {
        memcpy(shown.text, bytes, used);
        shown.text_length = used;
        shown.columns = code < 0x300 ? 1 : IN_RANGES(code, zero_width) ? 0 : IN_RANGES(code, double_width) ? 2 : 1;
    }
    return shown;
}

size_t display_columns(const char *bytes, size_t length)
{
    size_t columns = 0;

    for (size_t at = 0; at < length;) {
        struct display_shown shown = show_next(bytes + at, length - at);
        columns += shown.columns;
        at += shown.used;
    }
    return columns;
}

int display_fits(const char *bytes, size_t length, size_t columns)
{
    size_t taken = 0;

    for (size_t at = 0; at < length;) {
        struct display_shown shown = show_next(bytes + at, length - at);
        taken += shown.columns;
        if (taken > columns)
            return 0;
        at += shown.used;
    }
    return 1;
}

size_t display_add(struct text *out, const char *bytes, size_t length, size_t max_columns)
{
    size_t taken = 0;

    for (size_t at = 0; at < length;) {
        struct display_shown shown = show_next(bytes + at, length - at);
        if (max_columns && taken + shown.columns + 1 > max_columns &&
            !display_fits(bytes + at, length - at, max_columns - taken)) {
            text_add(out, "…");
            return taken + 1;
        }
        text_add_bytes(out, shown.text, shown.text_length);
        taken += shown.columns;
        at += shown.used;
    }
    return taken;
}

size_t display_add_middle(struct text *out, const char *bytes, size_t length, size_t max_columns)
{
    return display_add_elided(out, bytes, length, max_columns, max_columns / 2);
}

size_t display_add_elided(struct text *out, const char *bytes, size_t length, size_t max_columns, size_t before)
{
    size_t total = display_columns(bytes, length), taken = 0, tail, at;

    if (!max_columns || total <= max_columns)
        return display_add(out, bytes, length, 0);
    for (at = 0; at < length;) {
        struct display_shown shown = show_next(bytes + at, length - at);
        if (taken + shown.columns > before)
            break;
        text_add_bytes(out, shown.text, shown.text_length);
        taken += shown.columns;
        total -= shown.columns;
        at += shown.used;
    }
    text_add(out, "…");
    tail = max_columns - taken - 1;
    while (at < length) {
        struct display_shown shown = show_next(bytes + at, length - at);
        if (total <= tail) {
            text_add_bytes(out, shown.text, shown.text_length);
            taken += shown.columns;
        }
        total -= shown.columns;
        at += shown.used;
    }
    return taken + 1;
}

/* $'…': every byte that is not plain text as \xNN. */
static void add_spelt_out(struct text *out, const char *word)
{
    text_add(out, "$'");
    for (; *word; word++) {
        unsigned char byte = (unsigned char)*word;
        if (byte < 0x20 || byte >= 0x7f)
            text_addf(out, "\\x%02x", byte);
        else
            text_addf(out, "%s%c", byte == '\'' || byte == '\\' ? "\\" : "", byte);
    }
    text_add_char(out, '\'');
}

void display_add_quoted(struct text *out, const char *word)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+,:@%=";
    struct text shown = { 0 };

    display_add(&shown, word, strlen(word), 0);
    if (strcmp(text_string(&shown), word) != 0) {
        add_spelt_out(out, word);
    } else if (*word && word[strspn(word, safe)] == 0) {
        text_add(out, word);
    } else {
        text_add_char(out, '\'');
        for (; *word; word++)
            if (*word == '\'')
                text_add(out, "'\\''");
            else
                text_add_char(out, *word);
        text_add_char(out, '\'');
    }
    text_free(&shown);
}

void display_add_file(struct text *out, const char *path)
{
    struct text word = { 0 };

    text_addf(&word, "%s%s", *path == '-' ? "./" : "", path);
    display_add_quoted(out, text_string(&word));
    text_free(&word);
}

/* The bytes of a word that fit into so many columns; at least one character. */
static size_t piece_length(const char *word, size_t length, size_t columns, size_t *taken)
{
    size_t at = 0;

    *taken = 0;
    while (at < length) {
        struct display_shown shown = show_next(word + at, length - at);
        if (at && *taken + shown.columns > columns)
            break;
        *taken += shown.columns;
        at += shown.used;
    }
    return at;
}

void display_add_wrapped(struct text *out, const char *sentence, size_t column, size_t indent, size_t width)
{
    size_t room = width > indent ? width - indent : 1;

    while (*sentence) {
        const char *end = sentence + strcspn(sentence, " ");
        if (column > indent && column + 1 + display_columns(sentence, (size_t)(end - sentence)) > width) {
            text_add_char(out, '\n');
            text_add_repeat(out, ' ', indent);
            column = indent;
        } else if (column > indent) {
            text_add_char(out, ' ');
            column++;
        }
        while (sentence < end) { /* a word that is longer than a line is broken */
            size_t taken, piece = piece_length(sentence, (size_t)(end - sentence), room, &taken);
            text_add_bytes(out, sentence, piece);
            sentence += piece;
            column += taken;
            if (sentence < end) {
                text_add_char(out, '\n');
                text_add_repeat(out, ' ', indent);
                column = indent;
            }
        }
        while (*sentence == ' ')
            sentence++;
    }
    text_add_char(out, '\n');
}
