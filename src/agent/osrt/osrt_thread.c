/* pthread_create: a new thread attaches to the agent before it runs the program's function.
 *
 * Its function and argument wait in a block of a private pool, a free list as in wire_chunks.h, because the agent must
 * not call malloc. When no block is free, the thread is created as the program asked, and attaches in its first
 * hook. */
#include "agent/core/agent.h"
#include "agent/core/libc_real.h"
#include "agent/core/thread.h"
#include "osrt_hooks.h"

#define BLOCKS 4096u

struct osrt_thread_block {
    void *(*start)(void *);
    void *argument;
    _Atomic uint32_t next_free;
};

static struct osrt_thread_block blocks[BLOCKS];
static _Atomic uint64_t free_blocks = WIRE_LIST_EMPTY;
static _Atomic uint32_t blocks_taken;

static struct osrt_thread_block *osrt_thread_take_block(void)
{
    uint32_t index = wire_list_pop(&free_blocks, &blocks_taken, BLOCKS, &blocks->next_free, sizeof *blocks);
    return index == WIRE_NONE ? NULL : &blocks[index];
}

static void give_block(struct osrt_thread_block *block)
{
    wire_list_push(&free_blocks, (uint32_t)(block - blocks), &blocks->next_free, sizeof *blocks);
}

static void *begin_thread(void *taken)
{
    struct osrt_thread_block block = { .start = ((struct osrt_thread_block *)taken)->start,
                                       .argument = ((struct osrt_thread_block *)taken)->argument };
    give_block(taken);
    agent_thread_begin();
    void *result = block.start(block.argument);
    thread_returns();
    return result;
}

static void *begin_own_thread(void *taken)
{
    struct osrt_thread_block block = { .start = ((struct osrt_thread_block *)taken)->start,
                                       .argument = ((struct osrt_thread_block *)taken)->argument };
    give_block(taken);
    agent_self = AGENT_OWN_THREAD;
    atomic_fetch_add(&agent.own_threads, 1);
    void *result = block.start(block.argument);
    atomic_fetch_sub(&agent.own_threads, 1);
    return result;
}

/* Calls the real function, through a block if one is free. */
static int create(pthread_t *thread, const void *attributes, void *(*start)(void *), void *argument,
                  void *(*begin)(void *))
{
    struct osrt_thread_block *block = osrt_thread_take_block();
    if (!block)
        return LIBC_REAL(pthread_create)(thread, attributes, start, argument);
    block->start = start;
    block->argument = argument;
    int result = LIBC_REAL(pthread_create)(thread, attributes, begin, block);
    if (result != 0)
        give_block(block);
    return result;
}

int osrt_hook_pthread_create(pthread_t *thread, const void *attributes, void *(*start)(void *), void *argument)
{
    if (agent_self == AGENT_OWN_THREAD || agent_self == AGENT_HIDDEN_THREAD) /* CUPTI creates a thread */
        return create(thread, attributes, start, argument, begin_own_thread);
    if (!agent_thread())
        return LIBC_REAL(pthread_create)(thread, attributes, start, argument);
    struct agent_thread *self = osrt_enter();
    if (!self)
        return create(thread, attributes, start, argument, begin_thread);
    struct osrt_call call = osrt_begin(self, OSRT_pthread_create);
    int result = create(thread, attributes, start, argument, begin_thread);
    if (osrt_end(&call))
        osrt_emit(&call, OSRT_pthread_create, result, result);
    return result;
}

/* The agent uses one of the process's limited number of keys, to learn when threads end. It gives the key back when the
 * program runs out of them. These hooks write no records. */
#define KEY(symbol, parameters)                                                                                      \
    int osrt_hook_##symbol parameters                                                                                \
    {                                                                                                                \
        int result = LIBC_REAL(symbol)(key, destructor);                                                             \
        return result != 0 && thread_give_key_back() ? LIBC_REAL(symbol)(key, destructor) : result;                  \
    }
KEY(pthread_key_create, (pthread_key_t * key, void (*destructor)(void *)))
KEY(tss_create, (void *key, void (*destructor)(void *)))
