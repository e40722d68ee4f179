/* The table of sources and the loops over it: see source.h. */
#include "source.h"

static const struct agent_source *const agent_source_table[] = {
#define SOURCE(id, name, ...) &agent_source_##name,
#define UNCOUNTED_SOURCE(id, name, ...) &agent_source_##name,
#include "wire/sources.def"
};
#define SOURCES COUNT_OF(agent_source_table)

#define CALL(slot, parameters, arguments)                                                                            \
    void sources_##slot parameters                                                                                   \
    {                                                                                                                \
        for (size_t i = 0; i < SOURCES; i++)                                                                         \
            if (agent_source_table[i]->slot)                                                                         \
                agent_source_table[i]->slot arguments;                                                               \
    }
CALL(start, (void), ())
CALL(prepare, (void), ())
CALL(attached, (enum wire_origin origin), (origin))
CALL(forked, (void), ())
CALL(not_attached, (void), ())
CALL(thread_begin, (struct agent_thread * thread), (thread))
CALL(thread_ending, (struct agent_thread * thread), (thread))
CALL(thread_end, (struct agent_thread * thread), (thread))
CALL(switched, (void), ())
CALL(object_loaded, (const char *path), (path))
CALL(objects_changed, (void), ())
CALL(objects_unloaded, (void), ())
CALL(leave, (void), ())
CALL(come_back, (void), ())
CALL(flush, (void), ())
CALL(exit, (void), ())
CALL(show_signal_stack, (stack_t * stack), (stack))

int sources_attach(struct wire_header *arena, int descriptor, enum wire_origin origin)
{
    int result = 0;
    for (size_t i = 0; i < SOURCES && result == 0; i++)
        if (agent_source_table[i]->attach)
            result = agent_source_table[i]->attach(arena, descriptor, origin);
    return result;
}

uint64_t sources_frames(struct agent_thread *thread, enum agent_stack_use use)
{
    uint64_t number = 0;
    for (size_t i = 0; i < SOURCES && number == 0; i++)
        if (agent_source_table[i]->frames)
            number = agent_source_table[i]->frames(thread, use);
    return number;
}
