/* Calls into libc and pthread that can make a thread wait, from OSRT_API, sorted into kinds by their names. */
#ifndef TACHO_ANALYZE_MODEL_OS_CALLS_H
#define TACHO_ANALYZE_MODEL_OS_CALLS_H

#include "filter.h"

enum os_call_kind {
    OS_CALL_OTHER,
    OS_CALL_LOCK,   /* waits for a lock that another thread or process holds */
    OS_CALL_IO,     /* files, sockets, pipes, names of hosts */
    OS_CALL_EVENTS, /* waits for events that a server or a loop handles: idle by design */
    OS_CALL_WAIT,   /* waits for other threads, or sleeps */
    OS_CALL_START,  /* starts a process */
    OS_CALL_CHILD,  /* waits for a child process */
    OS_CALL_LOAD,   /* loads a library */
    OS_CALL_KINDS
};

struct os_call {
    int64_t thread, start_ns, end_ns;
    int64_t name;          /* in the string pool */
    int64_t chain, python; /* 0: none */
    int64_t holder, lock;  /* of a wait for a lock: the thread that held it, its address; 0: not known */
    int64_t variable;      /* the chain of the variable that the lock is in; 0: not known */
    int64_t result;
    enum os_call_kind kind;
};

/* Starts from {0}. */
struct os_calls {
    struct os_call *list; /* owned; by start */
    uint32_t *by_thread;  /* owned; indices into the list, by thread and then by start */
    size_t count;
};

/* Selects calls by the least time that they took, in ns, for each kind; OS_CALL_NEVER leaves a kind out. */
#define OS_CALL_NEVER INT64_MAX
struct os_call_choice {
    int64_t least_ns[OS_CALL_KINDS];
};

/* All calls of one kind. */
static inline struct os_call_choice os_calls_of(enum os_call_kind wanted)
{
    struct os_call_choice choice;

    for (int kind = 0; kind < OS_CALL_KINDS; kind++)
        choice.least_ns[kind] = kind == (int)wanted ? 0 : OS_CALL_NEVER;
    return choice;
}

/* Reads the calls that are in no other recorded call. */
int os_calls_read(struct os_calls *calls, struct report *report, const struct os_call_choice *choice,
                  const struct filter *filter, struct error *err);
void os_calls_free(struct os_calls *calls);

/* The place in by_thread of the thread's first call that ends after this time. *behind is the end of the thread's
 * calls; a result that is not below it means that there is none. */
size_t os_calls_from(const struct os_calls *calls, int64_t thread, int64_t time_ns, size_t *behind);

/* The kind of the calls of this name. */
enum os_call_kind os_call_kind(const char *name, size_t length);
/* Which way the bytes go that a call of this name returns the number of. */
enum os_call_bytes { OS_CALL_NO_BYTES, OS_CALL_READS = 1, OS_CALL_WRITES = 2, OS_CALL_COPIES = 3 };
enum os_call_bytes os_call_bytes(const char *name, size_t length);
/* Whether the result of a call of this name is a number of bytes. */
int os_call_counts_bytes(const char *name);

#endif
