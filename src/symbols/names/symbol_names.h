/* Maps addresses to functions. Symbol tables are read once, from end to end, and each symbol is checked against the
 * wanted addresses. So tables of a million symbols are neither sorted nor kept. */
#ifndef TACHO_SYMBOLS_NAMES_SYMBOL_NAMES_H
#define TACHO_SYMBOLS_NAMES_SYMBOL_NAMES_H

#include "base/arena.h"
#include "symbols/elf/elf_image.h"

struct name {
    const char *text;    /* NULL: none */
    uint64_t start, end; /* end: of what it may reach to, where its size is not known */
    uint32_t rank;
};

/* The best names so far of one address. */
struct name_choice {
    struct name inside; /* of what is known to hold it */
    struct name before; /* of what has no size and begins at or before it, behind the address that
                         * is wanted before this one */
    uint64_t closest;   /* where the nearest function begins, in the same range */
};

struct names {
    const uint64_t *addresses; /* wanted, sorted */
    struct name_choice *found; /* for each */
    size_t count;
    struct arena arena;        /* texts */
    uint64_t steps;
    int last_wins;             /* of several the one of the largest rank, wherever it begins */
};

/* The addresses stay the caller's: 0, or -1 when memory is short. */
int symbol_names_begin(struct names *names, const uint64_t *addresses, size_t count);
void symbol_names_free(struct names *names);

/* A function as a table tells of it. */
struct names_symbol {
    uint64_t start, size; /* size 0: not known, … */
    uint64_t end;         /* … but that of its section, which it does not reach out of; 0: not known either */
    const char *text;     /* ends with a NUL or after `room` bytes */
    size_t room;
    uint32_t rank;        /* of several the largest is taken */
};
void symbol_names_add(struct names *names, const struct names_symbol *symbol);

/* Once all were added: then the name of the address of this number, or NULL. */
void symbol_names_settle(struct names *names);
const char *symbol_names_get(const struct names *names, size_t number);

/* All functions that a file tells of: its tables, the packed one of a stripped file, its entries into other files. */
typedef void (*names_visitor)(void *context, const struct names_symbol *symbol);
void symbol_names_visit_image(const struct image *image, names_visitor visit, void *context);
void symbol_names_add_image(struct names *names, const struct image *image);

#endif
