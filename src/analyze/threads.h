/* Names and priorities of threads, by their global ids. */
#ifndef TACHO_ANALYZE_THREADS_H
#define TACHO_ANALYZE_THREADS_H

#include "../report/reader.h"

struct thread_name {
    int64_t thread, name, priority;
    int has_priority;
};

struct thread_names {
    struct thread_name *list; /* owned; by thread */
    size_t count;
};

int thread_names_read(struct thread_names *names, struct report *report, struct error *err);
void thread_names_free(struct thread_names *names);
const struct thread_name *thread_name_find(const struct thread_names *names, int64_t thread); /* NULL: none */

#endif
