/* Partial results that come from files: bytes become the results of some reports, and are merged. scripts/fuzz links it
 * with libFuzzer; tests/unit/partials_fuzz.c calls it with fixed seeds. A table or a refusal is right.
 *
 * If the first byte is odd, the bytes are results as they are. Else the next ones are the seed of a valid result, and
 * the others damage it: two bytes for the place, one for the value. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/group.h"
#include "analyze/engine/summary_partial.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_GROUPS = 5, MOST_NUMBERS = 300, PARTIALS = 3, SEED_BYTES = 8, PATCH_BYTES = 3 };

static void label(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    static const char *const names[MOST_GROUPS] = { "a", "kernel", "", "void f<int>(float *)", "x" };
    const char *name = names[group->key.part[0]];

    (void)context;
    texts[0] = (struct summary_text){ name, strlen(name) };
}

static const struct summary_shape shape = { .count_name = "Instances", .text_names = { "Name" }, .label = label };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Numbers of all sizes under some names. */
static void add_valid(struct text *out, uint64_t seed)
{
    uint64_t state = seed | 1;
    struct groups *groups = groups_new(1);
    size_t count = next_random(&state) % MOST_NUMBERS;
    struct group *list;
    struct error err;

    if (!groups)
        abort();
    for (size_t i = 0; i < count; i++) {
        struct group_key key = { { (int64_t)(next_random(&state) % MOST_GROUPS) } };
        int64_t number = (int64_t)(next_random(&state) >> next_random(&state) % 64);
        if (groups_add(groups, 0, &key, i % 7 ? number : -(number >> 1)) != 0)
            abort();
    }
    if (groups_finish(groups, NULL, NULL, &list, &count, &err) != 0 ||
        summary_partial_add(out, &shape, list, count, NULL, &err) != 0)
        abort();
    groups_delete(groups);
}

static void merge(const struct analysis_partial *partials, size_t count)
{
    struct table *table = NULL;
    struct error err = { 0 };
    int code = summary_merge(&shape, partials, count, &table, &err);

    if (code != 0 && (!*err.text || table))
        abort();
    table_delete(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct analysis_partial partials[PARTIALS] = { 0 };
    struct text valid = { 0 };
    uint64_t seed;

    if (size && bytes[0] & 1) {
        size_t third = (size - 1) / PARTIALS;
        for (size_t i = 0; i < PARTIALS; i++)
            partials[i] = (struct analysis_partial){ (const char *)bytes + 1 + i * third, third };
        merge(partials, PARTIALS);
        return 0;
    }
    if (size < 1 + SEED_BYTES)
        return 0;
    memcpy(&seed, bytes + 1, SEED_BYTES);
    add_valid(&valid, seed);
    for (size_t at = 1 + SEED_BYTES; at + PATCH_BYTES <= size && valid.length; at += PATCH_BYTES)
        valid.bytes[(size_t)(bytes[at] | bytes[at + 1] << 8) % valid.length] = (char)bytes[at + 2];
    for (size_t i = 0; i < PARTIALS; i++)
        partials[i] = (struct analysis_partial){ text_string(&valid), i == 1 ? valid.length / 2 : valid.length };
    merge(partials, bytes[0] & 2 ? PARTIALS : 1);
    text_free(&valid);
    return 0;
}
