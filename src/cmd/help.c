/* tacho help and tacho version: the commands that only explain. */
#include <stdio.h>
#include <string.h>

#include "command.h"

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
