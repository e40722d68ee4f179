/* Maps numbers to names: see name_map.h. */
#include "name_map.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

int view_name_map_add(struct view_name_map *map, int64_t number, uint32_t name)
{
    return ARRAY_PUSH(map->list, map->capacity, map->count, (struct view_name_map_entry){ number, name });
}

static int name_map_by_number(const void *a, const void *b)
{
    const struct view_name_map_entry *x = a, *y = b;

    return COMPARE(x->number, y->number);
}

void view_name_map_sort(struct view_name_map *map)
{
    int is_sorted = 1;

    for (size_t i = 1; i < map->count && is_sorted; i++)
        is_sorted = map->list[i - 1].number <= map->list[i].number;
    if (!is_sorted)
        qsort(map->list, map->count, sizeof *map->list, name_map_by_number);
}

uint32_t view_name_map_find(const struct view_name_map *map, int64_t number, uint32_t otherwise)
{
    size_t first = BISECT(0, map->count, i, map->list[i].number < number);

    return first < map->count && map->list[first].number == number ? map->list[first].name : otherwise;
}
