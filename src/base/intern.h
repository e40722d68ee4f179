/* An intern table maps byte strings to small numbers: equal bytes get the same number, counted from 0.
 *
 * The table copies the bytes and keeps them until it is freed. It is not thread-safe. */
#ifndef TACHO_BASE_INTERN_H
#define TACHO_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "hash_index.h"

struct intern_string {
    const char *bytes; /* a NUL follows */
    size_t length;
};

struct intern {
    struct arena arena;
    struct intern_string *strings; /* by id */
    size_t count, capacity;
    struct hash_index index;
};

/* {0} is a valid empty table. */
void intern_init(struct intern *intern);
void intern_free(struct intern *intern);

/* The id of these bytes, which are added if they are new; -1 when memory is short. */
int64_t intern_add(struct intern *intern, const void *bytes, size_t length);

/* The same without copying: the bytes must outlive the table. */
int64_t intern_add_borrowed(struct intern *intern, const char *bytes, size_t length);

/* The id of these bytes, or -1 if they were never added. */
int64_t intern_find(const struct intern *intern, const void *bytes, size_t length);

#endif
