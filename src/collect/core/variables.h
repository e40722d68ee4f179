/* The environment of a program while it is built. */
#ifndef TACHO_COLLECT_CORE_VARIABLES_H
#define TACHO_COLLECT_CORE_VARIABLES_H

#include "collect/options/collect_options.h"

/* Initialise with {0}. */
struct variables {
    char **entries; /* NAME=value, ended by NULL */
    size_t count, capacity;
    int failed;     /* out of memory */
};

/* Sets a variable. An existing one is replaced in its place, so the last value wins. */
void variables_set(struct variables *variables, const char *name, const char *value);

/* Appends a variable that must not exist yet. */
void variables_add(struct variables *variables, const char *name, size_t name_length, const char *value);

/* The value that the program will see, from the options and our own environment; NULL: not set. */
const char *variables_value(const struct collect_options *options, const char *name);

#endif
