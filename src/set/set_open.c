/* Opens the files of a set, puts them in the order of their ranks, and gives each its system, GPUs and clock. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "set.h"
#include "set_clocks.h"
#include "set_files.h"
#include "set_filter.h"
#include "set_hosts.h"
#include "set_member.h"
#include "set_notes.h"

#define MOST_DESCRIPTORS 4096
#define MOST_UNREADABLE 16 /* files that the notes name */

struct set_open_opening {
    const struct set_request *request;
    struct set_member *members;
    size_t count, dropped;
};

/* ---- files ----------------------------------------------------------------------------------------------------- */

static int set_open_one(struct set_open_opening *opening, const char *path, int keeps_descriptor, struct error *err)
{
    struct set_member *member = &opening->members[opening->count];
    int code = opening->request->open(path, keeps_descriptor, &member->report, err);

    if (code != 0)
        return code;
    member->path = path;
    opening->count++;
    code = set_member_read(member, err);
    report_release_memory(member->report);
    return code;
}

/* Keeps the requested ranks of a report of several. Returns whether there are any. */
static int keep_ranks(const struct set_filter *filter, struct set_member *member, struct error *err)
{
    size_t count, kept = 0;
    int64_t *ranks = set_member_ranks(member, &count);

    if (!ranks)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (set_filter_has(filter, ranks[i], member->host))
            ranks[kept++] = ranks[i];
    if (kept == count) {
        free(ranks);
        return 1;
    }
    member->kept_ranks = ranks;
    member->kept_rank_count = kept;
    return kept > 0;
}

/* Drops the report that was opened last if it is not of the requested ranks and hosts. */
static int keep_if_wanted(struct set_open_opening *opening, struct error *err)
{
    const struct set_filter *filter = opening->request->filter;
    struct set_member *member = &opening->members[opening->count - 1];
    int is_wanted = filter && filter->ranks && member->rank == RANK_SEVERAL
                        ? keep_ranks(filter, member, err)
                        : set_filter_has(filter, member->rank, member->host);

    if (is_wanted)
        return is_wanted < 0 ? is_wanted : 0;
    report_close(member->report);
    set_member_free(member);
    *member = (struct set_member){ 0 };
    opening->count--;
    opening->dropped++;
    return 0;
}

/* A missing file that the user named is an error of the user. */
static int set_open_is_named(const struct set_request *request, const char *path)
{
    for (size_t i = 0; i < request->operand_count; i++)
        if (strcmp(request->operands[i], path) == 0)
            return 1;
    return 0;
}

/* Opening a file again for each read is slow on file systems of clusters. Half of the descriptors stay free. */
static int may_keep_descriptors(size_t files)
{
    struct rlimit limit;

    return files <= MOST_DESCRIPTORS && getrlimit(RLIMIT_NOFILE, &limit) == 0 && files <= limit.rlim_cur / 2;
}

static void note_unreadable(struct text *notes, size_t before, const struct error *cause)
{
    if (before < MOST_UNREADABLE)
        set_note(notes, NULL, cause->text);
}

static void note_others(struct text *notes, size_t count)
{
    if (notes)
        text_addf(notes, "%zu more file%s cannot be read as %s\n", count, count == 1 ? "" : "s",
                  count == 1 ? "a report" : "reports");
}

/* Why there is no report. */
static int set_open_refuse(const struct set_open_opening *opening, const struct set_files *files,
                           const struct error *first, struct error *err)
{
    if (opening->dropped)
        return error_set(err, ERR_NOT_FOUND, "none of the %zu report%s is of these ranks and hosts", opening->dropped,
                         opening->dropped == 1 ? "" : "s");
    if (files->count == 1)
        return error_set(err, first->code, "%s", first->text);
    return error_set(err, ERR_BAD_FORMAT, "none of the %zu files can be read as a report: the first: %s", files->count,
                     first->text);
}

static int open_files(struct set_open_opening *opening, const struct set_files *files, struct error *err)
{
    int keeps_descriptors = may_keep_descriptors(files->count);
    struct error first = { 0 };
    size_t unreadable = 0;

    for (size_t i = 0; i < files->count; i++) {
        struct error cause = { 0 };
        size_t before = opening->count;
        int code = set_open_one(opening, files->paths[i], keeps_descriptors, &cause);
        if (code == ERR_NO_MEMORY || code == ERR_CANCELLED || (code != 0 && opening->count > before) ||
            (code == ERR_NOT_FOUND && set_open_is_named(opening->request, files->paths[i])))
            return error_set(err, code, "%s", cause.text);
        if (code != 0)
            note_unreadable(opening->request->notes, unreadable++, &cause);
        else if ((code = keep_if_wanted(opening, err)) != 0)
            return code;
        if (code != 0 && !first.code)
            first = cause;
    }
    if (opening->count && unreadable > MOST_UNREADABLE)
        note_others(opening->request->notes, unreadable - MOST_UNREADABLE);
    return opening->count ? 0 : set_open_refuse(opening, files, &first, err);
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Reports without a rank come last, by host and name. */
static int compare_members(const void *a, const void *b)
{
    const struct set_member *x = a, *y = b;
    uint64_t rank_x = (uint64_t)x->first_rank, rank_y = (uint64_t)y->first_rank;

    return COMPARE(rank_x, rank_y) ?: compare_texts(x->host, y->host) ?: compare_texts(x->path, y->path);
}

static int set_open_unite(struct set_member *members, size_t count, struct report **out, struct error *err)
{
    struct report **reports = calloc(count, sizeof *reports);
    struct report_part *abouts = calloc(count, sizeof *abouts);
    int code;

    if ((!reports || !abouts) && (code = error_no_memory(err)) != 0)
        goto free_lists;
    for (size_t i = 0; i < count; i++) {
        struct set_member *at = &members[i];
        reports[i] = at->report;
        abouts[i] = (struct report_part){
            .name = at->path,
            .host = at->host,
            .rank = at->rank >= 0 ? at->rank : -1,
            .ranks = at->ranks,
            .rank_count = at->rank_count,
            .kept_ranks = at->kept_ranks,
            .kept_rank_count = at->kept_rank_count,
            .system = at->system,
            .first_device = at->first_device,
            .repeats_gpus = at->repeats_gpus,
            .knots = at->knots,
            .knot_count = at->knot_count,
            .clock = at->clock,
            .clock_error_ns = at->clock_error_ns,
        };
    }
    if ((code = report_use_threads(reports[0], err)) != 0)
        goto free_lists;
    code = report_unite(reports, abouts, count, out, err);
free_lists:
    free(reports);
    free(abouts);
    return code;
}

int set_open(const struct set_request *request, struct report **out, struct error *err)
{
    struct set_open_opening opening = { .request = request };
    struct set_files files = { 0 };
    int code;

    if ((code = set_files_find(&files, request->operands, request->operand_count, err)) != 0)
        goto free_files;
    opening.members = calloc(files.count, sizeof *opening.members);
    if (!opening.members && (code = error_no_memory(err)) != 0)
        goto free_files;
    if ((code = open_files(&opening, &files, err)) != 0)
        goto free_members;
    qsort(opening.members, opening.count, sizeof *opening.members, compare_members);
    set_notes_add(request->notes, opening.members, opening.count, opening.dropped);
    if ((code = set_hosts_number(opening.members, opening.count, err)) != 0)
        goto free_members;
    if ((code = set_clocks_fit(opening.members, opening.count, request->clock, request->notes, err)) != 0)
        goto free_members;
    code = set_open_unite(opening.members, opening.count, out, err);
free_members:
    for (size_t i = 0; i < opening.count; i++) {
        if (code != 0)
            report_close(opening.members[i].report);
        set_member_free(&opening.members[i]);
    }
    free(opening.members);
free_files:
    set_files_free(&files);
    return code;
}

int set_divide(const char *path, const struct set_filter *filter, int always, struct report **report, struct error *err)
{
    const struct set_request request = { .filter = filter };
    struct set_member member = { .path = path, .report = *report, .system = -1, .clock = "reference" };
    struct set_open_opening opening = { .request = &request, .members = &member, .count = 1 };
    int is_plain = !always && (!filter || (!filter->ranks && !filter->hosts));
    int code = set_member_read_ranks(&member, err);

    if (code != 0 || (is_plain && member.rank != RANK_SEVERAL)) /* most reports are of one rank, or of none */
        goto free_member;
    set_member_free(&member);
    member = (struct set_member){ .path = path, .report = *report, .system = -1, .clock = "reference" };
    if ((code = set_member_read(&member, err)) != 0)
        goto free_member;
    if ((code = keep_if_wanted(&opening, err)) != 0)
        goto free_member;
    if (opening.dropped) { /* and closed */
        *report = NULL;
        return error_set(err, ERR_NOT_FOUND, "'%s' is not of these ranks and hosts", path);
    }
    if (member.rank == RANK_SEVERAL || always)
        code = set_open_unite(&member, 1, report, err);
free_member:
    if (code != 0) {
        report_close(member.report);
        *report = NULL;
    }
    set_member_free(&member);
    return code;
}
