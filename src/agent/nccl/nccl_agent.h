/* What libtacho-nccl.so, the profiler plugin that NCCL loads, calls in the agent. Both come from the same build. */
#ifndef TACHO_AGENT_NCCL_NCCL_AGENT_H
#define TACHO_AGENT_NCCL_NCCL_AGENT_H

#include <stdint.h>

#include "wire/wire_nccl.h"

/* A communicator, as NCCL introduces it. */
struct agent_nccl_comm {
    uint32_t version; /* of the interface */
    const char *name; /* NULL: it has none, or the version does not tell */
    uint64_t hash;
    int nodes, ranks, rank;
};

/* An event that begins. id and comm are filled in by the agent. */
struct agent_nccl_start {
    uint32_t version;
    enum wire_nccl_kind kind;
    struct wire_nccl_event event;
    const char *texts[WIRE_NCCL_TEXTS]; /* function, algorithm, protocol, datatype, name of the communicator; or NULL */
};

/* All of them keep errno. No number that NCCL hands back is ever used as an address. */
struct agent_nccl_calls {
    uint32_t size;
    enum wire_nccl_level (*level)(void);
    uint32_t (*comm)(const struct agent_nccl_comm *comm);    /* its number; 0: too many */
    uint64_t (*start)(const struct agent_nccl_start *start); /* the id of the event; 0: it is not recorded */
    void (*stop)(uint64_t id);
    void (*state)(uint64_t id, uint32_t state, uint64_t value);
};

/* NULL when this process is not recorded. */
const struct agent_nccl_calls *tacho_agent_nccl_calls(void);

#endif
