/* Stubs for the functions of gomp_functions.def. */
#include "agent/stubs/stub_rows.h"

.hidden stub_words_enter
STUB_ROWS_BEGIN
#define GOMP_CALL(name, ...) STUB_ROW(name, stub_words_enter)
#include "wire/gomp_functions.def"
STUB_ROWS_END
