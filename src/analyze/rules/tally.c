/* Sums of time by group, question and answer: see tally.h. */
#include "tally.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturating.h"

int tally_add(struct tally *tally, const int64_t key[TALLY_PARTS], int64_t ns)
{
    uint32_t number = keys_add(&tally->keys, key);

    if (number == NO_KEY || array_reserve_zeroed(&tally->ns, &tally->room, number + 1u, sizeof *tally->ns) != 0)
        return ERR_NO_MEMORY;
    tally->ns[number] = saturating_add(tally->ns[number], ns);
    return 0;
}

void tally_free(struct tally *tally)
{
    keys_free(&tally->keys);
    free(tally->ns);
    *tally = (struct tally)TALLY_NONE;
}

struct tally_largest tally_largest(const struct tally *tally, int64_t group, int64_t question)
{
    struct tally_largest largest = { NO_KEY, -1, 0 };

    for (uint32_t i = 0; i < tally->keys.count; i++) {
        const int64_t *key = keys_get(&tally->keys, i);
        if (key[TALLY_GROUP] != group || key[TALLY_QUESTION] != question)
            continue;
        largest.answers++;
        if (tally->ns[i] > largest.ns) {
            largest.ns = tally->ns[i];
            largest.key = i;
        }
    }
    return largest;
}
