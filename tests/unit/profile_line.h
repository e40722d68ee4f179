/* A command line of `tacho profile`, as the tests of its options see it. */
#ifndef TACHO_TESTS_PROFILE_LINE_H
#define TACHO_TESTS_PROFILE_LINE_H

#include <string.h>

#include "cmd/profile/profile_options.h"

static struct profile_settings settings;
static const char *program[64];
static size_t program_count;
static struct error err;
static struct text warnings;

/* Parses a line, split at blanks, and finishes it; returns the code. */
static int parse(const char *line)
{
    static char copy[1024];
    char *argv[64] = { (char *)"profile" };
    int argc = 1;

    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    profile_settings_free(&settings);
    profile_options_init(&settings);
    memset(&err, 0, sizeof err);
    text_clear(&warnings);
    struct option_parse rules = {
        .options = profile_options(), .settings = &settings, .stop_at_operand = 1, .operands = program
    };
    int code = options_parse(&rules, argc, argv, &err);
    program_count = rules.operand_count;
    text_add(&warnings, text_string(&rules.warnings));
    text_free(&rules.warnings);
    if (code == 0)
        code = profile_options_finish(&settings, &err);
    text_add(&warnings, text_string(&settings.warnings));
    return code;
}

static void free_line(void)
{
    text_free(&warnings);
    profile_settings_free(&settings);
}

#endif
