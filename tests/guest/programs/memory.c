/* Memory: locked, limited, protected, mapped, dumped. */
#include "guest.h"

static void say_locked(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmLck: %lu kB", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    say("locked %s", kilobytes == 0 ? "nothing" : kilobytes < 256 * 1024 ? "less than 256 MB" : "256 MB or more");
}

/* The number of kB itself depends on what the loader mapped. */
static int lock_all(int flags)
{
    say_result("mlockall", mlockall(flags));
    say_locked();
    say_result("munlockall", munlockall());
    say_locked();
    return 0;
}

PROGRAM(lock_current)
{
    return lock_all(MCL_CURRENT);
}
PROGRAM(lock_future)
{
    return lock_all(MCL_CURRENT | MCL_FUTURE);
}
PROGRAM(lock_on_fault)
{
    return lock_all(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

static int lock_as_user(void)
{
    struct rlimit limit = { 8 << 20, 8 << 20 };
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (setresuid(65534, 65534, 65534) != 0)
        return 98;
    return lock_all(MCL_CURRENT | MCL_FUTURE);
}

PROGRAM(lock_as_user_with_8_mb)
{
    if (geteuid() != 0)
        return skipped("needs root");
    in_child("child", lock_as_user);
    return 0;
}

static int allocate(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    munmap(memory, bytes);
    return 1;
}

/* What a limit leaves to the program, in steps of 64 MB. */
static int address_space(void)
{
    struct rlimit limit = { 700 << 20, 700 << 20 };
    setrlimit(RLIMIT_AS, &limit);
    size_t most = 0;
    for (size_t step = 64 << 20; most + step <= limit.rlim_cur && allocate(most + step);)
        most += step;
    say("of 700 MB I can have %s", most > limit.rlim_cur / 2 ? "most" : "less than half");
    return 0;
}

PROGRAM(limited_address_space)
{
    in_child("child", address_space);
    return 0;
}

/* The same for a program that starts with the limit. */
static int exec_limited(void)
{
    struct rlimit limit = { 700 << 20, 700 << 20 };
    setrlimit(RLIMIT_AS, &limit);
    execl("/proc/self/exe", arguments[-1], "address_space_of_700_mb", (char *)NULL);
    return 99;
}

PROGRAM(address_space_of_700_mb)
{
    return address_space();
}
PROGRAM(exec_with_limited_address_space)
{
    in_child("program", exec_limited);
    return 0;
}

/* A dump of a small program is small. */
static int dump(void)
{
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    setrlimit(RLIMIT_CORE, &limit);
    abort();
}

PROGRAM(core_dump)
{
    char pattern[128] = "", folder[] = "core-XXXXXX", uses_pid[8] = "";
    struct rlimit limit;
    int file = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, pattern, sizeof pattern - 1) < 0 || strcmp(pattern, "core\n") != 0)
        return skipped("kernel.core_pattern is not core");
    close(file);
    file = open("/proc/sys/kernel/core_uses_pid", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, uses_pid, sizeof uses_pid - 1) < 0 || uses_pid[0] != '0')
        return skipped("kernel.core_uses_pid is not 0");
    close(file);
    if (getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_max != RLIM_INFINITY)
        return skipped("core dumps are limited");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    in_child("child", dump);
    struct stat about;
    if (stat("core", &about) == 0)
        say("core %s", about.st_size < 32 << 20 && about.st_blocks < 32 << 11 ? "small" : "of 32 MB or more");
    else
        say("no core");
    unlink("core");
    if (chdir("..") != 0 || rmdir(folder) != 0)
        return 1;
    return 0;
}

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
