/* Finds CUPTI at run time: which file, and the functions in it. Nothing is linked, so one agent works with every CUDA.
 *
 * It tries, in this order: the file that TACHO_CUPTI names; one that the process has loaded; one beside the CUDA
 * libraries that the process has loaded (in a toolkit's folders, or in those of Python packages); CUDA_HOME and
 * CUDA_PATH; the loader's search path; the places where toolkits are installed. Of several versions it prefers that of
 * the CUDA runtime in use, then the driver's, then older ones, because a CUPTI that is newer than the driver does not
 * work. It skips a file that lacks a required function. */
#include <link.h>
#include <stdlib.h>

#include "abi/cupti_paths.h"
#include "agent/core/libc_loader.h"
#include "agent/core/libc_real.h"
#include "agent/core/modules.h"
#include "agent/core/small_text.h"
#include "base/path.h"
#include "cuda_agent.h"

#define PATH_BYTES 4096
#define MAJOR_OLDEST CUPTI_OLDEST_MAJOR
#define MAJOR_NEWEST 15

struct cupti_library_search {
    int majors[MAJOR_NEWEST - MAJOR_OLDEST + 2]; /* in the order to try, ended by 0 */
    char loaded[MAJOR_NEWEST + 1][PATH_BYTES];   /* loaded libcupti.so.N, by N; 0: without a number */
    char runtime[PATH_BYTES];                    /* the loaded libcudart */
    char package[PATH_BYTES];                    /* a folder that ends in /nvidia/, with libraries of Python packages */
};

/* ---- Helpers --------------------------------------------------------------------------------------------------- */

static void cupti_library_add_text(char *to, const char *text)
{
    if (small_text_add(to, PATH_BYTES, text) != 0)
        to[0] = 0; /* too long for a path: nothing will be found there */
}

static void cupti_library_add_number(char *to, int number)
{
    struct small_digits digits;
    cupti_library_add_text(to, small_digits(&digits, (uint64_t)number));
}

/* The number after ".so." in a path, or 0. */
static int major_of(const char *path)
{
    const char *number = strstr(path, ".so.");
    return number ? (int)small_number(number + 4) : 0;
}

static int starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---- Libraries that the process has loaded --------------------------------------------------------------------- */

static void cupti_library_keep(char *to, const char *path, size_t length)
{
    if (!to[0] && length < PATH_BYTES) {
        memcpy(to, path, length);
        to[length] = 0;
    }
}

static int cupti_library_look_at_object(struct dl_phdr_info *object, size_t size, void *data)
{
    struct cupti_library_search *search = data;
    const char *path = object->dlpi_name ? object->dlpi_name : "", *file = path_base_name(path);
    if (starts_with(file, "libcupti.so"))
        cupti_library_keep(search->loaded[major_of(file) <= MAJOR_NEWEST ? major_of(file) : 0], path, strlen(path));
    else if (starts_with(file, "libcudart.so"))
        cupti_library_keep(search->runtime, path, strlen(path));
    const char *package = strstr(path, "/nvidia/");
    if (package && strstr(package, "/lib/"))
        cupti_library_keep(search->package, path, (size_t)(package - path) + strlen("/nvidia/"));
    return 0;
}

static void load_driver(void)
{
    void *driver = LIBC_REAL(dlopen)("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        return;
#define FIND(need, name, parameters) cuda.driver.name = (int(*) parameters)loader.dlsym(driver, #name);
    CUDA_DRIVER_FUNCTIONS(FIND)
#undef FIND
}

static void choose_majors(struct cupti_library_search *search)
{
    int version = 0, count = 0, newest = MAJOR_NEWEST;
    if (cuda.driver.cuDriverGetVersion && cuda.driver.cuDriverGetVersion(&version) == 0 && version >= 1000)
        newest = version / 1000 < MAJOR_NEWEST ? version / 1000 : MAJOR_NEWEST;
    int runtime = major_of(path_base_name(search->runtime));
    if (runtime >= MAJOR_OLDEST && runtime <= newest)
        search->majors[count++] = runtime;
    for (int major = newest; major >= MAJOR_OLDEST; major--)
        if (major != runtime)
            search->majors[count++] = major;
    search->majors[count] = 0;
}

/* ---- Trying a file --------------------------------------------------------------------------------------------- */

static const char *missing; /* a function that the last file lacks */

static int cupti_library_take_functions(void *library)
{
    struct cupti_functions found;
    missing = NULL;
#define FIND_REQUIRED(name, parameters)                                                                              \
    found.name = (int(*) parameters)loader.dlsym(library, #name);                                                    \
    missing = found.name ? missing : #name;
#define FIND_OPTIONAL(name, parameters) found.name = (int(*) parameters)loader.dlsym(library, #name);
#define FIND(need, since, name, parameters) FIND_##need(name, parameters)
    CUPTI_FUNCTIONS(FIND)
#undef FIND
    uint32_t version = 0;
    const char *name = NULL;
    if (missing || found.cuptiGetVersion(&version) != CUPTI_RESULT_SUCCESS || version < CUPTI_VERSION_11_8)
        return -1;
    int has = found.cuptiGetCallbackName(CUPTI_DOMAIN_DRIVER, CUPTI_CALL_OF_12_0, &name) == CUPTI_RESULT_SUCCESS &&
              name;
    cuda.cupti = found;
    cuda.version = cupti_version_told_apart(version, has);
    return 0;
}

static int cupti_library_try_file(const char *path)
{
    if (!path[0])
        return -1;
    void *library = LIBC_REAL(dlopen)(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return -1;
    struct link_map *map = NULL;
    if (cupti_library_take_functions(library) != 0) {
        LIBC_REAL(dlclose)(library);
        return -1;
    }
    cuda.library = library;
    if (loader.dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name &&
        strlen(map->l_name) < sizeof cuda.path)
        path = map->l_name;
    if (strlen(path) < sizeof cuda.path)
        strcpy(cuda.path, path);
    return 0;
}

static int try_loaded(const struct cupti_library_search *search)
{
    for (const int *major = search->majors; *major; major++)
        if (cupti_library_try_file(search->loaded[*major]) == 0)
            return 0;
    return cupti_library_try_file(search->loaded[0]);
}

/* Tries file names in a folder, or along the loader's search path if the folder is "". */
static int cupti_library_try_folder(const struct cupti_library_search *search, const char *folder, const char *below)
{
    char path[PATH_BYTES];
    for (const int *major = search->majors; *major; major++) {
        path[0] = 0;
        cupti_library_add_text(path, folder);
        cupti_library_add_text(path, below);
        cupti_library_add_text(path, CUPTI_FILE);
        cupti_library_add_number(path, *major);
        cupti_library_add_text(path, *major == MAJOR_OLDEST ? CUPTI_OLDEST_MINOR : "");
        if (cupti_library_try_file(path) == 0)
            return 0;
    }
    return -1;
}

static int try_toolkit(const struct cupti_library_search *search, const char *root)
{
    static const char *const below[] = { CUPTI_TOOLKIT_FOLDERS };
    for (size_t i = 0; root && root[0] && i < COUNT_OF(below); i++) {
        char folder[PATH_BYTES] = "";
        cupti_library_add_text(folder, root);
        cupti_library_add_text(folder, below[i]);
        if (folder[0] && cupti_library_try_folder(search, folder, "/") == 0)
            return 0;
    }
    return -1;
}

/* Python packages: …/nvidia/cuda_cupti/lib for CUDA 11 and 12, …/nvidia/cu13/lib from then on. */
static int try_packages(const struct cupti_library_search *search)
{
    if (!search->package[0])
        return -1;
    for (const int *major = search->majors; *major; major++) {
        char below[32] = "cu";
        small_text_add_number(below, sizeof below, (uint64_t)*major);
        small_text_add(below, sizeof below, "/lib/");
        if (cupti_library_try_folder(search, search->package, below) == 0)
            return 0;
    }
    return cupti_library_try_folder(search, search->package, "cuda_cupti/lib/");
}

static int try_beside_runtime(const struct cupti_library_search *search)
{
    char folder[PATH_BYTES];
    strcpy(folder, search->runtime);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return -1;
    slash[1] = 0;
    if (cupti_library_try_folder(search, folder, "") == 0 ||
        cupti_library_try_folder(search, folder, "../extras/CUPTI/lib64/") == 0)
        return 0;
    return cupti_library_try_folder(search, folder, "../../../extras/CUPTI/lib64/"); /* the runtime in targets/…/lib */
}

/* /usr/local/cuda, then /usr/local/cuda-13, /usr/local/cuda-13.0 and so on. */
static int cupti_library_try_installed(const struct cupti_library_search *search)
{
    char root[PATH_BYTES] = "/usr/local/cuda";
    if (try_toolkit(search, root) == 0)
        return 0;
    for (const int *major = search->majors; *major; major++)
        for (int minor = -1; minor <= 9; minor++) {
            strcpy(root, "/usr/local/cuda-");
            cupti_library_add_number(root, *major);
            if (minor >= 0) {
                cupti_library_add_text(root, ".");
                cupti_library_add_number(root, minor);
            }
            if (try_toolkit(search, root) == 0)
                return 0;
        }
    return -1;
}

/* ---- For calls of the program ---------------------------------------------------------------------------------- */

void *cuda_library_function(const char *name)
{
    void *function = cuda.library ? loader.dlsym(cuda.library, name) : NULL;
    loader.dlerror();                                                 /* the program must not see this error */
    if (!function)
        function = agent_find_symbol("libcupti.so", name).address;
    return function ? function : agent_find_symbol("", name).address; /* linked statically, or under another name */
}

/* Loads the file that the user chose: NULL, or why that failed. */
static const char *load_asked(const char *asked)
{
    static char sentence[PATH_BYTES];
    if (cupti_library_try_file(asked) == 0)
        return NULL;
    cupti_library_add_text(sentence, "TACHO_CUPTI names ");
    cupti_library_add_text(sentence, asked);
    cupti_library_add_text(sentence,
                           missing ? ", which has no " : ", which cannot be loaded or is older than CUPTI 11.8");
    cupti_library_add_text(sentence, missing ? missing : "");
    cupti_library_add_text(sentence, ".");
    return sentence;
}

const char *cuda_library_load(void)
{
    static struct cupti_library_search search;
    const char *asked = getenv("TACHO_CUPTI");
    dl_iterate_phdr(cupti_library_look_at_object, &search);
    load_driver();
    choose_majors(&search);
    const char *failure = NULL;
    if (asked && *asked)
        failure = load_asked(asked);
    else if (try_loaded(&search) && try_beside_runtime(&search) && try_packages(&search) &&
             try_toolkit(&search, getenv("CUDA_HOME")) && try_toolkit(&search, getenv("CUDA_PATH")) &&
             cupti_library_try_folder(&search, "", "") && cupti_library_try_installed(&search))
        failure = "No CUPTI for this driver was found: install one (pip install nvidia-cuda-cupti-cu12, for CUDA 13 "
                  "nvidia-cuda-cupti, or the CUDA toolkit), or name its file in TACHO_CUPTI.";
    loader.dlerror(); /* the program must not see this error */
    return failure;
}
