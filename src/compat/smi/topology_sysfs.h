/* Places of devices in the tree of PCI, from sysfs. TACHO_SYSFS names a folder in place of /sys, for tests. */
#ifndef TACHO_COMPAT_SMI_TOPOLOGY_SYSFS_H
#define TACHO_COMPAT_SMI_TOPOLOGY_SYSFS_H

#include <stddef.h>

enum { TOPOLOGY_PATH = 512 };

struct topology_slot {
    char path[TOPOLOGY_PATH]; /* below /sys/devices: pci0000:15/0000:15:01.0/0000:16:00.0; "": not known */
    int numa_node;            /* negative: not known */
};

/* Finds the slot of a bus id as NVML writes it. */
void topology_sysfs_slot(const char *bus_id, struct topology_slot *slot);

struct topology_adapter {
    char name[96]; /* mlx5_0 */
    struct topology_slot slot;
};

/* Fills a list with the RDMA devices on PCI, in the order in which the kernel found them; returns how many there are.
 */
size_t topology_sysfs_adapters(struct topology_adapter *list, size_t most);

#endif
