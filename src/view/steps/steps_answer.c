/* The request steps: strips of the steps of a process, of one step of all ranks, or of the steps of two runs, in the
 * order of time or of duration. There may be very many, so that an answer has some of them and the median step. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/json_write.h"
#include "step_strips.h"
#include "view/answer/answers.h"
#include "view/answer/row_answers.h"
#include "view/load/event_search.h"

enum { USUAL_BINS = 100, MOST_BINS = 512, USUAL_STRIPS = 50, MOST_STRIPS = 200 };
enum { FAR_OFF = 4 }; /* the axis ends at so many medians */

/* A step of a run. */
struct steps_answer_item {
    struct view *view; /* NULL: there is none */
    int run, row;
    uint32_t event;
};

/* A step, or the same step of two runs. */
struct steps_answer_pair {
    struct steps_answer_item items[2];
    size_t place;      /* in the order of time */
    int64_t length_ns; /* sort key: the duration of one step, or how much longer the second is */
};

struct steps_answer_listing {
    struct steps_answer_pair *pairs; /* owned */
    size_t count, room;
};

static int64_t steps_answer_length_of(const struct steps_answer_item *item)
{
    return event_length(&item->view->rows[item->row].events, item->event);
}

static int steps_answer_add_pair(struct steps_answer_listing *listing, struct steps_answer_item one,
                                 struct steps_answer_item other)
{
    struct steps_answer_pair *pair;

    if (array_reserve(&listing->pairs, &listing->room, listing->count + 1, sizeof *listing->pairs) != 0)
        return ERR_NO_MEMORY;
    pair = &listing->pairs[listing->count];
    *pair = (struct steps_answer_pair){ .items = { one, other }, .place = listing->count };
    if (one.view && other.view)
        pair->length_ns = steps_answer_length_of(&other) - steps_answer_length_of(&one);
    else
        pair->length_ns = steps_answer_length_of(one.view ? &one : &other);
    listing->count++;
    return 0;
}

/* ---- which steps ----------------------------------------------------------------------------------------------- */

/* The first row of steps, or -1. */
static int first_steps(const struct view *view)
{
    for (size_t r = 0; r < view->row_count; r++)
        if (view->rows[r].type == ROW_STEPS)
            return (int)r;
    return -1;
}

static int no_steps(struct error *err)
{
    return error_set(err, ERR_NO_DATA, "the report has no steps");
}

static int list_steps(struct view *view, const struct arguments *arguments, struct steps_answer_listing *out,
                      struct error *err)
{
    int row = first_steps(view), code;

    if (row < 0)
        return no_steps(err);
    if (argument_text(arguments, "row", NULL) && (code = view_argument_row(view, arguments, "row", &row, err)) != 0)
        return code;
    if (view->rows[row].type != ROW_STEPS)
        return error_set(err, ERR_BAD_ARGUMENT, "steps: row %d has no steps", row);
    for (uint32_t e = 0; e < view->rows[row].events.count; e++)
        if (steps_answer_add_pair(out, (struct steps_answer_item){ view, 0, row, e },
                                  (struct steps_answer_item){ 0 }) != 0)
            return error_no_memory(err);
    return 0;
}

/* The step of this number, counted from 0, of each process that has steps. */
static int list_ranks(struct view *view, const struct arguments *arguments, struct steps_answer_listing *out,
                      struct error *err)
{
    int64_t step = 0;
    int code;

    if ((code = argument_int(arguments, "step", 0, UINT32_MAX - 1, &step, err)) != 0)
        return code;
    for (size_t r = 0; r < view->row_count; r++)
        if (view->rows[r].type == ROW_STEPS && step < view->rows[r].events.count &&
            steps_answer_add_pair(out, (struct steps_answer_item){ view, 0, (int)r, (uint32_t)step },
                                  (struct steps_answer_item){ 0 }) != 0)
            return error_no_memory(err);
    return out->count ? 0 : no_steps(err);
}

/* A step of the second run by its name. */
struct steps_answer_named {
    const char *name;
    size_t length;
    uint32_t event;
    int is_taken;
};

static int steps_answer_by_name(const void *a, const void *b)
{
    const struct steps_answer_named *one = a, *other = b;
    size_t length = one->length < other->length ? one->length : other->length;

    return memcmp(one->name, other->name, length) ?: COMPARE(one->length, other->length);
}

static struct steps_answer_named *name_steps(struct view *view, int row)
{
    const struct view_events *events = &view->rows[row].events;
    struct steps_answer_named *list = calloc(events->count + 1, sizeof *list);

    for (uint32_t e = 0; list && e < events->count; e++) {
        list[e].name = view_name(view, events->name[e], &list[e].length);
        list[e].event = e;
    }
    return list;
}

static int by_event(const void *a, const void *b)
{
    const struct steps_answer_named *one = a, *other = b;

    return COMPARE(one->event, other->event);
}

/* Two runs while their steps are paired. */
struct both {
    struct view *view, *other;
    int row, other_row;
    uint32_t count, other_count;
    struct steps_answer_named *named; /* owned; the steps of the other, by name */
    int is_by_place;
};

/* Steps of the same name are the same step. If names repeat, or the runs have none in common, steps of the same place
 * are. */
static void choose_way(struct both *both)
{
    uint32_t common = 0;

    qsort(both->named, both->other_count, sizeof *both->named, steps_answer_by_name);
    for (uint32_t e = 1; e < both->other_count; e++)
        both->is_by_place |= steps_answer_by_name(&both->named[e - 1], &both->named[e]) == 0;
    for (uint32_t e = 0; e < both->count && !common; e++) {
        struct steps_answer_named key = { 0 };
        key.name = view_name(both->view, both->view->rows[both->row].events.name[e], &key.length);
        common += bsearch(&key, both->named, both->other_count, sizeof key, steps_answer_by_name) != NULL;
    }
    both->is_by_place |= !common;
}

static struct steps_answer_item partner_of(struct both *both, uint32_t event)
{
    const struct steps_answer_item none = { 0 };
    struct steps_answer_named key = { 0 }, *found;

    if (both->is_by_place)
        return event < both->other_count ? (struct steps_answer_item){ both->other, 1, both->other_row, event } : none;
    key.name = view_name(both->view, both->view->rows[both->row].events.name[event], &key.length);
    found = bsearch(&key, both->named, both->other_count, sizeof key, steps_answer_by_name);
    if (!found || found->is_taken)
        return none;
    found->is_taken = 1;
    return (struct steps_answer_item){ both->other, 1, both->other_row, found->event };
}

static int pair_runs(struct both *both, struct steps_answer_listing *out)
{
    choose_way(both);
    for (uint32_t e = 0; e < both->count; e++)
        if (steps_answer_add_pair(out, (struct steps_answer_item){ both->view, 0, both->row, e },
                                  partner_of(both, e)) != 0)
            return ERR_NO_MEMORY;
    qsort(both->named, both->other_count, sizeof *both->named, by_event);
    for (uint32_t e = 0; e < both->other_count; e++) {
        int is_alone = both->is_by_place ? e >= both->count : !both->named[e].is_taken;
        if (is_alone && steps_answer_add_pair(out, (struct steps_answer_item){ 0 },
                                              (struct steps_answer_item){ both->other, 1, both->other_row, e }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int list_runs(struct view *view, const struct arguments *arguments, struct steps_answer_listing *out,
                     struct error *err)
{
    struct both both = { .view = view, .other = view->other };

    (void)arguments;
    if (!both.other)
        return error_set(err, ERR_UNSUPPORTED, "one run is shown; to compare two: tacho view A B");
    both.row = first_steps(view);
    both.other_row = first_steps(both.other);
    if (both.row < 0 || both.other_row < 0)
        return no_steps(err);
    both.count = view->rows[both.row].events.count;
    both.other_count = both.other->rows[both.other_row].events.count;
    both.named = name_steps(both.other, both.other_row);
    int code = both.named ? pair_runs(&both, out) : ERR_NO_MEMORY;
    free(both.named);
    return code != 0 ? error_no_memory(err) : 0;
}

static const struct way {
    const char *name;
    int (*list)(struct view *view, const struct arguments *arguments, struct steps_answer_listing *out,
                struct error *err);
} ways[] = { { "steps", list_steps }, { "ranks", list_ranks }, { "runs", list_runs } };

static const struct way *find_way(const struct arguments *arguments)
{
    const char *name = argument_text(arguments, "by", NULL);

    for (size_t i = 0; i < COUNT_OF(ways); i++)
        if (!name || strcmp(name, ways[i].name) == 0)
            return &ways[i];
    return NULL;
}

/* ---- order and axis -------------------------------------------------------------------------------------------- */

/* Complete pairs first, the longest first; equal ones in the order of time. */
static int steps_answer_by_length(const void *a, const void *b)
{
    const struct steps_answer_pair *one = a, *other = b;
    int is_one = one->items[0].view && one->items[1].view, is_other = other->items[0].view && other->items[1].view;

    if (is_one != is_other)
        return is_other - is_one;
    if (one->length_ns != other->length_ns)
        return one->length_ns < other->length_ns ? 1 : -1;
    return COMPARE(one->place, other->place);
}

static int by_item_length(const void *a, const void *b)
{
    const struct steps_answer_item *one = a, *other = b;
    int64_t difference = steps_answer_length_of(one) - steps_answer_length_of(other);

    if (difference)
        return difference > 0 ? 1 : -1;
    if (one->row != other->row)
        return one->row > other->row ? 1 : -1;
    return COMPARE(one->event, other->event);
}

struct steps_answer_axis {
    struct steps_answer_item median; /* the step of the first run whose duration is the median */
    int64_t bin_ns;
};

/* The step of a run whose duration is the median; one without a view if the run has no steps. */
static struct steps_answer_item steps_answer_median_of(const struct steps_answer_listing *listing, size_t run,
                                                       struct steps_answer_item *scratch)
{
    size_t count = 0;

    for (size_t i = 0; i < listing->count; i++)
        if (listing->pairs[i].items[run].view)
            scratch[count++] = listing->pairs[i].items[run];
    if (!count)
        return (struct steps_answer_item){ 0 };
    qsort(scratch, count, sizeof *scratch, by_item_length);
    return scratch[(count - 1) / 2];
}

/* From 0 to the longest step, or to some medians: a first step that takes a hundred times as long would leave no room
 * for the others. */
static int find_axis(const struct steps_answer_listing *listing, size_t bins, struct steps_answer_axis *out)
{
    struct steps_answer_item *items = array_alloc(listing->count + 1, sizeof *items);
    int64_t longest = 1, median = 0;

    if (!items)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < listing->count; i++)
        for (size_t run = 0; run < 2; run++) {
            const struct steps_answer_item *item = &listing->pairs[i].items[run];
            if (item->view && steps_answer_length_of(item) > longest)
                longest = steps_answer_length_of(item);
        }
    for (size_t run = 2; run-- > 0;) {
        out->median = steps_answer_median_of(listing, run, items);
        if (out->median.view && steps_answer_length_of(&out->median) > median)
            median = steps_answer_length_of(&out->median);
    }
    free(items);
    if (median > 0 && longest / FAR_OFF > median)
        longest = FAR_OFF * median;
    out->bin_ns = (longest + (int64_t)bins - 1) / (int64_t)bins;
    return 0;
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

static int steps_answer_add_item(struct text *out, const struct steps_answer_item *item, struct strip *strip,
                                 struct error *err)
{
    int64_t length = steps_answer_length_of(item), rank = item->view->rows[item->row].rank;

    if (cancel_is_raised(cancel_flag()))
        return error_set(err, ERR_CANCELLED, "the request was cancelled");
    if (strip_fill(strip, item->view, item->row, item->event) != 0)
        return error_no_memory(err);
    json_addf(out, "{'run':%d", item->run);
    if (rank >= 0)
        json_addf(out, "'rank':%jd", rank);
    view_add_event_members(item->view, out, item->row, item->event);
    json_addf(out, "'compute':%jd,'communication':%jd,'copies':%jd,'idle':%jd,'bins':[", strip->ns[STRIP_COMPUTE],
              strip->ns[STRIP_COMMUNICATION], strip->ns[STRIP_COPIES],
              length - strip->ns[STRIP_COMPUTE] - strip->ns[STRIP_COMMUNICATION] - strip->ns[STRIP_COPIES]);
    for (size_t b = 0; b < strip->bin_count * STRIP_PARTS; b++)
        json_addf(out, "%jd", strip->bins[b]);
    text_add(out, "]}");
    return 0;
}

static int steps_answer_add_pairs(struct text *out, const struct steps_answer_listing *listing, size_t first,
                                  size_t count, struct strip *strip, struct error *err)
{
    int code;

    json_addf(out, "'strips':[");
    for (size_t i = first; i < listing->count && i - first < count; i++) {
        json_addf(out, "{'place':%zu,'items':[", listing->pairs[i].place);
        for (size_t s = 0; s < 2; s++) {
            const struct steps_answer_item *item = &listing->pairs[i].items[s];
            if (!item->view)
                continue;
            if ((code = steps_answer_add_item(out, item, strip, err)) != 0)
                return code;
        }
        text_add(out, "]}");
    }
    text_add(out, "]}");
    return 0;
}

static int answer_listing(const struct arguments *arguments, const char *by, struct steps_answer_listing *listing,
                          struct text *out, struct error *err)
{
    const char *order = argument_text(arguments, "order", NULL);
    int64_t bins = USUAL_BINS, first = 0, count = USUAL_STRIPS;
    struct strip strip = { 0 };
    struct steps_answer_axis axis;
    int code, is_by_length = order && strcmp(order, "duration") == 0;

    if (order && !is_by_length && strcmp(order, "time") != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "steps: order is time or duration");
    if ((code = argument_int(arguments, "bins", 1, MOST_BINS, &bins, err)) != 0 ||
        (code = argument_int(arguments, "first", 0, INT32_MAX, &first, err)) != 0 ||
        (code = argument_int(arguments, "count", 0, MOST_STRIPS, &count, err)) != 0)
        return code;
    if ((find_axis(listing, (size_t)bins, &axis) != 0 || strip_open(&strip, (size_t)bins, axis.bin_ns) != 0) &&
        (code = error_no_memory(err)) != 0)
        goto free_strip;
    if (is_by_length)
        qsort(listing->pairs, listing->count, sizeof *listing->pairs, steps_answer_by_length);
    json_addf(out, "{'by':%s,'order':%s,'total':%zu,'first':%jd,'bin':%jd,'median':", by,
              is_by_length ? "duration" : "time", listing->count, first, axis.bin_ns);
    if ((code = steps_answer_add_item(out, &axis.median, &strip, err)) != 0)
        goto free_strip;
    code = steps_answer_add_pairs(out, listing, (size_t)first, (size_t)count, &strip, err);
free_strip:
    strip_free(&strip);
    return code;
}

int view_steps(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    const struct way *way = find_way(arguments);
    struct steps_answer_listing listing = { 0 };
    int code;

    if (!way)
        return error_set(err, ERR_BAD_ARGUMENT, "steps: by is steps, ranks or runs");
    if ((code = way->list(view, arguments, &listing, err)) == 0)
        code = listing.count ? answer_listing(arguments, way->name, &listing, out, err) : no_steps(err);
    free(listing.pairs);
    return code;
}
