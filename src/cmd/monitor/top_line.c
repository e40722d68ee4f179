#include "top_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cmd/print/display.h"
#include "cmd/print/human_cell.h"

enum { LEVELS = 8 };

void top_line_begin(struct top_line *line)
{
    line->left = line->width;
    line->start = line->out->length;
}

/* In a locale without UTF-8, other people's names have ? for what is not ASCII. */
static void make_ascii(struct top_line *line)
{
    struct text plain = { 0 };
    const char *bytes = line->out->bytes + line->start;

    for (size_t length = line->out->length - line->start; length;) {
        uint32_t code = 0;
        size_t taken = utf8_decode(bytes, length, &code);
        text_add_char(&plain, taken == 1 ? *bytes : code == 0x2026 ? '~' : '?');
        bytes += taken ? taken : 1;
        length -= taken ? taken : 1;
    }
    text_cut(line->out, line->start);
    text_add_bytes(line->out, text_string(&plain), plain.length);
    text_free(&plain);
}

void top_line_end(struct top_line *line)
{
    if (!line->has_utf8 && line->out->length > line->start)
        make_ascii(line);
    while (line->out->length > line->start && line->out->bytes[line->out->length - 1] == ' ')
        text_cut(line->out, line->out->length - 1);
    text_add_char(line->out, '\n');
}

void top_line_put(struct top_line *line, const char *style, const char *format, ...)
{
    struct text piece = { 0 };
    va_list arguments;

    va_start(arguments, format);
    text_addv(&piece, format, arguments);
    va_end(arguments);
    int is_styled = *style && line->has_colour && line->left;
    if (is_styled)
        text_addf(line->out, "\033[%sm", style);
    if (line->left)
        line->left -= display_add(line->out, text_string(&piece), piece.length, line->left);
    if (is_styled)
        text_add(line->out, "\033[0m");
    text_free(&piece);
}

void top_line_spaces(struct top_line *line, size_t count)
{
    count = count < line->left ? count : line->left;
    text_add_repeat(line->out, ' ', count);
    line->left -= count;
}

void top_line_bar(struct top_line *line, double percent, size_t columns)
{
    columns = columns < line->left ? columns : line->left;
    if (line->has_utf8) {
        human_bar_add(line->out, isnan(percent) ? 0 : percent / 100, columns);
    } else {
        size_t filled = isnan(percent) || percent <= 0 ? 0 : (size_t)(fmin(percent, 100) / 100 * (double)columns + 0.5);
        text_add_repeat(line->out, '#', filled);
        text_add_repeat(line->out, '.', columns - filled);
    }
    line->left -= columns;
}

void top_line_history(struct top_line *line, const double *percents, size_t count, size_t columns)
{
    static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char plain[] = "_.-:=+*#";

    columns = columns < line->left ? columns : line->left;
    size_t shown = count < columns ? count : columns;
    top_line_spaces(line, columns - shown);
    for (size_t i = count - shown; i < count; i++) {
        int level = isnan(percents[i]) ? -1 : (int)(fmax(0, fmin(percents[i], 99.9)) / 100 * LEVELS);
        if (level < 0)
            text_add_char(line->out, ' ');
        else if (line->has_utf8)
            text_add(line->out, blocks[level]);
        else
            text_add_char(line->out, plain[level]);
    }
    line->left -= shown;
}
