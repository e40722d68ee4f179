/* The programs that ran in the processes of a capture, from TACHO_PROCESS. A process that calls exec runs several, one
 * after the other; the time between fork and exec belongs to the program that it became. */
#ifndef TACHO_ANALYZE_MODEL_PROGRAMS_H
#define TACHO_ANALYZE_MODEL_PROGRAMS_H

#include "base/text.h"
#include "report/reader/reader.h"

struct program {
    int64_t process, image, parent; /* global ids; the number of the program in its process; parent 0: unknown */
    int64_t start_ns, end_ns;       /* still running: the last moment of the report */
    int64_t cpu_ns;                 /* -1: unknown */
    int64_t exe, command;           /* in the string pool; -1: unknown */
    size_t row;                     /* of the table: the last about the program */
    int is_before_exec;             /* between fork and exec */
};

/* Starts from {0}. */
struct programs {
    struct program *list; /* owned; by process and image */
    size_t count, room;
};

int programs_read(struct programs *programs, struct report *report, struct error *err);
void programs_free(struct programs *programs);

#define NO_PROGRAM SIZE_MAX
/* The program that ran in a process at this time; of a time between fork and exec the one after it. */
size_t programs_at(const struct programs *programs, int64_t process, int64_t time_ns);
/* The same by its number in the process. */
size_t programs_of_image(const struct programs *programs, int64_t process, int64_t image);

/* Adds the name by which the program was started: the base name of the first word of its command line; else that of its
 * file. */
void program_name(struct text *out, const struct program *program, struct report *report);

#endif
