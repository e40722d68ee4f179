/* Stubs for the functions of ucx_calls.def. */
#define STUB_HIDDEN
#include "agent/stubs/stub_rows.h"

.hidden stub_words_enter
STUB_ROWS_BEGIN
#define UCX(name, ...) STUB_ROW(name, stub_words_enter)
#include "wire/ucx_calls.def"
STUB_ROWS_END
