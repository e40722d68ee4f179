/* A program for tests of unusual circumstances.
 *
 *     conditions hostile            names that no display likes: control characters, bytes that are not UTF-8, a megabyte
 *     conditions descriptors FILE   writes which descriptors below 64 are open into FILE
 *     conditions range              one range called "range", then "done" on stdout, status 3                          */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvtx_client.h"

#define LONG_TEXT 1000000

static void range(const char *name)
{
    nvtx_push(name);
    nvtx_pop();
}

static int hostile(void)
{
    char *text = malloc(LONG_TEXT + 1);

    memset(text, 'L', LONG_TEXT);
    text[LONG_TEXT] = 0;
    range(text);
    range("line\nbreak");
    range("\xff\xfe not UTF-8 \xc3");
    range("\x1b[31mred\x07");
    range("");
    range("'; DROP TABLE NVTX_EVENTS; --");
    range("%s%n \"quoted\", with\ttab");
    nvtx_domain("domain\nwith \xff");
    pthread_setname_np(pthread_self(), "\x1b[2Jx\ny\xff");
    range("last");
    free(text);
    return 0;
}

static int descriptors(const char *path)
{
    char open_ones[64 * 3 + 1] = "", number[8];

    for (int file = 0; file < 64; file++)
        if (fcntl(file, F_GETFD) != -1) {
            snprintf(number, sizeof number, "%d ", file);
            strcat(open_ones, number);
        }
    range("range");
    FILE *out = fopen(path, "w");
    return out && fputs(open_ones, out) >= 0 && fclose(out) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (strcmp(mode, "hostile") == 0)
        return hostile();
    if (strcmp(mode, "descriptors") == 0)
        return descriptors(argv[2]);
    if (strcmp(mode, "range") == 0) {
        range("range");
        puts("done");
        return 3;
    }
    return 1;
}
