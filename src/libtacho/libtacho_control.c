/* The control half of libtacho.so: finds the agent, if there is one in this process, when the library is loaded.
 *
 * The agent may not be attached yet (its constructor can run later): it then attaches on being asked. */
#include <dlfcn.h>

#define PUBLIC __attribute__((visibility("default")))

/* Declared here without `inline` first, the header's functions become real ones, for dlsym and other languages. */
PUBLIC void tacho_start(void);
PUBLIC void tacho_stop(void);
PUBLIC void tacho_step(void);
PUBLIC void tacho_mark(const char *text);
PUBLIC void tacho_push(const char *text);
PUBLIC void tacho_pop(void);
PUBLIC int tacho_profiled(void);
PUBLIC int tacho_recording(void);
PUBLIC int tacho_flush(void);
PUBLIC const char *tacho_report_path(void);
PUBLIC unsigned tacho_choose(unsigned what);

#include "tacho/tacho.h"

PUBLIC const struct tacho_calls *tacho_calls;

PUBLIC const char *tacho_version(void)
{
    return TACHO_VERSION;
}

__attribute__((constructor)) static void find_agent(void)
{
    const struct tacho_calls *(*agent_calls)(void);
    *(void **)&agent_calls = dlsym(RTLD_DEFAULT, "tacho_agent_calls");
    const struct tacho_calls *calls = agent_calls ? agent_calls() : NULL;
    if (calls && calls->size >= offsetof(struct tacho_calls, recording)) /* what version 1 had */
        tacho_calls = calls;
}
