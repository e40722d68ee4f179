/* Samples summed along their stacks: a tree of calls, or of callers, with the samples of each node. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_STACKS_TREE_H
#define TACHO_ANALYZE_MODEL_STACKS_STACKS_TREE_H

#include "stacks.h"

struct stack_figure {
    int64_t samples, weight;
};

/* The unit that a node of the tree stands for. */
enum stack_unit { STACK_BY_FUNCTION, STACK_BY_MODULE, STACK_BY_THREAD };

struct stack_tree_request {
    enum stack_unit unit;
    int is_inverted;  /* the innermost frame is the root's child, and its callers are below it */
    int with_threads; /* the thread is the outermost frame */
    int fold_imports; /* functions with which Python imports modules are one node, where they call each other */
    int with_waiting; /* samples of waiting threads count too */
};

/* The option of reports that sets fold_imports. */
#define STACK_FOLD_FOR_PEOPLE { "fold", "true" }
#define STACK_FOLD_HELP \
    " fold: the functions with which Python imports modules are one node (default: true on a terminal, else false)."

enum { TREE_ROOT = 0 };

/* Numbers of nodes are below nodes.count; a parent's is less than its children's. */
struct stack_tree {
    struct keys nodes;                 /* of NODE_PARTS */
    struct stack_figure *self, *total; /* owned, as all below; of samples that end in a node; that pass through it */
    uint32_t *child, *sibling;         /* the first, the next; TREE_ROOT: none. The heaviest come first */
    size_t room;
};

/* Frames may be added to the stacks. */
int stack_tree_read(struct stack_tree *tree, struct stacks *stacks, const struct stack_tree_request *request,
                    struct error *err);
void stack_tree_free(struct stack_tree *tree);

static inline uint32_t tree_frame(const struct stack_tree *tree, uint32_t node)
{
    return (uint32_t)keys_get(&tree->nodes, node)[NODE_FRAME];
}
static inline uint32_t tree_parent(const struct stack_tree *tree, uint32_t node)
{
    return (uint32_t)keys_get(&tree->nodes, node)[NODE_PARENT];
}

/* The next node of a walk over all nodes, parents before their children; TREE_ROOT at the end. *level, 0 at the root,
 * is updated. skip: the walk leaves out the children of this node. */
uint32_t stack_tree_next(const struct stack_tree *tree, uint32_t node, int skip, size_t *level);

/* The figures of each frame: self counts the samples that end in it, total those that contain it, each once. The array
 * has an element for each frame of the stacks; the caller frees it. */
struct stack_tree_figures {
    struct stack_figure self, total;
};
int stack_tree_flatten(const struct stack_tree *tree, const struct stacks *stacks, struct stack_tree_figures **out,
                       struct error *err);

#endif
