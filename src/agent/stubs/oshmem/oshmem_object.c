/* libtacho-oshmem.so: interposes the functions of oshmem_calls.def. */
#include "agent/stubs/words/stub_words.h"
#include "wire/wire_oshmem.h"

const struct stub_function stub_functions[] = {
#define OSHMEM(name, words, ...) { #name, 0, 0, words },
#include "wire/oshmem_calls.def"
#undef OSHMEM
};

/* aarch64 passes a long double in a vector register. */
#if defined(__x86_64__)
#define LONG_DOUBLE(words) (words)
#else
#define LONG_DOUBLE(words) 0
#endif

const uint8_t stub_stack_pairs[] = {
#define OSHMEM(name, words, enter, stack, ...) STUB_STACK_PAIRS(words) + LONG_DOUBLE(stack) / 2,
#include "wire/oshmem_calls.def"
#undef OSHMEM
};
_Static_assert(sizeof stub_stack_pairs == OSHMEM_FUNCTION_COUNT, "each stub finds its own");

_Atomic(void *) stub_real[OSHMEM_FUNCTION_COUNT];
STUB_CHOICES(32, OSHMEM_FUNCTION_COUNT, 0);
const uint32_t stub_words_source = WIRE_SOURCE_OSHMEM;

static const char *const oshmem_object_files[][STUB_FILES] = { { "liboshmem.so", "libsma.so", "libshmem" } };
static const char *const oshmem_object_signs[] = { "shmem_my_pe", NULL };
static const char *const oshmem_object_vendors[] = { "liboshmem", "libsma", "libshmem", "libopen-", "mca_", NULL };

/* No OpenSHMEM is loaded, so the program has a weak reference, which would be NULL without the stubs. */
static intptr_t does_nothing(void)
{
    return 0;
}

static void *oshmem_object_missing(uint32_t number)
{
    (void)number;
    return (void *)(uintptr_t)does_nothing;
}

const struct stub_object stub_object = {
    .count = OSHMEM_FUNCTION_COUNT,
    .is_hidden = 1,
    .files = oshmem_object_files,
    .vendors = oshmem_object_vendors,
    .missing = oshmem_object_missing,
    .signs = oshmem_object_signs,
};
