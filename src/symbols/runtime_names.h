/* Names of code that is in no file: the kernel's, and code that a program generated at run time. */
#ifndef TACHO_SYMBOLS_RUNTIME_NAMES_H
#define TACHO_SYMBOLS_RUNTIME_NAMES_H

#include <pthread.h>

#include "base/text.h"
#include "kernel_lookup.h"
#include "symbols/names/symbol_names.h"

struct symbols_process;

struct kernel_function {
    uint64_t start;
    size_t line; /* where its line begins */
};

/* The kernel says the names of a few addresses, or else the functions of /proc/kallsyms are kept: 120,000 lines, which
 * take it 30 ms to write. */
struct kernel_names {
    struct kernel_lookup lookup;
    int reads_list;                    /* the kernel is not asked: for tests */
    struct text lines;                 /* as there */
    struct kernel_function *functions; /* by address, then by line */
    size_t count, room;
    int is_read;
    pthread_t reader;                  /* begins to ask, or reads the list, while the program runs */
    int is_reading;                    /* that thread is to be joined */
    uint64_t start, end; /* of the kernel's own code, which does not change; modules and BPF programs come and go */
};

/* Adds the kernel's names. The text of a function in a loadable kernel module is followed by a tab and [module]. */
void names_add_kernel(struct symbol_names *names, struct kernel_names *kept);
/* Begins with it, so that the end of a short program need not wait for the kernel. */
void kernel_names_begin(struct kernel_names *kept);
void kernel_names_free(struct kernel_names *kept);

/* Adds the names of /tmp/perf-PID.map, which has one line for each piece of code: start, size and name. *bytes: the
 * size of the file, 0 if there is none that can be trusted. Returns whether only a part of it is read. */
#define NAMES_BYTES_MAX (UINT64_C(256) << 20)
int names_add_made(struct symbol_names *names, const struct symbols_process *process, uint64_t *bytes);

/* The size of that file now. */
uint64_t names_made_bytes(const struct symbols_process *process);

#endif
