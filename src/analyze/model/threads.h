/* Names of processes, names and priorities of threads, by their global ids. */
#ifndef TACHO_ANALYZE_MODEL_THREADS_H
#define TACHO_ANALYZE_MODEL_THREADS_H

#include "base/text.h"
#include "report/reader/reader.h"

struct thread_name {
    int64_t thread, name, priority;
    size_t row; /* the order in which names were read */
    int has_priority;
};

struct thread_names {
    struct thread_name *list; /* owned; by thread, one each */
    size_t count, room;
};

int thread_names_read(struct thread_names *names, struct report *report, struct error *err);
void thread_names_free(struct thread_names *names);
const struct thread_name *thread_name_find(const struct thread_names *names, int64_t thread); /* NULL: none */

/* Appends "worker (17)", or "17" for a thread without a name. */
void thread_name_label(struct text *out, const struct thread_names *names, struct report *report, int64_t thread);

/* The known lifetimes of threads. A number that the kernel used again has several. */
struct thread_life {
    int64_t thread, start_ns, end_ns; /* INT64_MAX: it did not end */
};
struct thread_lives {
    struct thread_life *list;         /* owned; by thread, then by start */
    size_t count, room;
};
int thread_lives_read(struct thread_lives *lives, struct report *report, struct error *err);
void thread_lives_free(struct thread_lives *lives);
/* How long the thread is known to have lived within the span. */
int64_t thread_lives_time(const struct thread_lives *lives, int64_t thread, const struct report_span *span);

struct process_name {
    int64_t process, name;
};

/* In the order in which the report has them; of several names the first counts, of several programs the last. */
struct process_names {
    struct process_name *list; /* owned */
    size_t count, room;
};

int process_names_read(struct process_names *names, struct report *report, struct error *err);
/* The same of command lines; imported reports have none. */
int process_commands_read(struct process_names *commands, struct report *report, struct error *err);
void process_names_free(struct process_names *names);
int64_t process_name_find(const struct process_names *names, int64_t process); /* a string id; -1: none */

#endif
