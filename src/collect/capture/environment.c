/* Builds the program's environment: see environment.h. */
#include "environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/jobs/job_size.h"
#include "abi/models/models.h"
#include "abi/sanitizer_runtimes.h"
#include "base/text.h"
#include "collect/core/agent_file.h"
#include "collect/core/collect_sources.h"

/* Adds the libraries of a list that are sanitizer runtimes, or those that are not; each with a colon before it. */
static void add_libraries(struct text *to, const char *list, int sanitizers)
{
    for (const char *at = list + strspn(list, " :"); *at; at += strspn(at, " :")) {
        size_t length = strcspn(at, " :");
        if (wire_is_sanitizer(at, length) == sanitizers) {
            text_add_char(to, ':');
            text_add_bytes(to, at, length);
        }
        at += length;
    }
}

/* The models that the program uses, as far as its file and its environment say. */
static uint32_t models_of(const struct variables *variables, const struct program_file *program)
{
    uint32_t models = program->models;
    for (size_t i = 0; i < variables->count; i++)
        models |= job_is_of_ranks(variables->entries[i]) ? MODEL_BIT(MODEL_MPI) : 0;
    return models;
}

static void set_preload(struct variables *variables, const struct collect_options *options,
                        const struct program_file *program, const char *agent_path)
{
    struct text preload = { 0 };
    const char *own = variables_value(options, "LD_PRELOAD");
    add_libraries(&preload, own ? own : "", 1);
    if (program->first_library[0] && !preload.length)
        text_addf(&preload, ":%s:", program->first_library); /* see wire_without_runtime() */
    text_addf(&preload, ":%s", agent_path);
    agent_files_preload(&preload, options, agent_path, models_of(variables, program));
    add_libraries(&preload, own ? own : "", 0);
    if (text_failed(&preload))
        variables->failed = 1;
    else
        variables_set(variables, "LD_PRELOAD", text_string(&preload) + 1);
    text_free(&preload);
}

char **environment_build(const struct collect_options *options, const struct program_file *program,
                         const char *agent_path, const char *session)
{
    struct variables variables = { 0 };
    for (char **entry = options->clean_environment ? NULL : environ; entry && *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        variables_add(&variables, *entry, length, (*entry)[length] ? *entry + length + 1 : "");
    }
    for (size_t i = 0; i < options->environment_count; i++)
        variables_set(&variables, options->environment[i].name, options->environment[i].value);
    if (!options->no_preload && !program->no_preload)
        set_preload(&variables, options, program, agent_path);
    agent_files_name(&variables, options, agent_path);
    SOURCES_CALL(environment, &variables, options, agent_path);
    variables_set(&variables, WIRE_SESSION_VARIABLE, session);
    if (variables.failed) {
        environment_free(variables.entries);
        return NULL;
    }
    return variables.entries;
}

void environment_free(char **environment)
{
    for (char **entry = environment; entry && *entry; entry++)
        free(*entry);
    free(environment);
}
