/* The string pool of a writer: maps bytes to ids that count from 0, in memory that does not grow with the file.
 *
 * There are two generations. When the young one is large it becomes the old one, and the previous old one is dropped.
 * A string that is used meanwhile moves to the young one with its id. So strings in use keep their ids. A string that
 * was not used for a whole generation (a name that is unique to one call) gets another id if it comes back. One thread
 * only. */
#ifndef TACHO_REPORT_WRITER_STRING_POOL_H
#define TACHO_REPORT_WRITER_STRING_POOL_H

#include "base/intern.h"

struct string_pool_generation {
    struct intern strings;
    int64_t *ids; /* by index in strings */
    size_t capacity;
};

struct string_pool {
    struct string_pool_generation young, old;
    int64_t next_id;
    size_t looked_at;     /* strings of the young generation that string_pool_take() has passed */
    int64_t next_to_take; /* the first id that string_pool_take() has not returned yet */
};

void string_pool_free(struct string_pool *pool);

/* The id of these bytes, which are added if they are new; -1 if out of memory. */
int64_t string_pool_add(struct string_pool *pool, const void *bytes, size_t length);

/* New strings that have not been taken yet. */
size_t string_pool_pending(const struct string_pool *pool);

/* Takes the next `count` pending strings and returns the id of the first. They stay valid until their generation is
 * dropped. */
int64_t string_pool_take(struct string_pool *pool, struct intern_string *to, size_t count);

/* Bytes of memory that the young generation uses. */
size_t string_pool_bytes(const struct string_pool *pool);

/* Drops the old generation; nothing may be pending. */
void string_pool_forget(struct string_pool *pool);

/* A string that was new in the young generation, or NULL. Slow. */
const struct intern_string *string_pool_find(const struct string_pool *pool, int64_t id);

#endif
