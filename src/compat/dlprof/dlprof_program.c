#include "dlprof_program.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cmd/command.h"

struct words {
    char **list; /* owned, not the words */
    size_t count, room;
    int failed;
};

static void dlprof_program_add(struct words *words, const char *word)
{
    if (array_reserve(&words->list, &words->room, words->count + 2, sizeof *words->list) != 0) {
        words->failed = 1;
        return;
    }
    words->list[words->count++] = (char *)word;
    words->list[words->count] = NULL;
}

static void dlprof_program_add_value(struct words *words, const char *option, const char *value)
{
    if (!value)
        return;
    dlprof_program_add(words, option);
    dlprof_program_add(words, value);
}

/* Splits at blanks, in place. DLProf's manual puts the options in quotes inside of the shell's. */
static void dlprof_program_add_options(struct words *words, char *options)
{
    for (char *word = strtok(options, " \t\""); word; word = strtok(NULL, " \t\""))
        dlprof_program_add(words, word);
}

int dlprof_profile(const struct dlprof_program *program)
{
    const struct command *profile = command_find("profile");
    char *options = strdup(program->options ? program->options : "-t cuda,nvtx -s none");
    struct words words = { 0 };
    int status = -1;

    dlprof_program_add(&words, "profile");
    dlprof_program_add_value(&words, "-o", program->report);
    dlprof_program_add_value(&words, "-f", program->overwrite ? "true" : "false");
    if (!program->is_simple) {
        dlprof_program_add(&words, "--pytorch=auto");
        dlprof_program_add(&words, "--pytorch-shapes=true");
        dlprof_program_add(&words, "--pytorch-stacks=true");
        dlprof_program_add(&words, "--pytorch-modules=true");
    }
    dlprof_program_add_value(&words, "-y", program->delay);
    dlprof_program_add_value(&words, "-d", program->duration);
    dlprof_program_add_value(&words, "-c", program->by_profiler_api ? "cudaProfilerApi" : NULL);
    if (program->is_quiet)
        dlprof_program_add(&words, "-q");
    if (options)
        dlprof_program_add_options(&words, options);
    for (const char *const *word = program->argv; *word; word++)
        dlprof_program_add(&words, *word);
    if (options && !words.failed)
        status = profile->run(profile, (int)words.count, words.list);
    free(words.list);
    free(options);
    return status;
}
