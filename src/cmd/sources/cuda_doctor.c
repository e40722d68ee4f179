/* The CUDA checks of `tacho doctor`. It looks at files only: the program is static and opens no vendor library.
 *
 * The agent looks for CUPTI in a program that runs; a CUPTI that the program brings along comes first there. This
 * file finds the CUPTI for other programs, in the same order: TACHO_CUPTI, CUDA_HOME, CUDA_PATH, the loader's path,
 * the folders of toolkits. A CUPTI of Python packages counts last, since it serves only programs that load CUDA from
 * there. */
#include "cuda_doctor.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cupti_paths.h"
#include "cmd/doctor/system_file.h"

enum { PATH_ROOM = 1024 };

/* The first file below root that the pattern matches: 1 and the path without root, or 0. */
static int cuda_doctor_find_file(const char *root, const char *pattern, char out[PATH_ROOM])
{
    struct text whole = { 0 };
    glob_t found = { 0 };
    int is_there = 0;

    text_addf(&whole, "%s%s", root, pattern);
    if (glob(text_string(&whole), 0, NULL, &found) == 0 && found.gl_pathc && access(found.gl_pathv[0], R_OK) == 0) {
        snprintf(out, PATH_ROOM, "%s", found.gl_pathv[0] + strlen(root));
        is_there = 1;
    }
    globfree(&found);
    text_free(&whole);
    return is_there;
}

/* The CUPTI of the newest CUDA that goes with the driver, in a folder, which may be a pattern. */
static int find_in_folder(const char *root, const char *folder, int newest, char out[PATH_ROOM])
{
    int is_there = 0;

    for (int major = newest; major >= CUPTI_OLDEST_MAJOR && !is_there; major--) {
        struct text pattern = { 0 };
        text_addf(&pattern, "%s/" CUPTI_FILE "%d%s", folder, major,
                  major == CUPTI_OLDEST_MAJOR ? CUPTI_OLDEST_MINOR : "");
        is_there = cuda_doctor_find_file(root, text_string(&pattern), out);
        text_free(&pattern);
    }
    return is_there;
}

static int find_in_folders(const char *root, const char *before, const char *const *folders, int newest,
                           char out[PATH_ROOM])
{
    int is_there = 0;

    for (; before && *folders && !is_there; folders++) {
        struct text folder = { 0 };
        text_addf(&folder, "%s%s", before, *folders);
        is_there = find_in_folder(root, text_string(&folder), newest, out);
        text_free(&folder);
    }
    return is_there;
}

/* The next folder of a list with colons, or NULL; an empty one is left out. The caller frees the text. */
static const char *next_folder(const char **rest, struct text *folder)
{
    text_clear(folder);
    while (*rest && **rest && !folder->length) {
        size_t length = strcspn(*rest, ":");
        text_add_bytes(folder, *rest, length);
        *rest += length + ((*rest)[length] == ':');
    }
    return folder->length ? text_string(folder) : NULL;
}

/* Where it was found, in words; NULL: nowhere. */
static const char *find_cupti(const char *root, int newest, char out[PATH_ROOM])
{
    static const char *const in_toolkit[] = { CUPTI_TOOLKIT_FOLDERS, NULL };
    static const char *const in_system[] = { "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", NULL };
    static const char *const packages[] = { "/lib/python3*/*-packages/nvidia/*/lib", NULL };
    static const char *const prefixes[] = { "/usr/local", "/usr", "/opt/conda" };
    const char *chosen = getenv("TACHO_CUPTI"), *rest = getenv("LD_LIBRARY_PATH"), *home = getenv("HOME");
    struct text folder = { 0 }, local = { 0 };
    int is_there = 0;

    if (chosen && *chosen) /* no other is tried then */
        return cuda_doctor_find_file(root, chosen, out) ? "TACHO_CUPTI" : NULL;
    if (find_in_folders(root, getenv("CUDA_HOME"), in_toolkit, newest, out))
        return "CUDA_HOME";
    if (find_in_folders(root, getenv("CUDA_PATH"), in_toolkit, newest, out))
        return "CUDA_PATH";
    for (const char *name; !is_there && (name = next_folder(&rest, &folder));)
        is_there = find_in_folder(root, name, newest, out);
    text_free(&folder);
    if (is_there)
        return "LD_LIBRARY_PATH";
    if (find_in_folders(root, "", in_system, newest, out) ||
        find_in_folders(root, "/usr/local/cuda", in_toolkit, newest, out) ||
        find_in_folders(root, "/usr/local/cuda-*", in_toolkit, newest, out))
        return "the toolkit";
    text_addf(&local, "%s/.local", home ? home : "");
    is_there = find_in_folders(root, getenv("VIRTUAL_ENV"), packages, newest, out) ||
               find_in_folders(root, getenv("CONDA_PREFIX"), packages, newest, out) ||
               find_in_folders(root, text_string(&local), packages, newest, out);
    for (size_t i = 0; i < COUNT_OF(prefixes) && !is_there; i++)
        is_there = find_in_folders(root, prefixes[i], packages, newest, out);
    text_free(&local);
    return is_there ? "a Python package, for programs that load CUDA from there" : NULL;
}

/* A file in one of the folders of LD_LIBRARY_PATH. */
static int find_in_loader_path(const char *root, const char *name, char out[PATH_ROOM])
{
    const char *rest = getenv("LD_LIBRARY_PATH");
    struct text folder = { 0 };
    int is_there = 0;

    while (!is_there && next_folder(&rest, &folder)) {
        text_addf(&folder, "/%s", name);
        is_there = cuda_doctor_find_file(root, text_string(&folder), out);
    }
    text_free(&folder);
    return is_there;
}

static int cuda_doctor_find_first(const char *root, const char *const *patterns, char out[PATH_ROOM])
{
    for (; *patterns; patterns++)
        if (cuda_doctor_find_file(root, *patterns, out))
            return 1;
    return 0;
}

/* The newest CUDA that a driver serves, by the branch that its version begins with. */
static int newest_cuda(const char *driver)
{
    static const struct {
        int branch, cuda;
    } branches[] = { { 580, 13 }, { 525, 12 }, { 450, 11 } };
    int branch = atoi(driver);

    for (size_t i = 0; i < COUNT_OF(branches); i++)
        if (branch >= branches[i].branch)
            return branches[i].cuda;
    return branch ? 0 : branches[0].cuda;
}

/* "580.95.05" of the line that the driver's module writes about itself. */
static void read_driver_version(const char *root, char out[64])
{
    char line[256];

    out[0] = 0;
    system_file_read_line(root, "/proc/driver/nvidia/version", line, sizeof line);
    for (char *rest = line, *word; (word = strtok_r(rest, " \t", &rest));)
        if (word[0] >= '1' && word[0] <= '9' && strchr(word, '.') && strspn(word, "0123456789.") == strlen(word)) {
            snprintf(out, 64, "%s", word);
            return;
        }
}

/* Other tools that want CUPTI, or the place that we inject into, for themselves. */
static void look_for_others(struct doctor_finding *finding)
{
    static const struct {
        const char *variable, *what;
    } others[] = {
        { "NSYS_PROFILING_SESSION_ID", "Nsight Systems runs this shell, and only one tool can trace CUDA at a time." },
        { "CUDA_INJECTION64_PATH", "It names the library of another tool. tacho profile replaces it, so that tool will "
                                   "not see CUDA." },
    };

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        const char *value = getenv(others[i].variable);
        if (!value || !*value || strstr(value, "libtacho-agent"))
            continue;
        finding->verdict = VERDICT_PARTLY;
        text_addf(&finding->why, " %s is set. %s", others[i].variable, others[i].what);
        text_addf(&finding->allow, "unset %s\n", others[i].variable);
    }
}

static void explain_no_driver(struct doctor_finding *finding, const char *version)
{
    finding->verdict = VERDICT_FAILS;
    text_addf(&finding->why, "The driver%s%s is loaded, but libcuda.so.1 or its device files are missing.",
              *version ? " " : "", version);
    text_add(&finding->allow,
             "docker: --gpus all; if an image sets NVIDIA_DRIVER_CAPABILITIES, it must include compute\nKubernetes: "
             "resources.limits: nvidia.com/gpu: 1\n");
}

static void explain_no_cupti(struct doctor_finding *finding)
{
    const char *chosen = getenv("TACHO_CUPTI");

    finding->verdict = VERDICT_PARTLY;
    if (chosen && *chosen)
        text_addf(&finding->why,
                  " TACHO_CUPTI names '%s', which cannot be read. CUDA is not traced, because no other "
                  "CUPTI is tried.",
                  chosen);
    else
        text_add(&finding->why, " No CUPTI for this driver was found. Only programs that bring one along (PyTorch from "
                                "pip does) are traced.");
    text_add(&finding->allow, "with pip: pip install nvidia-cuda-cupti-cu12 (CUDA 13: nvidia-cuda-cupti)\nor name a "
                              "library: export TACHO_CUPTI=/path/to/libcupti.so.12\n");
}

void cuda_doctor_look(const char *root, struct doctor_finding *finding)
{
    static const char *const libraries[] = { "/usr/lib/*-linux-gnu/libcuda.so.1",
                                             "/usr/lib64/libcuda.so.1",
                                             "/usr/local/nvidia/lib64/libcuda.so.1",
                                             "/usr/lib/wsl/lib/libcuda.so.1",
                                             "/usr/local/cuda/compat/libcuda.so.1",
                                             "/usr/lib/libcuda.so.1",
                                             NULL };
    static const char *const devices[] = { "/dev/nvidiactl",       "/dev/nvidia0", "/dev/dxg",
                                           "/dev/nvhost-ctrl-gpu", "/dev/nvgpu",   NULL };
    char library[PATH_ROOM], device[PATH_ROOM], cupti[PATH_ROOM], version[64];
    int has_library = find_in_loader_path(root, "libcuda.so.1", library) ||
                      cuda_doctor_find_first(root, libraries, library);
    int has_device = cuda_doctor_find_first(root, devices, device);

    read_driver_version(root, version);
    if (!*version && !has_library && !has_device) {
        finding->verdict = VERDICT_NOTE;
        text_add(&finding->why, "There is no CUDA to trace: this machine has no NVIDIA driver.");
        return;
    }
    if (!has_library || !has_device) {
        explain_no_driver(finding, version);
        return;
    }
    const char *from = find_cupti(root, newest_cuda(version), cupti);
    text_addf(&finding->why, "Driver%s%s, %s.", *version ? " " : "", version, library);
    if (from)
        text_addf(&finding->why, " CUPTI for programs without one of their own: %s (%s).", cupti, from);
    else
        explain_no_cupti(finding);
    text_add(&finding->why, " Tracing kernels, copies and API calls needs no permission.");
    look_for_others(finding);
}

static void look_at_cuda(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        cuda_doctor_look("", finding);
}

const struct doctor_examination cuda_examinations[] = {
    { "CUDA", look_at_cuda },
    { 0 },
};
