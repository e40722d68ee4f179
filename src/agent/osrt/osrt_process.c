/* Processes: fork, the wait calls (which tell how a child ended), exits, and names of threads.
 *
 * After fork() the child must only not touch the parent's memory: the handler that lifecycle.c registers has run by
 * then. vfork is not hooked, but its child runs the hooks in its parent's memory. What the child does (exit, exec)
 * would be recorded as its parent's, so those hooks check which process is calling. */
#include <stdlib.h>
#include <string.h>

#include "agent/core/agent.h"
#include "agent/core/libc_real.h"
#include "agent/core/own_process.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"
#include "osrt_hooks.h"
#include "osrt_process.h"
#include "wire/wire_marks.h"

static int osrt_process_is_silent(void)
{
    return agent.left && agent.pid && agent.arena;
}

void osrt_set_silent_exec(enum wire_cause cause, const char *path)
{
    if (!osrt_process_is_silent())
        return;
    size_t length = strnlen(path, WIRE_SILENT_PATH - 1);
    memcpy(agent.arena->silent_path, path, length);
    agent.arena->silent_path[length] = 0;
    atomic_store(&agent.arena->silent_exec, WIRE_SILENT_EXEC | cause);
}

void osrt_clear_silent_exec(void)
{
    if (osrt_process_is_silent())
        atomic_store(&agent.arena->silent_exec, 0);
}

static pid_t timed_fork(void)
{
    struct agent_thread *thread = osrt_enter();
    if (!thread)
        return LIBC_REAL(fork)();
    struct osrt_call call = osrt_begin(thread, OSRT_fork);
    pid_t child = LIBC_REAL(fork)();
    if (child != 0 && osrt_end(&call))
        osrt_emit(&call, OSRT_fork, child, child < 0 ? errno : 0);
    return child;
}

/* The child attaches by itself if it can. The parent records that it exists. */
pid_t osrt_hook_fork(void)
{
    int is_told = agent_attached() && (agent.flags & WIRE_FLAG_TRACE_FORK);
    uint64_t since = is_told ? agent_ticks() : 0;
    pid_t child = timed_fork();
    if (child > 0 && is_told && agent_attached())
        agent_note_child(child, WIRE_CHILD_FORKED, since, WIRE_CAUSE_UNKNOWN, NULL);
    return child;
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

/* Tracers use these flags to wait for threads as for processes. */
#define FOR_THREADS (__WALL | __WCLONE)

static void note_status(pid_t pid, int status, int options)
{
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        osrt_clear_silent_exec();
        osrt_exec_child_ended(pid);
        uint64_t words[] = { (uint64_t)pid, (uint64_t)(uint32_t)status };
        emit_note(WIRE_CHILD_STATUS, !!(options & FOR_THREADS), words, 2, NULL);
    }
}

static inline pid_t finish_wait(pid_t child, const int *status, int options)
{
    if (child > 0)
        note_status(child, *status, options);
    return child;
}

/* Times the call if OS calls are recorded. The status of the child is recorded in any case. */
#define WAIT(symbol, parameters, arguments, options)                                                                 \
    static pid_t timed_##symbol parameters                                                                           \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                 \
        if (!thread)                                                                                                 \
            return LIBC_REAL(symbol) arguments;                                                                      \
        OS_TIMED(thread, pid_t, symbol, arguments, MINUS_ONE)                                                        \
    }                                                                                                                \
    pid_t osrt_hook_##symbol parameters                                                                              \
    {                                                                                                                \
        int own_status;                                                                                              \
        if (!status)                                                                                                 \
            status = &own_status;                                                                                    \
        return finish_wait(timed_##symbol arguments, status, options);                                               \
    }

WAIT(wait, (int *status), (status), 0)
WAIT(waitpid, (pid_t pid, int *status, int options), (pid, status, options), options)
WAIT(wait3, (int *status, int options, struct rusage *usage), (status, options, usage), options)
WAIT(wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage), options)

static int timed_waitid(idtype_t which, id_t id, siginfo_t *information, int options)
{
    struct agent_thread *thread = osrt_enter();
    if (!thread)
        return LIBC_REAL(waitid)(which, id, information, options);
    OS_TIMED(thread, int, waitid, (which, id, information, options), MINUS_ONE)
}

int osrt_hook_waitid(idtype_t which, id_t id, siginfo_t *information, int options)
{
    siginfo_t own_information;
    if (!information)
        information = &own_information;
    int result = timed_waitid(which, id, information, options);
    if (result != 0 || information->si_pid == 0)
        return result;
    if (information->si_code == CLD_EXITED)
        note_status(information->si_pid, (information->si_status & 0xff) << 8, options);
    else if (information->si_code == CLD_KILLED || information->si_code == CLD_DUMPED)
        note_status(information->si_pid,
                    (information->si_status & 0x7f) | (information->si_code == CLD_DUMPED ? 0x80 : 0), options);
    return result;
}

/* ---- Parents --------------------------------------------------------------------------------------------------- */

/* The collector adopts orphans of the process tree. For them the parent is the process that would have adopted them. */
pid_t osrt_hook_getppid(void)
{
    pid_t parent = LIBC_REAL(getppid)();
    return agent_attached() && (uint32_t)parent == agent.arena->adopter ? (pid_t)agent.arena->orphan_parent : parent;
}

/* ---- Exits ----------------------------------------------------------------------------------------------------- */

static void note_exit(int status)
{
    pid_t pid = agent_attached_pid();
    if (pid && (uint32_t)pid != agent.pid) {
        agent_note_child(pid, WIRE_CHILD_BORROWED, agent_ticks(), WIRE_CAUSE_UNKNOWN, NULL);
    } else if (pid) {
        /* With the CPU time, because the parent may reap the process before the collector can read it. */
        uint64_t words[] = { (uint64_t)(uint32_t)(status & 0xff), sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) };
        emit_note(WIRE_EXIT, 0, words, 2, NULL);
    } else {
        osrt_clear_silent_exec();
    }
}

/* exit() and a return from main call this handler, the only one that gets the status. musl has no on_exit(). */
extern int on_exit(void (*)(int, void *), void *) __attribute__((weak));

static void osrt_process_at_exit(int status, void *unused)
{
    int saved_errno = errno;
    note_exit(status);
    errno = saved_errno;
}

void osrt_process_prepare(void)
{
    if (on_exit)
        on_exit(osrt_process_at_exit, NULL);
}

#define EXIT(symbol)                                                                                                 \
    int osrt_hook_##symbol(int status)                                                                               \
    {                                                                                                                \
        sources_exit();                                                                                              \
        note_exit(status);                                                                                           \
        return LIBC_REAL(symbol)(status);                                                                            \
    }
EXIT(_exit)
EXIT(_Exit)
EXIT(quick_exit)

/* ---- Names ----------------------------------------------------------------------------------------------------- */

static int timed_pthread_setname_np(pthread_t thread, const char *name)
{
    struct agent_thread *self = osrt_enter();
    if (!self)
        return LIBC_REAL(pthread_setname_np)(thread, name);
    OS_TIMED(self, int, pthread_setname_np, (thread, name), ERROR_NUMBER)
}

/* The name of another thread is not recorded here, because pthread_t does not lead to that thread's slot. The thread
 * reads its name from the kernel when it ends. */
int osrt_hook_pthread_setname_np(pthread_t thread, const char *name)
{
    int result = timed_pthread_setname_np(thread, name);
    if (result == 0 && agent_attached() && pthread_equal(thread, pthread_self()))
        agent_set_thread_name(name);
    return result;
}
