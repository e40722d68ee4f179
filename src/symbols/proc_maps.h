/* Reads /proc of a process while it lives. symbols_process_look(), which reads its mappings, is in symbols.h. */
#ifndef TACHO_SYMBOLS_PROC_MAPS_H
#define TACHO_SYMBOLS_PROC_MAPS_H

struct symbols_process;

/* Keeps the root folder and the own pid of a new process, which are not known after its end. */
void proc_maps_begin(struct symbols_process *process);

/* Opens a file for reading, as the process sees it. Returns a descriptor, or -1. more_flags: of open(). */
int proc_maps_open(const struct symbols_process *process, const char *path, int more_flags);

/* Does the process write /tmp/perf-PID.map when it exits? Its command line or environment says so. */
int proc_maps_names_at_exit(struct symbols_process *process);

#endif
