/* Leaves marks for the collector in the folder of the session: see wire/wire_marks.h. It makes raw system calls and
 * uses neither a descriptor nor memory, because a process that leaves a mark may have none left. */
#include "session_mark.h"

#include <string.h>

#include "agent.h"
#include "base/path.h"
#include "sys.h"

#define PATH_BYTES 256

/* "<folder>/<name>"; 0 when the session has no folder. */
static int session_mark_make_path(char path[PATH_BYTES], const char *socket_path, const char *name)
{
    size_t folder = socket_path ? path_folder_length(socket_path) : 0, bytes = strlen(name) + 1;
    if (!folder || folder + bytes > PATH_BYTES)
        return 0;
    memcpy(path, socket_path, folder);
    memcpy(path + folder, name, bytes);
    return 1;
}

static void session_mark_leave(const char *socket_path, const char *name, const char *text)
{
    char path[PATH_BYTES];
    if (session_mark_make_path(path, socket_path, name))
        sys_symlinkat(text, AT_FDCWD, path);
}

int mark_is_silent(const char *socket_path)
{
    char path[PATH_BYTES], text[8];
    return session_mark_make_path(path, socket_path, WIRE_MARK_SILENT) && sys_readlink(path, text, sizeof text) > 0;
}

void mark_silent(const char *socket_path)
{
    session_mark_leave(socket_path, WIRE_MARK_SILENT, "1");
}

static char *put_hex(char *to, uint64_t number)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[number >> shift & 15];
    return to;
}

/* The time is part of the name, because pids are reused. */
void mark_unrecorded(const char *socket_path, enum wire_cause cause)
{
    static const char *const causes[] = {
#define CAUSE(name, text, reason) [WIRE_CAUSE_##name] = text,
        WIRE_CAUSES(CAUSE)
#undef CAUSE
    };
    char name[sizeof WIRE_MARK_UNRECORDED + 32] = WIRE_MARK_UNRECORDED;
    char *end = put_hex(name + sizeof WIRE_MARK_UNRECORDED - 1, sys_now_ns());
    *put_hex(end, (uint64_t)sys_getpid()) = 0;
    session_mark_leave(socket_path, name, causes[cause]);
}
