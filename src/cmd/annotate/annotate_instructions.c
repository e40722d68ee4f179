/* Prints the instructions of a function with the samples at each: see annotate_instructions.h. */
#include "annotate_instructions.h"

#include <stdio.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "annotate_code.h"
#include "base/human.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"

enum { CODE_ADDRESS, CODE_SELF, CODE_SAMPLES, CODE_LINE, CODE_TEXT, CODE_FUNCTION, CODE_FILE, CODE_COLUMNS };
static const struct table_column annotate_code_columns[CODE_COLUMNS] = {
    [CODE_ADDRESS] = { "Address", CELL_TEXT, UNIT_NONE, 0 },
    [CODE_SELF] = { "Self", CELL_REAL, UNIT_PERCENT, 1 },
    [CODE_SAMPLES] = { "Self Samples", CELL_INT, UNIT_NONE, 0 },
    [CODE_LINE] = { "Line", CELL_INT, UNIT_ID, 0 },
    [CODE_TEXT] = { "Instruction", CELL_TEXT, UNIT_NONE, 0 },
    [CODE_FUNCTION] = { "Function", CELL_TEXT, UNIT_NAME, 0 },
    [CODE_FILE] = { "File", CELL_TEXT, UNIT_NONE, 0 },
};

static double annotate_code_share(const struct annotate_code *found, int64_t samples)
{
    return found->samples ? 100.0 * (double)samples / (double)found->samples : 0;
}

static int annotate_code_add_row(struct table *table, const struct annotate_code *found,
                                 const struct annotate_instruction *instruction)
{
    struct table_cell *row = table_add_row(table);
    char address[32];

    if (!row)
        return ERR_NO_MEMORY;
    snprintf(address, sizeof address, "%llx", (unsigned long long)instruction->address);
    cell_set_real(&row[CODE_SELF], annotate_code_share(found, instruction->self));
    cell_set_int(&row[CODE_SAMPLES], instruction->self);
    if (instruction->line)
        cell_set_int(&row[CODE_LINE], instruction->line);
    return cell_set_string(table, &row[CODE_ADDRESS], address) != 0 ||
                   cell_set_string(table, &row[CODE_TEXT], text_string(&found->texts) + instruction->text) != 0 ||
                   cell_set_string(table, &row[CODE_FUNCTION], found->function) != 0 ||
                   cell_set_string(table, &row[CODE_FILE], found->file) != 0
               ? ERR_NO_MEMORY
               : 0;
}

static int annotate_code_print_table(struct text *out, const struct annotate_code *found, const char *format)
{
    struct print_request request = { .null_is_null = 1 };
    struct table *table = table_new(annotate_code_columns, CODE_COLUMNS);
    int code = ERR_NO_MEMORY;

    if (!table)
        return code;
    for (size_t i = 0; i < found->count; i++)
        if (annotate_code_add_row(table, found, &found->list[i]) != 0)
            goto delete_table;
    print_format_find(format)->table(out, table, &request);
    code = 0;
delete_table:
    table_delete(table);
    return code;
}

/* A line of the source is named where it begins. */
static void annotate_code_print(struct text *out, const struct annotate_code *found)
{
    int64_t line = 0;

    display_add(out, found->function, strlen(found->function), 0);
    text_add(out, "  ");
    display_add(out, found->file, strlen(found->file), 0);
    text_add_char(out, '\n');
    human_count(out, (uint64_t)found->self);
    text_addf(out, " samples, %.1f %% of all, are at its instructions\n", annotate_code_share(found, found->self));
    text_add(out, "    Self    Line       Address  Instruction\n");
    for (size_t i = 0; i < found->count; i++) {
        const struct annotate_instruction *instruction = &found->list[i];
        const char *text = text_string(&found->texts) + instruction->text;
        if (instruction->self)
            text_addf(out, "  %5.1f %%", annotate_code_share(found, instruction->self));
        else
            text_add_repeat(out, ' ', 9);
        if (instruction->line && instruction->line != line)
            text_addf(out, "  %5lld", (long long)instruction->line);
        else
            text_add_repeat(out, ' ', 7);
        text_addf(out, "  %12llx  ", (unsigned long long)instruction->address);
        display_add(out, text, strlen(text), 0);
        text_add_char(out, '\n');
        line = instruction->line;
    }
}

int annotate_instructions(struct text *out, struct report *report, const char *function, const char *format,
                          struct error *err)
{
    struct annotate_code found;
    int code = annotate_code_read(&found, report, function, err);

    if (code != 0)
        goto free_found;
    if (strcmp(format, "human") == 0)
        annotate_code_print(out, &found);
    else if (annotate_code_print_table(out, &found, format) != 0)
        code = error_no_memory(err);
free_found:
    annotate_code_free(&found);
    return code;
}
