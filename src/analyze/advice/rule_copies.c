/* The rule copies: a thread waits for its copies to the GPU, or spends its time on them.
 *
 * Copies are grouped by line and by what is wrong with them: the first kind that a copy is of. Bound: the line does
 * nothing, so that its operators, its calls and its copies are gone. Estimate: what the kind's repair leaves. */
#include <stdlib.h>

#include "advice_copies.h"
#include "advice_groups.h"
#include "analyze/registry.h"

/* At least SMALL_RUN copies in a row, of at most SMALL_BYTES on average, are one copy in small parts, if it takes at
 * most half of their time to put them together. */
enum {
    SMALL_RUN = 8,
    SMALL_BYTES = 256 << 10,
};
/* The CPU puts a batch together: 10 GB/s for one thread, and once more into pinned memory. */
#define GATHER_BYTES_NS 5.0

struct copies {
    struct adviser *adviser;
    struct advice_groups groups;
    struct advice_copies list;
    struct report_columns bytes;
    struct advice_copy_rate pinned;
};

static const struct replay_thread *copies_thread_of(const struct copies *copies, const struct advice_copy *copy)
{
    const struct replay_events *events = &copies->adviser->replay.events;

    return &events->threads[events->calls[copy->call].thread];
}

/* ---- edits ----------------------------------------------------------------------------------------------------- */

/* The calls of a copy: from the first in its operator to the end. */
static uint32_t copies_first_call(const struct copies *copies, const struct advice_copy *copy)
{
    const struct replay_call *calls = copies->adviser->replay.events.calls;
    uint32_t first = copy->call;

    while (first > copies_thread_of(copies, copy)->first && calls[first - 1].start_ns >= copy->from_ns)
        first--;
    return first;
}

static int copies_is_in(const struct copies *copies, const struct advice_copy *copy, uint32_t call)
{
    return call < copies_thread_of(copies, copy)->end &&
           copies->adviser->replay.events.calls[call].start_ns < copy->to_ns;
}

static int copies_waits(const struct copies *copies, const struct advice_copy *copy)
{
    for (uint32_t call = copies_first_call(copies, copy); copies_is_in(copies, copy, call); call++)
        if (copies->adviser->replay.events.calls[call].wait == REPLAY_WAITED)
            return 1;
    return 0;
}

static int drop_waits(const struct copies *copies, const struct advice_copy *copy, struct replay_edits *edits)
{
    const struct replay *replay = &copies->adviser->replay;

    for (uint32_t call = copies_first_call(copies, copy); copies_is_in(copies, copy, call); call++)
        if (replay_edit_drop(edits, replay_edge_to(replay, replay_call_end(call), REPLAY_WAIT)) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* The thread is not in this time, and in no call that begins in it. */
static int cut_time(const struct copies *copies, const struct advice_copy *copy, struct replay_edits *edits,
                    int64_t from_ns, int64_t to_ns)
{
    return advice_cut_time(&copies->adviser->replay, edits, copies_thread_of(copies, copy), from_ns, to_ns, 1);
}

static int64_t pinned_ns(const struct copies *copies, int64_t bytes)
{
    return saturating_from_double((double)bytes / copies->pinned.bytes_ns);
}

/* ---- kinds ----------------------------------------------------------------------------------------------------- */

static int64_t bytes_of_run(const struct copies *copies, const struct advice_copy *copy)
{
    int64_t sum = 0;

    for (uint32_t i = copy->first; i < copy->first + copy->run; i++)
        sum = saturating_add(sum, copies->list.list[i].bytes);
    return sum;
}

static int64_t gather_ns(const struct copies *copies, const struct advice_copy *copy)
{
    return saturating_from_double((double)bytes_of_run(copies, copy) / GATHER_BYTES_NS);
}

static int is_small(const struct copies *copies, const struct advice_copy *copy)
{
    const struct advice_copy *first = &copies->list.list[copy->first], *last = first + copy->run - 1;

    return copies->adviser->steps->count && copy->run >= SMALL_RUN &&
           bytes_of_run(copies, copy) / copy->run <= SMALL_BYTES &&
           gather_ns(copies, copy) <= saturating_duration(first->from_ns, last->to_ns) / 2;
}

static int is_part(const struct copies *copies, const struct advice_copy *copy)
{
    return copies->adviser->steps->count && copy->run >= SMALL_RUN && copy->is_part;
}

/* The first copy of a run becomes one of all bytes; the others, and the time up to each of them, are gone. */
static int copies_join(const struct copies *copies, const struct advice_copy *copy, struct replay_edits *edits)
{
    const struct replay *replay = &copies->adviser->replay;

    if (drop_waits(copies, copy, edits) != 0)
        return ERR_NO_MEMORY;
    if (copy != &copies->list.list[copy->first])
        return cut_time(copies, copy, edits, copy[-1].to_ns, copy->to_ns) != 0 ||
                       advice_remove_copy(replay, edits, copy->work) != 0
                   ? ERR_NO_MEMORY
                   : 0;
    uint32_t run = replay_edge_to(replay, replay_work_end(replay, copy->work), REPLAY_RUN);
    int64_t more_ns = saturating_subtract(pinned_ns(copies, bytes_of_run(copies, copy)),
                                          run == REPLAY_NO_EDGE ? 0 : replay->graph.lag[run]);
    return more_ns > 0 ? replay_edit_cut(edits, run, -more_ns) : 0;
}

/* The same, and the CPU puts them together first. */
static int copies_gather(const struct copies *copies, const struct advice_copy *copy, struct replay_edits *edits)
{
    uint32_t before = replay_edge_to(&copies->adviser->replay, replay_call_start(copy->call), REPLAY_HOST);

    if (copies_join(copies, copy, edits) != 0)
        return ERR_NO_MEMORY;
    return copy == &copies->list.list[copy->first] ? replay_edit_cut(edits, before, -gather_ns(copies, copy)) : 0;
}

static int is_made(const struct copies *copies, const struct advice_copy *copy)
{
    return copies->adviser->steps->count && copy->made_ns < copy->from_ns;
}

/* An operator makes the tensor on the GPU: it takes as long as the one that copied, without its wait. */
static int make_on_gpu(const struct copies *copies, const struct advice_copy *copy, struct replay_edits *edits)
{
    if (drop_waits(copies, copy, edits) != 0 || cut_time(copies, copy, edits, copy->made_ns, copy->from_ns) != 0)
        return ERR_NO_MEMORY;
    return advice_remove_copy(&copies->adviser->replay, edits, copy->work);
}

static int is_pageable(const struct copies *copies, const struct advice_copy *copy)
{
    const struct replay_events *events = &copies->adviser->replay.events;

    return replay_memory_of(events, &events->works[copy->work]) == REPLAY_PAGEABLE && copies_waits(copies, copy);
}

static int pin(const struct copies *copies, const struct advice_copy *copy, struct replay_edits *edits)
{
    return drop_waits(copies, copy, edits) != 0
               ? ERR_NO_MEMORY
               : advice_shorten_copy(&copies->adviser->replay, edits, copy->work, pinned_ns(copies, copy->bytes));
}

/* A copy that nobody waits for reads its source later. */
#define LEAVE "Write to it again only when the copy is done."

static const struct copy_kind {
    int (*is_of)(const struct copies *copies, const struct advice_copy *copy);
    int (*repair)(const struct copies *copies, const struct advice_copy *copy, struct replay_edits *edits);
    int has_pinned_rate, has_gather_rate; /* rates that the repair needs */
    int is_run;                           /* it is about the copies of a run, and the time between them */
    const char *what, *advice;
    const char *without_torch;            /* the advice for programs without PyTorch; NULL: the same */
} copies_kinds[] = {
    { is_part, copies_join, 1, 0, 1, "parts of a tensor are copied to the GPU one by one",
      "Copy the tensor whole, and split it on the GPU: tensor.to(\"cuda\", non_blocking=True).unbind(), from pinned "
      "memory.",
      NULL },
    { is_small, copies_gather, 1, 1, 1, "small tensors are copied to the GPU one by one",
      "Put them together first: torch.stack(list).pin_memory().to(\"cuda\", non_blocking=True); torch.cat of flat "
      "views "
      "if their shapes differ.",
      "Put them together in one pinned buffer (cudaHostAlloc), and copy that (cudaMemcpyAsync)." },
    { is_made, make_on_gpu, 0, 0, 0, "a tensor is made on the CPU and then moved to the GPU",
      "Make it on the GPU: torch.randn(…, device=\"cuda\"), torch.zeros(…, device=x.device).", NULL },
    { is_pageable, pin, 1, 0, 0, "a copy of pageable memory to the GPU is waited for",
      "Pin the memory; pass non_blocking=True (cudaMemcpyAsync). " LEAVE,
      "Pin the memory (cudaHostAlloc), and copy with cudaMemcpyAsync. " LEAVE },
    { copies_waits, drop_waits, 0, 0, 0, "a copy to the GPU is waited for",
      "Pass non_blocking=True (cudaMemcpyAsync), from pinned memory. " LEAVE,
      "Copy with cudaMemcpyAsync, from pinned memory. " LEAVE },
};
enum { COPY_KINDS = COUNT_OF(copies_kinds) };

/* ---- the rule -------------------------------------------------------------------------------------------------- */

/* In the bound all is gone: also the time up to the copy before it in a run, and the operator that made the tensor. */
static int copies_remove_all(const struct copies *copies, const struct advice_copy *copy, const struct copy_kind *kind,
                             struct replay_edits *edits)
{
    int64_t from_ns = kind->is_run && copy != &copies->list.list[copy->first] ? copy[-1].to_ns : copy->made_ns;

    if (drop_waits(copies, copy, edits) != 0 || cut_time(copies, copy, edits, from_ns, copy->to_ns) != 0)
        return ERR_NO_MEMORY;
    return advice_remove_copy(&copies->adviser->replay, edits, copy->work);
}

static int copies_add_copy(struct copies *copies, const struct advice_copy *copy, int64_t kind)
{
    struct advice_groups *groups = &copies->groups;
    const struct replay_call *call = &copies->adviser->replay.events.calls[copy->call];
    struct advice_event event = {
        .thread = copies_thread_of(copies, copy)->id, .start_ns = copy->made_ns, .end_ns = copy->to_ns, .kind = kind
    };

    event.place = places_at(groups->places, event.thread, call->start_ns, call->end_ns);
    uint32_t group = advice_group(groups, places_line(groups->places, event.place), kind);
    if (group == NO_KEY || (adviser_counts(copies->adviser, call) && advice_group_note(groups, group, &event) != 0))
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    return copies_remove_all(copies, copy, &copies_kinds[kind], &cause->bound) != 0 ||
                   copies_kinds[kind].repair(copies, copy, &cause->estimate) != 0
               ? ERR_NO_MEMORY
               : 0;
}

static int copies_add_copies(struct copies *copies)
{
    for (size_t i = 0; i < copies->list.count; i++) {
        const struct advice_copy *copy = &copies->list.list[i];
        int64_t kind = 0;
        while (kind < COPY_KINDS && !copies_kinds[kind].is_of(copies, copy))
            kind++;
        if (kind < COPY_KINDS && copies_add_copy(copies, copy, kind) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int copies_describe(struct advice_groups *groups, uint32_t group)
{
    const struct copies *copies = (const struct copies *)((const char *)groups - offsetof(struct copies, groups));
    struct advice_cause *cause = &groups->list[group].cause;
    const struct copy_kind *kind = &copies_kinds[keys_get(&groups->keys, group)[1]];
    uint32_t place;
    int64_t unused;

    if (!cause->count)
        return 0;
    advice_group_most(groups, group, &place, &unused);
    text_add(&cause->what, kind->what);
    advice_cause_figure(cause, FIGURE_TIMES);
    place_text(&cause->where, groups->places, place);
    cause->advice = kind->without_torch && !adviser_uses_torch(copies->adviser) ? kind->without_torch : kind->advice;
    if (!kind->has_pinned_rate)
        return 1;
    cause->confidence = ADVICE_MODELLED;
    advice_rate_text(&cause->rate, &copies->pinned);
    if (kind->has_gather_rate)
        text_addf(&cause->rate, ", put together at %.0f GB/s", GATHER_BYTES_NS);
    return 1;
}

static int find_copies(struct adviser *adviser, struct error *err)
{
    struct copies copies = { .adviser = adviser };
    int code;

    if ((code = advice_groups_open(&copies.groups, adviser, err)) != 0 ||
        (code = advice_copies_read(&copies.list, adviser, err)) != 0 ||
        (code = advice_copy_bytes(adviser, &copies.bytes, err)) != 0 ||
        (code = advice_pinned_rate(adviser, &copies.bytes, REPLAY_TO_GPU, &copies.pinned, err)) != 0)
        goto done;
    code = copies_add_copies(&copies) == 0 ? advice_groups_add(&copies.groups, 0, copies_describe, err)
                                           : error_short_memory(err, "for the copies");
done:
    report_columns_free(&copies.bytes);
    advice_copies_free(&copies.list);
    advice_groups_free(&copies.groups);
    return code;
}

const struct analysis rule_copies = {
    .name = "copies",
    .title = "Copies to the GPU",
    .help = "Lines whose copies to the GPU cost more than they must: from pageable memory, waited for, in many small "
            "parts, or of tensors that are made on the CPU first. The bound is a replay without the line; the estimate "
            "one in which it is repaired, with copies at the rate of pinned memory.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(
        copies,
        .advice = "Copy whole batches from pinned memory with non_blocking=True, and make constants on the GPU.",
        .praise = "Copies to the GPU do not hold up the program."),
};
