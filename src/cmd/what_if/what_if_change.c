/* Parses a change and applies it: see what_if_change.h. */
#include "what_if_change.h"

#include <stdlib.h>
#include <string.h>

#include "base/regex/regex.h"
#include "what_if_place.h"

/* ---- kernels --------------------------------------------------------------------------------------------------- */

enum { MOST_FACTOR = 1000000 }; /* times that are longer than the replay can add up say nothing */

size_t what_if_factor(const char *text, double *factor)
{
    const char *equals = strrchr(text, '=');
    char *end = NULL;

    *factor = equals ? strtod(equals + 1, &end) : -1;
    return !equals || end == equals + 1 || (*end == 'x' ? end[1] : *end) || !(*factor >= 0) || *factor > MOST_FACTOR
               ? 0
               : (size_t)(equals - text);
}

/* Splits "REGEX=0.5x" and compiles its first part. */
static struct regex *parse_kernel(const char *text, double *factor, struct error *err)
{
    size_t length = what_if_factor(text, factor);

    if (!length) {
        error_set(err, ERR_BAD_ARGUMENT,
                  "--kernel needs a pattern and a factor from 0 to %d (--kernel 'gemm=0.5x'), not '%s'", MOST_FACTOR,
                  text);
        return NULL;
    }
    struct error why;
    struct regex *regex = regex_compile(text, length, 0, &why);
    if (!regex)
        error_set(err, ERR_BAD_ARGUMENT, "--kernel '%s': %s", text, why.text);
    return regex;
}

struct what_if_change_kernels {
    const struct replay *replay;
    struct report *report;
    struct report_columns rows; /* owned */
    struct regex *regex;        /* owned */
    struct keys names;          /* names that were matched before */
    uint8_t *matches;           /* owned; by name */
    size_t found;
};

static int is_chosen_kernel(void *context, const struct replay_work *work)
{
    struct what_if_change_kernels *kernels = context;

    if (replay_table_of(&kernels->replay->events, work->at) != REPLAY_KERNEL)
        return 0;
    uint32_t name = keys_find(&kernels->names, &kernels->rows.values[0][work->at]);
    kernels->found += kernels->matches[name];
    return kernels->matches[name];
}

static int match_names(struct what_if_change_kernels *kernels, struct error *err)
{
    for (size_t row = 0; row < kernels->rows.rows; row++)
        if (keys_add(&kernels->names, &kernels->rows.values[0][row]) == NO_KEY)
            goto no_memory;
    kernels->matches = malloc(kernels->names.count + 1);
    if (!kernels->matches)
        goto no_memory;
    for (uint32_t i = 0; i < kernels->names.count; i++) {
        size_t length;
        const char *name = report_string(kernels->report, *keys_get(&kernels->names, i), &length);
        kernels->matches[i] = (uint8_t)regex_matches(kernels->regex, name, length);
    }
    return 0;
no_memory:
    return error_short_memory(err, "for the names of kernels");
}

static int scale_kernels(const char *text, const struct replay *replay, struct report *report,
                         struct replay_edits *edits, struct error *err)
{
    static const char *const names[] = { "demangledName" };
    struct what_if_change_kernels kernels = { .replay = replay, .report = report, .names.width = 1 };
    double factor;
    int code = ERR_BAD_ARGUMENT;

    kernels.regex = parse_kernel(text, &factor, err);
    if (!kernels.regex)
        return code;
    if ((code = columns_read(report, gpu_busy_tables[REPLAY_KERNEL], names, 1, &kernels.rows, err)) != 0 ||
        (code = match_names(&kernels, err)) != 0 ||
        (code = replay_scale_work(replay, is_chosen_kernel, &kernels, factor, edits, err)) != 0)
        goto done;
    if (!kernels.found)
        code = error_set(err, ERR_NO_DATA, "--kernel '%s': no kernel has such a name", text);
done:
    regex_free(kernels.regex);
    report_columns_free(&kernels.rows);
    keys_free(&kernels.names);
    free(kernels.matches);
    return code;
}

static int check_kernels(const char *text, struct error *err)
{
    double factor;
    struct regex *regex = parse_kernel(text, &factor, err);

    regex_free(regex);
    return regex ? 0 : ERR_BAD_ARGUMENT;
}

/* ---- waits and threads ----------------------------------------------------------------------------------------- */

/* Everywhere is a place without a replay. */
static int what_if_change_find_place(struct what_if_place *place, const struct replay *replay, struct report *report,
                                     const char *text, struct error *err)
{
    return strcmp(text, "all") == 0 ? 0 : what_if_place_find(place, replay, report, text, err);
}

static int is_chosen_call(void *context, const struct replay_call *call)
{
    const struct what_if_place *place = context;

    return !place->replay || what_if_place_has(place, (uint32_t)(call - place->replay->events.calls));
}

static int drop_waits(const char *text, const struct replay *replay, struct report *report, struct replay_edits *edits,
                      struct error *err)
{
    struct what_if_place place = { 0 };
    int code = what_if_change_find_place(&place, replay, report, text, err);

    if (code != 0)
        goto free_place;
    code = replay_drop_waits(replay, is_chosen_call, &place, edits, err);
free_place:
    what_if_place_free(&place);
    return code;
}

static int64_t chosen_time(void *context, uint32_t call, int64_t from_ns, int64_t to_ns)
{
    const struct what_if_place *place = context;

    return place->replay ? what_if_place_time(place, call, from_ns, to_ns) : saturating_duration(from_ns, to_ns);
}

static int cut_host(const char *text, const struct replay *replay, struct report *report, struct replay_edits *edits,
                    struct error *err)
{
    struct what_if_place place = { 0 };
    int code = what_if_change_find_place(&place, replay, report, text, err);

    if (code != 0)
        goto free_place;
    code = replay_cut_host(replay, chosen_time, &place, edits, err);
free_place:
    what_if_place_free(&place);
    return code;
}

static int scale_functions(const char *text, const struct replay *replay, struct report *report,
                           struct replay_edits *edits, struct error *err)
{
    return error_set(err, ERR_BAD_ARGUMENT,
                     "--function '%s' is for programs without a GPU; --no-host takes the time of a place away", text);
}

static int check_functions(const char *text, struct error *err)
{
    double factor;

    return what_if_factor(text, &factor)
               ? 0
               : error_set(err, ERR_BAD_ARGUMENT,
                           "--function needs a place and a factor from 0 to %d (--function 'solve=0.5x'), not '%s'",
                           MOST_FACTOR, text);
}

static int check_place(const char *text, struct error *err)
{
    return *text ? 0 : error_set(err, ERR_BAD_ARGUMENT, "a place has no name; 'all' stands for all places");
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *option;
    int (*check)(const char *text, struct error *err);
    int (*find)(const char *text, const struct replay *replay, struct report *report, struct replay_edits *edits,
                struct error *err);
} what_if_change_kinds[WHAT_IF_KINDS] = {
    [WHAT_IF_KERNEL] = { "kernel", check_kernels, scale_kernels },
    [WHAT_IF_FUNCTION] = { "function", check_functions, scale_functions },
    [WHAT_IF_NO_WAIT] = { "no-wait", check_place, drop_waits },
    [WHAT_IF_NO_HOST] = { "no-host", check_place, cut_host },
};

const char *what_if_option(enum what_if_kind kind)
{
    return what_if_change_kinds[kind].option;
}

int what_if_check(const struct what_if_change *change, struct error *err)
{
    return what_if_change_kinds[change->kind].check(change->text, err);
}

int what_if_find(struct what_if_change *change, const struct replay *replay, struct report *report, struct error *err)
{
    return what_if_change_kinds[change->kind].find(change->text, replay, report, &change->gpu, err);
}

void what_if_change_free(struct what_if_change *change)
{
    replay_edits_free(&change->gpu);
    wall_edits_free(&change->cpu);
}
