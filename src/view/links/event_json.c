/* Writes an event: see event_json.h. */
#include "event_json.h"

#include "base/json_write.h"
#include "view/load/event_search.h"

void view_add_event_members(struct view *view, struct text *out, int row, uint32_t event)
{
    const struct view_events *events = &view->rows[row].events;

    json_addf(out, "'row':%d,'event':%u,'name':", row, event);
    view_add_name(view, out, event_name(events, event));
    json_addf(out, "'from':%jd,'to':%jd", view_time(view, events->start_ns[event]),
              view_time(view, event_end(events, event)));
}

void view_add_event(struct view *view, struct text *out, int row, uint32_t event)
{
    json_addf(out, "{");
    view_add_event_members(view, out, row, event);
    text_add_char(out, '}');
}
