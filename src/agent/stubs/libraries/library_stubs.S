/* One stub for each function of the .calls files, with its name. library_calls.c reads the same files in the same
 * order. */
#include "agent/stubs/stub_rows.h"

.hidden library_enter
STUB_ROWS_BEGIN
#define CALL(name, words, kind) STUB_ROW(name, library_enter)
#include "cublas.calls"
#include "cudnn.calls"
#include "cusolver.calls"
#include "cusparse.calls"
#include "nccl.calls"
STUB_ROWS_END
