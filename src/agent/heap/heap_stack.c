/* Differences between stacks: see heap_stack.h.
 *
 * From one allocation to the next, most of a stack stays as it was: the frames of the callers. The thread keeps the
 * last copy that was recorded, and the collector does the same, so that a record has only the words up to the first
 * address from which on both copies are equal. A copy ends at a page boundary, so that the ends of two copies are
 * mostly equal. */
#include "heap_stack.h"

#include "abi/registers.h"
#include "agent/core/arena_window.h"
#include "agent/core/own_calls.h"
#include "agent/core/own_process.h"
#include "agent/core/source.h"
#include "wire/wire_heap.h"

struct heap_stack_copy {
    uint64_t first, end; /* addresses; 0 and 0: none */
    uint64_t words[WIRE_HEAP_STACK_MOST / 8];
};
struct heap_stack {
    uintptr_t taken; /* the stack pointer of the function that works on it; 0: none */
    uint32_t last;   /* which copy was recorded last */
    struct heap_stack_copy copies[2];
};

static struct heap_stack *make_memory(void)
{
    if (agent_is_filtered_child() || !agent_begin_calls())
        return NULL;
    struct heap_stack *made = window_map(-1, 0, sizeof *made);
    agent_end_calls();
    return made;
}

void heap_stack_free(struct heap_stack **memory)
{
    if (*memory)
        window_unmap(*memory, sizeof **memory);
    *memory = NULL;
}

/* Returns -1 when the stack cannot be read. */
static int copy_stack(struct heap_stack_copy *copy, uint64_t from, uint64_t bytes)
{
    uint64_t most = WIRE_HEAP_STACK_MOST - WIRE_HEAP_PAGE, end = from + (bytes < most ? bytes : most);
    end = (end + WIRE_HEAP_PAGE - 1) & ~(uint64_t)(WIRE_HEAP_PAGE - 1);
    long got = stack_copy_take(copy->words, from, end - from);
    copy->first = from;
    copy->end = from + (got > 0 ? (uint64_t)got & ~UINT64_C(7) : 0);
    return got > 0 ? 0 : -1;
}

/* The number of words before the address from which on this copy equals the last one. */
static uint32_t words_that_differ(const struct heap_stack_copy *copy, const struct heap_stack_copy *last)
{
    uint32_t words = (uint32_t)((copy->end - copy->first) / 8);
    uint64_t from = copy->first > last->first ? copy->first : last->first;
    if (last->end < copy->end || from >= copy->end)
        return words;
    const uint64_t *last_words = last->words + (int64_t)(copy->first - last->first) / 8;
    uint32_t least = (uint32_t)((from - copy->first) / 8);
    while (words > least && copy->words[words - 1] == last_words[words - 1])
        words--;
    return words;
}

static int emit_difference(struct agent_thread *thread, const struct chain_of *of,
                           const struct chain_registers *registers, const struct heap_stack_copy *copy, uint32_t words)
{
    uint64_t frames = sources_frames(thread, (enum agent_stack_use)of->use);
    uint32_t head_words = WIRE_HEAD_WORDS + 3 + (uint32_t)__builtin_popcountll(registers->known);
    enum wire_fate fate;
    struct agent_lane *lane;
    struct wire_record *record = emit_reserve(thread, &lane, WIRE_HEAP_STACK, head_words + words, &fate);
    if (!record)
        return -1;
    uint64_t *to = record->body;
    record->ticks = of->ticks;
    *to++ = frames;
    *to++ = registers->known;
    for (unsigned i = 0; i < WIRE_STACK_REGISTERS; i++)
        if (registers->known >> i & 1)
            *to++ = registers->value[i];
    *to++ = copy->end - copy->first - words * UINT64_C(8);
    memcpy(to, copy->words, words * sizeof *to);
    emit_commit(lane, record);
    return 0;
}

/* The collector has a stack only if its record was written. */
static __attribute__((noinline)) void emit_next(struct agent_thread *thread, struct heap_stack *stack,
                                                const struct chain_of *of, const struct chain_registers *registers)
{
    const struct heap_stack_copy *last = &stack->copies[stack->last];
    struct heap_stack_copy *copy = &stack->copies[!stack->last];
    if (copy_stack(copy, registers->value[REGISTERS_STACK_POINTER], of->bytes) != 0)
        return;
    if (emit_difference(thread, of, registers, copy, words_that_differ(copy, last)) == 0)
        stack->last = !stack->last;
}

/* To unwind, the collector needs only the registers that calls preserve: see stack_copy_emit(). */
__attribute__((noinline)) int heap_stack_emit(struct agent_thread *thread, struct heap_stack **memory,
                                              const struct chain_of *of)
{
    struct chain_registers registers;
    uintptr_t frame = agent_frame();
    if (!*memory)
        *memory = make_memory();
    struct heap_stack *stack = *memory;
    if (!stack || (stack->taken && !agent_was_left(&stack->taken, frame)))
        return -1;
    stack->taken = frame;
    atomic_signal_fence(memory_order_seq_cst);
    registers.known = REGISTERS_TAKEN;
    REGISTERS_TAKE(registers.value);
    emit_next(thread, stack, of, &registers);
    atomic_signal_fence(memory_order_seq_cst);
    stack->taken = 0;
    return 0;
}
