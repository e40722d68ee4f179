/* The agent's end of the stubs that know the words of their calls: see word_calls.h. */
#include "word_calls.h"

#include <string.h>

#include "base/path.h"
#include "own_calls.h"
#include "source.h"

static const struct agent_source *const word_objects_sources[] = {
#define SOURCE(id, name, ...) [WIRE_SOURCE_##id] = &agent_source_##name,
#include "wire/sources.def"
};
#define SOURCES COUNT_OF(word_objects_sources)

static _Atomic(const struct word_object *) objects[WIRE_SOURCE_COUNT];

const struct word_object *agent_word_object(enum wire_source source)
{
    return atomic_load_explicit(&objects[source], memory_order_acquire);
}

EXPORT const struct word_calls *tacho_agent_word_calls(uint32_t source, const struct word_object *object)
{
    const struct word_calls *calls = source < SOURCES ? word_objects_sources[source]->word_calls : NULL;
    if (!calls || object->size != sizeof *object || !agent_thread() || !(agent.sources & 1u << source))
        return NULL;
    atomic_store_explicit(&objects[source], object, memory_order_release);
    return calls;
}

void word_objects_changed(void)
{
    if (!agent_begin_calls())
        return;
    for (uint32_t i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct word_object *object = agent_word_object(i);
        if (object)
            object->objects_changed();
    }
    agent_end_calls();
}

static void add_preload(const char *file)
{
    size_t length = strlen(agent.preload), folder = path_folder_length(agent.library), name = strlen(file);
    if (!length || length + 1 + folder + name + 1 > sizeof agent.preload)
        return;
    char *added = agent.preload + length + 1; /* after the end of the text, until the colon is there */
    memcpy(added, agent.library, folder);
    memcpy(added + folder, file, name + 1);
    if (!strstr(agent.preload, added))        /* else this is a forked child, which has its parent's text */
        agent.preload[length] = ':';
}

const char *agent_preload_file(uint32_t source, uint32_t models)
{
    const struct agent_source *row = source < SOURCES ? word_objects_sources[source] : NULL;
    if (!row || !row->preload || !(agent.sources & 1u << source))
        return NULL;
    return !(agent.if_used & 1u << source) || (row->models & models) ? row->preload : NULL;
}

void agent_add_preloads(void)
{
    for (uint32_t i = 0; i < SOURCES; i++)
        if (word_objects_sources[i] && word_objects_sources[i]->preload && (agent.sources & 1u << i))
            add_preload(word_objects_sources[i]->preload);
}
