/* Labels of names, and values for people: see info_labels.h. */
#include "info_labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "cmd/print/display.h"

enum { WIDEST_VALUE = 160 };

static void add_as_it_is(struct text *out, const char *value)
{
    display_add(out, value, strlen(value), WIDEST_VALUE);
}

static void add_as_bytes(struct text *out, const char *value)
{
    human_bytes(out, strtoull(value, NULL, 10));
}

/* "24682740 kB", as the kernel has it: its kB are of 1024 bytes. */
static void add_as_memory(struct text *out, const char *value)
{
    char *unit;
    unsigned long long number = strtoull(value, &unit, 10);

    if (strcmp(unit, " kB") == 0 && number < UINT64_MAX / 1024)
        human_bytes(out, number * 1024);
    else
        add_as_it_is(out, value);
}

static void add_as_clock(struct text *out, const char *value)
{
    if (strcmp(value, "counter") == 0)
        text_add(out, "the CPU's counter");
    else
        add_as_it_is(out, strcmp(value, "monotonic") == 0 ? "clock_gettime (CLOCK_MONOTONIC)" : value);
}

/* Labels of the names in the report's tables; those of sources are in their rows. Other names are shown as they are. */
static const struct cmd_source_label info_label_table[] = {
    { "TACHO_VERSION", "Made by Tacho", NULL },
    { "COMMAND_LINE", "Command", NULL },
    { "PROGRAM", NULL, NULL },
    { "SOURCES_REQUESTED", NULL, NULL },
    { "SOURCES", "Traced", NULL },
    { "WORKING_DIRECTORY", "Directory", NULL },
    { "JOB", "Job", NULL },
    { "LAUNCHER", "Launcher", NULL },
    { "RANK", "Rank", NULL },
    { "LOCAL_RANK", "Local rank", NULL },
    { "LOCAL_SIZE", "Ranks on the host", NULL },
    { "WORLD_SIZE", "Ranks", NULL },
    { "LEFT_TO", "Left to others", NULL },
    { "BUFFER_LIMIT_BYTES", "Buffer limit", add_as_bytes },
    { "CLOCK", "Clock", add_as_clock },
    { "COST_LIMIT", "Cost limit", NULL },
    { "CpuCores", "Cores", NULL },
    { "CpuArchitecture", "Architecture", NULL },
    { "CpuDescription", "CPU", NULL },
    { "HardwarePlatform", NULL, NULL },
    { "OsDescription", "System", NULL },
    { "KernelVersion", "Kernel", NULL },
    { "MemoryTotal", "Memory", add_as_memory },
    { "MemoryLimit", "Memory limit", add_as_bytes },
    { "Hostname", "Host", NULL },
    { "BootId", "Boot ID", NULL },
    { "PidNamespace", "PID namespace", NULL },
    { 0 },
};

static const struct cmd_source_label *find_label(const struct cmd_source_label *list, const char *name)
{
    for (; list && list->name; list++)
        if (strcmp(list->name, name) == 0)
            return list;
    return NULL;
}

const struct cmd_source_label *info_label_find(const char *name)
{
    const struct cmd_source_label *found = find_label(info_label_table, name);

    for (const struct cmd_source *const *source = cmd_sources; *source && !found; source++)
        found = find_label((*source)->labels, name);
    return found;
}

void info_label_add(struct text *out, const struct cmd_source_label *label, const char *value)
{
    (label->add ? label->add : add_as_it_is)(out, value);
}
