/* The time of one NVTX range, found by its name: what a report can be restricted to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze.h"
#include "ranges.h"

/* RANGE[@DOMAIN][/INDEX], taken apart. */
struct wanted {
    struct text name, domain;
    int has_domain;
    int64_t index;
};

/* Copies up to a character of stop that no backslash precedes; returns where it stopped. */
static const char *take(struct text *out, const char *from, const char *stop)
{
    for (; *from && !strchr(stop, *from); from++) {
        if (*from == '\\' && from[1])
            from++;
        text_add_char(out, *from);
    }
    return from;
}

static int parse(const char *text, struct wanted *wanted, struct error *err)
{
    char *end;
    const char *at = take(&wanted->name, text, "@/");

    if (*at == '@') {
        wanted->has_domain = 1;
        at = take(&wanted->domain, at + 1, "/");
    }
    if (*at == '/') {
        errno = 0;
        wanted->index = strtoll(at + 1, &end, 10);
        if (errno || *end || end == at + 1 || wanted->index < 0)
            return error_set(err, ERR_BAD_ARGUMENT, "'%s' is not the number of a range; a / in its name is written \\/", at + 1);
    }
    return text_failed(&wanted->name) || text_failed(&wanted->domain) ? error_set(err, ERR_NO_MEMORY, "out of memory") : 0;
}

static int is_text(struct report *report, int64_t id, const struct text *text)
{
    size_t length = 0;
    const char *bytes = id == NVTX_NO_NAME ? "" : report_string(report, id, &length);

    return length == text->length && memcmp(bytes, text_string(text), length) == 0;
}

static int matches(struct report *report, const struct range *range, const struct wanted *wanted)
{
    if (!is_text(report, range->name, &wanted->name))
        return 0;
    if (!wanted->has_domain)
        return range->domain == NVTX_NO_NAME;
    return strcmp(text_string(&wanted->domain), "*") == 0 || is_text(report, range->domain, &wanted->domain);
}

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->start_ns != y->start_ns ? (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns) : (x->row > y->row) - (x->row < y->row);
}

int analysis_nvtx_span(struct report *report, const char *range, struct report_span *out, struct error *err)
{
    struct wanted wanted = {0};
    struct filter everything = {0};
    struct ranges ranges = {0};
    size_t found = 0;
    int code = parse(range, &wanted, err);

    if (code == 0)
        code = ranges_read(&ranges, report, RANGE_PUSHPOP | RANGE_STARTEND, &everything, err);
    for (size_t i = 0; i < ranges.count; i++)
        if (matches(report, &ranges.list[i], &wanted))
            ranges.list[found++] = ranges.list[i];
    if (found)
        qsort(ranges.list, found, sizeof *ranges.list, by_start);
    if (code == 0 && (uint64_t)wanted.index >= found)
        code = error_set(err, ERR_NOT_FOUND, "there is no NVTX range '%s' in the report (%zu of that name)", range, found);
    if (code == 0)
        *out = (struct report_span){ ranges.list[wanted.index].start_ns, ranges.list[wanted.index].end_ns };
    ranges_free(&ranges);
    text_free(&wanted.name);
    text_free(&wanted.domain);
    return code;
}
