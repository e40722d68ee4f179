/* tacho ops: the table of torch's key_averages(), from any file that has operators. */
#include "ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/output.h"
#include "cmd/print/print_human.h"
#include "cmd/selection.h"

enum { TABLE_ROWS = 100, NOT_GIVEN = -2 };

struct ops_settings {
    const char *sort_by, *format;
    int64_t row_limit, stack_frames, name_width, shapes_width, source_width;
    int by_shapes, top_level_only, with_flops;
    struct selection_part_settings part;
};

static int ops_take_number(int64_t *out, const char *option, int64_t least, const char *value, struct error *err)
{
    char *end;

    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (!*value || *end || errno || number < least)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--%s must be a number of at least %lld, not "
                         "'%s'",
                         option, (long long)least, value);
    *out = number;
    return 0;
}

/* A function for each option with a number. */
#define TAKE(field, option, least)                                                                                     \
    static int take_##field(void *settings, const char *value, struct error *err)                                      \
    {                                                                                                                  \
        return ops_take_number(&((struct ops_settings *)settings)->field, option, least, value, err);                  \
    }
TAKE(row_limit, "row-limit", -1)
TAKE(stack_frames, "group-by-stack", 0)
TAKE(name_width, "max-name-column-width", 0)
TAKE(shapes_width, "max-shapes-column-width", 0)
TAKE(source_width, "max-src-column-width", 0)
#undef TAKE

static int ops_take_rows(void *settings, const char *value, struct error *err)
{
    int64_t *rows = &((struct ops_settings *)settings)->row_limit;

    if (strcmp(value, "all") != 0)
        return ops_take_number(rows, "rows", 0, value, err);
    *rows = -1;
    return 0;
}

#define FIELD(name) offsetof(struct ops_settings, name)
/* clang-format off */
static const struct option ops_options[] = {
    { .name = "sort-by", .kind = OPTION_CHOICE, .offset = FIELD(sort_by), .value = "KEY", .choices = torch_ops_orders,
      .help = "Sort the rows by this column, largest first; the names are torch's. none keeps the order of time, the "
              "default of torch. Default: self_device_time_total, or self_cpu_time_total without GPU time." },
    { .name = "rows", .kind = OPTION_CUSTOM, .value = "N|all", .take = ops_take_rows,
      .help = "Print the first N rows. Default: 20 for human, 100 for table, all for csv and json." },
    { .name = "row-limit", .kind = OPTION_CUSTOM, .value = "N", .take = take_row_limit,
      .help = "The same, as torch has it; -1 prints all." },
    { .name = "group-by-input-shape", .kind = OPTION_BOOL, .offset = FIELD(by_shapes),
      .help = "Print one row for each set of input shapes. Default: false." },
    { .name = "group-by-stack", .kind = OPTION_CUSTOM, .value = "N", .take = take_stack_frames,
      .help = "Print one row for each Python call stack, compared by its first N frames. Default: 0, off." },
    { .name = "top-level-events-only", .kind = OPTION_BOOL, .offset = FIELD(top_level_only),
      .help = "Print only operators that no other operator called. Default: false." },
    { .name = "with-flops", .kind = OPTION_BOOL, .offset = FIELD(with_flops),
      .help = "Compute FLOPs from the input shapes. Default: only for a trace that was recorded with_flops." },
    { .name = "format", .letter = 'f', .kind = OPTION_CHOICE, .offset = FIELD(format), .value = "FORMAT",
      .words = OPTION_WORDS("human", "table", "csv", "json"),
      .help = "human (fitted to the terminal), table (as torch prints it), csv or json; csv and json have times in µs. "
              "Default: human on a terminal, else table." },
    { .name = "max-name-column-width", .kind = OPTION_CUSTOM, .value = "N", .take = take_name_width,
      .help = "Shorten names to N characters; 0 keeps them whole. Default: 55." },
    { .name = "max-shapes-column-width", .kind = OPTION_CUSTOM, .value = "N", .take = take_shapes_width,
      .help = "Shorten input shapes to N characters; 0 keeps them whole. Default: 80." },
    { .name = "max-src-column-width", .kind = OPTION_CUSTOM, .value = "N", .take = take_source_width,
      .help = "Shorten source locations to their last N characters; 0 keeps them whole. Default: 75." },
    PART_OPTIONS(struct ops_settings, part),
    { 0 },
};
/* clang-format on */

/* ---- csv and json ---------------------------------------------------------------------------------------------- */

/* The columns of both are the first of the analysis's. */
enum { PLAIN_COLUMNS = TORCH_IS_ANNOTATION + 1 };

struct ops_chosen {
    struct table_column columns[PLAIN_COLUMNS];
    int from[PLAIN_COLUMNS];
    size_t count;
};

static struct ops_chosen ops_choose_columns(const struct torch_ops *ops, const struct ops_settings *settings)
{
    struct ops_chosen chosen = { 0 };

    for (int i = 0; i < PLAIN_COLUMNS; i++) {
        if ((i == TORCH_FLOPS && !ops->has_flops) || (i == TORCH_SHAPES && !settings->by_shapes) ||
            (i == TORCH_STACK && !settings->stack_frames))
            continue;
        chosen.columns[chosen.count] = table_columns(ops->table)[i];
        chosen.from[chosen.count++] = i;
    }
    return chosen;
}

static int add_plain_row(struct table *plain, const struct ops_chosen *chosen, const struct table_cell *row)
{
    struct table_cell *cells = table_add_row(plain);

    for (size_t c = 0; cells && c < chosen->count; c++) {
        const struct table_cell *from = &row[chosen->from[c]];
        if (from->kind == CELL_REAL)
            cell_set_real(&cells[c], from->real);
        else if (from->kind == CELL_TEXT && cell_set_text(plain, &cells[c], from->text.bytes, from->text.length) != 0)
            return ERR_NO_MEMORY;
        else if (from->kind == CELL_INT)
            cell_set_int(&cells[c], from->integer);
    }
    return cells ? 0 : ERR_NO_MEMORY;
}

static int print_plain(struct text *out, const struct torch_ops *ops, const struct ops_settings *settings,
                       struct error *err)
{
    struct ops_chosen chosen = ops_choose_columns(ops, settings);
    struct table *plain = table_new(chosen.columns, chosen.count);
    size_t limit = settings->row_limit < 0 ? SIZE_MAX : (size_t)settings->row_limit;
    struct print_request request = { .time = &time_unit_ns, .to_terminal = isatty(STDOUT_FILENO), .null_is_null = 1 };

    if (!plain)
        goto no_memory;
    for (size_t r = 0; r < table_row_count(ops->table) && table_row_count(plain) < limit; r++) {
        const struct table_cell *row = table_row(ops->table, r);
        if (settings->top_level_only && !row[TORCH_IS_TOP_LEVEL].integer)
            continue;
        if (add_plain_row(plain, &chosen, row) != 0)
            goto no_memory;
    }
    (strcmp(settings->format, "csv") == 0 ? print_csv : print_json).table(out, plain, &request);
    table_delete(plain);
    return 0;
no_memory:
    table_delete(plain);
    return error_no_memory(err);
}

/* ---- for people ------------------------------------------------------------------------------------------------ */

static int is_top_level(const struct table_cell *row)
{
    return row[TORCH_IS_TOP_LEVEL].integer != 0;
}

static void add_totals(struct text *out, const struct torch_ops *ops)
{
    struct torch_ops_sums sums = torch_ops_sums(ops);

    text_add(out, "Self CPU time total: ");
    human_time(out, (int64_t)(sums.self_cpu_us * 1e3 + 0.5));
    if (sums.has_device_time) {
        text_add(out, "; self CUDA time total: ");
        human_time(out, (int64_t)(sums.self_device_us * 1e3 + 0.5));
    }
    text_add_char(out, '\n');
}

static int print_fitted(struct text *out, const struct torch_ops *ops, const struct ops_settings *settings,
                        struct error *err)
{
    struct table *table = torch_ops_summary(ops, 1, settings->top_level_only ? is_top_level : NULL);
    const struct print_request request = output_human_request();

    if (!table)
        return error_no_memory(err);
    size_t rows = table_row_count(table), shown = print_human_rows(table);
    if (settings->row_limit != NOT_GIVEN)
        shown = settings->row_limit < 0 ? rows : (size_t)settings->row_limit;
    else if (shown > OUTPUT_HUMAN_ROWS)
        shown = OUTPUT_HUMAN_ROWS;
    table_limit(table, shown);
    print_human.table(out, table, &request);
    if (shown < rows) {
        text_add(out, "  … ");
        human_count(out, rows - shown);
        text_addf(out, " more row%s: --rows=all\n", rows - shown == 1 ? "" : "s");
    }
    add_totals(out, ops);
    table_delete(table);
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

/* Warns of options that have no effect because the report lacks their data, with the way to record it. */
static void ops_note_missing(const struct torch_ops *ops, const struct ops_settings *settings)
{
    const struct {
        int is_missing;
        const char *option, *what, *way;
    } notes[] = {
        { settings->by_shapes && !ops->has_shapes, "group-by-input-shape", "shapes",
          "--pytorch-shapes=true, or record_shapes=True" },
        { settings->with_flops && !ops->has_shapes, "with-flops", "shapes",
          "--pytorch-shapes=true, or record_shapes=True" },
        { settings->stack_frames && !ops->has_stacks, "group-by-stack", "stacks",
          "--pytorch-stacks=true, or with_stack=True and the experimental option verbose" },
    };

    for (size_t i = 0; i < COUNT_OF(notes); i++)
        if (notes[i].is_missing)
            fprintf(stderr,
                    "tacho ops: --%s has no effect: the operators were recorded without %s (tacho profile %s in "
                    "torch.profiler)\n",
                    notes[i].option, notes[i].what, notes[i].way);
}

static int print_ops(struct text *out, struct report *report, struct ops_settings *settings, struct error *err)
{
    struct torch_ops_request request = {
        .by_shapes = settings->by_shapes,
        .stack_frames = (int)settings->stack_frames,
        .with_flops = settings->with_flops,
        .sort_by = settings->sort_by,
    };
    const struct selection_item no_report = { 0 };
    struct torch_ops ops;
    struct selection_part part = { 0 };
    struct analysis_request part_of;
    int code;

    if ((code = selection_part_find(&settings->part, report, &part, err)) != 0)
        goto free_part;
    part_of = selection_part_request(&part, &no_report);
    code = torch_ops(&ops, report, &part_of, &request, err);
free_part:
    selection_part_free(&part);
    if (code != 0)
        return code;
    ops_note_missing(&ops, settings);
    if (strcmp(settings->format, "table") == 0) {
        int64_t limit = settings->row_limit == NOT_GIVEN ? TABLE_ROWS : settings->row_limit;
        struct ops_layout layout = {
            .rows = limit < 0 ? SIZE_MAX : (size_t)limit,
            .name_width = (size_t)settings->name_width,
            .shapes_width = (size_t)settings->shapes_width,
            .source_width = (size_t)settings->source_width,
            .top_level_only = settings->top_level_only,
        };
        ops_table(out, &ops, &layout);
    } else if (strcmp(settings->format, "human") == 0) {
        code = print_fitted(out, &ops, settings, err);
    } else {
        code = print_plain(out, &ops, settings, err);
    }
    table_delete(ops.table);
    return code;
}

static int ops_run(const struct command *self, int argc, char **argv)
{
    struct ops_settings settings = { .format = isatty(STDOUT_FILENO) ? "human" : "table",
                                     .row_limit = NOT_GIVEN,
                                     .name_width = 55,
                                     .shapes_width = 80,
                                     .source_width = 75 };
    const char *files[argc];
    struct report *report;
    struct text out = { 0 };
    struct error err = { 0 };
    size_t file_count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &file_count, &status))
        return status;
    if (settings.stack_frames > 1000)
        settings.stack_frames = 1000;
    if (!file_count) {
        error_set(&err, ERR_BAD_ARGUMENT,
                  "takes a FILE: a .tacho report, an SQLite export of nsys or a trace of torch.profiler");
        return command_fail(self, &err);
    }
    struct text found = { 0 };
    if (open_input((struct input){ files, file_count }, NULL, &found, &report, &err) != 0) {
        text_free(&found);
        return command_fail(self, &err);
    }
    int code = print_ops(&out, report, &settings, &err);
    if (code == ERR_NO_DATA && strcmp(settings.format, "json") == 0) { /* programs that read a list get an empty one */
        command_fail(self, &err);
        text_add(&out, "[]\n");
        code = 0;
    }
    status = code != 0 ? command_fail(self, &err) : command_write(self, &out);
    close_report(report, text_string(&found));
    text_free(&found);
    text_free(&out);
    return status;
}

static const struct entry ops_examples[] = {
    { "tacho ops report1.tacho", "Print the operators of a report." },
    { "tacho ops --sort-by self_cuda_time_total --rows 10 trace.json.gz",
      "Print the ten operators of a torch.profiler trace with the most time on the GPU." },
    { "tacho ops --group-by-input-shape -f json report1.tacho", "Print a row for each shape of the inputs, as JSON." },
    { 0 },
};

const struct command command_ops = {
    .name = "ops",
    .arguments = "FILE …",
    .summary = "Print PyTorch operators like torch.profiler does",
    .about = "Print the table of torch's key_averages(): operators, CUDA calls and kernels with their times, memory "
             "and FLOPs. FILE is a .tacho report, a trace of torch.profiler (.json, .json.gz, .json.zst) or an SQLite "
             "export of nsys from a program under torch.autograd.profiler.emit_nvtx.",
    .examples = ops_examples,
    .options = ops_options,
    .files = "tacho,sqlite,json,gz,zst",
    .run = ops_run,
};
