/* Creates and frees a capture. */
#ifndef TACHO_COLLECT_CAPTURE_CAPTURE_NEW_H
#define TACHO_COLLECT_CAPTURE_CAPTURE_NEW_H

#include "capture.h"

/* Creates the state of all sources, and opens nothing yet. NULL: out of memory. */
struct capture *capture_new(const struct collect_options *options, struct collect_result *result);
void capture_free(struct capture *capture); /* call once everything is closed */

#endif
