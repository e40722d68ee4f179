/* Steps: the iterations that a capture is split into.
 *
 * A step is a span of time of one process. Events on the CPU belong to the step in which they begin, in any thread;
 * work on a GPU belongs to the step in which it was launched. A process without steps of its own (a worker of a
 * DataLoader) has the steps of its nearest ancestor with steps, or of the only process with steps. */
#ifndef TACHO_ANALYZE_MODEL_STEPS_H
#define TACHO_ANALYZE_MODEL_STEPS_H

#include "analyze/engine/request.h"
#include "base/text.h"
#include "report/reader/reader.h"

enum { NO_STEP = UINT32_MAX };

enum { STEP_OF_PROFILER = -1, STEP_WITHOUT_NAME = -2 }; /* labels: ProfilerStep#number, step number */

/* Sorts the list, drops steps that lie in others, and finds the processes. */
int steps_arrange(struct steps *steps, struct report *report, struct error *err);
void steps_free(struct steps *steps);

/* Marks the warm-up of each process; the list is arranged. A step is steady if it takes as long as the median of the
 * second half of the steps, give or take a fifth or three standard deviations (1.4826 × the median deviation),
 * whichever is more. The warm-up ends before the first three steady steps in a row, or with the first half; if the
 * steps are not steady by then, there is no warm-up. */
int steps_mark_warm_up(struct steps *steps, struct error *err);

/* Chooses the steps that a list names: "3-7", "3,5,9-". A part that names none is ERR_BAD_ARGUMENT. */
int steps_choose(struct steps *steps, const char *list, struct error *err);
/* Checks the syntax of such a list: 0, or ERR_BAD_ARGUMENT with a sentence. */
int steps_check(const char *list, struct error *err);

/* Drops the steps that are not wholly in the span. */
void steps_keep(struct steps *steps, const struct report_span *span);

/* The step of the process at this time, or NO_STEP. Any thread may call this. */
uint32_t steps_at(const struct steps *steps, int64_t process, int64_t time_ns);
/* The same for those who count the time of a step from the end of the one before it to its own: what a program does
 * between two of its ranges belongs to the later one. */
uint32_t steps_period_at(const struct steps *steps, int64_t process, int64_t time_ns);

/* The process's steps, or NULL; and the first of them that ends after this time (else first + count). */
const struct step_process *steps_of(const struct steps *steps, int64_t process);
size_t steps_from(const struct steps *steps, const struct step_process *own, int64_t time_ns);

void step_label(struct text *out, struct report *report, const struct step *step);

#endif
