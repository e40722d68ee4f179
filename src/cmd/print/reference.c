/* An entry of a list that explains names: of a report, a rule or a format. */
#include "reference.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "display.h"
#include "print.h"

enum { INDENT = 4 };

void print_reference(struct text *out, const char *name, const char *usage, const char *title, const char *text)
{
    size_t column = strlen(name), width = print_terminal_columns(STDOUT_FILENO) ? print_text_columns() : SIZE_MAX;
    struct text end = { 0 };

    text_add(out, name);
    while (*usage) {
        const char *next = strstr(usage + 1, "[:");
        size_t length = next ? (size_t)(next - usage) : strlen(usage);
        if (column + length > width) {
            text_add_char(out, '\n');
            text_add_repeat(out, ' ', column = INDENT);
        }
        text_add_bytes(out, usage, length);
        column += length;
        usage += length;
    }
    if (title)
        text_addf(&end, "-- %s", title);
    display_add_wrapped(out, text_string(&end), column, INDENT, width);
    text_free(&end);
    if (!text)
        return;
    text_add_repeat(out, ' ', INDENT);
    display_add_wrapped(out, text, INDENT, INDENT, print_text_columns());
    text_add_char(out, '\n');
}
