/* Signals and the end of a capture: see shutdown.h.
 *
 * Signals are read from a signalfd, which reports who sent them. A signal from the terminal has reached the program
 * too; one from kill() was meant for us and is passed on. Signals that were ignored when we started (nohup) stay
 * ignored. */
#include "shutdown.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "capture.h"
#include "ending.h"
#include "process_watch.h"
#include "recording.h"

#define GRACE_SECONDS 5           /* from the signal to the report, for a program that does not end by itself */
#define KILL_SECONDS 5            /* from the kill signal to leaving */
#define HURRY_MICROSECONDS 500000 /* the same after an interrupt */
/* From the end of recording to the kill signal, for records that agents still have to deliver. */
#define PATIENCE_NS 250000000
/* From the kill signal to leaving at once, for processes that are certain to end. */
#define CERTAINTY_NS 3000000000
#define NAMED_MAX 4

static const struct {
    int number;
    int ends_capture; /* after the grace period, whatever the program does */
} handled[] = {
    { SIGINT, 1 }, { SIGTERM, 1 }, { SIGHUP, 1 }, { SIGQUIT, 0 }, { SIGUSR1, 0 }, { SIGUSR2, 0 }, { SIGWINCH, 0 },
};
#define HANDLED_COUNT COUNT_OF(handled)

/* ---- Taking over and restoring --------------------------------------------------------------------------------- */

static sigset_t wanted_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < HANDLED_COUNT; i++) {
        struct sigaction action;
        if (sigaction(handled[i].number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&set, handled[i].number);
    }
    return set;
}

void shutdown_block_signals(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    sigset_t set = wanted_signals();
    struct sigaction normal = { .sa_handler = SIG_DFL }, ignored = { .sa_handler = SIG_IGN };
    sigprocmask(SIG_BLOCK, &set, &capture->old_mask);
    sigaction(SIGCHLD, &normal, &capture->old_child); /* if it was ignored, the kernel would keep no exit status */
    sigaction(SIGPIPE, &ignored, &capture->old_pipe);
    /* With SIGXFSZ ignored, a report that exceeds the limit is an error like a full disk. */
    sigaction(SIGXFSZ, &ignored, &capture->old_file_size);
    getrlimit(RLIMIT_NOFILE, &collector->old_files);
    getrlimit(RLIMIT_FSIZE, &capture->old_bytes);
}

void shutdown_give_back(const struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    sigaction(SIGCHLD, &capture->old_child, NULL);
    sigaction(SIGPIPE, &capture->old_pipe, NULL);
    sigaction(SIGXFSZ, &capture->old_file_size, NULL);
    setrlimit(RLIMIT_NOFILE, &collector->old_files);
    setrlimit(RLIMIT_FSIZE, &capture->old_bytes);
}

void shutdown_restore_signals(struct collector *collector)
{
    shutdown_give_back(collector);
    sigprocmask(SIG_SETMASK, &capture_of(collector)->old_mask, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* ---- Messages for the user who waits --------------------------------------------------------------------------- */

/* Adds "2 processes: sleep (pid 7), cat (pid 8)", with or without an agent, and returns the number of processes. */
static size_t shutdown_add_running(const struct collector *collector, struct text *text)
{
    struct procfs_tree tree = procfs_descendants(getpid(), &capture_of(collector)->strangers);
    struct text names = { 0 };
    size_t running = 0;
    for (size_t i = 0; i < tree.count; i++) {
        char name[64];
        if (tree.list[i].is_dead || ++running > NAMED_MAX)
            continue;
        procfs_name(tree.list[i].pid, name, sizeof name);
        text_addf(&names, "%s%s (pid %d)", running > 1 ? ", " : "", name, (int)tree.list[i].pid);
    }
    text_addf(text, "%zu process%s: %s%s", running, running == 1 ? "" : "es", text_string(&names),
              running > NAMED_MAX ? ", …" : "");
    text_free(&names);
    free(tree.list);
    return running;
}

static void say_who_is_waited_for(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    struct capture *capture = capture_of(collector);
    const struct collect_options *options = collector->options;
    struct text sentence = { 0 };
    int some;
    if (capture->leaving || !options->tell)
        return;
    if (ending_waits_for_time(collector)) {
        some = 1;
        text_addf(&sentence,
                  "the program has exited; the capture continues until %.3g s have passed (--duration). Press Ctrl-C "
                  "to end it",
                  (double)options->duration_ns / 1e9);
    } else {
        text_add(&sentence, "waiting for ");
        some = shutdown_add_running(collector, &sentence) > 0;
        text_add(&sentence, capture->shutting_down || collector->result->interrupted
                                ? "; at most a few seconds. Press Ctrl-C to stop at once"
                                : ". Press Ctrl-C to end the capture");
    }
    if (some)
        options->tell(options->tell_context, text_string(&sentence));
    text_free(&sentence);
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

static void send_kill_signal(struct collector *collector)
{
    if (collector->result->ending == COLLECT_RUNNING)
        collector->result->kill_sent = collector->options->kill_signal;
    process_kill_all(collector, collector->options->kill_signal);
}

/* Does the agent still have records to deliver? */
static int shutdown_is_awaited(struct process *process)
{
    for (int i = 0; i < COLLECT_SOURCE_COUNT; i++)
        if (collect_sources[i]->is_awaited && collect_sources[i]->is_awaited(process))
            return 1;
    return 0;
}

/* The capture is over and the program still runs: gives the agents a moment to deliver their last records, before the
 * signal kills them or they are left alone. */
static void await_last_records(struct collector *collector)
{
    int64_t end_ns = collector_now(collector) + PATIENCE_NS;
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        while (shutdown_is_awaited(process) && collector_now(collector) < end_ns)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Gives processes that were sent the kill signal a moment to end, so that none is said to run on that is gone. One that
 * has nothing to set against it will end: it has more time, for on a busy machine even that takes some. */
static void await_ends(struct collector *collector)
{
    int64_t sent_ns = collector_now(collector);
    for (struct process *process = collector->processes->first_live; process; process = process->next_live) {
        int withstands = procfs_withstands(process->pid, collector->options->kill_signal);
        int64_t end_ns = sent_ns + (withstands ? PATIENCE_NS : CERTAINTY_NS);
        while (!process_is_gone(process) && collector_now(collector) < end_ns)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

static void shut_down(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    capture->shutting_down = 1;
    recording_end(collector, collector_now(collector));
    await_last_records(collector);
    process_reap(collector);
    if (collector->options->kill_signal == 0 || !capture->children_left) {
        ending_leave(collector);
        return;
    }
    send_kill_signal(collector);
    ending_say_soon(collector);
    struct timeval wait = { KILL_SECONDS, 0 };
    if (collector->result->interrupted)
        wait = (struct timeval){ 0, HURRY_MICROSECONDS };
    evtimer_add(capture->grace, &wait);
}

static void grace_over(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    if (capture_of(collector)->shutting_down)
        ending_leave(collector);
    else
        shut_down(collector);
}

/* ---- Signals --------------------------------------------------------------------------------------------------- */

/* Passes a signal to the program, which knows its children; if it has ended, to the processes that it left behind. */
static void shutdown_pass_on(struct collector *collector, int signal)
{
    if (collector->primary && collector->result->ending == COLLECT_RUNNING)
        kill(collector->primary->pid, signal);
    else
        process_kill_all(collector, signal);
}

static void shutdown_end_capture(struct collector *collector, int signal)
{
    struct capture *capture = capture_of(collector);
    if (collector->result->interrupted) { /* the second signal: end at once */
        capture->shutting_down = 1;
        recording_end(collector, collector_now(collector));
        if (collector->options->kill_signal) {
            send_kill_signal(collector);
            await_ends(collector);
        }
        ending_leave(collector);
        return;
    }
    collector->result->interrupted = signal;
    if (!capture->shutting_down) {
        struct timeval wait = { GRACE_SECONDS, 0 };
        evtimer_add(capture->grace, &wait);
        ending_say_soon(collector);
    }
    ending_check(collector);
}

static void shutdown_handle(struct collector *collector, const struct signalfd_siginfo *info)
{
    int signal = (int)info->ssi_signo;
    /* Sent by a process, not by the terminal or the kernel. */
    if (info->ssi_code <= 0 && !collector->options->announce)
        shutdown_pass_on(collector, signal);
    for (size_t i = 0; i < HANDLED_COUNT; i++)
        if (handled[i].number == signal && handled[i].ends_capture)
            shutdown_end_capture(collector, signal);
}

static void read_signals(evutil_socket_t descriptor, short what, void *argument)
{
    struct collector *collector = argument;
    struct signalfd_siginfo info;
    while (read(descriptor, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue; /* one signal may stand for several children: process_reap() below finds them */
        shutdown_handle(collector, &info);
    }
    process_reap(collector);
    ending_check(collector);
}

static _Noreturn void be_orphan(int answer, pid_t parent)
{
    while (getppid() == parent)
        nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
    pid_t reaper = getppid();
    ssize_t ignored = write(answer, &reaper, sizeof reaper);
    (void)ignored;
    _exit(0);
}

/* The process that adopts our orphans: init, or a process above us that is a subreaper. Only an orphan can ask the
 * kernel for it, so we make one. */
static pid_t find_reaper(void)
{
    pid_t reaper = 1;
    int ends[2];
    if (getpid() == 1 || pipe2(ends, O_CLOEXEC) != 0)
        return reaper;
    pid_t parent = fork();
    if (parent == 0) {
        pid_t self = getpid();
        if (fork() == 0)
            be_orphan(ends[1], self);
        _exit(0);
    }
    close(ends[1]);
    if (parent < 0 || waitpid(parent, NULL, 0) != parent ||
        read(ends[0], &reaper, sizeof reaper) != (ssize_t)sizeof reaper)
        reaper = 1;
    close(ends[0]);
    return reaper;
}

int shutdown_init(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    sigset_t set = wanted_signals();
    capture->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (capture->signal_fd < 0)
        return -1;
    capture->signals = event_new(collector->base, capture->signal_fd, EV_READ | EV_PERSIST, read_signals, collector);
    capture->grace = evtimer_new(collector->base, grace_over, collector);
    capture->notice = evtimer_new(collector->base, say_who_is_waited_for, collector);
    if (!capture->signals || !capture->grace || !capture->notice || event_add(capture->signals, NULL) != 0)
        return -1;
    process_note_strangers(collector);
    capture->orphan_parent = find_reaper();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct rlimit files = { collector->old_files.rlim_max, collector->old_files.rlim_max };
    struct rlimit bytes = { capture->old_bytes.rlim_max, capture->old_bytes.rlim_max };
    setrlimit(RLIMIT_NOFILE, &files); /* a pidfd for each process */
    setrlimit(RLIMIT_FSIZE, &bytes);  /* the arenas are files too */
    return 0;
}

void shutdown_free(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    if (capture->signals)
        event_free(capture->signals);
    if (capture->grace)
        event_free(capture->grace);
    if (capture->notice)
        event_free(capture->notice);
    if (capture->signal_fd >= 0)
        close(capture->signal_fd);
    free(capture->strangers.list);
}
