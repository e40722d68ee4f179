/* What /proc says about a process. Each call answers 0, or -1 when the process is gone or may not be looked at. */
#ifndef TACHO_COLLECT_CORE_PROCFS_H
#define TACHO_COLLECT_CORE_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

/* Who started it, in our pid namespace; 0: not known. */
pid_t procfs_parent(pid_t pid);

int procfs_exe(pid_t pid, struct text *path);
int procfs_command(pid_t pid, struct text *command);   /* quoted as for a shell */
int procfs_environment(pid_t pid, struct text *block); /* NUL-separated, with a NUL at the end */
int procfs_name(pid_t pid, char *name, size_t size);   /* "" when not known */
uint64_t procfs_start_time(pid_t pid);                 /* 0 when not known */
uint64_t procfs_address_space(void);                   /* our own, bytes; 0 when not known */
int procfs_filters(pid_t pid);                         /* seccomp filters, 0 when not known; pid 0: our own */
int procfs_is_alive(pid_t pid, uint64_t start_time);   /* 0: gone, a zombie, or another one by now */

/* Signals and timers that a process may still have pending before those of its user are half of its limit;
 * INT32_MAX when not known. */
uint32_t procfs_spare_signals(pid_t pid);

struct procfs_stat {
    pid_t pid, parent;
    uint64_t start_time;
    int is_dead; /* a zombie */
};

struct procfs_tree {
    struct procfs_stat *list; /* the owner's to free */
    size_t count;
};

/* All that descends from this process, dead ones too, but not through a child that is among the strangers. */
struct procfs_tree procfs_descendants(pid_t ancestor, const struct procfs_tree *strangers);

/* A whole file of /proc or /sys. */
int procfs_read(const char *path, struct text *text);

/* One argument as a shell would need it. */
void procfs_quote(struct text *text, const char *argument);

#endif
