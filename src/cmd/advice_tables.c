/* Divides the rows of advice_sum: see advice_tables.h. A row that a replay judged has a confidence, and its saving is
 * of a step; all others are of the whole run. */
#include "advice_tables.h"

#include <string.h>

#include "base/array.h"

enum { OF_STEP, OF_RUN };
enum { MOST_COLUMNS = 16 };
static const struct {
    const char *title;
    const char *without[5]; /* columns that say nothing of its rows */
} group_rows[ADVICE_TABLES] = {
    [OF_STEP] = { "Savings per Step", { "Impact", NULL } },
    [OF_RUN] = { "Findings of the Whole Run", { "Saves per Step", "From", "To", "Confidence", NULL } },
};

static int advice_tables_kind(const struct table *advice, size_t row, size_t confidence)
{
    return confidence != TABLE_NO_COLUMN && table_row(advice, row)[confidence].kind == CELL_TEXT ? OF_STEP : OF_RUN;
}

/* The numbers of the columns that a group has. */
static size_t advice_tables_columns(size_t numbers[MOST_COLUMNS], const struct table *advice, int kind)
{
    size_t count = 0;

    for (size_t c = 0; c < table_column_count(advice) && count < MOST_COLUMNS; c++) {
        const char *const *name = group_rows[kind].without;
        while (*name && strcmp(*name, table_columns(advice)[c].name) != 0)
            name++;
        if (!*name)
            numbers[count++] = c;
    }
    return count;
}

static struct table *advice_tables_copy(const struct table *advice, int kind, size_t confidence)
{
    size_t numbers[MOST_COLUMNS], count = advice_tables_columns(numbers, advice, kind);
    struct table_column columns[MOST_COLUMNS];

    for (size_t c = 0; c < count; c++)
        columns[c] = table_columns(advice)[numbers[c]];
    struct table *table = table_new(columns, count);
    for (size_t i = 0; table && i < table_row_count(advice); i++) {
        struct table_cell *row;
        if (advice_tables_kind(advice, i, confidence) != kind)
            continue;
        if (!(row = table_add_row(table))) {
            table_delete(table);
            return NULL;
        }
        for (size_t c = 0; c < count; c++)
            row[c] = table_row(advice, i)[numbers[c]];
    }
    return table;
}

int advice_tables_read(struct advice_table groups[ADVICE_TABLES], size_t *count, const struct table *advice,
                       struct error *err)
{
    size_t confidence = table_find_column(advice, "Confidence");
    int first = table_row_count(advice) ? advice_tables_kind(advice, 0, confidence) : OF_STEP;

    *count = 0;
    for (int i = 0; i < ADVICE_TABLES; i++) {
        int kind = i ? !first : first;
        struct table *table = advice_tables_copy(advice, kind, confidence);
        if (!table) {
            advice_tables_free(groups, *count);
            *count = 0;
            return error_no_memory(err);
        }
        if (table_row_count(table))
            groups[(*count)++] = (struct advice_table){ group_rows[kind].title, table };
        else
            table_delete(table);
    }
    return 0;
}

void advice_tables_free(struct advice_table groups[ADVICE_TABLES], size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_delete(groups[i].table);
}
