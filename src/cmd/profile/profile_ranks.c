/* Ranks: see profile_ranks.h. */
#include "profile_ranks.h"

#include <errno.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cmd/cmd_source.h"
#include "collect/process/program_file.h"

/* ---- lists of ranks -------------------------------------------------------------------------------------------- */

static int64_t list_last(const char *list)
{
    struct number_span span;
    int64_t last = -1;

    while (number_list_next(&list, &span) > 0)
        last = span.last > last ? span.last : last;
    return last;
}

/* ---- which ranks are recorded ---------------------------------------------------------------------------------- */

int profile_ranks_take(void *settings, const char *value, struct error *err)
{
    if (!number_list_is_valid(value))
        return error_set(err, ERR_BAD_ARGUMENT, "--ranks must be a list of ranks such as 0,8-15, not '%s'", value);
    ((struct profile_settings *)settings)->ranks = value;
    return 0;
}

int profile_ranks_find(struct profile_settings *settings, int *is_recorded, struct error *err)
{
    const struct job_place *place = &settings->place;

    settings->place = job_place_own();
    *is_recorded = 1;
    if (!settings->ranks)
        return 0;
    if (settings->attach)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--ranks needs a program: --attach=caller records the process that asks");
    if (!place->launcher)
        return error_set(
            err, ERR_BAD_ARGUMENT,
            "--ranks needs a rank, and no launcher has set one; put tacho behind the launcher: mpirun -n 4 "
            "tacho profile --ranks %.60s …",
            settings->ranks);
    if (place->world_size >= 0 && list_last(settings->ranks) >= place->world_size)
        return error_set(err, ERR_BAD_ARGUMENT, "--ranks names rank %lld, and the job has only ranks 0 to %lld",
                         (long long)list_last(settings->ranks), (long long)place->world_size - 1);
    *is_recorded = number_list_has(settings->ranks, place->rank);
    return 0;
}

/* ---- a rank that is not recorded ------------------------------------------------------------------------------- */

/* A script without "#!" is run as execvp() does it. */
static void run_as_script(const char *path, char *const *argv)
{
    size_t count = 0;

    while (argv[count])
        count++;
    const char **words = calloc(count + 2, sizeof *words);
    if (!words)
        return;
    words[0] = "sh";
    words[1] = path;
    for (size_t i = 1; i < count; i++)
        words[i + 1] = argv[i];
    execv(_PATH_BSHELL, (char *const *)words);
    free(words);
}

int profile_ranks_run_bare(const struct profile_settings *settings, struct error *err)
{
    char *const *argv = settings->collect.argv;
    struct program_file program;
    const char *path = getenv("PATH");
    int status;

    if (program_file_find(&program, argv[0], path, &status, err) != 0)
        return status;
    if (!settings->inherit_environment)
        clearenv();
    for (size_t i = 0; i < settings->collect.environment_count; i++)
        setenv(settings->environment[i].name, settings->environment[i].value, 1);
    fflush(NULL);
    execv(program.path, argv);
    if (errno == ENOEXEC)
        run_as_script(program.path, argv);
    error_set(err, ERR_DENIED, "cannot run '%s': %s", argv[0], strerror(errno));
    return 126;
}

/* ---- data of the whole host ------------------------------------------------------------------------------------ */

/* The first rank of the host that is recorded, by a list of the host's ranks. */
static int64_t first_recorded(const char *host_ranks, const char *recorded)
{
    struct number_span span;

    while (number_list_next(&host_ranks, &span) > 0)
        for (int64_t rank = span.first; rank <= span.last; rank++)
            if (!recorded || number_list_has(recorded, rank))
                return rank;
    return -1;
}

/* Launchers number the ranks of a host one after another, unless configured otherwise. */
static int is_numbered_by_host(const struct job_place *place)
{
    return place->local_rank >= 0 && place->local_size > 0 && place->rank % place->local_size == place->local_rank;
}

/* The rank that records what concerns the host; -1: not known. */
static int64_t recorder_of_host(const struct job_place *place, const char *recorded)
{
    int64_t first = place->rank - place->local_rank;

    if (place->host_ranks)
        return first_recorded(place->host_ranks, recorded);
    if (!is_numbered_by_host(place))
        return -1;
    for (int64_t rank = first; recorded && rank < first + place->local_size; rank++)
        if (number_list_has(recorded, rank))
            return rank;
    return first;
}

/* If that is not known, two ranks record it rather than none. */
static int is_left_to_another(const struct job_place *place, const char *recorded, int64_t *recorder)
{
    *recorder = recorder_of_host(place, recorded);
    if (!place->launcher || place->local_rank < 0 || place->local_size == 1)
        return 0;
    if (*recorder < 0)
        return place->local_rank > 0 && !recorded;
    return *recorder != place->rank;
}

void profile_ranks_share_host(struct profile_settings *settings)
{
    struct text names = { 0 };
    int64_t recorder;

    if (!is_left_to_another(&settings->place, settings->ranks, &recorder))
        return;
    for (const struct cmd_source *const *source = cmd_sources; *source; source++) {
        const char *name = (*source)->leave_host ? (*source)->leave_host(&settings->collect) : NULL;
        if (name)
            text_addf(&names, "%s%s", names.length ? ", " : "", name);
    }
    if (names.length && recorder >= 0)
        text_addf(&settings->left_to, "%s (to rank %lld)", text_string(&names), (long long)recorder);
    else if (names.length)
        text_addf(&settings->left_to, "%s (to local rank 0 of this host)", text_string(&names));
    if (settings->left_to.length)
        settings->collect.left_to = text_string(&settings->left_to);
    text_free(&names);
}
