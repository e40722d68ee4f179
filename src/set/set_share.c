/* The files of a divided job; see set_share.h.
 *
 * KEY.N.begun      host, pid and start of the process that makes share N
 * KEY.N.share      the share
 * KEY.N.collector  who collects; of several, the one with the greatest N: the others were found dead
 * KEY.done         all was printed although a process had not come: it must not begin anew */
#include "set_share.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

enum {
    LEAST_WAIT_S = 60,        /* for processes whose end cannot be seen from here: on other hosts, or not yet started */
    WAIT_TIMES = 10,          /* or this many times what the own share took */
    FORGOTTEN_AFTER_S = 3600, /* a collector of another run, if several share the folder */
    POLL_MS = 20,
    MOST_COLLECTORS = 16,
    PATH_ROOM = 4096,
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void path_of(const struct set_share *share, size_t number, const char *what, char path[PATH_ROOM])
{
    snprintf(path, PATH_ROOM, "%s/%016" PRIx64 ".%zu.%s", share->folder, share->key, number, what);
}

static void done_path(const struct set_share *share, char path[PATH_ROOM])
{
    snprintf(path, PATH_ROOM, "%s/%016" PRIx64 ".done", share->folder, share->key);
}

static int exists(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0;
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

/* A host that can see our processes by their numbers: its boot id and pid namespace. */
static void add_host(struct text *out)
{
    char link[64];
    ssize_t length = readlink("/proc/self/ns/pid", link, sizeof link - 1);

    if (text_add_file(out, "/proc/sys/kernel/random/boot_id") != 0)
        text_add(out, "unknown\n");
    while (out->length && text_string(out)[out->length - 1] == '\n')
        text_cut(out, out->length - 1);
    text_addf(out, "/%.*s", length > 0 ? (int)length : 0, link);
}

/* When a process started, in ticks; "" if there is none, or it has ended and is not reaped yet. */
static void add_start(struct text *out, long pid)
{
    char path[64], *field;
    struct text line = { 0 };

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (text_add_file(&line, path) != 0 || !(field = strrchr(text_string(&line), ')')) || field[1] == '\0' ||
        field[2] == 'Z' || field[2] == 'X')
        goto free_line;
    for (int i = 0; i < 20 && field; i++)
        field = strchr(field + 1, ' ');
    if (field)
        text_add_bytes(out, field + 1, strcspn(field + 1, " "));
free_line:
    text_free(&line);
}

static void add_self(struct text *out)
{
    add_host(out);
    text_addf(out, " %ld ", (long)getpid());
    add_start(out, (long)getpid());
}

/* Whether the process that a file names has ended. Of one on another host that is not known. */
static int has_ended(const char *path)
{
    struct text named = { 0 }, host = { 0 }, start = { 0 };
    int ended = 0;

    add_host(&host);
    text_add_char(&host, ' ');
    if (text_add_file(&named, path) == 0 && text_begins_with(text_string(&named), text_string(&host))) {
        char *behind;
        long pid = strtol(text_string(&named) + host.length, &behind, 10);
        add_start(&start, pid);
        ended = !start.length || strcmp(behind + (*behind == ' '), text_string(&start)) != 0;
    }
    text_free(&named);
    text_free(&host);
    text_free(&start);
    return ended;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Writes under a name of its own first, so that no reader sees a half. */
static int write_whole(const char *path, const struct text *bytes, struct error *err)
{
    char temporary[PATH_ROOM + 64];
    struct text host = { 0 };

    add_host(&host);
    snprintf(temporary, sizeof temporary, "%s.%zx-%ld", path, (size_t)host.length, (long)getpid());
    text_free(&host);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t done = 0;
    while (fd >= 0 && done < bytes->length) {
        ssize_t written = write(fd, text_string(bytes) + done, bytes->length - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            goto failed;
        done += (size_t)written;
    }
    if (fd >= 0 && close(fd) == 0 && rename(temporary, path) == 0)
        return 0;
    fd = -1;
failed:
    error_set_errno(err, "cannot write '%s'; name a folder that all processes can write to: --share-folder", path);
    if (fd >= 0)
        close(fd);
    unlink(temporary);
    return err->code;
}

int set_share_begin(struct set_share *share, struct error *err)
{
    char path[PATH_ROOM];
    struct text self = { 0 };

    share->begin_ns = now_ns();
    if (strlen(share->folder) > PATH_ROOM / 2)
        return error_set(err, ERR_BAD_ARGUMENT, "the name of the folder for shares is too long");
    if (mkdir(share->folder, 0777) != 0 && errno != EEXIST)
        return error_set_errno(err,
                               "cannot create the folder '%s'; name one that all processes can write to: "
                               "--share-folder",
                               share->folder);
    done_path(share, path);
    if (share->role == SHARE_OF_JOB && share->is_of_one_run && exists(path))
        return 1;
    if (share->role == SHARE_MERGE)
        return 0;
    add_self(&self);
    path_of(share, share->index, "begun", path);
    int code = write_whole(path, &self, err);
    text_free(&self);
    return code;
}

int set_share_put(const struct set_share *share, size_t index, struct text *bytes, struct error *err)
{
    char path[PATH_ROOM];
    uint64_t hash = hash_bytes(text_string(bytes), bytes->length);

    path_of(share, index, "share", path);
    text_add_bytes(bytes, &hash, sizeof hash);
    return write_whole(path, bytes, err);
}

int set_share_get(const struct set_share *share, size_t index, struct text *out, struct error *err)
{
    char path[PATH_ROOM];
    uint64_t hash;

    path_of(share, index, "share", path);
    if (text_add_file(out, path) != 0 || out->length < sizeof hash)
        return error_set(err, ERR_CORRUPT, "cannot read '%s'", path);
    memcpy(&hash, text_string(out) + out->length - sizeof hash, sizeof hash);
    text_cut(out, out->length - sizeof hash);
    if (hash != hash_bytes(text_string(out), out->length))
        return error_set(err, ERR_CORRUPT, "'%s' is damaged", path);
    return 0;
}

/* ---- who collects ---------------------------------------------------------------------------------------------- */

/* Whether a file that announces a process may be of this run. An earlier one that was killed left others. */
static int is_recent(const struct set_share *share, const char *begun)
{
    char own[PATH_ROOM];
    struct stat file, mine;

    path_of(share, share->index, "begun", own);
    return stat(begun, &file) == 0 &&
           (share->role != SHARE_OF_JOB || stat(own, &mine) != 0 || mine.st_mtime - file.st_mtime <= LEAST_WAIT_S);
}

static int is_forgotten(const struct set_share *share, const char *path)
{
    struct stat file;

    return has_ended(path) ||
           (!share->is_of_one_run && stat(path, &file) == 0 && time(NULL) - file.st_mtime > FORGOTTEN_AFTER_S);
}

int set_share_collects(const struct set_share *share)
{
    char path[PATH_ROOM];

    if (share->role != SHARE_OF_JOB)
        return share->role == SHARE_MERGE;
    path_of(share, share->index, "begun", path);
    if (!exists(path))
        return 0; /* too late: another process did not wait any longer */
    for (size_t i = 0; i < MOST_COLLECTORS; i++) {
        struct text self = { 0 };
        path_of(share, i, "collector", path);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            add_self(&self);
            int is_written = write(fd, text_string(&self), self.length) == (ssize_t)self.length;
            text_free(&self);
            close(fd);
            return is_written || exists(path);
        }
        if (errno != EEXIST || !is_forgotten(share, path))
            return 0;
    }
    return 0;
}

const char *set_share_wait(const struct set_share *share, size_t index)
{
    char made[PATH_ROOM], begun[PATH_ROOM];
    int64_t own = share->role == SHARE_OF_JOB ? now_ns() - share->begin_ns : 0;
    int64_t most = share->wait_s >= 0                                      ? share->wait_s * 1000000000
                   : own * WAIT_TIMES > (int64_t)LEAST_WAIT_S * 1000000000 ? own * WAIT_TIMES
                                                                           : (int64_t)LEAST_WAIT_S * 1000000000;

    path_of(share, index, "share", made);
    path_of(share, index, "begun", begun);
    if (share->role == SHARE_MERGE)
        most = 0;
    for (int64_t begin = now_ns();;) {
        int ended = is_recent(share, begun) && has_ended(begun);
        if (exists(made)) /* looked at last: it may have been written right before the end */
            return NULL;
        if (ended)
            return "ended early";
        if (now_ns() - begin >= most)
            return is_recent(share, begun) ? "did not finish in time" : "did not start";
        nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
    }
}

void set_share_end(const struct set_share *share)
{
    static const char *const kinds[] = { "share", "begun" };
    char path[PATH_ROOM];
    int all_came = 1;

    for (size_t i = 0; i < share->count; i++) {
        path_of(share, i, "begun", path);
        all_came &= exists(path);
    }
    if (!all_came && share->role == SHARE_OF_JOB && share->is_of_one_run) {
        done_path(share, path);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd >= 0)
            close(fd);
    }
    for (size_t i = 0; i < share->count; i++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
            path_of(share, i, kinds[kind], path);
            unlink(path);
        }
    for (size_t i = 0; i < MOST_COLLECTORS; i++) {
        path_of(share, i, "collector", path);
        unlink(path);
    }
    rmdir(share->folder); /* fails if there is more in it */
}
