/* The filters of launches for a report: the same options, in the same order, as the agent has them for a program
 * (agent/counters/launch_filter.c). A launch is one that the report has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/counters/name_pattern.h"
#include "analyze/engine/keys.h"
#include "base/array.h"
#include "ncu_asked.h"

enum { ID_PARTS = 4, CONTEXT = 0, STREAM, NAME, INVOCATION };

/* A part of --kernel-id; numbers are expressions for all of the number. */
struct ncu_choose_part {
    int is_given;
    struct text expression;
    struct name_pattern pattern;
};

/* Launches of a kind, such as those on a GPU. */
struct tallies {
    struct keys kinds;
    uint64_t *counts; /* owned */
    size_t room;
};

enum { KIND_WIDTH = 9 }; /* a name, grid and block, context and stream */

struct ncu_choose_choice {
    const struct ncu_settings *settings;
    const struct kernel_counters *counters;
    struct name_pattern name;
    struct ncu_choose_part parts[ID_PARTS];
    char **devices; /* owned; NULL: all */
    struct tallies invocations, modes;
    uint64_t skip_before, skip, count;
};

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static int ncu_choose_read_part(struct ncu_choose_part *part, const char *from, size_t length, int is_name,
                                struct error *err)
{
    part->is_given = length > 0;
    if (!length)
        return 0;
    if (!is_name)
        text_add(&part->expression, "regex:^(?:");
    text_add_bytes(&part->expression, from, length);
    if (!is_name)
        text_add(&part->expression, ")$");
    const char *wrong = text_failed(&part->expression)
                            ? "out of memory"
                            : name_pattern_read(&part->pattern, text_string(&part->expression),
                                                part->expression.length);
    return wrong ? error_set(err, ERR_BAD_ARGUMENT, "cannot use --kernel-id: %s", wrong) : 0;
}

/* CONTEXT:STREAM:[regex:]NAME:INVOCATION, which was checked. */
static int ncu_choose_read_id(struct ncu_choose_choice *choice, const char *id, struct error *err)
{
    const char *stream = strchr(id, ':') + 1, *name = strchr(stream, ':') + 1, *invocation = strrchr(id, ':') + 1;
    const char *ends[] = { stream - 1, name - 1, invocation - 1, id + strlen(id) };
    const char *starts[] = { id, stream, name, invocation };

    for (int i = 0; i < ID_PARTS; i++)
        if (ncu_choose_read_part(&choice->parts[i], starts[i], (size_t)(ends[i] - starts[i]), i == NAME, err) != 0)
            return err->code;
    return 0;
}

static uint64_t ncu_choose_number_of(const char *text)
{
    return text ? strtoull(text, NULL, 10) : 0;
}

static int read_choice(struct ncu_choose_choice *choice, struct error *err)
{
    const struct ncu_settings *settings = choice->settings;
    struct text lines = { 0 };

    int code = ncu_add_filters(&lines, settings, err); /* says what is wrong */
    text_free(&lines);
    if (code)
        return code;
    if (settings->kernel_name)
        name_pattern_read(&choice->name, settings->kernel_name, strlen(settings->kernel_name));
    if (settings->devices && !(choice->devices = option_split(settings->devices, NULL)))
        return error_no_memory(err);
    choice->skip_before = ncu_choose_number_of(settings->skip_before);
    choice->skip = ncu_choose_number_of(settings->launch_skip);
    choice->count = ncu_choose_number_of(settings->launch_count);
    return settings->kernel_id ? ncu_choose_read_id(choice, settings->kernel_id, err) : 0;
}

/* ---- Choosing -------------------------------------------------------------------------------------------------- */

/* One more of this kind; returns how many these are, 0 when memory is short. */
static uint64_t ncu_choose_tally(struct tallies *tallies, const int64_t *kind)
{
    size_t before = tallies->kinds.count;
    uint32_t at = keys_add(&tallies->kinds, kind);

    if (at == NO_KEY || array_reserve(&tallies->counts, &tallies->room, (size_t)at + 1, sizeof *tallies->counts) != 0)
        return 0;
    if (at == before)
        tallies->counts[at] = 0;
    return ++tallies->counts[at];
}

static void set_sizes(int64_t *kind, const struct counted_kernel *kernel)
{
    memcpy(kind, kernel->grid, sizeof kernel->grid);
    memcpy(kind + 3, kernel->block, sizeof kernel->block);
}

static int ncu_choose_is_number(struct ncu_choose_part *part, int64_t number)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%lld", (long long)number);
    return !part->is_given || name_pattern_matches(&part->pattern, digits, strlen(digits));
}

static int is_on_device(const struct ncu_choose_choice *choice, const struct counted_kernel *kernel)
{
    for (char **device = choice->devices; device && *device; device++)
        if (atoll(*device) == kernel->device)
            return 1;
    return !choice->devices;
}

static int ncu_choose_has_id(struct ncu_choose_choice *choice, const struct counted_kernel *kernel, const char *name,
                             size_t length)
{
    struct ncu_choose_part *parts = choice->parts;
    int64_t kind[KIND_WIDTH] = { kernel->short_name, [7] = parts[CONTEXT].is_given ? kernel->context : -1,
                                 [8] = parts[STREAM].is_given ? kernel->stream : -1 };

    if ((parts[NAME].is_given && !name_pattern_matches(&parts[NAME].pattern, name, length)) ||
        !ncu_choose_is_number(&parts[CONTEXT], kernel->context) ||
        !ncu_choose_is_number(&parts[STREAM], kernel->stream))
        return 0;
    if (!parts[INVOCATION].is_given)
        return 1;
    set_sizes(kind + 1, kernel);
    return ncu_choose_is_number(&parts[INVOCATION], (int64_t)ncu_choose_tally(&choice->invocations, kind));
}

/* The number of this launch among the matching launches of its kind. */
static uint64_t number_in_mode(struct ncu_choose_choice *choice, const struct counted_kernel *kernel)
{
    const char *mode = choice->settings->filter_mode;
    int64_t kind[KIND_WIDTH] = { 0 };

    if (mode && strcmp(mode, "per-gpu") == 0)
        kind[0] = kernel->device;
    else if (mode && strcmp(mode, "per-launch-config") == 0)
        set_sizes(kind, kernel);
    return ncu_choose_tally(&choice->modes, kind);
}

static int ncu_choose_is_chosen(struct ncu_choose_choice *choice, size_t launch)
{
    const struct counted_kernel *kernel = &choice->counters->kernels[launch];
    size_t length = 0;
    const char *name = kernel->short_name ? report_string(choice->counters->report, kernel->short_name, &length) : "";

    if (launch < choice->skip_before || !is_on_device(choice, kernel) ||
        (choice->settings->kernel_name && !name_pattern_matches(&choice->name, name, length)) ||
        !ncu_choose_has_id(choice, kernel, name, length))
        return 0;
    uint64_t number = number_in_mode(choice, kernel);
    return number > choice->skip && (!choice->count || number - choice->skip <= choice->count);
}

/* ---- What is left ---------------------------------------------------------------------------------------------- */

/* Kernels and their values move up, in their order. */
static void ncu_choose_drop_others(struct ncu_choose_choice *choice, struct kernel_counters *counters)
{
    size_t kernels = 0, values = 0;

    for (size_t k = 0; k < counters->kernel_count; k++) {
        struct counted_kernel kernel = counters->kernels[k];
        if (!ncu_choose_is_chosen(choice, k))
            continue;
        if (kernel.count)
            memmove(&counters->values[values], &counters->values[kernel.first],
                    kernel.count * sizeof *counters->values);
        kernel.first = values;
        for (size_t i = 0; i < kernel.count; i++)
            counters->values[values++].kernel = (uint32_t)kernels;
        counters->kernels[kernels++] = kernel;
    }
    counters->kernel_count = kernels;
    counters->value_count = values;
}

int ncu_choose_kernels(struct kernel_counters *counters, const struct ncu_settings *settings, struct error *err)
{
    struct ncu_choose_choice *choice = calloc(1, sizeof *choice);
    size_t before = counters->kernel_count;

    if (!choice)
        return error_no_memory(err);
    choice->settings = settings;
    choice->counters = counters;
    choice->invocations.kinds.width = choice->modes.kinds.width = KIND_WIDTH;
    if (read_choice(choice, err) == 0)
        ncu_choose_drop_others(choice, counters);
    if (!err->code && !counters->kernel_count)
        error_set(err, ERR_NO_DATA, "none of the %zu kernels of '%s' passes the filters", before, settings->import);
    for (size_t i = 0; i < ID_PARTS; i++)
        text_free(&choice->parts[i].expression);
    keys_free(&choice->invocations.kinds);
    keys_free(&choice->modes.kinds);
    free(choice->invocations.counts);
    free(choice->modes.counts);
    free(choice->devices);
    free(choice);
    return err->code;
}
