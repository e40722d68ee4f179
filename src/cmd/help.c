/* Help, made from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "cmd/print/display.h"
#include "command.h"

enum { LINE_WIDTH = 100, HELP_INDENT = 32 };

static void add_choices(struct text *out, const struct option *option)
{
    for (const char *const *choice = option->choices(); *choice; choice++)
        text_addf(out, "%s%s", choice == option->choices() ? "" : "|", *choice);
}

static void add_option(struct text *out, const struct option *option)
{
    struct text left = { 0 };

    if (option->letter)
        text_addf(&left, "  -%c, --%s", option->letter, option->name);
    else
        text_addf(&left, "      --%s", option->name);
    if (option->kind == OPTION_BOOL && !option->choices) {
        text_add(&left, "=true|false");
    } else if (option->kind == OPTION_BOOL || option->kind == OPTION_CHOICE) {
        text_add_char(&left, '=');
        add_choices(&left, option);
    } else if (option->kind != OPTION_FLAG) {
        text_addf(&left, "=%s", option->value ? option->value : "VALUE");
    }
    text_add(out, text_string(&left));
    size_t column = left.length;
    if (column + 2 > HELP_INDENT) {
        text_add_char(out, '\n');
        column = 0;
    }
    text_add_repeat(out, ' ', HELP_INDENT - column);
    display_add_wrapped(out, option->help, HELP_INDENT, HELP_INDENT);
    text_free(&left);
}

void command_help(const struct command *command, struct text *out)
{
    size_t ignored = 0;

    text_addf(out, "usage: tacho %s%s%s%s\n\n", command->name,
              command_option_table(command)[0].name ? " [options]" : "", *command->arguments ? " " : "",
              command->arguments);
    display_add_wrapped(out, command->about ? command->about : command->summary, 0, 0);
    if (command_option_table(command)[0].name)
        text_add(out, "\noptions:\n");
    for (const struct option *option = command_option_table(command); option->name; option++) {
        ignored += option->kind == OPTION_IGNORED;
        if (!option->hidden && option->kind != OPTION_IGNORED)
            add_option(out, option);
    }
    if (!ignored)
        return;
    text_add(out, "\nknown from nsys, accepted with a warning:\n ");
    size_t column = 1;
    for (const struct option *option = command_option_table(command); option->name; option++) {
        if (option->kind != OPTION_IGNORED || option->hidden)
            continue;
        size_t length = strlen(option->name) + 3;
        if (column + length > LINE_WIDTH) {
            text_add(out, "\n ");
            column = 1;
        }
        text_addf(out, " --%s", option->name);
        column += length;
    }
    text_add_char(out, '\n');
}

void commands_help(struct text *out)
{
    text_add(out, "Tacho records what a program does in time and answers where the time went.\n\n"
                  "usage: tacho COMMAND [options] …\n\n");
    for (const struct command *const *at = commands; *at; at++)
        text_addf(out, "  %-12s %s\n", (*at)->name, (*at)->summary);
    text_add(out, "\nStart with:  tacho profile PROGRAM …\n"
                  "Then:        tacho stats report1.tacho\n"
                  "More:        tacho help COMMAND\n");
}

/* ---- the commands that only explain ---------------------------------------------------------------------------- */

static const struct option no_options[] = { { 0 } };

static int run_version(const struct command *self, int argc, char **argv)
{
    printf("tacho %s\n", TACHO_VERSION);
    return EXIT_OK;
}

static int run_help(const struct command *self, int argc, char **argv)
{
    struct text out = { 0 };

    if (argc > 1 && argv[1][0] != '-') {
        const struct command *const *at = commands;
        while (*at && strcmp((*at)->name, argv[1]) != 0)
            at++;
        if (!*at) {
            struct error err;
            error_set(&err, ERR_BAD_ARGUMENT, "there is no command '%s'", argv[1]);
            return command_fail(self, &err);
        }
        command_help(*at, &out);
    } else {
        commands_help(&out);
    }
    int status = command_write(self, &out);
    text_free(&out);
    return status;
}

const struct command command_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the version",
    .options = no_options,
    .run = run_version,
};
const struct command command_help_row = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "explain a command",
    .options = no_options,
    .run = run_help,
};
