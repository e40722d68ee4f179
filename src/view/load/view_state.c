/* Names, times and leaves of a timeline: see view_state.h. */
#include "view_state.h"

#include <string.h>

#include "base/array.h"
#include "base/json_write.h"
#include "base/utf8.h"

const char *view_name(struct view *view, uint32_t name, size_t *length)
{
    if (name < VIEW_OWN_NAME)
        return report_string(view->report, name, length);
    uint32_t own = name - VIEW_OWN_NAME;
    if (length)
        *length = own < view->own_names.count ? view->own_names.strings[own].length : 0;
    return own < view->own_names.count ? view->own_names.strings[own].bytes : "";
}

enum { NAME_SHOWN = 4096 }; /* characters */

void view_add_name(struct view *view, struct text *out, uint32_t name)
{
    size_t length, shown = 0, characters = 0;
    const char *bytes = view_name(view, name, &length);

    if (length > NAME_SHOWN) {
        for (; shown < length && characters < NAME_SHOWN; characters++) {
            uint32_t character;
            size_t taken = utf8_decode(bytes + shown, length - shown, &character);
            shown += taken ? taken : 1;
        }
        length = shown;
    }
    json_add_text(out, bytes, length);
}

uint32_t view_own_name(struct view *view, const char *text)
{
    /* looking up a text changes nothing, so that any thread may do it */
    int64_t id = intern_find(&view->own_names, text, strlen(text));

    id = id < 0 ? intern_add(&view->own_names, text, strlen(text)) : id;

    return id < 0 || id >= VIEW_OWN_NAME ? (uint32_t)VIEW_NAME_NONE : (uint32_t)(VIEW_OWN_NAME + id);
}

int64_t view_time(const struct view *view, int64_t time_ns)
{
    int64_t time;

    if (__builtin_sub_overflow(time_ns, view->origin_ns, &time))
        return time_ns < view->origin_ns ? -VIEW_LAST_TIME : VIEW_LAST_TIME;
    return time < -VIEW_LAST_TIME ? -VIEW_LAST_TIME : time > VIEW_LAST_TIME ? VIEW_LAST_TIME : time;
}

int64_t view_report_time(const struct view *view, int64_t time)
{
    int64_t time_ns;

    if (__builtin_add_overflow(time, view->origin_ns, &time_ns))
        return time < 0 ? INT64_MIN : INT64_MAX;
    return time_ns;
}

int view_add_leaf(struct view *view, const struct view_leaf *leaf)
{
    return ARRAY_PUSH(view->leaves, view->leaf_capacity, view->leaf_count, *leaf);
}
