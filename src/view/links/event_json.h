/* Events as parts of answers. */
#ifndef TACHO_VIEW_LINKS_EVENT_JSON_H
#define TACHO_VIEW_LINKS_EVENT_JSON_H

#include "view/load/view_state.h"

/* {"row", "event", "name", "from", "to"}, the EVENT of docs/view-api.md. */
void view_add_event(struct view *view, struct text *out, int row, uint32_t event);
/* Its members without the braces. */
void view_add_event_members(struct view *view, struct text *out, int row, uint32_t event);

#endif
