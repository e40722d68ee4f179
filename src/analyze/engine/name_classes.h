/* The class that a name has for an analysis, found once for each name: there are millions of events, and hundreds of
 * names.
 *
 *     struct name_classes kinds;
 *     if (name_classes_open(&kinds, name_count, kind_of, context) != 0)
 *         return ERR_NO_MEMORY;
 *     … name_class(&kinds, event->name) …
 *     name_classes_free(&kinds); */
#ifndef TACHO_ANALYZE_ENGINE_NAME_CLASSES_H
#define TACHO_ANALYZE_ENGINE_NAME_CLASSES_H

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"

/* The class of a name, from 0 to 254. */
typedef int name_class_of(const void *context, uint32_t name);

struct name_classes {
    uint8_t *list; /* owned; by name: its class plus 1; 0: not asked yet */
    name_class_of *of;
    const void *context;
};

/* ERR_NO_MEMORY or 0. */
static inline int name_classes_open(struct name_classes *classes, size_t names, name_class_of *of, const void *context)
{
    *classes = (struct name_classes){ calloc(names + 1, 1), of, context };
    return classes->list ? 0 : ERR_NO_MEMORY;
}

static inline void name_classes_free(struct name_classes *classes)
{
    free(classes->list);
    *classes = (struct name_classes){ 0 };
}

static inline int name_class(const struct name_classes *classes, uint32_t name)
{
    if (!classes->list[name])
        classes->list[name] = (uint8_t)(classes->of(classes->context, name) + 1);
    return classes->list[name] - 1;
}

#endif
