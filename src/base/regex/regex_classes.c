/* Splits the code points into spans at every boundary of a set, then merges spans that are members of the same sets. */
#include "regex_classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

/* Collects the boundaries of all sets. */
static int make_spans(struct regex_classes *classes, const struct regex_sets *sets)
{
    uint32_t *starts = malloc((2 * sets->range_count + 1) * sizeof *starts);
    size_t count = 0, kept = 1;

    if (!starts)
        return ERR_NO_MEMORY;
    starts[count++] = 0;
    for (size_t i = 0; i < sets->range_count; i++) {
        starts[count++] = sets->ranges[i].first;
        starts[count++] = sets->ranges[i].last + 1;
    }
    qsort(starts, count, sizeof *starts, array_by_uint32);
    for (size_t i = 1; i < count; i++)
        if (starts[i] != starts[kept - 1] && starts[i] <= REGEX_LAST_CODE)
            starts[kept++] = starts[i];
    classes->span_starts = starts;
    classes->span_count = (uint32_t)kept;
    return 0;
}

static uint32_t regex_classes_find_span(const struct regex_classes *classes, uint32_t code)
{
    return BISECT(1, classes->span_count, i, classes->span_starts[i] <= code) - 1;
}

uint32_t regex_classes_find(const struct regex_classes *classes, uint32_t code)
{
    return classes->span_classes[regex_classes_find_span(classes, code)];
}

/* Fills a bitmap for each span: the sets that contain it. */
static void fill_members(struct regex_classes *classes, const struct regex_sets *sets)
{
    for (size_t i = 0; i < sets->count; i++)
        for (size_t at = 0; at < sets->list[i].count; at++) {
            struct regex_range range = sets->ranges[sets->list[i].start + at];
            for (uint32_t span = regex_classes_find_span(classes, range.first);
                 span < classes->span_count && classes->span_starts[span] <= range.last; span++)
                classes->members[(size_t)span * classes->set_words + i / 64] |= UINT64_C(1) << i % 64;
        }
}

/* Assigns one class to all spans with the same bitmap, and compacts the bitmaps to one for each class. */
static void merge_spans(struct regex_classes *classes, uint64_t *hashes)
{
    size_t row_bytes = classes->set_words * sizeof *classes->members;

    for (uint32_t span = 0; span < classes->span_count; span++) {
        const uint64_t *row = classes->members + (size_t)span * classes->set_words;
        uint64_t hash = hash_bytes(row, row_bytes);
        uint32_t class = 0;
        while (class < classes->count &&
               (hashes[class] != hash ||
                memcmp(classes->members + (size_t)class * classes->set_words, row, row_bytes) != 0))
            class ++;
        if (class == classes->count) {
            memmove(classes->members + (size_t)class * classes->set_words, row, row_bytes);
            hashes[classes->count++] = hash;
        }
        classes->span_classes[span] = (uint16_t)class;
    }
}

int regex_classes_make(struct regex_classes *classes, const struct regex_sets *sets)
{
    *classes = (struct regex_classes){ .set_words = (uint32_t)(sets->count + 63) / 64 };
    if (sets->failed || make_spans(classes, sets) != 0)
        return ERR_NO_MEMORY;
    classes->members = calloc((size_t)classes->span_count * classes->set_words + 1, sizeof *classes->members);
    classes->span_classes = calloc(classes->span_count, sizeof *classes->span_classes);
    uint64_t *hashes = malloc(classes->span_count * sizeof *hashes);
    if (!classes->members || !classes->span_classes || !hashes) {
        free(hashes);
        return ERR_NO_MEMORY;
    }
    fill_members(classes, sets);
    merge_spans(classes, hashes);
    free(hashes);
    for (uint32_t code = 0; code < 128; code++)
        classes->ascii[code] = (uint16_t)regex_classes_find(classes, code);
    return 0;
}

void regex_classes_free(struct regex_classes *classes)
{
    free(classes->span_starts);
    free(classes->span_classes);
    free(classes->members);
}
