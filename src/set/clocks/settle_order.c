/* After all hosts have a place: moves them by as little as it takes that no event precedes its cause.
 *
 * A host was placed with regard to those before it, whose places were not exact, so some orders may still be wrong by
 * less than the errors. Each sweep computes for every host the interval in which all its orders hold, and moves the
 * host halfway there; the other host of a wrong order makes the other half. */
#include <stdlib.h>

#include "base/saturating.h"
#include "clock_fit_state.h"
#include "time_map.h"

#define SWEEPS 16
#define EDGE_NS 100            /* an order that holds by less is taken for wrong: the maps of parts are still rounded */
#define MARGIN_NS 300          /* margin by which orders must hold, so that halving ends */
#define MOVE_MOST_NS 10000     /* limit for one sweep; orders that are wrong by more are no matter of errors */
#define MESSAGES_MOST 10000000 /* if there are more, every n-th is used */

/* The two extremes of an instance over its hosts, and the host of the first. */
struct extremes {
    int64_t first_end[2], last_start[2];
    uint32_t first_end_host, last_start_host;
};

/* By how much a host may move: at least low (0 or more if an order is wrong), at most high. */
struct room {
    int64_t low, high;
};

static void add_extremes(struct extremes *all, uint32_t host, int64_t end, int64_t start)
{
    if (end < all->first_end[0]) {
        all->first_end[1] = all->first_end[0];
        all->first_end[0] = end;
        all->first_end_host = host;
    } else if (end < all->first_end[1]) {
        all->first_end[1] = end;
    }
    if (start > all->last_start[0]) {
        all->last_start[1] = all->last_start[0];
        all->last_start[0] = start;
        all->last_start_host = host;
    } else if (start > all->last_start[1]) {
        all->last_start[1] = start;
    }
}

/* early must not come after late; the host of `late` may move back by the distance, that of `early` forward. */
static void settle_order_narrow(struct room *early, struct room *late, int64_t early_ns, int64_t late_ns)
{
    int64_t distance = saturating_subtract(late_ns, early_ns);
    if (early)
        early->high = distance < early->high ? distance : early->high;
    if (late)
        late->low = -distance > late->low ? -distance : late->low;
}

static void look_at_instance(const struct fit *fit, const struct fit_instance *instance, struct room *rooms)
{
    struct extremes all = { { INT64_MAX, INT64_MAX }, { INT64_MIN, INT64_MIN }, 0, 0 };
    const struct fit_entry *entries = &fit->entries[instance->entry_first];
    for (uint32_t i = 0; i < instance->entry_count; i++) {
        const struct fit_host *host = &fit->hosts[entries[i].host];
        add_extremes(&all, entries[i].host, time_map_at(&host->to_set, entries[i].first_end_ns),
                     time_map_at(&host->to_set, entries[i].last_start_ns));
    }
    for (uint32_t i = 0; i < instance->entry_count; i++) {
        uint32_t number = entries[i].host;
        const struct fit_host *host = &fit->hosts[number];
        int64_t others_end = all.first_end[all.first_end_host == number];
        int64_t others_start = all.last_start[all.last_start_host == number];
        settle_order_narrow(NULL, &rooms[number], others_start, time_map_at(&host->to_set, entries[i].first_end_ns));
        settle_order_narrow(&rooms[number], NULL, time_map_at(&host->to_set, entries[i].last_start_ns), others_end);
    }
}

static void look_at_messages(const struct fit *fit, struct room *rooms)
{
    const struct clock_input *input = fit->input;
    for (size_t i = 0; i < input->message_count; i += input->message_count / MESSAGES_MOST + 1) {
        const struct clock_message *message = &input->messages[i];
        const struct fit_part *sender = &fit->parts[message->sender], *receiver = &fit->parts[message->receiver];
        if (sender->host == receiver->host || fit->hosts[sender->host].group != fit->hosts[receiver->host].group ||
            !clock_is_sane(message->send_start_ns) || !clock_is_sane(message->receive_end_ns))
            continue;
        int64_t sent = time_map_at(&sender->to_host, message->send_start_ns);
        int64_t received = time_map_at(&receiver->to_host, message->receive_end_ns);
        settle_order_narrow(&rooms[sender->host], &rooms[receiver->host],
                            time_map_at(&fit->hosts[sender->host].to_set, sent),
                            time_map_at(&fit->hosts[receiver->host].to_set, received));
    }
}

/* Half of the move that brings a host into its room, or of the best compromise where there is none. */
static int64_t move_for(const struct room *room)
{
    int64_t low = saturating_add(room->low, MARGIN_NS), high = saturating_subtract(room->high, MARGIN_NS);
    if (room->low <= -EDGE_NS && room->high >= EDGE_NS)
        return 0;
    int64_t target = low > high ? low / 2 + high / 2 : low > 0 ? low : high;
    return llabs(target) > MOVE_MOST_NS ? 0 : target / 2;
}

static int move(struct fit *fit, struct fit_host *host, int64_t by_ns)
{
    struct time_map moved;
    if (time_map_copy(&host->to_set, &moved, &fit->scratch) != 0)
        return -1;
    struct clock_knot *knots = (struct clock_knot *)moved.knots; /* just made here */
    for (size_t i = 0; i < moved.knot_count; i++)
        knots[i].set_ns = saturating_add(knots[i].set_ns, by_ns);
    host->to_set = moved;
    if (host->error_ns != CLOCK_ERROR_UNKNOWN)
        host->error_ns = saturating_add(host->error_ns, llabs(by_ns));
    return 0;
}

int fit_settle_order(struct fit *fit)
{
    struct room *rooms = fit_alloc(fit, fit->host_count, sizeof *rooms);
    if (!rooms)
        return -1;
    for (int sweep = 0, is_moved = 1; sweep < SWEEPS && is_moved; sweep++) {
        is_moved = 0;
        for (uint32_t h = 0; h < fit->host_count; h++)
            rooms[h] = (struct room){ -INT64_MAX, INT64_MAX };
        for (uint32_t i = 0; i < fit->instance_count; i++)
            look_at_instance(fit, &fit->instances[i], rooms);
        look_at_messages(fit, rooms);
        for (uint32_t h = 0; h < fit->host_count; h++) {
            int64_t by_ns = move_for(&rooms[h]);
            if (!by_ns || fit->hosts[h].method != CLOCK_COLLECTIVES)
                continue;
            is_moved = 1;
            if (move(fit, &fit->hosts[h], by_ns) != 0)
                return -1;
        }
    }
    return 0;
}
