/* Whether all reports of a set are of one job: what ranks of two jobs did has nothing to do with each other, although
 * their ranks, communicators and counts of calls are the same. */
#ifndef TACHO_ANALYZE_ENGINE_ONE_JOB_H
#define TACHO_ANALYZE_ENGINE_ONE_JOB_H

#include "report/reader/reader.h"

/* ERR_NO_DATA, with a sentence that names the jobs, if there are several. */
int one_job_check(struct report *report, struct error *err);

#endif
