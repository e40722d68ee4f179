/* The exec family and posix_spawn: whatever environment a program passes on, its new image is to be followed.
 *
 * What is missing (a program that clears its environment, env -i) is added to a copy of the pointers on the stack: a
 * vfork child shares its parent's memory, and malloc is not for signal handlers. The program's own strings are passed as
 * they are. Stacks can be small: a copy that is large is mapped (a vfork child that succeeds leaves it to its parent). */
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "os.h"
#include "os_process.h"
#include "sys.h"

#define STACK_MAX 4096 /* bytes that a changed environment may take there */
#define PRELOAD_VARIABLE "LD_PRELOAD"
#define INJECTION_BYTES 32 /* room for the name of such a variable */
#define ADDED 4

typedef char *const *strings;

/* One call of the family. `run` calls the real function with the environment that it is given. */
struct request {
    int (*run)(const struct request *request, strings environment);
    enum osrt_function function;
    const char *path;
    strings arguments;
    strings environment;
    int file, flags;
    pid_t *pid; /* of posix_spawn */
    const void *actions, *attributes;
};

/* ---- The environment ------------------------------------------------------------------------------------------- */

static const char *value_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

/* Is the agent in this list of LD_PRELOAD? */
static int names_agent(const char *list)
{
    size_t length = strlen(agent.library);
    for (const char *found = list; (found = strstr(found, agent.library)) != NULL; found += length) {
        int starts = found == list || found[-1] == ':' || found[-1] == ' ';
        if (starts && (found[length] == 0 || found[length] == ':' || found[length] == ' '))
            return 1;
    }
    return 0;
}

/* Variables that name the agent, and the source that wants it there; 0: every capture. */
static const struct { const char name[INJECTION_BYTES]; uint32_t source; } injections[] = {
    { "NVTX_INJECTION64_PATH", 0 },
    { "CUDA_INJECTION64_PATH", WIRE_BIT(CUDA) },
};
#define INJECTIONS (sizeof injections / sizeof *injections)

struct found {
    size_t count;
    const char *preload, *session; /* values, or NULL */
    const char *injections[INJECTIONS];
};

static int lacks(const struct found *found, size_t injection)
{
    uint32_t source = injections[injection].source;
    return !found->injections[injection] && (!source || (agent.sources & source));
}

static struct found look_at(strings environment)
{
    struct found found = { 0 };
    for (; environment && environment[found.count]; found.count++) {
        const char *entry = environment[found.count], *value;
        if ((value = value_of(entry, PRELOAD_VARIABLE)) != NULL)
            found.preload = value;
        else if ((value = value_of(entry, WIRE_SESSION_VARIABLE)) != NULL)
            found.session = value;
        for (size_t i = 0; i < INJECTIONS; i++)
            if ((value = value_of(entry, injections[i].name)) != NULL)
                found.injections[i] = value;
    }
    return found;
}

static char *join(char *to, const char *a, const char *b, const char *c, const char *d)
{
    char *end = to;
    const char *parts[] = { a, b, c, d };
    for (int i = 0; i < 4; i++) {
        size_t length = strlen(parts[i]);
        memcpy(end, parts[i], length);
        end += length;
    }
    *end = 0;
    return to;
}

/* The agent goes first, except that ASan's runtime insists on being first itself. */
static void make_preload(char *to, const char *own)
{
    if (!own || !*own)
        join(to, PRELOAD_VARIABLE "=", agent.preload, "", "");
    else if (names_agent(own))
        join(to, PRELOAD_VARIABLE "=", own, "", "");
    else if (strstr(own, "asan"))
        join(to, PRELOAD_VARIABLE "=", own, ":", agent.preload);
    else
        join(to, PRELOAD_VARIABLE "=", agent.preload, ":", own);
}

/* Fills a changed environment: room for its pointers, and for the texts that are new. */
typedef void environment_change(char **environment, char *texts, const struct request *request, const struct found *found);

static void add_agent(char **environment, char *texts, const struct request *request, const struct found *found)
{
    char *session = texts, *injection = session + sizeof WIRE_SESSION_VARIABLE + sizeof agent.session;
    size_t count = 0;
    environment[count++] = join(session, WIRE_SESSION_VARIABLE "=", agent.session, "", "");
    for (size_t i = 0; i < INJECTIONS; i++) {
        if (lacks(found, i))
            environment[count++] = join(injection, injections[i].name, "=", agent.library, "");
        injection += INJECTION_BYTES + strlen(agent.library) + 1;
    }
    char *preload = injection;
    make_preload(preload, found->preload);
    environment[count++] = preload;
    for (size_t i = 0; i < found->count; i++) {
        char *entry = request->environment[i];
        if (!value_of(entry, PRELOAD_VARIABLE) && !value_of(entry, WIRE_SESSION_VARIABLE))
            environment[count++] = entry;
    }
    environment[count] = NULL;
}

/* Is this one of the names in agent.preload? */
static int is_ours(const char *name, size_t length)
{
    for (const char *own = agent.preload; *own; own += strspn(own, ":")) {
        size_t own_length = strcspn(own, ":");
        if (own_length == length && memcmp(own, name, length) == 0)
            return 1;
        own += own_length;
    }
    return 0;
}

/* A list of LD_PRELOAD without the agent. */
static char *without_agent(char *to, const char *list)
{
    char *end = join(to, PRELOAD_VARIABLE "=", "", "", "") + sizeof PRELOAD_VARIABLE;
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ": ");
        if (length && !is_ours(at, length)) {
            if (end[-1] != '=')
                *end++ = ':';
            memcpy(end, at, length);
            end += length;
        }
        at += length + (at[length] != 0);
    }
    *end = 0;
    return to;
}

/* In another root the agent may not be there: the loader would complain of it on the program's stderr. */
static void remove_agent(char **environment, char *texts, const struct request *request, const struct found *found)
{
    size_t count = 0;
    for (size_t i = 0; i < found->count; i++) {
        char *entry = request->environment[i];
        int names_us = value_of(entry, WIRE_SESSION_VARIABLE) != NULL;
        for (size_t j = 0; j < INJECTIONS; j++) {
            const char *injection = value_of(entry, injections[j].name);
            names_us |= injection && strcmp(injection, agent.library) == 0;
        }
        if (value_of(entry, PRELOAD_VARIABLE))
            entry = without_agent(texts, found->preload);
        if (!names_us && strcmp(entry, PRELOAD_VARIABLE "=") != 0)
            environment[count++] = entry;
    }
    environment[count] = NULL;
}

static int run_changed(const struct request *request, const struct found *found, environment_change *change)
{
    size_t pointers = found->count + ADDED + 1;
    size_t texts = sizeof WIRE_SESSION_VARIABLE + sizeof agent.session + INJECTIONS * (INJECTION_BYTES + strlen(agent.library) + 1) +
                   sizeof PRELOAD_VARIABLE + strlen(agent.preload) + (found->preload ? strlen(found->preload) : 0) + 4;
    size_t words = pointers + (texts + 7) / 8;
    if (words * 8 <= STACK_MAX) {
        char *environment[words];
        change(environment, (char *)(environment + pointers), request, found);
        return request->run(request, environment);
    }
    char **environment = agent.left ? (char **)-ENOMEM : sys_mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(environment))
        return request->run(request, request->environment);
    change(environment, (char *)(environment + pointers), request, found);
    int result = request->run(request, environment);
    sys_munmap(environment, words * 8);
    return result;
}

static int run_followed(const struct request *request)
{
    if (!agent.session[0] || !agent.library[0]) /* not under tacho */
        return request->run(request, request->environment);
    struct found found = look_at(request->environment);
    if (found.session && strcmp(found.session, agent.session) != 0) /* another capture's, begun inside this one */
        return request->run(request, request->environment);
    if (agent.jailed || (!agent.left && sys_faccessat(AT_FDCWD, agent.library, F_OK) == -ENOENT))
        return run_changed(request, &found, remove_agent);
    int complete = found.preload && names_agent(found.preload) && found.session;
    for (size_t i = 0; i < INJECTIONS; i++)
        complete &= !lacks(&found, i);
    if (complete)
        return request->run(request, request->environment);
    return run_changed(request, &found, add_agent);
}

/* ---- exec ------------------------------------------------------------------------------------------------------ */

/* A call that succeeds never returns, and in a vfork child its state would stay behind in the parent: so nothing is
 * published for the time of the call, and only a failure leaves a row. */
static int execute(const struct request *request)
{
    int own = os_is_own_process();
    struct agent_thread *thread = own ? agent_enter(WIRE_BIT(OSRT)) : NULL;
    uint64_t start = own ? agent_ticks() : 0;
    cuda_exit();
    if (own)
        emit_note(WIRE_EXEC, 0, &(uint64_t){ sys_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) }, 1, request->path ? request->path : "");
    int result = run_followed(request);
    int error = errno;
    if (own)
        emit_note(WIRE_EXEC_FAILED, (uint16_t)error, NULL, 0, NULL);
    if (thread) {
        struct os_call call = { .thread = thread, .start = start, .level = thread->call_depth, .duration = agent_ticks() - start };
        if (call.duration < agent.osrt_threshold_ticks)
            agent_count(thread, WIRE_SOURCE_OSRT, WIRE_BELOW_THRESHOLD);
        else
            os_emit(&call, request->function, result, error);
    }
    errno = error;
    return result;
}

static int run_execve(const struct request *request, strings environment)
{
    return OS_REAL(execve)(request->path, request->arguments, environment);
}
static int run_execvpe(const struct request *request, strings environment)
{
    return OS_REAL(execvpe)(request->path, request->arguments, environment);
}
static int run_fexecve(const struct request *request, strings environment)
{
    return OS_REAL(fexecve)(request->file, request->arguments, environment);
}
static int run_execveat(const struct request *request, strings environment)
{
    return OS_REAL(execveat)(request->file, request->path, request->arguments, environment, request->flags);
}

int os_hook_execve(const char *path, strings arguments, strings environment)
{
    return execute(&(struct request){ .run = run_execve, .function = OSRT_execve, .path = path, .arguments = arguments, .environment = environment });
}
int os_hook_execvpe(const char *path, strings arguments, strings environment)
{
    return execute(&(struct request){ .run = run_execvpe, .function = OSRT_execvpe, .path = path, .arguments = arguments, .environment = environment });
}
int os_hook_fexecve(int file, strings arguments, strings environment)
{
    return execute(&(struct request){ .run = run_fexecve, .function = OSRT_fexecve, .path = NULL, .arguments = arguments, .environment = environment, .file = file });
}
int os_hook_execveat(int folder, const char *path, strings arguments, strings environment, int flags)
{
    return execute(&(struct request){ .run = run_execveat, .function = OSRT_execveat, .path = path, .arguments = arguments, .environment = environment, .file = folder, .flags = flags });
}
int os_hook_execv(const char *path, strings arguments)
{
    return execute(&(struct request){ .run = run_execve, .function = OSRT_execv, .path = path, .arguments = arguments, .environment = environ });
}
int os_hook_execvp(const char *path, strings arguments)
{
    return execute(&(struct request){ .run = run_execvpe, .function = OSRT_execvp, .path = path, .arguments = arguments, .environment = environ });
}

/* The argument list of execl and its kin, up to its NULL, as an array on the stack of the caller. */
#define COUNT_ARGUMENTS(first, count)                                                                                \
    size_t count = 0;                                                                                                \
    va_list list;                                                                                                    \
    va_start(list, first);                                                                                           \
    for (const char *argument = first; argument; argument = va_arg(list, const char *))                              \
        count++;                                                                                                     \
    va_end(list);
#define TAKE_ARGUMENTS(first, count, array)                                                                          \
    char *array[count + 1];                                                                                          \
    va_start(list, first);                                                                                           \
    array[0] = (char *)(uintptr_t)first;                                                                             \
    for (size_t i = 1; i <= count; i++)                                                                              \
        array[i] = va_arg(list, char *);                                                                             \
    array[count] = NULL;

int os_hook_execl(const char *path, const char *first, ...)
{
    COUNT_ARGUMENTS(first, count)
    TAKE_ARGUMENTS(first, count, arguments)
    va_end(list);
    return execute(&(struct request){ .run = run_execve, .function = OSRT_execl, .path = path, .arguments = arguments, .environment = environ });
}
int os_hook_execlp(const char *path, const char *first, ...)
{
    COUNT_ARGUMENTS(first, count)
    TAKE_ARGUMENTS(first, count, arguments)
    va_end(list);
    return execute(&(struct request){ .run = run_execvpe, .function = OSRT_execlp, .path = path, .arguments = arguments, .environment = environ });
}
int os_hook_execle(const char *path, const char *first, ...)
{
    COUNT_ARGUMENTS(first, count)
    TAKE_ARGUMENTS(first, count, arguments)
    strings environment = va_arg(list, strings); /* behind the NULL */
    va_end(list);
    return execute(&(struct request){ .run = run_execve, .function = OSRT_execle, .path = path, .arguments = arguments, .environment = environment });
}

/* ---- posix_spawn ----------------------------------------------------------------------------------------------- */

#define SPAWN(symbol)                                                                                                \
    static int run_##symbol(const struct request *request, strings environment)                                      \
    {                                                                                                                \
        return OS_REAL(symbol)(request->pid, request->path, request->actions, request->attributes,                   \
                               request->arguments, environment);                                                     \
    }                                                                                                                \
    int os_hook_##symbol(pid_t *pid, const char *path, const void *actions, const void *attributes,                  \
                         strings arguments, strings environment)                                                     \
    {                                                                                                                \
        return spawn(&(struct request){ .run = run_##symbol, .function = OSRT_##symbol, .path = path, .pid = pid,    \
                                        .arguments = arguments, .environment = environment, .actions = actions,      \
                                        .attributes = attributes });                                                 \
    }

static int spawn(const struct request *request)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(OSRT));
    if (!thread)
        return run_followed(request);
    struct os_call call = os_begin(thread, request->function);
    int result = run_followed(request);
    if (os_end(&call))
        os_emit(&call, request->function, result, result);
    return result;
}

SPAWN(posix_spawn)
SPAWN(posix_spawnp)
#if defined(__x86_64__)
SPAWN(os_old_posix_spawn)
SPAWN(os_old_posix_spawnp)
OS_OLD(posix_spawn)
OS_OLD(posix_spawnp)
#endif
