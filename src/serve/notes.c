/* The file of notes: {"notes": […]}. It is written under another name and renamed, so that a
 * full disk leaves the old one. */
#include "notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

#define DEPTH_MOST 16

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at;
}

/* Whether brackets and quotes are closed, and nothing follows the last of them: what cut or foreign files are not. */
static int is_closed(const char *bytes, size_t length)
{
    char open[DEPTH_MOST];
    int depth = 0, in_string = 0;

    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = 1;
        } else if (c == '{' || c == '[') {
            if (depth == DEPTH_MOST)
                return 0;
            open[depth++] = c == '{' ? '}' : ']';
        } else if (c == '}' || c == ']') {
            if (depth == 0 || open[--depth] != c)
                return 0;
            if (depth == 0)
                return skip_space(bytes + i + 1, bytes + length) == bytes + length;
        }
    }
    return 0;
}

/* {"notes": [ at the beginning. */
static int begins_well(const char *bytes, size_t length)
{
    static const char *const pieces[] = { "{", "\"notes\"", ":", "[" };
    const char *end = bytes + length, *at = bytes;

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t wanted = strlen(pieces[i]);
        at = skip_space(at, end);
        if ((size_t)(end - at) < wanted || memcmp(at, pieces[i], wanted) != 0)
            return 0;
        at += wanted;
    }
    return 1;
}

static int are_notes(const char *bytes, size_t length)
{
    return begins_well(bytes, length) && is_closed(bytes, length) && utf8_valid_length(bytes, length) == length;
}

/* Whatever errno says, the server is at fault, not the one who asks. */
static int fail(struct error *err, const char *what, const char *path)
{
    error_set_errno(err, "%s '%s'", what, path);
    return err->code = ERR_IO;
}

int notes_read(const char *path, struct text *out, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char part[65536];
    ssize_t length = 0;

    if (fd < 0 && errno == ENOENT) {
        text_add(out, "{\"notes\": []}");
        return 0;
    }
    if (fd < 0)
        return fail(err, "cannot read the notes in", path);
    while (out->length <= NOTES_MOST && (length = read(fd, part, sizeof part)) > 0)
        text_add_bytes(out, part, (size_t)length);
    int code = length < 0 ? fail(err, "cannot read the notes in", path) : 0;
    close(fd);
    if (code == 0 && (out->length > NOTES_MOST || text_failed(out) || !are_notes(text_string(out), out->length)))
        code = error_set(err, ERR_BAD_FORMAT, "'%s' is not a file of notes; move it away to keep new ones", path);
    return code;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t written = write(fd, bytes + at, length - at);
        if (written < 0 && errno != EINTR)
            return -1;
        at += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Like any file that is made here: readable for those whom the umask allows. */
static int give_usual_mode(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    return fchmod(fd, 0666 & ~mask);
}

int notes_write(const char *path, const char *bytes, size_t length, struct error *err)
{
    struct text old = { 0 };
    char unfinished[4096];

    if (length > NOTES_MOST || !are_notes(bytes, length))
        return error_set(err, ERR_BAD_ARGUMENT, "these are no notes: {\"notes\": [...]}, at most %u bytes", NOTES_MOST);
    int code = notes_read(path, &old, err); /* what is not ours stays */
    text_free(&old);
    if (code != 0)
        return code;
    if (snprintf(unfinished, sizeof unfinished, "%s.XXXXXX", path) >= (int)sizeof unfinished)
        return error_set(err, ERR_BAD_ARGUMENT, "the report's name is too long for notes beside it");
    int fd = mkostemp(unfinished, O_CLOEXEC);
    if (fd < 0)
        return fail(err, "notes cannot be kept beside the report, in", path);
    int good = write_all(fd, bytes, length) == 0 && give_usual_mode(fd) == 0 && fsync(fd) == 0;
    if (close(fd) != 0 || !good || rename(unfinished, path) != 0) {
        code = fail(err, "cannot write the notes to", path);
        unlink(unfinished);
    }
    return code;
}
