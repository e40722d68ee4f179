/* Processes that could not attach: see wire/marks.h. What they left is counted and removed. */
#include "marks.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"

static const struct { const char *text, *reason; } causes[] = {
#define MARK_CAUSE(name, text, reason) [WIRE_MARK_##name] = {text, reason},
    WIRE_MARK_CAUSES(MARK_CAUSE)
#undef MARK_CAUSE
};

void marks_count(struct collector *collector, enum wire_mark_cause cause)
{
    collector->result->unrecorded++;
    collector->session.unrecorded[cause]++;
    if (collector->primary) /* rows of a key add up, and this one is there as long as the capture */
        process_count_row(collector->primary, "processes", "lost", causes[cause].text, 1);
}

static void count_link(struct collector *collector, int folder, const char *name)
{
    char text[32] = "";
    ssize_t length = readlinkat(folder, name, text, sizeof text - 1);
    if (length <= 0 || unlinkat(folder, name, 0) != 0)
        return;
    for (int i = 0; i < WIRE_MARK_CAUSE_COUNT; i++)
        if (strcmp(text, causes[i].text) == 0)
            marks_count(collector, (enum wire_mark_cause)i);
}

void marks_read(struct collector *collector)
{
    const struct folder *folder = &collector->session.folder;
    DIR *list = folder->path[0] ? opendir(folder->path) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;) {
        if (strcmp(entry->d_name, WIRE_MARK_SILENT) == 0)
            unlinkat(dirfd(list), entry->d_name, 0); /* we are here again */
        else if (strncmp(entry->d_name, WIRE_MARK_UNRECORDED, sizeof WIRE_MARK_UNRECORDED - 1) == 0)
            count_link(collector, dirfd(list), entry->d_name);
    }
    if (list)
        closedir(list);
}

void marks_tell(struct collector *collector)
{
    for (int i = 0; i < WIRE_MARK_CAUSE_COUNT; i++) {
        uint64_t count = collector->session.unrecorded[i];
        if (count)
            collector_warn(collector, 0, "%llu process%s could not be recorded: %s.", (unsigned long long)count, count == 1 ? "" : "es", causes[i].reason);
    }
}
