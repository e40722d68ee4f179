/* The files of a divided job; see set_share.h.
 *
 * KEY.N.begun      host, pid and start of the process that makes share N
 * KEY.N.share      the share
 * KEY.N.collector  who collects, touched as long as it waits; of several, the one with the greatest N: the others are
 *                  dead, or seem to be
 * KEY.done         all was printed although a process had not come: it must not begin anew
 *
 * Ages are those that the file system gives: they compare files with each other, never with the clock of this host. */
#include "set_share.h"

#include <dirent.h>
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
#include "base/newfile.h"

enum {
    LEAST_WAIT_S = 60, /* for processes whose end cannot be seen from here: on other hosts, or not yet started */
    WAIT_TIMES = 10,   /* or this many times the duration of the own share */
    POLL_MS = 20,
    MOST_COLLECTORS = 16,
    PATH_ROOM = 4096,
    MOST_BYTES = 1 << 30, /* limit for a share */
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

static int set_share_exists(const char *path)
{
    struct stat file;

    return lstat(path, &file) == 0;
}

static int has_begun(const struct set_share *share)
{
    char path[PATH_ROOM];

    path_of(share, share->index, "begun", path);
    return set_share_exists(path);
}

static void rest(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
}

/* Reads a regular file of this user: others may be able to write to the folder. 0, or -1 and errno. */
static int set_share_read_own(const struct set_share *share, const char *path, struct text *out, struct stat *file)
{
    char bytes[65536];
    ssize_t got = -1;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -1;
    if (fstat(fd, file) != 0 || !S_ISREG(file->st_mode) ||
        (file->st_uid != geteuid() && file->st_uid != share->owner) || file->st_size > MOST_BYTES) {
        errno = EPERM;
        goto close_file;
    }
    while (out->length <= MOST_BYTES && !text_failed(out) && (got = read(fd, bytes, sizeof bytes)) > 0)
        text_add_bytes(out, bytes, (size_t)got);
close_file:
    close(fd);
    return got == 0 && !text_failed(out) ? 0 : -1;
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

/* A host that can see our processes by their numbers: its boot id and pid namespace. */
static void set_share_add_host(struct text *out)
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
static void set_share_add_start(struct text *out, long pid)
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
    set_share_add_host(out);
    text_addf(out, " %ld ", (long)getpid());
    set_share_add_start(out, (long)getpid());
}

enum set_share_process_state { PROCESS_RUNS, PROCESS_ENDED, PROCESS_ELSEWHERE };

/* Nothing is known about a process on another host. */
static enum set_share_process_state set_share_state_of(const struct text *named)
{
    enum set_share_process_state state = PROCESS_ELSEWHERE;
    struct text host = { 0 }, start = { 0 };

    set_share_add_host(&host);
    text_add_char(&host, ' ');
    if (text_begins_with(text_string(named), text_string(&host))) {
        char *behind;
        long pid = strtol(text_string(named) + host.length, &behind, 10);
        set_share_add_start(&start, pid);
        state = start.length && strcmp(behind + (*behind == ' '), text_string(&start)) == 0 ? PROCESS_RUNS
                                                                                            : PROCESS_ENDED;
    }
    text_free(&host);
    text_free(&start);
    return state;
}

/* Whether the process that a file names is known to have ended. */
static int has_ended(const struct set_share *share, const char *path)
{
    struct text named = { 0 };
    struct stat file;
    int ended = set_share_read_own(share, path, &named, &file) == 0 && set_share_state_of(&named) == PROCESS_ENDED;

    text_free(&named);
    return ended;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Creates a file that must not exist: 0, or -1 and errno. */
static int write_new(const char *path, const struct text *bytes)
{
    int fd = newfile_open(path, O_WRONLY, 0600, 0);

    if (fd < 0)
        return -1;
    int written = newfile_write(fd, text_string(bytes), bytes->length), error = errno;
    int closed = close(fd);
    if (written != 0)
        errno = error;
    return written == 0 && closed == 0 ? 0 : -1;
}

/* Writes under a name of its own first, so that no reader sees a half: 0, or -1 and errno. */
static int write_whole(const char *path, const struct text *bytes)
{
    char temporary[PATH_ROOM + 64];
    struct text host = { 0 };

    set_share_add_host(&host);
    snprintf(temporary, sizeof temporary, "%s.%016" PRIx64 "-%ld", path, hash_bytes(text_string(&host), host.length),
             (long)getpid());
    text_free(&host);
    unlink(temporary); /* left by a killed process with our pid */
    if (write_new(temporary, bytes) == 0 && rename(temporary, path) == 0)
        return 0;
    int error = errno;
    unlink(temporary);
    errno = error;
    return -1;
}

static int cannot_write(const char *path, struct error *err)
{
    return error_set_errno(err, "cannot write '%s'; name a folder that all processes can write to: --share-folder",
                           path);
}

/* Another run may remove the folder between the two steps. */
static int set_share_announce(struct set_share *share, struct error *err)
{
    char path[PATH_ROOM];
    struct text self = { 0 };
    struct stat file;
    int written = -1;

    path_of(share, share->index, "share", path);
    if (share->role == SHARE_OF_JOB)
        unlink(path); /* left by an earlier run */
    path_of(share, share->index, "begun", path);
    add_self(&self);
    for (int tries = 0; tries < 3 && written != 0; tries++) {
        written = write_whole(path, &self);
        if (written != 0 && (errno != ENOENT || (mkdir(share->folder, 0700) != 0 && errno != EEXIST)))
            break;
    }
    text_free(&self);
    if (written != 0)
        return cannot_write(path, err);
    if (lstat(path, &file) == 0)
        share->owner = file.st_uid; /* a file server may have another number for us */
    return 0;
}

/* Whether a file may be of this run. An earlier run that was killed may have left files. */
static int is_recent(const struct set_share *share, const char *path)
{
    char own[PATH_ROOM];
    struct stat file, mine;

    path_of(share, share->index, "begun", own);
    return lstat(path, &file) == 0 &&
           (share->role != SHARE_OF_JOB || lstat(own, &mine) != 0 || mine.st_mtime - file.st_mtime <= LEAST_WAIT_S);
}

int set_share_begin(struct set_share *share, struct error *err)
{
    char path[PATH_ROOM];
    struct stat folder;
    int code;

    share->begin_ns = now_ns();
    share->owner = geteuid();
    if (strlen(share->folder) > PATH_ROOM / 2)
        return error_set(err, ERR_BAD_ARGUMENT, "the name of the folder for shares is too long");
    if (mkdir(share->folder, 0700) != 0 && errno != EEXIST)
        return error_set_errno(err,
                               "cannot create the folder '%s'; name one that all processes can write to: "
                               "--share-folder",
                               share->folder);
    if (share->role == SHARE_MERGE) {
        if (stat(share->folder, &folder) == 0 && (folder.st_mode & 022) == 0)
            share->owner = folder.st_uid;
        return 0;
    }
    if ((code = set_share_announce(share, err)) != 0 || share->role != SHARE_OF_JOB || !share->is_of_one_run)
        return code;
    done_path(share, path); /* last: a collector that missed us has written it by now, or removes our file */
    if (is_recent(share, path)) {
        path_of(share, share->index, "begun", path);
        unlink(path);
        return 1;
    }
    unlink(path);
    return 0;
}

/* Follows the bytes of a share. */
struct share_end {
    uint64_t state, hash;
};

static int set_share_put(const struct set_share *share, struct text *bytes, struct error *err)
{
    char path[PATH_ROOM];
    size_t length = bytes->length;
    struct share_end end = { .state = share->state, .hash = hash_bytes(text_string(bytes), length) };

    path_of(share, share->index, "share", path);
    text_add_bytes(bytes, &end, sizeof end);
    int written = text_failed(bytes) ? -1 : write_whole(path, bytes);
    int code = written == 0 ? 0 : cannot_write(path, err);
    text_cut(bytes, length);
    return code;
}

int set_share_get(const struct set_share *share, size_t index, struct text *out, struct error *err)
{
    char path[PATH_ROOM];
    struct share_end end;
    struct stat file;

    path_of(share, index, "share", path);
    if (set_share_read_own(share, path, out, &file) != 0 || out->length < sizeof end)
        return error_set(err, ERR_CORRUPT, "cannot read '%s'", path);
    memcpy(&end, text_string(out) + out->length - sizeof end, sizeof end);
    text_cut(out, out->length - sizeof end);
    if (end.hash != hash_bytes(text_string(out), out->length))
        return error_set(err, ERR_CORRUPT, "'%s' is damaged", path);
    if (end.state != share->state)
        return error_set(err, ERR_NO_DATA, "'%s' is of another state of the reports", path);
    return 0;
}

/* ---- who collects ---------------------------------------------------------------------------------------------- */

/* 1: this process collects now. 0: another one does, or did. -1: an error of the file system. */
static int set_share_claim(struct set_share *share, size_t number)
{
    char path[PATH_ROOM];
    struct text self = { 0 };

    path_of(share, number, "collector", path);
    add_self(&self);
    int claimed = write_new(path, &self) == 0 ||
                  (errno != EEXIST && set_share_exists(path)); /* if empty, for want of room */
    int error = errno;
    text_free(&self);
    if (!claimed)
        return error == EEXIST || error == ENOENT ? 0 : -1;
    share->collector = number;
    if (has_begun(share))
        return 1;
    unlink(path); /* the other one ended right before */
    rmdir(share->folder);
    return 0;
}

enum collector_state { COLLECTOR_LIVES, COLLECTOR_IS_DEAD, COLLECTOR_IS_SILENT };

/* A collector on another host lives if it has touched its file since this process began. */
static enum collector_state find_collector(const struct set_share *share, size_t number)
{
    char path[PATH_ROOM], own[PATH_ROOM];
    enum collector_state state = COLLECTOR_IS_SILENT;
    struct text named = { 0 };
    struct stat file, mine;

    path_of(share, number, "collector", path);
    path_of(share, share->index, "begun", own);
    if (set_share_read_own(share, path, &named, &file) != 0) {
        state = errno == ENOENT ? COLLECTOR_IS_SILENT : COLLECTOR_IS_DEAD; /* removed by now, or not ours */
    } else if (named.length && lstat(own, &mine) == 0) {
        enum set_share_process_state process = set_share_state_of(&named);
        int is_touched = file.st_mtim.tv_sec > mine.st_mtim.tv_sec ||
                         (file.st_mtim.tv_sec == mine.st_mtim.tv_sec && file.st_mtim.tv_nsec > mine.st_mtim.tv_nsec);
        if (process == PROCESS_ENDED)
            state = COLLECTOR_IS_DEAD;
        else if (process == PROCESS_RUNS || is_touched)
            state = COLLECTOR_LIVES;
    }
    text_free(&named);
    return state;
}

static int64_t least_wait_ns(const struct set_share *share)
{
    return (share->wait_s >= 0 ? share->wait_s : LEAST_WAIT_S) * 1000000000;
}

/* Removes a share that was put after the collector had ended and removed all files it saw. */
static void take_back(const struct set_share *share)
{
    char path[PATH_ROOM];

    path_of(share, share->index, "share", path);
    unlink(path);
    rmdir(share->folder);
}

static int hand_in(struct set_share *share, struct text *bytes, enum set_share_turn *out, struct error *err)
{
    int is_put = 0, code;
    int64_t since = now_ns();

    for (size_t number = 0; number < MOST_COLLECTORS;) {
        if (!has_begun(share)) {
            take_back(share);
            *out = is_put ? SHARE_IS_LEFT : SHARE_CAME_LATE;
            return 0;
        }
        int claimed = set_share_claim(share, number);
        if (claimed == 1) {
            *out = SHARE_COLLECTS;
            return 0;
        }
        enum collector_state state = claimed < 0 ? COLLECTOR_IS_DEAD : find_collector(share, number);
        if (state == COLLECTOR_IS_DEAD || (state == COLLECTOR_IS_SILENT && now_ns() - since > least_wait_ns(share))) {
            number++;
            since = now_ns();
        } else if (!is_put) {
            if ((code = set_share_put(share, bytes, err)) != 0) {
                if (has_begun(share))
                    return code;
                *err = (struct error){ 0 }; /* the folder was removed with our file */
                continue;
            }
            is_put = 1;
        } else if (state == COLLECTOR_LIVES) {
            *out = SHARE_IS_LEFT;
            return 0;
        } else {
            rest();
        }
    }
    return error_set(err, ERR_IO, "cannot collect the shares in '%s': name another folder: --share-folder",
                     share->folder);
}

int set_share_hand_in(struct set_share *share, struct text *bytes, enum set_share_turn *out, struct error *err)
{
    *out = share->role == SHARE_MERGE ? SHARE_COLLECTS : SHARE_IS_LEFT;
    if (share->role == SHARE_OF_JOB)
        return hand_in(share, bytes, out, err);
    return share->role == SHARE_ALONE ? set_share_put(share, bytes, err) : 0;
}

/* Shows processes on other hosts that this one lives. */
static void touch(const struct set_share *share)
{
    char path[PATH_ROOM];

    path_of(share, share->collector, "collector", path);
    utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
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
        if (share->role == SHARE_OF_JOB)
            touch(share);
        int ended = is_recent(share, begun) && has_ended(share, begun);
        if (is_recent(share, made)) /* checked last: it may have been written right before the end */
            return NULL;
        if (ended)
            return "ended early";
        if (now_ns() - begin >= most)
            return is_recent(share, begun) ? "did not finish in time" : "did not start";
        rest();
    }
}

/* Removes all files of the key, also those that killed processes have not renamed. */
static void set_share_remove_all(const struct set_share *share)
{
    char path[PATH_ROOM], start[32];
    DIR *entries = opendir(share->folder);

    snprintf(start, sizeof start, "%016" PRIx64 ".", share->key);
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;)
        if (text_begins_with(entry->d_name, start) && strcmp(entry->d_name + strlen(start), "done") != 0) {
            snprintf(path, sizeof path, "%s/%s", share->folder, entry->d_name);
            unlink(path);
        }
    if (entries)
        closedir(entries);
}

void set_share_end(const struct set_share *share)
{
    char path[PATH_ROOM];
    int all_came = 1;

    for (size_t i = 0; i < share->count; i++) {
        path_of(share, i, "begun", path);
        all_came &= is_recent(share, path);
    }
    if (!all_came && share->role == SHARE_OF_JOB && share->is_of_one_run) {
        done_path(share, path);
        write_new(path, &(struct text){ 0 });
    }
    for (size_t i = 0; i < share->count; i++) { /* first: a process that sees its own waits for no other */
        path_of(share, i, "begun", path);
        unlink(path);
    }
    set_share_remove_all(share);
    rmdir(share->folder); /* fails if there is more in it */
}
