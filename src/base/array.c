/* Growing arrays; see array.h. */
#include "array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 1024u

int array_reserve(void *list, size_t *room, size_t wanted, size_t element_bytes)
{
    void *now;
    if (wanted <= *room)
        return 0;
    size_t more = 2 * *room + FIRST_BYTES / element_bytes + 1;
    if (more < wanted)
        more = wanted;
    if (more > SIZE_MAX / element_bytes)
        return -1;
    memcpy(&now, list, sizeof now); /* a pointer to elements of any type */
    void *grown = realloc(now, more * element_bytes);
    if (!grown)
        return -1;
    memcpy(list, &grown, sizeof grown);
    *room = more;
    return 0;
}
