/* Makes code while it runs, tells of it as perf's tools expect, and calls through it. With an argument the file that
 * tells of it goes on without a line, for longer than anyone can read. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) /* a frame with a frame pointer, a call of the argument */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
#else
static const unsigned char code[] = { 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00,
                                      0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6 };
#endif
static volatile int sink;

__attribute__((noinline)) static void called_back(void)
{
    struct timespec time = { 0, 50000000 }; /* long enough to be looked at */
    nanosleep(&time, NULL);
    sink++;
}

int main(int argc, char **argv)
{
    char path[64];
    unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    __builtin___clear_cache((char *)page, (char *)page + sizeof code);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %zx made_function\n", (unsigned long)page, sizeof code);
    fflush(map);
    if (argc > 1 && ftruncate(fileno(map), (off_t)1 << 38) != 0)
        return 77;
    fclose(map);
    for (int i = 0; i < 4; i++) {
        ((void (*)(void (*)(void)))page)(called_back);
        sink++;
    }
    return 0;
}
