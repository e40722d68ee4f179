/* One rank after the other is opened as a report, so that memory is needed for the events of one, and for the tables of
 * all. */
#include "run_by.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/report_options.h"
#include "analyze/engine/table_by.h"
#include "analyze/findings/findings.h"
#include "base/array.h"
#include "report/reader/unite.h"

enum set_by run_by_find(const char *name)
{
    return !name ? SET_BY_NONE : strcmp(name, "rank") == 0 ? SET_BY_RANK : SET_BY_HOST;
}

/* The request of a group: its own part of the time, and all rows, since a name that is among the first of one rank may
 * be among the last of another. */
static int run_by_group(const struct run_by *by, const struct analysis *analysis, struct report *group,
                        const struct analysis_request *request, struct table **out, struct error *err)
{
    const struct selection_item nothing = { .analysis = analysis };
    struct analysis_option *options = array_alloc(request->option_count + 1, sizeof *options);
    struct selection_part part = { 0 };
    size_t count = 0;
    int code;

    if (!options)
        return error_no_memory(err);
    if ((code = selection_part_find(by->part, group, &part, err)) != 0)
        goto free_part;
    for (size_t i = 0; i < request->option_count; i++)
        if (strcmp(request->options[i].name, "rows") != 0)
            options[count++] = request->options[i];
    struct analysis_request own = selection_part_request(&part, &nothing);
    own.options = options;
    own.option_count = count;
    code = analysis_run(analysis, group, &own, out, err);
free_part:
    selection_part_free(&part);
    free(options);
    return code;
}

static int run_by_groups(const struct run_by *by, const struct analysis *analysis, const struct set_groups *groups,
                         struct report *report, const struct analysis_request *request, struct table_by_part *parts,
                         struct error *err)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct report *group;
        int code = set_group_open(groups, i, report, &group, err);
        if (code != 0)
            return code;
        parts[i] = (struct table_by_part){ .number = groups->list[i].rank, .text = groups->list[i].host };
        code = run_by_group(by, analysis, group, request, &parts[i].table, err);
        report_close(group);
        if (code != 0 && code != ERR_NO_DATA)
            return code;
    }
    return 0;
}

/* Whether the report has rows for each rank, or host, by itself. */
static int have_label(const struct table_by_part *parts, size_t count, const char *label)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].table && table_find_column(parts[i].table, label) != TABLE_NO_COLUMN)
            return 1;
    return 0;
}

int run_by_analysis(const struct run_by *by, const struct analysis *analysis, struct report *report,
                    const struct analysis_request *request, struct table **out, struct error *err)
{
    struct table_by_request joined = { .report = analysis->name,
                                       .label = "Rank",
                                       .spread = { "Min over Ranks", "Med over Ranks", "Max over Ranks" } };
    struct set_groups groups = { 0 };
    struct table_by_part *parts = NULL;
    int code;

    if (by->by == SET_BY_NONE && by->share && run_share_divides(by->share, analysis))
        return run_share_analysis(by->share, analysis, request, out, err);
    if (by->share && !analysis_missing(analysis, report))
        fprintf(stderr, "tacho: %s cannot be divided; one process computes it\n",
                report_part_count(report) > 1 ? analysis->name : "one report");
    if (by->by == SET_BY_NONE)
        return findings_run(analysis, report, request, out, err);
    if (by->by == SET_BY_HOST)
        joined = (struct table_by_request){ .report = analysis->name,
                                            .label = "Host",
                                            .has_texts = 1,
                                            .spread = { "Min over Hosts", "Med over Hosts", "Max over Hosts" } };
    if ((code = option_number(request, "rows", -1, -1, INT64_MAX, &joined.rows, err)) != 0)
        return code;
    if ((code = set_groups_make(&groups, report, by->by, err)) != 0)
        goto free_groups;
    parts = calloc(groups.count + 1, sizeof *parts);
    if (!parts && (code = error_no_memory(err)) != 0)
        goto free_groups;
    if ((code = run_by_groups(by, analysis, &groups, report, request, parts, err)) != 0)
        goto free_tables;
    code = have_label(parts, groups.count, joined.label) ? analysis_run(analysis, report, request, out, err)
                                                         : table_by_make(parts, groups.count, &joined, out, err);
free_tables:
    for (size_t i = 0; i < groups.count; i++)
        table_delete(parts[i].table);
    free(parts);
free_groups:
    set_groups_free(&groups);
    return code;
}
