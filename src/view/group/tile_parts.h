/* The parts of a tile, as docs/view-api.md describes them. */
#ifndef TACHO_VIEW_GROUP_TILE_PARTS_H
#define TACHO_VIEW_GROUP_TILE_PARTS_H

#include <stdint.h>

enum { TILE_PIXELS = 1024 };

struct tile_slice {
    double from, to;
    uint32_t event, name;
    uint8_t lane, work, colour, flags;
    uint32_t row; /* the row of the event */
};
struct tile_dense {
    uint16_t pixel, pixels;
    uint32_t count, name;
    uint8_t lane, work, colour, busy;
};
struct tile_point {
    double time, min, max, last;
};
struct tile_row_head {
    uint32_t row, kind, slices, parts;
};
_Static_assert(sizeof(struct tile_slice) == 32 && sizeof(struct tile_dense) == 16 && sizeof(struct tile_point) == 32 &&
                   sizeof(struct tile_row_head) == 16,
               "the page reads them as docs/view-api.md says");

/* Neighbours of one name whose shares (0 … 255) differ by so little are one dense part. */
enum { TILE_ALIKE = 8 };

static inline uint8_t tile_share(double busy, double of)
{
    double share = 255 * busy / of + 0.5;

    return share > 255 ? 255 : share > 0 ? (uint8_t)share : 0;
}

#endif
