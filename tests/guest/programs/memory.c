/* Memory: locked, limited, protected, mapped, dumped. */
#include "guest.h"

PROGRAM(mapped_files)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 100], last[PATH_MAX] = "";
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *path = strchr(line, '/');
        if (path && strcmp(path, last) != 0)
            say("mapped %s", strcpy(last, path));
    }
    if (file)
        fclose(file);
    return 0;
}

PROGRAM(protection_keys)
{
    int key = pkey_alloc(0, 0);
    if (key < 0)
        return skipped("no protection keys");
    int more = 1;
    while (pkey_alloc(0, 0) >= 0)
        more++;
    say("keys %d", more);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say_result("protect", pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key));
    pkey_set(key, PKEY_DISABLE_WRITE);
    say("read %d", page[0]);
    pkey_set(key, 0);
    page[0] = 1;
    return 0;
}

static void on_fault(int number)
{
    say("fault %d", number);
    _exit(3);
}

static int write_to_read_only(void)
{
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, on_fault);
    *(volatile char *)page = 1;
    return 0;
}

PROGRAM(faults)
{
    in_child("child", write_to_read_only);
    return 0;
}

/* A program that knows how its heap grows: nobody else takes from it. */
PROGRAM(heap)
{
    char *before = sbrk(0);
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (int i = 0; i < 1000; i++)
        if (write(file, "x", 1) != 1)
            return 1;
    close(file);
    say("the heap grew by %td", (char *)sbrk(0) - before);
    void *memory = malloc(100000);
    say("and by %td", (char *)sbrk(0) - before);
    free(memory);
    return 0;
}
