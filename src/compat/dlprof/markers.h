/* The NVTX ranges that the patches of PyProf and DLProf make of each call of PyTorch: dicts of Python.
 *
 *     {'traceMarker': ['train.py:42', …], 'funcStack': '/<module>/Net::forward/conv2d'}
 *       {'mod': 'torch.nn.functional', 'op': 'conv2d', 'args': [{'name': '', 'type': 'tensor', 'shape': …}, …]}
 *
 * A call that a call makes has ranges of its own inside. */
#ifndef TACHO_COMPAT_DLPROF_MARKERS_H
#define TACHO_COMPAT_DLPROF_MARKERS_H

#include "analyze/model/torch/literals.h"

enum marker_kind { NO_MARKER, MARKER_TRACE, MARKER_CALL };

struct marker {
    enum marker_kind kind;
    struct literal lines, functions; /* MARKER_TRACE: a list, outermost first; a string, or nothing */
    struct literal module, op, args; /* MARKER_CALL */
};

struct marker marker_read(const char *name, size_t length);

#endif
