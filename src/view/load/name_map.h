/* Names by number, for columns that hold the numbers of names. Any worker may look up names once the map is sorted. */
#ifndef TACHO_VIEW_LOAD_NAME_MAP_H
#define TACHO_VIEW_LOAD_NAME_MAP_H

#include <stddef.h>
#include <stdint.h>

struct view_name_map {
    struct view_name_map_entry {
        int64_t number;
        uint32_t name; /* see view_state.h */
    } *list;           /* owned; by number */
    size_t count, capacity;
};

int view_name_map_add(struct view_name_map *map, int64_t number, uint32_t name); /* ERR_NO_MEMORY or 0 */
void view_name_map_sort(struct view_name_map *map);
uint32_t view_name_map_find(const struct view_name_map *map, int64_t number, uint32_t otherwise);

#endif
