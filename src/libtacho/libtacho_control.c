/* The control half of libtacho.so: when the library is loaded, it finds the agent, if this process has one.
 *
 * The agent may not be attached yet, because its constructor can run later. Then this call makes it attach. */
#include <dlfcn.h>

#define PUBLIC __attribute__((visibility("default")))

/* These declarations without `inline` make the header's functions real ones, for dlsym and other languages. */
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

__attribute__((constructor)) static void control_api_find_agent(void)
{
    const struct tacho_calls *(*agent_calls)(void);
    *(void **)&agent_calls = dlsym(RTLD_DEFAULT, "tacho_agent_calls");
    const struct tacho_calls *calls = agent_calls ? agent_calls() : NULL;
    if (calls && calls->size >= offsetof(struct tacho_calls, recording)) /* the members of version 1 */
        tacho_calls = calls;
}
