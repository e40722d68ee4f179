/* An allocation storm: a thread that does nothing but allocate and free. It keeps no account, which would cost too. */
#include <stdlib.h>

enum { ALIVE = 4096 };

int main(int argc, char **argv)
{
    unsigned long count = 100000 * (argc > 1 ? strtoul(argv[1], NULL, 10) : 1);
    static void *volatile blocks[ALIVE];
    unsigned random = 1;
    for (unsigned long i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        unsigned at = random >> 20;
        free(blocks[at]);
        blocks[at] = malloc(16 + (random >> 8 & 1023));
    }
    for (unsigned i = 0; i < ALIVE; i++)
        free(blocks[i]);
    return 0;
}
