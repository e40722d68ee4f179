/* One stub for each function of library_lists.def, with its name, in the order of library_calls.c. */
#include "agent/stubs/stub_rows.h"

.hidden library_enter
STUB_ROWS_BEGIN
#define CALL(name, words, kind) STUB_ROW(name, library_enter)
#include "library_lists.def"
STUB_ROWS_END
