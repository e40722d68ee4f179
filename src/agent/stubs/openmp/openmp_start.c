/* libtacho-openmp.so: the names that OpenMP's runtimes and programs look up. It is preloaded only when OpenMP is
 * recorded.
 *
 * A runtime with OMPT calls ompt_start_tool(), once, when it starts. There can be one tool only, so one that the user
 * has chosen keeps its place: in OMP_TOOL_LIBRARIES, in a library after this one, or, for a program that runs under
 * ThreadSanitizer, the one that LLVM's runtime loads then. A tool in the program itself comes first anyway. */
#include <errno.h>
#include <stdlib.h>

#include "agent/openmp/openmp_agent.h"
#include "agent/stubs/stubs.h"

#define EXPORT __attribute__((visibility("default")))
#define OTHER_TOOL "OpenMP's events (OMPT) are not recorded: "

const struct agent_openmp_calls *tacho_agent_openmp_calls(void) __attribute__((weak));

static const struct agent_openmp_calls *openmp_agent(void)
{
    const struct agent_openmp_calls *calls = tacho_agent_openmp_calls ? tacho_agent_openmp_calls() : NULL;
    return calls && calls->size == sizeof *calls ? calls : NULL;
}

/* Leaves no error for dlerror(), and keeps errno. */
static void *look_for(void *scope, const char *name)
{
    int saved_errno = errno;
    void *found = stub_dlsym(scope, name);
    if (!found)
        stub_forget_error();
    errno = saved_errno;
    return found;
}

static struct ompt_tool *openmp_start_refuse(const struct agent_openmp_calls *calls, const char *sentence)
{
    if (calls)
        calls->tell(sentence);
    return NULL;
}

/* LLVM's runtime has a function of this name itself, which looks for the next one. */
static struct ompt_tool *start_tool(unsigned omp_version, const char *runtime_version)
{
    const struct agent_openmp_calls *calls = openmp_agent();
    ompt_start_tool_function *next = (ompt_start_tool_function *)look_for(RTLD_NEXT, "ompt_start_tool");
    struct ompt_tool *other = next ? next(omp_version, runtime_version) : NULL;
    if (other) {
        openmp_start_refuse(calls, OTHER_TOOL "the program has a tool of its own, and a runtime takes only one.");
        return other;
    }
    const char *libraries = getenv("OMP_TOOL_LIBRARIES");
    if (libraries && *libraries)
        return openmp_start_refuse(calls,
                                   OTHER_TOOL "OMP_TOOL_LIBRARIES names another tool, and a runtime takes only one.");
    if (look_for(RTLD_DEFAULT, "__tsan_init"))
        return openmp_start_refuse(calls,
                                   OTHER_TOOL "ThreadSanitizer needs a tool of its own, and a runtime takes only one.");
    return calls ? calls->tool() : NULL;
}

/* The exported name may mean another function, even here; the static one cannot. */
EXPORT ompt_start_tool_function ompt_start_tool __attribute__((alias("start_tool")));

/* A program that is its own tool never calls the function above. */
__attribute__((constructor)) static void look_for_tool_of_program(void)
{
    void *first = look_for(RTLD_DEFAULT, "ompt_start_tool");
    if (first && first != (void *)(uintptr_t)start_tool)
        openmp_start_refuse(openmp_agent(),
                            OTHER_TOOL "the program has a tool of its own, and a runtime takes only one.");
}
