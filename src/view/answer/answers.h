/* One function for each request, also of folders above, called through the table in timeline.c. */
#ifndef TACHO_VIEW_ANSWER_ANSWERS_H
#define TACHO_VIEW_ANSWER_ANSWERS_H

#include "arguments.h"
#include "view/load/view_state.h"

#define REQUEST(name, ...)                                                                                             \
    int view_##name(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
#include "requests.def"
#undef REQUEST

#endif
