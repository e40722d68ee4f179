/* Writes groups as bytes and merges them; see summary_partial.h.
 *
 *     varint   number of groups
 *     for each: identity, texts, figures, numbers; texts and numbers (number_lists.h) have their length before them
 *
 * The bytes may come from a file, so every length is checked. */
#include "summary_partial.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "number_lists.h"
#include "report/format/format.h"

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void summary_partial_put_text(struct text *out, const char *bytes, size_t length)
{
    text_add_varint(out, length);
    text_add_bytes(out, bytes, length);
}

static void put_wide(struct text *out, unsigned __int128 number)
{
    text_add_varint(out, (uint64_t)number);
    text_add_varint(out, (uint64_t)(number >> 64));
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* Sorts numbers from min on, digit by digit: durations have few of them, and there are many durations. Both lists have
 * room for all; the one that is returned has the result. */
static int64_t *sort_values(int64_t *values, int64_t *other, size_t count, int64_t min, int64_t max)
{
    uint64_t span = (uint64_t)max - (uint64_t)min;

    for (unsigned shift = 0; shift < 64 && span >> shift; shift += DIGIT_BITS) {
        size_t places[DIGITS] = { 0 }, before = 0;
        for (size_t i = 0; i < count; i++)
            places[((uint64_t)values[i] - (uint64_t)min) >> shift & (DIGITS - 1)]++;
        for (size_t digit = 0; digit < DIGITS; digit++) {
            size_t those = places[digit];
            places[digit] = before;
            before += those;
        }
        for (size_t i = 0; i < count; i++)
            other[places[((uint64_t)values[i] - (uint64_t)min) >> shift & (DIGITS - 1)]++] = values[i];
        int64_t *sorted = other;
        other = values;
        values = sorted;
    }
    return values;
}

static int put_numbers(struct text *out, const struct group *group)
{
    const struct statistics *figures = &group->figures;
    struct text list = { 0 };
    size_t count = 0;
    int64_t *room = array_alloc(2 * figures->count + 1, sizeof *room), *sorted = room;

    if (!room)
        return ERR_NO_MEMORY;
    for (const struct statistics_piece *piece = group->pieces; piece; piece = piece->next) {
        memcpy(room + count, piece->values, piece->used * sizeof *room);
        count += piece->used;
    }
    if (count < DIGITS)
        qsort(room, count, sizeof *room, array_by_int64);
    else
        sorted = sort_values(room, room + count, count, figures->min, figures->max);
    number_list_put(&list, sorted, count);
    summary_partial_put_text(out, text_string(&list), list.length);
    out->failed |= text_failed(&list);
    text_free(&list);
    free(room);
    return 0;
}

static void put_figures(struct text *out, const struct statistics *figures)
{
    text_add_varint(out, figures->count);
    text_add_varint(out, zigzag(figures->min));
    text_add_varint(out, zigzag(figures->max));
    put_wide(out, (unsigned __int128)figures->total);
    put_wide(out, figures->squares);
}

/* Groups with the same texts differ by their identity, if the shape has one. */
static void put_texts(struct text *out, const struct summary_shape *shape, const struct group *group, void *context)
{
    struct summary_text texts[SUMMARY_TEXTS] = { 0 }, identity = { 0 };

    if (shape->identify)
        identity = shape->identify(context, group);
    summary_partial_put_text(out, identity.bytes, identity.length);
    shape->label(context, group, texts);
    for (int i = 0; i < SUMMARY_TEXTS; i++)
        summary_partial_put_text(out, texts[i].bytes, texts[i].length);
}

int summary_partial_add(struct text *out, const struct summary_shape *shape, const struct group *groups, size_t count,
                        void *context, struct error *err)
{
    text_add_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        put_texts(out, shape, &groups[i], context);
        put_figures(out, &groups[i].figures);
        if (put_numbers(out, &groups[i]) != 0)
            return error_short_memory(err, "for the partial result");
    }
    return text_failed(out) ? error_short_memory(err, "for the partial result") : 0;
}

/* Rows without a name and those whose name is empty are two groups of a set, which the bytes do not distinguish. */
static int summary_partial_is_named(const struct summary_shape *shape, const struct group *group, void *context)
{
    struct summary_text texts[SUMMARY_TEXTS] = { 0 };

    shape->label(context, group, texts);
    for (int i = 0; i < SUMMARY_TEXTS && shape->text_names[i]; i++)
        if (!texts[i].length)
            return 0;
    return 1;
}

int summary_deliver(const struct analysis_request *request, const struct summary_shape *shape,
                    const struct group *groups, size_t count, void *context, struct table **out, struct error *err)
{
    if (!request->share)
        return summary_table(shape, groups, count, context, out, err);
    *out = NULL;
    for (size_t i = 0; i < count && request->share->is_bound; i++)
        if (!summary_partial_is_named(shape, &groups[i], context))
            analysis_share_bind(request->share);
    return summary_partial_add(request->share->partial, shape, groups, count, context, err);
}

/* ---- merging --------------------------------------------------------------------------------------------------- */

struct merged {
    struct statistics figures;
    struct number_list *lists; /* of the partials that have the group */
    size_t count, capacity;
};

struct merging {
    struct intern keys; /* identity and texts, as the partials have them */
    struct merged *list;
    size_t count, capacity;
    uint64_t numbers;   /* of the partial that is read */
};

static struct summary_text get_text(struct format_cursor *cursor)
{
    uint64_t length = cursor_varint(cursor);
    const uint8_t *bytes = cursor_take(cursor, length);

    return bytes ? (struct summary_text){ (const char *)bytes, (size_t)length } : (struct summary_text){ "", 0 };
}

static unsigned __int128 get_wide(struct format_cursor *cursor)
{
    uint64_t low = cursor_varint(cursor);

    return low | (unsigned __int128)cursor_varint(cursor) << 64;
}

/* Sums that no numbers can have are damage. All numbers of a partial are bounded, not those of a group, since a damaged
 * one may repeat it: so that 2^15 partials add up to less than 2^118. */
static struct statistics get_figures(struct merging *merging, struct format_cursor *cursor)
{
    const uint64_t most_numbers = UINT64_C(1) << 40;
    struct statistics figures = { .count = cursor_varint(cursor) };

    figures.min = cursor_svarint(cursor);
    figures.max = cursor_svarint(cursor);
    figures.total = (__int128)get_wide(cursor);
    figures.squares = get_wide(cursor);
    if (figures.count > most_numbers - merging->numbers || figures.total < (__int128)figures.count * figures.min ||
        figures.total > (__int128)figures.count * figures.max)
        cursor->failed = 1;
    else
        merging->numbers += figures.count;
    return figures;
}

static int get_group(struct merging *merging, struct format_cursor *cursor)
{
    const char *begin = (const char *)cursor->at;

    for (int i = 0; i < 1 + SUMMARY_TEXTS; i++)
        get_text(cursor);
    size_t key_length = (size_t)((const char *)cursor->at - begin);
    struct statistics figures = get_figures(merging, cursor);
    struct summary_text numbers = get_text(cursor);
    if (cursor->failed)
        return 0;
    int64_t number = intern_add_borrowed(&merging->keys, begin, key_length);
    if (number < 0 ||
        array_reserve_zeroed(&merging->list, &merging->capacity, (size_t)number + 1, sizeof *merging->list) != 0)
        return ERR_NO_MEMORY;
    if ((size_t)number >= merging->count)
        merging->count = (size_t)number + 1;
    struct merged *group = &merging->list[number];
    if (ARRAY_PUSH(group->lists, group->capacity, group->count,
                   (struct number_list){ (const uint8_t *)numbers.bytes, numbers.length }) != 0)
        return ERR_NO_MEMORY;
    statistics_merge(&group->figures, &figures);
    return 0;
}

static int get_groups(struct merging *merging, const struct analysis_partial *partial, struct error *err)
{
    const uint8_t *bytes = (const uint8_t *)partial->bytes;
    struct format_cursor cursor = { bytes, bytes + partial->length, 0 };
    uint64_t count = cursor_varint(&cursor);

    merging->numbers = 0;
    for (uint64_t i = 0; i < count && !cursor.failed; i++)
        if (get_group(merging, &cursor) != 0)
            return error_short_memory(err, "to merge the groups");
    if (cursor.failed || cursor.at != cursor.end)
        return error_set(err, ERR_CORRUPT, "a partial result is damaged");
    return 0;
}

/* The figures are those that statistics_add() and statistics_median() make of the single numbers. */
static int finish_group(const struct merged *from, size_t number, struct group *group)
{
    group->key.part[0] = (int64_t)number;
    group->figures = from->figures;
    return number_lists_median(from->lists, from->count, from->figures.count, &group->median);
}

static void label_merged(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    const struct merging *merging = context;
    const struct intern_string *key = &merging->keys.strings[group->key.part[0]];
    const uint8_t *bytes = (const uint8_t *)key->bytes;
    struct format_cursor cursor = { bytes, bytes + key->length, 0 };

    get_text(&cursor); /* the identity */
    for (int i = 0; i < SUMMARY_TEXTS; i++)
        texts[i] = get_text(&cursor);
}

static int summary_partial_make_table(struct merging *merging, const struct summary_shape *shape, struct table **out,
                                      struct error *err)
{
    struct summary_shape merged = *shape;
    struct group *groups = calloc(merging->count + 1, sizeof *groups);
    int code = 0;

    if (!groups)
        return error_short_memory(err, "to merge the groups");
    for (size_t i = 0; i < merging->count; i++)
        if ((code = finish_group(&merging->list[i], i, &groups[i])) != 0) {
            error_set(err, code, "a partial result is damaged");
            goto free_groups;
        }
    merged.label = label_merged;
    code = summary_table(&merged, groups, merging->count, merging, out, err);
free_groups:
    free(groups);
    return code;
}

int summary_merge(const struct summary_shape *shape, const struct analysis_partial *partials, size_t count,
                  struct table **out, struct error *err)
{
    struct merging merging = { 0 };
    int code;

    for (size_t i = 0; i < count; i++) {
        if (partials[i].length && (code = get_groups(&merging, &partials[i], err)) != 0)
            goto free_groups;
    }
    code = summary_partial_make_table(&merging, shape, out, err);
free_groups:
    for (size_t i = 0; i < merging.count; i++)
        free(merging.list[i].lists);
    free(merging.list);
    intern_free(&merging.keys);
    return code;
}
