/* libtacho-openmp.so: interposes the functions of libgomp, beside OMPT's entry point (openmp_start.c). */
#include <link.h>

#include "agent/openmp/openmp_agent.h"
#include "agent/stubs/words/stub_words.h"

const struct stub_function stub_functions[] = {
#define GOMP_CALL(name, words, action, kind) { #name, 0, 0, words },
#include "wire/gomp_functions.def"
#undef GOMP_CALL
};
#define COUNT COUNT_OF(stub_functions)

const uint8_t stub_stack_pairs[] = {
#define GOMP_CALL(name, words, action, kind) STUB_STACK_PAIRS(words),
#include "wire/gomp_functions.def"
#undef GOMP_CALL
};
_Static_assert(sizeof stub_stack_pairs == COUNT, "each stub finds its own");

_Atomic(void *) stub_real[COUNT];
STUB_CHOICES(128, COUNT, 1); /* always: the agent needs to know the library */
const uint32_t stub_words_source = WIRE_SOURCE_OPENMP;

static const char *const openmp_object_files[][STUB_FILES] = { { "libgomp", "libomp", "libiomp" } };
static const char *const openmp_object_vendors[] = { "libgomp", "libomp", "libiomp", NULL };

/* No runtime is loaded, so the program has a weak reference, which would be NULL without the stubs. */
static uintptr_t nothing(void)
{
    return 0;
}

static void *openmp_object_missing(uint32_t number)
{
    return (void *)(uintptr_t)nothing;
}

/* LLVM's runtime has functions of these names, too, and reports its events through OMPT: its calls are not recorded a
 * second time. */
static const void *openmp_object_describe(const struct link_map *library)
{
    static struct gomp_library known[STUB_LIBRARIES];
    static uint32_t count; /* one thread at a time is here */
    gomp_number_function *thread = (gomp_number_function *)library_symbol_of(library, "omp_get_thread_num"),
                         *team = (gomp_number_function *)library_symbol_of(library, "omp_get_num_threads");
    if (!thread || !team || count == STUB_LIBRARIES || library_defines(library, "__kmpc_fork_call"))
        return NULL;
    known[count] = (struct gomp_library){ thread, team };
    return &known[count++];
}

static const char *const openmp_object_signs[] = { NULL };

const struct stub_object stub_object = {
    .count = COUNT,
    .files = openmp_object_files,
    .vendors = openmp_object_vendors,
    .missing = openmp_object_missing,
    .signs = openmp_object_signs,
    .chooses_always = 1,
    .describe = openmp_object_describe,
};
