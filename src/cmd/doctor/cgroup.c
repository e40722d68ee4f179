/* Reading cgroup files. Inside a container the paths of /proc/self/cgroup often name folders of the host that cannot be
 * seen; then the root of the mount is the container's own group. */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system_file.h"

/* A number in a file, or -1 for "max", none, or as good as none (v1 says so with a huge number). */
static int64_t cgroup_read_number(const char *root, const char *folder, const char *name)
{
    char path[3000], line[64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    system_file_read_line(root, path, line, sizeof line);
    if (line[0] < '0' || line[0] > '9')
        return -1;
    unsigned long long value = strtoull(line, NULL, 10);
    return value >= (1ull << 60) ? -1 : (int64_t)value;
}

static void cgroup_tighten(int64_t *limit, int64_t *used, int64_t new_limit, int64_t new_used)
{
    if (new_limit >= 0 && (*limit < 0 || new_limit < *limit)) {
        *limit = new_limit;
        *used = new_used;
    }
}

static void tighten_cpus(double *cpus, double quota, double period)
{
    if (quota > 0 && period > 0 && (*cpus == 0 || quota / period < *cpus))
        *cpus = quota / period;
}

struct file_names {
    const char *memory, *memory_used, *pids, *pids_used;
};

static void read_folder(const char *root, const char *folder, const struct file_names *names,
                        struct cgroup_limits *limits)
{
    char path[3000], line[64];
    double quota, period;

    cgroup_tighten(&limits->memory_bytes, &limits->memory_used_bytes, cgroup_read_number(root, folder, names->memory),
                   cgroup_read_number(root, folder, names->memory_used));
    cgroup_tighten(&limits->pids, &limits->pids_used, cgroup_read_number(root, folder, names->pids),
                   cgroup_read_number(root, folder, names->pids_used));
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    system_file_read_line(root, path, line, sizeof line);
    if (sscanf(line, "%lf %lf", &quota, &period) == 2)
        tighten_cpus(&limits->cpus, quota, period);
    tighten_cpus(&limits->cpus, (double)cgroup_read_number(root, folder, "cpu.cfs_quota_us"),
                 (double)cgroup_read_number(root, folder, "cpu.cfs_period_us"));
}

/* The group's folder and all above it, up to the mount. */
static void read_upwards(const char *root, const char *mount, const char *group, const struct file_names *names,
                         struct cgroup_limits *limits)
{
    char folder[2048];

    if (snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group) >= (int)sizeof folder)
        return;
    for (;;) {
        read_folder(root, folder, names, limits);
        char *slash = strrchr(folder, '/');
        if (!slash || strlen(folder) <= strlen(mount))
            return;
        *slash = 0;
    }
}

struct cgroup_limits cgroup_read(const char *root)
{
    static const struct file_names v2 = { "memory.max", "memory.current", "pids.max", "pids.current" };
    static const struct file_names v1 = { "memory.limit_in_bytes", "memory.usage_in_bytes", "pids.max",
                                          "pids.current" };
    struct cgroup_limits limits = { -1, -1, -1, -1, 0 };
    char path[4096], line[4096];

    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        controllers++;
        char mount[512];
        snprintf(mount, sizeof mount, "/sys/fs/cgroup%s%.200s", *controllers ? "/" : "", controllers);
        read_upwards(root, mount, group, *controllers ? &v1 : &v2, &limits);
    }
    if (file)
        fclose(file);
    return limits;
}
