/* The driver does not say who holds a GPU's counters. A known profiler that runs is a good guess, and so is a process
 * that has loaded the library through which all of them count. */
#include "counters_refusal.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "counters_library.h"

#define COUNTING_LIBRARY "libnvperf_target"

enum { LINE_BYTES = 4352, NAME_BYTES = 64 };

static FILE *counter_refusal_open_of(const char *pid, const char *file)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%.16s/%s", pid, file);
    return fopen(path, "re");
}

static int is_profiler(const char *name)
{
    static const char *const names[] = { "nv-hostengine", "dcgm-exporter", "ncu", "nsys", "nsys-launcher" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

static int has_library(const char *pid)
{
    FILE *maps = counter_refusal_open_of(pid, "maps");
    char line[LINE_BYTES];
    int found = 0;

    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, COUNTING_LIBRARY) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

/* Writes ", probably NAME (process PID)"; nothing if nobody is known. */
static void counter_refusal_find_user(char *out, size_t bytes)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    char own[16];

    *out = 0;
    snprintf(own, sizeof own, "%d", (int)getpid());
    while (processes && !*out && (entry = readdir(processes))) {
        char name[NAME_BYTES] = "";
        int is_other = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && strcmp(entry->d_name, own) != 0;
        FILE *comm = is_other ? counter_refusal_open_of(entry->d_name, "comm") : NULL;
        if (!comm)
            continue;
        if (fgets(name, sizeof name, comm))
            name[strcspn(name, "\n")] = 0;
        fclose(comm);
        if (is_profiler(name) || has_library(entry->d_name))
            snprintf(out, bytes, ", probably %s (process %.16s)", name, entry->d_name);
    }
    if (processes)
        closedir(processes);
}

void counters_refusal(struct refusal *why, const char *call, int result)
{
    enum gpu_refusal_id id = gpu_refusal_of_cupti(result);

    if (id == GPU_REFUSAL_NONE) {
        refusal_set(why, GPU_REFUSAL_SAMPLING_REFUSED, call, counters_result_text(result));
        return;
    }
    refusal_set(why, id, NULL, NULL);
    if (id == GPU_REFUSAL_COUNTERS_TAKEN)
        counter_refusal_find_user(why->texts[0], sizeof why->texts[0]);
}
