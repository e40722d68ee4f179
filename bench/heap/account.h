/* A program's own account of its heap: the bytes alive, and the most of them. For one thread.
 *
 * TAKE() and its like are macros, so that a block belongs to the line that takes it. What a program has not given back
 * at its end is lost on purpose: the leaks that bench/heap.py looks for. */
#ifndef BENCH_HEAP_ACCOUNT_H
#define BENCH_HEAP_ACCOUNT_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static long account_alive, account_most;

static inline size_t account_add(size_t bytes)
{
    account_alive += (long)bytes;
    if (account_alive > account_most)
        account_most = account_alive;
    return bytes;
}

static inline void account_remove(size_t bytes)
{
    account_alive -= (long)bytes;
}

#define TAKE(bytes) malloc(account_add(bytes))
#define GIVE(block, bytes) (account_remove(bytes), free(block))
/* As all profilers count it: one block was freed, another one allocated. */
#define RESIZE(block, before, after) realloc(block, (account_remove(before), account_add(after)))

/* How often to do it all: the program's argument, or once. */
static inline int account_rounds(int argc, char **argv)
{
    return argc > 1 ? atoi(argv[1]) : 1;
}

/* The numbers that bench/heap.py reads. printf() would allocate. */
static inline void account_print(long most, long lost)
{
    dprintf(1, "%ld %ld\n", most, lost);
}

/* LeakSanitizer takes any word of the stack that looks like an address for one: this leaves none there. */
__attribute__((noinline, unused)) static void account_scrub(void)
{
    volatile char words[16384];
    for (size_t i = 0; i < sizeof words; i++)
        words[i] = 0;
}

#endif
