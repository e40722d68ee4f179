/* What the formats of flame graphs share: the selection of samples, and the text of a frame. */
#ifndef TACHO_EXPORT_FLAME_FLAME_SAMPLES_H
#define TACHO_EXPORT_FLAME_FLAME_SAMPLES_H

#include "analyze/model/stacks/stacks_tree.h"
#include "export/export.h"
#include "export/outfile.h"

/* The samples that the options leave; ERR_NO_DATA, with a sentence, if there are none. To be freed in any case. */
int samples_read(struct stacks *stacks, struct report *report, int lines, const struct export_options *options,
                 struct error *err);

/* Whether the weights of those samples are ns of CPU time. */
int samples_are_time(struct report *report, const struct export_options *options);

/* The same as a tree, threads outermost. */
int samples_tree(struct stack_tree *tree, struct stacks *stacks, const struct export_options *options,
                 struct error *err);

/* Opens the file, has write() fill it, and closes it. */
int samples_write(const char *path, int gzip, int (*write)(void *context, struct outfile *output, struct error *err),
                  void *context, struct error *err);

#endif
