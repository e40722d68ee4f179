/* The instances that the fit looks at, reduced to one entry a host.
 *
 * A job of 1,000 ranks has 10^8 entries, far more than the fit needs. Instances are visited in bit-reversed order of
 * time: each prefix of that order covers the whole run evenly. An instance is kept while one of its hosts has fewer
 * than INSTANCES_A_HOST, so that hosts in small communicators have theirs too. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturating.h"
#include "clock_fit_state.h"
#include "time_map.h"

#define INSTANCES_A_HOST 2048
#define ENTRIES_MOST ((size_t)1 << 23) /* 200 MB of entries */

int fit_entry_is_sane(const struct clock_entry *entry)
{
    return clock_is_sane(entry->start_ns) && clock_is_sane(entry->end_ns) && entry->start_ns <= entry->end_ns;
}

struct timed_instance {
    int64_t time_ns;
    size_t number;
};

static int instance_hosts_by_time(const void *a, const void *b)
{
    const struct timed_instance *x = a, *y = b;
    return COMPARE(x->time_ns, y->time_ns) ?: COMPARE(x->number, y->number);
}

/* The instances in order of time. The own times of their first parts will do: captures of a job begin together. */
static struct timed_instance *instances_in_order(struct fit *fit)
{
    const struct clock_input *input = fit->input;
    struct timed_instance *list = fit_alloc(fit, input->instance_count, sizeof *list);
    for (size_t i = 0; list && i < input->instance_count; i++) {
        size_t first = input->instance_first[i];
        list[i] = (struct timed_instance){ first < input->instance_first[i + 1] ? input->entries[first].end_ns : 0, i };
    }
    if (list)
        qsort(list, input->instance_count, sizeof *list, instance_hosts_by_time);
    return list;
}

static size_t reversed(size_t number, unsigned bits)
{
    size_t result = 0;
    for (unsigned i = 0; i < bits; i++)
        result |= (number >> i & 1) << (bits - 1 - i);
    return result;
}

/* The instances and entries kept so far. */
struct taker {
    struct fit *fit;
    size_t room, instance_room;
    struct fit_entry *entries;
    struct fit_instance *instances;
    uint32_t *slot;      /* by host: number of its entry in this instance plus 1, valid if it is of this instance */
    uint32_t *taken;
    int64_t shortest_ns; /* the shortest stay in this instance */
};

static int instance_hosts_is_wanted(const struct taker *taker, size_t number)
{
    const struct clock_input *input = taker->fit->input;
    uint32_t host = 0;
    int is_lacking = 0, is_shared = 0, is_first = 1;
    for (size_t i = input->instance_first[number]; i < input->instance_first[number + 1]; i++) {
        if (!fit_entry_is_sane(&input->entries[i]))
            continue;
        uint32_t other = taker->fit->parts[input->entries[i].part].host;
        is_shared |= !is_first && other != host;
        is_lacking |= taker->taken[other] < INSTANCES_A_HOST;
        if (is_lacking && is_shared)
            return 1;
        host = other;
        is_first = 0;
    }
    return 0;
}

/* Adds the times of one part to the entry of its host in this instance. */
static int instance_hosts_add_entry(struct taker *taker, const struct clock_entry *entry)
{
    struct fit *fit = taker->fit;
    const struct fit_part *part = &fit->parts[entry->part];
    int64_t start = time_map_at(&part->to_host, entry->start_ns), end = time_map_at(&part->to_host, entry->end_ns);
    uint32_t slot = taker->slot[part->host];
    struct fit_host *host = &fit->hosts[part->host];
    if (!clock_is_sane(start) || !clock_is_sane(end))
        return 0;
    taker->shortest_ns = end - start < taker->shortest_ns ? end - start : taker->shortest_ns;
    if (slot && slot <= fit->entry_count && taker->entries[slot - 1].host == part->host &&
        taker->entries[slot - 1].instance == fit->instance_count) {
        struct fit_entry *known = &taker->entries[slot - 1];
        known->first_end_ns = end < known->first_end_ns ? end : known->first_end_ns;
        known->last_start_ns = start > known->last_start_ns ? start : known->last_start_ns;
        return 0;
    }
    if (ARRAY_PUSH(taker->entries, taker->room, fit->entry_count,
                   (struct fit_entry){ part->host, fit->instance_count, end, start }) != 0)
        return -1;
    taker->slot[part->host] = (uint32_t)fit->entry_count;
    taker->taken[part->host]++;
    host->entry_count++;
    return 0;
}

static int instance_hosts_add_instance(struct taker *taker, size_t number)
{
    struct fit *fit = taker->fit;
    const struct clock_input *input = fit->input;
    size_t first = fit->entry_count;
    taker->shortest_ns = INT64_MAX;
    if (array_reserve(&taker->instances, &taker->instance_room, fit->instance_count + 1u, sizeof *taker->instances) !=
        0)
        return -1;
    for (size_t i = input->instance_first[number]; i < input->instance_first[number + 1]; i++)
        if (fit_entry_is_sane(&input->entries[i]) && instance_hosts_add_entry(taker, &input->entries[i]) != 0)
            return -1;
    taker->instances[fit->instance_count++] = (struct fit_instance){
        .entry_first = (uint32_t)first,
        .entry_count = (uint32_t)(fit->entry_count - first),
        .shortest_ns = taker->shortest_ns,
        .first_end_ns = INT64_MAX,
        .first_end_wide_ns = INT64_MAX,
        .last_start_ns = INT64_MIN,
        .last_start_wide_ns = INT64_MIN,
    };
    return 0;
}

static int take_evenly(struct taker *taker, const struct timed_instance *list)
{
    size_t count = taker->fit->input->instance_count;
    unsigned bits = 0;
    while (((size_t)1 << bits) < count)
        bits++;
    for (size_t i = 0; i < (size_t)1 << bits && taker->fit->entry_count < ENTRIES_MOST; i++) {
        size_t at = reversed(i, bits);
        if (at < count && instance_hosts_is_wanted(taker, list[at].number) &&
            instance_hosts_add_instance(taker, list[at].number) != 0)
            return -1;
    }
    return 0;
}

/* Moves the lists into the arena, and indexes the entries by host. */
static int instance_hosts_keep(struct taker *taker)
{
    struct fit *fit = taker->fit;
    fit->entries = fit_alloc(fit, fit->entry_count, sizeof *fit->entries);
    fit->instances = fit_alloc(fit, fit->instance_count, sizeof *fit->instances);
    fit->host_entries = fit_alloc(fit, fit->entry_count, sizeof *fit->host_entries);
    if (!fit->entries || !fit->instances || !fit->host_entries)
        return -1;
    if (fit->entry_count)
        memcpy(fit->entries, taker->entries, fit->entry_count * sizeof *fit->entries);
    if (fit->instance_count)
        memcpy(fit->instances, taker->instances, fit->instance_count * sizeof *fit->instances);
    size_t first = 0;
    for (uint32_t h = 0; h < fit->host_count; h++) {
        fit->hosts[h].entry_first = first;
        first += fit->hosts[h].entry_count;
        taker->taken[h] = 0;
    }
    for (size_t i = 0; i < fit->entry_count; i++) {
        uint32_t host = fit->entries[i].host;
        fit->host_entries[fit->hosts[host].entry_first + taker->taken[host]++] = (uint32_t)i;
    }
    return 0;
}

int fit_take_instances(struct fit *fit)
{
    struct taker taker = { .fit = fit };
    struct timed_instance *list = instances_in_order(fit);
    taker.slot = fit_alloc(fit, fit->host_count, sizeof *taker.slot);
    taker.taken = fit_alloc(fit, fit->host_count, sizeof *taker.taken);
    int rc = list && taker.slot && taker.taken ? take_evenly(&taker, list) : -1;
    if (rc == 0)
        rc = instance_hosts_keep(&taker);
    free(taker.entries);
    free(taker.instances);
    return rc;
}
