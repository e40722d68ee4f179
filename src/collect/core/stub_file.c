/* Finds the objects of stubs: see stub_file.h. */
#include "stub_file.h"

#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "collector.h"

static int find(struct text *path, const char *agent_path, const char *file)
{
    text_addf(path, "%.*s%s", (int)path_folder_length(agent_path), agent_path, file);
    return !text_failed(path) && access(text_string(path), R_OK) == 0;
}

void stub_file_preload(struct text *to, const char *agent_path, const char *file)
{
    struct text path = { 0 };
    if (find(&path, agent_path, file))
        text_addf(to, ":%s", text_string(&path));
    text_free(&path);
}

void stub_file_check(struct collector *collector, const char *agent_path, const char *file, const char *what,
                     uint32_t sources)
{
    struct text path = { 0 };
    int is_there = !collector->options->no_preload && find(&path, agent_path, file);
    if (collector->options->no_preload)
        collector_warn(collector, 0, "%s are not recorded: --preload=no keeps tacho from interposing them.", what);
    else if (!is_there)
        collector_warn(collector, 0, "%s are not recorded: %s is not beside the agent; reinstall Tacho.", what, file);
    if (!is_there)
        collector->sources &= ~sources;
    text_free(&path);
}
