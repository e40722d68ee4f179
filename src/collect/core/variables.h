/* The environment that a program gets, while it is made. */
#ifndef TACHO_COLLECT_CORE_VARIABLES_H
#define TACHO_COLLECT_CORE_VARIABLES_H

#include "collect/options/collect_options.h"

/* {0} at first. */
struct variables {
    char **entries; /* NAME=value, ended by NULL */
    size_t count, capacity;
    int failed;     /* memory was short */
};

/* The last value of a name wins, in the place of the first. */
void variables_set(struct variables *variables, const char *name, const char *value);

/* One more, of a name that is not there yet. */
void variables_add(struct variables *variables, const char *name, size_t name_length, const char *value);

/* The value that the program will see, from options and our own environment; NULL: unset. */
const char *variables_value(const struct collect_options *options, const char *name);

#endif
