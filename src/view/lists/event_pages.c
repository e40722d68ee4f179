/* Finds a page of a list of events.
 *
 * A first pass counts the events and keeps them all if they are few: then they are sorted, and that is all. Otherwise
 * the event at the page's offset is found first. Each pass counts the events of BUCKETS ranges of the order's number
 * and goes on inside the range that has the offset, until it has few events, which are kept and sorted, or only one
 * number; then the same is done by start, and events equal in both come in the order of the pass. A last pass keeps the
 * `limit` smallest events from that one on, in a heap. Ten million events take some six passes. */
#include "event_pages.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 12, FEW = 1 << 16 };

struct paging {
    struct event_filter *filter;
    const struct event_order *order;
    struct event_key *kept;          /* owned; room for FEW */
    size_t kept_count;
    uint64_t total, before;          /* before: events before the wanted one */
    struct event_key wanted;
    int has_wanted, is_full;         /* is_full: more than FEW events would be kept */
    uint64_t least_first, most_first;
    int by_second;                   /* which number is narrowed down; then first is `first` */
    uint64_t first, low, high, rank; /* the range with the offset, and the rank of the offset in it */
    int shift;
    uint64_t counts[BUCKETS];
    struct event_key start;          /* the event at the offset */
    size_t limit;
};

static int by_key(const void *a, const void *b)
{
    return event_key_compare(a, b);
}

static void event_pages_keep(struct paging *paging, const struct event_key *key)
{
    if (paging->kept_count == FEW)
        paging->is_full = 1;
    else
        paging->kept[paging->kept_count++] = *key;
}

/* ---- the first pass -------------------------------------------------------------------------------------------- */

static int event_pages_count_event(void *context, int row, uint32_t event)
{
    struct paging *paging = context;
    struct event_key key = event_order_key(paging->order, row, event);

    paging->total++;
    paging->least_first = key.first < paging->least_first ? key.first : paging->least_first;
    paging->most_first = key.first > paging->most_first ? key.first : paging->most_first;
    paging->before += paging->has_wanted && event_key_compare(&key, &paging->wanted) < 0;
    if (!paging->is_full)
        event_pages_keep(paging, &key);
    return 0;
}

/* ---- the event at the offset ----------------------------------------------------------------------------------- */

/* The number that is being narrowed down; 0 if the event is outside of the range. */
static int is_in_range(const struct paging *paging, const struct event_key *key, uint64_t *number)
{
    *number = paging->by_second ? key->second : key->first;
    return *number >= paging->low && *number <= paging->high && (!paging->by_second || key->first == paging->first);
}

static int count_bucket(void *context, int row, uint32_t event)
{
    struct paging *paging = context;
    struct event_key key = event_order_key(paging->order, row, event);
    uint64_t number;

    if (is_in_range(paging, &key, &number))
        paging->counts[(number - paging->low) >> paging->shift]++;
    return 0;
}

static int keep_range(void *context, int row, uint32_t event)
{
    struct paging *paging = context;
    struct event_key key = event_order_key(paging->order, row, event);
    uint64_t number;

    if (is_in_range(paging, &key, &number))
        event_pages_keep(paging, &key);
    return 0;
}

enum { FOUND = 1 }; /* ends a pass */

static int pass_by(void *context, int row, uint32_t event)
{
    struct paging *paging = context;
    struct event_key key = event_order_key(paging->order, row, event);
    uint64_t number;

    if (!is_in_range(paging, &key, &number) || paging->rank-- > 0)
        return 0;
    paging->start = key;
    return FOUND;
}

/* Narrows the range to one bucket. Returns how many events it has. */
static int event_pages_narrow(struct paging *paging, uint64_t *count, struct error *err)
{
    uint64_t width = paging->high - paging->low;
    size_t bucket = 0;
    int code;

    for (paging->shift = 0; width >> paging->shift >= BUCKETS; paging->shift++)
        ;
    memset(paging->counts, 0, sizeof paging->counts);
    if ((code = event_filter_each(paging->filter, count_bucket, paging, err)) != 0)
        return code;
    while (bucket < BUCKETS - 1 && paging->rank >= paging->counts[bucket])
        paging->rank -= paging->counts[bucket++];
    *count = paging->counts[bucket];
    uint64_t low = paging->low + ((uint64_t)bucket << paging->shift), last = (UINT64_C(1) << paging->shift) - 1;
    paging->high = paging->high - low < last ? paging->high : low + last;
    paging->low = low;
    return 0;
}

/* Goes on by start among the events of one number. */
static void go_on_by_second(struct paging *paging)
{
    const struct view *view = paging->filter->view;

    paging->by_second = 1;
    paging->first = paging->low;
    paging->low = UINT64_MAX;
    paging->high = 0;
    for (size_t i = 0; i < view->row_count; i++) {
        const struct view_events *events = &view->rows[i].events;
        for (uint32_t lane = 0; lane < events->lane_count; lane++) {
            uint64_t from = event_order_number(events->start_ns[events->lanes[lane]]),
                     to = event_order_number(events->start_ns[events->lanes[lane + 1] - 1]);
            paging->low = from < paging->low ? from : paging->low;
            paging->high = to > paging->high ? to : paging->high;
        }
    }
}

static int find_start(struct paging *paging, uint64_t offset, struct error *err)
{
    uint64_t count = paging->total;
    int code;

    paging->low = paging->least_first;
    paging->high = paging->most_first;
    paging->rank = offset;
    while (count > FEW) {
        if (paging->low == paging->high && paging->by_second) {
            code = event_filter_each(paging->filter, pass_by, paging, err);
            return code == FOUND ? 0 : code;
        }
        if (paging->low == paging->high)
            go_on_by_second(paging);
        if ((code = event_pages_narrow(paging, &count, err)) != 0)
            return code;
    }
    paging->kept_count = 0;
    if ((code = event_filter_each(paging->filter, keep_range, paging, err)) != 0)
        return code;
    qsort(paging->kept, paging->kept_count, sizeof *paging->kept, by_key);
    paging->start = paging->kept[paging->rank];
    return 0;
}

/* ---- the page from there on ------------------------------------------------------------------------------------ */

/* The largest of the heap is its first. */
static void sift_down(struct event_key *heap, size_t count)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && event_key_compare(&heap[child], &heap[child + 1]) < 0;
        if (event_key_compare(&heap[at], &heap[child]) >= 0)
            return;
        struct event_key larger = heap[child];
        heap[child] = heap[at];
        heap[at] = larger;
    }
}

static void sift_up(struct event_key *heap, size_t at)
{
    for (; at && event_key_compare(&heap[(at - 1) / 2], &heap[at]) < 0; at = (at - 1) / 2) {
        struct event_key smaller = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = heap[at];
        heap[at] = smaller;
    }
}

static int keep_smallest(void *context, int row, uint32_t event)
{
    struct paging *paging = context;
    struct event_key key = event_order_key(paging->order, row, event);

    if (event_key_compare(&key, &paging->start) < 0)
        return 0;
    if (paging->kept_count < paging->limit) {
        paging->kept[paging->kept_count] = key;
        sift_up(paging->kept, paging->kept_count++);
    } else if (event_key_compare(&key, &paging->kept[0]) < 0) {
        paging->kept[0] = key;
        sift_down(paging->kept, paging->kept_count);
    }
    return 0;
}

/* The list is too long to be kept. */
static int read_long(struct paging *paging, uint64_t offset, struct error *err)
{
    int code;

    paging->start = (struct event_key){ 0 };
    if (offset && (code = find_start(paging, offset, err)) != 0)
        return code;
    paging->kept_count = 0;
    if ((code = event_filter_each(paging->filter, keep_smallest, paging, err)) != 0)
        return code;
    if (paging->kept_count)
        qsort(paging->kept, paging->kept_count, sizeof *paging->kept, by_key);
    return 0;
}

static void read_kept(struct paging *paging, uint64_t offset)
{
    size_t left = paging->kept_count - (size_t)offset;

    qsort(paging->kept, paging->kept_count, sizeof *paging->kept, by_key);
    paging->kept_count = left < paging->limit ? left : paging->limit;
    memmove(paging->kept, paging->kept + offset, paging->kept_count * sizeof *paging->kept);
}

int event_page_read(struct event_page *page, struct event_filter *filter, const struct event_order *order,
                    const struct event_page_wanted *wanted, struct error *err)
{
    struct paging *paging = calloc(1, sizeof *paging);
    int code = 0;

    if (!paging || !(paging->kept = malloc(FEW * sizeof *paging->kept))) {
        free(paging);
        return error_short_memory(err, "for a list of events");
    }
    paging->filter = filter;
    paging->order = order;
    paging->limit = wanted->limit < FEW ? wanted->limit : FEW;
    paging->least_first = UINT64_MAX;
    if (wanted->row != VIEW_NO_ROW) {
        if ((paging->has_wanted = event_filter_has(filter, wanted->row, wanted->event, err)) < 0)
            code = paging->has_wanted;
        paging->wanted = event_order_key(order, wanted->row, wanted->event);
    }
    if (code != 0 || (code = event_filter_each(filter, event_pages_count_event, paging, err)) != 0)
        goto done;
    if (wanted->offset >= paging->total || paging->limit == 0)
        paging->kept_count = 0;
    else if (!paging->is_full)
        read_kept(paging, wanted->offset);
    else if ((code = read_long(paging, wanted->offset, err)) != 0)
        goto done;
    *page = (struct event_page){ paging->kept, paging->kept_count, paging->total,
                                 paging->has_wanted ? (int64_t)paging->before : -1 };
    paging->kept = NULL;
done:
    free(paging->kept);
    free(paging);
    return code;
}

void event_page_free(struct event_page *page)
{
    free(page->list);
    *page = (struct event_page){ 0 };
}
