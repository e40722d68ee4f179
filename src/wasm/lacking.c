/* See include/lacking.h. A merge sort: every round merges runs from one array into the other, so the number of rounds
 * decides which array holds the result. */
#undef qsort

#define RUN 8 /* items that are sorted by insertion first */

char *lacking_strerror(int number, char *room, size_t size)
{
    return strerror(number);
}

struct lacking_sorting {
    size_t size;
    int (*compare)(const void *, const void *, void *);
    void *context;
};

/* Most items are a few words, for which a call of memcpy() costs more than the copy. memcpy() of a constant eight bytes
 * is no call. */
static inline void lacking_copy(char *to, const char *from, size_t size)
{
    if (size % 8) {
        memcpy(to, from, size);
        return;
    }
    for (size_t at = 0; at < size; at += 8)
        memcpy(to + at, from + at, 8);
}

static void insert_all(const struct lacking_sorting *sorting, char *items, size_t count, char *room)
{
    size_t size = sorting->size;
    for (size_t i = 1; i < count; i++) {
        size_t place = i;
        while (place > 0 && sorting->compare(items + (place - 1) * size, items + i * size, sorting->context) > 0)
            place--;
        if (place == i)
            continue;
        lacking_copy(room, items + i * size, size);
        memmove(items + (place + 1) * size, items + place * size, (i - place) * size);
        lacking_copy(items + place * size, room, size);
    }
}

static void lacking_merge(const struct lacking_sorting *sorting, const char *left, const char *right, const char *end,
                          char *to)
{
    size_t size = sorting->size;
    const char *middle = right;
    while (left < middle && right < end) {
        const char **from = sorting->compare(left, right, sorting->context) <= 0 ? &left : &right;
        lacking_copy(to, *from, size);
        *from += size;
        to += size;
    }
    memcpy(to, left, (size_t)(middle - left));
    memcpy(to + (middle - left), right, (size_t)(end - right));
}

/* Used when memory is short: the qsort() of the C library, which needs none, but takes no context and is not stable. */
static const struct lacking_sorting *in_place;

static int compare_in_place(const void *a, const void *b)
{
    return in_place->compare(a, b, in_place->context);
}

static void sort_in_place(const struct lacking_sorting *sorting, void *items, size_t count)
{
    const struct lacking_sorting *before = in_place;
    in_place = sorting;
    qsort(items, count, sorting->size, compare_in_place);
    in_place = before;
}

void qsort_r(void *items, size_t count, size_t size, int (*compare)(const void *, const void *, void *), void *context)
{
    struct lacking_sorting sorting = { size, compare, context };
    char *from = items, *other = count > 1 ? malloc(count * size) : NULL, *to = other;
    if (!other) {
        sort_in_place(&sorting, items, count);
        return;
    }
    for (size_t first = 0; first < count; first += RUN)
        insert_all(&sorting, from + first * size, count - first < RUN ? count - first : RUN, other);
    for (size_t run = RUN; run < count; run *= 2) {
        for (size_t first = 0; first < count; first += 2 * run) {
            size_t middle = first + run < count ? first + run : count,
                   end = first + 2 * run < count ? first + 2 * run : count;
            lacking_merge(&sorting, from + first * size, from + middle * size, from + end * size, to + first * size);
        }
        char *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != items)
        memcpy(items, from, count * size);
    free(other);
}

static int compare_plainly(const void *a, const void *b, void *context)
{
    return (*(int (**)(const void *, const void *))context)(a, b);
}

void lacking_qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    qsort_r(items, count, size, compare_plainly, &compare);
}
