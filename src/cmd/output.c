/* Formats and outputs of tables: parsing what was asked for, and handing the text over. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/newfile.h"
#include "cmd/print/reference.h"

extern char **environ;

const char *const *output_format_names(void)
{
    static const char *names[16];

    for (size_t i = 0; print_formats[i] && i + 1 < 16; i++)
        names[i] = print_formats[i]->name;
    return names;
}

void output_help(struct text *out)
{
    struct text help = { 0 };

    for (const struct print_format *const *at = print_formats; *at; at++) {
        text_clear(&help);
        text_addf(&help, "%s (.%s)", (*at)->help, (*at)->extension);
        print_reference(out, (*at)->name, (*at)->usage, NULL, text_string(&help));
    }
    text_free(&help);
}

/* ---- what was asked for ---------------------------------------------------------------------------------------- */

/* All parts of a list that was given with commas or by repeating the option. */
static int split_all(struct output_delivery *delivery, const struct option_list *list, char **out, size_t *count,
                     struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t parts;
        char **split = option_split(list->values[i], &parts);
        if (!split)
            return error_no_memory(err);
        delivery->texts[delivery->text_count++] = split;
        for (size_t j = 0; j < parts; j++) {
            if (*count == DELIVER_MOST)
                return error_set(err, ERR_BAD_ARGUMENT, "more than %d formats or outputs", DELIVER_MOST);
            out[(*count)++] = split[j];
        }
    }
    return 0;
}

/* COLUMNS, where a pipe has no width of its own. */
static size_t columns_of_environment(void)
{
    enum { WIDEST = 10000 };
    const char *text = getenv("COLUMNS");
    long columns = text ? strtol(text, NULL, 10) : 0;

    return columns > 0 && columns <= WIDEST ? (size_t)columns : 0;
}

/* Whether to print bold text: see no-color.org. */
static int has_colour(void)
{
    const char *term = getenv("TERM"), *refused = getenv("NO_COLOR");

    return term && *term && strcmp(term, "dumb") != 0 && !(refused && *refused);
}

/* The default format of a destination. */
static const struct print_format *default_format(const struct output_destination *destination,
                                                 const struct output_settings *settings)
{
    if (!output_is_console(destination))
        return &print_csv;
    if (settings->as_nsys)
        return &print_nsys;
    return destination->request.to_terminal || settings->is_for_people ? &print_human : &print_column;
}

/* The request of a destination before its format is known. */
static struct print_request request_for(const struct output_destination *destination, int is_relayed)
{
    int console = output_is_console(destination) && !is_relayed;

    return (struct print_request){ .to_terminal = console && isatty(STDOUT_FILENO),
                                   .terminal_columns = console ? print_terminal_columns(STDOUT_FILENO) : 0 };
}

/* Sets the members that depend on the format. */
static void finish_request(struct output_destination *destination, const struct print_time_unit *unit, int as_nsys)
{
    struct print_request *request = &destination->request;

    if (destination->format->has_auto_unit) {
        request->time = unit ? unit : &time_unit_auto;
        request->colour = request->to_terminal && has_colour();
        if (!request->terminal_columns)
            request->terminal_columns = columns_of_environment();
    } else {
        request->time = unit && unit != &time_unit_auto ? unit : &time_unit_ns;
        request->terminal_columns = as_nsys || destination->format->has_any_width ? 0 : request->terminal_columns;
    }
}

struct print_request output_human_request(void)
{
    struct output_destination console = { .output = "-", .format = &print_human };

    console.request = request_for(&console, 0);
    finish_request(&console, NULL, 0);
    return console.request;
}

/* The rows to print: --rows, else all. */
static int parse_rows(struct output_delivery *delivery, const char *text, struct error *err)
{
    char *end;

    delivery->rows = SIZE_MAX;
    delivery->rows_option = !text || strcmp(text, "all") != 0 ? text : "-1";
    if (!text || delivery->rows_option != text)
        return 0;
    errno = 0;
    long long rows = strtoll(text, &end, 10);
    if (!*text || *end || errno || rows < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--rows must be a number or 'all', not '%s'", text);
    delivery->rows = (size_t)rows;
    return 0;
}

/* Parses a format, which splits its text: destinations after the last format reuse the parsed one. */
static int parse_format(struct output_destination *destination, char *format, const struct output_destination *parsed,
                        int again, struct error *err)
{
    struct print_request own = destination->request;

    if (!again)
        return print_format_parse(format, &destination->format, &destination->request, err);
    destination->format = parsed->format;
    destination->request = parsed->request;
    destination->request.to_terminal = own.to_terminal;
    destination->request.terminal_columns = own.terminal_columns;
    return 0;
}

/* JSON on stdout is one document, so that nothing else can stand beside it. nsys prints one after another. */
static int check_formats(const struct output_delivery *delivery, struct error *err)
{
    const struct output_destination *json = NULL, *other = NULL;

    for (size_t i = 0; i < delivery->count; i++)
        if (output_is_console(&delivery->list[i]))
            *(delivery->list[i].format == &print_json ? &json : &other) = &delivery->list[i];
    if (!json || !other || delivery->as_nsys)
        return 0;
    return error_set(
        err, ERR_BAD_ARGUMENT,
        "cannot print json and %s to one stdout: write one of them to files with -o, or run tacho for each",
        other->format->name);
}

int output_delivery_parse(struct output_delivery *delivery, const struct output_settings *settings, struct error *err)
{
    char *formats[DELIVER_MOST], *outputs[DELIVER_MOST];
    size_t format_count = 0, output_count = 0;
    const struct print_time_unit *unit = settings->time_unit ? time_unit_find(settings->time_unit) : NULL;

    *delivery = (struct output_delivery){ .quiet = settings->quiet,
                                          .overwrite = settings->force_overwrite,
                                          .as_nsys = settings->as_nsys };
    if (settings->time_unit && !unit)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "unknown unit '%s' for --timeunit: use nsec, usec, msec, seconds or auto",
                         settings->time_unit);
    if (parse_rows(delivery, settings->rows, err) != 0 ||
        split_all(delivery, &settings->formats, formats, &format_count, err) != 0 ||
        split_all(delivery, &settings->outputs, outputs, &output_count, err) != 0)
        return err->code;
    delivery->count = format_count > output_count ? format_count : output_count;
    delivery->count = delivery->count ? delivery->count : 1;
    for (size_t i = 0; i < delivery->count; i++) {
        struct output_destination *destination = &delivery->list[i];
        size_t place = i < format_count ? i : format_count - 1; /* the last one counts on */
        const char *output = !output_count ? "-" : outputs[i < output_count ? i : output_count - 1];

        *destination = (struct output_destination){ .output = output };
        destination->request = request_for(destination, settings->is_relayed);
        destination->format = default_format(destination, settings);
        if (format_count && strcmp(formats[place], ".") != 0 &&
            parse_format(destination, formats[place], &delivery->list[place], i > place, err) != 0)
            return err->code;
        finish_request(destination, unit, settings->as_nsys);
    }
    return check_formats(delivery, err);
}

void output_delivery_free(struct output_delivery *delivery)
{
    for (size_t i = 0; i < delivery->text_count; i++)
        free(delivery->texts[i]);
}

const struct output_destination *output_delivery_at(const struct output_delivery *delivery, size_t place)
{
    return &delivery->list[place < delivery->count ? place : delivery->count - 1];
}

int output_is_human(const struct output_destination *destination)
{
    return output_is_console(destination) && destination->format == &print_human;
}

size_t output_limit_rows(const struct output_delivery *delivery, const struct output_destination *destination,
                         struct table *table)
{
    size_t rows = table_row_count(table);

    if (delivery->rows_option)
        table_limit(table, delivery->rows);
    else if (output_is_human(destination) && !delivery->quiet)
        table_limit(table, OUTPUT_HUMAN_ROWS);
    return rows - table_row_count(table);
}

int output_is_data(const struct output_delivery *delivery, const struct output_destination *destination)
{
    return output_is_console(destination) && destination->format->for_programs && !delivery->as_nsys;
}

void output_begin_document(struct output_delivery *delivery, struct print_document *document, int by_file, int by_table)
{
    *document = (struct print_document){ .by_file = by_file, .by_table = by_table, .is_quiet = delivery->quiet };
    for (size_t i = 0; i < delivery->count && !document->format; i++)
        if (output_is_data(delivery, &delivery->list[i]))
            document->format = delivery->list[i].format;
    delivery->document = document->format ? document : NULL;
}

void output_note(const struct output_delivery *delivery, const struct text *note)
{
    if (delivery->quiet)
        return;
    if (delivery->document)
        fputs(text_string(note), stderr);
    else
        command_print(note);
}

int output_is_console(const struct output_destination *destination)
{
    return strcmp(destination->output, "-") == 0;
}

int output_is_input(const char *output, const char *input)
{
    struct stat to, from;

    return stat(output, &to) == 0 && stat(input, &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

void output_file(struct text *out, const struct output_destination *destination, const char *input, const char *what)
{
    const char *base = destination->output;
    size_t length = strlen(base);

    if (strcmp(base, ".") == 0) {
        const char *name = strrchr(input, '/'), *ending = strrchr(name ? name : input, '.');
        base = input;
        length = ending ? (size_t)(ending - input) : strlen(input);
    }
    text_add_bytes(out, base, length);
    text_add_char(out, '_');
    for (; *what; what++)
        text_add_char(out, *what == ':' ? '_' : *what == '/' ? '-' : *what);
    text_addf(out, ".%s", destination->format->extension);
}

/* ---- handing over ---------------------------------------------------------------------------------------------- */

int output_write_file(const char *path, int overwrite, const char *option, const struct text *text, struct error *err)
{
    int fd = newfile_open(path, O_WRONLY, 0666, overwrite);

    if (fd < 0 && errno == EEXIST)
        return error_set(err, ERR_EXISTS, "'%s' exists already: overwrite it with --%s=true", path, option);
    if (fd < 0)
        return error_set_errno(err, "cannot write '%s'", path);
    int failed = newfile_write(fd, text->bytes, text->length), saved = errno;
    if (close(fd) != 0 && !failed) {
        failed = -1;
        saved = errno;
    }
    errno = saved;
    return failed ? error_set_errno(err, "cannot write '%s'", path) : 0;
}

/* The words of a command, at spaces: no quotes, no shell, as in nsys. */
static char **split_words(char *command)
{
    size_t room = strlen(command) / 2 + 2, count = 0;
    char **words = calloc(room, sizeof *words);

    for (char *word; words && (word = strsep(&command, " \t"));)
        if (*word)
            words[count++] = word;
    return words;
}

static int start_command(char **words, int *input, pid_t *pid, struct error *err)
{
    posix_spawn_file_actions_t actions;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(err, "cannot create a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    int failed = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (failed) {
        close(ends[1]);
        errno = failed;
        return error_set_errno(err, "cannot run '%s'", words[0]);
    }
    *input = ends[1];
    return 0;
}

/* Writes the text to a command that runs, and waits for its end. */
static int feed_command(char **words, int input, pid_t pid, const struct text *text, struct error *err)
{
    int status = 0, code = 0;

    /* A command that has read enough closes its end of the pipe, which is not a failure. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    if (newfile_write(input, text->bytes, text->length) != 0 && errno != EPIPE)
        code = error_set_errno(err, "cannot write to '%s'", words[0]);
    close(input);
    signal(SIGPIPE, before);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (code != 0)
        return code;
    if (WIFSIGNALED(status))
        return error_set(err, ERR_IO, "the command '%s' was killed by signal %d", words[0], WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return error_set(err, ERR_IO, "the command '%s' failed with status %d", words[0], WEXITSTATUS(status));
    return 0;
}

static int pipe_to(const char *command, const struct text *text, struct error *err)
{
    char *copy = strdup(command), **words = copy ? split_words(copy) : NULL;
    pid_t pid;
    int input = -1, code;

    if (!words && (code = error_no_memory(err)) != 0)
        goto free_words;
    if (!words[0]) {
        code = error_set(err, ERR_BAD_ARGUMENT, "--output=@ needs a command: --output '@less -S'");
        goto free_words;
    }
    if ((code = start_command(words, &input, &pid, err)) != 0)
        goto free_words;
    code = feed_command(words, input, pid, text, err);
free_words:
    free(words);
    free(copy);
    return code;
}

int output_deliver(const struct output_delivery *delivery, const struct output_destination *destination,
                   const char *file, const struct text *text, struct error *err)
{
    if (text_failed(text))
        return error_no_memory(err);
    if (destination->output[0] == '@')
        return pipe_to(destination->output + 1, text, err);
    if (!output_is_console(destination))
        return output_write_file(file, delivery->overwrite, "force-overwrite", text, err);
    return command_print(text) == 0 ? 0 : error_set_errno(err, "cannot write the output");
}
