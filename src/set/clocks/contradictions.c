/* Holds the finished maps against all instances and messages of the input, and names the pairs of parts that cannot
 * both be right. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/saturating.h"
#include "clock_fit_state.h"
#include "time_map.h"

#define PAIRS_MOST 65536 /* limit for a set in which nothing fits; further pairs are left out */

struct contradictions_pair {
    uint64_t key; /* both parts, plus 1 */
    struct clock_contradiction found;
};
MAP(pair_map, struct contradictions_pair, uint64_t, key, key, hash_number, map_is_same_number)

static int contradictions_add(struct pair_map *pairs, const struct clock_contradiction *one)
{
    uint64_t key = ((uint64_t)one->early << 32 | one->late) + 1;
    struct contradictions_pair *known = pair_map_find(pairs, key), added = { key, *one };
    if (!known)
        return pairs->count < PAIRS_MOST && !pair_map_add(pairs, &added) ? -1 : 0;
    uint64_t count = known->found.count + 1;
    if (one->worst_ns > known->found.worst_ns)
        known->found = *one;
    known->found.count = count;
    return 0;
}

/* The first moment at which one can have left, less the last moment before which one cannot have entered, must not be
 * negative. */
static int check_instance(const struct clock_input *input, const struct clock_part_fit *parts, size_t number,
                          struct pair_map *pairs)
{
    struct clock_contradiction found = { .count = 1 };
    int64_t first_end = INT64_MAX, last_start = INT64_MIN;
    for (size_t i = input->instance_first[number]; i < input->instance_first[number + 1]; i++) {
        const struct clock_entry *entry = &input->entries[i];
        const struct clock_part_fit *part = &parts[entry->part];
        if (!fit_entry_is_sane(entry) || part->error_ns == CLOCK_ERROR_UNKNOWN)
            continue;
        int64_t end = saturating_add(time_map_at(&part->map, entry->end_ns), part->error_ns);
        int64_t start = saturating_subtract(time_map_at(&part->map, entry->start_ns), part->error_ns);
        if (end < first_end) {
            first_end = end;
            found.early = entry->part;
        }
        if (start > last_start) {
            last_start = start;
            found.late = entry->part;
        }
    }
    if (first_end >= last_start)
        return 0;
    found.worst_ns = saturating_subtract(last_start, first_end);
    return contradictions_add(pairs, &found);
}

static int check_message(const struct clock_message *message, const struct clock_part_fit *parts,
                         struct pair_map *pairs)
{
    const struct clock_part_fit *sender = &parts[message->sender], *receiver = &parts[message->receiver];
    if (sender->error_ns == CLOCK_ERROR_UNKNOWN || receiver->error_ns == CLOCK_ERROR_UNKNOWN ||
        !clock_is_sane(message->send_start_ns) || !clock_is_sane(message->receive_end_ns))
        return 0;
    int64_t sent = saturating_subtract(time_map_at(&sender->map, message->send_start_ns), sender->error_ns);
    int64_t received = saturating_add(time_map_at(&receiver->map, message->receive_end_ns), receiver->error_ns);
    if (received >= sent)
        return 0;
    struct clock_contradiction found = { message->receiver, message->sender, saturating_subtract(sent, received), 1,
                                         1 };
    return contradictions_add(pairs, &found);
}

static int by_worst(const void *a, const void *b)
{
    const struct clock_contradiction *x = a, *y = b;
    return COMPARE(y->worst_ns, x->worst_ns) ?: COMPARE(x->early, y->early) ?: COMPARE(x->late, y->late);
}

static int list_pairs(const struct pair_map *pairs, struct clock_fit *result, struct arena *arena)
{
    struct clock_contradiction *list = arena_alloc(arena, pairs->count * sizeof *list);
    size_t count = 0;
    if (!list)
        return -1;
    for (const struct contradictions_pair *pair = pair_map_next(pairs, NULL); pair; pair = pair_map_next(pairs, pair))
        list[count++] = pair->found;
    qsort(list, count, sizeof *list, by_worst);
    result->contradictions = list;
    result->contradiction_count = count < CLOCK_CONTRADICTIONS_MOST ? count : CLOCK_CONTRADICTIONS_MOST;
    return 0;
}

int fit_find_contradictions(const struct fit *fit, struct clock_fit *result, struct arena *arena)
{
    const struct clock_input *input = fit->input;
    struct pair_map pairs = { 0 };
    int rc = 0;
    for (size_t i = 0; i < input->instance_count && rc == 0; i++)
        rc = check_instance(input, result->parts, i, &pairs);
    for (size_t i = 0; i < input->message_count && rc == 0; i++)
        rc = check_message(&input->messages[i], result->parts, &pairs);
    if (rc == 0)
        rc = list_pairs(&pairs, result, arena);
    pair_map_free(&pairs);
    return rc;
}
