/* What `tacho profile` makes of its options (nsys's own command lines among them), of -o,
 * and of a container's limits. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/cmd_source.h"
#include "cmd/doctor/cgroup.h"
#include "cmd/profile/output_name.h"
#include "profile_line.h"

static char folder[] = "/tmp/tacho-unit-XXXXXX";

static int enter_folder(void **state)
{
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[128];

    free_line();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") == 0 ? system(command) : -1;
}

static void defaults(void **state)
{
    assert_int_equal(parse("./a.out -o x"), 0);
    assert_int_equal(program_count, 3);
    assert_int_equal(settings.collect.sources, WIRE_BIT(CUDA) | WIRE_BIT(NVTX) | WIRE_BIT(OSRT) | WIRE_BIT(TORCH) |
                                                   WIRE_BIT(STEPS) | WIRE_BIT(MPI) | WIRE_BIT(OPENMP));
    assert_int_equal(settings.collect.if_used, WIRE_BIT(MPI) | WIRE_BIT(OPENMP));
    assert_int_equal(settings.collect.step_probes, 1);
    assert_int_equal(settings.collect.osrt_threshold_ns, 1000);
    assert_int_equal(settings.collect.kill_signal, SIGTERM);
    assert_int_equal(settings.collect.range_end, COLLECT_END_STOP_SHUTDOWN);
    assert_int_equal(settings.collect.wait_primary, 0);
    assert_int_equal(settings.collect.hide_output, 0);
    assert_string_equal(settings.output, "report%n");
}

/* Who names a source wants it in all programs, and its other options name it, too. */
static void sources_of_programs_that_use_them(void **state)
{
    static const struct {
        const char *line;
        uint32_t if_used;
    } lines[] = {
        { "-t openmp,mpi ./a.out", 0 },
        { "-t none ./a.out", 0 },
        { "--openmp-details=flush ./a.out", WIRE_BIT(MPI) },
        { "--mpi-impl=mpich ./a.out", WIRE_BIT(OPENMP) },
        { "-c mpi ./a.out", WIRE_BIT(OPENMP) },
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        assert_int_equal(parse(lines[i].line), 0);
        assert_int_equal(settings.collect.if_used, lines[i].if_used);
        assert_int_equal(settings.collect.sources & settings.collect.if_used, lines[i].if_used);
    }
}

/* Few steps have operators only where nobody has asked for all. */
static void windows_of_steps(void **state)
{
    static const struct {
        const char *line;
        int wanted;
    } lines[] = {
        { "./a.out", 1 },
        { "-s none ./a.out", 1 },
        { "--step-probes=true ./a.out", 1 },
        { "--step-probes=false ./a.out", 0 },
        { "--pytorch=auto ./a.out", 0 },
        { "-t cuda,osrt ./a.out", 0 },
        { "-t osrt --pytorch=auto --step-probes=true ./a.out", 0 },
        { "--cost-limit=5 ./a.out", 0 },
        { "--advise ./a.out", 0 },
        { "-d 5 ./a.out", 0 },
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        assert_int_equal(parse(lines[i].line), 0);
        if (settings.collect.step_windows != lines[i].wanted)
            fail_msg("%s: windows %d, not %d", lines[i].line, settings.collect.step_windows, lines[i].wanted);
        free_line();
    }
}

/* What each source adds to the command line: its options are in the table, and there is room for its settings. */
static void options_of_sources(void **state)
{
    for (const struct cmd_source *const *source = cmd_sources; *source; source++) {
        const struct option *const tables[] = { (*source)->options, (*source)->late_options };
        for (size_t i = 0; i < 2; i++)
            for (const struct option *option = tables[i]; option && option->name; option++) {
                const struct option *found = profile_options();
                while (found->name && strcmp(found->name, option->name) != 0)
                    found++;
                assert_string_equal(found->name ? found->name : "(none)", option->name);
            }
        assert_true(profile_source_offset(*source) + (*source)->settings_bytes <=
                    offsetof(struct profile_settings, of_sources) + PROFILE_SOURCES_BYTES);
    }
}

static void a_command_line_of_nsys(void **state)
{
    assert_int_equal(parse("-w true -t cuda,nvtx,osrt,cudnn,cublas -s cpu --capture-range=cudaProfilerApi "
                           "--stop-on-range-end=true --cudabacktrace=true --cudabacktrace-threshold=10000 "
                           "--osrt-threshold=10000 -x true -o my_profile -f true python main.py --lr 1"),
                     0);
    assert_int_equal(program_count, 4);
    assert_int_equal(settings.collect.sources, WIRE_BIT(CUDA) | WIRE_BIT(NVTX) | WIRE_BIT(OSRT) | WIRE_BIT(LIBRARIES));
    assert_int_equal(settings.collect.range, COLLECT_RANGE_API);
    assert_int_equal(settings.collect.range_end, COLLECT_END_STOP_SHUTDOWN);
    assert_int_equal(settings.collect.osrt_threshold_ns, 10000);
    assert_int_equal(settings.collect.overwrite, 1);
    assert_string_equal(text_string(&warnings), "");
    assert_int_equal(settings.collect.cpu.samples, COLLECT_SCOPE_TREE);
}

static void sources(void **state)
{
    assert_int_equal(parse("-t nvtx, p"), 0); /* a trailing comma */
    assert_int_equal(settings.collect.sources, WIRE_BIT(NVTX));
    assert_int_equal(parse("--trace none p"), 0);
    assert_int_equal(settings.collect.sources, 0);
    assert_int_equal(parse("-t nvxt p"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "unknown name 'nvxt' in --trace; did you mean nvtx?");
    assert_int_equal(parse("-t xyzzyx p"), ERR_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "a list of cuda, nvtx, osrt, heap, cublas,"));
    assert_int_equal(parse("-t vulkan,dx12 p"), 0);
    assert_int_equal(settings.collect.sources, 0);
    assert_non_null(strstr(text_string(&warnings), "--trace=vulkan, dx12 have no effect: this version does not trace "
                                                   "them; only processes and threads are recorded"));
}

static void exports(void **state)
{
    assert_int_equal(parse("--export=sqlite,hdf,text --export=none,sqlite p"), 0);
    assert_int_equal(settings.exports.count, 2);
    assert_string_equal(settings.exports.values[0], "sqlite");
    assert_string_equal(settings.exports.values[1], "text");
    assert_non_null(strstr(text_string(&warnings), "--export=hdf has no effect"));
    assert_int_equal(parse("--export=sqlight p"), ERR_BAD_ARGUMENT);
}

/* An option that does nothing takes no other option for its value. */
static void options_without_effect(void **state)
{
    assert_int_equal(parse("--python-sampling -o q --sampling-trigger -5 p"), 0);
    assert_string_equal(settings.output, "q");
    assert_int_equal(program_count, 1);
    assert_string_equal(program[0], "p");
}

static void times_and_sizes(void **state)
{
    assert_int_equal(parse("-y 1.5 -d 0.25 --buffer-limit=64M -x false p"), 0);
    assert_int_equal(settings.collect.delay_ns, 1500000000);
    assert_int_equal(settings.collect.duration_ns, 250000000);
    assert_int_equal(settings.collect.buffer_limit_bytes, 64 << 20);
    assert_int_equal(settings.collect.run_on_exit, 1);
    assert_int_equal(parse("--buffer-limit=4M p"), 0);
    assert_int_equal(settings.collect.buffer_limit_bytes, 4 << 20);
    static const char *const wrong[] = { "-y soon p",
                                         "-d -1 p",
                                         "--buffer-limit=much p",
                                         "--buffer-limit=0 p",
                                         "--buffer-limit=64k p",
                                         "--buffer-limit=65G p",
                                         "--buffer-limit=99999999999999999G p",
                                         "--buffer-limit=99999999999999999999 p",
                                         "--osrt-threshold=99999999999999999999 p",
                                         "--osrt-threshold=18446744073709551615 p",
                                         "--osrt-threshold=-5 p",
                                         "--osrt-threshold=1us p",
                                         "-x false p" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (parse(wrong[i]) != ERR_BAD_ARGUMENT)
            fail_msg("accepted: %s", wrong[i]);
}

static void capture_ranges(void **state)
{
    assert_int_equal(parse("-c nvtx -p train@model --capture-range-end=repeat:3 p"), 0);
    assert_int_equal(settings.collect.range, COLLECT_RANGE_NVTX);
    assert_string_equal(settings.collect.range_text, "train");
    assert_string_equal(settings.collect.range_domain, "model");
    assert_int_equal(settings.collect.range_end, COLLECT_END_REPEAT);
    assert_int_equal(settings.collect.range_repeat, 3);
    assert_int_equal(parse("-c nvtx -p a\\@b@* --capture-range-end=repeat-shutdown:2 p"), 0);
    assert_string_equal(settings.collect.range_text, "a@b");
    assert_string_equal(settings.collect.range_domain, "*");
    assert_int_equal(settings.collect.range_end, COLLECT_END_REPEAT_SHUTDOWN);
    assert_int_equal(parse("-c nvtx -p plain --capture-range-end none p"), 0);
    assert_null(settings.collect.range_domain);
    static const char *const wrong[] = { "-c nvtx p",
                                         "-c nvtx -p a -t osrt p",
                                         "-c sometimes p",
                                         "--capture-range-end=repeat:0 p",
                                         "--capture-range-end=repeat-shutdown p",
                                         "--capture-range-end=stop:2 p",
                                         "--capture-range-end=repeat:x p" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (parse(wrong[i]) != ERR_BAD_ARGUMENT)
            fail_msg("accepted: %s", wrong[i]);
}

static void the_programs_surroundings(void **state)
{
    assert_int_equal(parse("-e A=1,B=x=y -e C= -n false --kill none --wait=primary -w false --preload=no p"), 0);
    assert_int_equal(settings.collect.environment_count, 3);
    assert_string_equal(settings.collect.environment[1].name, "B");
    assert_string_equal(settings.collect.environment[1].value, "x=y");
    assert_string_equal(settings.collect.environment[2].value, "");
    assert_int_equal(settings.collect.clean_environment, 1);
    assert_int_equal(settings.collect.kill_signal, 0);
    assert_int_equal(settings.collect.wait_primary, 1);
    assert_int_equal(settings.collect.hide_output, 1);
    assert_int_equal(settings.collect.no_preload, 1);
    assert_int_equal(parse("-e NOVALUE p"), ERR_BAD_ARGUMENT);
    assert_int_equal(parse("--kill=sigwhat p"), ERR_BAD_ARGUMENT);
}

static void domains(void **state)
{
    assert_int_equal(parse("--nvtx-domain-include=default,a\\,b p"), 0);
    assert_string_equal(settings.collect.nvtx_domain_include[0], "default");
    assert_string_equal(settings.collect.nvtx_domain_include[1], "a,b");
    assert_null(settings.collect.nvtx_domain_include[2]);
    assert_int_equal(parse("--nvtx-domain-include=a --nvtx-domain-exclude=b p"), ERR_BAD_ARGUMENT);
}

static void write_file(const char *name, const char *content)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void options_from_a_file(void **state)
{
    write_file("options", "# what we always want\n-t osrt --osrt-threshold=5\n  --output \"a name\" -e 'X=1 2'\n");
    assert_int_equal(parse("--command-file=options --osrt-threshold=7 p"), 0);
    assert_int_equal(settings.collect.sources, WIRE_BIT(OSRT));
    assert_int_equal(settings.collect.osrt_threshold_ns, 7);
    assert_string_equal(settings.output, "a name");
    assert_string_equal(settings.collect.environment[0].value, "1 2");
    write_file("with-program", "-t osrt ls");
    assert_int_equal(parse("--command-file=with-program p"), ERR_BAD_ARGUMENT);
    write_file("itself", "--command-file=itself");
    assert_int_equal(parse("--command-file=itself p"), ERR_BAD_ARGUMENT);
    assert_int_equal(parse("--command-file=nowhere p"), ERR_BAD_ARGUMENT);
    assert_int_equal(parse("--command-file=/ p"), ERR_BAD_ARGUMENT);
    assert_int_equal(parse("--command-file=/dev/zero p"), ERR_BAD_ARGUMENT);
}

/* What a file of more words than we take said after them would be left out, were it not refused. */
static void command_files_are_read_whole(void **state)
{
    struct text words = { 0 };

    for (int i = 0; i < 511; i++)
        text_add(&words, "-t osrt ");
    text_add(&words, "--osrt-threshold 9 ");
    write_file("long", text_string(&words));
    assert_int_equal(parse("--command-file=long p"), 0);
    assert_int_equal(settings.collect.osrt_threshold_ns, 9);
    text_add(&words, "-q");
    write_file("too-long", text_string(&words));
    assert_int_equal(parse("--command-file=too-long p"), ERR_BAD_ARGUMENT);
    text_free(&words);
}

/* Filters that an agent would get only in part. */
static void names_that_do_not_fit(void **state)
{
    struct text names = { 0 };

    text_add(&names, "--nvtx-domain-include=");
    for (int i = 0; i < 8000; i++)
        text_addf(&names, "d%d,", i);
    write_file("many", text_string(&names));
    assert_int_equal(parse("--command-file=many p"), ERR_BAD_ARGUMENT);
    text_free(&names);
}

/* ---- the output's name ----------------------------------------------------------------------------------------- */

static struct job_place place; /* in no job */

static void expect_name(const char *pattern, const char *expected)
{
    struct text out = { 0 };
    struct output_naming naming = { .pattern = pattern, .place = &place, .pid = getpid(), .number = 4 };

    if (output_name(&out, &naming, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}

static void names_of_reports(void **state)
{
    char expected[400], host[256];

    setenv("RANK", "12", 1);
    expect_name("report%n", "report4.tacho");
    expect_name("a%%b", "a%b.tacho");
    expect_name("r%q{RANK}", "r12.tacho");
    expect_name("x.nsys-rep", "x.tacho");
    expect_name("x.qdrep", "x.tacho");
    expect_name("x.tacho", "x.tacho");
    expect_name("x.y", "x.y.tacho");
    expect_name("./", "./report4.tacho");
    gethostname(host, sizeof host);
    snprintf(expected, sizeof expected, "%s-%d.tacho", host, (int)getpid());
    expect_name("%h-%p", expected);
}

static void names_of_ranks(void **state)
{
    place = (struct job_place){ .launcher = "Slurm", .rank = 3, .world_size = 8 };
    expect_name("r%r", "r3.tacho");
    expect_name("r%%r", "r%r.tacho");
    expect_name("run/", "run/rank0003.tacho");
    expect_name("./", "./rank0003.tacho");
    expect_name(".", "./rank0003.tacho");
    expect_name("%r/", "3/rank0003.tacho");
    place.world_size = 10000;
    expect_name("run/", "run/rank0003.tacho");
    place.world_size = 10001;
    expect_name("run/", "run/rank00003.tacho");
    place = (struct job_place){ .launcher = "Kubernetes", .rank = 123456, .world_size = -1 };
    expect_name("run/", "run/rank123456.tacho");
    place = (struct job_place){ 0 };
    expect_name("run/", "run/report4.tacho");
}

static void names_that_mean_nothing(void **state)
{
    static const char *const wrong[] = { "", "%z", "end%", "%q", "%q{", "%q{}", "%q{SURELY_NOT_SET}", "%r", "%r/" };
    struct text out = { 0 };

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct output_naming naming = { .pattern = wrong[i], .place = &place, .pid = 1, .number = 1 };
        if (output_name(&out, &naming, &err) != ERR_BAD_ARGUMENT)
            fail_msg("accepted: %s", wrong[i]);
    }
    text_free(&out);
}

static void the_next_free_number(void **state)
{
    struct text out = { 0 };
    struct output_naming naming = { .pattern = "free%n", .place = &place, .pid = 1, .number = 1 };

    write_file("free1.tacho", "");
    write_file("free2.tacho", "");
    assert_int_equal(output_name_free(&out, &naming, &err), 0);
    assert_string_equal(text_string(&out), "free3.tacho");
    assert_int_equal(naming.number, 3);
    /* taken, but that is for the writer to say */
    naming.pattern = "free1";
    assert_int_equal(output_name_free(&out, &naming, &err), 0);
    assert_string_equal(text_string(&out), "free1.tacho");
    assert_int_equal(naming.uses_number, 0);
    text_free(&out);
}

/* ---- limits of containers -------------------------------------------------------------------------------------- */

static void write_below(const char *root, const char *path, const char *content)
{
    char full[512];

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0777);
        *slash = '/';
    }
    write_file(full, content);
}

static void limits_of_version_two(void **state)
{
    write_below("./v2", "/proc/self/cgroup", "0::/pod/app\n");
    write_below("./v2", "/sys/fs/cgroup/pod/app/memory.max", "max\n");
    write_below("./v2", "/sys/fs/cgroup/pod/app/pids.max", "100\n");
    write_below("./v2", "/sys/fs/cgroup/pod/app/pids.current", "7\n");
    write_below("./v2", "/sys/fs/cgroup/pod/memory.max", "1048576\n");
    write_below("./v2", "/sys/fs/cgroup/pod/memory.current", "4096\n");
    write_below("./v2", "/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
    struct cgroup_limits limits = cgroup_read("./v2");
    assert_int_equal(limits.memory_bytes, 1048576); /* of the parent: the tightest counts */
    assert_int_equal(limits.memory_used_bytes, 4096);
    assert_int_equal(limits.pids, 100);
    assert_int_equal(limits.pids_used, 7);
    assert_true(limits.cpus == 1.5);
}

static void limits_of_version_one(void **state)
{
    write_below("./v1", "/proc/self/cgroup", "5:memory:/docker/abc\n3:pids:/docker/abc\n2:cpu,cpuacct:/docker/abc\n");
    /* the host's folder is not seen in there */
    write_below("./v1", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "2097152\n");
    write_below("./v1", "/sys/fs/cgroup/pids/docker/abc/pids.max", "max\n");
    write_below("./v1", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    write_below("./v1", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    struct cgroup_limits limits = cgroup_read("./v1");
    assert_int_equal(limits.memory_bytes, 2097152);
    assert_int_equal(limits.pids, -1);
    assert_true(limits.cpus == 0.5);
}

static void no_limits(void **state)
{
    write_below("./v0", "/proc/self/cgroup", "5:memory:/\n");
    write_below("./v0", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    struct cgroup_limits limits = cgroup_read("./v0");
    assert_int_equal(limits.memory_bytes, -1);
    assert_int_equal(cgroup_read("./nothing-here").memory_bytes, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(sources_of_programs_that_use_them),
        cmocka_unit_test(windows_of_steps),
        cmocka_unit_test(options_of_sources),
        cmocka_unit_test(a_command_line_of_nsys),
        cmocka_unit_test(sources),
        cmocka_unit_test(exports),
        cmocka_unit_test(options_without_effect),
        cmocka_unit_test(times_and_sizes),
        cmocka_unit_test(capture_ranges),
        cmocka_unit_test(the_programs_surroundings),
        cmocka_unit_test(domains),
        cmocka_unit_test(options_from_a_file),
        cmocka_unit_test(command_files_are_read_whole),
        cmocka_unit_test(names_that_do_not_fit),
        cmocka_unit_test(names_of_reports),
        cmocka_unit_test(names_of_ranks),
        cmocka_unit_test(names_that_mean_nothing),
        cmocka_unit_test(the_next_free_number),
        cmocka_unit_test(limits_of_version_two),
        cmocka_unit_test(limits_of_version_one),
        cmocka_unit_test(no_limits),
    };

    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
