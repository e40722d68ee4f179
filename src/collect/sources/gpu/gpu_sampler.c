/* The lock guards what both threads use. The thread holds it to add frames and to read requests; the main thread to
 * exchange texts. Neither holds it while it does anything else. */
#include "gpu_sampler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/core/procfs.h"
#include "collect/gpu/gpu_link.h"

enum { PENDING_MOST = 64 << 20, SILENCE_INTERVALS = 20, LONGEST_DEVICES = 4096 };
#define SILENCE_LEAST_NS INT64_C(5000000000) /* NVML may take seconds to start on a machine with many GPUs */

/* After the request to end, tacho-gpu may be silent for END_NS, and up to WORK_NS while it works: a busy machine is
 * slow. */
#define END_NS INT64_C(500000000)
#define WORK_NS INT64_C(10000000000)

enum gpu_sampler_request { REQUEST_NONE, REQUEST_RESTART, REQUEST_STOP };

struct gpu_sampler {
    pthread_t thread;
    int is_joined;
    int wake;             /* an eventfd: a request has come */
    struct gpu_sampler_setup setup;
    struct gpu_link link; /* the thread's */
    int is_heard;         /* the thread's: a frame has come since the last start */

    pthread_mutex_t lock;
    enum gpu_sampler_request request;
    char devices[LONGEST_DEVICES]; /* an option of tacho-gpu; "": all */
    struct text pending;           /* frames that the main thread has not taken */
    uint64_t dropped;
    int is_refused;                /* a frame said why there are no readings */
    int64_t heard_ns;              /* when the last frame came */
    char failure[512];
};

/* ---- The thread ------------------------------------------------------------------------------------------------ */

static enum gpu_sampler_request current_request(struct gpu_sampler *sampler)
{
    uint64_t count;
    ssize_t got = read(sampler->wake, &count, sizeof count);

    (void)got;
    pthread_mutex_lock(&sampler->lock);
    enum gpu_sampler_request request = sampler->request;
    if (request == REQUEST_RESTART)
        sampler->request = REQUEST_NONE;
    pthread_mutex_unlock(&sampler->lock);
    return request;
}

static void gpu_sampler_fail(struct gpu_sampler *sampler, const char *why)
{
    pthread_mutex_lock(&sampler->lock);
    snprintf(sampler->failure, sizeof sampler->failure, "%s", why);
    pthread_mutex_unlock(&sampler->lock);
}

static void gpu_sampler_keep(struct gpu_sampler *sampler, const struct gpu_frame *frame, const void *payload)
{
    pthread_mutex_lock(&sampler->lock);
    sampler->heard_ns = clock_monotonic_ns();
    sampler->is_refused |= frame->type == GPU_FRAME_REFUSAL;
    if (sampler->pending.length + frame->bytes > PENDING_MOST || text_failed(&sampler->pending)) {
        sampler->dropped += frame->type == GPU_FRAME_VALUES;
        if (frame->type == GPU_FRAME_SAMPLES && frame->bytes >= sizeof(struct gpu_samples))
            sampler->dropped += ((const struct gpu_samples *)payload)->count;
    } else if (frame->type != GPU_FRAME_ROUND) {
        text_add_bytes(&sampler->pending, frame, sizeof *frame);
        text_add_bytes(&sampler->pending, payload, frame->bytes);
    }
    pthread_mutex_unlock(&sampler->lock);
}

/* Takes all frames that have come: 0, or an error. */
static int take_frames(struct gpu_sampler *sampler, struct error *err)
{
    struct gpu_frame frame;
    const void *payload;
    int got;

    while ((got = gpu_link_next(&sampler->link, 0, &frame, &payload, err)) == 1) {
        gpu_sampler_keep(sampler, &frame, payload);
        sampler->is_heard = 1;
    }
    return got;
}

static int gpu_sampler_start_process(struct gpu_sampler *sampler, struct error *err)
{
    char devices[LONGEST_DEVICES];
    const char *options[] = { sampler->setup.options[0], sampler->setup.options[1], devices, NULL };

    pthread_mutex_lock(&sampler->lock);
    memcpy(devices, sampler->devices, sizeof devices);
    sampler->heard_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&sampler->lock);
    sampler->is_heard = 0;
    options[2] = *devices ? devices : NULL;
    return gpu_link_start(&sampler->link, sampler->setup.mode, options, err);
}

static int gpu_sampler_is_silent(struct gpu_sampler *sampler)
{
    int64_t most_ns = SILENCE_INTERVALS * sampler->setup.interval_ns;

    pthread_mutex_lock(&sampler->lock);
    int64_t since_ns = clock_monotonic_ns() - sampler->heard_ns;
    pthread_mutex_unlock(&sampler->lock);
    return since_ns > (most_ns > SILENCE_LEAST_NS ? most_ns : SILENCE_LEAST_NS);
}

/* Reads frames until the program ends, or a request comes. */
static enum gpu_sampler_request read_until_request(struct gpu_sampler *sampler)
{
    enum gpu_sampler_request request = REQUEST_NONE;
    struct error err = { 0 };

    while (request == REQUEST_NONE && sampler->link.fd >= 0) {
        struct pollfd ready[] = { { .fd = sampler->link.fd, .events = POLLIN },
                                  { .fd = sampler->wake, .events = POLLIN } };
        int count = poll(ready, 2, 1000);
        if (take_frames(sampler, &err) < 0)
            gpu_sampler_fail(sampler, err.text);
        if (count > 0 && ready[1].revents)
            request = current_request(sampler);
        if (request == REQUEST_NONE && gpu_sampler_is_silent(sampler)) {
            gpu_sampler_fail(sampler, "tacho-gpu does not answer");
            kill(sampler->link.pid, SIGKILL); /* gpu_link_end() would wait for it */
            break;
        }
    }
    return request;
}

static int ms_until(int64_t end_ns)
{
    int64_t left_ns = end_ns - clock_monotonic_ns();

    return left_ns > 0 ? (int)(left_ns / 1000000) : 0;
}

/* Reads the remaining frames. Returns the deadline for the end of the program. */
static int64_t read_rest(struct gpu_sampler *sampler)
{
    struct pollfd ready = { .fd = sampler->link.fd, .events = POLLIN };
    int64_t end_ns = clock_monotonic_ns() + END_NS, heard_ns = clock_monotonic_ns();
    uint64_t cpu_ticks = 0;
    struct error err = { 0 };

    gpu_link_finish(&sampler->link);
    procfs_has_worked(sampler->link.pid, &cpu_ticks);
    while (sampler->link.fd >= 0) {
        int has_more = poll(&ready, 1, ms_until(end_ns)) > 0;
        if (has_more && take_frames(sampler, &err) < 0)
            gpu_sampler_fail(sampler, err.text);
        end_ns = clock_monotonic_ns() + END_NS;
        heard_ns = has_more ? end_ns : heard_ns;
        if (!has_more && (end_ns - heard_ns > WORK_NS || !procfs_has_worked(sampler->link.pid, &cpu_ticks)))
            break;
    }
    return end_ns;
}

/* The end of a program that nobody asked to end. */
static void note_end(struct gpu_sampler *sampler, int status)
{
    char why[sizeof sampler->failure] = "";

    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "tacho-gpu was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (WIFEXITED(status))
        snprintf(why, sizeof why, "tacho-gpu ended with status %d", WEXITSTATUS(status));
    else
        snprintf(why, sizeof why, "tacho-gpu hangs in the driver and cannot be killed");
    pthread_mutex_lock(&sampler->lock);
    if (!*sampler->failure && (WIFSIGNALED(status) || !sampler->is_refused))
        memcpy(sampler->failure, why, sizeof why);
    pthread_mutex_unlock(&sampler->lock);
}

/* Its readings come on time, or it waits for a CPU. */
static int is_lively(struct gpu_sampler *sampler)
{
    pthread_mutex_lock(&sampler->lock);
    int64_t since_ns = clock_monotonic_ns() - sampler->heard_ns;
    pthread_mutex_unlock(&sampler->lock);
    return sampler->is_heard && (since_ns <= 3 * sampler->setup.interval_ns ||
                                 procfs_has_worked(sampler->link.pid, &(uint64_t){ UINT64_MAX }));
}

/* The program has been asked to end, and frames of it are missing. Where nobody asked for readings, a program that
 * ended before the first of them is no failure. */
static void note_cut(struct gpu_sampler *sampler)
{
    if (sampler->is_heard)
        gpu_sampler_fail(sampler,
                         "tacho-gpu did not answer at the end and was killed: its last samples may be missing");
    else if (sampler->setup.is_asked)
        gpu_sampler_fail(sampler, "tacho-gpu had read no GPU when the program ended");
}

/* Asks the program to end and waits for it: its wait status. One that has more frames may take its time while they
 * come. Else a program that has sent nothing for a while is not worth a wait. */
static int end_program(struct gpu_sampler *sampler, enum gpu_sampler_request request)
{
    int is_whole = is_lively(sampler);
    int64_t end_ns = clock_monotonic_ns() + (is_whole ? END_NS : 0);

    if (sampler->setup.has_rest) {
        end_ns = read_rest(sampler);
        is_whole = sampler->link.fd < 0;
    }
    if (!is_whole && request == REQUEST_STOP)
        note_cut(sampler);
    return gpu_link_end_within(&sampler->link, ms_until(end_ns));
}

static void *gpu_sampler_run(void *argument)
{
    struct gpu_sampler *sampler = argument;
    enum gpu_sampler_request request;

    do {
        struct error err = { 0 };
        if (gpu_sampler_start_process(sampler, &err) != 0) {
            gpu_sampler_fail(sampler, err.text);
            return NULL;
        }
        request = read_until_request(sampler);
        int has_ended = sampler->link.fd < 0;
        int status = has_ended ? gpu_link_end(&sampler->link) : end_program(sampler, request);
        if (has_ended || request == REQUEST_NONE || (WIFEXITED(status) && WEXITSTATUS(status) != 0))
            note_end(sampler, status);
    } while (request == REQUEST_RESTART);
    return NULL;
}

/* ---- Functions for the main thread ----------------------------------------------------------------------------- */

static void gpu_sampler_choose_devices(struct gpu_sampler *sampler, const char *devices)
{
    sampler->devices[0] = 0;
    if (devices)
        snprintf(sampler->devices, sizeof sampler->devices, "devices=%s", devices);
}

struct gpu_sampler *gpu_sampler_start(const struct gpu_sampler_setup *setup)
{
    struct gpu_sampler *sampler = calloc(1, sizeof *sampler);

    if (!sampler)
        return NULL;
    sampler->setup = *setup;
    sampler->link.fd = -1;
    gpu_sampler_choose_devices(sampler, setup->devices);
    pthread_mutex_init(&sampler->lock, NULL);
    sampler->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sampler->wake >= 0 && pthread_create(&sampler->thread, NULL, gpu_sampler_run, sampler) == 0)
        return sampler;
    sampler->is_joined = 1;
    gpu_sampler_free(sampler);
    return NULL;
}

void gpu_sampler_await(struct gpu_sampler *sampler, int64_t most_ns)
{
    int64_t end_ns = clock_monotonic_ns() + most_ns;
    int is_over = 0;

    while (!is_over && clock_monotonic_ns() < end_ns) {
        pthread_mutex_lock(&sampler->lock);
        is_over = sampler->pending.length || *sampler->failure;
        pthread_mutex_unlock(&sampler->lock);
        if (!is_over)
            poll(NULL, 0, 1);
    }
}

static void gpu_sampler_ask(struct gpu_sampler *sampler, enum gpu_sampler_request request)
{
    uint64_t one = 1;

    sampler->request = request;
    ssize_t wrote = write(sampler->wake, &one, sizeof one);
    (void)wrote;
}

void gpu_sampler_set_devices(struct gpu_sampler *sampler, const char *devices)
{
    pthread_mutex_lock(&sampler->lock);
    gpu_sampler_choose_devices(sampler, devices);
    gpu_sampler_ask(sampler, REQUEST_RESTART);
    pthread_mutex_unlock(&sampler->lock);
}

uint64_t gpu_sampler_take(struct gpu_sampler *sampler, struct text *frames)
{
    pthread_mutex_lock(&sampler->lock);
    uint64_t dropped = sampler->dropped;
    text_add_bytes(frames, sampler->pending.bytes, sampler->pending.length);
    text_clear(&sampler->pending);
    sampler->dropped = 0;
    pthread_mutex_unlock(&sampler->lock);
    return dropped;
}

const char *gpu_sampler_failure(struct gpu_sampler *sampler)
{
    pthread_mutex_lock(&sampler->lock);
    const char *failure = *sampler->failure ? sampler->failure : NULL; /* set once */
    pthread_mutex_unlock(&sampler->lock);
    return failure;
}

void gpu_sampler_stop(struct gpu_sampler *sampler)
{
    pthread_mutex_lock(&sampler->lock);
    gpu_sampler_ask(sampler, REQUEST_STOP);
    pthread_mutex_unlock(&sampler->lock);
}

void gpu_sampler_join(struct gpu_sampler *sampler)
{
    if (!sampler->is_joined)
        pthread_join(sampler->thread, NULL);
    sampler->is_joined = 1;
}

void gpu_sampler_free(struct gpu_sampler *sampler)
{
    if (!sampler)
        return;
    if (!sampler->is_joined)
        gpu_sampler_stop(sampler);
    gpu_sampler_join(sampler);
    if (sampler->wake >= 0)
        close(sampler->wake);
    text_free(&sampler->pending);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler);
}
