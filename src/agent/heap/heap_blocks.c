/* Hash tables of fixed size, in which a block may lie in one of two buckets: see heap_blocks.h.
 *
 * An entry is free (address 0), being filled (FILLING), or holds a block. Who adds a block claims a free entry by
 * compare-and-swap, fills in the number, and publishes the address by a release store; who takes it reads the number
 * after an acquire load of the address. When both buckets of a block are full, there is another table, four times as
 * large: programs with few blocks have little memory of ours in their address space. A lookup reads two buckets of each
 * table. */
#include "heap_blocks.h"

#include <stdatomic.h>

#include "agent/core/arena_window.h"
#include "agent/core/own_calls.h"
#include "agent/core/own_process.h"

#define BUCKET_BLOCKS 8u
#define FIRST_BITS 11u /* of the number of buckets in the first table: 16,384 blocks, 256 KiB */
#define MORE_BITS 2u   /* in each further one */
#define TABLES 7u      /* 67 million blocks in the last one */
#define FILLING ((uintptr_t)1)

struct heap_bucket {
    _Atomic uintptr_t addresses[BUCKET_BLOCKS];
    uint64_t numbers[BUCKET_BLOCKS];
};

static _Atomic(struct heap_bucket *) tables[TABLES]; /* NULL: not needed yet, and so are those after it */

static unsigned bits_of(unsigned table)
{
    return FIRST_BITS + table * MORE_BITS;
}

/* Several threads may do so at once: one of them wins. */
static struct heap_bucket *make_table(unsigned table)
{
    size_t bytes = sizeof(struct heap_bucket) << bits_of(table);
    struct heap_bucket *none = NULL, *made = window_map(-1, 0, bytes);
    if (!made || atomic_compare_exchange_strong_explicit(&tables[table], &none, made, memory_order_acq_rel,
                                                         memory_order_acquire))
        return made;
    window_unmap(made, bytes);
    return none;
}

int heap_blocks_prepare(void)
{
    return make_table(0) ? 0 : -1;
}

void heap_blocks_forget(void)
{
    for (unsigned i = 0; i < TABLES; i++)
        atomic_store_explicit(&tables[i], NULL, memory_order_relaxed);
}

/* The bucket that comes first (0) or second (1) for this address. */
static struct heap_bucket *bucket_of(struct heap_bucket *buckets, unsigned table, uintptr_t address, int which)
{
    static const uint64_t factors[] = { UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f) };
    return &buckets[(uint64_t)(address >> 4) * factors[which] >> (64 - bits_of(table))];
}

static int add_to_bucket(struct heap_bucket *bucket, uintptr_t address, uint64_t number)
{
    for (unsigned i = 0; i < BUCKET_BLOCKS; i++) {
        uintptr_t expected = 0;
        if (atomic_load_explicit(&bucket->addresses[i], memory_order_relaxed) ||
            !atomic_compare_exchange_strong_explicit(&bucket->addresses[i], &expected, FILLING, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        bucket->numbers[i] = number;
        atomic_store_explicit(&bucket->addresses[i], address, memory_order_release);
        return 0;
    }
    return -1;
}

static uint64_t take_from_bucket(struct heap_bucket *bucket, uintptr_t address)
{
    for (unsigned i = 0; i < BUCKET_BLOCKS; i++) {
        if (atomic_load_explicit(&bucket->addresses[i], memory_order_acquire) != address)
            continue;
        uint64_t number = bucket->numbers[i];
        atomic_store_explicit(&bucket->addresses[i], 0, memory_order_release);
        return number;
    }
    return 0;
}

static struct heap_bucket *next_table(unsigned table)
{
    if (agent_is_filtered_child() || !agent_begin_calls())
        return NULL;
    struct heap_bucket *made = make_table(table);
    agent_end_calls();
    return made;
}

int heap_blocks_add(uintptr_t address, uint64_t number)
{
    for (unsigned i = 0; i < TABLES; i++) {
        struct heap_bucket *buckets = atomic_load_explicit(&tables[i], memory_order_acquire);
        if (!buckets && !(buckets = next_table(i)))
            return -1;
        for (int which = 0; which < 2; which++)
            if (add_to_bucket(bucket_of(buckets, i, address, which), address, number) == 0)
                return 0;
    }
    return -1;
}

uint64_t heap_blocks_take(uintptr_t address)
{
    for (unsigned i = 0; i < TABLES; i++) {
        struct heap_bucket *buckets = atomic_load_explicit(&tables[i], memory_order_acquire);
        uint64_t number = 0;
        for (int which = 0; buckets && which < 2 && !number; which++)
            number = take_from_bucket(bucket_of(buckets, i, address, which), address);
        if (!buckets || number)
            return number;
    }
    return 0;
}
