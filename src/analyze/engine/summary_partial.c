/* Writes groups as bytes and merges them; see summary_partial.h.
 *
 * All numbers are LEB128, texts have their length before them. What is read may come from a file, so that every length
 * is checked. */
#include "summary_partial.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void put_number(struct text *out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        text_add_char(out, (char)(number | 0x80));
    text_add_char(out, (char)number);
}

static void put_text(struct text *out, const char *bytes, size_t length)
{
    put_number(out, length);
    text_add_bytes(out, bytes, length);
}

/* Small negative differences become small numbers, too. */
static uint64_t fold_sign(uint64_t difference)
{
    return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static uint64_t unfold_sign(uint64_t folded)
{
    return folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0);
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

static uint64_t count_runs(const int64_t *values, size_t count)
{
    uint64_t runs = count > 0;

    for (size_t i = 1; i < count; i++)
        runs += values[i] != values[i - 1];
    return runs;
}

static int put_values(struct text *out, const struct group *group)
{
    size_t count = 0;
    int64_t *room = array_alloc(2 * group->figures.count + 1, sizeof *room), *values = room;
    uint64_t before = 0;

    if (!room)
        return ERR_NO_MEMORY;
    for (const struct statistics_piece *piece = group->pieces; piece; piece = piece->next) {
        memcpy(values + count, piece->values, piece->used * sizeof *values);
        count += piece->used;
    }
    values = sort_values(values, values + count, count, group->figures.min, group->figures.max);
    put_number(out, count_runs(values, count));
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && values[next] == values[i]; next++)
            ;
        put_number(out, fold_sign((uint64_t)values[i] - before));
        put_number(out, next - i);
        before = (uint64_t)values[i];
    }
    free(room);
    return 0;
}

/* Groups with the same texts are told apart by their identity, if the shape has one. */
static void put_texts(struct text *out, const struct summary_shape *shape, const struct group *group, void *context)
{
    struct summary_text texts[SUMMARY_TEXTS] = { 0 }, identity = { 0 };

    if (shape->identify)
        identity = shape->identify(context, group);
    put_text(out, identity.bytes, identity.length);
    shape->label(context, group, texts);
    for (int i = 0; i < SUMMARY_TEXTS; i++)
        put_text(out, texts[i].bytes, texts[i].length);
}

int summary_partial_add(struct text *out, const struct summary_shape *shape, const struct group *groups, size_t count,
                        void *context, struct error *err)
{
    put_number(out, count);
    for (size_t i = 0; i < count; i++) {
        put_texts(out, shape, &groups[i], context);
        if (put_values(out, &groups[i]) != 0)
            return error_set(err, ERR_NO_MEMORY, "not enough memory for the partial result");
    }
    return text_failed(out) ? error_set(err, ERR_NO_MEMORY, "not enough memory for the partial result") : 0;
}

int summary_deliver(const struct analysis_request *request, const struct summary_shape *shape,
                    const struct group *groups, size_t count, void *context, struct table **out, struct error *err)
{
    if (!request->share)
        return summary_table(shape, groups, count, context, out, err);
    *out = NULL;
    return summary_partial_add(request->share->partial, shape, groups, count, context, err);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

struct cursor {
    const char *at, *end;
    int is_bad;
};

static uint64_t get_number(struct cursor *cursor)
{
    uint64_t number = 0;

    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*cursor->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return number;
    }
    cursor->is_bad = 1;
    return 0;
}

static struct summary_text get_text(struct cursor *cursor)
{
    uint64_t length = get_number(cursor);

    if (length > (uint64_t)(cursor->end - cursor->at))
        cursor->is_bad = 1;
    if (cursor->is_bad)
        return (struct summary_text){ "", 0 };
    struct summary_text text = { cursor->at, (size_t)length };
    cursor->at += length;
    return text;
}

/* ---- merging --------------------------------------------------------------------------------------------------- */

struct run {
    int64_t value;
    uint64_t count;
};

struct merged {
    struct run *runs; /* of all partials, one after another */
    size_t count, capacity;
};

struct merging {
    struct intern keys; /* identity and texts, as the partials have them */
    struct merged *list;
    size_t count, capacity;
};

static int get_runs(struct cursor *cursor, struct merged *group)
{
    uint64_t count = get_number(cursor), value = 0;

    for (uint64_t i = 0; i < count && !cursor->is_bad; i++) {
        if (array_reserve(&group->runs, &group->capacity, group->count + 1, sizeof *group->runs) != 0)
            return ERR_NO_MEMORY;
        value += unfold_sign(get_number(cursor));
        group->runs[group->count++] = (struct run){ (int64_t)value, get_number(cursor) };
    }
    return 0;
}

static int get_group(struct merging *merging, struct cursor *cursor)
{
    const char *begin = cursor->at;

    for (int i = 0; i < 1 + SUMMARY_TEXTS; i++)
        get_text(cursor);
    if (cursor->is_bad)
        return 0;
    int64_t number = intern_add_borrowed(&merging->keys, begin, (size_t)(cursor->at - begin));
    if (number < 0 ||
        array_reserve_zeroed(&merging->list, &merging->capacity, (size_t)number + 1, sizeof *merging->list) != 0)
        return ERR_NO_MEMORY;
    if ((size_t)number >= merging->count)
        merging->count = (size_t)number + 1;
    return get_runs(cursor, &merging->list[number]);
}

static int get_groups(struct merging *merging, struct cursor cursor, struct error *err)
{
    uint64_t count = get_number(&cursor);

    for (uint64_t i = 0; i < count && !cursor.is_bad; i++)
        if (get_group(merging, &cursor) != 0)
            return error_set(err, ERR_NO_MEMORY, "not enough memory to merge the groups");
    if (cursor.is_bad || cursor.at != cursor.end)
        return error_set(err, ERR_CORRUPT, "a partial result is damaged");
    return 0;
}

static int compare_runs(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

/* The number of this rank, from 0, among sorted runs. */
static int64_t number_at(const struct merged *group, uint64_t rank)
{
    size_t i = 0;

    for (; i + 1 < group->count && rank >= group->runs[i].count; i++)
        rank -= group->runs[i].count;
    return group->runs[i].value;
}

/* The figures are those that statistics_add() and statistics_median() make of the single numbers. */
static void finish_group(struct merged *from, size_t number, struct group *group)
{
    struct statistics *figures = &group->figures;

    group->key.part[0] = (int64_t)number;
    if (!from->count)
        return;
    qsort(from->runs, from->count, sizeof *from->runs, compare_runs);
    figures->min = from->runs[0].value;
    figures->max = from->runs[from->count - 1].value;
    for (size_t i = 0; i < from->count; i++) {
        __int128 value = from->runs[i].value;
        figures->count += from->runs[i].count;
        figures->total += (__int128)((unsigned __int128)value * from->runs[i].count);
        figures->squares += (unsigned __int128)(value * value) * from->runs[i].count;
    }
    if (figures->count)
        group->median = ((double)number_at(from, (figures->count - 1) / 2) +
                         (double)number_at(from, figures->count / 2)) /
                        2;
}

static void label_merged(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    const struct merging *merging = context;
    const struct intern_string *key = &merging->keys.strings[group->key.part[0]];
    struct cursor cursor = { key->bytes, key->bytes + key->length, 0 };

    get_text(&cursor); /* the identity */
    for (int i = 0; i < SUMMARY_TEXTS; i++)
        texts[i] = get_text(&cursor);
}

static int make_table(struct merging *merging, const struct summary_shape *shape, struct table **out, struct error *err)
{
    struct summary_shape merged = *shape;
    struct group *groups = calloc(merging->count + 1, sizeof *groups);

    if (!groups)
        return error_set(err, ERR_NO_MEMORY, "not enough memory to merge the groups");
    for (size_t i = 0; i < merging->count; i++)
        finish_group(&merging->list[i], i, &groups[i]);
    merged.label = label_merged;
    int code = summary_table(&merged, groups, merging->count, merging, out, err);
    free(groups);
    return code;
}

int summary_merge(const struct summary_shape *shape, const struct analysis_partial *partials, size_t count,
                  struct table **out, struct error *err)
{
    struct merging merging = { 0 };
    int code;

    for (size_t i = 0; i < count; i++) {
        const struct cursor cursor = { partials[i].bytes, partials[i].bytes + partials[i].length, 0 };
        if (partials[i].length && (code = get_groups(&merging, cursor, err)) != 0)
            goto free_groups;
    }
    code = make_table(&merging, shape, out, err);
free_groups:
    for (size_t i = 0; i < merging.count; i++)
        free(merging.list[i].runs);
    free(merging.list);
    intern_free(&merging.keys);
    return code;
}
