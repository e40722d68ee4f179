/* All sources: the table of their rows, and what is done with every row. */
#ifndef TACHO_COLLECT_CORE_COLLECT_SOURCES_H
#define TACHO_COLLECT_CORE_COLLECT_SOURCES_H

#include "collect_source.h"

/* By enum collect_source_id; and those whose events are counted, by enum wire_source (NULL: no source of events). */
extern const struct collect_source *const collect_sources[COLLECT_SOURCE_COUNT];
extern const struct collect_source *const collect_counted_sources[WIRE_SOURCE_COUNT];

/* Calls a function of all rows that have it; and the same from the last to the first. */
#define SOURCES_CALL(function, ...)                                                                                    \
    do {                                                                                                               \
        for (int source_ = 0; source_ < COLLECT_SOURCE_COUNT; source_++)                                               \
            if (collect_sources[source_]->function)                                                                    \
                collect_sources[source_]->function(__VA_ARGS__);                                                       \
    } while (0)
#define SOURCES_CALL_BACKWARDS(function, ...)                                                                          \
    do {                                                                                                               \
        for (int source_ = COLLECT_SOURCE_COUNT; source_-- > 0;)                                                       \
            if (collect_sources[source_]->function)                                                                    \
                collect_sources[source_]->function(__VA_ARGS__);                                                       \
    } while (0)

/* Makes the state of all sources, and their part of collector->handlers: 0, or -1 when memory is short. */
int sources_init(struct collector *collector);
void sources_free(struct collector *collector); /* after free of all rows */

/* Adds a list of records to collector->handlers. */
void sources_add_records(struct collector *collector, const struct collect_records *records);

/* The sum of arena_bytes, and how many sources want some. */
uint64_t sources_arena_bytes(const struct collector *collector, uint64_t chunk_bytes, unsigned *count);

/* Copies a text into the arena, behind those before it: its offset, or 0 when there is none or no room. A list is ended
 * by NULL here and by an empty text there. */
uint32_t arena_put_text(struct arena_texts *texts, const char *text);
uint32_t arena_put_list(struct arena_texts *texts, const char *const *list);

#endif
