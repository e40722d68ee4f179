/* libtacho-openmp.so: interposes the functions of libgomp, beside OMPT's entry point (openmp_start.c). */
#include "openmp_stubs.h"

const struct stub_function stub_functions[] = {
#define GOMP_CALL(name, words, action, kind) { #name, 0, 0, words },
#include "wire/gomp_functions.def"
#undef GOMP_CALL
};
#define COUNT (sizeof stub_functions / sizeof *stub_functions)

const uint8_t stub_stack_pairs[] = {
#define GOMP_CALL(name, words, action, kind) STUB_STACK_PAIRS(words),
#include "wire/gomp_functions.def"
#undef GOMP_CALL
};
_Static_assert(sizeof stub_stack_pairs == COUNT, "each stub finds its own");

_Atomic(void *) stub_real[COUNT];
const uint32_t stub_words_source = WIRE_SOURCE_OPENMP;

static const char *const files[][STUB_FILES] = { { "libgomp", "libomp", "libiomp" } };
static const char *const vendors[] = { "libgomp", "libomp", "libiomp", NULL };

/* No runtime is loaded, so the program has a weak reference, which would be NULL without the stubs. */
static uintptr_t nothing(void)
{
    return 0;
}

static void *missing(uint32_t number)
{
    return (void *)(uintptr_t)nothing;
}

const struct stub_object stub_object = {
    .count = COUNT,
    .files = files,
    .vendors = vendors,
    .missing = missing,
    .choose = openmp_choose,
    .unloaded = openmp_forget_objects,
};
