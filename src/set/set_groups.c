/* Lists which rank of which part belongs to which group, and sorts that list. */
#include "set_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A rank of a part, or a whole part. */
struct set_groups_entry {
    const char *host;
    int64_t rank;
    size_t part;
    int is_whole;
};

struct set_groups_entries {
    struct set_groups_entry *list; /* owned */
    size_t count, room;
};

static int set_groups_add(struct set_groups_entries *entries, struct set_groups_entry entry)
{
    return ARRAY_PUSH(entries->list, entries->room, entries->count, entry);
}

/* Then rows without a rank belong to the host as well. */
static int is_of_one_host(const struct report_part *about)
{
    for (size_t i = 0; i < about->rank_count; i++)
        if (about->ranks[i].host && about->host && strcmp(about->ranks[i].host, about->host) != 0)
            return 0;
    return 1;
}

static int set_groups_add_part(struct set_groups_entries *entries, const struct report_part *about, size_t part,
                               enum set_by by)
{
    int code;

    if (!about->rank_count || (by == SET_BY_HOST && is_of_one_host(about)))
        return set_groups_add(entries, (struct set_groups_entry){ about->host, about->rank, part, 1 });
    for (size_t i = 0; i < about->rank_count; i++) {
        const struct report_rank *at = &about->ranks[i];
        if (report_part_keeps(about, at->rank) &&
            (code = set_groups_add(entries, (struct set_groups_entry){ at->host ? at->host : about->host, at->rank,
                                                                       part, 0 })) != 0)
            return code;
    }
    return 0;
}

static int compare_hosts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : !a - !b;
}

static int set_groups_compare_ranks(int64_t a, int64_t b)
{
    return COMPARE((uint64_t)a, (uint64_t)b); /* unknown ones, which are below 0, come last */
}

static int set_groups_compare_parts(const struct set_groups_entry *x, const struct set_groups_entry *y)
{
    return COMPARE(x->part, y->part);
}

static int set_groups_by_rank(const void *a, const void *b)
{
    const struct set_groups_entry *x = a, *y = b;

    return set_groups_compare_ranks(x->rank, y->rank) ?: set_groups_compare_parts(x, y);
}

static int by_host(const void *a, const void *b)
{
    const struct set_groups_entry *x = a, *y = b;
    int order = compare_hosts(x->host, y->host);

    if (!order)
        order = set_groups_compare_parts(x, y);
    return order ?: set_groups_compare_ranks(x->rank, y->rank);
}

static int is_same_group(enum set_by by, const struct set_groups_entry *a, const struct set_groups_entry *b)
{
    return by == SET_BY_RANK ? a->rank == b->rank : compare_hosts(a->host, b->host) == 0;
}

/* One choice for each part of a group, and its ranks one after another. */
static void take_groups(struct set_groups *groups, const struct set_groups_entries *entries, enum set_by by)
{
    struct report_choice *choice = groups->choices;
    int64_t *rank = groups->ranks;

    for (size_t i = 0; i < entries->count; i++) {
        const struct set_groups_entry *at = &entries->list[i], *before = i ? at - 1 : NULL;
        int is_new = !before || !is_same_group(by, at, before);
        if (is_new)
            groups->list[groups->count++] = (struct set_group){ .rank = by == SET_BY_RANK ? at->rank : -1,
                                                                .host = at->host,
                                                                .first = (size_t)(choice - groups->choices) };
        if (is_new || at->part != before->part) {
            *choice++ = (struct report_choice){ .part = at->part, .kept_ranks = at->is_whole ? NULL : rank };
            groups->list[groups->count - 1].count++;
        }
        if (!at->is_whole && (choice[-1].kept_rank_count == 0 || rank[-1] != at->rank)) {
            *rank++ = at->rank;
            choice[-1].kept_rank_count++;
        }
    }
}

int set_groups_make(struct set_groups *groups, const struct report *set, enum set_by by, struct error *err)
{
    struct set_groups_entries entries = { 0 };
    int code = 0;

    *groups = (struct set_groups){ 0 };
    for (size_t p = 0; p < report_part_count(set); p++)
        if ((code = set_groups_add_part(&entries, report_part_at(set, p), p, by)) != 0)
            goto free_entries;
    groups->list = calloc(entries.count + 1, sizeof *groups->list);
    groups->choices = calloc(entries.count + 1, sizeof *groups->choices);
    groups->ranks = calloc(entries.count + 1, sizeof *groups->ranks);
    code = groups->list && groups->choices && groups->ranks ? 0 : ERR_NO_MEMORY;
    if (code != 0)
        goto free_entries;
    if (entries.count)
        qsort(entries.list, entries.count, sizeof *entries.list, by == SET_BY_RANK ? set_groups_by_rank : by_host);
    take_groups(groups, &entries, by);
free_entries:
    free(entries.list);
    return code != 0 ? error_no_memory(err) : 0;
}

void set_groups_free(struct set_groups *groups)
{
    free(groups->list);
    free(groups->choices);
    free(groups->ranks);
    *groups = (struct set_groups){ 0 };
}

int set_group_open(const struct set_groups *groups, size_t index, struct report *set, struct report **out,
                   struct error *err)
{
    const struct set_group *group = &groups->list[index];

    return report_choose(set, groups->choices + group->first, group->count, out, err);
}
