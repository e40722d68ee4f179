/* The range of addresses of a shared object, from its first segment to its last. */
#ifndef TACHO_AGENT_CORE_OBJECT_EXTENT_H
#define TACHO_AGENT_CORE_OBJECT_EXTENT_H

#include <stdint.h>

struct dl_phdr_info;
void object_extent(const struct dl_phdr_info *info, uint64_t *first, uint64_t *bytes);
int object_contains(const struct dl_phdr_info *info, uintptr_t address);

#endif
