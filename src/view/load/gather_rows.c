/* Makes rows of gathered blocks. The keys of workers become keys of the view, events go to the piles of their rows in
 * the order of their tables, and then several piles at once are arranged in lanes. */
#include "gather_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event_index.h"
#include "lanes.h"

struct pile {                  /* the events of one row */
    uint32_t key;              /* in view->row_keys */
    uint64_t count, long_count;
    struct view_events events;
    struct view_events *parts; /* owned, once arranged */
    size_t part_count;
};

/* The kinds of the names of one source, + 1; 0: not known yet. The names of the string pool, and the view's own. */
struct known_works {
    uint32_t source;
    uint8_t *works[2]; /* owned */
    size_t room[2];
};

struct dealing {
    struct gather *gather;
    struct gather_block **blocks; /* owned; in the order of sources and rows */
    size_t block_count;
    uint32_t **piles_of;          /* owned; by worker and its key: the pile */
    struct pile *piles;           /* owned */
    size_t pile_count;
    struct keys renames;          /* pairs of a source and a name of it */
    uint32_t *renamed;            /* owned; by number in renames: the name to show */
    size_t renamed_capacity;
    struct known_works known;     /* for the source whose blocks are dealt */
    int *codes;                   /* owned; by pile */
};

static int gather_rows_by_place(const void *a, const void *b)
{
    const struct gather_block *x = *(struct gather_block *const *)a, *y = *(struct gather_block *const *)b;

    return COMPARE(x->source, y->source) ?: COMPARE(x->first_row, y->first_row);
}

static int collect_blocks(struct dealing *dealing)
{
    struct gather *gather = dealing->gather;
    size_t count = 0;

    for (size_t w = 0; w < gather->worker_count; w++)
        count += gather->workers[w].block_count;
    dealing->blocks = malloc((count + 1) * sizeof *dealing->blocks);
    if (!dealing->blocks)
        return ERR_NO_MEMORY;
    for (size_t w = 0; w < gather->worker_count; w++) {
        for (size_t b = 0; b < gather->workers[w].block_count; b++)
            dealing->blocks[dealing->block_count++] = gather->workers[w].blocks[b];
        gather->workers[w].block_count = 0;
    }
    qsort(dealing->blocks, count, sizeof *dealing->blocks, gather_rows_by_place);
    return 0;
}

/* Gives each key of a worker the pile of that key. */
static int number_keys(struct dealing *dealing, size_t worker, struct keys *numbers)
{
    const struct keys *keys = &dealing->gather->workers[worker].keys;
    uint32_t *piles_of = dealing->piles_of[worker] = malloc((keys->count + 1) * sizeof *piles_of);

    if (!piles_of)
        return ERR_NO_MEMORY;
    for (uint32_t key = 0; key < keys->count; key++) {
        uint32_t pile = keys_add(numbers, keys_get(keys, key));
        uint32_t in_view = keys_add(&dealing->gather->view->row_keys, keys_get(keys, key));
        if (pile == NO_KEY || in_view == NO_KEY)
            return ERR_NO_MEMORY;
        piles_of[key] = pile;
        dealing->piles[pile].key = in_view;
    }
    return 0;
}

/* Makes one pile for each key, also where several workers met it. */
static int number_piles(struct dealing *dealing)
{
    struct gather *gather = dealing->gather;
    struct keys numbers = { .width = KEY_PARTS };
    size_t most = 0;
    int code = 0;

    for (size_t w = 0; w < gather->worker_count; w++)
        most += gather->workers[w].keys.count;
    dealing->piles = calloc(most + 1, sizeof *dealing->piles);
    dealing->piles_of = calloc(gather->worker_count + 1, sizeof *dealing->piles_of);
    if (!dealing->piles || !dealing->piles_of)
        return ERR_NO_MEMORY;
    for (size_t w = 0; w < gather->worker_count; w++)
        if ((code = number_keys(dealing, w, &numbers)) != 0)
            goto free_numbers;
    dealing->pile_count = numbers.count;
free_numbers:
    keys_free(&numbers);
    return code;
}

static int allocate_piles(struct dealing *dealing)
{
    for (size_t b = 0; b < dealing->block_count; b++) {
        const struct gather_block *block = dealing->blocks[b];
        for (uint32_t i = 0; i < block->count; i++)
            dealing->piles[dealing->piles_of[block->worker][block->key[i]]].count++;
        for (uint32_t i = 0; i < block->long_count; i++)
            dealing->piles[dealing->piles_of[block->worker][block->key[block->longer[i].event]]].long_count++;
    }
    for (size_t p = 0; p < dealing->pile_count; p++) {
        struct pile *pile = &dealing->piles[p];
        if (pile->count >= UINT32_MAX ||
            events_allocate(&pile->events, (uint32_t)pile->count, (uint32_t)pile->long_count) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int rename_one(struct dealing *dealing, const struct view_source *source, uint32_t *name)
{
    size_t before = dealing->renames.count;
    uint32_t number = keys_add(&dealing->renames, (int64_t[]){ source - dealing->gather->family->sources, *name });

    if (number == NO_KEY ||
        array_reserve(&dealing->renamed, &dealing->renamed_capacity, (size_t)number + 1, sizeof *dealing->renamed) != 0)
        return ERR_NO_MEMORY;
    if (dealing->renames.count > before)
        dealing->renamed[number] = source->rename(dealing->gather->view, *name);
    *name = dealing->renamed[number];
    return 0;
}

/* Replaces names by the names to show. A table has few different names, so each is made once. */
static int rename_block(struct dealing *dealing, struct gather_block *block)
{
    const struct view_source *source = &dealing->gather->family->sources[block->source];

    if (!source->rename)
        return 0;
    for (uint32_t i = 0; i < block->count; i++)
        if (rename_one(dealing, source, &block->name[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* Finds the place of a name in a list that grows with the names. */
static uint8_t *known_work(struct known_works *known, uint32_t name)
{
    int own = name >= VIEW_OWN_NAME;
    size_t at = own ? name - VIEW_OWN_NAME : name, before = known->room[own];

    if (at >= before) {
        if (array_reserve(&known->works[own], &known->room[own], at + 1, 1) != 0)
            return NULL;
        memset(known->works[own] + before, 0, known->room[own] - before);
    }
    return &known->works[own][at];
}

static enum work_kind gather_rows_work_of(struct dealing *dealing, const struct gather_block *block, uint32_t i)
{
    const struct view_source *source = &dealing->gather->family->sources[block->source];
    struct known_works *known = &dealing->known;
    size_t length;

    if (block->tag[i] & EVENT_WAITING)
        return WORK_NONE;
    if (!source->work_of)
        return source->work;
    if (known->source != block->source)
        for (int own = 0; own < 2; own++)
            if (known->room[own])
                memset(known->works[own], 0, known->room[own]);
    known->source = block->source;
    uint8_t *work = known_work(known, block->name[i]);
    if (work && *work)
        return (enum work_kind)(*work - 1);
    const char *name = view_name(dealing->gather->view, block->name[i], &length);
    enum work_kind found = source->work_of(name, length);
    if (work)
        *work = (uint8_t)(found + 1);
    return found;
}

static void deal_block(struct dealing *dealing, const struct gather_block *block)
{
    const uint32_t *piles_of = dealing->piles_of[block->worker];
    uint32_t next_long = 0;

    for (uint32_t i = 0; i < block->count; i++) {
        struct view_events *to = &dealing->piles[piles_of[block->key[i]]].events;
        uint32_t at = to->count++;
        to->start_ns[at] = block->start_ns[i];
        to->length_ns[at] = block->length_ns[i];
        to->name[at] = block->name[i];
        to->table_row[at] = block->table_row[i];
        to->tag[at] = (uint16_t)(block->tag[i] | gather_rows_work_of(dealing, block, i) << EVENT_WORK_SHIFT);
        if (block->length_ns[i] == LENGTH_IS_LONG)
            to->longer[to->long_count++] = (struct view_long){ at, block->longer[next_long++].length_ns };
    }
}

static int arrange_pile(struct pile *pile)
{
    if (events_arrange(&pile->events, &pile->parts, &pile->part_count) != 0)
        return ERR_NO_MEMORY;
    for (size_t part = 0; part < pile->part_count; part++)
        if (index_build(&pile->parts[part]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static void arrange_one(void *argument, int worker, size_t i)
{
    struct dealing *dealing = argument;

    dealing->codes[i] = arrange_pile(&dealing->piles[i]);
}

static int arrange_piles(struct dealing *dealing)
{
    dealing->codes = calloc(dealing->pile_count + 1, sizeof *dealing->codes);
    if (!dealing->codes)
        return ERR_NO_MEMORY;
    report_parallel_for(dealing->gather->view->report, dealing->pile_count, arrange_one, dealing);
    for (size_t p = 0; p < dealing->pile_count; p++)
        if (dealing->codes[p] != 0)
            return dealing->codes[p];
    return 0;
}

static int gather_rows_add_leaves(struct dealing *dealing, struct pile *pile)
{
    for (size_t part = 0; part < pile->part_count; part++) {
        struct view_leaf leaf = {
            .key = pile->key, .spill = (int)part, .family = dealing->gather->family, .events = pile->parts[part]
        };
        if (view_add_leaf(dealing->gather->view, &leaf) != 0)
            return ERR_NO_MEMORY;
        pile->parts[part] = (struct view_events){ 0 };
    }
    return 0;
}

static void dealing_free(struct dealing *dealing)
{
    for (size_t b = 0; b < dealing->block_count; b++)
        gather_block_free(dealing->blocks[b]);
    free(dealing->blocks);
    for (size_t w = 0; dealing->piles_of && w < dealing->gather->worker_count; w++)
        free(dealing->piles_of[w]);
    free(dealing->piles_of);
    for (size_t p = 0; p < dealing->pile_count; p++) {
        struct pile *pile = &dealing->piles[p];
        events_free(&pile->events);
        for (size_t part = 0; part < pile->part_count; part++)
            events_free(&pile->parts[part]);
        free(pile->parts);
    }
    free(dealing->piles);
    free(dealing->codes);
    free(dealing->renamed);
    free(dealing->known.works[0]);
    free(dealing->known.works[1]);
    keys_free(&dealing->renames);
}

/* Each block is freed once its events are in their piles, so that the events of a family are not held twice. */
static int deal_blocks(struct dealing *dealing)
{
    for (size_t b = 0; b < dealing->block_count; b++) {
        if (rename_block(dealing, dealing->blocks[b]) != 0)
            return ERR_NO_MEMORY;
        deal_block(dealing, dealing->blocks[b]);
        gather_block_free(dealing->blocks[b]);
        dealing->blocks[b] = NULL;
    }
    return 0;
}

static int deal_all(struct dealing *dealing)
{
    int code;

    if ((code = collect_blocks(dealing)) != 0 || (code = number_piles(dealing)) != 0 ||
        (code = allocate_piles(dealing)) != 0 || (code = deal_blocks(dealing)) != 0 ||
        (code = arrange_piles(dealing)) != 0)
        return code;
    for (size_t p = 0; p < dealing->pile_count; p++)
        if ((code = gather_rows_add_leaves(dealing, &dealing->piles[p])) != 0)
            return code;
    return 0;
}

int gather_finish(struct gather *gather, struct error *err)
{
    struct dealing dealing = { .gather = gather, .renames.width = 2 };
    int code = deal_all(&dealing);

    dealing_free(&dealing);
    return code != 0 ? error_set(err, code, "not enough memory for the rows of the timeline") : 0;
}
