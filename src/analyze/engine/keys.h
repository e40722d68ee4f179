/* Maps keys of several numbers to small numbers, from 0 in the order in which they were first added, and computes
 * figures of long lists of numbers that are grouped by such keys. For joins, where a row needs more than a
 * group_key. */
#ifndef TACHO_ANALYZE_ENGINE_KEYS_H
#define TACHO_ANALYZE_ENGINE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "statistics.h"

enum { NO_KEY = UINT32_MAX };

struct keys {
    size_t width;       /* numbers in a key, set by the owner */
    int64_t *list;      /* owned; key k begins at list[k * width] */
    size_t count, room; /* room: numbers in list */
    struct hash_index index;
};

/* The key's number, new or old; NO_KEY when memory is short. */
uint32_t keys_add(struct keys *keys, const int64_t *key);
/* Its number, or NO_KEY if it was never added. */
uint32_t keys_find(const struct keys *keys, const int64_t *key);
static inline const int64_t *keys_get(const struct keys *keys, uint32_t number)
{
    return keys->list + number * keys->width;
}
void keys_free(struct keys *keys);

struct keys_figures {
    struct statistics figures;
    double median;
};

/* Figures of values[i] under group[i], for groups below group_count. Values under NO_KEY are ignored. out has room for
 * group_count. ERR_NO_MEMORY or 0. */
int keys_summarize(struct keys_figures *out, size_t group_count, const uint32_t *group, const int64_t *values,
                   size_t count);

#endif
