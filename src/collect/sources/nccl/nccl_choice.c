/* Looks for the user's choice where NCCL looks: see nccl_choice.h. */
#include "nccl_choice.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/core/variables.h"

#define DEFAULT_FILE "libnccl-profiler.so"

/* NCCL reads lines NAME=value, and does not replace variables that are set. */
static int is_in_file(struct text *out, const char *path)
{
    enum { LINE_BYTES = 1024 };
    size_t name = strlen(NCCL_PLUGIN_VARIABLE);
    char line[LINE_BYTES];
    int found = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (!found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        found = strncmp(line, NCCL_PLUGIN_VARIABLE, name) == 0 && line[name] == '=' && line[name + 1];
    }
    fclose(file);
    if (found)
        text_addf(out, "%.256s in %s", line, path);
    return found;
}

static int is_in_settings(struct text *out, const struct collect_options *options)
{
    const char *own = variables_value(options, "NCCL_CONF_FILE"), *home = variables_value(options, "HOME");
    struct text path = { 0 };
    int found = 0;
    if (own && *own)
        text_add(&path, own);
    else if (home && *home)
        text_addf(&path, "%s/.nccl.conf", home);
    if (path.length && !text_failed(&path))
        found = is_in_file(out, text_string(&path));
    text_free(&path);
    return found || is_in_file(out, "/etc/nccl.conf");
}

static int is_in_search_path(struct text *out, const struct collect_options *options)
{
    const char *folders = variables_value(options, "LD_LIBRARY_PATH");
    int found = 0;
    for (const char *at = folders ? folders : ""; *at && !found; at += strspn(at, ":")) {
        size_t length = strcspn(at, ":");
        struct text path = { 0 };
        text_addf(&path, "%.*s/" DEFAULT_FILE, (int)length, at);
        found = length && !text_failed(&path) && access(text_string(&path), R_OK) == 0;
        if (found)
            text_add(out, text_string(&path));
        text_free(&path);
        at += length;
    }
    return found;
}

int nccl_choice(struct text *out, const struct collect_options *options)
{
    const char *value = variables_value(options, NCCL_PLUGIN_VARIABLE);
    if (value && *value) {
        text_addf(out, NCCL_PLUGIN_VARIABLE "=%.256s", value);
        return 1;
    }
    return is_in_settings(out, options) || is_in_search_path(out, options);
}
