/* Finds the waits of MPI_Init() and MPI_Finalize(). The standard does not say that they synchronise, but most MPIs let
 * them: if no rank left before the last one had entered, the ranks waited for that one. */
#include <stdlib.h>

#include "base/array.h"
#include "mpi_waits.h"

struct mpi_setup_waits_entry {
    int64_t rank;
    uint32_t call;
};

struct mpi_setup_waits_entries {
    struct mpi_setup_waits_entry *list; /* owned */
    size_t count, room;
};

static int compare_entries(const void *left, const void *right)
{
    const struct mpi_setup_waits_entry *a = left, *b = right;

    return COMPARE(a->rank, b->rank) ?: COMPARE(a->call, b->call);
}

static int mpi_setup_waits_collect(struct mpi_setup_waits_entries *entries, const struct mpi_calls *calls,
                                   const char *const *names)
{
    for (size_t i = 0; i < calls->thread_count; i++) {
        const struct mpi_thread *thread = &calls->threads[i];
        for (size_t k = thread->first; k < thread->end && thread->rank != MPI_RANK_UNKNOWN; k++) {
            size_t length;
            const char *base = mpi_call_base(calls->report, calls->list[k].name, &length);
            int is_wanted = 0;
            for (const char *const *name = names; *name && !is_wanted; name++)
                is_wanted = mpi_base_is(base, length, *name);
            if (!is_wanted)
                continue;
            if (ARRAY_PUSH(entries->list, entries->room, entries->count,
                           (struct mpi_setup_waits_entry){ thread->rank, (uint32_t)k }) != 0)
                return ERR_NO_MEMORY;
        }
    }
    if (entries->count)
        qsort(entries->list, entries->count, sizeof *entries->list, compare_entries);
    return 0;
}

static size_t mpi_setup_waits_find_last(const struct mpi_calls *calls, const struct mpi_setup_waits_entries *entries)
{
    size_t last = 0;

    for (size_t i = 1; i < entries->count; i++)
        if (calls->list[entries->list[i].call].start_ns > calls->list[entries->list[last].call].start_ns)
            last = i;
    return last;
}

/* Each rank once: two calls of a rank are of two jobs. */
static int is_of_one_job(const struct mpi_setup_waits_entries *entries)
{
    for (size_t i = 1; i < entries->count; i++)
        if (entries->list[i].rank == entries->list[i - 1].rank)
            return 0;
    return entries->count > 1;
}

static int synchronised(const struct mpi_calls *calls, const struct clock_errors *errors,
                        const struct mpi_setup_waits_entries *entries, const struct mpi_call *last)
{
    for (size_t i = 0; i < entries->count; i++) {
        const struct mpi_call *call = &calls->list[entries->list[i].call];
        int64_t error = clock_errors_of(errors, call->thread, last->thread);
        if (saturating_add(call->end_ns, error) < last->start_ns)
            return 0;
    }
    return 1;
}

static int mpi_setup_waits_add_waits(struct mpi_waits *waits, const struct mpi_calls *calls,
                                     const struct clock_errors *errors, const char *const *names)
{
    struct mpi_setup_waits_entries entries = { 0 };
    int code = mpi_setup_waits_collect(&entries, calls, names);

    if (code != 0 || !is_of_one_job(&entries))
        goto free_entries;
    size_t number = mpi_setup_waits_find_last(calls, &entries);
    const struct mpi_call *last = &calls->list[entries.list[number].call];
    if (!synchronised(calls, errors, &entries, last))
        goto free_entries;
    for (size_t i = 0; i < entries.count; i++) {
        const struct mpi_wait wait = { MPI_WAIT_SETUP, entries.list[i].call, last->start_ns, last->thread };
        if (i != number && (code = mpi_waits_add(waits, calls, errors, &wait)) != 0)
            break;
    }
free_entries:
    free(entries.list);
    return code;
}

int mpi_waits_add_setup(struct mpi_waits *waits, const struct mpi_calls *calls, const struct clock_errors *errors)
{
    static const char *const begins[] = { "Init", "Init_thread", NULL }, *const ends[] = { "Finalize", NULL };

    if (mpi_setup_waits_add_waits(waits, calls, errors, begins) != 0)
        return ERR_NO_MEMORY;
    return mpi_setup_waits_add_waits(waits, calls, errors, ends);
}
