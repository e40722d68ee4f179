/* Shared by the reports on collectives. */
#include "collective_reports.h"

#include <stdlib.h>

#include "base/array.h"

const char *const collective_tables[] = { "MPI_COLLECTIVES_EVENTS", "TACHO_NCCL_OP", "CUPTI_ACTIVITY_KIND_KERNEL",
                                          "TACHO_TORCH_OP", NULL };

int collective_request_open(struct collective_request *request, struct report *report,
                            const struct analysis_request *asked, struct error *err)
{
    int code;

    *request = (struct collective_request){ 0 };
    if ((code = filter_open(&request->filter, report, asked, err)) != 0)
        return code;
    if ((code = collectives_read(&request->all, report, &request->filter, err)) != 0)
        return code;
    request->waits = array_alloc(collectives_most_calls(&request->all) + 1, sizeof *request->waits);
    return request->waits ? 0 : error_no_memory(err);
}

void collective_request_close(struct collective_request *request)
{
    collectives_free(&request->all);
    filter_close(&request->filter);
    free(request->waits);
}
