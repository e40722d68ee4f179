/* A collector holds its folder and its report open (collect/capture/session_folder.h), so /proc names both. */
#include "captures.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/core/procfs.h"

#define FOLDER "/tmp/tacho-session-"
#define REPORT ".tacho"

/* Looks through the open files of a process: 1 if it is a collector. */
static int captures_look(struct running_capture *capture, const char *folder)
{
    DIR *files = opendir(folder);
    int is_collector = 0;

    for (struct dirent *entry; files && (entry = readdir(files)) != NULL;) {
        char path[512], target[sizeof capture->report];
        snprintf(path, sizeof path, "%.200s/%.200s", folder, entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length <= 0)
            continue;
        target[length] = 0;
        is_collector |= strncmp(target, FOLDER, strlen(FOLDER)) == 0;
        if ((size_t)length > strlen(REPORT) && strcmp(target + length - strlen(REPORT), REPORT) == 0)
            memcpy(capture->report, target, (size_t)length + 1);
    }
    if (files)
        closedir(files);
    return is_collector;
}

/* A collector that forks has a child for a moment that holds the same report: the capture is one. */
static int captures_is_known(const struct running_capture *list, size_t count, const struct running_capture *capture)
{
    for (size_t i = 0; i < count; i++)
        if (*capture->report && strcmp(list[i].report, capture->report) == 0)
            return 1;
    return 0;
}

static int64_t age_of(pid_t pid)
{
    int64_t ticks = (int64_t)procfs_start_time(pid), per_second = sysconf(_SC_CLK_TCK);

    return ticks && per_second > 0 ? clock_ns(CLOCK_BOOTTIME) - ticks * (1000000000 / per_second) : 0;
}

size_t captures_find(struct running_capture *list, size_t most)
{
    DIR *processes = opendir("/proc");
    size_t found = 0;

    for (struct dirent *entry; processes && found < most && (entry = readdir(processes)) != NULL;) {
        char folder[300], name[32];
        struct text command = { 0 };
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)atoi(entry->d_name) : 0;
        if (!pid || procfs_name(pid, name, sizeof name) || strcmp(name, "tacho") != 0)
            continue;
        list[found] = (struct running_capture){ .pid = pid, .age_ns = age_of(pid) };
        snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
        if (!captures_look(&list[found], folder) || captures_is_known(list, found, &list[found]))
            continue;
        procfs_command(pid, &command);
        snprintf(list[found].command, sizeof list[found].command, "%s", text_string(&command));
        text_free(&command);
        found++;
    }
    if (processes)
        closedir(processes);
    return found;
}
