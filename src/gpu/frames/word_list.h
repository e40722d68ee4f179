/* Lists of words with commas between them, as they come in options. */
#ifndef TACHO_GPU_FRAMES_WORD_LIST_H
#define TACHO_GPU_FRAMES_WORD_LIST_H

#include <stddef.h>
#include <string.h>

/* The next word; *list moves behind it. 0: there is none. Words may be empty. */
static inline int word_list_next(const char **list, const char **word, size_t *length)
{
    if (!*list || !**list)
        return 0;
    *word = *list;
    *length = strcspn(*list, ",");
    *list += *length + ((*list)[*length] == ',');
    return 1;
}

#endif
