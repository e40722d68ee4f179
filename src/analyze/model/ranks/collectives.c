/* Collects the calls of all sources and divides them into instances. */
#include "collectives.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "clock_errors.h"
#include "collectives_state.h"
#include "report/reader/unite.h"

static const struct collective_source *const collective_sources[] = {
    &collective_source_mpi,
    &collective_source_nccl,
    &collective_source_torch,
};

/* ---- What sources call ----------------------------------------------------------------------------------------- */

struct collective_communicator *collectives_communicator(struct collectives *all, uint64_t name, int *is_new)
{
    struct collectives_state *state = all->state;
    struct named_communicator *found = communicator_map_find(&state->by_name, name);
    size_t index = all->communicator_count;

    *is_new = !found;
    if (found)
        return &all->communicators[found->index - 1];
    if (index >= UINT32_MAX ||
        array_reserve(&all->communicators, &state->communicator_room, index + 1, sizeof *all->communicators) != 0 ||
        !communicator_map_add(&state->by_name, &(struct named_communicator){ name, index + 1 }))
        return NULL;
    all->communicators[all->communicator_count++] = (struct collective_communicator){ .name = name, .label = "" };
    return &all->communicators[index];
}

int collectives_add(struct collectives *all, const struct collective_communicator *communicator,
                    const struct collective_call *call, int64_t rank)
{
    struct collectives_state *state = all->state;
    int64_t known = collectives_rank(all, call->thread);
    int64_t end_ns = call->leave_ns == COLLECTIVE_NEVER_LEFT ? call->enter_ns : call->leave_ns;

    if (state->filter && !filter_thread(state->filter, call->thread, call->enter_ns, end_ns))
        return 0;
    if (array_reserve(&all->calls, &state->call_room, all->call_count + 1, sizeof *all->calls) != 0)
        return ERR_NO_MEMORY;
    struct collective_call *added = &all->calls[all->call_count++];
    *added = *call;
    added->communicator = (uint32_t)(communicator - all->communicators);
    added->rank = known == COLLECTIVE_UNKNOWN ? rank : known;
    return 0;
}

/* ---- Ranks ----------------------------------------------------------------------------------------------------- */

int64_t collectives_rank(const struct collectives *all, int64_t process)
{
    return process_rank_of(&all->state->ranks, process);
}

const char *collectives_host(const struct collectives *all, int64_t rank)
{
    const struct known_rank *found = known_rank_map_find(&all->state->known, (uint64_t)rank + 1);

    return found && found->host ? found->host : "";
}

static struct known_rank *know_rank(struct collectives *all, int64_t rank)
{
    struct known_rank *found = known_rank_map_find(&all->state->known, (uint64_t)rank + 1);

    return found ?: known_rank_map_add(&all->state->known, &(struct known_rank){ .rank = (uint64_t)rank + 1 });
}

static int collectives_read_ranks(struct collectives *all, struct error *err)
{
    const struct process_rank_map *map = &all->state->ranks.map;
    int code = process_ranks_read(&all->state->ranks, all->report, err);

    if (code != 0)
        return code;
    for (const struct process_rank *at = process_rank_map_next(map, NULL); at; at = process_rank_map_next(map, at)) {
        struct known_rank *known = at->rank >= 0 ? know_rank(all, at->rank) : NULL;
        if (at->rank >= 0 && !known)
            return ERR_NO_MEMORY;
        if (known && !known->host && at->host)
            known->host = report_string(all->report, at->host, NULL);
    }
    return 0;
}

/* A rank that is in several parts has the first of them, and the largest error. */
static int collectives_read_part(struct collectives *all, size_t index, int64_t rank, int64_t error_ns,
                                 const char *host)
{
    struct known_rank *known = know_rank(all, rank);

    if (!known)
        return ERR_NO_MEMORY;
    int64_t before_ns = known->part ? known->clock_error_ns : 0;
    int is_unknown = error_ns < 0 || before_ns < 0;
    known->clock_error_ns = is_unknown ? -1 : error_ns > before_ns ? error_ns : before_ns;
    known->part = known->part ? known->part : index + 1;
    known->host = known->host ? known->host : host;
    return 0;
}

static int collectives_read_parts(struct collectives *all)
{
    for (size_t i = 0; i < report_part_count(all->report); i++) {
        const struct report_part *part = report_part_at(all->report, i);
        if (part->rank >= 0 && collectives_read_part(all, i, part->rank, part->clock_error_ns, part->host) != 0)
            return ERR_NO_MEMORY;
        for (size_t r = 0; r < part->rank_count; r++)
            if (part->ranks[r].rank >= 0 &&
                collectives_read_part(all, i, part->ranks[r].rank, part->clock_error_ns, part->host) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

/* The ranks of a report of several are those of its system. */
static int read_merged_part(struct collectives *all, size_t index, const struct merged_part *part)
{
    const struct process_rank_map *map = &all->state->ranks.map;

    if (part->rank >= 0)
        return collectives_read_part(all, index, part->rank, part->error_ns, NULL);
    for (const struct process_rank *at = process_rank_map_next(map, NULL); at; at = process_rank_map_next(map, at))
        if (at->rank >= 0 && (int64_t)((at->process - 1) >> 48) == part->system &&
            collectives_read_part(all, index, at->rank, part->error_ns, NULL) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int read_merged(struct collectives *all, struct error *err)
{
    struct merged_parts parts;
    int code = merged_parts_read(&parts, all->report, err);

    all->state->is_merged = parts.count > 0;
    for (size_t i = 0; i < parts.count && code >= 0; i++)
        code = read_merged_part(all, i, &parts.list[i]);
    merged_parts_free(&parts);
    return code;
}

int64_t collectives_clock_error(const struct collectives *all, int64_t rank, int64_t other)
{
    const struct known_rank *a = known_rank_map_find(&all->state->known, (uint64_t)rank + 1);
    const struct known_rank *b = known_rank_map_find(&all->state->known, (uint64_t)other + 1);

    if (report_part_count(all->report) < 2 && !all->state->is_merged)
        return 0;
    if (!a || !b || !a->part || !b->part)
        return INT64_MAX;
    if (a->part == b->part)
        return 0;
    return a->clock_error_ns < 0 || b->clock_error_ns < 0 ? INT64_MAX
                                                          : saturating_add(a->clock_error_ns, b->clock_error_ns);
}

int collectives_rank_is_whole(const struct collectives *all, int64_t rank)
{
    const struct known_rank *known = known_rank_map_find(&all->state->known, (uint64_t)rank + 1);

    if (!known)
        return 0;
    struct report_health health = report_health(
        known->part && !all->state->is_merged ? report_part_report(all->report, known->part - 1) : all->report);
    return health.complete && !health.recovered;
}

/* ---- Instances ------------------------------------------------------------------------------------------------- */

static int collectives_compare_calls(const void *a, const void *b)
{
    const struct collective_call *x = a, *y = b;
    int order = COMPARE(x->communicator, y->communicator) ?: COMPARE(x->sequence, y->sequence);

    return order ?: COMPARE(x->rank, y->rank) ?: COMPARE(x->enter_ns, y->enter_ns) ?: COMPARE(x->thread, y->thread);
}

static int is_same_operation(const struct collectives *all, int64_t a, int64_t b)
{
    return a == b || strcmp(report_string(all->report, a, NULL), report_string(all->report, b, NULL)) == 0;
}

/* The operation of most ranks; the first if two are as frequent. */
static int64_t operation_of_most(const struct collectives *all, const struct collective_call *calls, size_t count)
{
    size_t most = 0;
    int64_t found = calls[0].operation;

    for (size_t i = 0; i < count && most <= count / 2; i++) {
        size_t same = 0;
        for (size_t j = 0; j < count; j++)
            same += (size_t)is_same_operation(all, calls[i].operation, calls[j].operation);
        if (same > most) {
            most = same;
            found = calls[i].operation;
        }
    }
    return found;
}

int64_t collective_usual_bytes(const struct collectives *all, const struct collective_instance *instance)
{
    const struct collective_call *calls = all->calls + instance->first;
    size_t most = 0;
    int64_t usual = COLLECTIVE_UNKNOWN;

    for (size_t i = 0; i < instance->count && most <= instance->count / 2; i++) {
        size_t same = 0;
        for (size_t j = 0; j < instance->count; j++)
            same += calls[j].bytes == calls[i].bytes;
        if (calls[i].bytes != COLLECTIVE_UNKNOWN && same > most) {
            most = same;
            usual = calls[i].bytes;
        }
    }
    return most > instance->count / 2 ? usual : COLLECTIVE_UNKNOWN;
}

static struct collective_instance make_instance(const struct collectives *all, size_t first, size_t end)
{
    const struct collective_call *calls = all->calls + first;
    struct collective_instance made = { .first = first,
                                        .count = end - first,
                                        .communicator = calls->communicator,
                                        .sequence = calls->sequence,
                                        .operation = calls->operation,
                                        .bytes = COLLECTIVE_UNKNOWN,
                                        .root = COLLECTIVE_UNKNOWN };

    for (size_t i = 0; i < made.count; i++) {
        made.has_several |= !is_same_operation(all, calls[i].operation, calls->operation);
        made.is_open |= calls[i].leave_ns == COLLECTIVE_NEVER_LEFT;
        made.is_nonblocking |= calls[i].is_nonblocking;
        made.bytes = calls[i].bytes > made.bytes ? calls[i].bytes : made.bytes;
        made.root = made.root == COLLECTIVE_UNKNOWN ? calls[i].root : made.root;
    }
    if (made.has_several)
        made.operation = operation_of_most(all, calls, made.count);
    made.kind = collective_kind_of(report_string(all->report, made.operation, NULL));
    return made;
}

static int collectives_divide(struct collectives *all)
{
    if (all->call_count)
        qsort(all->calls, all->call_count, sizeof *all->calls, collectives_compare_calls);
    for (size_t first = 0, end; first < all->call_count; first = end) {
        const struct collective_call *calls = all->calls;
        for (end = first + 1; end < all->call_count && calls[end].communicator == calls[first].communicator &&
                              calls[end].sequence == calls[first].sequence;)
            end++;
        if (ARRAY_PUSH(all->instances, all->state->instance_room, all->instance_count,
                       make_instance(all, first, end)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Where the source does not know the members, they are the ranks that ever took part. */
static int find_members(struct collectives *all, size_t first, size_t end)
{
    struct collective_communicator *communicator = &all->communicators[all->calls[first].communicator];
    int64_t *ranks = array_alloc(end - first, sizeof *ranks);
    size_t count = 0;

    if (!ranks)
        return ERR_NO_MEMORY;
    for (size_t i = first; i < end; i++)
        ranks[i - first] = all->calls[i].rank;
    qsort(ranks, end - first, sizeof *ranks, array_by_int64);
    for (size_t i = 0; i < end - first; i++)
        if (ranks[i] != COLLECTIVE_UNKNOWN && (!count || ranks[i] != ranks[count - 1]))
            ranks[count++] = ranks[i];
    int64_t *members = count ? arena_alloc(&all->state->arena, count * sizeof *members) : NULL;
    if (members) {
        memcpy(members, ranks, count * sizeof *members);
        communicator->members = members;
        communicator->size = (int64_t)count;
    }
    free(ranks);
    return count && !members ? ERR_NO_MEMORY : 0;
}

static int find_all_members(struct collectives *all)
{
    for (size_t first = 0, end; first < all->call_count; first = end) {
        uint32_t communicator = all->calls[first].communicator;
        for (end = first + 1; end < all->call_count && all->calls[end].communicator == communicator;)
            end++;
        int is_known = all->communicators[communicator].members || all->communicators[communicator].size;
        if (!is_known && find_members(all, first, end) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int read_sources(struct collectives *all, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(collective_sources); i++) {
        const struct report_table *table = report_table(all->report, collective_sources[i]->table);
        int code = table && table->rows ? collective_sources[i]->read(all, err) : 0;
        if (code != 0)
            return code;
    }
    return 0;
}

int collectives_read(struct collectives *all, struct report *report, const struct filter *filter, struct error *err)
{
    int code;

    *all = (struct collectives){ .report = report, .state = calloc(1, sizeof *all->state) };
    if (!all->state)
        return error_no_memory(err);
    all->state->filter = filter;
    if ((code = collectives_read_ranks(all, err)) != 0)
        goto done;
    if ((code = read_merged(all, err)) != 0 || (!all->state->is_merged && (code = collectives_read_parts(all)) != 0))
        goto done;
    if ((code = read_sources(all, err)) != 0)
        goto done;
    if ((code = collectives_divide(all)) != 0)
        goto done;
    code = find_all_members(all);
    collectives_check_guesses(all);
done:
    return code == ERR_NO_MEMORY ? error_no_memory(err) : code;
}

void collectives_free(struct collectives *all)
{
    free(all->communicators);
    free(all->calls);
    free(all->instances);
    if (all->state) {
        arena_free(&all->state->arena);
        communicator_map_free(&all->state->by_name);
        process_ranks_free(&all->state->ranks);
        known_rank_map_free(&all->state->known);
    }
    free(all->state);
    *all = (struct collectives){ 0 };
}
