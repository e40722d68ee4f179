/* Finds events that belong together: calls and their work, recorded CUDA events and waits for them, operators and
 * kernels. */
#ifndef TACHO_VIEW_ANSWER_RELATED_EVENTS_H
#define TACHO_VIEW_ANSWER_RELATED_EVENTS_H

#include "view/links/event_list.h"

struct related_correlated { /* {0} is empty */
    int64_t process;        /* a global id */
    int64_t *ids;           /* owned; in any order; the functions that look for them sort them and drop doubles */
    size_t count, capacity;
};
void related_correlated_free(struct related_correlated *correlated);

/* Reads the process and the correlation ids of an event; an event of a table without them has none. */
int related_correlated_of(struct related_correlated *out, struct view *view, struct view_place place,
                          struct error *err);

/* Adds the work on GPUs, or the calls of the CUDA API, that carry one of the ids. */
int related_work(struct event_list *places, struct view *view, struct related_correlated *correlated,
                 struct error *err);
int related_calls(struct event_list *places, struct view *view, struct related_correlated *correlated,
                  struct error *err);

/* For a call, or a wait on the GPU: adds the calls that recorded the CUDA event that it waits for, or the calls that
 * wait for the CUDA event that it recorded. */
int related_records(struct event_list *places, struct view *view, struct related_correlated *correlated,
                    struct error *err);
int related_waits(struct event_list *places, struct view *view, struct related_correlated *correlated,
                  struct error *err);

/* Adds the work that a thread launched in a span. */
int related_launched(struct event_list *places, struct view *view, int64_t thread, int64_t from_ns, int64_t to_ns,
                     struct error *err);

/* By the external ids of PyTorch's traces, where no calls were recorded: adds the work of an operator (nothing for an
 * event that is none), or the operators of work. */
int related_work_of_operator(struct event_list *places, struct view *view, struct view_place place, struct error *err);
int related_operators(struct event_list *places, struct view *view, struct related_correlated *correlated,
                      struct error *err);

#endif
