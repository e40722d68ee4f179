/* mlockall(): locks the program's memory, and not the agent's, which would count against the program's limit and stay in memory for
 * nothing. The kernel can only lock all mappings; those of the agent are unlocked after it. Mappings that come later are not
 * locked in the first place (window.c).                                                                                  */
#include <link.h>

#include "core.h"
#include "os.h"
#include "sys.h"

static int unlock_library(struct dl_phdr_info *object, size_t size, void *context)
{
    uint64_t first, bytes;
    if (*object->dlpi_name && strstr(agent.preload, object->dlpi_name)) {
        modules_extent(object, &first, &bytes);
        sys_munlock((const void *)first, bytes);
    }
    return 0;
}

static void unlock_own_memory(void)
{
    struct area *const areas[] = { &agent.slots, &agent.threads, &agent.chunks, &agent.note_chunks, &agent.cuda_buffers };
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++)
        area_unlock(areas[i]);
    sys_munlock(agent.arena, WIRE_THREADS_OFFSET);
    sys_munlock(agent.cuda_descriptors, agent.cuda_buffers.before_bytes);
    sys_munlock(agent.cuda_names, agent.cuda_names_bytes);
    dl_iterate_phdr(unlock_library, NULL);
    struct agent_thread *thread = agent_thread();
    if (thread)
        sample_stack_unlock(thread); /* of other threads it stays locked: they may be about to unmap it */
}

static int timed_mlockall(int flags)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(OSRT));
    if (!thread)
        return OS_REAL(mlockall)(flags);
    OS_TIMED(thread, int, mlockall, (flags), MINUS_ONE)
}

int os_hook_mlockall(int flags)
{
    int result = timed_mlockall(flags);
    if (result == 0 && (flags & MCL_CURRENT) && agent_attached())
        unlock_own_memory();
    return result;
}
