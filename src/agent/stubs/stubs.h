/* Objects of stubs: shared libraries that interpose the functions of other libraries, and call the agent when each
 * begins and ends. Each is preloaded only when its calls are recorded. libtacho-libraries.so (cuBLAS, cuDNN, …) knows
 * names alone; the others know how many words a function takes, and hand them to the agent (words/stub_words.h).
 *
 * This folder has what all objects share: they find the real functions, choose between several libraries of a kind
 * (stub_choose.c), and hook dlsym(). To add an object NAME:
 *
 * 1. stubs/NAME/NAME_stubs.S has a STUB_ROW() for each function (stub_rows.h), sorted by name.
 * 2. stubs/NAME/NAME_object.c defines stub_functions[] in the same order, stub_real[], STUB_CHOICES() and stub_object.
 *    An object with words also has stub_stack_pairs[] and stub_words_source (words/stub_words.h).
 * 3. cmake/products.cmake has a line tacho_stub_object(NAME [WORDS] [HIDDEN]); cmake/dependencies.txt has the folder.
 *    HIDDEN: the functions have a hidden version (stub_hidden.map), as is_hidden below says.
 * 4. In the agent, `word_calls` of the source's row has begin() and end() (agent/core/word_calls.h), and `preload` the
 *    file; in the collector, `file` of its row has it too (collect/core/collect_source.h).
 *
 * Packages and tests find lib/tacho/libtacho-*.so by themselves.
 *
 * A program must not notice the stubs: every register and every word of the stack that can hold an argument or a result
 * arrives unchanged, and dlsym() answers as without them if no loaded library has the function. Weak references to a
 * function that no library has are NULL in objects with words (words/stub_weak.c). */
#ifndef TACHO_AGENT_STUBS_STUBS_H
#define TACHO_AGENT_STUBS_STUBS_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

#include "agent/core/elf_lookup.h"

struct link_map;

/* A function of the object. Its stub has the same place in the order of STUB_ROW()s. */
struct stub_function {
    const char *name;
    uint8_t group; /* for stub_object.files and for the object itself */
    uint8_t kind;  /* for the object itself */
    uint8_t words; /* libtacho-libraries.so: words on the stack; other objects: words of all arguments */
};
extern const struct stub_function stub_functions[]; /* sorted by name */
extern _Atomic(void *) stub_real[];                 /* by number; NULL: not found yet */

#define STUB_FILES 3
extern const struct stub_object {
    uint32_t count; /* of stub_functions[] */
    /* 1: the stubs have a hidden version (STUB_HIDDEN in stub_rows.h), so that the real dlsym() does not find them.
     * This is for libraries without symbol versions of their own: a versioned reference would not bind to the stub. */
    uint32_t is_hidden;
    /* By group: prefixes of the files that have the functions, best first. A library may come in parts, whose functions
     * have the same names as those of the whole. */
    const char *const (*files)[STUB_FILES];
    /* Prefixes of files whose own lookups get the real functions: libraries in parts find each other's functions by
     * dlsym(), and would call themselves again. NULL ends the list. */
    const char *const *vendors;
    void *(*missing)(uint32_t number); /* what a stub calls if no library has its function */
    /* By group: a function that every library of this kind has, by which a second one is noticed. NULL ends the list.
     */
    const char *const *signs;
    /* 1: asks stub_choose() even for one library. What is in the global scope then serves all callers at any time. */
    uint32_t chooses_always;
    uint32_t has_parts; /* 1: only files with the first prefix are whole libraries */
    /* NULL or: what the object wants to know about a library that serves calls (stub_library.detail). */
    const void *(*describe)(const struct link_map *library);
    void (*choosing)(void); /* NULL or: stub_chooses has been set */
} stub_object;

/* ---- Several libraries of the same kind in one process: see stub_choose.c -------------------------------------- */

#define STUB_LIBRARIES 16
#define STUB_UNKNOWN_LIBRARY 0xffff
#define STUB_SCOPES_MAX 128
#define STUB_GLOBAL UINT32_MAX /* number of the global scope */

struct stub_library {
    uint32_t number;                      /* 0: the only one, or the one that served calls when it was the only one */
    const void *detail;                   /* of stub_object.describe() */
};
struct stub_choice {
    _Atomic(void *) real;                 /* NULL: not found */
    _Atomic(const struct stub_library *) library;
};
extern struct stub_choice stub_choices[]; /* by scope and number; the global scope is the first */
extern const uint32_t stub_scopes;        /* besides the global one */
/* 0: stub_real[] serves all callers. 1: ask stub_choose(). */
extern _Atomic uint32_t stub_chooses;
/* The object defines the three with this. scopes: calling objects with a choice of their own; calls of others take the
 * slow path. always: stub_object.chooses_always. */
#define STUB_CHOICES(scopes, count, always)                                                                    \
    struct stub_choice stub_choices[((scopes) + 1) * (count)];                                                         \
    const uint32_t stub_scopes = scopes;                                                                               \
    _Atomic uint32_t stub_chooses = always;                                                                    \
    _Static_assert((scopes) <= STUB_SCOPES_MAX && (count) < 65536, "as stubs.h and stub_rows.h say")

/* The real function for this caller, and the library that has it; NULL if no library has it. Keeps errno. */
void *stub_choose(uint32_t number, const void *caller, const struct stub_library **library);
/* The function in one library; NULL if it lacks it. */
void *stub_real_in(uint32_t number, uint32_t library);
void stub_objects_changed(void); /* there may be new objects, or fewer; not with the loader's lock. Keeps errno */

/* The real function, or NULL while no loaded library has it. Keeps errno. */
void *stub_resolve(uint32_t number);
/* The same question where the loader holds its lock. */
int stub_is_there(uint32_t number);

#define STUB_BYTES 16
extern char stub_rows[]; /* back to back, by number */

/* dlsym() without the hooks. */
typedef void *stub_dlsym_function(void *handle, const char *name);
void *stub_dlsym(void *handle, const char *name);
int stub_dladdr(const void *address, Dl_info *info);
void stub_forget_error(void); /* clears the error that dlerror() would return next */

/* For the hook in stub_dlsym_*.S. */
extern _Atomic(stub_dlsym_function *) stub_next_dlsym; /* of the next object of stubs, or the real one */
stub_dlsym_function *stub_find_dlsym(void);
void *stub_dlsym_handle(void *handle, const char *name);
#define STUB_ASK_NEXT ((void *)1)
/* The answer for RTLD_DEFAULT or RTLD_NEXT, or STUB_ASK_NEXT. */
void *stub_dlsym_special(void *handle, const char *name, const void *caller);

/* Every object of stubs exports this: the stub for a function that dlsym() found for `caller`, or the address itself.
 */
typedef void *stub_of_function(const char *name, void *address, const void *caller);
stub_of_function tacho_stub_of;

#endif
