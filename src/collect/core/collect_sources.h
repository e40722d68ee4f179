/* The table of all sources, and the operations over all of its rows. */
#ifndef TACHO_COLLECT_CORE_COLLECT_SOURCES_H
#define TACHO_COLLECT_CORE_COLLECT_SOURCES_H

#include "collect_source.h"

/* collect_sources: by enum collect_source_id. collect_counted_sources: those whose events are counted, by enum
 * wire_source (NULL: not a source of events). */
extern const struct collect_source *const collect_sources[COLLECT_SOURCE_COUNT];
extern const struct collect_source *const collect_counted_sources[WIRE_SOURCE_COUNT];

/* Calls a function of all rows that have it; the second macro from the last row to the first. */
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

/* Allocates the state of all sources and fills collector->handlers: 0, or -1 if out of memory. */
int sources_init(struct collector *collector);
void sources_free(struct collector *collector); /* call after free() of all rows */

/* Adds a list of records to collector->handlers. */
void sources_add_records(struct collector *collector, const struct collect_records *records);

/* The sum of arena_bytes; *count: the number of sources that ask for any. */
uint64_t sources_arena_bytes(const struct collector *collector, uint64_t chunk_bytes, unsigned *count);

/* Copies a text into the arena after the earlier ones. Returns its offset, or 0 if there is no text or no room. A list
 * ends with NULL here and with an empty text in the arena. */
uint32_t arena_put_text(struct collect_arena_texts *texts, const char *text);
uint32_t arena_put_list(struct collect_arena_texts *texts, const char *const *list);

#endif
