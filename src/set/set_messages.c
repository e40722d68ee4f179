/* Matches the messages of reports whose clocks are not known yet (analyze/model/ranks/messages.h): only those of
 * processes that were recorded from their start, because a wrong pair would move a clock. */
#include "set_messages.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/ranks/messages.h"
#include "base/array.h"

/* More are not kept: the bounds need some of each pair of hosts. */
#define MOST_SIDES 1000000
/* If there are more, none is read: opening a set must not take longer than the analysis. */
#define MOST_ROWS 20000000

static uint64_t set_messages_count_rows(const struct set_member *members, size_t count)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < count; i++)
        rows += report_rows(members[i].report, "TACHO_MPI_MESSAGE");
    return rows;
}

/* Communicators and ranks of two jobs have the same names, so their messages cannot be distinguished. */
static int has_several_jobs(const struct set_member *members, size_t count)
{
    const char *first = NULL;

    for (size_t i = 0; i < count; i++) {
        if (first && members[i].job && strcmp(first, members[i].job) != 0)
            return 1;
        first = first ? first : members[i].job;
    }
    return 0;
}

static int set_messages_read_member(struct messages *all, const struct set_member *member, uint32_t part,
                                    struct error *err)
{
    struct mpi_calls calls = { 0 };
    int code;

    if ((code = mpi_calls_read_setup(&calls, member->report, err)) != 0)
        goto free_calls;
    code = messages_add(all, member->report, part, &calls, err);
free_calls:
    mpi_calls_free(&calls);
    return code;
}

static int set_messages_is_usable(const struct messages *all, const struct message_side *send)
{
    const struct message_side *receive = send->other == NO_MESSAGE ? NULL : &all->list[send->other];

    return !send->is_received && receive && send->part != receive->part && send->is_whole && receive->is_whole;
}

static int set_messages_take_pairs(struct set_messages *messages, const struct messages *all)
{
    messages->list = array_alloc(all->count + 1, sizeof *messages->list);
    if (!messages->list)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < all->count; i++) {
        const struct message_side *send = &all->list[i];
        if (set_messages_is_usable(all, send))
            messages->list[messages->count++] = (struct clock_message){
                .sender = send->part,
                .receiver = all->list[send->other].part,
                .send_start_ns = send->start_ns,
                .receive_end_ns = all->list[send->other].end_ns,
            };
    }
    return 0;
}

int set_messages_read(struct set_messages *messages, const struct set_member *members, size_t count, struct error *err)
{
    uint64_t rows = set_messages_count_rows(members, count);
    struct messages all = { .stride = rows / MOST_SIDES + 1 };
    int code = 0;

    if (!rows || rows > MOST_ROWS || has_several_jobs(members, count))
        return 0;
    for (size_t i = 0; i < count; i++)
        if ((code = set_messages_read_member(&all, &members[i], (uint32_t)i, err)) != 0)
            goto free_messages;
    messages_match(&all, NULL, NULL);
    code = set_messages_take_pairs(messages, &all);
free_messages:
    messages_free(&all);
    return code == ERR_NO_MEMORY ? error_no_memory(err) : code;
}

void set_messages_free(struct set_messages *messages)
{
    free(messages->list);
    *messages = (struct set_messages){ 0 };
}
