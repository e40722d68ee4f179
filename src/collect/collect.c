/* The sequence of a capture: sets up everything in order, runs the event loop, writes the last rows, and takes
 * everything down. Everything else is in the folders below; this file knows no source by name. */
#include "collect.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/saturating.h"
#include "collect/capture/capture_new.h"
#include "collect/capture/cost_limit.h"
#include "collect/capture/disk_losses.h"
#include "collect/capture/drain.h"
#include "collect/capture/drain_rounds.h"
#include "collect/capture/ending.h"
#include "collect/capture/environment.h"
#include "collect/capture/launch.h"
#include "collect/capture/process_end.h"
#include "collect/capture/process_watch.h"
#include "collect/capture/program_output.h"
#include "collect/capture/recording.h"
#include "collect/capture/self_capture.h"
#include "collect/capture/session.h"
#include "collect/capture/shutdown.h"
#include "collect/core/agent_file.h"
#include "collect/core/overhead.h"
#include "collect/core/variables.h"
#include "collect/process/program_file.h"

#define FIRST_BASELINE_NS 2000000      /* between the first two clock readings: an error of 20 ns in 2 ms is 10 ppm */
#define FIRST_CALIBRATION_NS 10000000  /* the first interval; each one after it is longer */
#define LAST_CALIBRATION_NS 1000000000 /* the longest interval */
#define TICK_US 400000                 /* the file lags behind the program by little more than this */
/* Ticks between two searches for processes without an agent, each of which reads all of /proc, and for new names of
 * threads. */
#define TICKS_A_LOOK 3

/* ---- Clocks ---------------------------------------------------------------------------------------------------- */

/* -1: the kernel does not say, or a sandbox forbids the question. */
static int64_t utc_error_ns(void)
{
    struct timex clock = { 0 };

    return adjtimex(&clock) < 0 || clock.maxerror < 0 ? -1 : saturating_multiply(clock.maxerror, 1000);
}

static void clock_row(struct collector *collector, const struct clock_pair *pair)
{
    struct row_TACHO_CLOCK row = { 0 };
    ROW_SET(&row, TACHO_CLOCK, timestamp, clock_map_monotonic(&collector->clock, pair->monotonic_ns));
    ROW_SET(&row, TACHO_CLOCK, ticks, (int64_t)pair->ticks);
    ROW_SET(&row, TACHO_CLOCK, monotonicNs, pair->monotonic_ns);
    ROW_SET(&row, TACHO_CLOCK, utcNs, pair->utc_ns);
    ROW_SET(&row, TACHO_CLOCK, errorNs, pair->error_ns);
    int64_t utc_error = utc_error_ns();
    if (utc_error >= 0)
        ROW_SET(&row, TACHO_CLOCK, utcErrorNs, utc_error);
    writer_append(collector->writer, TABLE_TACHO_CLOCK, &row);
}

static int start_clock(struct collector *collector)
{
    enum wire_clock clock = clock_choose();
    struct clock_pair first = clock_read_pair(clock);
    struct timespec pause = { 0, FIRST_BASELINE_NS };
    if (clock == WIRE_CLOCK_COUNTER)
        nanosleep(&pause, NULL);
    struct clock_pair second = clock_read_pair(clock);
    capture_of(collector)->next_calibration_ns = FIRST_CALIBRATION_NS;
    return clock_map_init(&collector->clock, clock, &first, &second);
}

static void calibrate(struct collector *collector, int64_t next_ns)
{
    struct clock_pair pair = clock_read_pair(collector->clock.clock);
    clock_map_add(&collector->clock, &pair, next_ns);
    clock_row(collector, &pair);
}

static void calibrate_and_go_on(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    struct capture *capture = capture_of(collector);
    int64_t next = capture->next_calibration_ns * 4 < LAST_CALIBRATION_NS ? capture->next_calibration_ns * 4
                                                                          : LAST_CALIBRATION_NS;
    calibrate(collector, next);
    capture->next_calibration_ns = next;
    struct timeval wait = { next / 1000000000, next / 1000 % 1000000 };
    evtimer_add(capture->calibrate, &wait);
}

/* ---- The regular tick ------------------------------------------------------------------------------------------ */

static void describe_incomplete(const struct collector *collector, const struct error *err, char *text, size_t size)
{
    if (err->code == ERR_NO_SPACE)
        snprintf(
            text, size,
            "The disk is full: no space is left for %.300s. The report has everything that was written before; the "
            "rest is lost, and counted. Free space, or write elsewhere with -o FILE.",
            capture_of(collector)->output_path);
    else
        snprintf(text, size, "The report is incomplete: %.500s.", err->text);
}

static void collect_flush(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    struct error err;
    if (writer_flush(collector->writer, &err) == 0 || capture->flush_failed)
        return;
    capture->flush_failed = 1;
    char text[600];
    describe_incomplete(collector, &err, text, sizeof text);
    collector_warn(collector, 0, "%s", text);
}

static void collect_tick(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    struct capture *capture = capture_of(collector);
    process_poll(collector);
    drain_report_counts(collector);
    if (++collector->ticks % TICKS_A_LOOK == 0) {
        drain_report_names(collector);
        process_find_unseen(collector);
    }
    children_settle(collector, 0, process_begun);
    SOURCES_CALL(tick, collector);
    unattached_read(collector, capture->session.folder.path);
    program_output_read(&capture->streams);
    collect_flush(collector);
    process_reap(collector);
    ending_check(collector);
}

static int start_timers(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    struct timeval often = { 0, TICK_US }, soon = { 0, FIRST_CALIBRATION_NS / 1000 };
    capture->tick = event_new(collector->base, -1, EV_PERSIST, collect_tick, collector);
    capture->calibrate = evtimer_new(collector->base, calibrate_and_go_on, collector);
    if (!capture->tick || !capture->calibrate)
        return -1;
    event_add(capture->tick, &often);
    evtimer_add(capture->calibrate, &soon);
    drain_rounds_start(collector);
    return cost_limit_start(collector);
}

/* ---- The program ----------------------------------------------------------------------------------------------- */

static int descriptors_short(struct error *err)
{
    struct rlimit files = { 0 };
    getrlimit(RLIMIT_NOFILE, &files);
    return error_set(err, ERR_DENIED,
                     "cannot start the capture: tacho has too few file descriptors (ulimit -n is %llu). Raise the "
                     "limit: ulimit -n 1024",
                     (unsigned long long)files.rlim_cur);
}

static int not_started(struct collector *collector, int error, struct error *err)
{
    struct collect_result *result = collector->result;
    if (error == EMFILE) /* ours: the program does not run yet */
        return descriptors_short(err);
    result->ending = COLLECT_NOT_STARTED;
    result->start_errno = error;
    result->exit_status = error == ENOENT ? 127 : 126;
    if (error == ENOENT)
        return error_set(err, ERR_NOT_FOUND, "cannot run %s: its interpreter does not exist",
                         collector->options->argv[0]);
    return error_set(err, ERR_DENIED, "cannot run %s: %s", collector->options->argv[0], strerror(error));
}

static int prepare_program(struct collector *collector, struct launch *launch, const struct program_file *program,
                           const char *agent_path, struct error *err)
{
    struct capture *capture = capture_of(collector);
    char **environment = environment_build(collector->options, program,
                                           session_agent_path(&capture->session, agent_path),
                                           capture->session.variable);
    if (!environment)
        return error_set(err, ERR_NO_MEMORY, "out of memory while starting the program");
    int failed = launch_prepare(launch, collector, program, environment);
    environment_free(environment); /* the child has its own copy */
    return failed ? not_started(collector, -failed, err) : 0;
}

static int start_program(struct collector *collector, struct launch *launch, struct error *err)
{
    struct capture *capture = capture_of(collector);
    struct process still_ours = { .pid = launch->pid };
    process_sample_cpu(&still_ours);
    capture->launch_cpu_ns = still_ours.cpu_ns;
    capture->launch_ns = collector_now(collector);
    int failed = launch_go(launch);
    if (failed)
        return not_started(collector, -failed, err);
    collector->result->ending = COLLECT_RUNNING;
    capture->children_left = 1;
    collector->primary = process_add(collector, launch->pid, getpid(), "launch");
    if (!collector->primary)
        return error_set(err, ERR_NO_MEMORY, "out of memory while starting the program");
    collector->primary->start_ns = capture->launch_ns;
    collector->primary->cpu_before_ns = capture->launch_cpu_ns;
    collector->primary->is_primary = collector->primary->is_child = 1;
    process_describe(collector->primary);
    if (!collector->primary->command_id) /* it has ended already */
        collector->primary->command_id = collector_string(collector, collector->options->argv[0]);
    process_watch(collector->primary);
    return 0;
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

static void note_left(struct collect_result *result, const struct process *process)
{
    if (result->left_count < COLLECT_LEFT_MAX) {
        struct collect_left *left = &result->left[result->left_count];
        left->pid = process->pid;
        memcpy(left->name, process->name, sizeof left->name);
    }
    result->left_count++;
}

/* Processes that outlive the capture stop recording, are read a last time and then left alone. When many processes end
 * at once, we may notice the end of the last one before that of others. */
static void finish_processes(struct collector *collector)
{
    process_reap(collector);
    for (struct process *process = collector->processes->first; process; process = process->next) {
        if (process->ending != PROCESS_RUNS)
            continue;
        process_end(process, process_is_gone(process) ? PROCESS_LOST : PROCESS_RUNS, 0, collector_now(collector));
        if (process->ending == PROCESS_RUNS)
            note_left(collector->result, process);
    }
}

static void write_details(struct collector *collector, int64_t end_ns)
{
    struct capture *capture = capture_of(collector);
    struct row_ANALYSIS_DETAILS row = { 0 };
    ROW_SET(&row, ANALYSIS_DETAILS, globalVid, COLLECTOR_VM_ID);
    ROW_SET(&row, ANALYSIS_DETAILS, duration, end_ns - capture->launch_ns);
    ROW_SET(&row, ANALYSIS_DETAILS, startTime, capture->launch_ns);
    ROW_SET(&row, ANALYSIS_DETAILS, stopTime, end_ns);
    writer_append(collector->writer, TABLE_ANALYSIS_DETAILS, &row);
}

static void write_cost(struct collector *collector, const char *source, int64_t ns)
{
    struct row_TACHO_COST row = { 0 };
    if (ns <= 0)
        return;
    ROW_SET(&row, TACHO_COST, source, collector_string(collector, source));
    ROW_SET(&row, TACHO_COST, ns, ns);
    writer_append(collector->writer, TABLE_TACHO_COST, &row);
}

/* What the report's last lines need, and no other table has. */
static void write_capture(struct collector *collector, int64_t end_ns)
{
    static const char *const overs[] = {
        [COLLECT_OVER_PROGRAM] = "program",
        [COLLECT_OVER_DURATION] = "duration",
        [COLLECT_OVER_RANGE] = "range",
    };
    const struct collect_result *result = collector->result;
    struct row_TACHO_CAPTURE row = { 0 };
    ROW_SET(&row, TACHO_CAPTURE, timestamp, end_ns);
    ROW_SET(&row, TACHO_CAPTURE, over,
            collector_string(collector, result->interrupted ? "signal" : overs[result->over]));
    if (result->kill_sent)
        ROW_SET(&row, TACHO_CAPTURE, killSignal, result->kill_sent);
    ROW_SET(&row, TACHO_CAPTURE, cpuNs, result->cpu_ns);
    ROW_SET(&row, TACHO_CAPTURE, costNs, result->cost_ns);
    ROW_SET(&row, TACHO_CAPTURE, startCostNs, result->start_cost_ns);
    ROW_SET(&row, TACHO_CAPTURE, ownCpuNs, clock_ns(CLOCK_PROCESS_CPUTIME_ID) + result->children_ns);
    if (result->python.processes)
        ROW_SET(&row, TACHO_CAPTURE, pythonCpuNs, result->python.cpu_ns);
    ROW_SET(&row, TACHO_CAPTURE, cutStacks, (int64_t)(result->cpu.cut + result->cpu.broken));
    ROW_SET(&row, TACHO_CAPTURE, throttled, (int64_t)result->cpu.throttled);
    writer_append(collector->writer, TABLE_TACHO_CAPTURE, &row);
    write_cost(collector, "start", result->start_cost_ns);
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
        write_cost(collector, wire_source_name(i), result->source_cost_ns[i]);
}

/* Warns with the range and the domain that the capture waited for, and with the option that would have matched. */
static void tell_which_range(struct collector *collector)
{
    const char *domain = collector->options->range_domain, *elsewhere = capture_of(collector)->recording.elsewhere;
    const char *range = collector->options->range_text ? collector->options->range_text : "*";
    char where[96], hint[320] = "";
    if (!domain || strcmp(domain, "default") == 0)
        snprintf(where, sizeof where, "in the default domain");
    else if (strcmp(domain, "*") == 0)
        snprintf(where, sizeof where, "in any domain");
    else
        snprintf(where, sizeof where, "in domain '%.60s'", domain);
    if (strcmp(elsewhere, "default") == 0)
        snprintf(hint, sizeof hint, " A range of that name started in the default domain: use -p '%.100s'.", range);
    else if (*elsewhere)
        snprintf(hint, sizeof hint,
                 " A range of that name started in domain '%s': use -p "
                 "'%.100s@%s'.",
                 elsewhere, range, elsewhere);
    collector_warn(collector, 0,
                   "Nothing was recorded: no NVTX range named '%.100s' started "
                   "%s.%s",
                   range, where, hint);
}

static void tell_if_nothing_was_recorded(struct collector *collector)
{
    const struct collect_options *options = collector->options;
    if (collector->recorded_ns > 0 || options->sources == 0)
        return;
    if (options->range == COLLECT_RANGE_NVTX)
        tell_which_range(collector);
    else if (options->range == COLLECT_RANGE_API)
        collector_warn(collector, 0,
                       "Nothing was recorded: the program called neither cudaProfilerStart(), cuProfilerStart() nor "
                       "tacho_start().");
    else if (options->range == COLLECT_RANGE_MPI)
        collector_warn(collector, 0, "Nothing was recorded: the program did not call MPI_Pcontrol(1).");
    else if (options->delay_ns > 0)
        collector_warn(collector, 0, "Nothing was recorded: the program exited before --delay had passed.");
}

static void collect_finish(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    struct collect_result *result = collector->result;
    int64_t end_ns = collector_now(collector);
    recording_end(collector, end_ns);
    SOURCES_CALL(end, collector);
    calibrate(collector, LAST_CALIBRATION_NS);
    finish_processes(collector);
    children_settle(collector, 1, process_begun_at_end);
    SOURCES_CALL(finish, collector);
    program_output_store(collector);
    write_details(collector, end_ns);
    if (result->ending == COLLECT_RUNNING) {
        result->wall_ns = end_ns - capture->launch_ns;
        for (struct process *process = collector->processes->first; process; process = process->next)
            if (process->ending == PROCESS_RUNS && process->cpu_ns > 0)
                result->cpu_ns += process->cpu_ns;
    }
    result->captured_ns = collector->recorded_ns;
    result->process_count = collector->processes->count;
    result->thread_count = collector->processes->threads;
    overhead_estimate(result);
    tell_if_nothing_was_recorded(collector);
    cost_limit_finish(collector);
    unattached_read(collector, capture->session.folder.path);
    children_count_unrecorded(collector);
    unattached_tell(collector);
    SOURCES_CALL(stop, collector);
    write_capture(collector, end_ns);
    collect_flush(collector); /* makes all losses known; the writer keeps room for the counts in reserve */
    disk_losses_count(collector);
}

static void collect_close_report(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    struct collect_result *result = collector->result;
    struct error err = { 0 };
    result->report_error = writer_close(collector->writer, &err);
    struct stat status;
    result->report_bytes = stat(capture->output_path, &status) == 0 ? (uint64_t)status.st_size : 0;
    collector->writer = NULL;
    if (result->report_error && !capture->flush_failed && result->warning_count < COLLECT_WARNINGS_MAX) {
        char text[600];
        describe_incomplete(collector, &err, text, sizeof text);
        result->warnings[result->warning_count] = strdup(text);
        result->warning_count += result->warnings[result->warning_count] != NULL;
    }
}

static void discard_report(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    struct stat status;
    writer_close(collector->writer, NULL);
    collector->writer = NULL;
    if (lstat(capture->output_path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(capture->output_path);
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

static int collect_set_up(struct collector *collector, struct error *err)
{
    collector->base = event_base_new();
    if (!collector->base || start_clock(collector) != 0)
        return error_set(err, ERR_NO_MEMORY, "out of memory while starting the capture");
    int failed = session_open(collector, err);
    if (failed)
        return failed;
    if (recording_init(collector) != 0 || drain_rounds_init(collector) != 0 || shutdown_init(collector) != 0)
        return error_set_errno(err, "cannot start the capture");
    if (collector->options->hide_output && program_output_open(&capture_of(collector)->streams) != 0)
        return error_set_errno(err, "cannot create a memory file for the program's output");
    return 0;
}

/* Opens the report once the program's process exists but has not run yet, since the report's name may contain the
 * pid. */
static int collect_open_report(struct collector *collector, pid_t pid, struct error *err)
{
    struct capture *capture = capture_of(collector);
    const struct collect_options *options = collector->options;
    struct writer_options how = {
        .overwrite = options->overwrite,
        .workers = options->writer_workers,
        .level = options->writer_level,
    };
    capture->output_path = options->output_path;
    int failed = options->name_output ? options->name_output(options->name_context, pid, &capture->output_path, err)
                                      : 0;
    if (failed)
        return failed;
    failed = writer_open(capture->output_path, &how, &collector->writer, err);
    if (failed == ERR_EXISTS)
        return error_set(err, ERR_EXISTS, "'%.400s' exists already: choose another name, or overwrite it with -f true",
                         capture->output_path);
    if (failed)
        return failed;
    capture->absolute_path = realpath(capture->output_path, NULL);
    clock_row(collector, &collector->clock.pairs[1]);
    machine_describe(collector);
    return 0;
}

/* launch: NULL if the process runs already. */
static int collect_run_loop(struct collector *collector, struct launch *launch, struct error *err)
{
    struct capture *capture = capture_of(collector);
    SOURCES_CALL(begin, collector, launch ? launch->pid : 0);
    recording_begin(collector);
    int failed = launch ? start_program(collector, launch, err) : self_capture_start(collector, err);
    if (!failed && start_timers(collector) != 0)
        failed = error_set(err, ERR_NO_MEMORY, "out of memory while starting the program");
    if (failed) {
        SOURCES_CALL(stop, collector);
        discard_report(collector);
        return failed;
    }
    event_base_dispatch(collector->base);
    int64_t over_ns = collector_now(collector);
    collect_finish(collector);
    collect_close_report(collector);
    int last_was_primary = collector->options->wait_primary || collector->processes->count == 1;
    collector->result->finish_ns = collector_now(collector) -
                                   (last_was_primary && capture->ended_ns ? capture->ended_ns : over_ns);
    return 0;
}

static int capture_program(struct collector *collector, const struct program_file *program, const char *agent_path,
                           struct error *err)
{
    struct launch launch;
    int failed = collect_set_up(collector, err);
    if (!failed)
        failed = prepare_program(collector, &launch, program, agent_path, err);
    if (failed)
        return failed;
    failed = collect_open_report(collector, launch.pid, err);
    if (failed) {
        launch_cancel(&launch);
        return failed;
    }
    if (program->warning[0])
        collector_warn(collector, 0, "%s", program->warning);
    collector->program_cause = program->cause;
    agent_files_check(collector, agent_path);
    SOURCES_CALL(check, collector, agent_path);
    return collect_run_loop(collector, &launch, err);
}

static int capture_caller(struct collector *collector, const char *agent_path, struct error *err)
{
    int failed = collect_set_up(collector, err);
    if (!failed)
        failed = collect_open_report(collector, getppid(), err);
    if (failed)
        return failed;
    collector->options->announce(collector->options->announce_context, capture_of(collector)->session.variable,
                                 agent_path);
    return collect_run_loop(collector, NULL, err);
}

static void take_down(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    struct event *events[] = { capture->tick, capture->calibrate, capture->hang_up };
    process_table_free(collector);
    children_free(collector);
    unattached_free(collector);
    SOURCES_CALL(free, collector);
    session_close(collector);
    recording_free(collector);
    cost_limit_free(collector);
    drain_rounds_free(collector);
    shutdown_free(collector);
    program_output_close(&capture->streams);
    for (size_t i = 0; i < COUNT_OF(events); i++)
        if (events[i])
            event_free(events[i]);
    if (collector->base)
        event_base_free(collector->base);
    clock_map_free(&collector->clock);
    free(capture->absolute_path);
    shutdown_restore_signals(collector);
}

static int collect_find_program(struct program_file *program, const struct collect_options *options,
                                struct collect_result *result, struct error *err)
{
    const char *search_path = variables_value(options, "PATH");
    int failed = program_file_find(program, options->argv[0], search_path, &result->exit_status, err);
    if (failed)
        result->start_errno = failed == ERR_NOT_FOUND ? ENOENT : EACCES;
    else
        program_file_inspect(program, search_path);
    return failed;
}

int collect_run(const struct collect_options *options, struct collect_result *result, struct error *err)
{
    memset(result, 0, sizeof *result);
    struct program_file program;
    int failed = options->announce ? 0 : collect_find_program(&program, options, result, err);
    if (failed)
        return failed;
    const char *agent_path = options->agent_path ? options->agent_path : collect_agent_path(err);
    if (!agent_path)
        return ERR_NOT_FOUND;
    struct capture *capture = capture_new(options, result);
    if (!capture)
        return error_set(err, ERR_NO_MEMORY, "out of memory while starting the capture");
    struct collector *collector = &capture->collector;
    shutdown_block_signals(collector); /* before the writer starts threads, which inherit the mask */
    failed = options->announce ? capture_caller(collector, agent_path, err)
                               : capture_program(collector, &program, agent_path, err);
    take_down(collector);
    capture_free(capture);
    return failed;
}

void collect_result_free(struct collect_result *result)
{
    for (size_t i = 0; i < result->warning_count; i++)
        free(result->warnings[i]);
    result->warning_count = 0;
}
