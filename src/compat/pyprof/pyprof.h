/* PyProf's table: a row for each kernel, in order of time, with the call of PyTorch that launched it. The calls are
 * those that DLProf's reports are made of. */
#ifndef TACHO_COMPAT_PYPROF_PYPROF_H
#define TACHO_COMPAT_PYPROF_PYPROF_H

#include "analyze/engine/analysis.h"

enum pyprof_column {
    PYPROF_IDX,
    PYPROF_SEQ,
    PYPROF_ALTSEQ,
    PYPROF_TID,
    PYPROF_LAYER,
    PYPROF_TRACE,
    PYPROF_DIR,
    PYPROF_SUB,
    PYPROF_MOD,
    PYPROF_OP,
    PYPROF_KERNEL,
    PYPROF_PARAMS,
    PYPROF_SIL,
    PYPROF_TC,
    PYPROF_DEVICE,
    PYPROF_STREAM,
    PYPROF_GRID,
    PYPROF_BLOCK,
    PYPROF_FLOPS,
    PYPROF_BYTES,
    PYPROF_COLUMNS
};

/* The table has all columns. A cell that is not known is empty. */
int pyprof_table(struct report *report, struct table **out, struct error *err);

#endif
