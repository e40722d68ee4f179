/* Lists that grow as one text and are answered in another order. */
#include "advice_list.h"

#include <stdlib.h>

#include "base/array.h"

void advice_list_free(struct advice_list *list)
{
    text_free(&list->text);
    free(list->members);
    *list = (struct advice_list){ 0 };
}

void advice_list_end_member(struct advice_list *list, size_t first, int64_t impact_ns)
{
    if (array_reserve(&list->members, &list->room, list->count + 1, sizeof *list->members) != 0)
        list->text.failed = 1;
    else
        list->members[list->count++] = (struct advice_member){ impact_ns, first, list->text.length - first };
}

static int by_impact(const void *a, const void *b)
{
    const struct advice_member *x = a, *y = b;
    int order = (x->impact_ns < y->impact_ns) - (x->impact_ns > y->impact_ns);

    return order ? order : (x->first > y->first) - (x->first < y->first);
}

/* Sorting moves members, never the text, so that one that failed can still be cut off by its place there. */
void advice_list_add_to(struct advice_list *list, struct text *out)
{
    if (list->count)
        qsort(list->members, list->count, sizeof *list->members, by_impact);
    for (size_t i = 0; i < list->count; i++) {
        text_add(out, i ? "," : "");
        text_add_bytes(out, list->text.bytes + list->members[i].first, list->members[i].length);
    }
}

void advice_list_cut(struct advice_list *list, size_t length)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (list->members[i].first < length)
            list->members[kept++] = list->members[i];
    list->count = kept;
    text_cut(&list->text, length);
}
