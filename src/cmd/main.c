/* The program `tacho`: everything is in the command table. It leaves signals as it found them, since a program that it
 * starts inherits them. */
#include "command.h"

extern const char tacho_commit[], tacho_commit_date[]; /* of a file that cmake/commit.cmake writes */

int main(int argc, char **argv)
{
    return command_main(argc, argv, &(struct command_origin){ tacho_commit, tacho_commit_date });
}
