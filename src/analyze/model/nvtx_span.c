/* The time of one NVTX range, named as on a command line: RANGE[@DOMAIN][/INDEX]. */
#include "nvtx_span.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "ranges.h"

struct range_name {
    char text[512];             /* the parts, each ended by a NUL */
    const char *range, *domain; /* domain NULL: none was given */
    size_t index;
};

static int nvtx_span_is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10;
}

/* Cuts at the last @ and, after it, at a slash with a number; a backslash keeps the next character as it is. */
static int nvtx_span_parse_name(const char *from, struct range_name *out)
{
    char *at = out->text, *domain = NULL, *slash = NULL;

    if (strlen(from) >= sizeof out->text)
        return 0;
    for (; *from; from++) {
        int literal = *from == '\\' && from[1];
        from += literal;
        if (!literal && *from == '@')
            domain = at;
        if (!literal && *from == '/')
            slash = at;
        *at++ = *from;
    }
    *at = 0;
    out->index = 0;
    if (slash && nvtx_span_is_number(slash + 1) && (!domain || slash > domain)) {
        out->index = (size_t)strtoul(slash + 1, NULL, 10);
        *slash = 0;
    }
    out->range = out->text;
    out->domain = domain ? domain + 1 : NULL;
    if (domain)
        *domain = 0;
    return *out->range != 0;
}

static int nvtx_span_by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return COMPARE(x->start_ns, y->start_ns) ?: COMPARE(x->row, y->row);
}

/* Keeps the ranges of this name and domain, and returns how many there are. */
static size_t nvtx_span_keep(struct ranges *ranges, struct report *report, const struct range_name *name,
                             int any_domain)
{
    int64_t wanted = report_find_string(report, name->range, strlen(name->range)), domain = NVTX_NO_NAME;
    size_t kept = 0;

    if (!any_domain && name->domain && *name->domain) {
        domain = report_find_string(report, name->domain, strlen(name->domain));
        if (domain < 0) /* -1 would stand for the default domain */
            return 0;
    }
    for (size_t i = 0; i < ranges->count && wanted >= 0; i++)
        if (ranges->list[i].name == wanted && (any_domain || ranges->list[i].domain == domain))
            ranges->list[kept++] = ranges->list[i];
    if (kept)
        qsort(ranges->list, kept, sizeof *ranges->list, nvtx_span_by_start);
    return kept;
}

static int has_default(const struct ranges *ranges, int64_t name)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->list[i].name == name && ranges->list[i].domain == NVTX_NO_NAME)
            return 1;
    return 0;
}

int nvtx_span_find(struct report *report, const char *range, struct report_span *out, struct error *err)
{
    const struct filter everything = { 0 };
    struct range_name name;
    struct ranges ranges;
    int code;

    if (!nvtx_span_parse_name(range, &name))
        return error_set(err, ERR_BAD_ARGUMENT,
                         "invalid NVTX range '%s': use RANGE, RANGE@DOMAIN or "
                         "RANGE/INDEX",
                         range);
    if ((code = ranges_read(&ranges, report, RANGE_PUSHPOP | RANGE_STARTEND | RANGE_CROSSING, &everything, err)) != 0)
        return code;
    /* Without a domain the default one is meant, and any if that has no such range. */
    int any = name.domain ? strcmp(name.domain, "*") == 0
                          : !has_default(&ranges, report_find_string(report, name.range, strlen(name.range)));
    size_t count = nvtx_span_keep(&ranges, report, &name, any);
    if (name.index < count)
        *out = (struct report_span){ ranges.list[name.index].start_ns, ranges.list[name.index].end_ns };
    else if (count)
        code = error_set(err, ERR_NOT_FOUND, "no NVTX range '%s': the report has %zu of that name, counted from 0",
                         range, count);
    else
        code = error_set(err, ERR_NOT_FOUND, "the report has no NVTX range '%s'", range);
    ranges_free(&ranges);
    return code;
}
