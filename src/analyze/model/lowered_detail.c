/* TACHO_COST_LIMIT in words: see lowered_detail.h. */
#include "lowered_detail.h"

#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/human.h"
#include "base/number.h"
#include "event_counts.h"

static struct lowered_source *lowered_detail_find(struct lowered_detail *detail, const char *source)
{
    for (size_t i = 0; i < detail->count; i++)
        if (strcmp(detail->list[i].source, source) == 0)
            return &detail->list[i];
    if (detail->count == LOWERED_SOURCES_MAX)
        return NULL;
    detail->list[detail->count] = (struct lowered_source){ .source = source, .text = "" };
    return &detail->list[detail->count++];
}

static void lowered_detail_take(struct lowered_source *source, int64_t time_ns, int64_t level, const char *text)
{
    if (level > source->level) {
        source->level = level;
        source->text = text;
        source->from_ns = time_ns;
        source->times = 0;
    }
    if (level == source->level && level) {
        source->times += source->now != level || !source->times;
        source->to_ns = LOWERED_NO_END;
    } else if (source->now == source->level) {
        source->to_ns = time_ns;
    }
    source->now = level;
}

int lowered_detail_read(struct lowered_detail *out, struct report *report, struct error *err)
{
    enum { TIME, SOURCE, LEVEL, TEXT, LIMIT };
    static const char *const names[] = { "timestamp", "source", "level", "text", "limitShare", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_COST_LIMIT", names, err);

    *out = (struct lowered_detail){ 0 };
    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct lowered_source *source = lowered_detail_find(out,
                                                            report_string(report, row_int_or(&rows, SOURCE, -1), NULL));
        if (source)
            lowered_detail_take(source, row_int_or(&rows, TIME, 0), row_int_or(&rows, LEVEL, 0),
                                report_string(report, row_int_or(&rows, TEXT, -1), NULL));
        if (!row_is_null(&rows, LIMIT))
            out->limit = row_real(&rows, LIMIT);
    }
    row_cursor_close(&rows);
    return 0;
}

int lowered_detail_concerns(const struct lowered_source *source, const char *table)
{
    return source->level > 0 && counted_source_concerns(source->source, table);
}

void lowered_detail_add(struct text *out, const struct lowered_source *source)
{
    text_add(out, source->times > 1 ? "several times from " : "from ");
    human_time(out, source->from_ns);
    if (source->to_ns == LOWERED_NO_END) {
        text_add(out, " on ");
    } else {
        text_add(out, " to ");
        human_time(out, source->to_ns);
        text_add_char(out, ' ');
    }
    text_add(out, source->text);
}

void lowered_detail_add_reason(struct text *out, const struct lowered_detail *detail)
{
    if (detail->limit <= 0)
        return; /* the text says why */
    text_add(out, ", to keep the cost of recording below ");
    number_add_shortest(out, detail->limit * 100);
    text_add(out, " %");
}
