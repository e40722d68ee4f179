/* Expanding the pattern of an output's name. */
#include "output_name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int add_variable(struct text *out, const char **at, struct error *err)
{
    const char *name = *at + 1, *end = **at == '{' ? strchr(name, '}') : NULL;
    char variable[256];

    if (!end || end == name || (size_t)(end - name) >= sizeof variable)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "%%q in --output must be followed by an environment variable in braces: %%q{SLURM_PROCID}");
    memcpy(variable, name, (size_t)(end - name));
    variable[end - name] = 0;
    const char *value = getenv(variable);
    if (!value)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "cannot expand --output: the environment variable %s is not "
                         "set",
                         variable);
    text_add(out, value);
    *at = end + 1;
    return 0;
}

static int expand(struct text *out, const char *pattern, int pid, unsigned number, int *uses_number, struct error *err)
{
    char host[256] = "localhost";

    for (const char *at = pattern; *at;) {
        if (*at != '%') {
            text_add_char(out, *at++);
            continue;
        }
        char letter = at[1];
        at += letter ? 2 : 1;
        switch (letter) {
        case '%': text_add_char(out, '%'); break;
        case 'p': text_addf(out, "%d", pid); break;
        case 'n':
            *uses_number = 1;
            text_addf(out, "%u", number);
            break;
        case 'h':
            gethostname(host, sizeof host - 1);
            text_add(out, host);
            break;
        case 'q':
            if (add_variable(out, &at, err) != 0)
                return err->code;
            break;
        default:
            return error_set(err, ERR_BAD_ARGUMENT,
                             "unknown placeholder '%%%c' in --output: use %%p, %%h, %%n, %%q{VAR} or %%%%",
                             letter ? letter : ' ');
        }
    }
    return 0;
}

static void set_ending(struct text *name)
{
    static const char *const endings[] = { ".tacho", ".nsys-rep", ".qdrep" };

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t length = strlen(endings[i]);
        if (name->length > length && strcmp(name->bytes + name->length - length, endings[i]) == 0) {
            name->length -= length;
            name->bytes[name->length] = 0;
            break;
        }
    }
    text_add(name, ".tacho");
}

static int is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int output_name(struct text *out, const char *pattern, int pid, unsigned number, int *uses_number, struct error *err)
{
    text_clear(out);
    *uses_number = 0;
    if (!*pattern)
        return error_set(err, ERR_BAD_ARGUMENT, "--output is empty: name a file");
    if (expand(out, pattern, pid, number, uses_number, err) != 0)
        return err->code;
    if (out->length && (out->bytes[out->length - 1] == '/' || is_folder(text_string(out)))) {
        *uses_number = 1;
        text_addf(out, "%sreport%u", out->bytes[out->length - 1] == '/' ? "" : "/", number);
    }
    set_ending(out);
    return text_failed(out) ? error_set(err, ERR_NO_MEMORY, "out of memory") : 0;
}

int output_name_free(struct text *out, const char *pattern, int pid, unsigned *number, int *uses_number,
                     struct error *err)
{
    for (;; ++*number) {
        if (output_name(out, pattern, pid, *number, uses_number, err) != 0)
            return err->code;
        if (!*uses_number || access(text_string(out), F_OK) != 0)
            return 0;
        if (*number == 1000000)
            return error_set(err, ERR_EXISTS,
                             "cannot find a free number for the report: a million files are named "
                             "like '%s'",
                             text_string(out));
    }
}
