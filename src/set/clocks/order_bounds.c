/* Bounds on the offset of a host from the order of events.
 *
 * Two facts hold whatever the clocks say: nobody leaves a synchronising collective before the last one has entered, and
 * no message is received before it is sent. Each instance and each message bounds the offset from one side. */
#include "order_bounds.h"

#include <math.h>

#include "base/saturating.h"
#include "time_map.h"

#define MESSAGES_MOST ((size_t)1 << 24) /* if there are more, every n-th bounds offsets; contradictions.c reads all */

static int message_is_sane(const struct clock_message *message)
{
    return clock_is_sane(message->send_start_ns) && clock_is_sane(message->receive_end_ns);
}

/* The hosts of a message, if they differ. */
static int message_hosts(const struct fit *fit, const struct clock_message *message, uint32_t hosts[2])
{
    hosts[0] = fit->parts[message->sender].host;
    hosts[1] = fit->parts[message->receiver].host;
    return hosts[0] != hosts[1] && message_is_sane(message);
}

int host_messages_index(struct fit *fit, struct host_messages *index)
{
    const struct clock_input *input = fit->input;
    size_t step = input->message_count / MESSAGES_MOST + 1, count = 0;
    uint32_t hosts[2];
    index->first = fit_alloc(fit, fit->host_count + 2u, sizeof *index->first);
    if (!index->first)
        return -1;
    for (size_t i = 0; i < input->message_count; i += step)
        if (message_hosts(fit, &input->messages[i], hosts)) {
            index->first[hosts[0] + 2]++;
            index->first[hosts[1] + 2]++;
            count += 2;
        }
    for (uint32_t h = 0; h < fit->host_count; h++)
        index->first[h + 2] += index->first[h + 1];
    index->numbers = fit_alloc(fit, count, sizeof *index->numbers);
    if (!index->numbers)
        return -1;
    for (size_t i = 0; i < input->message_count; i += step)
        if (message_hosts(fit, &input->messages[i], hosts)) {
            index->numbers[index->first[hosts[0] + 1]++] = (uint32_t)(i / step);
            index->numbers[index->first[hosts[1] + 1]++] = (uint32_t)(i / step);
        }
    return 0;
}

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

/* The offset at a host time is at most (sign 1) or at least (sign -1) the distance to a set time. */
struct order_bound {
    int64_t host_ns, set_ns, set_sure_ns;
    int sign;
};

static void order_bounds_tighten(const struct host_fit *host_fit, const struct order_bound *bound)
{
    double x = (double)saturating_subtract(bound->host_ns, host_fit->x_ns);
    int64_t base = saturating_subtract(bound->host_ns, host_fit->y_ns);
    size_t stretch = offset_stretch_at(&host_fit->offsets, x);
    double fitted = offset_at(&host_fit->offsets, x);
    double exact = (double)saturating_subtract(base, bound->set_ns) - fitted;
    double sure = (double)saturating_subtract(base, bound->set_sure_ns) - fitted;
    struct order_interval *tight = &host_fit->bounds.exact[stretch], *wide = &host_fit->bounds.sure[stretch];
    if (bound->sign > 0) {
        tight->high = fmin(tight->high, exact);
        wide->high = fmin(wide->high, sure);
    } else {
        tight->low = fmax(tight->low, exact);
        wide->low = fmax(wide->low, sure);
    }
}

static void tighten_by_instances(const struct fit *fit, const struct host_fit *host_fit)
{
    const struct fit_host *host = &fit->hosts[host_fit->host];
    for (uint32_t i = 0; i < host->entry_count; i++) {
        const struct fit_entry *entry = &fit->entries[fit->host_entries[host->entry_first + i]];
        const struct fit_instance *instance = &fit->instances[entry->instance];
        if (!instance->is_placed)
            continue;
        struct order_bound left_after = { entry->first_end_ns, instance->last_start_ns, instance->last_start_wide_ns,
                                          1 };
        struct order_bound came_before = { entry->last_start_ns, instance->first_end_ns, instance->first_end_wide_ns,
                                           -1 };
        order_bounds_tighten(host_fit, &left_after);
        order_bounds_tighten(host_fit, &came_before);
    }
}

static void tighten_by_message(const struct fit *fit, const struct host_fit *host_fit,
                               const struct clock_message *message)
{
    const struct fit_part *sender = &fit->parts[message->sender], *receiver = &fit->parts[message->receiver];
    int is_receiver = receiver->host == host_fit->host;
    const struct fit_host *other = &fit->hosts[is_receiver ? sender->host : receiver->host];
    if (!other->has_place || other->group != fit->hosts[host_fit->host].group)
        return;
    int64_t sent = time_map_at(&sender->to_host, message->send_start_ns);
    int64_t received = time_map_at(&receiver->to_host, message->receive_end_ns);
    int64_t there = time_map_at(&other->to_set, is_receiver ? sent : received);
    struct order_bound bound = { is_receiver ? received : sent, there,
                                 is_receiver ? saturating_subtract(there, other->error_ns)
                                             : saturating_add(there, other->error_ns),
                                 is_receiver ? 1 : -1 };
    order_bounds_tighten(host_fit, &bound);
}

int order_bounds_find(struct fit *fit, const struct host_messages *messages, struct host_fit *host_fit,
                      struct arena *arena)
{
    size_t count = host_fit->offsets.count, step = fit->input->message_count / MESSAGES_MOST + 1;
    host_fit->bounds.exact = arena_alloc(arena, count * sizeof *host_fit->bounds.exact);
    host_fit->bounds.sure = arena_alloc(arena, count * sizeof *host_fit->bounds.sure);
    if (!host_fit->bounds.exact || !host_fit->bounds.sure)
        return -1;
    for (size_t i = 0; i < count; i++)
        host_fit->bounds.exact[i] = host_fit->bounds.sure[i] = (struct order_interval){ -INFINITY, INFINITY };
    tighten_by_instances(fit, host_fit);
    for (size_t i = messages->first[host_fit->host]; i < messages->first[host_fit->host + 1]; i++)
        tighten_by_message(fit, host_fit, &fit->input->messages[messages->numbers[i] * step]);
    return 0;
}
