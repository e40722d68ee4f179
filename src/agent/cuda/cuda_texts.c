/* The texts that CUPTI's records point to, copied into the arena: see wire/wire_cuda.h.
 *
 * A pointer is looked up for every kernel record, so this must cost no more than one probe of a table. CUPTI keeps a
 * name for as long as its module is loaded; after that, another text may have the address. So each unload begins a new
 * round, and in each round a pointer's text is compared once with the one that was recorded. One thread of CUPTI calls
 * this. If a second one comes, it waits for the first, which never blocks. */
#include "agent/core/arena_window.h"
#include "agent/core/sys.h"
#include "cuda_agent.h"

#define TABLE_SLOTS (1u << 17)
#define PROBES_MAX 64

struct known {
    const char *pointer;
    uint32_t offset; /* of the entry, in 8-byte words */
    uint32_t round;
};

static struct known *table; /* TABLE_SLOTS entries, sparse */
static _Atomic uint32_t current_round = 1;
static _Atomic uint32_t busy;

/* Extends the mapping to at least `bytes`. The caller holds the lock, so nobody else has a pointer into it. */
static int cuda_texts_reach(uint64_t bytes)
{
    size_t wanted = cuda.names_bytes;
    while (wanted < bytes)
        wanted *= 2;
    if (wanted == cuda.names_bytes)
        return 0;
    char *longer = window_map_longer(cuda.names, wanted);
    if (!longer)
        return -1;
    window_unmap(cuda.names, cuda.names_bytes);
    cuda.names = longer;
    cuda.names_bytes = wanted;
    return 0;
}

int cuda_names_prepare(void)
{
    table = window_map_inherited(TABLE_SLOTS * sizeof *table);
    return table ? 0 : -1;
}

static void cuda_texts_enter(void)
{
    while (atomic_exchange_explicit(&busy, 1, memory_order_acquire))
        sys_sched_yield();
}

static void cuda_texts_leave(void)
{
    atomic_store_explicit(&busy, 0, memory_order_release);
}

/* Returns the offset of the new entry in words, or UINT32_MAX when there is no room. */
static uint32_t publish(enum wire_cuda_name what, uint64_t key, const char *text)
{
    size_t length = text ? strnlen(text, WIRE_TEXT_MAX) : 0;
    uint32_t words = (uint32_t)(sizeof(struct wire_cuda_text) / 8) + emit_text_words(length);
    uint64_t at = atomic_load_explicit(&wire_cuda(agent.arena)->names_bytes, memory_order_relaxed);
    if (at > WIRE_CUDA_NAMES_BYTES || (uint64_t)words * 8 > WIRE_CUDA_NAMES_BYTES - at ||
        cuda_texts_reach(at + (uint64_t)words * 8) != 0)
        return UINT32_MAX;
    atomic_store_explicit(&wire_cuda(agent.arena)->names_bytes, at + (uint64_t)words * 8, memory_order_relaxed);
    struct wire_cuda_text *entry = (struct wire_cuda_text *)(cuda.names + at);
    entry->what = what;
    entry->key = key;
    memset(entry->text, 0, (size_t)emit_text_words(length) * 8);
    memcpy(entry->text, text ? text : "", length);
    atomic_store_explicit(&entry->words, words, memory_order_release);
    return (uint32_t)(at / 8);
}

void cuda_name_add(enum wire_cuda_name what, uint64_t key, const char *text)
{
    cuda_texts_enter();
    publish(what, key, text);
    cuda_texts_leave();
}

static int still_says(const struct known *known, const char *text)
{
    const struct wire_cuda_text *entry = (const struct wire_cuda_text *)(cuda.names + (uint64_t)known->offset * 8);
    return strncmp(entry->text, text, WIRE_TEXT_MAX) == 0;
}

static void cuda_texts_check(struct known *known, const char *text, uint32_t now)
{
    if (!known->pointer || !still_says(known, text)) {
        uint32_t offset = publish(WIRE_CUDA_NAME_POINTER, (uintptr_t)text, text);
        if (offset == UINT32_MAX)
            return;
        known->offset = offset;
        known->pointer = text;
    }
    known->round = now;
}

void cuda_name_text(const char *text)
{
    uint32_t now = atomic_load_explicit(&current_round, memory_order_relaxed);
    uint32_t slot = (uint32_t)((uintptr_t)text * 0x9e3779b97f4a7c15u >> 32);
    for (uint32_t i = 0; i < PROBES_MAX; i++) {
        struct known *known = &table[(slot + i) % TABLE_SLOTS];
        if (likely(known->pointer == text && known->round == now))
            return;
        if (known->pointer && known->pointer != text)
            continue;
        cuda_texts_enter();
        if (!known->pointer || known->pointer == text) {
            cuda_texts_check(known, text, now);
            cuda_texts_leave();
            return;
        }
        cuda_texts_leave();
    }
}

void cuda_names_forget(void)
{
    atomic_fetch_add_explicit(&current_round, 1, memory_order_relaxed);
}
