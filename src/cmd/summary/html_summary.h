/* `tacho summary -o FILE`: a report on one page of HTML, to read, print and send. The page is one file: it has no
 * scripts, and it fetches nothing. Its figures are those of the reports of `tacho stats`. */
#ifndef TACHO_CMD_SUMMARY_HTML_SUMMARY_H
#define TACHO_CMD_SUMMARY_HTML_SUMMARY_H

#include "base/text.h"
#include "report/reader/reader.h"

struct html_request {
    struct report *report;
    const char *path;  /* path of the report, for titles and commands */
    const char *peaks; /* peaks of the GPU, as for gpu_peaks_read(); NULL: the known ones */
};

int html_summary_add(struct text *out, const struct html_request *request, struct error *err);

#endif
