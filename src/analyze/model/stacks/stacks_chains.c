/* Tables of call chains become nodes of the tree of stacks.
 *
 * A chain is a run of rows, innermost frame first. Chunks are looked at in parallel: each worker has a tree of its own,
 * and what a chain shares with the one before it is not looked up again. Chains at the ends of chunks may go on in the
 * next one: their rows are put aside, and so are all rows of a table that is not in order. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

struct worker {
    struct keys frames, nodes;
    struct stack_chain *chains; /* owned, as all below */
    size_t chain_count, chain_room;
    struct loose_row *loose;
    size_t loose_count, loose_room;
    struct raw_frame *before; /* the chain before, outermost first, and its nodes */
    uint32_t *path;
    size_t before_count, before_room, path_room;
    uint32_t *callee;         /* of a node, the child that was met last: mostly it is the next too */
    size_t callee_room;
};

struct walk {
    struct worker *workers;
    size_t worker_count;
    enum frame_kind kind;
    int lines, all_loose;
    _Atomic int is_disordered;
};

/* ---- one chain ------------------------------------------------------------------------------------------------- */

static struct raw_frame frame_of(const struct walk *walk, const struct report_block *block, size_t row)
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

static int add_chain(struct worker *worker, int64_t id, uint32_t node)
{
    if (array_reserve(&worker->chains, &worker->chain_room, worker->chain_count + 1, sizeof *worker->chains) != 0)
        return ERR_NO_MEMORY;
    worker->chains[worker->chain_count++] = (struct stack_chain){ id, node };
    return 0;
}

static uint32_t child_of(struct worker *worker, uint32_t parent, const struct raw_frame *frame)
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

/* The chain's next frame, from the outermost on; whether it is one that the chain before had there too. */
struct climb {
    size_t depth;
    int is_same;
    uint32_t node;
};
static int climb(struct worker *worker, struct climb *at, const struct raw_frame *frame)
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

static int make_path(struct worker *worker, size_t count)
{
    if (array_reserve(&worker->before, &worker->before_room, count, sizeof *worker->before) != 0)
        return ERR_NO_MEMORY;
    return array_reserve(&worker->path, &worker->path_room, count, sizeof *worker->path) == 0 ? 0 : ERR_NO_MEMORY;
}

static int add_run(const struct walk *walk, struct worker *worker, const struct report_block *block, size_t first,
                   size_t behind)
{
    struct climb at = { .is_same = 1, .node = STACK_EMPTY };
    int code = make_path(worker, behind - first);

    for (size_t row = behind; row-- > first && code == 0;) {
        struct raw_frame frame = frame_of(walk, block, row);
        code = climb(worker, &at, &frame);
    }
    worker->before_count = at.depth;
    return code ? code : add_chain(worker, block->values[CHAIN_ID][first], at.node);
}

static int set_aside(const struct walk *walk, struct worker *worker, const struct report_block *block, size_t first,
                     size_t behind)
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

/* Where the run that begins here ends. */
static size_t run_end(struct walk *walk, const struct report_block *block, size_t first)
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

static int visit(void *context, int number, const struct report_block *block)
{
    struct walk *walk = context;
    struct worker *worker = &walk->workers[number];
    int code = 0;

    if (walk->all_loose)
        return set_aside(walk, worker, block, 0, block->rows);
    for (size_t first = 0, behind; first < block->rows && code == 0 && !walk->is_disordered; first = behind) {
        behind = run_end(walk, block, first);
        if (first == 0 || behind == block->rows)
            code = set_aside(walk, worker, block, first, behind);
        else
            code = add_run(walk, worker, block, first, behind);
    }
    return code;
}

/* ---- all of them together -------------------------------------------------------------------------------------- */

static int by_id_and_depth(const void *a, const void *b)
{
    const struct loose_row *x = a, *y = b;

    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->depth > y->depth) - (x->depth < y->depth);
}

static int by_id(const void *a, const void *b)
{
    const struct stack_chain *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* The rows that were put aside become chains of the first worker. */
static int add_loose(struct walk *walk)
{
    struct worker *first = &walk->workers[0];
    size_t own = first->loose_count, count = own;
    int code = 0;

    for (size_t i = 1; i < walk->worker_count; i++)
        count += walk->workers[i].loose_count;
    if (count == 0)
        return 0;
    if (array_reserve(&first->loose, &first->loose_room, count, sizeof *first->loose) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 1; i < walk->worker_count; own += walk->workers[i++].loose_count)
        if (walk->workers[i].loose_count)
            memcpy(first->loose + own, walk->workers[i].loose, walk->workers[i].loose_count * sizeof *first->loose);
    qsort(first->loose, count, sizeof *first->loose, by_id_and_depth);
    for (size_t begin = 0, behind; begin < count && code == 0; begin = behind) {
        struct climb at = { .is_same = 1, .node = STACK_EMPTY };
        for (behind = begin + 1; behind < count && first->loose[behind].id == first->loose[begin].id;)
            behind++;
        code = make_path(first, behind - begin);
        for (size_t row = behind; row-- > begin && code == 0;)
            code = climb(first, &at, &first->loose[row].frame);
        first->before_count = at.depth;
        code = code ? code : add_chain(first, first->loose[begin].id, at.node);
    }
    return code;
}

/* A text may have several ids in a long capture: the first stands for all. An empty one is no name. */
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

/* A worker's tree into the one of all; its chains then name nodes of that. */
static int join(struct stacks *stacks, struct worker *worker)
{
    uint32_t *frames = malloc((worker->frames.count + 1) * sizeof *frames),
             *nodes = malloc((worker->nodes.count + 1) * sizeof *nodes);
    int code = frames && nodes ? 0 : ERR_NO_MEMORY;

    for (uint32_t i = 0; i < worker->frames.count && code == 0; i++) {
        int64_t key[FRAME_PARTS];
        memcpy(key, keys_get(&worker->frames, i), sizeof key);
        key[FRAME_SYMBOL] = one_id(stacks->report, key[FRAME_SYMBOL]);
        key[FRAME_MODULE] = one_id(stacks->report, key[FRAME_MODULE]);
        key[FRAME_SOURCE] = key[FRAME_SOURCE] == FRAME_NO_NAME ? FRAME_NO_NAME
                                                               : one_id(stacks->report, key[FRAME_SOURCE]);
        frames[i] = keys_add(&stacks->frames, key);
        code = frames[i] == NO_KEY ? ERR_NO_MEMORY : 0;
    }
    for (uint32_t i = 1; i < worker->nodes.count && code == 0; i++) {
        const int64_t *key = keys_get(&worker->nodes, i);
        nodes[i] = keys_add(&stacks->nodes, (int64_t[]){ key[NODE_PARENT] ? nodes[key[NODE_PARENT]] : STACK_EMPTY,
                                                         frames[key[NODE_FRAME]] });
        code = nodes[i] == NO_KEY ? ERR_NO_MEMORY : 0;
    }
    for (size_t i = 0; i < worker->chain_count && code == 0; i++)
        worker->chains[i].stack = worker->chains[i].stack ? nodes[worker->chains[i].stack] : STACK_EMPTY;
    free(frames);
    free(nodes);
    return code;
}

static int join_all(struct stack_chains *chains, struct stacks *stacks, struct walk *walk)
{
    int code = add_loose(walk);
    size_t count = 0;

    report_find_string(stacks->report, "", 0); /* after which it is known whether strings repeat */
    for (size_t i = 0; i < walk->worker_count && code == 0; i++) {
        code = join(stacks, &walk->workers[i]);
        count += walk->workers[i].chain_count;
    }
    chains->list = code == 0 ? malloc((count + 1) * sizeof *chains->list) : NULL;
    if (!chains->list)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < walk->worker_count; i++) {
        if (walk->workers[i].chain_count)
            memcpy(chains->list + chains->count, walk->workers[i].chains,
                   walk->workers[i].chain_count * sizeof *chains->list);
        chains->count += walk->workers[i].chain_count;
    }
    qsort(chains->list, chains->count, sizeof *chains->list, by_id);
    return 0;
}

static void workers_free(struct walk *walk)
{
    for (size_t i = 0; i < walk->worker_count && walk->workers; i++) {
        struct worker *worker = &walk->workers[i];
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

static int workers_new(struct walk *walk, size_t count)
{
    walk->worker_count = count;
    walk->workers = calloc(count, sizeof *walk->workers);
    for (size_t i = 0; i < count && walk->workers; i++) {
        walk->workers[i].frames.width = FRAME_PARTS;
        walk->workers[i].nodes.width = NODE_PARTS;
        if (keys_add(&walk->workers[i].nodes, (int64_t[NODE_PARTS]){ -1, -1 }) == NO_KEY)
            return ERR_NO_MEMORY;
    }
    return walk->workers ? 0 : ERR_NO_MEMORY;
}

/* Chunks are in order inside; they are so one behind the other if ids never fall, which the chains show once they are
 * sorted: two of one id would be one that was torn apart. */
static int is_torn(const struct stack_chains *chains)
{
    for (size_t i = 1; i < chains->count; i++)
        if (chains->list[i].id == chains->list[i - 1].id)
            return 1;
    return 0;
}

static int read_once(struct stack_chains *chains, struct stacks *stacks, const struct report_table *table,
                     struct walk *walk, struct error *err)
{
    int wanted[CHAIN_COLUMNS];

    for (size_t i = 0; i < CHAIN_COLUMNS; i++)
        wanted[i] = report_column(table, walk->kind == FRAME_PYTHON ? python_names[i] : native_names[i]);
    int code = workers_new(walk, (size_t)report_workers(stacks->report));
    if (code == 0)
        code = report_scan(stacks->report, table, wanted, CHAIN_COLUMNS, NULL, visit, walk, err);
    if (code == 0 && !walk->is_disordered)
        code = join_all(chains, stacks, walk);
    workers_free(walk);
    return code == ERR_NO_MEMORY ? error_set(err, code, "not enough memory for the stacks") : code;
}

int stack_chains_read(struct stack_chains *chains, struct stacks *stacks, const char *name, int lines,
                      struct error *err)
{
    const struct report_table *table = report_table(stacks->report, name);
    struct walk walk = { .kind = chain_table_find(name) == CHAINS_PYTHON ? FRAME_PYTHON : FRAME_NATIVE,
                         .lines = lines };

    *chains = (struct stack_chains){ 0 };
    if (!table || !table->rows)
        return 0;
    int code = read_once(chains, stacks, table, &walk, err);
    if (code != 0 || (!walk.is_disordered && !is_torn(chains)))
        return code;
    stack_chains_free(chains);
    walk = (struct walk){ .kind = walk.kind, .lines = lines, .all_loose = 1 };
    return read_once(chains, stacks, table, &walk, err);
}

void stack_chains_free(struct stack_chains *chains)
{
    free(chains->list);
    *chains = (struct stack_chains){ 0 };
}

uint32_t stack_chains_find(const struct stack_chains *chains, int64_t id, size_t *hint)
{
    size_t low = 0, high = chains->count;

    if (*hint < chains->count && chains->list[*hint].id == id)
        return chains->list[(*hint)++].stack;
    uint64_t guess = high ? (uint64_t)id - (uint64_t)chains->list[0].id : 0; /* where it is if every id has a chain */
    if (guess < high && chains->list[guess].id == id)
        return chains->list[guess].stack;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chains->list[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == chains->count || chains->list[low].id != id)
        return STACK_EMPTY;
    *hint = low + 1;
    return chains->list[low].stack;
}
