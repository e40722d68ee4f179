/* Detects seccomp filters. A program that starts under one (nsjail, bubblewrap, systemd's SystemCallFilter) may be
 * killed for the first system call that the filter does not expect. So the agent checks this first of all, with the
 * calls by which the loader has just read its libraries: openat, read, close. Without /proc it finds no filter. */
#include "seccomp.h"

#include "abi/seccomp_status.h"
#include "agent.h"
#include "sys.h"

#define LINE_MAX_BYTES 64 /* more than the length of the lines it looks for */

static int count_filters(void)
{
    char text[LINE_MAX_BYTES + 128 + 1];
    size_t kept = 0;
    int filters = 0;
    int file = sys_openat(AT_FDCWD, WIRE_SECCOMP_STATUS, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    for (long got; (got = sys_read(file, text + kept, sizeof text - 1 - kept)) > 0;) {
        size_t length = kept + (size_t)got;
        text[length] = 0;
        int told = wire_seccomp_filters(text);
        if (told >= 0)
            filters = told;
        kept = length < LINE_MAX_BYTES ? length : LINE_MAX_BYTES; /* a line may have begun in these bytes */
        memmove(text, text + length - kept, kept);
    }
    sys_close(file);
    return filters;
}

int seccomp_is_new(void)
{
    const char *digit = strchr(agent.session, ':');
    int known = 0;
    while (digit && *++digit >= '0' && *digit <= '9')
        known = known * 10 + (*digit - '0');
    return count_filters() > known;
}
