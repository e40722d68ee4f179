/* Address spaces: the mappings of each process. See address_space.h; proc_maps.c reads them from /proc. */
#include "address_space.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "module.h"
#include "proc_maps.h"
#include "symbols_state.h"

#define MAPPINGS_MAX (1u << 20)
#define LOOK_EVERY_NS INT64_C(200000000)

static struct symbols_process *address_space_make(struct symbols *symbols, pid_t pid)
{
    struct symbols_process *process = calloc(1, sizeof *process);
    if (!process)
        return NULL;
    process->symbols = symbols;
    process->pid = pid;
    process->root = -1;
    proc_maps_begin(process);
    process->next = symbols->processes;
    symbols->processes = process;
    return process;
}

struct symbols_process *symbols_process_new(struct symbols *symbols, pid_t pid)
{
    return address_space_make(symbols, pid);
}

struct symbols_process *symbols_process_fork(struct symbols_process *parent, pid_t pid)
{
    struct symbols_process *process = address_space_make(parent->symbols, pid);
    if (!process || parent->mapping_count == 0)
        return process;
    process->mappings = malloc(parent->mapping_count * sizeof *process->mappings);
    if (!process->mappings)
        return process;
    memcpy(process->mappings, parent->mappings, parent->mapping_count * sizeof *process->mappings);
    process->mapping_count = process->mapping_capacity = parent->mapping_count;
    return process;
}

void symbols_process_end(struct symbols_process *process)
{
    process->is_gone = 1;
}

/* ---- Mappings -------------------------------------------------------------------------------------------------- */

/* The first mapping that ends after an address. */
static size_t first_behind(const struct symbols_process *process, uint64_t address)
{
    return BISECT(0, process->mapping_count, i, process->mappings[i].end <= address);
}

static int address_space_make_room(struct symbols_process *process, size_t at)
{
    if (process->mapping_count == MAPPINGS_MAX ||
        array_reserve(&process->mappings, &process->mapping_capacity, process->mapping_count + 1,
                      sizeof *process->mappings) != 0)
        return -1;
    memmove(process->mappings + at + 1, process->mappings + at,
            (process->mapping_count - at) * sizeof *process->mappings);
    process->mapping_count++;
    return 0;
}

/* Removes all mappings from a range; the parts outside the range stay. Returns whether there were any. */
static int address_space_clear(struct symbols_process *process, uint64_t start, uint64_t end)
{
    size_t at = first_behind(process, start), gone = at;
    if (at == process->mapping_count || process->mappings[at].start >= end)
        return 0;
    struct address_space_mapping *first = &process->mappings[at];
    if (first->start < start && first->end > end) { /* a hole in its midst */
        if (address_space_make_room(process, at) != 0)
            return 1;
        first = &process->mappings[at];
        first->end = start;
        gone = ++at;
    } else if (first->start < start) {
        first->end = start;
        gone = ++at;
    }
    while (gone < process->mapping_count && process->mappings[gone].end <= end)
        gone++;
    if (gone < process->mapping_count && process->mappings[gone].start < end) {
        struct address_space_mapping *last = &process->mappings[gone];
        last->offset += end - last->start;
        last->start = end;
    }
    memmove(process->mappings + at, process->mappings + gone,
            (process->mapping_count - gone) * sizeof *process->mappings);
    process->mapping_count -= gone - at;
    symbols_place_map_free(&process->places);
    return 1;
}

int symbols_process_map(struct symbols_process *process, const struct symbols_mapping *mapping)
{
    uint64_t end = mapping->address + mapping->bytes;
    if (mapping->bytes == 0 || end < mapping->address)
        return -1;
    struct symbols_module *module = module_of_mapping(process, mapping);
    if (!module)
        return -1;
    struct address_space_mapping wanted = { mapping->address, end, mapping->is_whole ? 0 : mapping->offset,
                                            module->number, mapping->is_whole };
    size_t at = first_behind(process, mapping->address);
    if (at < process->mapping_count) {
        const struct address_space_mapping *known = &process->mappings[at];
        /* The loader's list and the kernel both report a file: the mapping of the whole file serves for its parts. */
        if (known->module == module->number && known->start <= wanted.start && known->end >= end &&
            (known->is_whole || (known->start == wanted.start && known->offset == wanted.offset)))
            return 0;
    }
    address_space_clear(process, mapping->address, end);
    at = first_behind(process, mapping->address);
    if (address_space_make_room(process, at) != 0)
        return -1;
    process->mappings[at] = wanted;
    process->last_mapping = 0;
    return 0;
}

void symbols_process_unmap(struct symbols_process *process, uint64_t address, uint64_t bytes)
{
    if (address + bytes > address)
        address_space_clear(process, address, address + bytes);
}

static const struct address_space_mapping *space_find_mapping(struct symbols_process *process, uint64_t address)
{
    size_t at = process->last_mapping;
    if (at >= process->mapping_count ||
        address - process->mappings[at].start >= process->mappings[at].end - process->mappings[at].start)
        at = first_behind(process, address);
    if (at == process->mapping_count || process->mappings[at].start > address)
        return NULL;
    process->last_mapping = at;
    return &process->mappings[at];
}

int symbols_process_has_loaded(struct symbols_process *process, uint64_t address)
{
    const struct address_space_mapping *mapping = space_find_mapping(process, address);
    return mapping && mapping->is_whole;
}

const struct address_space_mapping *address_space_find(struct symbols_process *process, uint64_t address)
{
    const struct address_space_mapping *mapping = space_find_mapping(process, address);
    if (mapping || process->is_gone || process->pid <= 0 || address < 4096)
        return mapping;
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    if (process->looked_ns && now - process->looked_ns < LOOK_EVERY_NS)
        return NULL;
    return symbols_process_look(process) == 0 ? space_find_mapping(process, address) : NULL;
}
