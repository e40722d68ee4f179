/* Blocks as samples: see heap_stacks.h. */
#include "heap_stacks.h"

#include <stdlib.h>

#include "analyze/model/stacks/stacks_join.h"
#include "base/array.h"
#include "heap_life.h"

struct heap_stacks_chains {
    struct stack_chains native; /* of TACHO_HEAP_CALLCHAINS */
    struct stack_join join;
    size_t hints[2];
};

static int heap_stacks_by_thread(const void *a, const void *b)
{
    const struct stack_sample *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->time_ns, y->time_ns);
}

/* A block without a stack has a frame without a name. NO_KEY when memory is short. */
static uint32_t heap_stacks_find(struct stacks *stacks, struct heap_stacks_chains *chains,
                                 const struct heap_block *block)
{
    static const int64_t unknown[FRAME_PARTS] = { FRAME_NATIVE, FRAME_NO_NAME, FRAME_NO_NAME, FRAME_NO_NAME,
                                                  FRAME_NO_LINE };
    uint32_t native = block->chain ? stack_chains_find(&chains->native, block->chain, &chains->hints[0]) : STACK_EMPTY;
    uint32_t python = block->python ? stack_chains_find(&chains->join.chains, block->python, &chains->hints[1])
                                    : STACK_EMPTY;

    if (python != STACK_EMPTY)
        native = stack_join(&chains->join, stacks, native, python, STACK_JOIN_ALL);
    if (native != STACK_EMPTY)
        return native;
    uint32_t frame = keys_add(&stacks->frames, unknown);
    return frame == NO_KEY ? NO_KEY : keys_add(&stacks->nodes, (int64_t[NODE_PARTS]){ STACK_EMPTY, frame });
}

static int heap_stacks_add(struct stacks *stacks, struct heap_stacks_chains *chains, const struct heap_life *heap)
{
    stacks->samples = malloc((heap->peak_recorded + 1) * sizeof *stacks->samples);
    if (!stacks->samples)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < heap->count; i++) {
        const struct heap_block *block = &heap->list[i];
        if (!heap_block_is_at(block, heap->peak_ns))
            continue;
        struct stack_sample *sample = &stacks->samples[stacks->sample_count];
        *sample = (struct stack_sample){ .time_ns = block->start_ns,
                                         .thread = block->thread,
                                         .weight = saturating_from_double(heap_block_weight(block) + 0.5),
                                         .stack = heap_stacks_find(stacks, chains, block) };
        if (sample->stack == NO_KEY)
            return ERR_NO_MEMORY;
        stacks->sample_count++;
    }
    qsort(stacks->samples, stacks->sample_count, sizeof *stacks->samples, heap_stacks_by_thread);
    return 0;
}

int heap_stacks_read(struct stacks *stacks, int lines, const struct filter *filter, struct error *err)
{
    struct heap_stacks_chains chains = { 0 };
    struct heap_life heap = { 0 };
    int code;

    if ((code = stack_chains_read(&chains.native, stacks, "TACHO_HEAP_CALLCHAINS", lines, err)) != 0 ||
        (code = stack_join_open(&chains.join, stacks->report, lines, err)) != 0 ||
        (code = heap_life_read(&heap, stacks->report, filter, err)) != 0)
        goto done;
    if (heap_stacks_add(stacks, &chains, &heap) != 0)
        code = error_short_memory(err, "for the stacks of the heap");
done:
    heap_life_free(&heap);
    stack_join_free(&chains.join);
    stack_chains_free(&chains.native);
    return code;
}
