/* Destinations and formats of tables: -f and -o of `stats` and `analyze`, several of each, paired in order.
 *
 * An output is "-" (stdout), "@CMD" (the standard input of a command), "." (files named after the input) or the base
 * of the files' names. */
#ifndef TACHO_CMD_OUTPUT_H
#define TACHO_CMD_OUTPUT_H

#include "cmd/print/document.h"
#include "command.h"

enum { DELIVER_MOST = 64 };

/* Filled by the options; a command has it as a member of its settings. */
struct output_settings {
    struct option_list formats, outputs;
    const char *time_unit, *rows;
    int quiet, force_overwrite, as_nsys;
    int is_for_people; /* the default is human in a pipe, too */
    int is_relayed;    /* a launcher passes stdout on: its terminal is not the user's */
};

/* The rows of these options for a command's table: DELIVER_OPTIONS(struct settings, deliver). A command with further
 * formats, or with another default, has DELIVER_OPTIONS_AND(): their names, what '.' is on stdout, and a sentence about
 * them. */
#define DELIVER_OPTIONS(type, member)                                                                                  \
    DELIVER_OPTIONS_AND(type, member, output_format_names, "human on a terminal, column in a pipe", "")
#define DELIVER_OPTIONS_AND(type, member, names, on_stdout, more)                                                      \
    { .name = "format", .letter = 'f', .kind = OPTION_LIST, .offset = offsetof(type, member.formats),                  \
      .value = "NAME[:ARGUMENT…]", .choices = names,                                                                   \
      .help = "Output format: human, column, nsys, table, csv, tsv, json, hdoc, htable, or '.' (" on_stdout ", csv "   \
              "in a file). Several formats, separated by commas, pair with the tables in order; the last one is used " \
              "for the rest. " more "Default: '.'." },                                                                 \
    { .name = "output", .letter = 'o', .kind = OPTION_LIST, .offset = offsetof(type, member.outputs), .value = "NAME", \
      .help = "Output: '-' (stdout), '@CMD' (the standard input of a command), '.' (files named after FILE), or "      \
              "the start of the file names. Several outputs pair with the tables like formats. Default: '-'." },       \
    { .name = "timeunit", .kind = OPTION_TEXT, .offset = offsetof(type, member.time_unit), .value = "UNIT",            \
      .words = OPTION_WORDS("nsec", "usec", "msec", "seconds", "auto"),                                                \
      .help = "Unit of times: nsec, usec, msec or seconds, or a prefix of one; auto (human only) picks one for each "  \
              "time. Default: auto for human, else nsec." },                                                           \
    { .name = "rows", .kind = OPTION_TEXT, .offset = offsetof(type, member.rows), .value = "N|all",                    \
      .help = "Print the first N rows of each table. Default: up to 20 for human, else all." },                        \
    { .name = "nsys-output", .kind = OPTION_BOOL, .offset = offsetof(type, member.as_nsys),                            \
      .help = "Print what nsys prints, byte for byte: its layout on a terminal, its notes on stdout with csv and "     \
              "json. Default: false." },                                                                               \
    { .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = offsetof(type, member.quiet),                     \
      .help = "Print only the tables, without titles and notes." },                                                    \
    { .name = "force-overwrite", .kind = OPTION_BOOL, .offset = offsetof(type, member.force_overwrite),                \
      .help = "Overwrite existing files. Default: false." }
const char *const *output_format_names(void);

/* One format and one output. */
struct output_destination {
    const struct print_format *format;
    struct print_request request; /* without title and name, which the caller adds */
    const char *output;           /* "-", "@CMD", "." or a base name */
};

enum { OUTPUT_HUMAN_ROWS = 20 };

struct output_delivery {
    struct output_destination list[DELIVER_MOST];
    size_t count;                    /* at least 1 */
    size_t rows;                     /* rows of each table; SIZE_MAX: all */
    const char *rows_option;         /* the same as an option of a report; NULL: not given */
    int quiet, overwrite, as_nsys;
    struct print_document *document; /* the document of tables for programs on stdout; NULL: none */
    char **texts[2 * DELIVER_MOST];  /* the strings that the list points into */
    size_t text_count;
};

int output_delivery_parse(struct output_delivery *delivery, const struct output_settings *settings, struct error *err);
void output_delivery_free(struct output_delivery *delivery);
/* The destination at an index; after the end, the last one. */
const struct output_destination *output_delivery_at(const struct output_delivery *delivery, size_t place);
int output_is_console(const struct output_destination *destination);
/* Whether the tables are printed for people: together, the most important first, with one line for all missing data. */
int output_is_human(const struct output_destination *destination);
/* Whether the tables go to stdout in a format for programs: then nothing else does. nsys prints its notes there. */
int output_is_data(const struct output_delivery *delivery, const struct output_destination *destination);

/* Starts the document of the tables on stdout, if they are for programs. The caller owns it, and adds what
 * print_document_end() adds to stdout. */
void output_begin_document(struct output_delivery *delivery, struct print_document *document, int by_file,
                           int by_table);

/* Prints a note: to stdout, as nsys does, or to stderr if the tables there are for programs. Nothing with --quiet. */
void output_note(const struct output_delivery *delivery, const struct text *note);

/* Leaves the rows of a table that a destination gets: --rows, else OUTPUT_HUMAN_ROWS for people who read notes, else
 * all. Returns how many it has left out. */
size_t output_limit_rows(const struct output_delivery *delivery, const struct output_destination *destination,
                         struct table *table);

/* The request of the format `human` on stdout. */
struct print_request output_human_request(void);

/* Whether the output would overwrite the input: both names lead to one file. */
int output_is_input(const char *output, const char *input);

/* The path of a table's file: BASE_WHAT.csv. `what` is the report with its arguments; colons and slashes in it become
 * _ and -. If the output is ".", the base is the input without its extension. */
void output_file(struct text *out, const struct output_destination *destination, const char *input, const char *what);

/* Delivers a text: prints it, writes the file, or runs the command and waits for it. */
int output_deliver(const struct output_delivery *delivery, const struct output_destination *destination,
                   const char *file, const struct text *text, struct error *err);

/* Writes a new file. `option`: the one that sets `overwrite`, for the error if the file exists. */
int output_write_file(const char *path, int overwrite, const char *option, const struct text *text, struct error *err);

/* Adds the text of --help-formats. */
void output_help(struct text *out);

#endif
