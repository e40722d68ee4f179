/* Finds events by thread and start: collectives and messages know these of each rank. */
#include "rank_links.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"

void rank_links_free(struct rank_links *links)
{
    if (links->has_collectives)
        collectives_free(&links->collectives);
    if (links->has_messages) {
        messages_free(&links->messages);
        clock_errors_free(&links->errors);
        mpi_calls_free(&links->calls);
    }
    *links = (struct rank_links){ 0 };
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static int is_row_of(const struct view_row *row, int64_t thread)
{
    return row->type == ROW_STREAM ? row->process == global_process(thread) : row->thread == thread;
}

/* The event of a row of this type that starts then on a thread, or on a GPU for a process; VIEW_NO_PLACE if there is
 * none.
 */
static struct view_place rank_links_find_event(const struct view *view, enum row_type type, int64_t thread,
                                               int64_t start_ns)
{
    for (size_t r = 0; r < view->row_count; r++) {
        const struct view_row *row = &view->rows[r];
        if (row->type != type || row->from_ns > start_ns || row->to_ns < start_ns || !is_row_of(row, thread))
            continue;
        for (uint32_t lane = 0; lane < row->events.lane_count; lane++) {
            uint32_t event = events_from(&row->events, lane, start_ns);
            if (event < row->events.lanes[lane + 1] && row->events.start_ns[event] == start_ns)
                return (struct view_place){ (int)r, event };
        }
    }
    return VIEW_NO_PLACE;
}

static int may_be_linked(const struct view *view, struct view_place place)
{
    enum row_type type = view->rows[place.row].type;

    return view->ranks.host_count && (type == ROW_STREAM || type == ROW_THREAD_OTHER || type == ROW_TORCH);
}

/* ---- collectives ----------------------------------------------------------------------------------------------- */

static int read_collectives(struct rank_links *links, const struct view *view, struct error *err)
{
    if (links->has_collectives)
        return 0;
    links->has_collectives = 1;
    return collectives_read(&links->collectives, view->report, NULL, err);
}

static const struct collective_instance *find_instance(const struct collectives *all, const struct view *view,
                                                       struct view_place place)
{
    const struct view_row *row = &view->rows[place.row];
    int64_t start_ns = place_start(view, place);

    for (size_t i = 0; i < all->instance_count; i++) {
        const struct collective_instance *instance = &all->instances[i];
        for (size_t c = instance->first; c < instance->first + instance->count; c++)
            if (collective_call_start(&all->calls[c]) == start_ns && is_row_of(row, all->calls[c].thread))
                return instance;
    }
    return NULL;
}

int rank_links_instance(struct rank_instance *out, struct rank_links *links, struct view *view, struct view_place place,
                        struct error *err)
{
    struct collectives *all = &links->collectives;
    enum row_type type = view->rows[place.row].type;
    int code;

    *out = (struct rank_instance){ .last = VIEW_NO_PLACE };
    if (!may_be_linked(view, place))
        return 0;
    if ((code = read_collectives(links, view, err)) != 0)
        return code;
    const struct collective_instance *instance = find_instance(all, view, place);
    if (!instance)
        return 0;
    int64_t *waits = calloc(instance->count + 1, sizeof *waits);
    if (!waits)
        return error_no_memory(err);
    struct collective_figures figures = collective_figures(all, instance, waits);
    free(waits);
    out->rank_count = instance->count;
    for (size_t i = 0; i < instance->count; i++) {
        const struct collective_call *call = &all->calls[instance->first + i];
        struct view_place found = rank_links_find_event(view, type, call->thread, collective_call_start(call));
        if (found.row == VIEW_NO_ROW)
            continue;
        if (i == figures.last) {
            out->last = found;
            out->last_rank = call->rank;
            out->lateness_ns = figures.lateness_ns;
        }
        if ((found.row != place.row || found.event != place.event) &&
            (code = event_list_add(&out->calls, found, err)) != 0)
            return code;
    }
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static int rank_links_read_messages(struct rank_links *links, const struct view *view, struct error *err)
{
    int code;

    if (links->has_messages)
        return 0;
    links->has_messages = 1;
    if ((code = mpi_calls_read(&links->calls, view->report, err)) != 0 ||
        (code = clock_errors_read(&links->errors, view->report, err)) != 0)
        return code;
    return messages_read(&links->messages, view->report, &links->calls, &links->errors, err);
}

static int rank_links_is_call(const struct rank_links *links, uint32_t number, int64_t thread, int64_t start_ns)
{
    return number != MPI_NO_CALL && links->calls.list[number].thread == thread &&
           links->calls.list[number].start_ns == start_ns;
}

/* A send ends in the call that completes the receive; a receive comes from the call that started the send. */
static int add_other(struct event_list *places, const struct view *view, const struct rank_links *links,
                     const struct message_side *other, struct error *err)
{
    uint32_t number = other->is_received && other->completed != MPI_NO_CALL ? other->completed : other->started;
    const struct mpi_call *call = number == MPI_NO_CALL ? NULL : &links->calls.list[number];
    struct view_place found = call ? rank_links_find_event(view, ROW_THREAD_OTHER, call->thread, call->start_ns)
                                   : VIEW_NO_PLACE;

    return found.row == VIEW_NO_ROW ? 0 : event_list_add(places, found, err);
}

int rank_links_messages(struct event_list *received, struct event_list *sent, struct rank_links *links,
                        struct view *view, struct view_place place, struct error *err)
{
    int64_t thread = view->rows[place.row].thread, start_ns = place_start(view, place);
    int code;

    if (!may_be_linked(view, place) || view->rows[place.row].type != ROW_THREAD_OTHER)
        return 0;
    if ((code = rank_links_read_messages(links, view, err)) != 0)
        return code;
    for (size_t i = 0; i < links->messages.count && received->count + sent->count < MOST_PLACES; i++) {
        const struct message_side *side = &links->messages.list[i];
        if (side->other == NO_MESSAGE || (!rank_links_is_call(links, side->started, thread, start_ns) &&
                                          !rank_links_is_call(links, side->completed, thread, start_ns)))
            continue;
        if ((code = add_other(side->is_received ? sent : received, view, links, &links->messages.list[side->other],
                              err)) != 0)
            return code;
    }
    return 0;
}
