#include "counters_nearest.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

enum { SUGGESTIONS = 3, FARTHEST = 12 };

struct suggestion {
    const char *name;
    size_t distance;
};

/* Long names of metrics mostly begin alike: only what differs is compared. */
static size_t counter_nearest_distance(const char *a, size_t a_length, const char *b)
{
    char rest[COUNTER_NAME_BYTES];
    size_t same = 0;

    while (same < a_length && a[same] == b[same] && b[same])
        same++;
    snprintf(rest, sizeof rest, "%.*s", (int)(a_length - same), a + same);
    return nearest_distance(rest, b + same);
}

static void consider(struct suggestion *best, const char *name, size_t far)
{
    for (size_t i = 0; i < SUGGESTIONS; i++)
        if (!best[i].name || far < best[i].distance) {
            memmove(best + i + 1, best + i, (SUGGESTIONS - 1 - i) * sizeof *best);
            best[i] = (struct suggestion){ name, far };
            return;
        }
}

void counters_nearest(struct counters_host *host, const char *name, char *sentence, size_t bytes)
{
    struct suggestion best[SUGGESTIONS] = { 0 };
    size_t length = strcspn(name, "."), used;

    for (int type = 0; type < CUPTI_METRIC_TYPES; type++) {
        const struct counters_bases *bases = counters_host_bases(host, (enum cupti_metric_type)type);
        for (size_t i = 0; i < bases->count; i++)
            consider(best, bases->names[i], counter_nearest_distance(name, length, bases->names[i]));
    }
    used = (size_t)snprintf(sentence, bytes, "%s has no such metric", host->chip);
    if (best[0].name && best[0].distance == 0)
        used += (size_t)snprintf(sentence + used, bytes - used, "; %s has other suffixes (--query-metrics-mode suffix)",
                                 best[0].name);
    else
        for (size_t i = 0; i < SUGGESTIONS && best[i].name && best[i].distance <= FARTHEST && used < bytes; i++)
            used += (size_t)snprintf(sentence + used, bytes - used, "%s%s", i ? ", " : "; the nearest: ", best[i].name);
    if (used < bytes)
        snprintf(sentence + used, bytes - used, ".");
}
