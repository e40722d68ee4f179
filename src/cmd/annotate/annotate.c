/* tacho annotate: the source of a function with the samples at each line. */
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "annotate_instructions.h"
#include "annotate_lines.h"
#include "annotate_source.h"
#include "base/human.h"
#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/output.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"

struct annotate_settings {
    const char *source, *format;
    int instructions;
};

#define FIELD(name) offsetof(struct annotate_settings, name)
/* clang-format off */
static const struct option annotate_options[] = {
    { .name = "source", .letter = 's', .kind = OPTION_TEXT, .offset = FIELD(source), .value = "FOLDER",
      .help = "Look for the source file in FOLDER first. Default: where it was when the program was built." },
    { .name = "instructions", .letter = 'i', .kind = OPTION_FLAG, .offset = FIELD(instructions),
      .help = "Print the instructions of the function, without its source. Needs objdump (binutils)." },
    { .name = "format", .letter = 'f', .kind = OPTION_CHOICE, .offset = FIELD(format), .value = "FORMAT",
      .words = OPTION_WORDS("human", "csv", "json"),
      .help = "human, csv or json. csv and json have the lines with samples alone, or all instructions. Default: "
              "human." },
    { 0 },
};
/* clang-format on */

static double annotate_share(const struct annotate_lines *lines, int64_t samples)
{
    return lines->samples ? 100.0 * (double)samples / (double)lines->samples : 0;
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

enum { LINE, SELF, TOTAL, SELF_SAMPLES, TOTAL_SAMPLES, SOURCE, FUNCTION, FILE_NAME, COLUMNS };
static const struct table_column annotate_columns[COLUMNS] = {
    [LINE] = { "Line", CELL_INT, UNIT_ID, 0 },
    [SELF] = { "Self", CELL_REAL, UNIT_PERCENT, 1 },
    [TOTAL] = { "Total", CELL_REAL, UNIT_PERCENT, 1 },
    [SELF_SAMPLES] = { "Self Samples", CELL_INT, UNIT_NONE, 0 },
    [TOTAL_SAMPLES] = { "Total Samples", CELL_INT, UNIT_NONE, 0 },
    [SOURCE] = { "Source", CELL_TEXT, UNIT_NONE, 0 },
    [FUNCTION] = { "Function", CELL_TEXT, UNIT_NAME, 0 },
    [FILE_NAME] = { "File", CELL_TEXT, UNIT_NONE, 0 },
};

static int annotate_add_row(struct table *table, const struct annotate_lines *lines, const struct annotate_line *line,
                            const struct annotate_source *source)
{
    struct table_cell *row = table_add_row(table);
    struct text text = { 0 };
    size_t length;

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[LINE], line->line);
    cell_set_real(&row[SELF], annotate_share(lines, line->self));
    cell_set_real(&row[TOTAL], annotate_share(lines, line->total));
    cell_set_int(&row[SELF_SAMPLES], line->self);
    cell_set_int(&row[TOTAL_SAMPLES], line->total);
    const char *bytes = annotate_source_line(source, line->line, &length);
    text_add_bytes(&text, bytes, length);
    int failed = cell_set_built(table, &row[SOURCE], &text) != 0 ||
                 cell_set_string(table, &row[FUNCTION], lines->function) != 0 ||
                 cell_set_string(table, &row[FILE_NAME], lines->file) != 0;
    text_free(&text);
    return failed ? ERR_NO_MEMORY : 0;
}

static int annotate_print_table(struct text *out, const struct annotate_lines *lines,
                                const struct annotate_source *source, const char *format)
{
    struct print_request request = { .null_is_null = 1 };
    struct table *table = table_new(annotate_columns, COLUMNS);
    int code = ERR_NO_MEMORY;

    if (!table)
        return code;
    for (size_t i = 0; i < lines->count; i++)
        if (annotate_add_row(table, lines, &lines->list[i], source) != 0)
            goto delete_table;
    print_format_find(format)->table(out, table, &request);
    code = 0;
delete_table:
    table_delete(table);
    return code;
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

enum { AROUND = 3, SHARE_COLUMNS = 6, WIDEST = 200 }; /* around: lines before and after one with samples */

static void annotate_add_share(struct text *out, const struct annotate_lines *lines, int64_t samples)
{
    if (samples)
        text_addf(out, "  %*.1f %%", SHARE_COLUMNS - 1, annotate_share(lines, samples));
    else
        text_add_repeat(out, ' ', SHARE_COLUMNS + 3);
}

static void annotate_add_line(struct text *out, const struct annotate_lines *lines, const struct annotate_line *line,
                              const struct annotate_source *source, int64_t number)
{
    size_t length, indent = 0;
    const char *bytes = annotate_source_line(source, number, &length);

    annotate_add_share(out, lines, line ? line->self : 0);
    annotate_add_share(out, lines, line ? line->total : 0);
    text_addf(out, "  %6lld  ", (long long)number);
    for (; length && (*bytes == ' ' || *bytes == '\t'); bytes++, length--)
        indent += *bytes == '\t' ? 4 : 1;
    text_add_repeat(out, ' ', length ? indent : 0);
    display_add(out, bytes, length, WIDEST);
    while (out->length && text_string(out)[out->length - 1] == ' ')
        text_cut(out, out->length - 1);
    text_add_char(out, '\n');
}

/* The lines from three before the first one with samples to three after the last, without those that are far from
 * any. */
static void annotate_add_lines(struct text *out, const struct annotate_lines *lines,
                               const struct annotate_source *source)
{
    int64_t shown = 0;

    for (size_t i = 0; i < lines->count; i++) {
        int64_t line = lines->list[i].line;
        if (line <= 0)
            continue;
        int64_t first = line - shown > AROUND ? line - AROUND : shown + 1,
                next = i + 1 < lines->count ? lines->list[i + 1].line : INT64_MAX,
                last = next - line > AROUND ? line + AROUND : next - 1;
        if (shown && first > shown + 1)
            text_add(out, "                       …\n");
        for (int64_t number = first > 0 ? first : 1; number <= last; number++)
            if (number == line || number <= source->count)
                annotate_add_line(out, lines, number == line ? &lines->list[i] : NULL, source, number);
        shown = last;
    }
}

static void annotate_print(struct text *out, const struct annotate_lines *lines, const struct annotate_source *source)
{
    display_add(out, lines->function, strlen(lines->function), 0);
    const char *file = source->count ? text_string(&source->path) : lines->file;
    text_add(out, *file ? "  " : "");
    display_add(out, file, strlen(file), 0);
    text_add_char(out, '\n');
    human_count(out, (uint64_t)lines->total);
    text_addf(out, " samples, %.1f %% of all, are in it with what it calls; ", annotate_share(lines, lines->total));
    human_count(out, (uint64_t)lines->self);
    text_add(out, " in itself\n");
    if (lines->others)
        text_addf(out, "%zu other function%s of this name %s fewer\n", lines->others, lines->others > 1 ? "s" : "",
                  lines->others > 1 ? "have" : "has");
    if (!source->count)
        text_add(out, *lines->file ? "Cannot find the source: use --source FOLDER to say where it is.\n"
                                   : "Its lines are not known: build the program with debug information (gcc -g).\n");
    text_add(out, "    Self     Total    Line\n");
    annotate_add_lines(out, lines, source);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int annotate_report(struct text *out, struct report *report, const char *function,
                           const struct annotate_settings *settings, struct error *err)
{
    struct annotate_source source = { 0 };
    struct annotate_lines lines;
    int code;

    if (settings->instructions)
        return annotate_instructions(out, report, function, settings->format, err);
    if ((code = annotate_lines_read(&lines, report, function, err)) != 0)
        return code;
    if (annotate_source_open(&source, lines.file, settings->source) != 0) {
        code = error_no_memory(err);
        goto close_source;
    }
    if (strcmp(settings->format, "human") == 0)
        annotate_print(out, &lines, &source);
    else if (annotate_print_table(out, &lines, &source, settings->format) != 0)
        code = error_no_memory(err);
close_source:
    annotate_source_close(&source);
    annotate_lines_free(&lines);
    return code;
}

static int annotate_run(const struct command *self, int argc, char **argv)
{
    struct annotate_settings settings = { .format = "human" };
    struct text out = { 0 }, found = { 0 };
    struct error err = { 0 };
    struct report *report;
    const char *operands[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, operands, &count, &status))
        return status;
    if (count < 2) {
        error_set(&err, ERR_BAD_ARGUMENT, "takes a FUNCTION and a FILE: 'tacho annotate solve report1.tacho'");
        return command_fail(self, &err);
    }
    if (open_input((struct input){ operands + 1, count - 1 }, NULL, &found, &report, &err) != 0) {
        text_free(&found);
        return command_fail(self, &err);
    }
    status = annotate_report(&out, report, operands[0], &settings, &err) != 0 ? command_fail(self, &err)
                                                                              : command_write(self, &out);
    close_report(report, text_string(&found));
    text_free(&found);
    text_free(&out);
    return status;
}

static const struct entry annotate_examples[] = {
    { "tacho annotate solve report1.tacho", "Print the source of solve() with the samples at each line." },
    { "tacho annotate --instructions solve report1.tacho", "Print its instructions with the samples at each." },
    { "tacho annotate --source src Net.forward report1.tacho", "Look for the source file in src." },
    { 0 },
};

const struct command command_annotate = {
    .name = "annotate",
    .arguments = "FUNCTION FILE …",
    .summary = "Print the source of a function with the samples at each line",
    .about =
        "Print the source of a function with the share of the samples at each line: in the function itself, and with "
        "what it calls there. FUNCTION is the whole name or its last part; of several functions the one with most "
        "samples is printed. Functions of Python come from Python samples, others from samples of the CPU, if the "
        "program has debug information.",
    .examples = annotate_examples,
    .options = annotate_options,
    .files = "tacho,sqlite",
    .run = annotate_run,
};
