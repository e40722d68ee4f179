/* Formats and outputs of tables: parsing what was asked for, and handing the text over. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/newfile.h"

extern char **environ;

const char *const *output_format_names(void)
{
    static const char *names[16];

    for (size_t i = 0; print_formats[i] && i + 1 < 16; i++)
        names[i] = print_formats[i]->name;
    return names;
}

const char *const *output_time_unit_names(void)
{
    static const char *const names[] = { "nsec", "usec", "msec", "seconds", NULL };

    return names;
}

void output_help(struct text *out)
{
    for (const struct print_format *const *at = print_formats; *at; at++)
        text_addf(out, "%s%s\n    %s (.%s)\n\n", (*at)->name, (*at)->usage, (*at)->help, (*at)->extension);
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
            return error_set(err, ERR_NO_MEMORY, "out of memory");
        delivery->texts[delivery->text_count++] = split;
        for (size_t j = 0; j < parts; j++) {
            if (*count == DELIVER_MOST)
                return error_set(err, ERR_BAD_ARGUMENT, "more than %d formats or outputs at once", DELIVER_MOST);
            out[(*count)++] = split[j];
        }
    }
    return 0;
}

static int parse_destination(struct output_destination *out, char *format, const char *output,
                             const struct print_time_unit *unit, struct error *err)
{
    out->output = output ? output : "-";
    int console = output_is_console(out);
    out->request.time = unit;
    out->request.to_terminal = console && isatty(STDOUT_FILENO);
    out->request.terminal_columns = console ? print_terminal_columns(STDOUT_FILENO) : 0;
    if (!format || strcmp(format, ".") == 0) {
        out->format = console ? &print_column : &print_csv;
        return 0;
    }
    return print_format_parse(format, &out->format, &out->request, err);
}

int output_delivery_parse(struct output_delivery *delivery, const struct output_settings *settings, struct error *err)
{
    char *formats[DELIVER_MOST], *outputs[DELIVER_MOST];
    size_t format_count = 0, output_count = 0;
    const struct print_time_unit *unit = settings->time_unit ? time_unit_find(settings->time_unit) : &time_unit_ns;

    *delivery = (struct output_delivery){ .quiet = settings->quiet, .overwrite = settings->force_overwrite };
    if (!unit)
        return error_set(err, ERR_BAD_ARGUMENT, "unknown unit '%s' for --timeunit: use nsec, usec, msec or seconds",
                         settings->time_unit);
    if (split_all(delivery, &settings->formats, formats, &format_count, err) != 0 ||
        split_all(delivery, &settings->outputs, outputs, &output_count, err) != 0)
        return err->code;
    delivery->count = format_count > output_count ? format_count : output_count;
    delivery->count = delivery->count ? delivery->count : 1;
    for (size_t i = 0; i < delivery->count; i++) {
        /* Parsing cuts a format up, so the last one is parsed once and then counts on. */
        struct output_destination *destination = &delivery->list[i];
        char *output = !output_count ? NULL : outputs[i < output_count ? i : output_count - 1];
        int again = format_count && i >= format_count && strcmp(formats[format_count - 1], ".") != 0;
        if (parse_destination(destination,
                              !format_count || again ? NULL : formats[i < format_count ? i : format_count - 1], output,
                              unit, err) != 0)
            return err->code;
        if (again) {
            struct print_request request = delivery->list[format_count - 1].request;
            request.to_terminal = destination->request.to_terminal;
            request.terminal_columns = destination->request.terminal_columns;
            destination->format = delivery->list[format_count - 1].format;
            destination->request = request;
        }
    }
    return 0;
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

int output_is_console(const struct output_destination *destination)
{
    return strcmp(destination->output, "-") == 0;
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

static int write_all(int fd, const struct text *text)
{
    for (size_t at = 0; at < text->length;) {
        ssize_t written = write(fd, text->bytes + at, text->length - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        at += (size_t)written;
    }
    return 0;
}

static int write_file(const char *path, int overwrite, const struct text *text, struct error *err)
{
    int fd = newfile_open(path, O_WRONLY, 0666, overwrite);

    if (fd < 0 && errno == EEXIST)
        return error_set(err, ERR_EXISTS, "'%s' exists already: overwrite it with --force-overwrite=true", path);
    if (fd < 0)
        return error_set_errno(err, "cannot write '%s'", path);
    int failed = write_all(fd, text), saved = errno;
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
        return error_set_errno(err, "cannot make a pipe");
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
    if (write_all(input, text) != 0 && errno != EPIPE)
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

    if (!words) {
        code = error_set(err, ERR_NO_MEMORY, "out of memory");
        goto free_words;
    }
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
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    if (destination->output[0] == '@')
        return pipe_to(destination->output + 1, text, err);
    if (!output_is_console(destination))
        return write_file(file, delivery->overwrite, text, err);
    return command_print(text) == 0 ? 0 : error_set_errno(err, "cannot write the output");
}
