/* tacho ncu PROGRAM: runs it as `tacho profile --gpu-counters` does, and prints the page of the report. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd/profile/output_name.h"
#include "cmd/profile/profile_run.h"
#include "ncu_command.h"
#include "ncu_outcome.h"
#include "ncu_replay.h"

enum { WORDS_BEFORE_PROGRAM = 80 }; /* 34 of them for ranges */

struct ncu_program_job {
    const struct command *self;
    const struct ncu_settings *settings;
    char folder[256];        /* folder of a temporary report; "": there is none */
    char runs[256];          /* folder of the reports of runs before the last; "": there are none */
    struct ncu_groups groups;
    size_t run;              /* index of the group, from 0 */
    int log;                 /* descriptor that the pages go to */
    int is_refused;          /* launches were not counted for another reason than a filter */
    int failed;              /* exit status, if the runs do not fit together */
    struct signals *signals; /* the actions of signals before the runs */
    struct text report, counters, filters, ranges, replay, max_time;
};

static void ncu_program_note(const struct ncu_program_job *job, const char *sentence)
{
    if (!job->settings->quiet)
        fprintf(stderr, "tacho %s: %s\n", job->self->name, sentence);
}

/* ---- After the program ----------------------------------------------------------------------------------------- */

/* --log-file is opened before the program runs: if that is not possible, nothing is lost. */
static int open_log(struct ncu_program_job *job, struct error *err)
{
    const char *file = job->settings->log_file;

    job->log = STDOUT_FILENO;
    if (file && strcmp(file, "stderr") == 0)
        job->log = STDERR_FILENO;
    else if (file && strcmp(file, "stdout") != 0)
        job->log = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return job->log < 0 ? error_set(err, ERR_IO, "cannot write '%s': %s", file, strerror(errno)) : 0;
}

/* From here on, stdout is the log. */
static void redirect(const struct ncu_program_job *job)
{
    fflush(stdout);
    if (job->log != STDOUT_FILENO)
        dup2(job->log, STDOUT_FILENO);
}

/* Launches that were recorded but not counted, for no other reason, did not match. */
static void ncu_program_tell_uncounted(const struct ncu_program_job *job, const struct ncu_outcome *outcome)
{
    struct text sentence = { 0 };

    text_add(&sentence, "no kernel was counted");
    if (outcome->launches && !job->is_refused && (job->filters.length || job->ranges.length))
        text_addf(&sentence, ": %llu launch%s, none matched: %s", (unsigned long long)outcome->launches,
                  outcome->launches == 1 ? "" : "es", text_string(&outcome->names));
    ncu_program_note(job, text_string(&sentence));
    text_free(&sentence);
}

static void tell_caches(const struct ncu_program_job *job, const struct ncu_outcome *outcome)
{
    const char *caches = job->settings->cache_control;

    if ((outcome->passes > 1 || (outcome->passes && job->groups.count > 1)) && (!caches || strcmp(caches, "none") != 0))
        ncu_program_note(
            job, "caches are not flushed between passes, unlike ncu's default; --cache-control none hides this note");
}

static void print_page(const struct ncu_program_job *job, const char *path, const struct ncu_outcome *outcome)
{
    struct ncu_settings settings = *job->settings;
    struct text out = { 0 };
    struct error err = { 0 };

    settings.import = path;
    settings.is_run = 1;
    if (ncu_import(&out, &settings, &err) == 0) {
        redirect(job);
        command_write(job->self, &out);
    } else if (err.code == ERR_NO_DATA) {
        ncu_program_tell_uncounted(job, outcome);
    } else {
        command_fail(job->self, &err);
    }
    text_free(&out);
}

static void remove_temporary(struct ncu_program_job *job)
{
    if (!*job->folder)
        return;
    unlink(text_string(&job->report));
    rmdir(job->folder);
    *job->folder = 0;
}

static void path_of_run(const struct ncu_program_job *job, size_t run, char *path, size_t room)
{
    snprintf(path, room, "%s/%zu.tacho", job->runs, run);
}

/* The values of the runs before this one are added to its report. */
static void merge_runs(struct ncu_program_job *job, const char *report)
{
    char paths[NCU_RUNS_MOST][300];
    const char *others[NCU_RUNS_MOST];
    struct error err = { 0 };

    for (size_t i = 0; i < job->run; i++) {
        path_of_run(job, i, paths[i], sizeof paths[i]);
        others[i] = paths[i];
    }
    if (job->run && ncu_replay_merge(report, others, job->run, &err) != 0)
        job->failed = command_fail(job->self, &err);
}

static void remove_runs(struct ncu_program_job *job)
{
    char path[300];

    if (!*job->runs)
        return;
    for (size_t i = 0; i < job->groups.count; i++) {
        path_of_run(job, i, path, sizeof path);
        unlink(path);
    }
    rmdir(job->runs);
    *job->runs = 0;
}

static void take_report(void *context, const struct collect_result *result, const char *path)
{
    struct ncu_program_job *job = context;
    const struct ncu_settings *settings = job->settings;
    int is_last = job->run + 1 >= job->groups.count;
    struct ncu_outcome outcome;

    for (size_t i = 0; i < result->warning_count && is_last; i++) {
        ncu_program_note(job, result->warnings[i]);
        job->is_refused |= strstr(result->warnings[i], "ot counted") != NULL;
    }
    if (!is_last)
        return;
    merge_runs(job, path);
    remove_runs(job);
    ncu_outcome_read(&outcome, path);
    tell_caches(job, &outcome);
    if (!job->failed && (!settings->export || settings->page || settings->csv))
        print_page(job, path, &outcome);
    ncu_outcome_free(&outcome);
    remove_temporary(job);
}

/* ---- The command line ------------------------------------------------------------------------------------------ */

/* A backslash of an expression must survive the splitting of the list. */
static void ncu_program_add_names(struct text *out, const struct option_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        text_add(out, out->length ? "," : "");
        for (const char *c = list->values[i]; *c; c++)
            text_addf(out, *c == '\\' ? "\\%c" : "%c", *c);
    }
}

/* Makes a folder with a name of its own; its path is written to `folder`, which is empty after a failure. */
static int ncu_program_make_folder(char *folder, size_t room, const char *purpose, struct error *err)
{
    int length = snprintf(folder, room, "%s/tacho-ncu-XXXXXX", path_temporary());

    if ((size_t)length < room && mkdtemp(folder))
        return 0;
    error_set(err, ERR_IO, "cannot make a folder for %s, '%.300s': %s", purpose, folder,
              (size_t)length < room ? strerror(errno) : "the path is too long (TMPDIR)");
    *folder = 0;
    return err->code;
}

static int name_report(struct ncu_program_job *job, struct error *err)
{
    if (job->settings->export) {
        text_add(&job->report, job->settings->export);
        return 0;
    }
    if (ncu_program_make_folder(job->folder, sizeof job->folder, "the report", err) != 0)
        return err->code;
    text_addf(&job->report, "%s/report.tacho", job->folder);
    return 0;
}

static int check_replay(const char *mode, struct error *err)
{
    if (mode && strcmp(mode, "kernel") != 0 && strcmp(mode, "application") != 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--replay-mode %s is not supported: ranges are not replayed; use kernel or application", mode);
    return 0;
}

/* Every metric has the unit of the chip before two underscores; regex: and the like have a colon. */
static int check_metrics(const struct option_list *lists, struct error *err)
{
    for (size_t i = 0; i < lists->count; i++) {
        char **names = option_split(lists->values[i], NULL);
        if (!names)
            return error_no_memory(err);
        for (char **name = names; *name && !err->code; name++)
            if (text_begins_with(*name, "pmsampling:"))
                error_set(err, ERR_BAD_ARGUMENT,
                          "%s is a metric over time: 'tacho profile --gpu-metrics-devices all --gpu-metrics-set %s' "
                          "samples it",
                          *name, *name + strlen("pmsampling:"));
            else if (!strstr(*name, "__") && !strchr(*name, ':'))
                error_set(err, ERR_BAD_ARGUMENT, "there is no metric '%s' (--query-metrics)", *name);
        free(names);
    }
    return err->code;
}

/* A report that is there is refused before the program runs. The message names our own option, which takes no value. */
static int check_export(const struct ncu_settings *settings, struct error *err)
{
    struct job_place place = job_place_own();
    struct output_naming naming = { .pattern = settings->export, .place = &place, .number = 1 };
    struct text path = { 0 };

    if (settings->export && !settings->overwrite && output_name_free(&path, &naming, err) == 0 &&
        access(text_string(&path), F_OK) == 0)
        error_set(err, ERR_EXISTS, "'%.400s' exists already: choose another name, or overwrite it with -f",
                  text_string(&path));
    text_free(&path);
    return err->code;
}

static int ncu_program_prepare(struct ncu_program_job *job, struct error *err)
{
    const struct ncu_settings *settings = job->settings;
    double seconds;

    if (check_metrics(&settings->metrics, err) != 0 ||
        (settings->max_time && option_seconds("max-time", settings->max_time, &seconds, err) != 0) ||
        check_replay(settings->replay_mode, err) != 0 || ncu_add_filters(&job->filters, settings, err) != 0 ||
        ncu_add_ranges(&job->ranges, settings, err) != 0 || open_log(job, err) != 0)
        return err->code;
    ncu_program_add_names(&job->counters, &settings->sets);
    ncu_program_add_names(&job->counters, &settings->sections);
    ncu_program_add_names(&job->counters, &settings->metrics);
    if (!job->counters.length)
        text_add(&job->counters, "basic");
    if (settings->replay_mode)
        text_addf(&job->replay, "--gpu-counters-replay=%s", settings->replay_mode);
    if (settings->max_time)
        text_addf(&job->max_time, "--gpu-counters-max-time=%s", settings->max_time);
    return check_export(settings, err) != 0 ? err->code : name_report(job, err);
}

static void tell_differences(const struct ncu_program_job *job)
{
    const struct ncu_settings *settings = job->settings;
    const char *clocks = settings->clock_control, *which = settings->target_processes;

    if (clocks && strcmp(clocks, "none") != 0)
        ncu_program_note(job, "clocks are not locked: nvidia-smi --lock-gpu-clocks does it for root");
    if (which && strcmp(which, "all") != 0)
        ncu_program_note(job,
                         "--target-processes application-only has no effect: kernels of all processes are counted");
}

/* --range-filter chooses ranges of cudaProfilerStart(). */
static int has_profiler_ranges(const struct ncu_settings *settings)
{
    const char *first = settings->range_filter ? strchr(settings->range_filter, ':') : NULL;

    return first && first[1] != ':';
}

static int run_profile(struct ncu_program_job *job, const char *const *program, size_t count)
{
    const struct ncu_settings *settings = job->settings;
    char **words = calloc(WORDS_BEFORE_PROGRAM + count + 1, sizeof *words);
    struct profile_follower then = { take_report, job };
    struct command profile = *command_find("profile");
    size_t at = 0;

    if (!words)
        return EXIT_FAILED;
    const char *const first[] = { "profile",
                                  "-q",
                                  "-s",
                                  "none",
                                  "-t",
                                  settings->nvtx || job->ranges.length ? "cuda,nvtx" : "cuda",
                                  "-f",
                                  settings->overwrite ? "true" : "false",
                                  "-o",
                                  text_string(&job->report),
                                  "--gpu-counters",
                                  text_string(&job->counters),
                                  NULL };
    for (const char *const *word = first; *word; word++)
        words[at++] = (char *)*word;
    if (job->filters.length) {
        words[at++] = (char *)"--gpu-counters-filter";
        words[at++] = (char *)text_string(&job->filters);
    }
    if (job->replay.length)
        words[at++] = (char *)text_string(&job->replay);
    if (job->max_time.length)
        words[at++] = (char *)text_string(&job->max_time);
    for (char *rule = job->ranges.bytes, *stop; rule && (stop = strchr(rule, '\n')); rule = stop + 1) {
        *stop = 0;
        words[at++] = (char *)"--gpu-counters-range";
        words[at++] = rule;
    }
    if (!settings->from_start || has_profiler_ranges(settings)) {
        words[at++] = (char *)"--capture-range=cudaProfilerApi";
        words[at++] = (char *)"--capture-range-end=repeat";
    }
    for (size_t i = 0; i < count; i++)
        words[at++] = (char *)program[i];
    profile.name = job->self->name;
    int status = profile_run(&profile, (int)at, words, &then);
    free(words);
    return status;
}

/* ---- Several runs ---------------------------------------------------------------------------------------------- */

/* During the runs before the last, a signal that would end tacho ends the run instead. No other run begins; tacho
 * removes their reports and ends. SIGINT comes from the terminal, which sends it to the run, too. */
static const int ends[] = { SIGTERM, SIGHUP, SIGINT };
enum { ENDS = COUNT_OF(ends) };
static volatile sig_atomic_t child, ended_by;

struct signals {
    struct sigaction actions[ENDS];
};

static void ncu_program_pass_on(int signal)
{
    ended_by = signal;
    if (child > 0 && signal != SIGINT)
        kill((pid_t)child, signal);
}

static void block_ends(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ENDS; i++)
        sigaddset(&set, ends[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

/* Signals that tacho was started with ignored stay so. */
static void watch_ends(struct signals *before)
{
    struct sigaction action = { .sa_handler = ncu_program_pass_on };

    for (size_t i = 0; i < ENDS; i++) {
        sigaction(ends[i], NULL, &before->actions[i]);
        if (before->actions[i].sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
    }
}

static void unwatch_ends(const struct signals *before)
{
    for (size_t i = 0; i < ENDS; i++)
        sigaction(ends[i], &before->actions[i], NULL);
}

/* Runs the program in a process of its own, because tacho ends as the program does. Returns its exit status; negative:
 * a signal ended it. The signals wait until each of the two processes is ready for them. */
static int run_apart(struct ncu_program_job *job, const char *const *program, size_t count)
{
    sigset_t mask;
    int status = 0;

    fflush(NULL);
    block_ends(&mask);
    child = ended_by ? -1 : (sig_atomic_t)fork();
    if (child == 0) {
        unwatch_ends(job->signals);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        status = run_profile(job, program, count);
        fflush(NULL);
        _exit(status);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    while (child > 0 && waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR)
        ;
    int is_made = child > 0;
    child = 0;
    if (ended_by)
        return -ended_by;
    return !is_made ? EXIT_FAILED : WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int ncu_program_run_group(struct ncu_program_job *job, const char *const *program, size_t count)
{
    struct text report = job->report;
    char path[300];

    text_clear(&job->counters);
    text_add(&job->counters, job->groups.metrics[job->run]);
    if (job->run + 1 == job->groups.count) {
        unwatch_ends(job->signals);
        return run_profile(job, program, count);
    }
    path_of_run(job, job->run, path, sizeof path);
    job->report = (struct text){ 0 };
    text_add(&job->report, path);
    int status = run_apart(job, program, count);
    text_free(&job->report);
    job->report = report;
    return status;
}

/* Once for each group of metrics; a run that a signal ends is the last. */
static int ncu_program_run_groups(struct ncu_program_job *job, const char *const *program, size_t count)
{
    char sentence[96];
    struct error err = { 0 };
    struct signals before;
    int status = 0;

    job->signals = &before;
    watch_ends(&before);
    if (ncu_program_make_folder(job->runs, sizeof job->runs, "the reports of the runs", &err) != 0) {
        unwatch_ends(&before);
        return command_fail(job->self, &err);
    }
    snprintf(sentence, sizeof sentence, "the program runs %zu times (--replay-mode application)", job->groups.count);
    ncu_program_note(job, sentence);
    for (; job->run < job->groups.count && status >= 0; job->run++)
        status = ncu_program_run_group(job, program, count);
    remove_runs(job); /* the last run has made no report if they are still there */
    unwatch_ends(&before);
    if (status < 0) {
        error_set(&err, ERR_UNSUPPORTED, "signal %d ended the program in run %zu of %zu", -status, job->run,
                  job->groups.count);
        return command_fail(job->self, &err);
    }
    return job->failed ? job->failed : status;
}

/* One run, or one for each group of metrics. Without tacho-gpu or a GPU, one run says why nothing is counted. */
static int ncu_program_run(struct ncu_program_job *job, const char *const *program, size_t count)
{
    const char *mode = job->settings->replay_mode;
    struct error err = { 0 };

    if (!mode || strcmp(mode, "application") != 0)
        return run_profile(job, program, count);
    int code = ncu_replay_groups(&job->groups, job->settings, &err);
    if (code != 0 || job->groups.count <= 1)
        ncu_replay_free(&job->groups);
    if (code == ERR_BAD_ARGUMENT)
        return command_fail(job->self, &err);
    return job->groups.count ? ncu_program_run_groups(job, program, count) : run_profile(job, program, count);
}

int ncu_run_program(const struct command *self, const struct ncu_settings *settings, const char *const *program,
                    size_t count)
{
    struct ncu_program_job job = { .self = self, .settings = settings };
    struct error err = { 0 };
    int status;

    if (ncu_program_prepare(&job, &err) != 0) {
        status = command_fail(self, &err);
    } else {
        tell_differences(&job);
        status = ncu_program_run(&job, program, count);
        ncu_replay_free(&job.groups);
        remove_temporary(&job);
    }
    text_free(&job.report);
    text_free(&job.counters);
    text_free(&job.filters);
    text_free(&job.ranges);
    text_free(&job.replay);
    text_free(&job.max_time);
    return status;
}
