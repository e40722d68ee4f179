/* Expanding the pattern of an output's name. */
#include "output_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int output_name_add_variable(struct text *out, const char **at, struct error *err)
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

static int output_name_add_rank(struct text *out, const struct job_place *place, struct error *err)
{
    if (!place->launcher)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "cannot expand --output: %%r is the rank in a parallel job, and no launcher has set one; put "
                         "tacho behind the launcher: mpirun -n 4 tacho profile …");
    text_addf(out, "%lld", (long long)place->rank);
    return 0;
}

static int output_name_expand(struct text *out, struct output_naming *naming, struct error *err)
{
    char host[256] = "localhost";

    for (const char *at = naming->pattern; *at;) {
        if (*at != '%') {
            text_add_char(out, *at++);
            continue;
        }
        char letter = at[1];
        at += letter ? 2 : 1;
        switch (letter) {
        case '%': text_add_char(out, '%'); break;
        case 'p': text_addf(out, "%d", naming->pid); break;
        case 'n':
            naming->uses_number = 1;
            text_addf(out, "%u", naming->number);
            break;
        case 'h':
            gethostname(host, sizeof host - 1);
            text_add(out, host);
            break;
        case 'q':
            if (output_name_add_variable(out, &at, err) != 0)
                return err->code;
            break;
        case 'r':
            if (output_name_add_rank(out, naming->place, err) != 0)
                return err->code;
            break;
        default:
            return error_set(err, ERR_BAD_ARGUMENT,
                             "unknown placeholder '%%%c' in --output: use %%r, %%p, %%h, %%n, %%q{VAR} or %%%%",
                             letter ? letter : ' ');
        }
    }
    return 0;
}

static void output_name_set_ending(struct text *name)
{
    static const char *const endings[] = { ".tacho", ".nsys-rep", ".qdrep" };

    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        size_t length = strlen(endings[i]);
        if (name->length > length && strcmp(name->bytes + name->length - length, endings[i]) == 0) {
            name->length -= length;
            name->bytes[name->length] = 0;
            break;
        }
    }
    text_add(name, ".tacho");
}

static int output_name_is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

enum { RANK_DIGITS = 4 };

/* Names of ranks sort in the order of ranks. */
static int rank_digits(const struct job_place *place)
{
    int digits = 1;

    for (int64_t last = place->world_size > 0 ? place->world_size - 1 : place->rank; last >= 10; last /= 10)
        digits++;
    return digits > RANK_DIGITS ? digits : RANK_DIGITS;
}

static void add_name_in_folder(struct text *out, struct output_naming *naming)
{
    naming->needs_folder = out->bytes[out->length - 1] == '/';
    naming->is_rank = naming->place->launcher != NULL;
    text_add(out, naming->needs_folder ? "" : "/");
    if (naming->is_rank) {
        text_addf(out, "rank%0*lld", rank_digits(naming->place), (long long)naming->place->rank);
    } else {
        naming->uses_number = 1;
        text_addf(out, "report%u", naming->number);
    }
}

int output_name(struct text *out, struct output_naming *naming, struct error *err)
{
    text_clear(out);
    naming->uses_number = naming->is_rank = naming->needs_folder = 0;
    if (!*naming->pattern)
        return error_set(err, ERR_BAD_ARGUMENT, "--output is empty: name a file");
    if (output_name_expand(out, naming, err) != 0)
        return err->code;
    if (out->length && (out->bytes[out->length - 1] == '/' || output_name_is_folder(text_string(out))))
        add_name_in_folder(out, naming);
    output_name_set_ending(out);
    return text_failed(out) ? error_no_memory(err) : 0;
}

int output_name_free(struct text *out, struct output_naming *naming, struct error *err)
{
    for (;; naming->number++) {
        if (output_name(out, naming, err) != 0)
            return err->code;
        if (!naming->uses_number || access(text_string(out), F_OK) != 0)
            return 0;
        if (naming->number == 1000000)
            return error_set(err, ERR_EXISTS,
                             "cannot find a free number for the report: a million files are named "
                             "like '%s'",
                             text_string(out));
    }
}

/* Other ranks make the same folders at the same time. */
static int make_one(const char *path, struct error *err)
{
    int cause = mkdir(path, 0777) == 0 ? 0 : errno;

    if (cause == 0 || output_name_is_folder(path))
        return 0;
    if (cause == EEXIST || cause == ENOTDIR)
        return error_set(err, ERR_EXISTS, "cannot make the folder '%.400s' for the reports: a file has that name",
                         path);
    return error_set(err, cause == EACCES ? ERR_DENIED : ERR_IO, "cannot make the folder '%.400s' for the reports: %s",
                     path, strerror(cause));
}

static int make_folders(char *path, struct error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (make_one(path, err) != 0)
            return err->code;
        *slash = '/';
    }
    return 0;
}

int output_make_folder(const char *path, struct error *err)
{
    char *copy = strdup(path);

    if (!copy)
        return error_no_memory(err);
    int code = make_folders(copy, err);
    free(copy);
    return code;
}
