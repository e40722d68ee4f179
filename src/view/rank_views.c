/* Keeps the timelines of the ranks that were asked for last. The lock guards the list; it is held while one is opened,
 * so that two requests do not open the same. */
#include "rank_views.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "report/reader/unite.h"
#include "view/load/view_state.h"

enum { MOST_OPEN = 8, MOST_LETTERS = 256 };

struct rank_view {
    char ranks[MOST_LETTERS];
    struct report *report;
    struct view *view; /* NULL: this place is free */
    int users;
    uint64_t used;     /* when it was taken last */
};

struct rank_views {
    struct rank_view_calls calls;
    pthread_mutex_t lock;
    struct rank_view list[MOST_OPEN];
    uint64_t turn;
};

struct rank_views *rank_views_new(struct rank_view_calls calls)
{
    struct rank_views *views = calloc(1, sizeof *views);

    if (!views)
        return NULL;
    views->calls = calls;
    pthread_mutex_init(&views->lock, NULL);
    return views;
}

static void close_one(const struct rank_views *views, struct rank_view *one)
{
    views->calls.close(one->view);
    report_close(one->report);
    *one = (struct rank_view){ 0 };
}

void rank_views_free(struct rank_views *views)
{
    if (!views)
        return;
    for (size_t i = 0; i < MOST_OPEN; i++)
        if (views->list[i].view)
            close_one(views, &views->list[i]);
    pthread_mutex_destroy(&views->lock);
    free(views);
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* Chooses a part, or the requested ranks of a part that has several; puts those into `kept`. Returns whether it has
 * any. */
static int rank_views_choose_part(const struct report_part *part, size_t number, const char *ranks,
                                  struct report_choice *out, int64_t *kept)
{
    size_t count = 0, distinct = 0;

    *out = (struct report_choice){ .part = number };
    if (!part->rank_count)
        return part->rank >= 0 && number_list_has(ranks, part->rank);
    for (size_t i = 0; i < part->rank_count; i++)
        if (number_list_has(ranks, part->ranks[i].rank) && report_part_keeps(part, part->ranks[i].rank))
            kept[count++] = part->ranks[i].rank;
    if (count)
        qsort(kept, count, sizeof *kept, array_by_int64);
    for (size_t i = 0; i < count; i++)
        if (!distinct || kept[distinct - 1] != kept[i])
            kept[distinct++] = kept[i];
    out->kept_ranks = kept;
    out->kept_rank_count = distinct;
    return distinct > 0;
}

static int rank_views_choose(struct report *set, const char *ranks, struct report **out, struct error *err)
{
    size_t parts = report_part_count(set), all_ranks = 0, count = 0;
    int code;

    for (size_t i = 0; i < parts; i++)
        all_ranks += report_part_at(set, i)->rank_count;
    struct report_choice *choices = calloc(parts + 1, sizeof *choices);
    int64_t *kept = calloc(all_ranks + 1, sizeof *kept), *free_kept = kept;
    if ((!choices || !kept) && (code = error_no_memory(err)) != 0)
        goto free_choices;
    for (size_t i = 0; i < parts; i++)
        if (rank_views_choose_part(report_part_at(set, i), i, ranks, &choices[count], free_kept))
            free_kept += choices[count++].kept_rank_count;
    code = count ? report_choose(set, choices, count, out, err)
                 : error_set(err, ERR_NOT_FOUND, "the job has no rank of %.60s", ranks);
free_choices:
    free(choices);
    free(kept);
    return code;
}

static int rank_views_open_one(struct view *whole, const char *ranks, struct rank_view *out, struct error *err)
{
    struct report_span span = { whole->begin_ns, whole->end_ns };
    int code;

    report_string(whole->report, 1, NULL); /* both have their strings made before they are used at the same time */
    if ((code = rank_views_choose(whole->report, ranks, &out->report, err)) != 0)
        return code;
    report_string(out->report, 1, NULL);
    if ((code = whole->rank_views->calls.open(out->report, &span, &out->view, err)) != 0) {
        report_close(out->report);
        *out = (struct rank_view){ 0 };
        return code;
    }
    if (whole->name)
        out->view->name = arena_copy(&out->view->arena, whole->name, strlen(whole->name) + 1);
    memcpy(out->ranks, ranks, strlen(ranks) + 1);
    return 0;
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

/* The one of these ranks, else a free place, else that of the one that was used longest ago. NULL: all are in use. */
static struct rank_view *rank_views_find_place(struct rank_views *views, const char *ranks)
{
    struct rank_view *oldest = NULL;

    for (size_t i = 0; i < MOST_OPEN; i++) {
        struct rank_view *one = &views->list[i];
        if (one->view && strcmp(one->ranks, ranks) == 0)
            return one;
        if (!one->users && (!oldest || one->used < oldest->used))
            oldest = one;
    }
    return oldest;
}

static int rank_views_take_ranks(struct view *whole, const char *ranks, struct view **out, struct error *err)
{
    struct rank_view *one = rank_views_find_place(whole->rank_views, ranks);
    int code;

    if (!one)
        return error_set(err, ERR_UNSUPPORTED, "too many ranks are shown at the same time");
    if (one->view && strcmp(one->ranks, ranks) != 0)
        close_one(whole->rank_views, one);
    if (!one->view && (code = rank_views_open_one(whole, ranks, one, err)) != 0)
        return code;
    one->users++;
    one->used = ++whole->rank_views->turn;
    *out = one->view;
    return 0;
}

int rank_views_take(struct view *whole, const char *ranks, struct view **out, struct error *err)
{
    if (!number_list_is_valid(ranks) || strlen(ranks) >= MOST_LETTERS)
        return error_set(err, ERR_BAD_ARGUMENT, "'%.60s' is no list of ranks: write 0,8-15", ranks);
    if (!report_part_count(whole->report))
        return error_set(err, ERR_UNSUPPORTED, "the report is not one of several ranks");
    pthread_mutex_lock(&whole->rank_views->lock);
    int code = rank_views_take_ranks(whole, ranks, out, err);
    pthread_mutex_unlock(&whole->rank_views->lock);
    return code;
}

void rank_views_release(struct view *whole, struct view *taken)
{
    struct rank_views *views = whole->rank_views;

    pthread_mutex_lock(&views->lock);
    for (size_t i = 0; i < MOST_OPEN; i++)
        views->list[i].users -= views->list[i].view == taken;
    pthread_mutex_unlock(&views->lock);
}
