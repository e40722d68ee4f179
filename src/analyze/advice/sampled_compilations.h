/* Compilations of torch.compile that samples of Python's stacks have seen, for captures without events of Python.
 *
 * A thread compiles while a known function of PyTorch is on its stack (sampled_compilations.def). Where it does so is
 * the user's line that called the compiled function: the function itself has no frame yet. What is compiled, and which
 * guard failed, is not known. */
#ifndef TACHO_ANALYZE_ADVICE_SAMPLED_COMPILATIONS_H
#define TACHO_ANALYZE_ADVICE_SAMPLED_COMPILATIONS_H

#include "report/reader/reader.h"

enum sampled_kind { SAMPLED_COMPILE, SAMPLED_BACKWARD, SAMPLED_AUTOTUNE, SAMPLED_GRAPH_RECORDING };

struct sampled_compilation {
    enum sampled_kind kind;
    int64_t thread, start_ns, end_ns;
    int64_t symbol, module, line; /* the innermost frame of the program outside of it; 0: there is none */
};

/* Starts from {0}. */
struct sampled_compilations {
    struct sampled_compilation *list; /* owned; by thread, then by time */
    size_t count, room;
};

/* Reads the Python samples of a report; one without any has none. */
int sampled_compilations_read(struct sampled_compilations *compilations, struct report *report, struct error *err);
void sampled_compilations_free(struct sampled_compilations *compilations);

#endif
