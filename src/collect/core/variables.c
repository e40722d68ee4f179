/* The environment of a program while it is built: see variables.h. */
#include "variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *variables_value(const struct collect_options *options, const char *name)
{
    for (size_t i = options->environment_count; i-- > 0;)
        if (strcmp(options->environment[i].name, name) == 0)
            return options->environment[i].value;
    return options->clean_environment ? NULL : getenv(name);
}

void variables_add(struct variables *variables, const char *name, size_t name_length, const char *value)
{
    size_t value_length = strlen(value);
    char *entry = malloc(name_length + value_length + 2);
    if (!entry || array_reserve(&variables->entries, &variables->capacity, variables->count + 2,
                                sizeof *variables->entries) != 0) {
        free(entry);
        variables->failed = 1;
        return;
    }
    memcpy(entry, name, name_length);
    entry[name_length] = '=';
    memcpy(entry + name_length + 1, value, value_length + 1);
    variables->entries[variables->count++] = entry;
    variables->entries[variables->count] = NULL;
}

void variables_set(struct variables *variables, const char *name, const char *value)
{
    size_t length = strlen(name);
    size_t found = variables->count;
    for (size_t i = 0; i < variables->count && found == variables->count; i++)
        if (strncmp(variables->entries[i], name, length) == 0 && variables->entries[i][length] == '=')
            found = i;
    variables_add(variables, name, length, value);
    if (found + 1 < variables->count) {
        free(variables->entries[found]);
        variables->entries[found] = variables->entries[--variables->count];
        variables->entries[variables->count] = NULL;
    }
}
