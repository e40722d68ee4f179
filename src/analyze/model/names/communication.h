/* Which events are communication between ranks: by their names alone, and for all of Tacho in this one place. */
#ifndef TACHO_ANALYZE_MODEL_NAMES_COMMUNICATION_H
#define TACHO_ANALYZE_MODEL_NAMES_COMMUNICATION_H

enum communication { COMMUNICATION_NONE, COMMUNICATION_NCCL, COMMUNICATION_NVSHMEM };

/* The library that a kernel belongs to, by its short name or its demangled one. */
enum communication communication_of_kernel(const char *name);

/* Whether an NVTX range, an annotation or an operator of PyTorch is communication. */
int communication_is_range(const char *name);
/* Whether a process group of PyTorch marks the time of a collective with it: "nccl:all_reduce". Operators around such
 * a mark ("c10d::allreduce_") only start the collective. */
int communication_is_mark(const char *name);

#endif
