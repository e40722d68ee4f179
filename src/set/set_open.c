/* Opens the files of a set, puts them in the order of their ranks, and gives each its system, GPUs and clock. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"
#include "set.h"
#include "set_clocks.h"
#include "set_files.h"
#include "set_filter.h"
#include "set_member.h"

#define MOST_DESCRIPTORS 256

struct opening {
    const struct set_request *request;
    struct set_member *members;
    size_t count, dropped;
};

static void note(const struct opening *opening, const char *path, const char *sentence)
{
    if (opening->request->notes)
        text_addf(opening->request->notes, "%s%s%s\n", path, *path ? ": " : "", sentence);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static int open_one(struct opening *opening, const char *path, int keeps_descriptor, struct error *err)
{
    struct set_member *member = &opening->members[opening->count];
    int code = opening->request->open(path, keeps_descriptor, &member->report, err);

    if (code != 0)
        return code;
    member->path = path;
    opening->count++;
    return set_member_read(member, err);
}

/* Drops the report that was opened last if it is not of the ranks and hosts that are asked for. */
static void keep_if_wanted(struct opening *opening)
{
    struct set_member *member = &opening->members[opening->count - 1];

    if (set_filter_has(opening->request->filter, member->rank, member->host))
        return;
    report_close(member->report);
    set_member_free(member);
    *member = (struct set_member){ 0 };
    opening->count--;
    opening->dropped++;
}

static int open_files(struct opening *opening, const struct set_files *files, struct error *err)
{
    struct error first = { 0 };

    for (size_t i = 0; i < files->count; i++) {
        struct error cause = { 0 };
        size_t before = opening->count;
        int code = open_one(opening, files->paths[i], files->count <= MOST_DESCRIPTORS, &cause);
        if (code == ERR_NO_MEMORY || code == ERR_CANCELLED || (code != 0 && opening->count > before))
            return error_set(err, code, "%s", cause.text);
        if (code != 0)
            note(opening, "", cause.text);
        else
            keep_if_wanted(opening);
        if (code != 0 && !first.code)
            first = cause;
    }
    if (!opening->count && opening->dropped)
        return error_set(err, ERR_NOT_FOUND, "none of the %zu reports is of these ranks and hosts", opening->dropped);
    if (!opening->count && files->count == 1)
        return error_set(err, first.code, "%s", first.text);
    if (!opening->count)
        return error_set(err, ERR_BAD_FORMAT, "none of the %zu files can be read as a report: the first: %s",
                         files->count, first.text);
    return 0;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Reports without a rank come last; what they are of, their host and name say. */
static int compare_members(const void *a, const void *b)
{
    const struct set_member *x = a, *y = b;
    uint64_t rank_x = (uint64_t)x->rank, rank_y = (uint64_t)y->rank;

    if (rank_x != rank_y)
        return rank_x < rank_y ? -1 : 1;
    int order = compare_texts(x->host, y->host);
    return order ? order : compare_texts(x->path, y->path);
}

/* Names up to four of the ranks that are missing. */
static void note_missing(const struct opening *opening, int64_t world_size)
{
    struct text sentence = { 0 };
    int64_t expected = 0, missing = 0;

    for (size_t i = 0; i <= opening->count; i++) {
        int64_t rank = i < opening->count && opening->members[i].rank >= 0 ? opening->members[i].rank : world_size;
        for (; expected < rank && expected < world_size; expected++)
            if (missing++ < 4)
                text_addf(&sentence, "%s%" PRId64, missing > 1 ? ", " : "", expected);
        if (rank >= world_size)
            break;
        expected = rank >= expected ? rank + 1 : expected;
    }
    if (missing) {
        struct text whole = { 0 };
        text_addf(&whole, "%s %s%s of the job's %" PRId64 " %s missing", missing == 1 ? "rank" : "ranks",
                  text_string(&sentence), missing > 4 ? ", …" : "", world_size, missing == 1 ? "is" : "are");
        if (missing > 4)
            text_addf(&whole, " (%" PRId64 " in all)", missing);
        note(opening, "", text_string(&whole));
        text_free(&whole);
    }
    text_free(&sentence);
}

/* Reports of two jobs may all have different ranks, but no moment in common. */
static void note_jobs(const struct opening *opening)
{
    const struct set_member *first = NULL;

    for (size_t i = 0; i < opening->count; i++) {
        const struct set_member *at = &opening->members[i];
        if (!at->job)
            continue;
        first = first ? first : at;
        if (strcmp(first->job, at->job) == 0)
            continue;
        struct text sentence = { 0 };
        text_addf(&sentence, "is of job %s, but '%s' is of job %s: name the files of one job", at->job, first->path,
                  first->job);
        note(opening, at->path, text_string(&sentence));
        text_free(&sentence);
        return;
    }
}

static void note_ranks(const struct opening *opening)
{
    int64_t world_size = 0, of_several = 0;

    for (size_t i = 0; i < opening->count; i++) {
        const struct set_member *at = &opening->members[i];
        world_size = at->world_size > world_size ? at->world_size : world_size;
        of_several |= at->rank == RANK_SEVERAL;
        if (i && at->rank >= 0 && at->rank == at[-1].rank) {
            struct text sentence = { 0 };
            text_addf(&sentence, "rank %" PRId64 " is in '%s' too: are these files of several runs?", at->rank,
                      at[-1].path);
            note(opening, at->path, text_string(&sentence));
            text_free(&sentence);
        }
    }
    if (world_size <= REPORT_MOST_PARTS && !of_several && !opening->dropped)
        note_missing(opening, world_size);
}

/* ---- systems, GPUs ------------------------------------------------------------------------------------- */

/* Reports of one host share GPUs, and processes unless containers divide it; any other is a system of its own. */
static void number_systems(struct opening *opening)
{
    int64_t systems = 0, devices = 0;

    for (size_t i = 0; i < opening->count; i++) {
        struct set_member *at = &opening->members[i];
        const struct set_member *same_system = NULL, *same_gpus = NULL;
        for (size_t j = 0; j < i && !(same_system && same_gpus); j++) {
            const struct set_member *other = &opening->members[j];
            if (!same_system && set_members_share_pids(other, at))
                same_system = other;
            if (!same_gpus && set_members_share_clock(other, at) && strcmp(other->gpus, at->gpus) == 0)
                same_gpus = other;
        }
        at->system = same_system ? same_system->system : ++systems;
        at->first_device = same_gpus ? same_gpus->first_device : devices;
        at->repeats_gpus = same_gpus != NULL;
        devices += same_gpus ? 0 : at->gpu_count;
    }
}

/* ---- */

static int unite(struct opening *opening, struct report **out, struct error *err)
{
    struct report **reports = calloc(opening->count, sizeof *reports);
    struct report_part *abouts = calloc(opening->count, sizeof *abouts);
    int code = ERR_NO_MEMORY;

    if (!reports || !abouts) {
        error_set(err, code, "out of memory");
        goto free_lists;
    }
    for (size_t i = 0; i < opening->count; i++) {
        struct set_member *at = &opening->members[i];
        reports[i] = at->report;
        abouts[i] = (struct report_part){
            .name = at->path,
            .host = at->host,
            .rank = at->rank >= 0 ? at->rank : -1,
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
    code = report_unite(reports, abouts, opening->count, out, err);
free_lists:
    free(reports);
    free(abouts);
    return code;
}

int set_open(const struct set_request *request, struct report **out, struct error *err)
{
    struct opening opening = { .request = request };
    struct set_files files = { 0 };
    int code;

    if ((code = set_files_find(&files, request->operands, request->operand_count, err)) != 0)
        goto free_files;
    opening.members = calloc(files.count, sizeof *opening.members);
    if (!opening.members) {
        code = error_set(err, ERR_NO_MEMORY, "out of memory");
        goto free_files;
    }
    if ((code = open_files(&opening, &files, err)) != 0)
        goto free_members;
    qsort(opening.members, opening.count, sizeof *opening.members, compare_members);
    note_jobs(&opening);
    note_ranks(&opening);
    number_systems(&opening);
    if ((code = set_clocks_fit(opening.members, opening.count, request->clock, request->notes, err)) != 0)
        goto free_members;
    code = unite(&opening, out, err);
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
