/* The captures of tacho that run now, of all users whose processes this one may look into. */
#ifndef TACHO_CMD_MONITOR_CAPTURES_H
#define TACHO_CMD_MONITOR_CAPTURES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct running_capture {
    pid_t pid;         /* tacho's */
    int64_t age_ns;
    char report[1024]; /* the path of the file that it writes; "": not known */
    char command[1024];
};

/* Fills a list; returns how many there are. */
size_t captures_find(struct running_capture *list, size_t most);

#endif
