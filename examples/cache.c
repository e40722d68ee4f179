/* A server that answers requests from a cache. Its memory grows: who holds it at the peak, and what is never freed?
 *
 *     cc -g -O2 -o cache cache.c
 *     tacho profile -t heap -o cache ./cache
 *     tacho stats -r heap_sum cache.tacho
 *
 * The answers are in docs/heap.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 20000
#define KEYS 5000

static char *cache[KEYS];
static unsigned long sum;

/* The working memory of a request. */
__attribute__((noinline)) static void parse(unsigned request)
{
    char *words = malloc(16384);
    memset(words, (int)request, 16384);
    sum += (unsigned char)words[request % 16384];
    free(words);
}

__attribute__((noinline)) static char *answer(unsigned key)
{
    if (!cache[key]) {
        cache[key] = malloc(4096);
        memset(cache[key], (int)key, 4096);
    }
    return cache[key];
}

/* The fault: the new answer takes the place of the old one, which nobody frees. */
__attribute__((noinline)) static void renew(unsigned key)
{
    cache[key] = malloc(4096);
    memset(cache[key], (int)key + 1, 4096);
}

int main(void)
{
    for (unsigned request = 0; request < REQUESTS; request++) {
        unsigned key = request * 2654435761u % KEYS;
        parse(request);
        sum += (unsigned char)answer(key)[0];
        if (request % 10 == 0)
            renew(key);
    }
    for (unsigned key = 0; key < KEYS; key++)
        free(cache[key]);
    printf("%u requests, sum %lu\n", REQUESTS, sum);
    return 0;
}
