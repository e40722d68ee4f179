/* In the agent's place: says that each call is recorded, and counts them; for stubs without a capture. At the end it
 * prints how many began and how many ended. */
#include <stdio.h>
#include <string.h>

#include "../../../src/agent/libraries/libraries_agent.h"

struct wire_header {
    char not_recording_bits[1 << 16];
};

static _Atomic uint32_t attached = 1, began, ended;
static struct wire_header header, *arena = &header;

static int begin(const struct agent_library_call *call)
{
    char vectors[4096];
    memset(vectors, 1, sizeof vectors); /* as libc does it: with the widest registers there are */
    began += ((volatile char *)vectors)[call->frame % sizeof vectors];
    return 1;
}

static void end(const struct agent_library_call *call)
{
    char vectors[4096];
    memset(vectors, 1, sizeof vectors);
    ended += ((volatile char *)vectors)[call->frame % sizeof vectors];
}

const struct agent_library_calls *tacho_agent_library_calls(void)
{
    static const struct agent_library_calls calls = {
        .size = sizeof calls, .state = &attached, .arena = &arena, .begin = begin, .end = end
    };
    memset(&header, 0xff, sizeof header); /* recording, wherever the word is */
    return &calls;
}

__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "%u began, %u ended\n", began, ended);
}
