/* libtacho-ucx.so: interposes the functions of ucx_calls.def. */
#include "agent/stubs/words/stub_words.h"
#include "wire/wire_ucx.h"

const struct stub_function stub_functions[] = {
#define UCX(name, words, ...) { #name, 0, 0, words },
#include "wire/ucx_calls.def"
#undef UCX
};

const uint8_t stub_stack_pairs[] = {
#define UCX(name, words, ...) STUB_STACK_PAIRS(words),
#include "wire/ucx_calls.def"
#undef UCX
};
_Static_assert(sizeof stub_stack_pairs == UCX_FUNCTION_COUNT, "each stub finds its own");

_Atomic(void *) stub_real[UCX_FUNCTION_COUNT];
STUB_CHOICES(32, UCX_FUNCTION_COUNT, 0);
const uint32_t stub_words_source = WIRE_SOURCE_UCX;

static const char *const ucx_object_files[][STUB_FILES] = { { "libucp.so", "libucp" } };
static const char *const ucx_object_signs[] = { "ucp_worker_create", NULL };
static const char *const ucx_object_vendors[] = { "libucp", "libuct", "libucs", "libucm", NULL };

/* A call of a function that no library has: the library was unloaded. The result is both a status and a
 * pointer that is one: the operation is not supported. */
static intptr_t ucx_object_fails(void)
{
    return -22;
}

static void *ucx_object_missing(uint32_t number)
{
    (void)number;
    return (void *)(uintptr_t)ucx_object_fails;
}

const struct stub_object stub_object = {
    .count = UCX_FUNCTION_COUNT,
    .is_hidden = 1,
    .files = ucx_object_files,
    .vendors = ucx_object_vendors,
    .missing = ucx_object_missing,
    .signs = ucx_object_signs,
};
