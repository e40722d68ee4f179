/* The name of a report from the value of -o: %p %h %n %q{VAR} %% as in nsys, %r for the rank, and a folder for the
 * reports of all ranks. */
#ifndef TACHO_CMD_PROFILE_OUTPUT_NAME_H
#define TACHO_CMD_PROFILE_OUTPUT_NAME_H

#include "abi/jobs/job_place.h"
#include "base/error.h"
#include "base/text.h"

struct output_naming {
    const char *pattern;           /* the value of -o */
    const struct job_place *place; /* %r */
    int pid;                       /* %p: the program's */
    unsigned number;               /* %n */
    /* Set by output_name(): */
    int uses_number;  /* the pattern has %n */
    int is_rank;      /* it is a folder, and the process a rank: the name is that of the rank */
    int needs_folder; /* it ends in '/': the folder may be missing */
};

/* Expands the pattern. The extension is .tacho, which replaces .nsys-rep or .qdrep. A folder stands for rank0003 in it,
 * or for report%n outside of a job. */
int output_name(struct text *out, struct output_naming *naming, struct error *err);

/* The same with the lowest number from naming->number on for which no file exists; it becomes that number. Without %n
 * the file may exist: the writer decides. */
int output_name_free(struct text *out, struct output_naming *naming, struct error *err);

/* Makes the folder of a file, and those around it, where they are missing. */
int output_make_folder(const char *path, struct error *err);

#endif
