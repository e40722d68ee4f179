/* What a capture recorded less of, with --cost-limit or because steps took too long, and when: TACHO_COST_LIMIT in
 * words. Events that it left out are no loss, but tables that are made of them have too few rows. */
#ifndef TACHO_ANALYZE_MODEL_LOWERED_DETAIL_H
#define TACHO_ANALYZE_MODEL_LOWERED_DETAIL_H

#include "base/text.h"
#include "report/reader/reader.h"

enum { LOWERED_SOURCES_MAX = 32 };

/* A source at its lowest level. Strings are those of the report. */
struct lowered_source {
    const char *source, *text; /* as in TACHO_COUNT; "OS calls were only counted" */
    int64_t level;
    int64_t from_ns, to_ns;    /* when it was first that low, and when it last ended; LOWERED_NO_END: it did not */
    int64_t now;               /* the level after its last row */
    size_t times;              /* how often it became that low */
};
#define LOWERED_NO_END INT64_MAX

struct lowered_detail {
    struct lowered_source list[LOWERED_SOURCES_MAX];
    size_t count;
    double limit; /* 0.05; 0: there is none */
};

/* A report without the table has no such sources. */
int lowered_detail_read(struct lowered_detail *out, struct report *report, struct error *err);

/* Whether a table is made of events of the source. */
int lowered_detail_concerns(const struct lowered_source *source, const char *table);

/* "from 2.10 s on OS calls were only counted" */
void lowered_detail_add(struct text *out, const struct lowered_source *source);

/* ", to keep the cost of recording below 5 %"; nothing without a limit. */
void lowered_detail_add_reason(struct text *out, const struct lowered_detail *detail);

#endif
