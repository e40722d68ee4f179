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
    const char *name; /* of the function, as the linker or else the source has it */
    const char *file; /* "": not known */
    uint32_t line;
};

/* What was found of one address: the innermost of the functions that were inlined there first. */
struct debug_lines {
    struct debug_line *lines;
    uint32_t count;
};

/* addresses are sorted and differ. found has one for each; texts are put into the arena. 0, or -1 if the child did not
 * come to its end: then found has what it had told before. */
int debug_info_find(const struct elf_image *image, const uint64_t *addresses, size_t count, struct debug_lines *found,
                    struct arena *arena);

/* The child's part: writes what it finds to a descriptor. */
int debug_info_tell(int file, const uint64_t *addresses, size_t count, int to);

#define DEBUG_INFO_INLINED_MAX 64u
/* A sanitizer needs more memory than any limit leaves, and its allocator may be locked by another
 * thread when a child is made. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEBUG_INFO_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEBUG_INFO_SANITIZED 1
#endif

#define DEBUG_INFO_END UINT32_MAX /* as the number of an address: that was all */

#endif
