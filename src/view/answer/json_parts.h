/* Members of JSON objects, each with a comma behind it that json_end() takes off the last. */
#ifndef TACHO_VIEW_ANSWER_JSON_PARTS_H
#define TACHO_VIEW_ANSWER_JSON_PARTS_H

#include <string.h>

#include "base/json_write.h"

static inline void json_string(struct text *out, const char *member, const char *text)
{
    text_addf(out, "\"%s\":", member);
    json_add_text(out, text, strlen(text));
    text_add_char(out, ',');
}

static inline void json_int(struct text *out, const char *member, int64_t value)
{
    text_addf(out, "\"%s\":%lld,", member, (long long)value);
}

static inline void json_end(struct text *out, const char *end)
{
    if (!text_failed(out) && out->length && out->bytes[out->length - 1] == ',')
        out->bytes[--out->length] = 0;
    text_add(out, end);
}

#endif
