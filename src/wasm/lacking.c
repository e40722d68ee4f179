/* See include/lacking.h. */
#include <stdlib.h>
#include <string.h>

char *lacking_strerror(int number, char *room, size_t size)
{
    return strerror(number);
}

static struct sorting {
    int (*compare)(const void *, const void *, void *);
    void *context;
} sorting;

static int compare_in_context(const void *a, const void *b)
{
    return sorting.compare(a, b, sorting.context);
}

/* There is one thread, and a comparison may sort in its turn. */
void qsort_r(void *items, size_t count, size_t size, int (*compare)(const void *, const void *, void *), void *context)
{
    struct sorting before = sorting;
    sorting = (struct sorting){compare, context};
    qsort(items, count, size, compare_in_context);
    sorting = before;
}
