/* Finds CUPTI where the agent would (agent/cuda/cupti_library.c), but for what only the program that is profiled knows:
 * the file that TACHO_CUPTI names; CUDA_HOME and CUDA_PATH; the Python environment; the loader's search path; the
 * places where toolkits are installed. Of several versions it prefers the driver's, then older ones.
 *
 * CUPTI opens libnvperf_host.so and libnvperf_target.so by their bare names, so they are loaded from its folder first.
 * With more privileges than its caller (AT_SECURE) this program ignores the environment, and takes only files that
 * belong to root and that nobody else can write. */
#include "counters_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "abi/cupti.h"
#include "abi/cupti_paths.h"
#include "base/clock.h"

enum { PATH_BYTES = 4096, MAJOR_OLDEST = 12, MAJOR_NEWEST = 15, PYTHON_OLDEST = 8, PYTHON_NEWEST = 16 };

/* A call of 13.2. From there on CUPTI needs a driver even to list metrics: 13.2 crashes without one in
 * cuptiGetVersion(), 13.4 answers an error. */
#define CALL_OF_13_2 "cuptiProfilerHostGetSinglePassSets"

struct cupti_profiler counters_cupti;

static void *loaded;

static struct {
    int newest;                 /* major version that the driver supports */
    int has_driver, is_trusted; /* is_trusted: the environment may choose a library */
    char older[PATH_BYTES];     /* a file that was found and is too old */
    char refused[PATH_BYTES];   /* one that anybody may have written */
    char driverless[PATH_BYTES];
} search;

/* ---- One file --------------------------------------------------------------------------------------------------- */

static void keep(char *to, const char *path)
{
    if (!*to)
        snprintf(to, PATH_BYTES, "%s", path);
}

static int is_roots(const char *path)
{
    struct statx facts;
    return statx(AT_FDCWD, path, 0, STATX_UID | STATX_MODE, &facts) == 0 && facts.stx_uid == 0 &&
           !(facts.stx_mode & (S_IWGRP | S_IWOTH));
}

static int is_safe(const char *path)
{
    char folder[PATH_BYTES];

    if (search.is_trusted || !strchr(path, '/')) /* the loader's own folders */
        return 1;
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    if (is_roots(path) && is_roots(folder))
        return 1;
    keep(search.refused, path);
    return 0;
}

static void load_beside(void *library, const char *name)
{
    struct link_map *map = NULL;
    char path[PATH_BYTES];

    if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !map || !map->l_name || !strchr(map->l_name, '/'))
        return;
    int folder = (int)(strrchr(map->l_name, '/') - map->l_name);
    if (snprintf(path, sizeof path, "%.*s/%s", folder, map->l_name, name) < PATH_BYTES && is_safe(path))
        dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int try_file(const char *path)
{
    uint32_t version = 0;
    void *library = is_safe(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*get_version)(uint32_t *) = library ? (int (*)(uint32_t *))dlsym(library, "cuptiGetVersion") : NULL;

    if (!get_version)
        return -1;
    if (!search.has_driver && dlsym(library, CALL_OF_13_2)) {
        keep(search.driverless, path);
        return -1;
    }
    if (get_version(&version) != CUPTI_RESULT_SUCCESS || version < CUPTI_VERSION_12_6 ||
        cupti_profiler_find(&counters_cupti, version, dlsym, library)) {
        keep(search.older, path);
        return -1;
    }
    loaded = library;
    load_beside(library, "libnvperf_host.so");
    load_beside(library, "libnvperf_target.so");
    return 0;
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

static int try_folder(const char *folder)
{
    char path[PATH_BYTES];

    for (int major = search.newest; major >= MAJOR_OLDEST; major--)
        if (snprintf(path, sizeof path, "%s" CUPTI_FILE "%d", folder, major) < PATH_BYTES && try_file(path) == 0)
            return 0;
    return -1;
}

static int try_toolkit(const char *root)
{
    static const char *const below[] = { CUPTI_TOOLKIT_FOLDERS };
    char folder[PATH_BYTES];

    for (size_t i = 0; root && *root && i < sizeof below / sizeof *below; i++)
        if (snprintf(folder, sizeof folder, "%s%s/", root, below[i]) < PATH_BYTES && try_folder(folder) == 0)
            return 0;
    return -1;
}

/* Packages of pip: …/nvidia/cuda_cupti/lib for CUDA 12, …/nvidia/cu13/lib from then on. */
static int try_python(const char *root)
{
    static const char *const below[] = { "cu15", "cu14", "cu13", "cuda_cupti" };
    char folder[PATH_BYTES];

    if (!root || !*root)
        return -1;
    for (int minor = PYTHON_NEWEST; minor >= PYTHON_OLDEST; minor--)
        for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
            int length = snprintf(folder, sizeof folder, "%s/lib/python3.%d/site-packages/nvidia/%s/lib/", root, minor,
                                  below[i]);
            if (length < PATH_BYTES && try_folder(folder) == 0)
                return 0;
        }
    return -1;
}

static int try_installed(void)
{
    char root[64] = "/usr/local/cuda";

    if (try_toolkit(root) == 0)
        return 0;
    for (int major = search.newest; major >= MAJOR_OLDEST; major--)
        for (int minor = 9; minor >= 0; minor--) {
            snprintf(root, sizeof root, "/usr/local/cuda-%d.%d", major, minor);
            if (try_toolkit(root) == 0)
                return 0;
        }
    return -1;
}

static void look_at_driver(void)
{
    int version = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*get_version)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;

    search.newest = MAJOR_NEWEST;
    search.has_driver = get_version && get_version(&version) == 0;
    if (search.has_driver && version / 1000 >= MAJOR_OLDEST && version / 1000 < MAJOR_NEWEST)
        search.newest = version / 1000;
}

static const char *explain(const char *asked)
{
    static char sentence[PATH_BYTES + 256];

    if (*search.refused)
        snprintf(sentence, sizeof sentence,
                 "%s is not used: tacho-gpu has more privileges than its caller, and the file or its folder can be "
                 "written by others than root.",
                 search.refused);
    else if (*search.driverless)
        snprintf(sentence, sizeof sentence,
                 "%s needs the NVIDIA driver even to list metrics; CUPTI 12.6 to 13.1 does not.", search.driverless);
    else if (*search.older)
        snprintf(sentence, sizeof sentence, "Counters need CUPTI 12.6 or later: %s is older.", search.older);
    else if (asked)
        snprintf(sentence, sizeof sentence, "TACHO_CUPTI names %s, which cannot be loaded.", asked);
    else
        return "No CUPTI was found: install one (pip install nvidia-cuda-cupti-cu12, for CUDA 13 nvidia-cuda-cupti, or "
               "the CUDA toolkit), or name its file in TACHO_CUPTI.";
    return sentence;
}

const char *counters_load(void)
{
    search.is_trusted = !getauxval(AT_SECURE);
    const char *asked = search.is_trusted ? getenv("TACHO_CUPTI") : NULL;

    look_at_driver();
    if (asked && *asked)
        return try_file(asked) == 0 ? NULL : explain(asked);
    if (search.is_trusted && (try_toolkit(getenv("CUDA_HOME")) == 0 || try_toolkit(getenv("CUDA_PATH")) == 0 ||
                              try_python(getenv("VIRTUAL_ENV")) == 0 || try_python(getenv("CONDA_PREFIX")) == 0))
        return NULL;
    return try_folder("") == 0 || try_installed() == 0 ? NULL : explain(NULL);
}

static uint64_t now_ns(void)
{
    return (uint64_t)clock_monotonic_ns();
}

int counters_set_clock(void)
{
    int (*use)(cupti_clock) = (int (*)(cupti_clock))dlsym(loaded, "cuptiActivityRegisterTimestampCallback");

    return use ? use(now_ns) : CUPTI_RESULT_ERROR_NOT_SUPPORTED;
}

const char *counters_result_text(int result)
{
    static const struct {
        int number;
        const char *sentence;
    } results[] = {
#define RESULT_ROW(name, number, sentence) { number, sentence },
        CUPTI_RESULTS(RESULT_ROW)
#undef RESULT_ROW
    };
    static char number[32];

    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].number == result && *results[i].sentence)
            return results[i].sentence;
    snprintf(number, sizeof number, "CUPTI error %d.", result);
    return number;
}

const char *counters_chip_of(unsigned device, const char **why)
{
    struct cupti_profiler_initialize begin = { 0 };
    struct cupti_chip_name chip = { .device = device };
    int result = cupti_profiler_call(&counters_cupti, CUPTI_CALL_profiler_initialize, &begin);

    if (result == CUPTI_RESULT_SUCCESS)
        result = cupti_profiler_call(&counters_cupti, CUPTI_CALL_chip_name, &chip);
    if (result == CUPTI_RESULT_SUCCESS && chip.name)
        return chip.name;
    *why = counters_result_text(result);
    return NULL;
}
