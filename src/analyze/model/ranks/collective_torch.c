/* Collectives that PyTorch runs on CPUs (gloo), as it records them: "gloo:all_reduce", on the threads of the process
 * group. PyTorch does not say which group that is. Each group has threads of its own, which it starts in a row: so
 * threads that follow each other are a group, and groups are counted in that order.
 *
 * An operation on tensors of a GPU waits for the copies of them to the host first: until then its rank has not come. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/text.h"
#include "collective_order.h"

/* A thread of a process; one that runs collectives, or any other. */
struct group_thread {
    int64_t thread;
    int is_worker;
    uint64_t group; /* number in the process, from 1 */
};

/* A call on such a thread that waited for the GPU. */
struct gpu_wait {
    int64_t thread, start_ns, end_ns;
};

struct torch {
    struct collectives *all;
    struct group_thread *threads; /* by number; owned */
    size_t thread_count, thread_room;
    struct ordered_calls calls;
    struct gpu_wait *waits;       /* by thread and time; owned */
    size_t wait_count, wait_room;
};

static int coll_torch_add_thread(struct torch *torch, int64_t thread, int is_worker)
{
    return ARRAY_PUSH(torch->threads, torch->thread_room, torch->thread_count,
                      (struct group_thread){ thread, is_worker, 0 });
}

static int coll_torch_compare_threads(const void *a, const void *b)
{
    const struct group_thread *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(y->is_worker, x->is_worker);
}

/* Sorted and each once, workers are numbered by group. */
static void number_groups(struct torch *torch)
{
    size_t kept = 0;

    if (torch->thread_count)
        qsort(torch->threads, torch->thread_count, sizeof *torch->threads, coll_torch_compare_threads);
    for (size_t i = 0; i < torch->thread_count; i++)
        if (!kept || torch->threads[kept - 1].thread != torch->threads[i].thread)
            torch->threads[kept++] = torch->threads[i];
    torch->thread_count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct group_thread *at = &torch->threads[i], *before = i ? at - 1 : NULL;
        int is_first = !before || global_process(before->thread) != global_process(at->thread);
        uint64_t groups = is_first ? 0 : before->group;
        at->group = groups + (uint64_t)(at->is_worker && (is_first || !before->is_worker));
    }
}

static uint64_t coll_torch_group_of(const struct torch *torch, int64_t thread)
{
    const struct group_thread wanted = { thread, 1, 0 };
    const struct group_thread *found = bsearch(&wanted, torch->threads, torch->thread_count, sizeof wanted,
                                               coll_torch_compare_threads);
    return found ? found->group : 0;
}

static int read_threads(struct torch *torch, struct error *err)
{
    static const char *const names[] = { "globalTid", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, torch->all->report, "TACHO_THREAD", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if ((code = coll_torch_add_thread(torch, row_int_or(&rows, 0, 0), 0)) != 0)
            break;
    row_cursor_close(&rows);
    return code;
}

enum { START, END, THREAD, NAME, RANK, ARGS };

/* In a process that was killed, operations that had not ended have a mark instead of an end of their own. */
static int is_unfinished(struct report *report, const struct row_cursor *rows)
{
    return row_is_null(rows, END) ||
           (!row_is_null(rows, ARGS) && strstr(report_string(report, row_int(rows, ARGS), NULL), "\"unfinished\""));
}

static int coll_torch_add_operation(struct torch *torch, const struct row_cursor *rows)
{
    int64_t operation = row_int_or(rows, NAME, 0), thread = row_int_or(rows, THREAD, 0);
    const char *name = report_string(torch->all->report, operation, NULL);

    if (strncmp(name, "gloo:", 5) != 0 || collective_kind_of(name) == COLLECTIVE_OTHER || row_is_null(rows, THREAD))
        return 0;
    const struct ordered_call call = {
        .rank = row_int_or(rows, RANK, COLLECTIVE_UNKNOWN),
        .call = { .thread = thread,
                  .enter_ns = row_int_or(rows, START, 0),
                  .leave_ns = is_unfinished(torch->all->report, rows) ? COLLECTIVE_NEVER_LEFT : row_int(rows, END),
                  .bytes = COLLECTIVE_UNKNOWN,
                  .root = COLLECTIVE_UNKNOWN,
                  .operation = operation },
    };
    if (coll_torch_add_thread(torch, thread, 1) != 0)
        return ERR_NO_MEMORY;
    return ordered_calls_append(&torch->calls, &call);
}

static int coll_torch_read_operations(struct torch *torch, struct error *err)
{
    static const char *const names[] = { "start", "end", "globalTid", "nameId", "rank", "argsId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, torch->all->report, "TACHO_TORCH_OP", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if ((code = coll_torch_add_operation(torch, &rows)) != 0)
            break;
    row_cursor_close(&rows);
    return code;
}

static int coll_torch_compare_waits(const void *a, const void *b)
{
    const struct gpu_wait *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns);
}

static int read_gpu_waits(struct torch *torch, struct error *err)
{
    static const char *const names[] = { "start", "end", "globalTid", "nameId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, torch->all->report, "CUPTI_ACTIVITY_KIND_RUNTIME", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t thread = row_int_or(&rows, THREAD, 0);
        if (row_is_null(&rows, END) || !coll_torch_group_of(torch, thread) ||
            !text_begins_with(report_string(torch->all->report, row_int_or(&rows, NAME, 0), NULL),
                              "cudaStreamSynchronize"))
            continue;
        if (array_reserve(&torch->waits, &torch->wait_room, torch->wait_count + 1, sizeof *torch->waits) != 0) {
            code = ERR_NO_MEMORY;
            break;
        }
        torch->waits[torch->wait_count++] = (struct gpu_wait){ thread, row_int(&rows, START), row_int(&rows, END) };
    }
    row_cursor_close(&rows);
    if (torch->wait_count)
        qsort(torch->waits, torch->wait_count, sizeof *torch->waits, coll_torch_compare_waits);
    return code;
}

static void coll_torch_leave_out_waits(const struct torch *torch, struct collective_call *call)
{
    const struct gpu_wait wanted = { call->thread, call->enter_ns, 0 };
    size_t at = BISECT(0, torch->wait_count, i, coll_torch_compare_waits(&torch->waits[i], &wanted) < 0);

    for (; at < torch->wait_count && torch->waits[at].thread == call->thread; at++) {
        if (torch->waits[at].start_ns >= call->leave_ns || torch->waits[at].end_ns > call->leave_ns)
            break;
        call->own_wait_ns = saturating_subtract(torch->waits[at].end_ns, wanted.start_ns);
        call->enter_ns = torch->waits[at].end_ns;
    }
}

static int name_groups(struct torch *torch)
{
    for (size_t i = 0; i < torch->calls.count; i++) {
        struct ordered_call *at = &torch->calls.list[i];
        uint64_t group = coll_torch_group_of(torch, at->call.thread);
        at->communicator = hash_number(group ^ UINT64_C(0x676c6f6f));
        coll_torch_leave_out_waits(torch, &at->call);
        if (ordered_communicator(torch->all, at->communicator, "gloo group", (int64_t)group, 0, 1) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int coll_torch_read_torch(struct collectives *all, struct error *err)
{
    struct torch torch = { .all = all };
    int code;

    if ((code = coll_torch_read_operations(&torch, err)) != 0)
        goto free_all;
    if (!torch.calls.count)
        goto free_all;
    if ((code = read_threads(&torch, err)) != 0)
        goto free_all;
    number_groups(&torch);
    if ((code = read_gpu_waits(&torch, err)) != 0)
        goto free_all;
    if ((code = name_groups(&torch)) != 0)
        goto free_all;
    code = ordered_calls_add(all, &torch.calls);
free_all:
    free(torch.threads);
    free(torch.waits);
    ordered_calls_free(&torch.calls);
    return code;
}

const struct collective_source collective_source_torch = { "TACHO_TORCH_OP", coll_torch_read_torch };
