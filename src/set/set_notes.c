/* Names ranks that are missing or there twice, and reports of several jobs. */
#include "set_notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/ranks/rank_lists.h"
#include "base/array.h"

#define MOST_NAMED 4

/* A rank and the report that has it. */
struct holder {
    int64_t rank;
    size_t member;
};

void set_note(struct text *notes, const char *path, const char *sentence)
{
    if (notes)
        text_addf(notes, "%s%s%s\n", path ? path : "", path ? ": " : "", sentence);
}

static int compare_holders(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;

    return COMPARE(x->rank, y->rank) ?: COMPARE(x->member, y->member);
}

/* By rank; the caller frees them. NULL: out of memory. */
static struct holder *list_holders(const struct set_member *members, size_t count, size_t *found)
{
    struct holder *list = NULL;
    size_t room = 0;

    *found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t rank_count;
        int64_t *ranks = set_member_ranks(&members[i], &rank_count);
        if (!ranks || array_reserve(&list, &room, *found + rank_count + 1, sizeof *list) != 0) {
            free(ranks);
            free(list);
            return NULL;
        }
        for (size_t r = 0; r < rank_count; r++)
            list[(*found)++] = (struct holder){ ranks[r], i };
        free(ranks);
    }
    qsort(list, *found, sizeof *list, compare_holders);
    return list;
}

static void set_notes_missing(struct text *notes, const struct holder *holders, size_t count, int64_t world_size)
{
    struct text sentence = { 0 }, whole = { 0 };
    int64_t expected = 0, missing = 0;

    for (size_t i = 0; i <= count && expected < world_size; i++) {
        int64_t rank = i < count && holders[i].rank < world_size ? holders[i].rank : world_size;
        for (; expected < rank; expected++)
            if (missing++ < MOST_NAMED)
                text_addf(&sentence, "%s%" PRId64, missing > 1 ? ", " : "", expected);
        expected = rank >= expected ? rank + 1 : expected;
    }
    if (missing) {
        text_addf(&whole, "%s %s%s of the job's %" PRId64 " %s missing", missing == 1 ? "rank" : "ranks",
                  text_string(&sentence), missing > MOST_NAMED ? ", …" : "", world_size, missing == 1 ? "is" : "are");
        if (missing > MOST_NAMED)
            text_addf(&whole, " (%" PRId64 " in all)", missing);
        set_note(notes, NULL, text_string(&whole));
    }
    text_free(&whole);
    text_free(&sentence);
}

/* The first one is named with its files; the others are as a rule of the same runs. */
static void note_twice(struct text *notes, const struct set_member *members, const struct holder *holders, size_t count)
{
    struct text sentence = { 0 };
    int64_t *twice = array_alloc(count + 1, sizeof *twice);
    size_t found = 0, first = 0;

    for (size_t i = 1; twice && i < count; i++) {
        if (holders[i].rank != holders[i - 1].rank || (found && twice[found - 1] == holders[i].rank))
            continue;
        first = found ? first : i;
        twice[found++] = holders[i].rank;
    }
    if (found > 1) {
        text_add(&sentence, "ranks ");
        rank_list_add(&sentence, twice, found, MOST_NAMED);
        text_addf(&sentence, " are there several times: rank %" PRId64 " is in '%s' and in '%s'", twice[0],
                  members[holders[first - 1].member].path, members[holders[first].member].path);
    } else if (found) {
        text_addf(&sentence, "rank %" PRId64 " is in '%s' and in '%s'", twice[0],
                  members[holders[first - 1].member].path, members[holders[first].member].path);
    }
    text_add(&sentence, ": are these files of several runs?");
    if (found)
        set_note(notes, NULL, text_string(&sentence));
    free(twice);
    text_free(&sentence);
}

static void note_too_many(struct text *notes, const struct set_member *members, size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        if (members[i].has_too_many_ranks && found++ < MOST_NAMED)
            set_note(notes, members[i].path, "has more ranks than any job: they are ignored");
}

/* Reports of two jobs may all have different ranks, but no moment in common. Returns whether there are two. */
static int note_jobs(struct text *notes, const struct set_member *members, size_t count)
{
    const struct set_member *first = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct set_member *at = &members[i];
        if (!at->job)
            continue;
        first = first ? first : at;
        if (strcmp(first->job, at->job) == 0)
            continue;
        struct text sentence = { 0 };
        text_addf(&sentence, "'%s' is of job %s, but '%s' is of job %s: name the files of one job", at->path, at->job,
                  first->path, first->job);
        set_note(notes, NULL, text_string(&sentence));
        text_free(&sentence);
        return 1;
    }
    return 0;
}

void set_notes_add(struct text *notes, const struct set_member *members, size_t count, size_t left_out)
{
    size_t holder_count;
    struct holder *holders = list_holders(members, count, &holder_count);
    int64_t world_size = 0;

    int has_jobs = note_jobs(notes, members, count);
    note_too_many(notes, members, count);
    if (!holders)
        return;
    for (size_t i = 0; i < count; i++)
        world_size = members[i].world_size > world_size ? members[i].world_size : world_size;
    if (!has_jobs) /* else a note says why */
        note_twice(notes, members, holders, holder_count);
    if (world_size <= REPORT_MOST_PARTS && !left_out)
        set_notes_missing(notes, holders, holder_count, world_size);
    free(holders);
}
