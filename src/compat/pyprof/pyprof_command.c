/* tacho pyprof: PyProf's table of kernels, for any file that Tacho reads; the options are those of its command prof. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/number.h"
#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "pyprof.h"

struct pyprof_cmd_settings {
    const char *columns, *width;
    int csv;
};

/* Names for -c, in the order of the table; the least width with -w; and the word for a cell that is not known. Kernel
 * and params share the width that is left. */
static const struct pyprof_cmd_choice {
    const char *name;
    size_t width;
    const char *unknown;
} choices[PYPROF_COLUMNS] = {
    [PYPROF_IDX] = { "idx", 7, "-" },       [PYPROF_SEQ] = { "seq", 7, "-" },
    [PYPROF_ALTSEQ] = { "altseq", 7, "-" }, [PYPROF_TID] = { "tid", 12, "-" },
    [PYPROF_LAYER] = { "layer", 10, "-" },  [PYPROF_TRACE] = { "trace", 25, "-" },
    [PYPROF_DIR] = { "dir", 5, "na" },      [PYPROF_SUB] = { "sub", 3, "-" },
    [PYPROF_MOD] = { "mod", 15, "na" },     [PYPROF_OP] = { "op", 15, "na" },
    [PYPROF_KERNEL] = { "kernel", 0, "-" }, [PYPROF_PARAMS] = { "params", 0, "na" },
    [PYPROF_SIL] = { "sil", 10, "-" },      [PYPROF_TC] = { "tc", 2, "-" },
    [PYPROF_DEVICE] = { "device", 3, "-" }, [PYPROF_STREAM] = { "stream", 3, "-" },
    [PYPROF_GRID] = { "grid", 12, "-" },    [PYPROF_BLOCK] = { "block", 12, "-" },
    [PYPROF_FLOPS] = { "flops", 12, "-" },  [PYPROF_BYTES] = { "bytes", 12, "-" },
};

static const char *const *pyprof_cmd_column_names(void)
{
    static const char *names[PYPROF_COLUMNS + 1];

    for (size_t i = 0; i < PYPROF_COLUMNS; i++)
        names[i] = choices[i].name;
    return names;
}

#define FIELD(name) offsetof(struct pyprof_cmd_settings, name)
/* clang-format off */
static const struct option pyprof_cmd_options[] = {
    { .name = "columns", .letter = 'c', .kind = OPTION_TEXT, .offset = FIELD(columns), .value = "LIST",
      .choices = pyprof_cmd_column_names,
      .help = "Columns to print: all, or any of idx, seq (number of autograd), altseq, tid, layer, trace (call stack), "
              "dir, sub, mod, op, kernel, params, sil (ns), tc (tensor cores), device, stream, grid, block, flops, "
              "bytes. Default: idx,dir,sub,mod,op,kernel,params,sil." },
    { .name = "csv", .kind = OPTION_FLAG, .offset = FIELD(csv), .help = "Print csv, all cells in quotes." },
    { .name = "width", .letter = 'w', .kind = OPTION_TEXT, .offset = FIELD(width), .value = "N",
      .help = "Print columns with N characters in all. Default: cells with a space between them." },
    { 0 },
};
/* clang-format on */

struct pyprof_cmd_listing {
    enum pyprof_column columns[PYPROF_COLUMNS];
    size_t widths[PYPROF_COLUMNS]; /* with -w */
    size_t count;
    int csv;
    size_t width;                  /* 0: not given */
};

/* ---- options --------------------------------------------------------------------------------------------------- */

static int pyprof_cmd_add_column(struct pyprof_cmd_listing *listing, const char *name, struct error *err)
{
    size_t column = 0;

    while (column < PYPROF_COLUMNS && strcmp(choices[column].name, name) != 0)
        column++;
    if (column == PYPROF_COLUMNS) {
        const char *nearest = nearest_name(name, pyprof_cmd_column_names());
        return error_set(err, ERR_BAD_ARGUMENT, "unknown column '%s' for -c%s%s; tacho help pyprof lists the names",
                         name, nearest ? ": did you mean " : "", nearest ? nearest : "");
    }
    for (size_t i = 0; i < listing->count; i++)
        if (listing->columns[i] == column)
            return error_set(err, ERR_BAD_ARGUMENT, "-c has the column '%s' twice", name);
    listing->columns[listing->count++] = (enum pyprof_column)column;
    return 0;
}

static int pyprof_cmd_choose_columns(struct pyprof_cmd_listing *listing, const char *list, struct error *err)
{
    int is_all = list && strcmp(list, "all") == 0, code = 0;
    size_t count = 0;
    char **names = option_split(list && !is_all ? list : "idx,dir,sub,mod,op,kernel,params,sil", &count);

    if (!names)
        return error_no_memory(err);
    for (size_t i = 0; is_all && i < PYPROF_COLUMNS; i++)
        listing->columns[listing->count++] = (enum pyprof_column)i;
    for (size_t i = 0; i < count && !is_all; i++)
        if ((code = pyprof_cmd_add_column(listing, names[i], err)) != 0)
            break;
    free(names);
    if (code != 0 || listing->count)
        return code;
    return error_set(err, ERR_BAD_ARGUMENT, "-c names no column: idx,kernel,sil, or all");
}

/* Each column has its least width; kernel and params share what is left. */
static int pyprof_cmd_set_widths(struct pyprof_cmd_listing *listing, const char *width, struct error *err)
{
    size_t taken = 0, wide = 0;
    char *end;

    if (!width)
        return 0;
    long number = strtol(width, &end, 10);
    if (end == width || *end || number < 1 || number > 10000)
        return error_set(err, ERR_BAD_ARGUMENT, "-w takes a number of characters from 1 to 10000, not '%s'", width);
    if (listing->csv)
        return error_set(err, ERR_BAD_ARGUMENT, "--csv and -w exclude each other");
    listing->width = (size_t)number;
    for (size_t i = 0; i < listing->count; i++) {
        listing->widths[i] = choices[listing->columns[i]].width;
        taken += listing->widths[i];
        wide += !listing->widths[i];
    }
    if (taken + wide > listing->width)
        return error_set(err, ERR_BAD_ARGUMENT, "-w %s is too narrow: these columns take at least %zu characters",
                         width, taken + wide);
    for (size_t i = 0; i < listing->count && wide; i++)
        if (!choices[listing->columns[i]].width)
            listing->widths[i] = (listing->width - taken) / wide;
    return 0;
}

/* ---- output ---------------------------------------------------------------------------------------------------- */

/* The text of a cell; with -w, of a call stack only the innermost line. */
static void pyprof_cmd_add_text(struct text *out, const struct pyprof_cmd_listing *listing, enum pyprof_column column,
                                const struct table_column *columns, const struct table_cell *cell)
{
    if (cell->kind == CELL_NONE || (cell->kind == CELL_TEXT && !cell->text.length)) {
        text_add(out, choices[column].unknown);
    } else if (cell->kind != CELL_TEXT) {
        print_number(out, &columns[column], cell, &time_unit_ns, (struct print_number_style){ .lossless = 1 });
    } else if (column == PYPROF_TRACE && listing->width) {
        const char *comma = memrchr(cell->text.bytes, ',', cell->text.length);
        const char *begin = comma ? comma + 1 : cell->text.bytes, *slash = strrchr(begin, '/');
        text_add(out, slash ? slash + 1 : begin);
    } else {
        text_add_bytes(out, cell->text.bytes, cell->text.length);
    }
}

/* A cell as the options ask for it. Outside of csv nothing that a terminal would interpret is printed. */
static void pyprof_cmd_add_cell(struct text *out, const struct pyprof_cmd_listing *listing, size_t at,
                                const struct text *cell, int is_number)
{
    size_t width = listing->widths[at];

    if (listing->csv) {
        text_add(out, at ? ",\"" : "\"");
        for (size_t i = 0; i < cell->length; i++) {
            text_add(out, cell->bytes[i] == '"' ? "\"" : "");
            text_add_char(out, cell->bytes[i]);
        }
        text_add_char(out, '"');
        return;
    }
    text_add(out, at && !listing->width ? " " : "");
    size_t columns = display_columns(text_string(cell), cell->length);
    if (is_number && columns < width)
        text_add_repeat(out, ' ', width - columns);
    columns = display_add(out, text_string(cell), cell->length, is_number ? 0 : width);
    if (listing->width && !is_number && columns < width)
        text_add_repeat(out, ' ', width - columns);
    text_add(out, listing->width ? " " : "");
}

static void pyprof_cmd_add_table(struct text *out, const struct pyprof_cmd_listing *listing, const struct table *table)
{
    const struct table_column *columns = table_columns(table);
    struct text cell = { 0 };

    for (size_t row = 0; row <= table_row_count(table); row++) {
        for (size_t i = 0; i < listing->count; i++) {
            enum pyprof_column column = listing->columns[i];
            text_clear(&cell);
            if (row)
                pyprof_cmd_add_text(&cell, listing, column, columns, &table_row(table, row - 1)[column]);
            else
                text_add(&cell, columns[column].name);
            pyprof_cmd_add_cell(out, listing, i, &cell, row && columns[column].kind == CELL_INT);
        }
        text_add_char(out, '\n');
    }
    text_free(&cell);
}

static int print_input(const struct command *self, const struct pyprof_cmd_listing *listing, struct input input,
                       struct error *err)
{
    struct report *report;
    struct table *table;
    struct text out = { 0 }, found = { 0 };
    int status;

    if (open_input(input, NULL, &found, &report, err) != 0) {
        text_free(&found);
        return command_fail(self, err);
    }
    if (pyprof_table(report, &table, err) != 0) {
        status = command_fail(self, err);
        goto close_file;
    }
    pyprof_cmd_add_table(&out, listing, table);
    status = command_write(self, &out);
    text_free(&out);
    table_delete(table);
close_file:
    close_report(report, text_string(&found));
    text_free(&found);
    return status;
}

static int pyprof_cmd_run(const struct command *self, int argc, char **argv)
{
    struct pyprof_cmd_settings settings = { 0 };
    struct pyprof_cmd_listing listing = { 0 };
    struct error err = { 0 };
    const char *files[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &count, &status))
        return status;
    listing.csv = settings.csv;
    if (!count)
        error_set(&err, ERR_BAD_ARGUMENT, "takes a file: tacho pyprof report1.tacho");
    else if (pyprof_cmd_choose_columns(&listing, settings.columns, &err) == 0)
        pyprof_cmd_set_widths(&listing, settings.width, &err);
    return err.code ? command_fail(self, &err) : print_input(self, &listing, (struct input){ files, count }, &err);
}

static const struct entry pyprof_cmd_examples[] = {
    { "tacho pyprof report1.tacho", "List all kernels with their operators." },
    { "tacho pyprof --csv -c kernel,op,sil,flops,bytes report1.tacho", "Print five columns as csv." },
    { "tacho pyprof -w 150 -c idx,trace,op,kernel,sil mix.sqlite", "Print an export of nsys in columns." },
    { 0 },
};

const struct command command_pyprof = {
    .name = "pyprof",
    .arguments = "FILE …",
    .summary = "List kernels as PyProf does, with their operators, FLOPs and bytes",
    .about =
        "Print PyProf's table: a row for each kernel, with the operator that launched it, its shapes, direction, "
        "call stack, FLOPs, bytes and use of tensor cores. Operators come from the markers of PyProf or DLProf, or "
        "from what PyTorch's profiler or Tacho recorded. FILE is a .tacho report, a trace of torch.profiler or an "
        "SQLite export of nsys.",
    .examples = pyprof_cmd_examples,
    .options = pyprof_cmd_options,
    .files = "tacho,sqlite,json,gz,zst",
    .run = pyprof_cmd_run,
};
