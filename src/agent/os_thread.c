/* pthread_create: a new thread tells the agent before it runs the program's function.
 *
 * The two words that must travel (function, argument) wait in a block of a private pool: a lock-free stack whose head
 * carries a tag against ABA, as in chunks.h. No malloc. When all blocks are under way the thread is created as the
 * program asked, and is noticed at its first hook.                                                                   */
#include "os.h"

#define BLOCKS 4096u

struct block {
    void *(*start)(void *);
    void *argument;
    _Atomic uint32_t next; /* index + 1 while free; 0: the last one */
};

static struct block blocks[BLOCKS];
static _Atomic uint64_t free_blocks; /* tag << 32 | index + 1 */
static _Atomic uint32_t fresh_blocks; /* blocks below this one have been used */

static struct block *take_block(void)
{
    uint64_t head = atomic_load_explicit(&free_blocks, memory_order_acquire);
    while ((uint32_t)head != 0) {
        struct block *block = &blocks[(uint32_t)head - 1];
        uint64_t wanted = ((head >> 32) + 1) << 32 | atomic_load_explicit(&block->next, memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(&free_blocks, &head, wanted, memory_order_acquire, memory_order_acquire))
            return block;
    }
    uint32_t fresh = atomic_load_explicit(&fresh_blocks, memory_order_relaxed);
    while (fresh < BLOCKS)
        if (atomic_compare_exchange_weak_explicit(&fresh_blocks, &fresh, fresh + 1, memory_order_relaxed, memory_order_relaxed))
            return &blocks[fresh];
    return NULL;
}

static void give_block(struct block *block)
{
    uint64_t head = atomic_load_explicit(&free_blocks, memory_order_relaxed), wanted;
    do {
        atomic_store_explicit(&block->next, (uint32_t)head, memory_order_relaxed);
        wanted = (head & ~(uint64_t)UINT32_MAX) | (uint32_t)(block - blocks + 1);
    } while (!atomic_compare_exchange_weak_explicit(&free_blocks, &head, wanted, memory_order_release, memory_order_relaxed));
}

static void *begin_thread(void *taken)
{
    struct block block = { .start = ((struct block *)taken)->start, .argument = ((struct block *)taken)->argument };
    give_block(taken);
    agent_thread_begin();
    return block.start(block.argument);
}

/* The real call, through a block if there is one. */
static int create(pthread_t *thread, const void *attributes, void *(*start)(void *), void *argument)
{
    struct block *block = take_block();
    if (!block)
        return OS_REAL(pthread_create)(thread, attributes, start, argument);
    block->start = start;
    block->argument = argument;
    int result = OS_REAL(pthread_create)(thread, attributes, begin_thread, block);
    if (result != 0)
        give_block(block);
    return result;
}

int os_hook_pthread_create(pthread_t *thread, const void *attributes, void *(*start)(void *), void *argument)
{
    if (!agent_thread())
        return OS_REAL(pthread_create)(thread, attributes, start, argument);
    struct agent_thread *self = agent_enter(WIRE_BIT(OSRT));
    if (!self)
        return create(thread, attributes, start, argument);
    struct os_call call = os_begin(self, OSRT_pthread_create);
    int result = create(thread, attributes, start, argument);
    if (os_end(&call))
        os_emit(&call, OSRT_pthread_create, result, result);
    return result;
}
