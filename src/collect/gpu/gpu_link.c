/* The program gets one socket as its standard input and output. It shares standard error with us only if
 * TACHO_GPU_DEBUG is set: libraries of others write there. */
#include "gpu_link.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/install_place.h"
#include "base/newfile.h"

extern char **environ;

#define HELPER_PLACE "lib/tacho/tacho-gpu" /* from the folder above bin */

enum { OPTIONS_MOST = 16, LONG_BYTES = 1 << 15, READ_BYTES = 1 << 16, END_MS = 2000, KILLED_MS = 2000 };

static void gpu_link_find_program(char path[INSTALL_PLACE_BYTES])
{
    const char *chosen = getenv("TACHO_GPU_HELPER");

    if (chosen && *chosen)
        snprintf(path, INSTALL_PLACE_BYTES, "%s", chosen);
    else
        install_place(path, HELPER_PLACE);
}

/* A word of a command line has at most 128 KiB: long options go into a file, each with its NUL. Its descriptor is above
 * those that the program gets; -1: it could not be made. */
static int long_options(const char *const *options)
{
    int made = memfd_create("tacho-gpu", MFD_CLOEXEC);
    int file = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, GPU_OPTIONS_FD + 1);
    int failed = file < 0;

    for (; *options && !failed; options++)
        if (strlen(*options) + 1 > LONG_BYTES)
            failed = newfile_write(file, *options, strlen(*options) + 1) != 0;
    if (made >= 0)
        close(made);
    if (failed && file >= 0)
        close(file);
    return failed || lseek(file, 0, SEEK_SET) != 0 ? -1 : file;
}

/* `file`: the long options; -1: there are none. */
static int gpu_link_spawn(struct gpu_link *link, char *const *words, int socket, int file)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;

    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    if (file >= 0)
        posix_spawn_file_actions_adddup2(&actions, file, GPU_OPTIONS_FD);
    if (!getenv("TACHO_GPU_DEBUG"))
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(&link->pid, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

int gpu_link_start(struct gpu_link *link, const char *mode, const char *const *options, struct error *err)
{
    char path[INSTALL_PLACE_BYTES];
    const char *words[OPTIONS_MOST + 3] = { path, mode };
    int ends[2], words_count = 2, has_long = 0, file = -1;

    *link = (struct gpu_link){ .fd = -1 };
    gpu_link_find_program(path);
    for (size_t i = 0; options[i] && words_count < OPTIONS_MOST + 1; i++)
        if (strlen(options[i]) < LONG_BYTES)
            words[words_count++] = options[i];
        else
            has_long = 1;
    if (has_long && (file = long_options(options)) < 0)
        return error_set_errno(err, "cannot pass long lists to %s", path);
    if (has_long)
        words[words_count++] = GPU_OPTION_LONG "=1";
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        if (file >= 0)
            close(file);
        return error_set_errno(err, "cannot make a socket for %s", path);
    }
    int failed = gpu_link_spawn(link, (char *const *)words, ends[1], file);
    if (file >= 0)
        close(file);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        link->pid = 0;
        return error_set(err, ERR_NOT_FOUND, "cannot run %s, which reads the GPUs: %s (it needs glibc 2.28 or later)",
                         path, strerror(failed));
    }
    link->fd = ends[0];
    return 0;
}

static void hang_up(struct gpu_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
}

static int gpu_link_fail(struct gpu_link *link, struct error *err, const char *why)
{
    hang_up(link);
    return error_set(err, ERR_BAD_FORMAT, "tacho-gpu sent %s", why);
}

/* Moves what is left to the front, so that frames stay aligned, and makes room after it. */
static int gpu_link_make_room(struct gpu_link *link, size_t bytes)
{
    if (link->from)
        memmove(link->bytes, link->bytes + link->from, link->to - link->from);
    link->to -= link->from;
    link->from = 0;
    return array_reserve(&link->bytes, &link->capacity, link->to + bytes, 1);
}

/* 1: bytes have come; 0: none yet, or the end. */
static int receive(struct gpu_link *link, int wait, struct error *err)
{
    for (;;) {
        ssize_t got = recv(link->fd, link->bytes + link->to, link->capacity - link->to, wait ? 0 : MSG_DONTWAIT);
        if (got > 0) {
            link->to += (size_t)got;
            return 1;
        }
        if (got < 0 && errno == EINTR) {
            if (wait)
                return error_set(err, ERR_CANCELLED, "interrupted");
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        int is_cut = link->to > link->from;
        hang_up(link);
        return is_cut ? gpu_link_fail(link, err, "half a frame and ended") : 0;
    }
}

/* Takes the frame at the front if it is whole: 1. */
static int gpu_link_take(struct gpu_link *link, struct gpu_frame *frame, const void **payload, struct error *err)
{
    size_t has = link->to - link->from;

    if (has < sizeof *frame)
        return 0;
    memcpy(frame, link->bytes + link->from, sizeof *frame);
    if (frame->bytes > GPU_FRAME_MOST_BYTES || frame->bytes % 8)
        return gpu_link_fail(link, err, "a damaged frame");
    if (has < sizeof *frame + frame->bytes)
        return 0;
    *payload = link->bytes + link->from + sizeof *frame;
    link->from += sizeof *frame + frame->bytes;
    return 1;
}

static int greet(struct gpu_link *link, const struct gpu_frame *frame, const void *payload, struct error *err)
{
    uint64_t magic = 0;

    if (frame->type == GPU_FRAME_HELLO && frame->bytes == sizeof magic)
        memcpy(&magic, payload, sizeof magic);
    link->is_greeted = magic == GPU_HELLO_MAGIC;
    return link->is_greeted
               ? 0
               : gpu_link_fail(link, err, "frames of another version of tacho; install both from one archive");
}

int gpu_link_next(struct gpu_link *link, int wait, struct gpu_frame *frame, const void **payload, struct error *err)
{
    for (;;) {
        int got = gpu_link_take(link, frame, payload, err);
        if (got == 1 && !link->is_greeted) {
            int refused = greet(link, frame, *payload, err);
            if (refused)
                return refused;
            continue;
        }
        if (got || link->fd < 0)
            return got;
        if (gpu_link_make_room(link, READ_BYTES)) {
            hang_up(link);
            return error_set(err, ERR_NO_MEMORY, "out of memory for frames of tacho-gpu");
        }
        got = receive(link, wait, err);
        if (got != 1)
            return got;
    }
}

const struct gpu_values *gpu_frame_values(const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_values *values = payload;

    return frame->bytes >= sizeof *values && (frame->bytes - sizeof *values) / sizeof *values->values >= values->count
               ? values
               : NULL;
}

const char *gpu_frame_refusal(const struct gpu_frame *frame, const void *payload, const struct gpu_refusal **refusal)
{
    *refusal = payload;
    return frame->bytes > sizeof **refusal && ((const char *)payload)[frame->bytes - 1] == 0 ? (*refusal)->text : NULL;
}

const char *gpu_message(char out[GPU_MESSAGE_BYTES], const char *sentence)
{
    size_t length = strlen(sentence);
    int is_word = length > 1 && islower((unsigned char)sentence[1]); /* and no name, as GPU */

    snprintf(out, GPU_MESSAGE_BYTES, "%.*s", (int)(length - (length && sentence[length - 1] == '.')), sentence);
    if (is_word)
        out[0] = (char)tolower((unsigned char)out[0]);
    return out;
}

int gpu_frame_texts(const struct gpu_frame *frame, const void *payload, size_t head, const char **texts, size_t count)
{
    const char *text = (const char *)payload + head, *end = (const char *)payload + frame->bytes;

    for (size_t i = 0; i < count; i++) {
        const char *zero = frame->bytes > head ? memchr(text, 0, (size_t)(end - text)) : NULL;
        if (!zero)
            return -1;
        texts[i] = text;
        text = zero + 1;
    }
    return 0;
}

void gpu_link_finish(struct gpu_link *link)
{
    if (link->fd >= 0)
        shutdown(link->fd, SHUT_WR);
}

int gpu_link_end_within(struct gpu_link *link, int patience_ms)
{
    int status = -1;

    hang_up(link);
    free(link->bytes);
    link->bytes = NULL;
    link->from = link->to = link->capacity = 0;
    for (int waited_ms = 0; link->pid && waitpid(link->pid, &status, WNOHANG) == 0; waited_ms++) {
        if (waited_ms == patience_ms)
            kill(link->pid, SIGKILL);
        if (waited_ms == patience_ms + KILLED_MS)
            break; /* it hangs in the driver, where no signal reaches it */
        poll(NULL, 0, 1);
    }
    link->pid = 0;
    return status;
}

int gpu_link_end(struct gpu_link *link)
{
    return gpu_link_end_within(link, END_MS);
}
