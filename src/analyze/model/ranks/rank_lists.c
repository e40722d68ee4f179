/* Ranks as people write them. */
#include "rank_lists.h"

#include <stdlib.h>

void rank_list_add(struct text *out, const int64_t *ranks, size_t count, size_t most)
{
    size_t runs = 0;

    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && ranks[end] == ranks[end - 1] + 1;)
            end++;
        if (most && runs++ == most) {
            text_add(out, ",…");
            return;
        }
        text_addf(out, first ? ",%lld" : "%lld", (long long)ranks[first]);
        if (end - first > 1)
            text_addf(out, end - first > 2 ? "-%lld" : ",%lld", (long long)ranks[end - 1]);
    }
}

size_t rank_list_read(const char *text, int64_t *ranks, size_t room)
{
    size_t count = 0;

    while (*text) {
        char *end;
        long long rank = strtoll(text, &end, 10);
        if (end == text || (*end && *end != ',') || rank < 0)
            return 0;
        if (count < room)
            ranks[count] = rank;
        count++;
        text = *end ? end + 1 : end;
    }
    return count;
}
