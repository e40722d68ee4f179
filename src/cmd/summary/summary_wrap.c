/* Wrapping. The codes for bold text take no columns. */
#include "summary_wrap.h"

#include <ctype.h>
#include <string.h>

#include "cmd/print/display.h"

enum { CAUSE_INDENT = 14, INDENT = 4, LEAST_COLUMNS = 40 };

/* The columns of a word, less the codes in it. */
static size_t columns_without_codes(const char *word, size_t length)
{
    struct text plain = { 0 };

    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\033')
            i += strcspn(word + i, "m");
        else
            text_add_char(&plain, word[i]);
    }
    size_t columns = display_columns(text_string(&plain), plain.length);
    text_free(&plain);
    return columns;
}

static int summary_wrap_is_whole(const char *line)
{
    static const char *const starts[] = { "  report:", "  next:", NULL };

    return text_begins_with_one(line, starts);
}

/* The end of the word that begins here. A number and its unit ("797 MB;") are one word. */
static const char *summary_wrap_word_end(const char *word)
{
    const char *end = word + strcspn(word, " \n");

    if (end > word && *end == ' ' && isdigit((unsigned char)end[-1])) {
        const char *unit = end + 1;
        size_t length = strcspn(unit, " \n");
        if (columns_without_codes(unit, strcspn(unit, " \n,;:)")) <= 2 && length > 0 && !isdigit((unsigned char)*unit))
            return unit + length;
    }
    return end;
}

/* After the time of a cause, else below the first word. */
static size_t indent_of(const char *line, size_t spaces)
{
    if (spaces <= INDENT)
        return INDENT;
    return isdigit((unsigned char)line[spaces]) ? CAUSE_INDENT : spaces;
}

/* The spaces at the start belong to the first word. */
static void wrap_line(struct text *out, const char *line, size_t length, size_t columns)
{
    size_t spaces = strspn(line, " "), indent = indent_of(line, spaces), column = 0;

    for (size_t at = 0; at < length;) {
        size_t start = at ? at : spaces, end = (size_t)(summary_wrap_word_end(line + start) - line);
        size_t taken = columns_without_codes(line + at, end - at);
        if (column > indent && column + 1 + taken > columns) {
            text_add_char(out, '\n');
            text_add_repeat(out, ' ', indent);
            column = indent;
        } else if (at) {
            text_add_char(out, ' ');
            column++;
        }
        text_add_bytes(out, line + at, end - at);
        column += taken;
        at = end + (end < length);
    }
    text_add_char(out, '\n');
}

void summary_wrap(struct text *out, const char *lines, size_t columns)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        if (columns < LEAST_COLUMNS || summary_wrap_is_whole(lines) ||
            columns_without_codes(lines, length) <= columns) {
            text_add_bytes(out, lines, length);
            text_add_char(out, '\n');
        } else
            wrap_line(out, lines, length, columns);
        lines += length + (lines[length] == '\n');
    }
}
