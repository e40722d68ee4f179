/* The parent's side of the child that reads debug information: see debug_info.h. The child's output is checked like
 * any input. */
#include "debug_info.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "symbols/elf/byte_cursor.h"

#define TIME_ALWAYS_NS INT64_C(10000000000)
#define TIME_PER_MB_NS INT64_C(50000000) /* per MB of the file */
#define MEMORY_MAX (UINT64_C(8) << 30)
#define TOLD_MAX (UINT64_C(1) << 30)

static int64_t timeval_ns(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000000000 + (int64_t)time->tv_usec * 1000;
}

/* Isolates the child: no message, no core file, and none of the program's signal handlers. */
static void be_child(int64_t limit_ns)
{
    static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU };
    sigset_t all;
    struct rlimit none = { 0, 0 }, time = { (rlim_t)(limit_ns / 1000000000 + 1), (rlim_t)(limit_ns / 1000000000 + 1) };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < COUNT_OF(fatal); i++)
        signal(fatal[i], SIG_DFL);
    sigfillset(&all);
    for (size_t i = 0; i < COUNT_OF(fatal); i++)
        sigdelset(&all, fatal[i]);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &time);
#if !defined(DEBUG_INFO_SANITIZED)
    struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };
    setrlimit(RLIMIT_AS, &memory);
#endif
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, 1);
    dup2(null, 2);
}

/* Reads everything that the child writes until it ends or its time is up. */
static void debug_child_hear(int from, int64_t end_ns, struct text *told)
{
    char bytes[65536];
    for (;;) {
        int64_t left_ns = end_ns - clock_ns(CLOCK_MONOTONIC);
        struct pollfd wait = { .fd = from, .events = POLLIN };
        int ready = left_ns > 0 ? poll(&wait, 1, (int)(left_ns / 1000000 + 1)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t got = ready > 0 ? read(from, bytes, sizeof bytes) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || told->length > TOLD_MAX)
            return;
        text_add_bytes(told, bytes, (size_t)got);
    }
}

static const char *debug_child_take_text(struct byte_cursor *cursor, struct arena *arena)
{
    uint64_t length = cursor_number(cursor, 4);
    const unsigned char *start = cursor->at;
    cursor_skip(cursor, length);
    char *copy = cursor->failed ? NULL : arena_copy(arena, start, length);
    return copy ? copy : "";
}

/* Parses one address: its number, the number of lines, and for each line its number, function and file. 0; 1 at the
 * end; -1 on error. */
static int take_address(struct byte_cursor *cursor, size_t count, struct debug_lines *found, struct arena *arena)
{
    uint64_t number = cursor_number(cursor, 4);
    if (cursor->failed)
        return -1;
    if (number == DEBUG_INFO_END)
        return 1;
    uint64_t lines = cursor_number(cursor, 4);
    if (cursor->failed || number >= count || lines > DEBUG_INFO_INLINED_MAX)
        return -1;
    struct debug_lines all = { arena_alloc_zero(arena, (lines + 1) * sizeof *all.lines), (uint32_t)lines };
    if (!all.lines)
        return -1;
    for (uint64_t i = 0; i < lines; i++) {
        all.lines[i].line = (uint32_t)cursor_number(cursor, 4);
        all.lines[i].name = debug_child_take_text(cursor, arena);
        all.lines[i].file = debug_child_take_text(cursor, arena);
    }
    if (cursor->failed)
        return -1;
    found[number] = all;
    return 0;
}

int debug_info_find(const struct elf_image *image, const uint64_t *addresses, size_t count, struct debug_lines *found,
                    struct arena *arena, int64_t *child_ns)
{
    int ends[2];
    struct rusage usage = { 0 };
    memset(found, 0, count * sizeof *found);
    if (image->file < 0 || count == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    int64_t limit_ns = TIME_ALWAYS_NS + (int64_t)(image->size >> 20) * TIME_PER_MB_NS;
    pid_t child = fork();
    if (child == 0) {
        be_child(limit_ns);
        _exit(debug_info_tell(image->file, addresses, count, ends[1]) == 0 ? 0 : 1);
    }
    close(ends[1]);
    struct text told = { 0 };
    if (child > 0) {
        debug_child_hear(ends[0], clock_ns(CLOCK_MONOTONIC) + limit_ns, &told);
        kill(child, SIGKILL); /* it has ended, or must */
        while (wait4(child, NULL, 0, &usage) < 0 && errno == EINTR)
            ;
    }
    *child_ns += timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
    close(ends[0]);
    const unsigned char *start = (const unsigned char *)text_string(&told); /* "" if it wrote nothing */
    struct byte_cursor cursor = { start, start + told.length, 0 };
    int result = 0;
    while ((result = take_address(&cursor, count, found, arena)) == 0)
        ;
    text_free(&told);
    return result == 1 ? 0 : -1;
}
