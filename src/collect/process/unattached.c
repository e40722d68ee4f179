/* Processes that could not attach leave marks: see wire/wire_marks.h. This file removes the marks, keeps them, and
 * counts them at the end. Only then is it known which process left which mark. */
#include "unattached.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cause.h"
#include "collect/core/collector.h"
#include "process.h"

void unattached_count(struct collector *collector, enum wire_cause cause, const struct process *process)
{
    collector->result->unrecorded++;
    collector->unattached->counts[cause]++;
    if (process && !collector->unattached->first[cause])
        collector->unattached->first[cause] = process;
    /* Rows with the same key add up, and the primary process is in the table for the whole capture. */
    if (collector->primary)
        process_count_row(collector->primary, "processes", "lost", cause_text(cause), 1);
}

static void unattached_note(struct collector *collector, enum wire_cause cause, pid_t pid)
{
    struct unattached *unattached = collector->unattached;
    if (array_reserve(&unattached->marks, &unattached->mark_capacity, unattached->mark_count + 1,
                      sizeof *unattached->marks) == 0)
        unattached->marks[unattached->mark_count++] = (struct unattached_mark){ .pid = pid, .cause = cause };
    else
        unattached_count(collector, cause, NULL);
}

enum wire_cause unattached_take(struct collector *collector, const struct process *process)
{
    struct unattached *unattached = collector->unattached;
    for (size_t i = 0; i < unattached->mark_count; i++)
        if (unattached->marks[i].pid == (process->own_pid ? (pid_t)process->own_pid : process->pid)) {
            enum wire_cause cause = unattached->marks[i].cause;
            unattached->marks[i] = unattached->marks[--unattached->mark_count];
            return cause;
        }
    return WIRE_CAUSE_UNKNOWN;
}

void unattached_count_rest(struct collector *collector)
{
    for (size_t i = 0; i < collector->unattached->mark_count; i++) {
        const struct unattached_mark *mark = &collector->unattached->marks[i];
        const struct process *process = process_find(collector, mark->pid);
        if (!process || !process->unrecorded) /* else it is a second mark of the process, from after an exec */
            unattached_count(collector, mark->cause, NULL);
    }
    collector->unattached->mark_count = 0;
}

static void take_link(struct collector *collector, int folder, const char *name)
{
    char text[32] = "";
    ssize_t length = readlinkat(folder, name, text, sizeof text - 1);
    if (length <= 0 || unlinkat(folder, name, 0) != 0)
        return;
    size_t before = sizeof WIRE_MARK_UNRECORDED - 1 + 16; /* the time comes before the pid, both in 16 hex digits */
    pid_t pid = strlen(name) > before ? (pid_t)strtoll(name + before, NULL, 16) : 0;
    for (int i = WIRE_CAUSE_UNKNOWN + 1; i < WIRE_CAUSE_COUNT; i++)
        if (strcmp(text, cause_text((enum wire_cause)i)) == 0)
            unattached_note(collector, (enum wire_cause)i, pid);
}

void unattached_read(struct collector *collector, const char *folder)
{
    DIR *list = folder[0] ? opendir(folder) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;) {
        if (strcmp(entry->d_name, WIRE_MARK_SILENT) == 0)
            unlinkat(dirfd(list), entry->d_name, 0); /* we answer again */
        else if (strncmp(entry->d_name, WIRE_MARK_UNRECORDED, sizeof WIRE_MARK_UNRECORDED - 1) == 0)
            take_link(collector, dirfd(list), entry->d_name);
    }
    if (list)
        closedir(list);
}

void unattached_tell(struct collector *collector)
{
    for (int i = 0; i < WIRE_CAUSE_COUNT; i++) {
        uint64_t count = collector->unattached->counts[i];
        const struct process *first = collector->unattached->first[i];
        char who[128] = "", error[128] = "";
        if (count == 1 && first && first == collector->primary && collector->program_cause)
            continue; /* the warning of program_file_inspect() says more */
        if (first)
            snprintf(who, sizeof who, " First: %s (pid %d).", first->name, (int)first->pid);
        if (i == WIRE_CAUSE_NO_SHARED_MEMORY)
            snprintf(error, sizeof error, " (%s)", strerror(collector->unattached->refusal));
        if (count)
            collector_warn(collector, first ? first->global_pid : 0, "%llu process%s not traced: %s%s.%s",
                           (unsigned long long)count, count == 1 ? " was" : "es were", cause_reason((enum wire_cause)i),
                           error, who);
    }
}

void unattached_free(struct collector *collector)
{
    free(collector->unattached->marks);
}
