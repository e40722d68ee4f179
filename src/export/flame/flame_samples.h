/* The selection of samples that all formats of flame graphs share. */
#ifndef TACHO_EXPORT_FLAME_FLAME_SAMPLES_H
#define TACHO_EXPORT_FLAME_FLAME_SAMPLES_H

#include "analyze/model/stacks/stacks_tree.h"
#include "export/export.h"
#include "export/outfile.h"

/* Reads the samples that the options select; ERR_NO_DATA, with a sentence, if there are none. The caller frees them,
 * after an error too. */
int flame_samples_read(struct stacks *stacks, struct report *report, int lines, const struct export_options *options,
                       struct error *err);

/* What the weights of those samples are, in the words of speedscope and of pprof. */
struct flame_unit {
    const char *speedscope, *pprof_type, *pprof_unit;
};
struct flame_unit flame_samples_unit(struct report *report, const struct export_options *options);

/* The same samples as a tree, threads outermost. */
int flame_samples_tree(struct stack_tree *tree, struct stacks *stacks, const struct export_options *options,
                       struct error *err);

#endif
