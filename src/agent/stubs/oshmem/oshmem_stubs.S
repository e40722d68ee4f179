/* Stubs for the functions of oshmem_calls.def. */
#define STUB_HIDDEN
#include "agent/stubs/stub_rows.h"

#define ENTER_WORDS stub_words_enter
#define ENTER_VECTORS stub_vectors_enter

.hidden stub_words_enter, stub_vectors_enter
STUB_ROWS_BEGIN
#define OSHMEM(name, words, enter, ...) STUB_ROW(name, ENTER_##enter)
#include "wire/oshmem_calls.def"
STUB_ROWS_END
