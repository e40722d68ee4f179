/* Creates and frees a capture: see capture_new.h. */
#include "capture_new.h"

#include <stdlib.h>

#include "records.h"

struct capture *capture_new(const struct collect_options *options, struct collect_result *result)
{
    struct capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return NULL;
    struct collector *collector = &capture->collector;
    collector->options = options;
    collector->sources = options->sources;
    collector->result = result;
    collector->processes = &capture->processes;
    collector->children = &capture->children;
    collector->unattached = &capture->unattached;
    capture->session.listener = capture->session.file_listener = capture->signal_fd = -1;
    capture->streams.out.descriptor = capture->streams.err.descriptor = -1;
    sources_add_records(collector, records_of_processes);
    if (sources_init(collector) == 0)
        return capture;
    capture_free(capture);
    return NULL;
}

void capture_free(struct capture *capture)
{
    sources_free(&capture->collector);
    free(capture);
}
