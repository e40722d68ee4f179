/* Finds CUPTI where the agent would (agent/cuda/cupti_library.c), but for what only the program that is profiled knows:
 * the file that TACHO_CUPTI names; CUDA_HOME and CUDA_PATH; the Python environment; the loader's search path; the
 * places where toolkits are installed. Of several versions it prefers the driver's, then older ones.
 *
 * CUPTI opens libnvperf_host.so and libnvperf_target.so by their bare names, so they are loaded from its folder first.
 * With more privileges than its caller (AT_SECURE) this program has no environment (privileges.h), and takes only files
 * that belong to root and that nobody else can change. */
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
#include "base/array.h"
#include "base/clock.h"

enum { PATH_BYTES = 4096, MAJOR_OLDEST = 12, MAJOR_NEWEST = 15, PYTHON_OLDEST = 8, PYTHON_NEWEST = 16 };

/* A call of 13.2. From there on CUPTI needs a driver even to list metrics: 13.2 crashes without one in
 * cuptiGetVersion(), 13.4 answers an error. */
#define CALL_OF_13_2 "cuptiProfilerHostGetSinglePassSets"

struct cupti_profiler counters_cupti;

static void *loaded, *driver;   /* NULL: not there */

static struct {
    int newest;                 /* major version that the driver supports */
    int has_driver, is_trusted; /* is_trusted: this program has no more rights than its caller */
    char older[PATH_BYTES];     /* a file that was found and is too old */
    char refused[PATH_BYTES];   /* one that anybody may have written */
    char driverless[PATH_BYTES];
} search;

/* ---- One file --------------------------------------------------------------------------------------------------- */

static void counters_lib_keep(char *to, const char *path)
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

/* The file that a path means, which may be loaded; NULL: it may not. A file is safe if neither it nor a folder above it
 * can be changed by others than root: then nobody can put another in its place after this look at it. */
static const char *safe_path(const char *path, char real[PATH_BYTES])
{
    char above[PATH_BYTES];

    if (search.is_trusted || !strchr(path, '/')) /* the loader's own folders */
        return path;
    if (!realpath(path, real))
        return NULL;
    snprintf(above, sizeof above, "%s", real);
    while (is_roots(*above ? above : "/")) {
        if (!*above)
            return real;
        *strrchr(above, '/') = 0;
    }
    counters_lib_keep(search.refused, path);
    return NULL;
}

static void load_beside(void *library, const char *name)
{
    struct link_map *map = NULL;
    char path[PATH_BYTES], real[PATH_BYTES];
    const char *safe;

    if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !map || !map->l_name || !strchr(map->l_name, '/'))
        return;
    int folder = (int)(strrchr(map->l_name, '/') - map->l_name);
    if (snprintf(path, sizeof path, "%.*s/%s", folder, map->l_name, name) < PATH_BYTES &&
        (safe = safe_path(path, real)))
        dlopen(safe, RTLD_NOW | RTLD_LOCAL);
}

static int counters_lib_try_file(const char *path)
{
    uint32_t version = 0;
    char real[PATH_BYTES];
    const char *safe = safe_path(path, real);
    void *library = safe ? dlopen(safe, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*get_version)(uint32_t *) = library ? (int (*)(uint32_t *))dlsym(library, "cuptiGetVersion") : NULL;

    if (!get_version)
        return -1;
    if (!search.has_driver && dlsym(library, CALL_OF_13_2)) {
        counters_lib_keep(search.driverless, path);
        return -1;
    }
    if (get_version(&version) != CUPTI_RESULT_SUCCESS || version < CUPTI_VERSION_12_6 ||
        cupti_profiler_find(&counters_cupti, version, dlsym, library)) {
        counters_lib_keep(search.older, path);
        return -1;
    }
    loaded = library;
    load_beside(library, "libnvperf_host.so");
    load_beside(library, "libnvperf_target.so");
    return 0;
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

static int counters_lib_try_folder(const char *folder)
{
    char path[PATH_BYTES];

    for (int major = search.newest; major >= MAJOR_OLDEST; major--)
        if (snprintf(path, sizeof path, "%s" CUPTI_FILE "%d", folder, major) < PATH_BYTES &&
            counters_lib_try_file(path) == 0)
            return 0;
    return -1;
}

static int try_toolkit(const char *root)
{
    static const char *const below[] = { CUPTI_TOOLKIT_FOLDERS };
    char folder[PATH_BYTES];

    for (size_t i = 0; root && *root && i < COUNT_OF(below); i++)
        if (snprintf(folder, sizeof folder, "%s%s/", root, below[i]) < PATH_BYTES &&
            counters_lib_try_folder(folder) == 0)
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
        for (size_t i = 0; i < COUNT_OF(below); i++) {
            int length = snprintf(folder, sizeof folder, "%s/lib/python3.%d/site-packages/nvidia/%s/lib/", root, minor,
                                  below[i]);
            if (length < PATH_BYTES && counters_lib_try_folder(folder) == 0)
                return 0;
        }
    return -1;
}

static int counters_lib_try_installed(void)
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

    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*get_version)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;

    search.newest = MAJOR_NEWEST;
    search.has_driver = get_version && get_version(&version) == 0;
    if (search.has_driver && version / 1000 >= MAJOR_OLDEST && version / 1000 < MAJOR_NEWEST)
        search.newest = version / 1000;
}

/* The first reason that is known, of these. */
static int counters_lib_explain(const char *asked, struct refusal *why)
{
    const struct {
        const char *file;
        enum gpu_refusal_id id;
    } reasons[] = {
        { search.refused, GPU_REFUSAL_CUPTI_UNSAFE },
        { search.driverless, GPU_REFUSAL_CUPTI_DRIVERLESS },
        { search.older, GPU_REFUSAL_CUPTI_OLD },
        { asked ? asked : "", GPU_REFUSAL_CUPTI_UNLOADABLE },
    };

    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (*reasons[i].file)
            return refusal_set(why, reasons[i].id, reasons[i].file, NULL);
    return refusal_set(why, GPU_REFUSAL_CUPTI_MISSING, NULL, NULL);
}

void counters_set_environment(void)
{
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_INJECTION64_PATH");
}

int counters_load(struct refusal *why)
{
    search.is_trusted = !getauxval(AT_SECURE);
    const char *asked = getenv("TACHO_CUPTI");

    look_at_driver();
    if (asked && *asked)
        return counters_lib_try_file(asked) == 0 ? 0 : counters_lib_explain(asked, why);
    if (try_toolkit(getenv("CUDA_HOME")) == 0 || try_toolkit(getenv("CUDA_PATH")) == 0 ||
        try_python(getenv("VIRTUAL_ENV")) == 0 || try_python(getenv("CONDA_PREFIX")) == 0)
        return 0;
    return counters_lib_try_folder("") == 0 || counters_lib_try_installed() == 0 ? 0 : counters_lib_explain(NULL, why);
}

static uint64_t now_ns(void)
{
    return (uint64_t)clock_monotonic_ns();
}

int counters_set_clock(struct refusal *why)
{
    static const char call[] = "cuptiActivityRegisterTimestampCallback";
    int (*use)(cupti_clock) = (int (*)(cupti_clock))dlsym(loaded, call);
    int result = use ? use(now_ns) : CUPTI_RESULT_ERROR_NOT_SUPPORTED;

    return result ? refusal_set(why, GPU_REFUSAL_CLOCK_REFUSED, call, counters_result_text(result)) : 0;
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

    for (size_t i = 0; i < COUNT_OF(results); i++)
        if (results[i].number == result && *results[i].sentence)
            return results[i].sentence;
    snprintf(number, sizeof number, "CUPTI error %d.", result);
    return number;
}

/* CUPTI's calls that take a device need a driver that is initialized: without that, they crash. Returns CUDA's result.
 */
static int begin_driver(void)
{
    if (!driver)
        driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); /* one that CUPTI found */
    int (*begin)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;

    return begin ? begin(0) : 0;
}

const char *counters_chip_of(unsigned device, const char **why)
{
    static char sentence[64];
    int failure = begin_driver();

    if (failure) {
        snprintf(sentence, sizeof sentence, "cuInit() answers CUDA error %d.", failure);
        *why = sentence;
        return NULL;
    }
    struct cupti_profiler_initialize begin = { 0 };
    struct cupti_chip_name chip = { .device = device };
    int result = cupti_profiler_call(&counters_cupti, CUPTI_CALL_profiler_initialize, &begin);

    if (result == CUPTI_RESULT_SUCCESS)
        result = cupti_profiler_call(&counters_cupti, CUPTI_CALL_chip_name, &chip);
    if (result == CUPTI_RESULT_SUCCESS && chip.name)
        return chip.name;
    *why = result == CUPTI_RESULT_ERROR_INVALID_PARAMETER || result == CUPTI_RESULT_ERROR_INVALID_DEVICE
               ? NULL
               : counters_result_text(result);
    return NULL;
}

int counters_is_volta(const char *chip)
{
    return strncmp(chip, "GV", 2) == 0;
}
