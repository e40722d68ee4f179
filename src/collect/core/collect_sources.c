/* The table of sources, expanded from wire/sources.def, and the operations over all rows. See collect_sources.h. */
#include "collect_sources.h"

#include <stdlib.h>
#include <string.h>

#include "collector.h"

#define ROW(name) extern const struct collect_source collect_source_##name;
#define SOURCE(id, name, ...) ROW(name)
#define UNCOUNTED_SOURCE(id, name, ...) ROW(name)
#define COLLECT_SOURCE(id, name) ROW(name)
#include "wire/sources.def"
#undef ROW

const struct collect_source *const collect_sources[COLLECT_SOURCE_COUNT] = {
#define SOURCE(id, name, ...) [COLLECT_SOURCE_##id] = &collect_source_##name,
#define UNCOUNTED_SOURCE(id, name, ...) [COLLECT_SOURCE_##id] = &collect_source_##name,
#define COLLECT_SOURCE(id, name) [COLLECT_SOURCE_##id] = &collect_source_##name,
#include "wire/sources.def"
};

const struct collect_source *const collect_counted_sources[WIRE_SOURCE_COUNT] = {
#define SOURCE(id, name, ...) [WIRE_SOURCE_##id] = &collect_source_##name,
#include "wire/sources.def"
};

/* ---- State and handlers ---------------------------------------------------------------------------------------- */

void sources_add_records(struct collector *collector, const struct collect_records *records)
{
    for (; records->read; records++)
        for (unsigned type = records->first; type <= records->last; type++)
            collector->handlers[type] = records->read;
}

int sources_init(struct collector *collector)
{
    for (int i = 0; i < COLLECT_SOURCE_COUNT; i++) {
        const struct collect_source *source = collect_sources[i];
        if (source->records)
            sources_add_records(collector, source->records);
        if (source->state_bytes && !(collector->state[i] = calloc(1, source->state_bytes)))
            return -1;
    }
    return 0;
}

void sources_free(struct collector *collector)
{
    for (int i = 0; i < COLLECT_SOURCE_COUNT; i++) {
        free(collector->state[i]);
        collector->state[i] = NULL;
    }
}

/* ---- Arenas ---------------------------------------------------------------------------------------------------- */

uint64_t sources_arena_bytes(const struct collector *collector, uint64_t chunk_bytes, unsigned *count)
{
    uint64_t total = 0;
    *count = 0;
    for (int i = 0; i < COLLECT_SOURCE_COUNT; i++) {
        const struct collect_source *source = collect_sources[i];
        uint64_t bytes = source->arena_bytes ? source->arena_bytes(collector, chunk_bytes) : 0;
        total += bytes;
        *count += bytes != 0;
    }
    return total;
}

/* Offset 0 is never used: it means that there is no text. */
uint32_t arena_put_text(struct collect_arena_texts *texts, const char *text)
{
    size_t length = text ? strlen(text) + 1 : 0;
    if (texts->used == 0)
        texts->used = 1;
    if (!text || texts->used + length + 1 > WIRE_TEXT_BYTES)
        return 0;
    uint32_t offset = texts->used;
    memcpy(texts->arena->text + offset, text, length);
    texts->used += (uint32_t)length;
    return offset;
}

uint32_t arena_put_list(struct collect_arena_texts *texts, const char *const *list)
{
    if (!list || !*list)
        return 0;
    uint32_t first = arena_put_text(texts, *list);
    while (first && *++list)
        arena_put_text(texts, *list);
    arena_put_text(texts, "");
    return first;
}
