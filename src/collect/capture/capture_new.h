/* A new capture, and its end. */
#ifndef TACHO_COLLECT_CAPTURE_CAPTURE_NEW_H
#define TACHO_COLLECT_CAPTURE_CAPTURE_NEW_H

#include "capture.h"

/* With the state of all sources, and nothing open yet; NULL when memory is short. */
struct capture *capture_new(const struct collect_options *options, struct collect_result *result);
void capture_free(struct capture *capture); /* once all that was opened is closed */

#endif
