/* Sorted tables of names: of a file's functions, of the kernel, of code that a program has made. */
#ifndef TACHO_SYMBOLS_NAMES_H
#define TACHO_SYMBOLS_NAMES_H

#include "../base/arena.h"
#include "image.h"

struct name {
    uint64_t start, end;   /* end == start: not known; as far as the next */
    const char *text;
    uint32_t rank;         /* of several at one place the largest counts */
};

struct names {
    struct name *entries;
    size_t count, capacity;
    struct arena arena;      /* texts that are in no piece */
    struct piece pieces[4];  /* tables of strings */
    size_t piece_count;
    void *unpacked;          /* a packed file whose tables are among the pieces */
    uint64_t last;           /* nothing reaches beyond this address */
};

/* {0} is an empty table. */
void names_free(struct names *names);
void names_add(struct names *names, uint64_t start, uint64_t size, const char *text, uint32_t rank);
void names_sort(struct names *names); /* once all were added, before the first names_find() */

/* All functions that a file tells of: its tables, the packed one of a stripped file, its entries into other files. */
void names_add_image(struct names *names, const struct image *image);

/* The function that holds an address, or NULL. */
const struct name *names_find(const struct names *names, uint64_t address);

#endif
