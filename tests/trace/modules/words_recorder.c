/* In the agent's place, for stubs with words: keeps a sum of the words of each call before and after it, replaces the
 * status that nobody wants, and spoils every register it may. At the end it prints what it saw. */
#include <stdio.h>
#include <string.h>

#include "../../../src/agent/core/word_calls.h"
#include "words_calls.h"

static uint32_t began, ended, wrong, records = 1;
static int status;

/* Returns 1. */
static int spoil(void)
{
    char memory[4096];
    memset(memory, 1, sizeof memory);
#if defined(__x86_64__)
#define SPOIL(n) __asm__ volatile("pcmpeqd %%xmm" #n ", %%xmm" #n ::: "xmm" #n)
#else
#define SPOIL(n) __asm__ volatile("movi v" #n ".16b, 255" ::: "v" #n)
#endif
    SPOIL(0);
    SPOIL(1);
    SPOIL(2);
    SPOIL(3);
    SPOIL(4);
    SPOIL(5);
    SPOIL(6);
    SPOIL(7);
    return ((volatile char *)memory)[began % sizeof memory];
}

static uint64_t sum(const struct word_call *call, uint32_t words)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < words; i++)
        total = total * 3 + (uint32_t)word_call_int(call, i);
    return total;
}

#ifdef WORDS_OSHMEM
#define IS_RESULT(call) 1 /* the stubs of some functions have it in a vector register */
#define HAS_STATUS(words) 0
#else
#define IS_RESULT(call) ((int32_t)(call)->result == RESULT)
#define HAS_STATUS(words) ((words) == STATUS_WORDS)
#endif

static int begin(struct word_call *call)
{
    uint32_t words = words_of(call->function);
    began += (uint32_t)spoil();
    call->own[0] = sum(call, words);
    call->own[WORD_CALL_OWN - 1] = words;
    if (HAS_STATUS(words) && !word_call_word(call, words - 1))
        *word_call_at(call, words - 1) = (uint64_t)(uintptr_t)&status;
    return records;
}

static void end(struct word_call *call)
{
    uint32_t words = (uint32_t)call->own[WORD_CALL_OWN - 1];
    ended += (uint32_t)spoil();
    wrong += !IS_RESULT(call);
    if (!HAS_STATUS(words))
        wrong += call->own[0] != sum(call, words);
}

const struct word_calls *tacho_agent_word_calls(uint32_t source, const struct word_object *object)
{
    static const struct word_calls calls = { .begin = begin, .end = end };
    return object->size == sizeof *object ? &calls : NULL;
}

void words_record(int on)
{
    records = (uint32_t)on;
}

__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "%u began, %u ended, %u wrong, status %d\n", began, ended, wrong, status);
}
