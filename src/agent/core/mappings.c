/* The table of the agent's mappings: see mappings.h. */
#include <stdatomic.h>
#include <sys/auxv.h>

#include "agent.h"
#include "mappings.h"
#include "sys.h"

#define ENTRIES 8192u /* 2 to the power of ENTRY_BITS */
#define ENTRY_BITS 13
#define PROBES 64u /* entries to try from the hashed one on */

/* Flags in the low bits of a word, whose other bits are the address of a page. */
enum {
    INHERITED = 1,
    HELD = 2,     /* a thread that walks the table uses this entry */
    GIVEN_UP = 4, /* the owner gave the mapping up: the holder must unmap it */
    FLAGS = AGENT_PAGE_LEAST - 1,
};
#define CLAIMED ((uintptr_t)8) /* in place of the address, until `bytes` is set */

static struct agent_mapping {
    _Atomic uintptr_t word; /* 0: free */
    _Atomic size_t bytes;
} table[ENTRIES];

static struct agent_mapping *probe(const void *address, uint32_t step)
{
    uint64_t hash = (uintptr_t)address / AGENT_PAGE_LEAST * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ENTRY_BITS);
    return &table[(hash + step) % ENTRIES];
}

void mapping_add(const void *address, size_t bytes, enum mapping_kind kind)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct agent_mapping *mapping = probe(address, i);
        uintptr_t word = 0;
        if (!atomic_compare_exchange_strong(&mapping->word, &word, CLAIMED))
            continue;
        size_t page_bytes = getauxval(AT_PAGESZ);
        atomic_store(&mapping->bytes, (bytes + page_bytes - 1) / page_bytes * page_bytes);
        atomic_store(&mapping->word, (uintptr_t)address | (kind == MAPPING_INHERITED ? INHERITED : 0));
        return;
    }
}

/* Returns whether the owner may unmap the mapping. Otherwise the holder does. */
static int mappings_give_up(struct agent_mapping *mapping, uintptr_t word)
{
    while (!atomic_compare_exchange_weak(&mapping->word, &word, word & HELD ? word | GIVEN_UP : 0))
        ;
    return !(word & HELD);
}

void mapping_remove(void *address, size_t bytes)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct agent_mapping *mapping = probe(address, i);
        uintptr_t word = atomic_load(&mapping->word);
        if ((word & ~(uintptr_t)FLAGS) != (uintptr_t)address)
            continue;
        if (mappings_give_up(mapping, word))
            break;
        return;
    }
    sys_munmap(address, bytes);
}

void mappings_after_fork_in_child(void)
{
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uintptr_t word = atomic_load_explicit(&table[i].word, memory_order_relaxed);
        if (word)
            atomic_store_explicit(&table[i].word, word & INHERITED && !(word & GIVEN_UP) ? word & ~(uintptr_t)HELD : 0,
                                  memory_order_relaxed);
    }
}

static uintptr_t mappings_start_of(struct agent_mapping *mapping)
{
    return atomic_load(&mapping->word) & ~(uintptr_t)FLAGS;
}

int mapping_after(uintptr_t address, uintptr_t *first, uintptr_t *end)
{
    int found = 0;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uintptr_t start = mappings_start_of(&table[i]);
        size_t bytes = atomic_load(&table[i].bytes);
        if (start && start == mappings_start_of(&table[i]) && start + bytes > address && (!found || start < *first)) {
            *first = start;
            *end = start + bytes;
            found = 1;
        }
    }
    return found;
}

static void mapping_unlock(struct agent_mapping *mapping)
{
    uintptr_t word = atomic_load(&mapping->word);
    if (!(word & ~(uintptr_t)FLAGS) || word & HELD ||
        !atomic_compare_exchange_strong(&mapping->word, &word, word | HELD))
        return;
    size_t bytes = atomic_load(&mapping->bytes);
    char *address = (char *)(word & ~(uintptr_t)FLAGS);
    sys_munlock(address, bytes);
    word |= HELD;
    if (atomic_compare_exchange_strong(&mapping->word, &word, word & ~(uintptr_t)HELD))
        return;
    atomic_store(&mapping->word, 0);
    sys_munmap(address, bytes);
}

/* Holds signals back: a handler that leaves by longjmp() would leave an entry held for ever. */
void mappings_unlock(void)
{
    uint64_t mask = sys_hold_signals();
    for (uint32_t i = 0; i < ENTRIES; i++)
        mapping_unlock(&table[i]);
    sys_release_signals(mask);
}
