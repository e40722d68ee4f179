/* The program's environment: see environment.h; and the short list of variables that a report keeps. */
#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/sanitizer_runtimes.h"
#include "collect/core/machine.h"
#include "session_folder.h"
#include "wire/wire_torch.h"

/* ---- What the program gets ------------------------------------------------------------------------------------- */

const char *environment_value(const struct collect_options *options, const char *name)
{
    for (size_t i = options->environment_count; i-- > 0;)
        if (strcmp(options->environment[i].name, name) == 0)
            return options->environment[i].value;
    return options->clean_environment ? NULL : getenv(name);
}

struct list {
    char **entries;
    size_t count, capacity;
    int failed;
};

static void add_entry(struct list *list, const char *name, size_t name_length, const char *value)
{
    size_t value_length = strlen(value);
    char *entry = malloc(name_length + value_length + 2);
    if (list->count + 1 >= list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        char **more = realloc(list->entries, capacity * sizeof *more);
        if (more) {
            list->entries = more;
            list->capacity = capacity;
        }
    }
    if (!entry || list->count + 1 >= list->capacity) {
        free(entry);
        list->failed = 1;
        return;
    }
    memcpy(entry, name, name_length);
    entry[name_length] = '=';
    memcpy(entry + name_length + 1, value, value_length + 1);
    list->entries[list->count++] = entry;
    list->entries[list->count] = NULL;
}

/* The last value of a name wins, in the place of the first. */
static void set_variable(struct list *list, const char *name, const char *value)
{
    size_t length = strlen(name);
    size_t found = list->count;
    for (size_t i = 0; i < list->count && found == list->count; i++)
        if (strncmp(list->entries[i], name, length) == 0 && list->entries[i][length] == '=')
            found = i;
    add_entry(list, name, length, value);
    if (found + 1 < list->count) {
        free(list->entries[found]);
        list->entries[found] = list->entries[--list->count];
        list->entries[list->count] = NULL;
    }
}

/* Those of a list of libraries that are sanitizers' runtimes, or those that are not; each with a colon before it. */
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

int environment_stubs(struct text *path, const struct collect_options *options, const char *agent_path)
{
    const char *slash = strrchr(agent_path, '/');
    if (!(options->sources & WIRE_BIT(LIBRARY)) || !options->libraries || options->no_preload)
        return 0;
    text_addf(path, "%.*s" FOLDER_STUBS, (int)(slash ? slash + 1 - agent_path : 0), agent_path);
    return !text_failed(path) && access(text_string(path), R_OK) == 0;
}

static void add_stubs(struct text *to, const struct collect_options *options, const char *agent_path)
{
    struct text path = { 0 };
    if (environment_stubs(&path, options, agent_path))
        text_addf(to, ":%s", text_string(&path));
    text_free(&path);
}

static void set_preload(struct list *list, const struct collect_options *options, const struct program *program,
                        const char *agent_path)
{
    struct text preload = { 0 };
    const char *own = environment_value(options, "LD_PRELOAD");
    add_libraries(&preload, own ? own : "", 1);
    if (program->first_library[0] && !preload.length)
        text_addf(&preload, ":%s:", program->first_library); /* wire_without_runtime() */
    text_addf(&preload, ":%s", agent_path);
    add_stubs(&preload, options, agent_path);
    add_libraries(&preload, own ? own : "", 0);
    if (text_failed(&preload))
        list->failed = 1;
    else
        set_variable(list, "LD_PRELOAD", text_string(&preload) + 1);
    text_free(&preload);
}

int environment_python(struct text *path, const struct collect_options *options, const char *agent_path)
{
    char *agent = realpath(agent_path, NULL); /* not the link to it that LD_PRELOAD may need */
    int slash = agent ? (int)(strrchr(agent, '/') + 1 - agent) : 0;
    text_addf(path, "%.*spython/site", slash, agent ? agent : "");
    free(agent);
    if (text_failed(path) || access(text_string(path), R_OK) != 0)
        text_clear(path);
    return options->torch_replace || options->torch_functions || (options->torch_flags & WIRE_TORCH_MODULES) ||
           options->python_functions;
}

/* Our folder goes first: its sitecustomize.py runs the one that would have run. The file stands
 * last, as it may have commas. */
static void set_python(struct list *list, const struct collect_options *options, const char *agent_path)
{
    struct text path = { 0 }, words = { 0 };
    const char *own = environment_value(options, "PYTHONPATH");
    if (environment_python(&path, options, agent_path) && path.length) {
        text_addf(&path, "%s%s", own && *own ? ":" : "", own ? own : "");
        text_addf(&words, "%s%s%s", options->torch_replace ? "replace," : "",
                  options->torch_functions ? "functions," : "",
                  options->torch_flags & WIRE_TORCH_MODULES ? "modules," : "");
        if (options->python_functions)
            text_addf(&words, "functions-file=%s", options->python_functions);
        set_variable(list, "PYTHONPATH", text_string(&path));
        set_variable(list, "TACHO_PYTHON", text_string(&words));
        list->failed |= text_failed(&path) || text_failed(&words);
    }
    text_free(&path);
    text_free(&words);
}

char **environment_build(const struct collect_options *options, const struct program *program, const char *agent_path,
                         const char *session)
{
    struct list list = { 0 };
    for (char **entry = options->clean_environment ? NULL : environ; entry && *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        add_entry(&list, *entry, length, (*entry)[length] ? *entry + length + 1 : "");
    }
    for (size_t i = 0; i < options->environment_count; i++)
        set_variable(&list, options->environment[i].name, options->environment[i].value);
    if (!options->no_preload && !program->no_preload)
        set_preload(&list, options, program, agent_path);
    set_variable(&list, "NVTX_INJECTION64_PATH", agent_path);
    if (options->sources & WIRE_BIT(CUDA))
        set_variable(&list, "CUDA_INJECTION64_PATH", agent_path);
    set_python(&list, options, agent_path);
    set_variable(&list, WIRE_SESSION_VARIABLE, session);
    if (list.failed) {
        environment_free(list.entries);
        return NULL;
    }
    return list.entries;
}

void environment_free(char **environment)
{
    for (char **entry = environment; entry && *entry; entry++)
        free(*entry);
    free(environment);
}

/* ---- What the report keeps ------------------------------------------------------------------------------------- */

/* Names, or beginnings of names that end in '*'. Nothing that could hold a secret: no tokens,
 * keys, paths of credentials. */
/* clang-format off */
static const char *const kept[] = {
    "CUDA_*", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE", "NCCL_*", "CUBLAS_*",
    "CUDNN_*", "OMP_*", "GOMP_*", "KMP_*", "MKL_*", "OPENBLAS_NUM_THREADS", "NUMEXPR_*", "TORCH_*", "PYTORCH_*",
    "TORCHELASTIC_RUN_ID", "TF_XLA_*", "TF_GPU_*", "TF_FORCE_*", "TF_CPP_*", "TF_ENABLE_*", "TF_NUM_*", "XLA_FLAGS",
    "MALLOC_*", "PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONMALLOC", "RANK", "LOCAL_RANK", "WORLD_SIZE",
    "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_JOB_NAME",
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NNODES", "SLURM_NODEID", "SLURM_STEP_ID",
    "SLURM_CPUS_PER_TASK", "OMPI_COMM_WORLD_*", "OMPI_UNIVERSE_SIZE", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK",
    "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_*", "PMIX_RANK", "UCX_*",
};
/* clang-format on */

int environment_is_kept(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        size_t known = strlen(kept[i]);
        int open = kept[i][known - 1] == '*';
        if (open ? length >= known - 1 && memcmp(name, kept[i], known - 1) == 0
                 : length == known && memcmp(name, kept[i], known) == 0)
            return 1;
    }
    return 0;
}

const char *environment_find(const char *block, size_t length, const char *name)
{
    size_t name_length = strlen(name);
    for (size_t at = 0; at < length; at += strlen(block + at) + 1)
        if (strncmp(block + at, name, name_length) == 0 && block[at + name_length] == '=')
            return block + at + name_length + 1;
    return NULL;
}
