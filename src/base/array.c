/* Growing arrays; see array.h. */
#include "array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BYTES 256u /* small, because a caller may have tens of thousands of short arrays */
enum { PAGE_BYTES = 4096, LARGE_BYTES = 4 << 20 };

/* Memory that is read at random takes half as long in huge pages, and the kernel less time to provide it. */
static void use_huge_pages(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    size_t before = (uintptr_t)block % PAGE_BYTES;

    if (bytes >= LARGE_BYTES)
        madvise((char *)block - before, bytes + before, MADV_HUGEPAGE); /* or not, where there are none */
#endif
}

void *array_alloc(size_t count, size_t element_bytes)
{
    void *list = count > SIZE_MAX / element_bytes ? NULL : malloc(count * element_bytes);

    if (list)
        use_huge_pages(list, count * element_bytes);
    return list;
}

int array_grow(void *list, size_t *room, size_t wanted, size_t most, size_t element_bytes)
{
    void *now;
    if (most > SIZE_MAX / element_bytes)
        most = SIZE_MAX / element_bytes;
    if (wanted > most)
        return -1;
    size_t more = *room < most / 2 ? 2 * *room + FIRST_BYTES / element_bytes + 1 : most;
    if (more > most)
        more = most;
    if (more < wanted)
        more = wanted;
    memcpy(&now, list, sizeof now); /* a pointer to elements of any type */
    void *grown = realloc(now, more * element_bytes);
    if (!grown)
        return -1;
    use_huge_pages(grown, more * element_bytes);
    memcpy(list, &grown, sizeof grown);
    *room = more;
    return 0;
}

int array_grow_zeroed(void *list, size_t *room, size_t wanted, size_t most, size_t element_bytes)
{
    size_t had = *room;
    unsigned char *bytes;
    if (array_grow(list, room, wanted, most, element_bytes) != 0)
        return -1;
    memcpy(&bytes, list, sizeof bytes);
    memset(bytes + had * element_bytes, 0, (*room - had) * element_bytes);
    return 0;
}

#define ARRAY_BY(name, type)                                                                                           \
    int name(const void *a, const void *b)                                                                             \
    {                                                                                                                  \
        type x = *(const type *)a, y = *(const type *)b;                                                               \
                                                                                                                       \
        return COMPARE(x, y);                                                                                          \
    }
ARRAY_BY(array_by_int64, int64_t)
ARRAY_BY(array_by_uint32, uint32_t)
ARRAY_BY(array_by_uint64, uint64_t)
ARRAY_BY(array_by_double, double)
