/* The table of commands, and the functions that work with it: find and run. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/print/display.h"

#define NAME_COLUMNS 60 /* of a command that we do not know */

const struct command *const commands[] = {
    &command_profile,    &command_stats,   &command_analyze,  &command_view,
    &command_ops,        &command_sql,     &command_diff,     &command_info,
    &command_doctor,     &command_export,  &command_import,   &command_recover,
    &command_completion, &command_version, &command_help_row, NULL,
};

static const char *called_as = "tacho"; /* argv[0] */
static struct command_origin built_from = { "", "" };

const char *command_name(void)
{
    return called_as;
}

const struct command_origin *command_origin(void)
{
    return &built_from;
}

const struct command *command_find(const char *name)
{
    for (const struct command *const *at = commands; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

int command_fail(const struct command *self, const struct error *err)
{
    struct text clean = { 0 }; /* names of files are in it, and what strangers wrote into them */

    display_add(&clean, err->text, strlen(err->text), 0);
    fprintf(stderr, "tacho %s: %s\n", self->name, text_string(&clean));
    text_free(&clean);
    return err->code == ERR_BAD_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

int command_write(const struct command *self, const struct text *text)
{
    if (text_failed(text)) {
        fprintf(stderr, "tacho %s: out of memory\n", self->name);
        return EXIT_FAILED;
    }
    fflush(stdout);
    for (size_t at = 0; at < text->length;) {
        ssize_t written = write(STDOUT_FILENO, text->bytes + at, text->length - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            fprintf(stderr, "tacho %s: cannot write the output: %s\n", self->name, strerror(errno));
            return EXIT_FAILED;
        }
        at += (size_t)written;
    }
    return EXIT_OK;
}

const struct option *command_option_table(const struct command *command)
{
    return command->make_options ? command->make_options() : command->options;
}

int command_options(const struct command *self, int argc, char **argv, void *settings, const char **operands,
                    size_t *operand_count, int *status)
{
    struct option_parse parse = { .options = command_option_table(self),
                                  .settings = settings,
                                  .stop_at_operand = self->takes_program,
                                  .operands = operands };
    struct error err = { 0 };
    int code = options_parse(&parse, argc, argv, &err);

    *operand_count = parse.operand_count;
    *status = EXIT_OK;
    for (const char *line = text_string(&parse.warnings); *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "tacho %s: %.*s\n", self->name, (int)length, line);
        line += length + 1;
    }
    text_free(&parse.warnings);
    if (code != 0) {
        *status = command_fail(self, &err);
        return 0;
    }
    if (parse.wants_help) {
        struct text help = { 0 };
        command_help(self, &help);
        *status = command_write(self, &help);
        text_free(&help);
    }
    return !parse.wants_help;
}

/* Commands of nsys that have no counterpart of the same name, and what to use. */
static const struct {
    const char *name, *advice;
} known_from_nsys[] = {
    { "status", "use 'tacho doctor' to check what can be recorded on this machine" },
    { "sessions", "'tacho profile' has no sessions: a capture ends with its tacho process" },
    { "launch", "use 'tacho profile -c api' or '-c nvtx' to start a program and record on its request" },
    { "start", "use 'tacho profile' with --delay, -c nvtx or -c api to set when recording starts" },
    { "stop", "use 'tacho profile' with --duration, -c nvtx or -c api to set when recording stops, or press Ctrl-C" },
    { "cancel", "press Ctrl-C to end 'tacho profile', and delete the report" },
    { "shutdown", "press Ctrl-C, or send SIGTERM to 'tacho profile', to end a capture" },
    { "recipe", "use 'tacho stats', 'tacho analyze' or 'tacho diff'" },
};

static int run_unknown(const char *name)
{
    for (size_t i = 0; i < sizeof known_from_nsys / sizeof known_from_nsys[0]; i++)
        if (strcmp(name, known_from_nsys[i].name) == 0) {
            fprintf(stderr, "tacho: tacho has no command '%s' like nsys; %s\n", name, known_from_nsys[i].advice);
            return EXIT_USAGE;
        }
    const char *names[32];
    size_t count = 0;

    for (; commands[count]; count++)
        names[count] = commands[count]->name;
    names[count] = NULL;
    const char *nearest = nearest_name(name, names);
    struct text clean = { 0 };
    display_add(&clean, name, strlen(name), NAME_COLUMNS);
    if (nearest)
        fprintf(stderr, "tacho: unknown command '%s'; did you mean '%s'?\n", text_string(&clean), nearest);
    else
        fprintf(stderr, "tacho: unknown command '%s'; 'tacho help' lists the commands\n", text_string(&clean));
    text_free(&clean);
    return EXIT_USAGE;
}

int command_main(int argc, char **argv, const struct command_origin *origin)
{
    static const struct {
        const char *spelling, *name;
    } spellings[] = {
        { "--version", "version" },
        { "-v", "version" },
        { "--help", "help" },
        { "-h", "help" },
    };
    const char *name = argc > 1 ? argv[1] : "help";

    built_from = *origin;
    if (argc > 0 && *argv[0])
        called_as = argv[0];
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        if (strcmp(name, spellings[i].spelling) == 0)
            name = spellings[i].name;
    const struct command *command = command_find(name);
    if (!command)
        return run_unknown(name);
    if (argc < 2) {
        struct text help = { 0 };
        commands_help(&help);
        fputs(text_string(&help), stderr);
        text_free(&help);
        return EXIT_USAGE;
    }
    return command->run(command, argc - 1, argv + 1);
}
