/* Reads what /proc says about a process. Calls that return int return 0, or -1 if the process is gone or may not be
 * inspected, unless a comment says otherwise. */
#ifndef TACHO_COLLECT_CORE_PROCFS_H
#define TACHO_COLLECT_CORE_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

/* The parent's pid in our pid namespace; 0: unknown. */
pid_t procfs_parent(pid_t pid);

int procfs_exe(pid_t pid, struct text *path);
int procfs_command(pid_t pid, struct text *command);   /* quoted for a shell */
int procfs_first_argument(pid_t pid, struct text *argument);
int procfs_environment(pid_t pid, struct text *block); /* NUL-separated, with a NUL at the end */
int procfs_name(pid_t pid, char *name, size_t size);   /* "" if unknown */
uint64_t procfs_start_time(pid_t pid);                 /* 0 if unknown */
uint64_t procfs_address_space(void);                   /* our own, in bytes; 0 if unknown */
int procfs_filters(pid_t pid);                         /* number of seccomp filters, 0 if unknown; pid 0: our own */
int procfs_is_alive(pid_t pid, uint64_t start_time);   /* 0: gone, a zombie, or another process with the same pid */
int procfs_withstands(pid_t pid, int signal);          /* whether it blocks, ignores or handles it; 0 if unknown */

/* Whether a process runs, would run if there was a CPU for it, or has used one since the last question. */
int procfs_has_worked(pid_t pid, uint64_t *cpu_ticks);

/* How many more signals and timers a process may have pending until its user has reached half of the limit; INT32_MAX
 * if unknown. */
uint32_t procfs_spare_signals(pid_t pid);

struct procfs_stat {
    pid_t pid, parent;
    uint64_t start_time;
    uint64_t cpu_ticks; /* that it has used */
    int is_dead;        /* a zombie */
    int is_runnable;    /* or runs */
};

struct procfs_tree {
    struct procfs_stat *list; /* the caller frees it */
    size_t count;
};

/* All descendants of a process, zombies too, except those below a child that is among the strangers. */
struct procfs_tree procfs_descendants(pid_t ancestor, const struct procfs_tree *strangers);

/* Reads a whole file of /proc or /sys. */
int procfs_read(const char *path, struct text *text);

/* Appends one argument, quoted for a shell. */
void procfs_quote(struct text *text, const char *argument);

#endif
