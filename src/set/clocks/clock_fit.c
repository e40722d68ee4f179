/* The fit as a whole: checks the input, runs the steps of clock_fit_state.h, and composes the maps of the result. */
#include "clock_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/saturating.h"
#include "clock_fit_state.h"
#include "time_map.h"

const char *clock_method_name(enum clock_method method)
{
    static const char *const names[] = {
#define CLOCK_METHOD_NAME(name, text) text,
        CLOCK_METHODS(CLOCK_METHOD_NAME)
#undef CLOCK_METHOD_NAME
    };
    return names[method];
}

static int clock_fit_check(const struct clock_input *input, struct error *err)
{
    for (size_t i = 0; i < input->instance_count; i++)
        if (input->instance_first[i] > input->instance_first[i + 1])
            return error_set(err, ERR_BAD_ARGUMENT, "Instance %zu of a collective ends before it begins", i);
    size_t first = input->instance_count ? input->instance_first[0] : 0;
    size_t end = input->instance_count ? input->instance_first[input->instance_count] : 0;
    for (size_t i = first; i < end; i++)
        if (input->entries[i].part >= input->part_count)
            return error_set(err, ERR_BAD_ARGUMENT, "Entry %zu of a collective is of no part", i);
    for (size_t i = 0; i < input->message_count; i++)
        if (input->messages[i].sender >= input->part_count || input->messages[i].receiver >= input->part_count)
            return error_set(err, ERR_BAD_ARGUMENT, "Message %zu is of no part", i);
    return 0;
}

/* ---- The result of a part -------------------------------------------------------------------------------------- */

/* How much the error grows where the part recorded but its host has no evidence. */
static int64_t error_beyond(const struct fit_host *host, const struct fit_part *part, const struct clock_part *input)
{
    if (host->method != CLOCK_COLLECTIVES || !clock_is_sane(input->first_ns) || !clock_is_sane(input->last_ns))
        return 0;
    int64_t before = saturating_subtract(host->first_ns, time_map_at(&part->to_host, input->first_ns));
    int64_t after = saturating_subtract(time_map_at(&part->to_host, input->last_ns), host->last_ns);
    int64_t farthest = before > after ? before : after;
    return farthest > 0 ? saturating_from_double((double)farthest * host->slope_error) : 0;
}

static void clock_fit_describe(struct clock_part_fit *result, const struct clock_part *part)
{
    int64_t first = clock_is_sane(part->first_ns) ? part->first_ns : 0;
    int64_t last = clock_is_sane(part->last_ns) && part->last_ns > first ? part->last_ns : first;
    int64_t set_first = time_map_at(&result->map, first), set_last = time_map_at(&result->map, last);
    int64_t gained = saturating_subtract(saturating_subtract(set_last, set_first), last - first);
    result->offset_ns = saturating_subtract(set_first, first);
    result->drift_ppm = last > first ? 1e6 * (double)gained / (double)(last - first) : 0;
}

/* own time → host time → time of the reference host → own time of the reference part */
static int compose(const struct fit *fit, uint32_t number, const struct time_map *to_reference,
                   struct clock_part_fit *result, struct arena *arena)
{
    const struct fit_part *part = &fit->parts[number];
    const struct fit_host *host = &fit->hosts[part->host];
    struct arena scratch = { 0 };
    struct time_map there, map;
    int rc = time_map_compose(&part->to_host, &host->to_set, MAP_TOLERANCE_NS, &there, &scratch);
    if (rc == 0)
        rc = time_map_compose(&there, to_reference, MAP_TOLERANCE_NS, &map, &scratch);
    if (rc == 0)
        rc = time_map_copy(&map, &result->map, arena);
    arena_free(&scratch);
    return rc;
}

static int64_t error_of(const struct fit *fit, uint32_t number)
{
    const struct fit_part *part = &fit->parts[number];
    const struct fit_host *host = &fit->hosts[part->host];
    int64_t reading = saturating_add(part->error_ns, fit->parts[fit->hosts[fit->reference_host].first_part].error_ns);
    int64_t error = saturating_add(host->error_ns,
                                   saturating_add(reading, 2 * READING_TOLERANCE_NS + 4 * MAP_TOLERANCE_NS));
    return saturating_add(error, error_beyond(host, part, &fit->input->parts[number]));
}

static int give_part(const struct fit *fit, uint32_t number, const struct time_map *to_reference,
                     struct clock_part_fit *result, struct arena *arena)
{
    const struct fit_host *host = &fit->hosts[fit->parts[number].host];
    int is_reference = number == fit->hosts[fit->reference_host].first_part;
    *result = (struct clock_part_fit){
        .method = is_reference ? CLOCK_REFERENCE : host->method,
        .host = fit->parts[number].host,
        .error_ns = is_reference ? 0 : error_of(fit, number),
        .is_bounded = host->is_bounded,
        .instances = host->instances,
        .is_stranger = fit->parts[number].is_stranger,
    };
    int rc = is_reference ? time_map_identity(&result->map, arena) : compose(fit, number, to_reference, result, arena);
    if (rc == 0)
        clock_fit_describe(result, &fit->input->parts[number]);
    return rc;
}

static int give_parts(struct fit *fit, struct clock_fit *result, struct arena *arena)
{
    struct time_map to_reference;
    result->reference = fit->hosts[fit->reference_host].first_part;
    result->host_count = fit->host_count;
    if (time_map_inverse(&fit->parts[result->reference].to_host, &to_reference, &fit->scratch) != 0)
        return -1;
    for (uint32_t i = 0; i < fit->input->part_count; i++)
        if (give_part(fit, i, &to_reference, &result->parts[i], arena) != 0)
            return -1;
    return 0;
}

/* ---- The fit --------------------------------------------------------------------------------------------------- */

/* Every part keeps its own time. */
static int leave_as_it_is(const struct fit *fit, struct clock_fit *result, struct arena *arena)
{
    for (uint32_t i = 0; i < fit->input->part_count; i++) {
        result->parts[i] = (struct clock_part_fit){ .method = CLOCK_NONE,
                                                    .host = fit->parts[i].host,
                                                    .error_ns = CLOCK_ERROR_UNKNOWN };
        if (time_map_identity(&result->parts[i].map, arena) != 0)
            return -1;
    }
    result->host_count = fit->host_count;
    return 0;
}

static int clock_fit_run(struct fit *fit, struct clock_fit *result, struct arena *arena)
{
    enum clock_choice choice = fit->input->choice;
    result->parts = arena_alloc_zero(arena, fit->input->part_count * sizeof *result->parts);
    if (!result->parts || fit_find_hosts(fit) != 0)
        return -1;
    if (choice == CLOCK_CHOICE_NONE || fit->input->part_count == 0)
        return leave_as_it_is(fit, result, arena);
    if (choice != CLOCK_CHOICE_UTC && fit_take_instances(fit) != 0)
        return -1;
    return fit_place_hosts(fit) != 0 || fit_settle_order(fit) != 0 || give_parts(fit, result, arena) != 0
               ? -1
               : fit_find_contradictions(fit, result, arena);
}

int clock_fit(const struct clock_input *input, struct clock_fit *result, struct error *err)
{
    struct fit fit = { .input = input };
    *result = (struct clock_fit){ 0 };
    int rc = clock_fit_check(input, err);
    if (rc != 0)
        return rc;
    struct arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        return error_set(err, ERR_NO_MEMORY, "Not enough memory to fit the clocks of %u reports", input->part_count);
    result->memory = arena;
    rc = clock_fit_run(&fit, result, arena);
    arena_free(&fit.scratch);
    if (rc == 0)
        return 0;
    clock_fit_free(result);
    return error_set(err, ERR_NO_MEMORY, "Not enough memory to fit the clocks of %u reports", input->part_count);
}

void clock_fit_free(struct clock_fit *result)
{
    if (result->memory)
        arena_free(result->memory);
    free(result->memory);
    *result = (struct clock_fit){ 0 };
}
