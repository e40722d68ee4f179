/* tacho help and tacho version; manual pages, made from the table of commands: installed as tacho-COMMAND(1).
 *
 * Those are in the man macros of roff: plain requests only, so that groff and mandoc both show them, and ASCII only, so
 * that no locale is needed. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "cmd/help_text.h"

enum { LINE_LENGTH = 78 };

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* Characters that roff interprets, and those that it has names for. */
static const struct {
    uint32_t code;
    const char *roff;
} characters[] = {
    { '\\', "\\e" },         { '-', "\\-" },       { '\'', "\\(aq" },  { '`', "\\(ga" },     { '^', "\\(ha" },
    { '~', "\\(ti" },        { '"', "\\(dq" },     { 0xb5, "\\[mc]" }, { 0xd7, "\\[mu]" },   { 0x2013, "\\-" },
    { 0x2026, ".\\|.\\|." }, { 0x2192, "\\[->]" }, { 0x2212, "\\-" },  { 0x2264, "\\[<=]" }, { 0x2265, "\\[>=]" },
};

static void help_add_character(struct text *out, uint32_t code)
{
    for (size_t i = 0; i < COUNT_OF(characters); i++)
        if (characters[i].code == code) {
            text_add(out, characters[i].roff);
            return;
        }
    if (code < 0x80)
        text_add_char(out, (char)code);
    else
        text_addf(out, "\\[u%04X]", (unsigned)code);
}

static void help_add_escaped(struct text *out, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        size_t used = utf8_decode(bytes + at, length - at, &code);
        if (used)
            help_add_character(out, code);
        at += used ? used : 1;
    }
}

static void add_in_font(struct text *out, char font, const char *bytes, size_t length)
{
    text_addf(out, "\\f%c", font);
    help_add_escaped(out, bytes, length);
    text_add(out, "\\fR");
}

/* The length of the option that a word begins with: "--name" or "-n"; 0: it is another word. */
static size_t option_length(const char *word, size_t length)
{
    size_t at = 1;

    if (length < 2 || word[0] != '-' || (word[1] != '-' && !isalpha((unsigned char)word[1])))
        return 0;
    while (at < length && (isalnum((unsigned char)word[at]) || word[at] == '-'))
        at++;
    return at > 2 || word[1] != '-' ? at : 0;
}

/* Fonts: `code` is bold, and so are options. `in_code` holds from one word to the next. */
static void help_add_word(struct text *out, const char *word, size_t length, int *in_code)
{
    size_t bold = *in_code ? 0 : option_length(word, length);

    if (bold)
        add_in_font(out, 'B', word, bold);
    for (size_t at = bold; at < length;) {
        const char *quote = memchr(word + at, '`', length - at);
        size_t part = quote ? (size_t)(quote - word) - at : length - at;
        if (*in_code && part)
            add_in_font(out, 'B', word + at, part);
        else
            help_add_escaped(out, word + at, part);
        at += part;
        if (quote) {
            *in_code = !*in_code;
            at++;
        }
    }
}

/* Sentences, as lines of moderate length. A line must not begin like a request. */
static void help_add_text(struct text *out, const char *text)
{
    struct text word = { 0 };
    size_t column = 0;
    int in_code = 0;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, " ");
        text_clear(&word);
        help_add_word(&word, at, length, &in_code);
        if (column && column + 1 + word.length > LINE_LENGTH) {
            text_add_char(out, '\n');
            column = 0;
        } else if (column) {
            text_add_char(out, ' ');
        }
        if (!column && *text_string(&word) == '.')
            text_add(out, "\\&");
        text_add_bytes(out, text_string(&word), word.length);
        column += 1 + word.length;
        at += length + strspn(at + length, " ");
    }
    text_add_char(out, '\n');
    text_free(&word);
}

static void help_add_section(struct text *out, const char *title)
{
    text_addf(out, ".SH %s\n", title);
}

/* A term in bold and what it means. */
static void help_add_entry(struct text *out, const struct entry *entry)
{
    text_add(out, ".TP\n");
    add_in_font(out, 'B', entry->term, strlen(entry->term));
    text_add_char(out, '\n');
    help_add_text(out, entry->text);
}

static void help_add_entries(struct text *out, const char *title, const struct entry *entries)
{
    help_add_section(out, title);
    for (; entries->term; entries++)
        help_add_entry(out, entries);
}

/* ---- sections -------------------------------------------------------------------------------------------------- */

static void help_add_option(struct text *out, const struct option *option)
{
    enum { LONGEST_CHOICES = 60 };
    struct text value = { 0 }, sentence = { 0 };
    int without_choices = help_add_value(&value, option, LONGEST_CHOICES);

    text_add(out, ".TP\n");
    if (option->letter) {
        add_in_font(out, 'B', (char[]){ '-', option->letter }, 2);
        text_add(out, ", ");
    }
    text_add(out, "\\fB\\-\\-");
    help_add_escaped(out, option->name, strlen(option->name));
    text_add(out, "\\fR");
    if (value.length) {
        text_add_char(out, '=');
        add_in_font(out, 'I', text_string(&value) + 1, value.length - 1);
    }
    text_add_char(out, '\n');
    help_add_sentence(&sentence, option, without_choices);
    help_add_text(out, text_string(&sentence));
    text_free(&sentence);
    text_free(&value);
}

static void help_add_options(struct text *out, const struct option *options)
{
    size_t ignored = 0;

    help_add_section(out, "OPTIONS");
    for (const struct option *option = options; option->name; option++) {
        ignored += (size_t)help_is_ignored(option);
        if (help_is_listed(option))
            help_add_option(out, option);
    }
    help_add_option(out, &help_option);
    if (!ignored)
        return;
    text_add(out,
             ".SS Options of nsys without effect\nAccepted with a warning, so that scripts written for nsys run.\n");
    for (const struct option *option = options; option->name; option++)
        if (help_is_ignored(option))
            help_add_option(out, option);
}

/* Names of values are in italics, options in bold. */
static void add_synopsis(struct text *out, const struct command *command)
{
    int in_code = 0;

    help_add_section(out, "SYNOPSIS");
    text_addf(out, "\\fBtacho %s\\fR [\\fIoptions\\fR]", command->name);
    for (const char *at = command->arguments; *at;) {
        size_t length = strcspn(at, " ");
        text_add_char(out, ' ');
        if (strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == length)
            add_in_font(out, 'I', at, length);
        else
            help_add_word(out, at, length, &in_code);
        at += length + strspn(at + length, " ");
    }
    text_add_char(out, '\n');
}

/* Variables. `is_of_all`: all commands read it; else the rows of commands say which do. */
static void add_environment(struct text *out, const struct command *command)
{
    static const struct {
        struct entry entry;
        int is_of_all;
    } variables[] = {
        { { "ACC_PROFLIB", "Another tool of OpenACC, which keeps its place: -t openacc has no effect then." }, 0 },
        { { "BROWSER", "The browser that tacho view opens. Default: xdg-open." }, 0 },
        { { "COLUMNS", "The width of tables in the format human if standard output is not a terminal." }, 1 },
        { { "CUDA_HOME", "The CUDA toolkit whose CUPTI is used. CUDA_PATH has the same effect." }, 0 },
        { { "CUDA_VISIBLE_DEVICES", "The GPUs of a program. A rank that has a single one records its metrics itself." },
          0 },
        { { "NCCL_PROFILER_PLUGIN",
            "Another plugin of NCCL, which keeps its place: --nccl-plugin has no effect then." },
          0 },
        { { "NO_COLOR", "If set, the output has no colors and no bold text." }, 1 },
        { { "TACHO_AGENT", "The agent library. Default: libtacho-agent.so in ../lib/tacho, seen from the program." },
          0 },
        { { "TACHO_CUPTI", "The CUPTI library to load instead of the one that Tacho finds." }, 0 },
        { { "TACHO_GPU_DEBUG", "If set, tacho-gpu and the libraries that it loads may write to standard error." }, 0 },
        { { "TACHO_GPU_HELPER",
            "The program that reads GPUs. Default: tacho-gpu in ../lib/tacho, seen from the program." },
          0 },
        { { "TACHO_NVML", "The file of NVML, which is part of the driver. Default: libnvidia-ml.so.1." }, 0 },
        { { "TACHO_PAGE", "The directory of the timeline page. Default: ../share/tacho/view, seen from the program." },
          0 },
        { { "TACHO_SYSFS", "The directory in which network adapters are looked up. Default: /sys." }, 0 },
        { { "TMPDIR", "The directory for temporary files, such as the import of another profiler's file. Default: "
                      "/tmp." },
          1 },
        { { "XDG_STATE_HOME", "The directory of tacho/sql_history. Default: ~/.local/state." }, 0 },
    };

    help_add_section(out, "ENVIRONMENT");
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (!command || variables[i].is_of_all ||
            (command->variables && strstr(command->variables, variables[i].entry.term)))
            help_add_entry(out, &variables[i].entry);
}

static void add_files(struct text *out)
{
    static const struct entry files[] = {
        { "report1.tacho", "A report, with the default name of tacho profile." },
        { "../lib/tacho/libtacho-agent.so", "The library that tacho profile loads into the program, seen from bin/." },
        { "../share/tacho/docs", "The documentation, seen from bin/." },
        { 0 },
    };

    help_add_entries(out, "FILES", files);
}

static void add_see_also(struct text *out, const struct command *self)
{
    help_add_section(out, "SEE ALSO");
    if (self)
        text_add(out, ".BR tacho (1),\n");
    for (const struct command *const *at = command_table(); *at; at++)
        if (*at != self)
            text_addf(out, ".BR tacho\\-%s (1)%s\n", (*at)->name, at[1] && !(at[1] == self && !at[2]) ? "," : "");
}

/* ---- pages ----------------------------------------------------------------------------------------------------- */

static void add_title(struct text *out, const struct command *command)
{
    text_addf(out, ".\\\" Made from the table of commands by: tacho help --man%s%s\n.TH TACHO", command ? " " : "",
              command ? command->name : "");
    if (command) {
        text_add_char(out, '-');
        for (const char *letter = command->name; *letter; letter++)
            text_add_char(out, (char)toupper((unsigned char)*letter));
    }
    text_addf(out, " 1 \"%s\" \"Tacho %s\" \"Tacho Manual\"\n", command_origin()->date, TACHO_VERSION);
    text_add(out, ".nh\n.ad l\n"); /* values of options must stay in one piece */
}

static void add_main_page(struct text *out)
{
    static const struct option options[] = {
        { .name = "version", .letter = 'v', .kind = OPTION_FLAG, .help = "Print the version and the commit." },
        { 0 },
    };
    static const struct entry examples[] = {
        { "tacho doctor", "Check what can be recorded on this machine." },
        { "tacho profile ./program", "Run a program, record it, and print a summary." },
        { "tacho stats report1.tacho", "Print tables of the report." },
        { "tacho view report1.tacho", "Show the timeline in a browser." },
        { 0 },
    };

    help_add_section(out, "NAME");
    text_add(out, "tacho \\- profiler for programs on CPUs and GPUs\n");
    help_add_section(out, "SYNOPSIS");
    text_add(out, "\\fBtacho\\fR \\fICOMMAND\\fR [\\fIoptions\\fR] .\\|.\\|.\n");
    help_add_section(out, "DESCRIPTION");
    help_add_text(out,
                  "Tacho records what a program does over time: CPU samples, OS calls, CUDA calls and GPU work, NVTX "
                  "ranges, PyTorch operators and Python code. It writes a report, a file that its commands, its "
                  "timeline page, its C API and its Python package read.");
    help_add_section(out, "COMMANDS");
    for (const struct command *const *at = command_table(); *at; at++)
        help_add_entry(out, &(struct entry){ (*at)->name, (*at)->summary });
    help_add_options(out, options);
    help_add_entries(out, "EXAMPLES", examples);
}

static void add_command_page(struct text *out, const struct command *command)
{
    struct text name = { 0 };

    text_addf(&name, "tacho-%s - %s", command->name, command->summary);
    help_add_section(out, "NAME");
    help_add_text(out, text_string(&name));
    text_free(&name);
    add_synopsis(out, command);
    help_add_section(out, "DESCRIPTION");
    help_add_text(out, command->about ? command->about : command->summary);
    help_add_options(out, command_option_table(command));
    if (command->examples)
        help_add_entries(out, "EXAMPLES", command->examples);
}

/* Adds the manual page of a command, or of tacho (NULL), for man(1). */
static void man_page(struct text *out, const struct command *command)
{
    add_title(out, command);
    if (command)
        add_command_page(out, command);
    else
        add_main_page(out);
    help_add_entries(out, "EXIT STATUS", help_exits(command));
    add_environment(out, command);
    add_files(out);
    add_see_also(out, command);
}

/* ---- the commands ---------------------------------------------------------------------------------------------- */

struct help_settings {
    int man;
};

static int run_help(const struct command *self, int argc, char **argv)
{
    struct help_settings settings = { 0 };
    const struct command *command = NULL;
    const char *operands[argc];
    struct text out = { 0 };
    struct error err;
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, operands, &count, &status))
        return status;
    if (count && !(command = command_find(operands[0]))) {
        error_set(&err, ERR_BAD_ARGUMENT, "unknown command '%s'; 'tacho help' lists the commands", operands[0]);
        return command_fail(self, &err);
    }
    if (settings.man)
        man_page(&out, command);
    else if (command)
        command_help(command, &out);
    else
        commands_help(&out);
    status = command_write(self, &out);
    text_free(&out);
    return status;
}

static int run_version(const struct command *self, int argc, char **argv)
{
    const char *commit = command_origin()->commit;

    printf("tacho %s%s%s%s\n", TACHO_VERSION, *commit ? " (" : "", commit, *commit ? ")" : "");
    return EXIT_OK;
}

static const struct option no_options[] = { { 0 } };

/* clang-format off */
static const struct option help_options[] = {
    { .name = "man", .kind = OPTION_FLAG, .offset = offsetof(struct help_settings, man),
      .help = "Print the manual page of the command, for man(1)." },
    { 0 },
};
/* clang-format on */

static const struct entry help_examples[] = {
    { "tacho help profile", "Explain the command profile and its options." },
    { "tacho help --man profile | man -l -", "Read the manual page of profile where it is not installed." },
    { 0 },
};

const struct command command_version = {
    .name = "version",
    .arguments = "",
    .summary = "Print the version",
    .about = "Print the version.",
    .examples = (const struct entry[]){ { "tacho version", "Print the version and the commit it was built from." },
                                        { 0 } },
    .options = no_options,
    .run = run_version,
};
const struct command command_help_row = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "Explain a command and its options",
    .about = "Explain a command and its options. Without a command, list all commands.",
    .examples = help_examples,
    .options = help_options,
    .run = run_help,
};
