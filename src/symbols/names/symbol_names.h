/* Maps addresses to functions, and to variables. Symbol tables are read once, from end to end, and each symbol is
 * checked against the wanted addresses. So tables of a million symbols are neither sorted nor kept. */
#ifndef TACHO_SYMBOLS_NAMES_SYMBOL_NAMES_H
#define TACHO_SYMBOLS_NAMES_SYMBOL_NAMES_H

#include "base/arena.h"
#include "symbols/elf/elf_image.h"

struct symbol_name {
    const char *text;    /* NULL: none */
    uint64_t start, end; /* end: the upper limit if its size is unknown */
    uint32_t rank;
};

/* The best names so far for one address. */
struct symbol_name_choice {
    struct symbol_name inside; /* a symbol that contains it */
    /* A symbol without a size that begins at or before it, but after the previous wanted address. */
    struct symbol_name before;
    uint64_t closest; /* start of the nearest function, in the same range */
};

struct symbol_names {
    const uint64_t *addresses;        /* to look up, sorted */
    struct symbol_name_choice *found; /* for each address */
    size_t count;
    struct arena arena;               /* for texts */
    uint64_t steps;
    /* The largest rank wins, wherever the symbol begins. */
    int last_wins;
};

/* The caller keeps the addresses: 0, or -1 if out of memory. */
int symbol_names_begin(struct symbol_names *names, const uint64_t *addresses, size_t count);
void symbol_names_free(struct symbol_names *names);

/* A function or a variable from a symbol table. */
struct symbol_names_entry {
    uint64_t start, size; /* size 0: unknown */
    uint64_t end;         /* end of its section, an upper limit if the size is unknown; 0: unknown too */
    const char *text;     /* ends with a NUL or after `room` bytes */
    size_t room;
    uint32_t rank;        /* the largest one wins */
};
void symbol_names_add(struct symbol_names *names, const struct symbol_names_entry *symbol);

/* Call symbol_names_settle() after the last symbol_names_add(); then get the name of an address by its index, or
 * NULL. */
void symbol_names_settle(struct symbol_names *names);
const char *symbol_names_get(const struct symbol_names *names, size_t number);

/* Visits all functions and variables of a file: its symbol tables, the compressed one of a stripped file, and its PLT.
 */
typedef void (*symbol_names_visitor)(void *context, const struct symbol_names_entry *symbol);
void symbol_names_visit_image(const struct elf_image *image, symbol_names_visitor visit, void *context);
void symbol_names_add_image(struct symbol_names *names, const struct elf_image *image);

#endif
