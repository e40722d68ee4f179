/* A hash table of fixed size whose blocks may lie in one of two buckets: see heap_blocks.h.
 *
 * An entry is free (address 0), being filled (FILLING), or holds a block. Who adds a block claims a free entry by
 * compare-and-swap, fills in the number, and publishes the address by a release store; who takes it reads the number
 * after an acquire load of the address. No bucket overflows into others, so a lookup reads two buckets and no more. */
#include "heap_blocks.h"

#include <stdatomic.h>

#include "agent/core/arena_window.h"

#define BUCKET_BLOCKS 8u
#define FILLING ((uintptr_t)1)

struct heap_bucket {
    _Atomic uintptr_t addresses[BUCKET_BLOCKS];
    uint64_t numbers[BUCKET_BLOCKS];
};

static struct {
    _Atomic(struct heap_bucket *) buckets;
    unsigned shift; /* 64 - log2(number of buckets) */
} blocks;

int heap_blocks_prepare(size_t count)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(count / BUCKET_BLOCKS | 1);
    struct heap_bucket *made = window_map(-1, 0, sizeof *made << bits);
    if (!made)
        return -1;
    blocks.shift = 64 - bits;
    atomic_store_explicit(&blocks.buckets, made, memory_order_release);
    return 0;
}

void heap_blocks_forget(void)
{
    atomic_store_explicit(&blocks.buckets, NULL, memory_order_relaxed);
}

/* The bucket that comes first (0) or second (1) for this address. */
static struct heap_bucket *bucket_of(struct heap_bucket *buckets, uintptr_t address, int which)
{
    static const uint64_t factors[] = { UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f) };
    return &buckets[(uint64_t)(address >> 4) * factors[which] >> blocks.shift];
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

int heap_blocks_add(uintptr_t address, uint64_t number)
{
    struct heap_bucket *buckets = atomic_load_explicit(&blocks.buckets, memory_order_acquire);
    if (!buckets)
        return -1;
    return add_to_bucket(bucket_of(buckets, address, 0), address, number) == 0
               ? 0
               : add_to_bucket(bucket_of(buckets, address, 1), address, number);
}

uint64_t heap_blocks_take(uintptr_t address)
{
    struct heap_bucket *buckets = atomic_load_explicit(&blocks.buckets, memory_order_acquire);
    if (!buckets)
        return 0;
    uint64_t number = take_from_bucket(bucket_of(buckets, address, 0), address);
    return number ? number : take_from_bucket(bucket_of(buckets, address, 1), address);
}
