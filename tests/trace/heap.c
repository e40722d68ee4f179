/* Allocates known blocks in every way that libc has, keeps its own account of them, and prints it. It uses no stream,
 * whose buffer would be a block, too. Arguments: nothing, or `many`: only as many blocks as sampling needs. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    size_t allocations, bytes, live, live_blocks, peak, peak_blocks;
} account;

/* Keep the compiler from leaving allocations out, and from judging sizes. */
static void *volatile seen;
static volatile size_t too_much = SIZE_MAX / 4;

static void *take(void *block, size_t bytes)
{
    seen = block;
    if (!block)
        abort();
    account.allocations++;
    account.bytes += bytes;
    account.live += bytes;
    account.live_blocks++;
    if (account.live > account.peak) {
        account.peak = account.live;
        account.peak_blocks = account.live_blocks;
    }
    return block;
}

static void give(void *block, size_t bytes)
{
    account.live -= bytes;
    account.live_blocks--;
    free(block);
}

/* A block that moves or stays, as free() and malloc() would do it. */
static void *resize(void *block, size_t from, size_t to)
{
    account.live -= from;
    account.live_blocks--;
    return take(realloc(block, to), to);
}

__attribute__((noinline)) static void every_way(void)
{
    void *block;
    give(take(malloc(100), 100), 100);
    give(take(malloc(0), 0), 0);
    give(take(calloc(10, 30), 300), 300);
    give(take(memalign(64, 200), 200), 200);
    give(take(aligned_alloc(256, 512), 512), 512);
    give(take(posix_memalign(&block, 128, 77) ? NULL : block, 77), 77);
    give(take(valloc(333), 333), 333);
    give(take(pvalloc(444), 444), 444);
    give(take(reallocarray(NULL, 5, 11), 55), 55);
    give(take(strdup("nine byte"), 10), 10);
    block = take(realloc(NULL, 20), 20);
    block = resize(block, 20, 40000);
    block = resize(block, 40000, 8);
    if (realloc(block, too_much) || reallocarray(block, too_much, 9) || malloc(too_much))
        abort(); /* it cannot have so much, and the block stays */
    give(block, 8);
    block = take(malloc(60), 60);
    account.live -= 60;
    account.live_blocks--;
    seen = realloc(block, 0); /* frees it */
    free(NULL);
}

__attribute__((noinline)) static void temporary(void)
{
    for (int i = 0; i < 100; i++)
        give(take(malloc(64), 64), 64);
}

__attribute__((noinline)) static void forget(void)
{
    for (int i = 0; i < 7; i++)
        take(malloc(1000), 1000);
}

__attribute__((noinline)) static void *build_table(void *blocks)
{
    for (int i = 0; i < 5; i++)
        ((void **)blocks)[i] = take(malloc(1 << 20), 1 << 20);
    return NULL;
}

/* A thread allocates what the first one frees. */
__attribute__((noinline)) static void peak(void)
{
    void *blocks[5];
    pthread_t thread;
    if (pthread_create(&thread, NULL, build_table, blocks) != 0)
        abort();
    pthread_join(thread, NULL);
    for (int i = 0; i < 5; i++)
        give(blocks[i], 1 << 20);
}

#define KEPT 40000u
__attribute__((noinline)) static void many(void)
{
    static void *kept[KEPT];
    static size_t sizes[KEPT];
    uint32_t random = 1;
    for (unsigned i = 0; i < 200000; i++) {
        random = random * 1664525u + 1013904223u;
        unsigned at = (random >> 8) % KEPT;
        if (kept[at])
            give(kept[at], sizes[at]);
        sizes[at] = 16u << (random >> 29);
        kept[at] = take(malloc(sizes[at]), sizes[at]);
    }
}

int main(int count, char **arguments)
{
    char text[300];
    if (count > 1 && strcmp(arguments[1], "many") == 0) {
        many();
    } else {
        every_way();
        temporary();
        forget();
        peak();
    }
    int length = snprintf(text, sizeof text, "%zu %zu %zu %zu %zu %zu\n", account.allocations, account.bytes,
                          account.peak, account.peak_blocks, account.live, account.live_blocks);
    return write(1, text, (size_t)length) == length ? 0 : 1;
}
