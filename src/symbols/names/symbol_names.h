/* Maps addresses to functions. Symbol tables are read once, from end to end, and each symbol is checked against the
 * wanted addresses. So tables of a million symbols are neither sorted nor kept. */
#ifndef TACHO_SYMBOLS_NAMES_SYMBOL_NAMES_H
#define TACHO_SYMBOLS_NAMES_SYMBOL_NAMES_H

#include "base/arena.h"
#include "symbols/elf/elf_image.h"

struct symbol_name {
    const char *text;    /* NULL: none */
    uint64_t start, end; /* end: of what it may reach to, where its size is not known */
    uint32_t rank;
};

/* The best names so far of one address. */
struct symbol_name_choice {
    struct symbol_name inside; /* of what is known to hold it */
    struct symbol_name before; /* of what has no size and begins at or before it, behind the address that
                                * is wanted before this one */
    uint64_t closest;          /* where the nearest function begins, in the same range */
};

struct symbol_names {
    const uint64_t *addresses;        /* wanted, sorted */
    struct symbol_name_choice *found; /* for each */
    size_t count;
    struct arena arena;               /* texts */
    uint64_t steps;
    int last_wins;                    /* of several the one of the largest rank, wherever it begins */
};

/* The addresses stay the caller's: 0, or -1 when memory is short. */
int symbol_names_begin(struct symbol_names *names, const uint64_t *addresses, size_t count);
void symbol_names_free(struct symbol_names *names);

/* A function as a table tells of it. */
struct symbol_names_entry {
    uint64_t start, size; /* size 0: not known, … */
    uint64_t end;         /* … but that of its section, which it does not reach out of; 0: not known either */
    const char *text;     /* ends with a NUL or after `room` bytes */
    size_t room;
    uint32_t rank;        /* of several the largest is taken */
};
void symbol_names_add(struct symbol_names *names, const struct symbol_names_entry *symbol);

/* Once all were added: then the name of the address of this number, or NULL. */
void symbol_names_settle(struct symbol_names *names);
const char *symbol_names_get(const struct symbol_names *names, size_t number);

/* All functions that a file tells of: its tables, the packed one of a stripped file, its entries into other files. */
typedef void (*symbol_names_visitor)(void *context, const struct symbol_names_entry *symbol);
void symbol_names_visit_image(const struct elf_image *image, symbol_names_visitor visit, void *context);
void symbol_names_add_image(struct symbol_names *names, const struct elf_image *image);

#endif
