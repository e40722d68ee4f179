/* Prepares the input of the clock fit, and applies its maps. */
#include "set_clocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/human.h"
#include "base/saturating.h"
#include "set_collectives.h"
#include "set_messages.h"

/* The first report of a host identifies it. Groups are numbered as they come. */
static void name_hosts(const struct set_member *members, size_t count, struct clock_part *parts, const char **names)
{
    size_t groups = 0;

    for (size_t i = 0; i < count; i++) {
        size_t group = members[i].clock_group;
        if (group >= groups) {
            groups = group + 1;
            names[group] = members[i].boot ? members[i].boot : members[i].path;
        }
        parts[i].boot_id = names[group];
    }
}

/* Several boot ids; or several names with one, which are containers of a host, or copies of a virtual machine, whose
 * clocks are not the same. */
static int has_several_hosts(const struct set_member *members, const struct clock_part *parts, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(parts[i].boot_id, parts[0].boot_id) != 0 ||
            strcmp(members[i].host ? members[i].host : "", members[0].host ? members[0].host : "") != 0)
            return 1;
    return 0;
}

static struct clock_reading reading_of(const struct set_member *member, const struct set_moment *moment)
{
    return (struct clock_reading){ .time_ns = moment->time_ns,
                                   .ticks = member->has_counter ? (uint64_t)moment->ticks : 0,
                                   .utc_ns = member->has_utc ? moment->utc_ns : 0,
                                   .error_ns = member->clock_reading_error_ns };
}

static size_t count_moments(const struct set_member *members, size_t count)
{
    size_t all = 0;

    for (size_t i = 0; i < count; i++)
        all += members[i].moment_count;
    return all;
}

/* Passes all readings: NTP slews the clock that a report's times follow, and only the counter shows where. */
static void set_clocks_fill_parts(const struct set_member *members, size_t count, struct clock_part *parts,
                                  struct clock_reading *readings, const char **names)
{
    for (size_t i = 0; i < count; i++) {
        const struct set_member *at = &members[i];
        struct report_span span = report_times(at->report);
        parts[i] = (struct clock_part){
            .readings = readings,
            .reading_count = at->moment_count,
            .utc_error_ns = at->utc_error_ns,
            .first_ns = span.from_ns <= span.to_ns ? span.from_ns : 0,
            .last_ns = span.from_ns <= span.to_ns ? span.to_ns : 0,
        };
        for (size_t m = 0; m < at->moment_count; m++)
            *readings++ = reading_of(at, &at->moments[m]);
    }
    name_hosts(members, count, parts, names);
}

/* Straight lines between knots, as a place, an offset there, and the rate from there on. */
static int take_map(struct set_member *member, const struct clock_part_fit *fit, int64_t shift_ns)
{
    const struct time_map *map = &fit->map;

    member->knots = array_alloc(map->knot_count + 1, sizeof *member->knots);
    if (!member->knots)
        return ERR_NO_MEMORY;
    member->knot_count = map->knot_count;
    for (size_t k = 0; k < map->knot_count; k++) {
        const struct clock_knot *at = &map->knots[k];
        double rate = k ? member->knots[k - 1].rate : 0;
        if (k + 1 < map->knot_count) {
            double own = (double)saturating_subtract(at[1].own_ns, at->own_ns);
            rate = own > 0 ? (double)saturating_subtract(at[1].set_ns, at->set_ns) / own - 1 : 0;
        }
        member->knots[k] = (struct report_knot){
            .at = at->own_ns,
            .offset = saturating_subtract(saturating_subtract(at->set_ns, at->own_ns), shift_ns),
            .rate = rate,
        };
    }
    member->clock = clock_method_name(fit->method);
    member->clock_error_ns = fit->error_ns == CLOCK_ERROR_UNKNOWN ? -1 : fit->error_ns;
    return 0;
}

static void note_contradiction(const struct set_member *members, const struct clock_fit *fit, struct text *notes)
{
    const struct clock_contradiction *worst = fit->contradictions;

    if (!notes || !fit->contradiction_count)
        return;
    text_addf(notes, "the clocks of '%s' and '%s' contradict each other by ", members[worst->early].path,
              members[worst->late].path);
    human_time(notes, worst->worst_ns);
    text_add(notes, worst->is_message ? ": a message came before it was sent"
                                      : ": a rank left a collective before another had come");
    text_add(notes, "; times of these reports are not comparable\n");
}

/* Names the first report whose counter was ignored. */
static void note_stranger(const struct set_member *members, size_t count, const struct clock_fit *fit,
                          struct text *notes)
{
    size_t first = count, strangers = 0;

    for (size_t i = count; i-- > 0;)
        if (fit->parts[i].is_stranger) {
            first = i;
            strangers++;
        }
    if (!notes || !strangers)
        return;
    text_addf(notes, "the CPU counter of '%s'", members[first].path);
    if (strangers > 1)
        text_addf(notes, " and %zu more", strangers - 1);
    text_add(notes, " runs at another rate than those of the other reports of its machine; "
                    "it is placed like a report of another machine\n");
}

static int fit_members(struct set_member *members, size_t count, struct clock_input *input, struct text *notes,
                       struct error *err)
{
    struct set_collectives collectives = { 0 };
    struct set_messages messages = { 0 };
    struct clock_fit fit = { 0 };
    int needs_events = has_several_hosts(members, input->parts, count) && input->choice != CLOCK_CHOICE_UTC, code;

    if (needs_events && (code = set_collectives_read(&collectives, members, count, err)) != 0)
        goto free_events;
    if (needs_events && (code = set_messages_read(&messages, members, count, err)) != 0)
        goto free_events;
    input->entries = collectives.entries;
    input->instance_first = collectives.instance_first;
    input->instance_count = collectives.instance_count;
    input->messages = messages.list;
    input->message_count = messages.count;
    if ((code = clock_fit(input, &fit, err)) != 0)
        goto free_events;
    int64_t shift_ns = time_map_at(&fit.parts[0].map, 0);
    for (size_t i = 0; i < count; i++)
        if (take_map(&members[i], &fit.parts[i], shift_ns) != 0 && (code = error_no_memory(err)) != 0)
            break;
    note_contradiction(members, &fit, notes);
    note_stranger(members, count, &fit, notes);
    clock_fit_free(&fit);
free_events:
    set_messages_free(&messages);
    set_collectives_free(&collectives);
    return code;
}

int set_clocks_fit(struct set_member *members, size_t count, enum clock_choice choice, struct text *notes,
                   struct error *err)
{
    struct clock_part *parts = calloc(count, sizeof *parts);
    struct clock_reading *readings = calloc(count_moments(members, count) + 1, sizeof *readings);
    const char **names = calloc(count, sizeof *names);
    struct clock_input input = { .choice = choice, .parts = parts, .part_count = (uint32_t)count };
    int code;

    if ((!parts || !readings || !names) && (code = error_no_memory(err)) != 0)
        goto free_lists;
    set_clocks_fill_parts(members, count, parts, readings, names);
    code = fit_members(members, count, &input, notes, err);
free_lists:
    free(parts);
    free(readings);
    free(names);
    return code;
}
