/* Parses the options that select a part of a report: patterns of tables, ranges of time, a shift of all times. */
#include "export_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/human.h"
#include "base/regex/regex.h"
#include "base/saturating.h"

int export_add_pattern(struct export_options *options, const char *pattern, struct error *err)
{
    struct error reason = { 0 };

    if (array_reserve(&options->patterns, &options->pattern_room, options->pattern_count + 1,
                      sizeof *options->patterns) != 0)
        return error_no_memory(err);
    struct regex *made = regex_compile(pattern, strlen(pattern), REGEX_BASIC | REGEX_IGNORE_CASE, &reason);
    if (!made)
        return error_set(err, reason.code, "invalid pattern '%s' for --tables: %s", pattern, reason.text);
    options->patterns[options->pattern_count++] = made;
    return 0;
}

int export_parse_time(const char *text, int64_t *out, struct error *err)
{
    if (human_read_time(text, strlen(text), out))
        return 0;
    return error_set(err, ERR_BAD_ARGUMENT,
                     "invalid time '%s': use a number, optionally followed by ns, us, ms or "
                     "s",
                     text);
}

int export_add_range(struct export_options *options, const char *range, struct error *err)
{
    struct report_span span = { INT64_MIN, INT64_MAX };
    const char *slash = strchr(range, '/');
    char start[64];

    if (!slash || (size_t)(slash - range) >= sizeof start)
        return error_set(err, ERR_BAD_ARGUMENT, "invalid time range '%s': use START/END; either may be omitted", range);
    memcpy(start, range, (size_t)(slash - range));
    start[slash - range] = '\0';
    if (*start && export_parse_time(start, &span.from_ns, err) != 0)
        return err->code;
    if (slash[1] && export_parse_time(slash + 1, &span.to_ns, err) != 0)
        return err->code;
    if (ARRAY_PUSH(options->ranges, options->range_room, options->range_count, span) != 0)
        return error_no_memory(err);
    return 0;
}

void export_options_free(struct export_options *options)
{
    for (size_t i = 0; i < options->pattern_count; i++)
        regex_free(options->patterns[i]);
    free(options->patterns);
    free(options->ranges);
}

int export_wants_table(const struct export_options *options, const char *name)
{
    for (size_t i = 0; i < options->pattern_count; i++)
        if (regex_matches(options->patterns[i], name, strlen(name)))
            return 1;
    return options->pattern_count == 0;
}

int export_table_path(struct text *out, const char *folder, const char *table, const char *ending, struct error *err)
{
    enum { NAME_MOST = 127 };

    text_addf(out, "%s/", folder);
    for (const char *c = table; *c && c - table < NAME_MOST; c++)
        text_add_char(out, isalnum((unsigned char)*c) ? *c : '_');
    text_addf(out, ".%s", ending);
    return text_failed(out) ? error_no_memory(err) : 0;
}

int export_wants_time(const struct export_options *options, int64_t start_ns, int64_t end_ns)
{
    for (size_t i = 0; i < options->range_count; i++)
        if (start_ns <= options->ranges[i].to_ns && end_ns >= options->ranges[i].from_ns)
            return 1;
    return options->range_count == 0;
}

/* The begin of the capture in UTC. */
static int export_options_read_begin(struct report *report, int64_t *out, struct error *err)
{
    static const char *const names[] = { "utcEpochNs", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TARGET_INFO_SESSION_START_TIME", names, err);

    if (code != 0)
        return code;
    if (row_cursor_next(&rows) && !row_is_null(&rows, 0))
        *out = row_int(&rows, 0);
    else
        code = error_set(err, ERR_NO_DATA, "--ts-normalize cannot convert times to UTC: the report has no start time");
    row_cursor_close(&rows);
    return code;
}

int export_shift(const struct export_options *options, struct report *report, int64_t *out, struct error *err)
{
    int64_t begin_ns = 0;
    int code;

    *out = options->shift_ns;
    if (!options->normalize)
        return 0;
    if ((code = export_options_read_begin(report, &begin_ns, err)) != 0)
        return code;
    *out = saturating_add(*out, begin_ns);
    return 0;
}
