/* Trees of samples. Equal stacks are summed first, so that each path is walked once. */
#include "stacks_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { NO_PLACE = NO_KEY - 1 }; /* no thread's frame; NO_KEY is the one of trees without threads */
struct stacks_tree_place {
    uint32_t thread, node;
};

struct stacks_tree_build {
    struct stacks *stacks;
    const struct stack_tree_request *request;
    struct stack_tree *tree;
    struct thread_names names;
    struct keys ends;                 /* the thread's frame, or NO_KEY, and the stack */
    struct stack_figure *figures;     /* owned, as below; of ends */
    size_t figure_room;
    uint32_t *path;                   /* stacks, innermost first */
    size_t path_room;
    struct stacks_tree_place *places; /* of a stack: its node in the tree, below the thread that was added last */
};

static int stacks_tree_add_figure(struct stacks_tree_build *build, const int64_t key[2],
                                  const struct stack_sample *sample)
{
    uint32_t end = keys_add(&build->ends, key);

    if (end == NO_KEY ||
        array_reserve_zeroed(&build->figures, &build->figure_room, end + 1u, sizeof *build->figures) != 0)
        return ERR_NO_MEMORY;
    build->figures[end].samples++;
    build->figures[end].weight = saturating_add(build->figures[end].weight, sample->weight);
    return 0;
}

static int sum_ends(struct stacks_tree_build *build)
{
    const struct stacks *stacks = build->stacks;
    int has_threads = build->request->with_threads || build->request->unit == STACK_BY_THREAD;
    int64_t key[2] = { NO_KEY, 0 };

    for (size_t i = 0; i < stacks->sample_count; i++) {
        const struct stack_sample *sample = &stacks->samples[i];
        if (sample->is_waiting && !build->request->with_waiting)
            continue;
        if (has_threads && (key[0] == NO_KEY || i == 0 || sample->thread != stacks->samples[i - 1].thread))
            key[0] = stack_thread_frame(build->stacks, &build->names, sample->thread);
        if (has_threads && key[0] == NO_KEY)
            return ERR_NO_MEMORY;
        key[1] = build->request->unit == STACK_BY_THREAD ? STACK_EMPTY : sample->stack;
        if (stacks_tree_add_figure(build, key, sample) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* The frame that stands for this one. */
static uint32_t stacks_tree_unit_of(struct stacks_tree_build *build, uint32_t frame)
{
    if (build->request->unit != STACK_BY_MODULE)
        return frame;
    const int64_t *own = stack_frame(build->stacks, frame);
    int64_t key[FRAME_PARTS] = { own[FRAME_KIND], FRAME_NO_NAME, own[FRAME_MODULE], FRAME_NO_NAME, FRAME_NO_LINE };
    return keys_add(&build->stacks->frames, key);
}

static int path_add(struct stacks_tree_build *build, size_t *count, uint32_t stack)
{
    if (array_reserve(&build->path, &build->path_room, *count + 1, sizeof *build->path) != 0)
        return ERR_NO_MEMORY;
    build->path[(*count)++] = stack;
    return 0;
}

static int tree_make_room(struct stack_tree *tree, size_t nodes)
{
    size_t room = tree->room;

    if (array_reserve_zeroed(&tree->self, &room, nodes, sizeof *tree->self) != 0 ||
        array_reserve_zeroed(&tree->total, &tree->room, nodes, sizeof *tree->total) != 0)
        return ERR_NO_MEMORY;
    return 0;
}

static void stacks_tree_figure_add(struct stack_figure *to, const struct stack_figure *figure)
{
    to->samples += figure->samples;
    to->weight = saturating_add(to->weight, figure->weight);
}

static uint32_t stacks_tree_add_child(struct stack_tree *tree, uint32_t parent, uint32_t frame)
{
    uint32_t node = keys_add(&tree->nodes, (int64_t[NODE_PARTS]){ parent, frame });

    return node == NO_KEY || tree_make_room(tree, node + 1u) != 0 ? NO_KEY : node;
}

/* Adds the innermost frame of a stack below a node; NO_KEY when memory is short. */
static uint32_t stacks_tree_add_frame(struct stacks_tree_build *build, uint32_t parent, uint32_t stack)
{
    uint32_t frame = stacks_tree_unit_of(build, stack_innermost(build->stacks, stack));

    if (frame != NO_KEY && build->request->fold_imports && parent != TREE_ROOT &&
        stack_frame_is_import(build->stacks, frame) &&
        stack_frame_is_import(build->stacks, tree_frame(build->tree, parent)))
        return parent;
    return frame == NO_KEY ? NO_KEY : stacks_tree_add_child(build->tree, parent, frame);
}

/* Adds the callers below the innermost frame; each path is walked to its end. */
static int add_inverted(struct stacks_tree_build *build, uint32_t thread, uint32_t stack,
                        const struct stack_figure *figure)
{
    uint32_t node = TREE_ROOT;

    for (; stack != STACK_EMPTY; stack = stack_parent(build->stacks, stack))
        if ((node = stacks_tree_add_frame(build, node, stack)) == NO_KEY)
            return ERR_NO_MEMORY;
    if (thread != NO_KEY && (node = stacks_tree_add_child(build->tree, node, thread)) == NO_KEY)
        return ERR_NO_MEMORY;
    stacks_tree_figure_add(&build->tree->self[node], figure);
    return 0;
}

/* Adds the stack below the innermost caller whose place in the tree is known. */
static int add_called(struct stacks_tree_build *build, uint32_t thread, uint32_t stack,
                      const struct stack_figure *figure)
{
    size_t count = 0;
    uint32_t node = TREE_ROOT, end = stack;

    for (; end != STACK_EMPTY && build->places[end].thread != thread; end = stack_parent(build->stacks, end))
        if (path_add(build, &count, end) != 0)
            return ERR_NO_MEMORY;
    if (end != STACK_EMPTY)
        node = build->places[end].node;
    else if (thread != NO_KEY && (node = stacks_tree_add_child(build->tree, TREE_ROOT, thread)) == NO_KEY)
        return ERR_NO_MEMORY;
    while (count-- > 0) {
        if ((node = stacks_tree_add_frame(build, node, build->path[count])) == NO_KEY)
            return ERR_NO_MEMORY;
        build->places[build->path[count]] = (struct stacks_tree_place){ thread, node };
    }
    stacks_tree_figure_add(&build->tree->self[node], figure);
    return 0;
}

static int add_ends(struct stacks_tree_build *build)
{
    int (*add)(struct stacks_tree_build *, uint32_t, uint32_t,
               const struct stack_figure *) = build->request->is_inverted ? add_inverted : add_called;
    size_t count = build->stacks->nodes.count;

    build->places = malloc(count * sizeof *build->places);
    if (!build->places)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        build->places[i] = (struct stacks_tree_place){ NO_PLACE, NO_KEY };
    for (uint32_t end = 0; end < build->ends.count; end++) {
        const int64_t *key = keys_get(&build->ends, end);
        if (add(build, (uint32_t)key[0], (uint32_t)key[1], &build->figures[end]) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* From the last node to the root, since a parent comes before its children. */
static void sum_totals(struct stack_tree *tree)
{
    for (size_t i = tree->nodes.count; i-- > 0;) {
        stacks_tree_figure_add(&tree->total[i], &tree->self[i]);
        if (i != TREE_ROOT)
            stacks_tree_figure_add(&tree->total[tree_parent(tree, (uint32_t)i)], &tree->total[i]);
    }
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

struct ordering {
    const struct stack_tree *tree;
    const struct stacks *stacks;
};

static int compare_strings(struct report *report, int64_t a, int64_t b)
{
    size_t x_length, y_length;
    const char *x = report_string(report, a, &x_length), *y = report_string(report, b, &y_length);

    return memcmp(x, y, x_length < y_length ? x_length : y_length) ?: COMPARE(x_length, y_length);
}

/* By names, since the numbers of frames may differ from one run to the next. */
static int compare_frames(const struct stacks *stacks, uint32_t a, uint32_t b)
{
    const int64_t *x = stack_frame(stacks, a), *y = stack_frame(stacks, b);
    int order = compare_strings(stacks->report, x[FRAME_SYMBOL], y[FRAME_SYMBOL]);

    if (order == 0 && x[FRAME_KIND] != FRAME_THREAD && y[FRAME_KIND] != FRAME_THREAD)
        order = compare_strings(stacks->report, x[FRAME_MODULE], y[FRAME_MODULE]);
    for (int i = FRAME_PARTS; i-- > 0 && order == 0;)
        order = COMPARE(x[i], y[i]);
    return order;
}

static int by_parent_and_weight(const void *a, const void *b, void *context)
{
    const struct ordering *ordering = context;
    const struct stack_tree *tree = ordering->tree;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b,
             parents[2] = { tree_parent(tree, x), tree_parent(tree, y) };
    int order = COMPARE(parents[0], parents[1]) ?: COMPARE(tree->total[y].weight, tree->total[x].weight);

    return order ?: compare_frames(ordering->stacks, tree_frame(tree, x), tree_frame(tree, y));
}

static int stacks_tree_put_in_order(struct stack_tree *tree, const struct stacks *stacks)
{
    size_t count = tree->nodes.count;
    uint32_t *order = malloc(count * sizeof *order);

    tree->child = calloc(count, sizeof *tree->child);
    tree->sibling = calloc(count, sizeof *tree->sibling);
    if (!order || !tree->child || !tree->sibling) {
        free(order);
        return ERR_NO_MEMORY;
    }
    for (uint32_t i = 1; i < count; i++)
        order[i - 1] = i;
    qsort_r(order, count - 1, sizeof *order, by_parent_and_weight, &(struct ordering){ tree, stacks });
    for (size_t i = count - 1; i-- > 0;) {
        uint32_t parent = tree_parent(tree, order[i]);
        tree->sibling[order[i]] = tree->child[parent];
        tree->child[parent] = order[i];
    }
    free(order);
    return 0;
}

/* ---- interface ------------------------------------------------------------------------------------------------- */

static int build_tree(struct stacks_tree_build *build)
{
    struct stack_tree *tree = build->tree;

    if (tree_make_room(tree, 1) != 0 || keys_add(&tree->nodes, (int64_t[NODE_PARTS]){ -1, -1 }) == NO_KEY ||
        sum_ends(build) != 0 || add_ends(build) != 0)
        return ERR_NO_MEMORY;
    sum_totals(tree);
    return stacks_tree_put_in_order(tree, build->stacks);
}

int stack_tree_read(struct stack_tree *tree, struct stacks *stacks, const struct stack_tree_request *request,
                    struct error *err)
{
    struct stacks_tree_build build = { .stacks = stacks, .request = request, .tree = tree, .ends.width = 2 };
    int code;

    *tree = (struct stack_tree){ .nodes.width = NODE_PARTS };
    if ((code = thread_names_read(&build.names, stacks->report, err)) != 0)
        return code;
    if (build_tree(&build) != 0)
        code = error_short_memory(err, "for the tree of stacks");
    thread_names_free(&build.names);
    keys_free(&build.ends);
    free(build.figures);
    free(build.path);
    free(build.places);
    return code;
}

void stack_tree_free(struct stack_tree *tree)
{
    keys_free(&tree->nodes);
    free(tree->self);
    free(tree->total);
    free(tree->child);
    free(tree->sibling);
    *tree = (struct stack_tree){ 0 };
}

uint32_t stack_tree_next(const struct stack_tree *tree, uint32_t node, int skip, size_t *level)
{
    if (!skip && tree->child[node] != TREE_ROOT) {
        ++*level;
        return tree->child[node];
    }
    for (; node != TREE_ROOT; node = tree_parent(tree, node), --*level)
        if (tree->sibling[node] != TREE_ROOT)
            return tree->sibling[node];
    return TREE_ROOT;
}

/* A recursive function counts once for each stack: depths[frame] is the number of times that a frame is in the stack of
 * the current node. */
int stack_tree_flatten(const struct stack_tree *tree, const struct stacks *stacks, struct stack_tree_figures **out,
                       struct error *err)
{
    struct stack_tree_figures *figures = calloc(stacks->frames.count + 1, sizeof *figures);
    uint32_t *depths = calloc(stacks->frames.count + 1, sizeof *depths),
             *path = malloc((tree->nodes.count + 1) * sizeof *path);
    size_t level = 0, before = 0;
    int code = 0;

    if ((!figures || !depths || !path) && (code = error_short_memory(err, "for the functions")) != 0)
        goto done;
    for (uint32_t node = TREE_ROOT; (node = stack_tree_next(tree, node, 0, &level)) != TREE_ROOT; before = level) {
        for (; before >= level; before--)
            depths[path[before]]--;
        uint32_t frame = tree_frame(tree, node);
        path[level] = frame;
        if (depths[frame]++ == 0)
            stacks_tree_figure_add(&figures[frame].total, &tree->total[node]);
        stacks_tree_figure_add(&figures[frame].self, &tree->self[node]);
    }
    *out = figures;
    figures = NULL;
done:
    free(figures);
    free(depths);
    free(path);
    return code;
}
