/* Buckets, and the search for a rank among them; see number_lists.h.
 *
 *     varint   number of buckets
 *     for each: svarint number of the bucket less that of the one before, varint numbers in it, varint bytes in it
 *     for each: its distinct numbers, as varints: twice the difference to the one before (to the least number of the
 *               bucket for the first), plus 1 if it is there several times; the count then follows
 */
#include "number_lists.h"

#include <string.h>

#include "base/error.h"
#include "report/format/format.h"

enum {
    STEP_BITS = 4, /* 16 buckets between two powers of two */
    STEPS = 1 << STEP_BITS,
    MOST_BUCKET = (62 - STEP_BITS + 1) * STEPS + STEPS - 1,
    BUCKETS = 2 * (MOST_BUCKET + 1),
    PLACE_BITS = 12, /* bits of a bucket's numbers that one round counts */
    PLACES = 1 << PLACE_BITS,
};

/* ---- buckets --------------------------------------------------------------------------------------------------- */

static int bucket_of_size(uint64_t size)
{
    if (size < STEPS)
        return (int)size;
    int power = 63 - __builtin_clzll(size);
    return (power - STEP_BITS + 1) * STEPS + (int)(size >> (power - STEP_BITS) & (STEPS - 1));
}

/* Those of negative numbers mirror the others. */
static int number_lists_bucket_of(int64_t number)
{
    return number < 0 ? ~bucket_of_size((uint64_t)~number) : bucket_of_size((uint64_t)number);
}

/* The bits by which the numbers of a bucket differ. */
static unsigned bucket_bits(int bucket)
{
    int size = bucket < 0 ? ~bucket : bucket;

    return size < STEPS ? 0 : (unsigned)(size / STEPS - 1);
}

static int64_t bucket_least(int bucket)
{
    int size = bucket < 0 ? ~bucket : bucket;
    uint64_t least = size < STEPS ? (uint64_t)size : (uint64_t)(STEPS + size % STEPS) << bucket_bits(bucket);

    if (bucket >= 0)
        return (int64_t)least;
    return ~(int64_t)(least + ((UINT64_C(1) << bucket_bits(bucket)) - 1));
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* The end of the bucket that begins at a place. */
static size_t bucket_end(const int64_t *sorted, size_t count, size_t first)
{
    int bucket = number_lists_bucket_of(sorted[first]);
    size_t end = first + 1;

    while (end < count && number_lists_bucket_of(sorted[end]) == bucket)
        end++;
    return end;
}

static void put_bucket(struct text *out, const int64_t *sorted, size_t count)
{
    uint64_t before = (uint64_t)bucket_least(number_lists_bucket_of(*sorted));

    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && sorted[next] == sorted[i]; next++)
            ;
        uint64_t difference = (uint64_t)sorted[i] - before;
        text_add_varint(out, difference << 1 | (next - i > 1));
        if (next - i > 1)
            text_add_varint(out, next - i);
        before = (uint64_t)sorted[i];
    }
}

void number_list_put(struct text *out, const int64_t *sorted, size_t count)
{
    struct text buckets = { 0 }, numbers = { 0 };
    uint64_t bucket_count = 0;
    int before = 0;

    for (size_t first = 0, end; first < count; first = end, bucket_count++) {
        size_t begin = numbers.length;
        int bucket = number_lists_bucket_of(sorted[first]);
        end = bucket_end(sorted, count, first);
        put_bucket(&numbers, sorted + first, end - first);
        text_add_varint(&buckets, zigzag(bucket - before));
        text_add_varint(&buckets, end - first);
        text_add_varint(&buckets, numbers.length - begin);
        before = bucket;
    }
    text_add_varint(out, bucket_count);
    text_add_bytes(out, text_string(&buckets), buckets.length);
    text_add_bytes(out, text_string(&numbers), numbers.length);
    out->failed |= text_failed(&buckets) || text_failed(&numbers);
    text_free(&buckets);
    text_free(&numbers);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* The buckets of a list, one after another. */
struct bucket_cursor {
    struct format_cursor table;
    uint64_t left;                 /* buckets to come */
    int bucket;
    uint64_t count, bytes, before; /* before: bytes of the buckets before it */
};

static void buckets_open(struct bucket_cursor *cursor, const struct number_list *list)
{
    *cursor = (struct bucket_cursor){ .table = { list->bytes, list->bytes + list->length, 0 } };
    cursor->left = cursor_varint(&cursor->table);
}

static int buckets_next(struct bucket_cursor *cursor)
{
    if (!cursor->left || cursor->table.failed)
        return 0;
    int64_t difference = cursor_svarint(&cursor->table);
    if (difference < -BUCKETS || difference > BUCKETS) {
        cursor->table.failed = 1;
        return 0;
    }
    cursor->left--;
    cursor->before += cursor->bytes;
    cursor->bucket += (int)difference;
    cursor->count = cursor_varint(&cursor->table);
    cursor->bytes = cursor_varint(&cursor->table);
    if (cursor->bucket < -(MOST_BUCKET + 1) || cursor->bucket > MOST_BUCKET)
        cursor->table.failed = 1;
    return !cursor->table.failed;
}

/* The numbers of a bucket; none if the list has it not. */
static struct format_cursor bucket_numbers(const struct number_list *list, int bucket)
{
    struct bucket_cursor cursor;
    uint64_t before = 0, bytes = 0;

    buckets_open(&cursor, list);
    while (buckets_next(&cursor))
        if (cursor.bucket == bucket) {
            before = cursor.before;
            bytes = cursor.bytes;
        }
    struct format_cursor numbers = cursor.table;
    cursor_take(&numbers, before);
    const uint8_t *at = cursor_take(&numbers, bytes);
    return (struct format_cursor){ at, at ? at + bytes : NULL, numbers.failed };
}

/* ---- searching ------------------------------------------------------------------------------------------------- */

/* The place of this rank, which becomes the rank within it; -1: there are fewer. */
static int64_t number_lists_find_place(const uint64_t *counts, size_t places, uint64_t *rank)
{
    for (size_t i = 0; i < places; i++) {
        if (*rank < counts[i])
            return (int64_t)i;
        *rank -= counts[i];
    }
    return -1;
}

static int number_lists_find_bucket(const struct number_list *lists, size_t count, uint64_t *rank, int *out)
{
    uint64_t counts[BUCKETS] = { 0 };

    for (size_t i = 0; i < count; i++) {
        struct bucket_cursor cursor;
        buckets_open(&cursor, &lists[i]);
        while (buckets_next(&cursor))
            counts[cursor.bucket + MOST_BUCKET + 1] += cursor.count;
        if (cursor.table.failed)
            return ERR_CORRUPT;
    }
    int64_t place = number_lists_find_place(counts, BUCKETS, rank);
    *out = (int)place - (MOST_BUCKET + 1);
    return place < 0 ? ERR_CORRUPT : 0;
}

/* Counts the numbers from `low` on, above the least of the bucket, by their bits above `shift`. */
static int count_places(const struct number_list *list, int bucket, uint64_t low, unsigned shift, uint64_t *counts)
{
    struct format_cursor numbers = bucket_numbers(list, bucket);
    uint64_t number = 0;

    while (!numbers.failed && numbers.at < numbers.end) {
        uint64_t coded = cursor_varint(&numbers), those = coded & 1 ? cursor_varint(&numbers) : 1;
        number += coded >> 1;
        if (number >= low && (number - low) >> shift < PLACES)
            counts[(number - low) >> shift] += those;
    }
    return numbers.failed ? ERR_CORRUPT : 0;
}

int number_lists_select(const struct number_list *lists, size_t count, uint64_t rank, int64_t *out)
{
    uint64_t low = 0;
    int bucket, code = number_lists_find_bucket(lists, count, &rank, &bucket);

    if (code != 0)
        return code;
    for (unsigned bits = bucket_bits(bucket), shift; bits; bits = shift) {
        uint64_t counts[PLACES] = { 0 };
        shift = bits > PLACE_BITS ? bits - PLACE_BITS : 0;
        for (size_t i = 0; i < count; i++)
            if ((code = count_places(&lists[i], bucket, low, shift, counts)) != 0)
                return code;
        int64_t place = number_lists_find_place(counts, (size_t)1 << (bits - shift), &rank);
        if (place < 0)
            return ERR_CORRUPT;
        low += (uint64_t)place << shift;
    }
    *out = (int64_t)((uint64_t)bucket_least(bucket) + low);
    return 0;
}

int number_lists_median(const struct number_list *lists, size_t count, uint64_t total, double *out)
{
    int64_t lower, upper;
    int code;

    *out = 0;
    if (!total)
        return 0;
    if ((code = number_lists_select(lists, count, (total - 1) / 2, &lower)) != 0)
        return code;
    upper = lower;
    if (total % 2 == 0 && (code = number_lists_select(lists, count, total / 2, &upper)) != 0)
        return code;
    *out = ((double)lower + (double)upper) / 2;
    return 0;
}
