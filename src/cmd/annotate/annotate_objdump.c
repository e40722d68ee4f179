/* Runs objdump: see annotate_objdump.h. */
#include "annotate_objdump.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 26 }; /* of a function: what follows is left out */

static int annotate_start_objdump(const char *path, uint64_t start, uint64_t end, int *output, pid_t *pid,
                                  struct error *err)
{
    char from[64], to[64];
    char *words[] = { "objdump", "-d", "-l", "-C", "--no-show-raw-insn", from, to, "--", (char *)path, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2];

    snprintf(from, sizeof from, "--start-address=0x%llx", (unsigned long long)start);
    snprintf(to, sizeof to, "--stop-address=0x%llx", (unsigned long long)end);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(err, "cannot create a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failed = posix_spawnp(pid, *words, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        errno = failed;
        return failed == ENOENT
                   ? error_set(err, ERR_UNSUPPORTED, "cannot find objdump, which reads instructions: install binutils")
                   : error_set_errno(err, "cannot run objdump");
    }
    *output = ends[0];
    return 0;
}

int annotate_objdump(struct text *out, const char *path, uint64_t start, uint64_t end, struct error *err)
{
    char block[65536];
    ssize_t got;
    pid_t pid;
    int output = -1, status = 0, code = annotate_start_objdump(path, start, end, &output, &pid, err);

    if (code != 0)
        return code;
    while ((got = read(output, block, sizeof block)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0 && out->length < MOST_BYTES)
            text_add_bytes(out, block, (size_t)got);
    close(output);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (text_failed(out))
        return error_short_memory(err, "for the instructions");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && out->length
               ? 0
               : error_set(err, ERR_NO_DATA, "objdump cannot read '%s'", path);
}
