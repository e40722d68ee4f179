/* One file of `tacho analyze`, with its findings: the input of the formats of findings and of --fail-if. */
#ifndef TACHO_CMD_ANALYZE_ANALYZE_FILE_H
#define TACHO_CMD_ANALYZE_ANALYZE_FILE_H

#include "analyze/findings/findings.h"
#include "cmd/open_report.h"
#include "cmd/run_reports.h"
#include "measure.h"

/* Starts from {0}. */
struct analyze_file {
    struct text path; /* path of the file that was read */
    struct report *report;
    struct selection_part part;
    struct adviser adviser;
    struct findings findings;
    int64_t capture_ns;     /* INT64_MAX: the report does not say */
    struct table *measured; /* owned; NULL: nothing was */
};

/* Opens the file and runs the rules that the list selects; an empty one selects all. measure: times the alternatives of
 * modelled causes; NULL: not. Close it also after an error. */
int analyze_file_open(struct analyze_file *file, struct input input, const struct run_reports_settings *settings,
                      const struct selection_list *wanted, const struct measure_settings *measure, struct error *err);
void analyze_file_close(struct analyze_file *file);

/* Whether a replay judged causes: else savings are not known. */
static inline int analyze_file_has_replay(const struct analyze_file *file)
{
    return file->adviser.replay.graph.points != 0;
}

#endif
