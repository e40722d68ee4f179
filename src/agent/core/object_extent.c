/* The range of addresses of a shared object: see object_extent.h. */
#include "object_extent.h"

#include <elf.h>
#include <link.h>

void object_extent(const struct dl_phdr_info *info, uint64_t *first, uint64_t *bytes)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        if (segment->p_vaddr < low)
            low = segment->p_vaddr;
        if (segment->p_vaddr + segment->p_memsz > high)
            high = segment->p_vaddr + segment->p_memsz;
    }
    *first = low > high ? info->dlpi_addr : info->dlpi_addr + low;
    *bytes = low > high ? 0 : high - low;
}

int object_contains(const struct dl_phdr_info *info, uintptr_t address)
{
    uint64_t first, bytes;
    object_extent(info, &first, &bytes);
    return address - first < bytes;
}
