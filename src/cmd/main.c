/* The program `tacho`: everything is in the command table. It leaves signals as it found them, since a program that it
 * starts inherits them. */
#include "command.h"

int main(int argc, char **argv)
{
    return command_main(argc, argv);
}
