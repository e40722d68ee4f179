/* Values of the options that name a scope, old spellings included. */
#include "scope.h"

#include <string.h>

int scope_read(const char *option, const char *value, enum collect_scope *out, struct error *err)
{
    static const struct {
        const char *name;
        enum collect_scope scope;
    } scopes[] = {
        { "process-tree", COLLECT_SCOPE_TREE },
        { "system-wide", COLLECT_SCOPE_SYSTEM },
        { "none", COLLECT_SCOPE_NONE },
        /* old spellings */
        { "cpu", COLLECT_SCOPE_TREE },
        { "true", COLLECT_SCOPE_TREE },
        { "false", COLLECT_SCOPE_NONE },
    };

    for (size_t i = 0; i < COUNT_OF(scopes); i++)
        if (strcmp(scopes[i].name, value) == 0) {
            *out = scopes[i].scope;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "--%s must be process-tree, system-wide or none, not '%s'", option, value);
}
