/* The file of notes: {"notes": […]}. It is written under another name and renamed, so that a full disk leaves the
 * old one. */
#include "notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_scan.h"
#include "base/newfile.h"
#include "base/utf8.h"

#define LEVELS_MOST 16 /* nesting depth of brackets */

static int scan_notes(struct json_scan *scan)
{
    struct json_slice whole, name, list;

    if (json_scan_value(scan, PLACE_ARRAY, &whole) != SCAN_OK || *whole.bytes != '{' || scan->repaired != 0)
        return 0;
    struct json_scan members = json_slice_parts(whole);
    if (!json_scan_part(&members, 1, &name, &list) || !json_slice_is(name, "notes") || *list.bytes != '[')
        return 0;
    json_scan_space(scan);
    return scan->at == scan->end;
}

/* Whether the bytes are {"notes": [...]} and nothing else. Truncated files and files of other programs are not. */
static int are_notes(const char *bytes, size_t length)
{
    struct text guarded = { 0 };

    if (utf8_valid_length(bytes, length) != length)
        return 0;
    text_add_bytes(&guarded, bytes, length);
    text_add_repeat(&guarded, '\0', SCAN_GUARD);
    struct json_scan scan = { .at = text_string(&guarded), .whole = 1, .levels = LEVELS_MOST };
    scan.end = scan.at + length;
    int is_good = !text_failed(&guarded) && scan_notes(&scan);
    text_free(&guarded);
    return is_good;
}

/* Whatever errno says, the error is one of the server (500), not of the request. */
static int notes_fail(struct error *err, const char *what, const char *path)
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
        return notes_fail(err, "cannot read the notes in", path);
    while (out->length <= NOTES_MOST && (length = read(fd, part, sizeof part)) > 0)
        text_add_bytes(out, part, (size_t)length);
    int code = length < 0 ? notes_fail(err, "cannot read the notes in", path) : 0;
    close(fd);
    if (code != 0)
        return code;
    if (out->length > NOTES_MOST || text_failed(out) || !are_notes(text_string(out), out->length))
        return error_set(err, ERR_BAD_FORMAT, "'%s' is not a file of notes; move it away to save new ones", path);
    return 0;
}

/* mkostemp() creates files for their owner only; notes get the mode that the umask gives to new files. */
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
        return error_set(err, ERR_BAD_ARGUMENT, "invalid notes: send {\"notes\": [...]}, at most %u bytes", NOTES_MOST);
    int code = notes_read(path, &old, err); /* a file of another program is not overwritten */
    text_free(&old);
    if (code != 0)
        return code;
    if (snprintf(unfinished, sizeof unfinished, "%s.XXXXXX", path) >= (int)sizeof unfinished)
        return error_set(err, ERR_BAD_ARGUMENT, "cannot save notes: the name of the report is too long");
    int fd = mkostemp(unfinished, O_CLOEXEC);
    if (fd < 0)
        return notes_fail(err, "cannot save notes beside the report, in", path);
    int good = newfile_write(fd, bytes, length) == 0 && give_usual_mode(fd) == 0 && fsync(fd) == 0;
    if (close(fd) != 0 || !good || rename(unfinished, path) != 0) {
        code = notes_fail(err, "cannot save the notes to", path);
        unlink(unfinished);
    }
    return code;
}
