/* Launches and kernels: see cuda_pairs.h. An open-addressing table by id; removal closes the gap, so there are no tombstones. */
#include "cuda_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"

#define CAPACITY_FIRST 4096u
#define CAPACITY_MAX (1u << 18)  /* 6 MiB */
#define KEPT_IDS (1u << 17)      /* behind the newest, when there is no room for all */

enum pair_state { PAIR_LAUNCH = 1, PAIR_KERNEL = 2, PAIR_GRAPH = 4 /* many kernels: it stays */ };

void cuda_pairs_free(struct cuda_pairs *pairs)
{
    free(pairs->slots);
    pairs->slots = NULL;
    pairs->capacity = pairs->count = 0;
}

/* ---- The table ------------------------------------------------------------------------------------------------------------- */

static uint32_t home_of(const struct cuda_pairs *pairs, uint32_t id)
{
    return (uint32_t)(hash_number(id) >> 20) & (pairs->capacity - 1);
}

/* The slot of this id, or the empty one where it belongs. */
static struct cuda_pair *slot_of(const struct cuda_pairs *pairs, uint32_t id)
{
    uint32_t at = home_of(pairs, id);
    while (pairs->slots[at].state && pairs->slots[at].id != id)
        at = (at + 1) & (pairs->capacity - 1);
    return &pairs->slots[at];
}

static void remove_slot(struct cuda_pairs *pairs, struct cuda_pair *slot)
{
    uint32_t mask = pairs->capacity - 1, hole = (uint32_t)(slot - pairs->slots);
    for (uint32_t at = (hole + 1) & mask; pairs->slots[at].state; at = (at + 1) & mask) {
        uint32_t home = home_of(pairs, pairs->slots[at].id);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            pairs->slots[hole] = pairs->slots[at];
            hole = at;
        }
    }
    pairs->slots[hole].state = 0;
    pairs->count--;
}

/* ---- What never found its other half ------------------------------------------------------------------------------------------- */

static int in_capture(const struct cuda_pairs *pairs, uint64_t ns)
{
    uint32_t count = pairs->capture_count < CUDA_CAPTURES_MAX ? pairs->capture_count : CUDA_CAPTURES_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (ns >= pairs->captures[i].from_ns && ns <= pairs->captures[i].to_ns)
            return 1;
    return 0;
}

static void settle(struct cuda_pairs *pairs, const struct cuda_pair *pair)
{
    if (!(pair->state & PAIR_KERNEL))
        pairs->launches_without_kernel += !in_capture(pairs, pair->ns);
    else if (!(pair->state & PAIR_LAUNCH))
        pairs->kernels_without_launch += pair->kernels;
}

/* A table of the given size, without what is older than so many ids. -1 when memory is short. */
static int rebuild(struct cuda_pairs *pairs, uint32_t capacity, uint32_t kept_ids)
{
    struct cuda_pair *old = pairs->slots;
    uint32_t old_capacity = pairs->capacity;
    struct cuda_pair *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return -1;
    pairs->slots = slots;
    pairs->capacity = capacity;
    pairs->count = 0;
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (!old[i].state)
            continue;
        if (pairs->newest - old[i].id > kept_ids) {
            settle(pairs, &old[i]);
        } else {
            *slot_of(pairs, old[i].id) = old[i];
            pairs->count++;
        }
    }
    free(old);
    return 0;
}

static int make_room(struct cuda_pairs *pairs)
{
    if (pairs->capacity && pairs->count < pairs->capacity / 2)
        return 0;
    if (pairs->capacity < CAPACITY_MAX)
        return rebuild(pairs, pairs->capacity ? 2 * pairs->capacity : CAPACITY_FIRST, UINT32_MAX);
    if (rebuild(pairs, CAPACITY_MAX, KEPT_IDS) != 0)
        return -1;
    return pairs->count < pairs->capacity / 4 ? 0 : rebuild(pairs, CAPACITY_MAX, KEPT_IDS / 4);
}

static void note_id(struct cuda_pairs *pairs, uint32_t id)
{
    if ((int32_t)(id - pairs->newest) > 0)
        pairs->newest = id;
}

/* ---- What comes ------------------------------------------------------------------------------------------------------------------ */

static void paired(struct cuda_pairs *pairs, struct cuda_pair *slot, uint64_t launch_ns, uint64_t kernel_ns)
{
    pairs->kernels_before_launch += kernel_ns && kernel_ns < launch_ns;
    if (slot->state & PAIR_GRAPH)
        return;
    pairs->done[slot->id & (CUDA_DONE_IDS - 1)] = slot->id;
    remove_slot(pairs, slot);
}

/* The runtime's launch around the driver's: its id or the other may be the kernel's, the one that is not is no launch. */
static int joins_inner(struct cuda_pairs *pairs, const struct cuda_launch *launch)
{
    if (launch->is_driver) {
        pairs->inner.from_ns = launch->from_ns;
        pairs->inner.to_ns = launch->to_ns;
        pairs->inner.id = launch->id;
        pairs->inner.thread = launch->thread;
        return 0;
    }
    uint32_t inner = pairs->inner.id;
    if (!inner || inner == launch->id || pairs->inner.thread != launch->thread || pairs->inner.from_ns < launch->from_ns ||
        pairs->inner.to_ns > launch->to_ns)
        return 0;
    pairs->inner.id = 0;
    pairs->launches--;
    struct cuda_pair *slot = slot_of(pairs, inner);
    if (slot->state == PAIR_LAUNCH || slot->state == (PAIR_LAUNCH | PAIR_GRAPH))
        remove_slot(pairs, slot); /* still without a kernel: the runtime's id it is */
    else
        return 1;
    return 0;
}

void cuda_pairs_launch(struct cuda_pairs *pairs, const struct cuda_launch *launch)
{
    if (make_room(pairs) != 0)
        return;
    note_id(pairs, launch->id);
    pairs->launches++;
    if (joins_inner(pairs, launch))
        return;
    struct cuda_pair *slot = slot_of(pairs, launch->id);
    uint32_t state = PAIR_LAUNCH | (launch->is_graph ? PAIR_GRAPH : 0);
    if (!slot->state) {
        *slot = (struct cuda_pair){.ns = launch->from_ns, .id = launch->id, .state = state};
        pairs->count++;
    } else if (!(slot->state & PAIR_LAUNCH)) {
        uint64_t kernel_ns = slot->ns;
        slot->state |= state;
        slot->ns = launch->from_ns;
        paired(pairs, slot, launch->from_ns, kernel_ns);
    }
}

void cuda_pairs_kernel(struct cuda_pairs *pairs, uint32_t id, uint64_t start_ns)
{
    if (pairs->done[id & (CUDA_DONE_IDS - 1)] == id && id) /* another kernel of the same launch */
        return;
    if (make_room(pairs) != 0)
        return;
    note_id(pairs, id);
    struct cuda_pair *slot = slot_of(pairs, id);
    if (!slot->state) {
        *slot = (struct cuda_pair){.ns = start_ns, .id = id, .kernels = 1, .state = PAIR_KERNEL};
        pairs->count++;
        return;
    }
    slot->kernels++;
    if (slot->state & PAIR_LAUNCH) {
        slot->state |= PAIR_KERNEL;
        paired(pairs, slot, slot->ns, start_ns);
    } else if (start_ns < slot->ns) {
        slot->ns = start_ns;
    }
}

void cuda_pairs_capture_begins(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns)
{
    pairs->captures[pairs->capture_count++ % CUDA_CAPTURES_MAX] = (struct cuda_capture){.from_ns = ns, .to_ns = UINT64_MAX, .thread = thread};
}

/* Ends the last one that this thread began, or else the last that is still open: another thread may end it. */
void cuda_pairs_capture_ends(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns)
{
    struct cuda_capture *best = NULL;
    uint32_t count = pairs->capture_count < CUDA_CAPTURES_MAX ? pairs->capture_count : CUDA_CAPTURES_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct cuda_capture *capture = &pairs->captures[(pairs->capture_count - 1 - i) % CUDA_CAPTURES_MAX];
        if (capture->to_ns != UINT64_MAX)
            continue;
        if (!best)
            best = capture;
        if (capture->thread == thread) {
            best = capture;
            break;
        }
    }
    if (best)
        best->to_ns = ns;
}

void cuda_pairs_settle(struct cuda_pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->capacity; i++)
        if (pairs->slots[i].state)
            settle(pairs, &pairs->slots[i]);
    cuda_pairs_free(pairs);
}
