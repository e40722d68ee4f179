/* Mapping the arena a window at a time: see arena_window.h. */
#include "arena_window.h"

#include <string.h>

#include "agent.h"
#include "mappings.h"
#include "sys.h"

static size_t window_bytes(const struct area *area)
{
    return (size_t)area->per_window * area->unit_bytes;
}

/* Events are lost because of this, and a larger buffer would not help. The collector reports it. */
static void *arena_window_tell_failure(const void *answer)
{
    if (agent_attached())
        atomic_store_explicit(&agent.arena->map_error, (uint32_t)-sys_failed(answer), memory_order_relaxed);
    return NULL;
}

/* After mlockall(MCL_FUTURE) the kernel locks each new mapping. Those of the agent must not count against the program's
 * limit. */
static void *map_unlocked(int flags, int descriptor, uint64_t offset, size_t bytes, enum mapping_kind kind)
{
    void *memory = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, descriptor, (int64_t)offset);
    if (sys_failed(memory))
        return arena_window_tell_failure(memory);
    /* Before the munlock(): a thread that calls mlockall() in between unlocks what is in the table. */
    mapping_add(memory, bytes, kind);
    sys_munlock(memory, bytes);
    return memory;
}

void *window_map_inherited(size_t bytes)
{
    return map_unlocked(MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, bytes, MAPPING_INHERITED);
}

void *window_map(int descriptor, uint64_t offset, size_t bytes)
{
    void *memory = map_unlocked(descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, descriptor, offset, bytes,
                                MAPPING_OF_PROCESS);
    if (!memory)
        return NULL;
    /* A forked child gets an arena of its own and must not write into its parent's. */
    sys_madvise(memory, bytes, MADV_DONTFORK);
    sys_madvise(memory, bytes, MADV_DONTDUMP);
    return memory;
}

/* Maps the part of the file that follows a mapping of `skip` bytes. The new mapping inherits the advice of the old one,
 * and is locked only if that one is. */
static char *map_behind(char *mapping, size_t skip, size_t bytes)
{
    char *both = sys_mremap(mapping, 0, skip + bytes, MREMAP_MAYMOVE);
    if (sys_failed(both))
        return arena_window_tell_failure(both);
    if (skip)
        sys_munmap(both, skip);
    mapping_add(both + skip, bytes, MAPPING_OF_PROCESS);
    return both + skip;
}

void *window_map_longer(char *mapping, size_t bytes)
{
    return map_behind(mapping, 0, bytes);
}

void window_unmap(void *memory, size_t bytes)
{
    mapping_remove(memory, bytes);
}

void area_set(struct area *area, uint32_t unit_bytes, uint32_t count, uint32_t per_window, size_t link)
{
    memset(area, 0, sizeof *area);
    area->unit_bytes = unit_bytes;
    area->count = count;
    area->per_window = per_window;
    area->link = (uint32_t)link;
}

static char *map_window(struct area *area, uint32_t index)
{
    size_t bytes = window_bytes(area);
    if (area->is_private)
        return window_map(-1, 0, bytes);
    if (index == 0)
        return area->before ? map_behind(area->before, area->before_bytes, bytes) : NULL;
    return map_behind(atomic_load_explicit(&area->windows[index - 1], memory_order_acquire), bytes, bytes);
}

int area_grow(struct area *area)
{
    uint32_t mapped = atomic_load_explicit(&area->mapped, memory_order_acquire), index = mapped / area->per_window;
    if (mapped >= area->count || index >= AREA_WINDOWS)
        return -1;
    if (area->twin && atomic_load_explicit(&area->twin->mapped, memory_order_acquire) <= mapped &&
        area_grow(area->twin) != 0)
        return -1;
    if (!atomic_load_explicit(&area->windows[index], memory_order_acquire)) {
        char *window = map_window(area, index), *none = NULL;
        if (!window)
            return -1;
        if (!atomic_compare_exchange_strong(&area->windows[index], &none, window))
            window_unmap(window, window_bytes(area));
    }
    uint32_t reach = mapped + area->per_window < area->count ? mapped + area->per_window : area->count;
    atomic_compare_exchange_strong(&area->mapped, &mapped, reach); /* fails if another thread was faster */
    return 0;
}

static _Atomic uint32_t *link_of(void *area, uint32_t index)
{
    return (_Atomic uint32_t *)((char *)area_unit(area, index) + ((struct area *)area)->link);
}

uint32_t area_take(struct area *area, _Atomic uint64_t *list, _Atomic uint32_t *taken)
{
    uint32_t index;
    do
        index = wire_list_pop_linked(list, taken, atomic_load_explicit(&area->mapped, memory_order_acquire), link_of,
                                     area);
    while (index == WIRE_NONE && area_grow(area) == 0);
    return index;
}
