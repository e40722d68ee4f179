/* A link of sysfs ends in the device's place in the tree: ../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0. */
#include "topology_sysfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cmd/doctor/system_file.h"

#define DEVICES "/devices/"

static const char *root(void)
{
    const char *chosen = getenv("TACHO_SYSFS");

    return chosen && *chosen ? chosen : "/sys";
}

/* The place at which a link of sysfs ends; "" if it is not on PCI. */
static void topology_sysfs_read_place(const char *link, char out[TOPOLOGY_PATH])
{
    char full[4096], target[4096];

    *out = 0;
    if (snprintf(full, sizeof full, "%s%s", root(), link) >= (int)sizeof full)
        return;
    ssize_t length = readlink(full, target, sizeof target - 1);
    if (length < 0)
        return;
    target[length] = 0;
    const char *place = strstr(target, DEVICES "pci");
    if (place)
        snprintf(out, TOPOLOGY_PATH, "%s", place + strlen(DEVICES));
}

static int read_numa_node(const char *place)
{
    char path[TOPOLOGY_PATH + 32], line[32];

    snprintf(path, sizeof path, DEVICES "%s/numa_node", place);
    system_file_read_line(root(), path, line, sizeof line);
    return *line ? atoi(line) : -1;
}

/* NVML writes 00000000:1B:00.0, the kernel 0000:1b:00.0. */
void topology_sysfs_slot(const char *bus_id, struct topology_slot *slot)
{
    unsigned domain, bus, device, function;
    char link[64];

    *slot = (struct topology_slot){ .numa_node = -1 };
    if (sscanf(bus_id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
        return;
    snprintf(link, sizeof link, "/bus/pci/devices/%04x:%02x:%02x.%x", domain, bus, device, function);
    topology_sysfs_read_place(link, slot->path);
    slot->numa_node = read_numa_node(slot->path);
}

/* The kernel numbers RDMA devices as it finds them: uverbs2 is the third one, and its file ibdev has its name. */
static int read_adapter(struct topology_adapter *adapter, const char *uverbs)
{
    char path[600], name[96], tail[128];

    snprintf(path, sizeof path, "/class/infiniband_verbs/%.255s/ibdev", uverbs);
    system_file_read_line(root(), path, name, sizeof name);
    if (!*name || strchr(name, '/'))
        return 0;
    snprintf(path, sizeof path, "/class/infiniband/%s", name);
    topology_sysfs_read_place(path, adapter->slot.path);
    snprintf(tail, sizeof tail, "/infiniband/%s", name);
    char *end = strstr(adapter->slot.path, tail);
    if (!end)
        return 0;
    *end = 0;
    snprintf(adapter->name, sizeof adapter->name, "%s", name);
    adapter->slot.numa_node = read_numa_node(adapter->slot.path);
    return 1;
}

static int is_device(const struct dirent *entry)
{
    return strncmp(entry->d_name, "uverbs", strlen("uverbs")) == 0;
}

static int topology_sysfs_by_number(const struct dirent **a, const struct dirent **b)
{
    int first = atoi((*a)->d_name + strlen("uverbs")), second = atoi((*b)->d_name + strlen("uverbs"));

    return COMPARE(first, second);
}

size_t topology_sysfs_adapters(struct topology_adapter *list, size_t most)
{
    char folder[4096];
    struct dirent **entries = NULL;
    size_t found = 0;

    snprintf(folder, sizeof folder, "%s/class/infiniband_verbs", root());
    int count = scandir(folder, &entries, is_device, topology_sysfs_by_number);
    for (int i = 0; i < count; i++) {
        found += found < most && read_adapter(&list[found], entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return found;
}
