/* Source lines and inlined functions, from DWARF, for many addresses of one file at once.
 *
 * libdw reads them, and libdw was not made for hostile files. So it runs in a child of ours with limits on time and
 * memory: a crash or hang there costs the lines of that one file, and names from its symbol table remain. */
#ifndef TACHO_SYMBOLS_NAMES_DEBUG_INFO_H
#define TACHO_SYMBOLS_NAMES_DEBUG_INFO_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "symbols/elf/elf_image.h"

struct debug_line {
    const char *name; /* of the function: the linkage name if there is one, else that of the source */
    const char *file; /* "": unknown */
    uint32_t line;
};

/* The lines of one address: the innermost inlined function comes first. */
struct debug_lines {
    struct debug_line *lines;
    uint32_t count;
};

/* Finds the lines of sorted, distinct addresses. found has an element for each; texts are in the arena. 0, or -1 if
 * the child did not finish: then found has what it had written before. Adds the CPU time of the child to *child_ns. */
int debug_info_find(const struct elf_image *image, const uint64_t *addresses, size_t count, struct debug_lines *found,
                    struct arena *arena, int64_t *child_ns);

/* The child's part: writes its results to a descriptor. */
int debug_info_tell(int file, const uint64_t *addresses, size_t count, int to);

#define DEBUG_INFO_INLINED_MAX 64u
/* A sanitizer needs more memory than any limit leaves, and another thread may hold the lock of its allocator during
 * fork. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEBUG_INFO_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEBUG_INFO_SANITIZED 1
#endif

#define DEBUG_INFO_END UINT32_MAX /* in place of the number of an address: the end */

#endif
