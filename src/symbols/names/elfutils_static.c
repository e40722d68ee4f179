/* Search trees for several threads. libdw.a and libelf.a of elfutils 0.192 call them but do not contain them. In
 * elfutils they are in an archive of their own, which Debian 13 does not ship, so a static program could not be
 * linked. The shared libraries contain them.
 *
 * libdw runs in a child that has one thread (debug_child.c), so there is no lock. The functions are weak, since the
 * archives may have their own. */
#include <search.h>
#include <stddef.h>

/* The first member of their struct. A lock follows, whose type depends on how elfutils was built. */
struct search_tree {
    void *root;
};

typedef int compare_keys(const void *, const void *);

__attribute__((weak)) void eu_search_tree_init(struct search_tree *tree);
__attribute__((weak)) void eu_search_tree_fini(struct search_tree *tree, void (*free_key)(void *));
__attribute__((weak)) void eu_tdestroy(struct search_tree *tree, void (*free_key)(void *));
__attribute__((weak)) void *eu_tsearch(const void *key, struct search_tree *tree, compare_keys *compare);
__attribute__((weak)) void *eu_tfind(const void *key, struct search_tree *tree, compare_keys *compare);
__attribute__((weak)) void *eu_tdelete(const void *key, struct search_tree *tree, compare_keys *compare);

void eu_search_tree_init(struct search_tree *tree)
{
    tree->root = NULL;
}

void eu_search_tree_fini(struct search_tree *tree, void (*free_key)(void *))
{
    tdestroy(tree->root, free_key);
    tree->root = NULL;
}

void eu_tdestroy(struct search_tree *tree, void (*free_key)(void *))
{
    eu_search_tree_fini(tree, free_key);
}

void *eu_tsearch(const void *key, struct search_tree *tree, compare_keys *compare)
{
    return tsearch(key, &tree->root, compare);
}

void *eu_tfind(const void *key, struct search_tree *tree, compare_keys *compare)
{
    return tfind(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct search_tree *tree, compare_keys *compare)
{
    return tdelete(key, &tree->root, compare);
}
