/* Writes an event: see event_json.h. */
#include "event_json.h"

#include "view/load/event_search.h"

void view_add_event_members(struct view *view, struct text *out, int row, uint32_t event)
{
    const struct view_events *events = &view->rows[row].events;

    text_addf(out, "\"row\":%d,\"event\":%u,\"name\":", row, event);
    view_add_name(view, out, event_name(events, event));
    text_addf(out, ",\"from\":%lld,\"to\":%lld", (long long)view_time(view, events->start_ns[event]),
              (long long)view_time(view, event_end(events, event)));
}

void view_add_event(struct view *view, struct text *out, int row, uint32_t event)
{
    text_add_char(out, '{');
    view_add_event_members(view, out, row, event);
    text_add_char(out, '}');
}
