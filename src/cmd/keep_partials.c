/* Chooses which results a report keeps; see keep_partials.h. */
#include "keep_partials.h"

#include "analyze/engine/stored_partials.h"
#include "analyze/registry.h"
#include "base/text.h"
#include "report/reader/partial_chunks.h"
#include "report/writer/append_partials.h"

enum { MOST_KEPT = 64 };
#define MOST_ROWS UINT64_C(4000000) /* in the tables of a result: some tenths of a second */

struct keeping {
    struct report *report;
    struct text bytes[MOST_KEPT];
    struct kept_partial kept[MOST_KEPT];
    size_t count, left; /* left: bytes that may be added */
};

/* A report that cannot have a result is read like any other. */
static int keep_one(struct keeping *keeping, const struct analysis *analysis, const struct analysis_option *option,
                    struct error *err)
{
    const struct analysis_request request = { .options = option, .option_count = option != NULL };
    struct text *bytes = &keeping->bytes[keeping->count];
    int code;

    if (keeping->count == MOST_KEPT || analysis_missing(analysis, keeping->report) ||
        analysis_rows(analysis, keeping->report) > MOST_ROWS)
        return 0;
    code = stored_partial_make(analysis, keeping->report, &request, bytes, err);
    if (code != 0 && code != ERR_NO_DATA)
        return code;
    if (code == ERR_NO_DATA || bytes->length > keeping->left) {
        text_free(bytes);
        return 0;
    }
    keeping->left -= bytes->length;
    keeping->kept[keeping->count++] = (struct kept_partial){ stored_partial_key(analysis, &request), text_string(bytes),
                                                             bytes->length };
    return 0;
}

static int keep_all(struct keeping *keeping, struct error *err)
{
    const struct analysis *stored[MOST_KEPT];
    size_t count = analysis_stored(stored, MOST_KEPT);
    int code;

    for (size_t i = 0; i < count; i++) {
        const struct analysis_option *for_people = &stored[i]->for_people;
        if ((code = keep_one(keeping, stored[i], NULL, err)) != 0)
            return code;
        if (for_people->name && (code = keep_one(keeping, stored[i], for_people, err)) != 0)
            return code;
    }
    return 0;
}

int keep_partials(const char *path, struct report *report, struct error *err)
{
    struct report_health health = report_health(report);
    struct keeping keeping = { .report = report, .left = report_partials_limit(health.file_bytes) };
    int code;

    if (!health.has_index || !health.complete || health.recovered || health.damaged_chunks)
        return 0;
    if ((code = keep_all(&keeping, err)) != 0)
        goto free_bytes;
    if (keeping.count)
        code = report_append_partials(path, report, keeping.kept, keeping.count, err);
free_bytes:
    for (size_t i = 0; i < MOST_KEPT; i++)
        text_free(&keeping.bytes[i]);
    return code;
}
