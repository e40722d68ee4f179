/* Copies of stacks: see stack_copy.h.
 *
 * The end of a stack is not known, and a shorter stack may lie where a longer one was. So the kernel copies: it stops
 * where nothing is mapped. (A sanitizer's memcpy() would also report the gaps between variables.) */
#include "stack_copy.h"

#include "abi/registers.h"
#include "agent.h"
#include "own_calls.h"
#include "own_process.h"
#include "source.h"
#include "sys.h"

#define PAGE 4096u
#define PIECES (WIRE_STACK_BYTES_MAX / PAGE + 2)

static _Atomic uint32_t refused; /* the kernel does not copy for the agent: reported once, and not tried again */

static void stack_copy_refuse(long error)
{
    if (!atomic_exchange(&refused, 1))
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0,
                  error == -EPERM || error == -ENOSYS
                      ? "Calls have no backtraces: process_vm_readv() is denied, as old container runtimes do."
                      : "Calls have no backtraces: the stack could not be copied.");
}

/* One piece for each page, so that the kernel copies all pages before the end of the stack. */
long stack_copy_take(void *to, uint64_t from, size_t bytes)
{
    struct iovec local = { to, bytes }, pieces[PIECES];
    size_t count = 0;
    for (uint64_t at = from, end = from + bytes; at < end && count < PIECES; count++) {
        uint64_t next = (at | (PAGE - 1)) + 1;
        pieces[count] = (struct iovec){ (void *)at, (next < end ? next : end) - at };
        at = next;
    }
    if (!agent_begin_calls())
        return 0;
    long got = sys_process_vm_readv(sys_getpid(), &local, 1, pieces, count);
    agent_end_calls();
    return got;
}

void stack_copy_emit_from(struct agent_thread *thread, const struct chain_of *of,
                          const struct chain_registers *registers)
{
    if (atomic_load_explicit(&refused, memory_order_relaxed) || agent_is_filtered_child())
        return;
    uint64_t frames = sources_frames(thread, (enum agent_stack_use)of->use);
    size_t bytes = (of->bytes < WIRE_STACK_BYTES_MAX ? of->bytes : WIRE_STACK_BYTES_MAX) & ~7u;
    uint32_t head_words = WIRE_HEAD_WORDS + 3 + (uint32_t)__builtin_popcountll(registers->known);
    enum wire_fate fate;
    struct agent_lane *lane;
    struct wire_record *record = emit_reserve(thread, &lane, WIRE_STACK, head_words + (uint32_t)(bytes / 8), &fate);
    if (!record)
        return;
    record->a = (uint16_t)of->source;
    record->ticks = of->ticks;
    record->body[0] = of->key;
    record->body[1] = frames;
    record->body[2] = registers->known;
    uint64_t *to = record->body + 3;
    for (unsigned i = 0; i < WIRE_STACK_REGISTERS; i++)
        if (registers->known >> i & 1)
            *to++ = registers->value[i];
    long got = stack_copy_take(to, registers->value[REGISTERS_STACK_POINTER], bytes);
    record->words = (uint16_t)(head_words + (got > 0 ? (uint32_t)got / 8 : 0));
    emit_commit(lane, record);
    if (got < 0)
        stack_copy_refuse(got);
}

/* To unwind, the collector needs only the registers that calls preserve. They are read here, and the copy begins with
 * this function's own frame. */
__attribute__((noinline)) void stack_copy_emit(struct agent_thread *thread, const struct chain_of *of)
{
    struct chain_registers registers;
    registers.known = REGISTERS_TAKEN;
    REGISTERS_TAKE(registers.value);
    stack_copy_emit_from(thread, of, &registers);
    __asm__ volatile("" : : : "memory"); /* prevents a tail call, which would remove the frame */
}
