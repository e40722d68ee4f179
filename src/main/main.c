/* The program `tacho`: hands the table of commands to command_main(). It leaves signals as it found them, since a
 * program that it starts inherits them. */
#include <malloc.h>

#include "cmd/command.h"

enum { LARGE_BYTES = 4 << 20 };

extern const char tacho_commit[], tacho_commit_date[]; /* cmake/commit.cmake writes them */

#define COMMAND(name) extern const struct command command_##name;
#include "commands.def"

static const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.def"
    NULL,
};

static const struct command_elsewhere elsewhere[] = {
#define ELSEWHERE(name, tool, advice) { name, tool, advice },
#include "commands.def"
    { 0 },
};

int main(int argc, char **argv)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* fixed: larger blocks return to the system when they are freed */
#endif
    return command_main(argc, argv,
                        &(struct command_program){ commands, elsewhere, { tacho_commit, tacho_commit_date } });
}
