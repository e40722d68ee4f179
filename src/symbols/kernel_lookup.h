/* Names of a few places in the kernel, by the kernel's own search: a BPF program of ours formats addresses with "%ps".
 * Linux 5.14 and privileges (CAP_BPF and CAP_PERFMON) are needed; runtime_names.c reads the whole list where either is
 * missing. The program is attached to nothing: it runs once for each call, and nothing of it stays. */
#ifndef TACHO_SYMBOLS_KERNEL_LOOKUP_H
#define TACHO_SYMBOLS_KERNEL_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#define KERNEL_LOOKUP_MAX 16   /* addresses of one call */
#define KERNEL_LOOKUP_ROOM 568 /* of a name: the kernel has 512 bytes for that of a symbol, 56 for that of a module */

/* Shared with the BPF program. */
struct kernel_lookup_slot {
    uint64_t address;
    char name[KERNEL_LOOKUP_ROOM];
};

struct kernel_lookup {
    struct kernel_lookup_slot *slots; /* KERNEL_LOOKUP_MAX of them; NULL: closed */
    int program;
};

/* Returns 0, or -1 if the kernel refuses. Close it in any case. */
int kernel_lookup_open(struct kernel_lookup *lookup);
void kernel_lookup_close(struct kernel_lookup *lookup);

/* Puts the name of each address into its slot: "name", "name [module]", or "0x…" where the kernel has none. At most
 * KERNEL_LOOKUP_MAX addresses. Returns -1 on error. */
int kernel_lookup_ask(struct kernel_lookup *lookup, const uint64_t *addresses, size_t count);

#endif
