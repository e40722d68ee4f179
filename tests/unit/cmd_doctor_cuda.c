/* What `tacho doctor` says about CUDA, on systems that are made of a few files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/sources/cuda_doctor.h"
#include "cmd/sources/gpu_doctor.h"

static char folder[] = "/tmp/tacho-unit-XXXXXX";
static struct doctor_finding finding;

static int enter_folder(void **state)
{
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[128];

    text_free(&finding.why);
    text_free(&finding.allow);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") == 0 ? system(command) : -1;
}

/* A file of the system below root. */
static void make(const char *root, const char *path, const char *content)
{
    char full[512];

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0777);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void make_driver(const char *root)
{
    make(root, "/proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025\nGCC version:  gcc "
         "12.2.0\n");
    make(root, "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "");
    make(root, "/dev/nvidiactl", "");
}

static void forget_variables(void)
{
    static const char *const names[] = { "TACHO_CUPTI",
                                         "CUDA_HOME",
                                         "CUDA_PATH",
                                         "VIRTUAL_ENV",
                                         "CONDA_PREFIX",
                                         "LD_LIBRARY_PATH",
                                         "HOME",
                                         "CUDA_INJECTION64_PATH",
                                         "NSYS_PROFILING_SESSION_ID" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
}

static void look(const char *root)
{
    text_clear(&finding.why);
    text_clear(&finding.allow);
    finding.verdict = VERDICT_WORKS;
    cuda_doctor_look(root, &finding);
}

static void expect(enum finding_verdict verdict, const char *words)
{
    if (finding.verdict != verdict || !strstr(text_string(&finding.why), words))
        fail_msg("verdict %d, '%s' does not say '%s'", finding.verdict, text_string(&finding.why), words);
}

static void no_driver(void **state)
{
    forget_variables();
    look("./nothing");
    expect(VERDICT_NOTE, "no NVIDIA driver");
    assert_string_equal(text_string(&finding.allow), "");
}

/* A container that was started without GPUs sees the driver's files in /proc, and no more. */
static void a_container_without_gpus(void **state)
{
    forget_variables();
    make("./container", "/proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue\n");
    look("./container");
    expect(VERDICT_FAILS, "The driver 580.95.05 is loaded, but");
    assert_non_null(strstr(text_string(&finding.allow), "--gpus all"));
}

static void no_cupti(void **state)
{
    forget_variables();
    make_driver("./bare");
    look("./bare");
    expect(VERDICT_PARTLY, "No CUPTI for this driver was found");
    assert_non_null(strstr(text_string(&finding.allow), "TACHO_CUPTI="));
    setenv("TACHO_CUPTI", "/nowhere/libcupti.so", 1);
    look("./bare");
    expect(VERDICT_PARTLY, "TACHO_CUPTI names '/nowhere/libcupti.so', which cannot be read");
}

/* Each place that is added comes before those that were there. */
static void the_order_of_places(void **state)
{
    static const struct {
        const char *path, *variable, *value, *from;
    } places[] = {
        { "/usr/local/lib/python3.12/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.12", NULL, NULL,
          "(a Python package, for programs that load CUDA from there)" },
        { "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "VIRTUAL_ENV", "/venv",
          "(a Python package, for programs that load CUDA from there)" },
        { "/usr/local/cuda-11.8/extras/CUPTI/lib64/libcupti.so.11.8", NULL, NULL, "(the toolkit)" },
        { "/usr/local/cuda-12.8/extras/CUPTI/lib64/libcupti.so.12", NULL, NULL, "(the toolkit)" },
        { "/usr/lib/x86_64-linux-gnu/libcupti.so.12", NULL, NULL, "(the toolkit)" },
        { "/opt/lib/libcupti.so.12", "LD_LIBRARY_PATH", "/elsewhere::/opt/lib", "(LD_LIBRARY_PATH)" },
        { "/toolkit/extras/CUPTI/lib64/libcupti.so.12", "CUDA_HOME", "/toolkit", "(CUDA_HOME)" },
        { "/mine/libcupti.so", "TACHO_CUPTI", "/mine/libcupti.so", "(TACHO_CUPTI)" },
    };

    forget_variables();
    make_driver("./full");
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        char words[256];
        make("./full", places[i].path, "");
        if (places[i].variable)
            setenv(places[i].variable, places[i].value, 1);
        look("./full");
        snprintf(
            words, sizeof words,
            "Driver 580.95.05, /usr/lib/x86_64-linux-gnu/libcuda.so.1. CUPTI for programs without one of their own: "
            "%s %s.",
            places[i].path, places[i].from);
        expect(VERDICT_WORKS, words);
    }
}

/* A CUPTI that is newer than the driver does not work. */
static void a_driver_that_is_older(void **state)
{
    forget_variables();
    make_driver("./older");
    make("./older", "/proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n");
    make("./older", "/usr/local/cuda/lib64/libcupti.so.13", "");
    look("./older");
    expect(VERDICT_PARTLY, "No CUPTI for this driver");
    make("./older", "/usr/local/cuda/lib64/libcupti.so.12", "");
    look("./older");
    expect(VERDICT_WORKS, "/usr/local/cuda/lib64/libcupti.so.12");
}

static void other_profilers(void **state)
{
    forget_variables();
    make_driver("./others");
    make("./others", "/usr/local/cuda/lib64/libcupti.so.12", "");
    setenv("CUDA_INJECTION64_PATH", "/opt/tool/libtool.so", 1);
    look("./others");
    expect(VERDICT_PARTLY, "CUDA_INJECTION64_PATH is set.");
    assert_string_equal(text_string(&finding.allow), "unset CUDA_INJECTION64_PATH\n");
    setenv("CUDA_INJECTION64_PATH", "/opt/tacho/lib/tacho/libtacho-agent.so", 1); /* our own */
    look("./others");
    expect(VERDICT_WORKS, "CUPTI for");
    setenv("NSYS_PROFILING_SESSION_ID", "7", 1);
    look("./others");
    expect(VERDICT_PARTLY, "Nsight Systems runs this shell");
}

static void counters(void **state)
{
    make("./params1", "/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n");
    make("./params0", "/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
    text_clear(&finding.why);
    gpu_doctor_look_at_rights("./params1", 0, &finding);
    expect(VERDICT_FAILS, "administrators only (RmProfilingAdminOnly: 1");
    for (size_t i = 0; i < 3; i++)
        assert_non_null(
            strstr(text_string(&finding.allow), ((const char *const[]){ "NVreg_RestrictProfilingToAdminUsers=0",
                                                                        "--cap-add=SYS_ADMIN", "root" })[i]));
    text_clear(&finding.why);
    text_clear(&finding.allow);
    finding.verdict = VERDICT_WORKS;
    gpu_doctor_look_at_rights("./params1", 1, &finding);
    expect(VERDICT_WORKS, "you are one");
    text_clear(&finding.why);
    gpu_doctor_look_at_rights("./params0", 0, &finding);
    expect(VERDICT_WORKS, "for every user");
    finding.verdict = VERDICT_PARTLY;
    text_clear(&finding.why);
    gpu_doctor_look_at_rights("./nothing", 0, &finding);
    expect(VERDICT_PARTLY, "does not say who");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_driver),
        cmocka_unit_test(a_container_without_gpus),
        cmocka_unit_test(no_cupti),
        cmocka_unit_test(the_order_of_places),
        cmocka_unit_test(a_driver_that_is_older),
        cmocka_unit_test(other_profilers),
        cmocka_unit_test(counters),
    };

    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
