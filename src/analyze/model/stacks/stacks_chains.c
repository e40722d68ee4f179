/* Turns tables of call chains into nodes of the tree of stacks.
 *
 * A chain is a run of rows, innermost frame first. Workers scan chunks in parallel, each with a tree of its own; frames
 * that a chain shares with the one before it are not looked up again. Chains at the ends of chunks may continue in the
 * next one: their rows are set aside, and so are all rows of a table that is not in order.
 *
 * The agent's frames are left out: it is a guest in the program, and what it calls (a thread's function) would be below
 * it. Only an innermost frame stays, which is time that the agent itself took. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "report/schema/chain_tables.h"
#include "stacks.h"

static const char *const native_names[CHAIN_COLUMNS] = CHAIN_NATIVE_COLUMNS,
                         *const python_names[CHAIN_COLUMNS] = CHAIN_PYTHON_COLUMNS;

struct raw_frame {
    int64_t part[FRAME_PARTS];
};
struct loose_row {
    int64_t id, depth;
    struct raw_frame frame;
};

enum { KNOWN_MODULES = 64 };
struct stacks_chains_worker {
    struct keys frames, nodes;
    struct stack_chain *chains; /* owned, as all below */
    size_t chain_count, chain_room;
    struct loose_row *loose;
    size_t loose_count, loose_room;
    struct raw_frame *before; /* the frames of the chain before, outermost first */
    uint32_t *path;           /* their nodes */
    size_t before_count, before_room, path_room;
    uint32_t *callee;         /* of a node, the child that was found last; the next is mostly the same */
    size_t callee_room;
    struct {
        uint64_t id;          /* + 1; 0: none */
        int is_agent;
    } modules[KNOWN_MODULES]; /* those met last */
};

struct stacks_chains_walk {
    struct report *report;
    struct stacks_chains_worker *workers;
    size_t worker_count;
    enum stack_frame_kind kind;
    int lines, all_loose;
    _Atomic int is_disordered;
};

/* ---- one chain ------------------------------------------------------------------------------------------------- */

static struct raw_frame frame_of(const struct stacks_chains_walk *walk, const struct report_block *block, size_t row)
{
    int is_unresolved = !block_is_null(block, CHAIN_UNRESOLVED, row) && block->values[CHAIN_UNRESOLVED][row];
    int is_kernel = !block_is_null(block, CHAIN_KERNEL, row) && block->values[CHAIN_KERNEL][row];
    int is_entry = (walk->lines & STACKS_WITH_ENTRIES) && !block_is_null(block, CHAIN_ENTRY, row) &&
                   block->values[CHAIN_ENTRY][row];
    int has_source = (walk->lines & STACKS_WITH_LINES) && !block_is_null(block, CHAIN_SOURCE, row) &&
                     !block_is_null(block, CHAIN_LINE, row);

    return (struct raw_frame){ {
        [FRAME_KIND] = is_kernel  ? FRAME_KERNEL
                       : is_entry ? FRAME_PYTHON_ENTRY
                                  : walk->kind,
        [FRAME_SYMBOL] = is_unresolved ? FRAME_NO_NAME : block->values[CHAIN_SYMBOL][row],
        [FRAME_MODULE] = block->values[CHAIN_MODULE][row],
        [FRAME_SOURCE] = has_source ? block->values[CHAIN_SOURCE][row] : FRAME_NO_NAME,
        [FRAME_LINE] = has_source ? block->values[CHAIN_LINE][row] : FRAME_NO_LINE,
    } };
}

static int stacks_chains_add_chain(struct stacks_chains_worker *worker, int64_t id, uint32_t node)
{
    return ARRAY_PUSH(worker->chains, worker->chain_room, worker->chain_count, (struct stack_chain){ id, node });
}

static uint32_t child_of(struct stacks_chains_worker *worker, uint32_t parent, const struct raw_frame *frame)
{
    if (array_reserve_zeroed(&worker->callee, &worker->callee_room, parent + (size_t)1, sizeof *worker->callee) != 0)
        return NO_KEY;
    uint32_t last = worker->callee[parent]; /* STACK_EMPTY is nobody's child */
    if (last && memcmp(keys_get(&worker->frames, (uint32_t)keys_get(&worker->nodes, last)[NODE_FRAME]), frame,
                       sizeof *frame) == 0)
        return last;
    uint32_t number = keys_add(&worker->frames, frame->part);
    uint32_t node = number == NO_KEY ? NO_KEY : keys_add(&worker->nodes, (int64_t[NODE_PARTS]){ parent, number });
    worker->callee[parent] = node == NO_KEY ? STACK_EMPTY : node;
    return node;
}

static int is_of_agent(const struct stacks_chains_walk *walk, struct stacks_chains_worker *worker,
                       const struct raw_frame *frame)
{
    uint64_t id = (uint64_t)frame->part[FRAME_MODULE] + 1; /* of a damaged file, any number */
    size_t place = id % KNOWN_MODULES;

    if (worker->modules[place].id != id) {
        const char *file = path_base_name(report_string(walk->report, frame->part[FRAME_MODULE], NULL));
        worker->modules[place].id = id;
        worker->modules[place].is_agent = text_begins_with(file, "libtacho-");
    }
    return worker->modules[place].is_agent;
}

/* Adds the chain's next frame, from the outermost on. is_same: all frames so far are those of the chain before. */
struct climb {
    size_t depth;
    int is_same;
    uint32_t node;
};
static int climb(struct stacks_chains_worker *worker, struct climb *at, const struct raw_frame *frame)
{
    size_t depth = at->depth++;

    if (at->is_same && depth < worker->before_count && memcmp(&worker->before[depth], frame, sizeof *frame) == 0) {
        at->node = worker->path[depth];
        return 0;
    }
    at->is_same = 0;
    at->node = child_of(worker, at->node, frame);
    worker->before[depth] = *frame;
    worker->path[depth] = at->node;
    return at->node == NO_KEY ? ERR_NO_MEMORY : 0;
}

static int stacks_chains_make_path(struct stacks_chains_worker *worker, size_t count)
{
    if (array_reserve(&worker->before, &worker->before_room, count, sizeof *worker->before) != 0 ||
        array_reserve(&worker->path, &worker->path_room, count, sizeof *worker->path) != 0)
        return ERR_NO_MEMORY;
    return 0;
}

static int stacks_chains_add_run(const struct stacks_chains_walk *walk, struct stacks_chains_worker *worker,
                                 const struct report_block *block, size_t first, size_t behind)
{
    struct climb at = { .is_same = 1, .node = STACK_EMPTY };

    if (stacks_chains_make_path(worker, behind - first) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = behind; row-- > first;) {
        struct raw_frame frame = frame_of(walk, block, row);
        if ((row == first || !is_of_agent(walk, worker, &frame)) && climb(worker, &at, &frame) != 0)
            return ERR_NO_MEMORY;
    }
    worker->before_count = at.depth;
    return stacks_chains_add_chain(worker, block->values[CHAIN_ID][first], at.node);
}

static int set_aside(const struct stacks_chains_walk *walk, struct stacks_chains_worker *worker,
                     const struct report_block *block, size_t first, size_t behind)
{
    if (array_reserve(&worker->loose, &worker->loose_room, worker->loose_count + behind - first,
                      sizeof *worker->loose) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = first; row < behind; row++)
        worker->loose[worker->loose_count++] = (struct loose_row){ block->values[CHAIN_ID][row],
                                                                   block->values[CHAIN_DEPTH][row],
                                                                   frame_of(walk, block, row) };
    return 0;
}

/* ---- a chunk --------------------------------------------------------------------------------------------------- */

/* The end of the run that begins at `first`. */
static size_t run_end(struct stacks_chains_walk *walk, const struct report_block *block, size_t first)
{
    const int64_t *id = block->values[CHAIN_ID], *depth = block->values[CHAIN_DEPTH];
    size_t row = first + 1;

    for (; row < block->rows && id[row] == id[first]; row++)
        if (depth[row] <= depth[row - 1])
            walk->is_disordered = 1;
    if (row < block->rows && id[row] < id[first])
        walk->is_disordered = 1;
    return row;
}

static int stacks_chains_visit(void *context, int number, const struct report_block *block)
{
    struct stacks_chains_walk *walk = context;
    struct stacks_chains_worker *worker = &walk->workers[number];
    int code;

    if (walk->all_loose)
        return set_aside(walk, worker, block, 0, block->rows);
    for (size_t first = 0, behind; first < block->rows && !walk->is_disordered; first = behind) {
        behind = run_end(walk, block, first);
        if (first == 0 || behind == block->rows)
            code = set_aside(walk, worker, block, first, behind);
        else
            code = stacks_chains_add_run(walk, worker, block, first, behind);
        if (code != 0)
            return code;
    }
    return 0;
}

/* ---- all workers ----------------------------------------------------------------------------------------------- */

static int by_id_and_depth(const void *a, const void *b)
{
    const struct loose_row *x = a, *y = b;

    return COMPARE(x->id, y->id) ?: COMPARE(x->depth, y->depth);
}

static int stacks_chains_by_id(const void *a, const void *b)
{
    const struct stack_chain *x = a, *y = b;

    return COMPARE(x->id, y->id);
}

/* Moves the rows that were set aside to the first worker. */
static int gather_loose(struct stacks_chains_walk *walk)
{
    struct stacks_chains_worker *first = &walk->workers[0];
    size_t count = 0;

    for (size_t i = 0; i < walk->worker_count; i++)
        count += walk->workers[i].loose_count;
    if (array_reserve(&first->loose, &first->loose_room, count, sizeof *first->loose) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 1; i < walk->worker_count; i++) {
        struct stacks_chains_worker *worker = &walk->workers[i];
        if (worker->loose_count)
            memcpy(first->loose + first->loose_count, worker->loose, worker->loose_count * sizeof *first->loose);
        first->loose_count += worker->loose_count;
        worker->loose_count = 0;
    }
    return 0;
}

static int add_loose_run(const struct stacks_chains_walk *walk, struct stacks_chains_worker *worker,
                         const struct loose_row *rows, size_t count)
{
    struct climb at = { .is_same = 1, .node = STACK_EMPTY };

    if (stacks_chains_make_path(worker, count) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = count; row-- > 0;)
        if ((row == 0 || !is_of_agent(walk, worker, &rows[row].frame)) && climb(worker, &at, &rows[row].frame) != 0)
            return ERR_NO_MEMORY;
    worker->before_count = at.depth;
    return stacks_chains_add_chain(worker, rows[0].id, at.node);
}

/* Makes chains of the first worker out of the rows that were set aside. */
static int add_loose(struct stacks_chains_walk *walk)
{
    struct stacks_chains_worker *worker = &walk->workers[0];

    if (gather_loose(walk) != 0)
        return ERR_NO_MEMORY;
    struct loose_row *rows = worker->loose;
    size_t count = worker->loose_count;
    if (count)
        qsort(rows, count, sizeof *rows, by_id_and_depth);
    for (size_t first = 0, behind; first < count; first = behind) {
        for (behind = first + 1; behind < count && rows[behind].id == rows[first].id;)
            behind++;
        if (add_loose_run(walk, worker, rows + first, behind - first) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* A text may have several ids in a long capture; the first represents all. The id of an empty text is FRAME_NO_NAME. */
static int64_t one_id(struct report *report, int64_t id)
{
    size_t length;
    const char *bytes = report_string(report, id, &length);

    if (length == 0)
        return FRAME_NO_NAME;
    if (!report_strings_repeat(report))
        return id;
    int64_t first = report_find_string(report, bytes, length);
    return first < 0 ? id : first;
}

/* frames[i] becomes the number of the worker's frame i in the stacks. */
static int join_frames(struct stacks *stacks, const struct stacks_chains_worker *worker, uint32_t *frames)
{
    for (uint32_t i = 0; i < worker->frames.count; i++) {
        int64_t key[FRAME_PARTS];
        memcpy(key, keys_get(&worker->frames, i), sizeof key);
        key[FRAME_SYMBOL] = one_id(stacks->report, key[FRAME_SYMBOL]);
        key[FRAME_MODULE] = one_id(stacks->report, key[FRAME_MODULE]);
        key[FRAME_SOURCE] = key[FRAME_SOURCE] == FRAME_NO_NAME ? FRAME_NO_NAME
                                                               : one_id(stacks->report, key[FRAME_SOURCE]);
        if ((frames[i] = keys_add(&stacks->frames, key)) == NO_KEY)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int join_nodes(struct stacks *stacks, const struct stacks_chains_worker *worker, const uint32_t *frames,
                      uint32_t *nodes)
{
    nodes[STACK_EMPTY] = STACK_EMPTY;
    for (uint32_t i = 1; i < worker->nodes.count; i++) {
        const int64_t *key = keys_get(&worker->nodes, i);
        nodes[i] = keys_add(&stacks->nodes, (int64_t[NODE_PARTS]){ nodes[key[NODE_PARENT]], frames[key[NODE_FRAME]] });
        if (nodes[i] == NO_KEY)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Adds a worker's tree to the stacks; its chains then refer to nodes of these. */
static int stacks_chains_join(struct stacks *stacks, struct stacks_chains_worker *worker)
{
    uint32_t *frames = malloc((worker->frames.count + 1) * sizeof *frames),
             *nodes = malloc((worker->nodes.count + 1) * sizeof *nodes);
    int code = ERR_NO_MEMORY;

    if (!frames || !nodes)
        goto done;
    if ((code = join_frames(stacks, worker, frames)) != 0 || (code = join_nodes(stacks, worker, frames, nodes)) != 0)
        goto done;
    for (size_t i = 0; i < worker->chain_count; i++)
        worker->chains[i].stack = nodes[worker->chains[i].stack];
done:
    free(frames);
    free(nodes);
    return code;
}

static int stacks_chains_join_all(struct stack_chains *chains, struct stacks *stacks, struct stacks_chains_walk *walk)
{
    size_t count = 0;

    if (add_loose(walk) != 0)
        return ERR_NO_MEMORY;
    report_find_string(stacks->report, "", 0); /* finds out whether strings repeat, which one_id() needs */
    for (size_t i = 0; i < walk->worker_count; i++) {
        if (stacks_chains_join(stacks, &walk->workers[i]) != 0)
            return ERR_NO_MEMORY;
        count += walk->workers[i].chain_count;
    }
    chains->list = malloc((count + 1) * sizeof *chains->list);
    if (!chains->list)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < walk->worker_count; i++) {
        if (walk->workers[i].chain_count)
            memcpy(chains->list + chains->count, walk->workers[i].chains,
                   walk->workers[i].chain_count * sizeof *chains->list);
        chains->count += walk->workers[i].chain_count;
    }
    qsort(chains->list, chains->count, sizeof *chains->list, stacks_chains_by_id);
    return 0;
}

static void workers_free(struct stacks_chains_walk *walk)
{
    for (size_t i = 0; walk->workers && i < walk->worker_count; i++) {
        struct stacks_chains_worker *worker = &walk->workers[i];
        keys_free(&worker->frames);
        keys_free(&worker->nodes);
        free(worker->chains);
        free(worker->loose);
        free(worker->before);
        free(worker->path);
        free(worker->callee);
    }
    free(walk->workers);
}

static int workers_new(struct stacks_chains_walk *walk, size_t count)
{
    walk->worker_count = count;
    walk->workers = calloc(count, sizeof *walk->workers);
    if (!walk->workers)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        walk->workers[i].frames.width = FRAME_PARTS;
        walk->workers[i].nodes.width = NODE_PARTS;
        if (keys_add(&walk->workers[i].nodes, (int64_t[NODE_PARTS]){ -1, -1 }) == NO_KEY)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Each chunk was checked to be in order. If the chunks are not in order among each other, a chain may lie in several of
 * them that are not neighbours; then the sorted list has two chains with the same id. */
static int stacks_chains_is_torn(const struct stack_chains *chains)
{
    for (size_t i = 1; i < chains->count; i++)
        if (chains->list[i].id == chains->list[i - 1].id)
            return 1;
    return 0;
}

static int stacks_chains_read_once(struct stack_chains *chains, struct stacks *stacks, const struct report_table *table,
                                   struct stacks_chains_walk *walk, struct error *err)
{
    int wanted[CHAIN_COLUMNS], code;

    for (size_t i = 0; i < CHAIN_COLUMNS; i++)
        wanted[i] = report_column(table, walk->kind == FRAME_PYTHON ? python_names[i] : native_names[i]);
    if ((code = workers_new(walk, (size_t)report_workers(stacks->report))) != 0 ||
        (code = report_scan(stacks->report, table, wanted, CHAIN_COLUMNS, NULL, stacks_chains_visit, walk, err)) != 0)
        goto free_workers;
    if (!walk->is_disordered)
        code = stacks_chains_join_all(chains, stacks, walk);
free_workers:
    workers_free(walk);
    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the stacks") : code;
}

int stack_chains_read(struct stack_chains *chains, struct stacks *stacks, const char *name, int lines,
                      struct error *err)
{
    const struct report_table *table = report_table(stacks->report, name);
    struct stacks_chains_walk walk = { .report = stacks->report,
                                       .kind = chain_table_find(name) == CHAINS_PYTHON ? FRAME_PYTHON : FRAME_NATIVE,
                                       .lines = lines };

    *chains = (struct stack_chains){ 0 };
    if (!table || !table->rows)
        return 0;
    int code = stacks_chains_read_once(chains, stacks, table, &walk, err);
    if (code != 0)
        return code;
    if (!walk.is_disordered && !stacks_chains_is_torn(chains))
        return 0;
    stack_chains_free(chains);
    walk = (struct stacks_chains_walk){ .report = stacks->report, .kind = walk.kind, .lines = lines, .all_loose = 1 };
    return stacks_chains_read_once(chains, stacks, table, &walk, err);
}

void stack_chains_free(struct stack_chains *chains)
{
    free(chains->list);
    *chains = (struct stack_chains){ 0 };
}

uint32_t stack_chains_find(const struct stack_chains *chains, int64_t id, size_t *hint)
{
    if (*hint < chains->count && chains->list[*hint].id == id)
        return chains->list[(*hint)++].stack;
    uint64_t guess = chains->count ? (uint64_t)id - (uint64_t)chains->list[0].id : 0; /* if every id has a chain */
    if (guess < chains->count && chains->list[guess].id == id)
        return chains->list[guess].stack;
    size_t found = BISECT(0, chains->count, i, chains->list[i].id < id);
    if (found == chains->count || chains->list[found].id != id)
        return STACK_EMPTY;
    *hint = found + 1;
    return chains->list[found].stack;
}
