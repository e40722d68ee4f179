#include "list_columns.h"

#include <string.h>

void list_columns_add(struct list_columns *columns, const char *const *cells)
{
    for (size_t i = 0; i < columns->count; i++) {
        size_t length = strlen(cells[i]);
        columns->width[i] = length > columns->width[i] ? length : columns->width[i];
        text_add_bytes(&columns->cells, cells[i], length + 1);
    }
    columns->rows++;
}

static void add_dashes(const struct list_columns *columns, struct text *out)
{
    text_add_repeat(out, ' ', columns->indent);
    for (size_t i = 0; i < columns->count; i++) {
        text_add_repeat(out, '-', columns->width[i]);
        text_add_char(out, i + 1 < columns->count ? ' ' : '\n');
    }
}

void list_columns_print(struct list_columns *columns, struct text *out)
{
    const char *cell = text_string(&columns->cells);

    out->failed |= columns->cells.failed;
    add_dashes(columns, out);
    for (size_t row = 0; !columns->cells.failed && row < columns->rows; row++) {
        text_add_repeat(out, ' ', columns->indent);
        for (size_t i = 0; i < columns->count; i++) {
            size_t length = strlen(cell), blanks = columns->width[i] - length;
            int is_right = columns->is_page && i > 0;
            text_add_repeat(out, ' ', is_right ? blanks : 0);
            text_add(out, cell);
            if (i + 1 < columns->count)
                text_add_repeat(out, ' ', (is_right ? 0 : blanks) + 1);
            cell += length + 1;
        }
        while (!out->failed && out->length && out->bytes[out->length - 1] == ' ')
            text_cut(out, out->length - 1);
        text_add_char(out, '\n');
        if (row == 0)
            add_dashes(columns, out);
    }
    if (columns->is_page)
        add_dashes(columns, out);
    text_free(&columns->cells);
    *columns = (struct list_columns){ .count = columns->count };
}
