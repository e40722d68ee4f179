/* The directory of modules that Python programs import first: see python_site.h. */
#include "python_site.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/core/variables.h"
#include "wire/wire_torch.h"

/* Modules are recorded in some steps if steps are timed. */
static int has_modules(const struct collect_options *options)
{
    return (options->torch_flags & WIRE_TORCH_MODULES) ||
           ((options->sources & WIRE_BIT(STEPS)) && !options->step_probes);
}

/* Finds that directory beside the agent. Returns 1 if an option needs it. The path stays empty if there is no such
 * directory. */
static int find_site(struct text *path, const struct collect_options *options, const char *agent_path)
{
    char *agent = realpath(agent_path, NULL); /* not the link to it that LD_PRELOAD may need */
    text_addf(path, "%.*spython/site", agent ? (int)path_folder_length(agent) : 0, agent ? agent : "");
    free(agent);
    if (text_failed(path) || access(text_string(path), R_OK) != 0)
        text_clear(path);
    return options->torch_replace || options->torch_functions || has_modules(options) || options->python_events ||
           options->python_functions;
}

/* Our directory comes first: its sitecustomize.py runs the one that it replaces. The file's name comes last, since it
 * may contain commas. */
void python_site_environment(struct variables *variables, const struct collect_options *options, const char *agent_path)
{
    struct text path = { 0 }, words = { 0 };
    const char *own = variables_value(options, "PYTHONPATH");
    if (find_site(&path, options, agent_path) && path.length) {
        text_addf(&path, "%s%s", own && *own ? ":" : "", own ? own : "");
        text_addf(&words, "%s%s%s%s", options->torch_replace ? "replace," : "",
                  options->torch_functions ? "functions," : "", has_modules(options) ? "modules," : "",
                  options->python_events ? "events," : "");
        if (options->python_functions)
            text_addf(&words, "functions-file=%s", options->python_functions);
        variables_set(variables, "PYTHONPATH", text_string(&path));
        variables_set(variables, "TACHO_PYTHON", text_string(&words));
        variables->failed |= text_failed(&path) || text_failed(&words);
    }
    text_free(&path);
    text_free(&words);
}

void python_site_check(struct collector *collector, const char *agent_path)
{
    struct text path = { 0 };
    if (find_site(&path, collector->options, agent_path) && !path.length)
        collector_warn(
            collector, 0,
            "Python programs are not instrumented: the directory python is not beside the agent; reinstall Tacho.");
    text_free(&path);
}
