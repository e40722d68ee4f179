/* Files, folders and streams: what calls answer, what they leave in errno, where the program is. */
#include "guest.h"

#include <dlfcn.h>
#include <link.h>
#include <locale.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/uio.h>

static ssize_t read_nothing(void *cookie, char *buffer, size_t size)
{
    say("errno in the callback %d", errno);
    errno = EILSEQ;
    return *(int *)cookie;
}

static ssize_t write_all(void *cookie, const char *buffer, size_t size)
{
    say("errno in the callback %d, %zu bytes", errno, size);
    return (ssize_t)size;
}

/* Streams whose read and write are the program's. */
PROGRAM(streams_of_its_own)
{
    int answer = -1;
    char data[10];
    FILE *stream = fopencookie(&answer, "r+", (cookie_io_functions_t){ .read = read_nothing, .write = write_all });
    errno = EDOM;
    say("read %zu", fread(data, 1, sizeof data, stream));
    say("errno %d", errno);
    clearerr(stream);
    errno = ERANGE;
    fputs("text", stream);
    say("flush %d, errno %d", fflush(stream), errno);
    fclose(stream);
    return 0;
}

/* A call that succeeds leaves errno alone, one that fails sets it. */
#define KEEPS(call)                                                                                                    \
    do {                                                                                                               \
        errno = 77;                                                                                                    \
        long answer_ = (long)(call);                                                                                   \
        say(#call ": %s, errno %d", answer_ == -1 ? "failed" : "worked", errno);                                       \
    } while (0)

PROGRAM(errno_is_kept)
{
    int file = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600), pair[2];
    char data[8] = "";
    struct iovec pieces[2] = { { data, 4 }, { data + 4, 4 } };
    struct timespec moment = { 0, 1000 };
    struct stat about;
    KEEPS(write(file, data, 8));
    KEEPS(pwrite(file, data, 8, 8));
    KEEPS(writev(file, pieces, 2));
    KEEPS(lseek(file, 0, SEEK_SET));
    KEEPS(read(file, data, 8));
    KEEPS(pread(file, data, 8, 0));
    KEEPS(readv(file, pieces, 2));
    KEEPS(fsync(file));
    KEEPS(fdatasync(file));
    KEEPS(ftruncate(file, 4));
    KEEPS(flock(file, LOCK_EX));
    KEEPS(flock(file, LOCK_UN));
    KEEPS(fcntl(file, F_GETFL));
    KEEPS(fstat(file, &about));
    KEEPS(dup2(file, 50));
    KEEPS(close(50));
    KEEPS(pipe2(pair, O_CLOEXEC));
    KEEPS(close(pair[0]));
    KEEPS(close(pair[1]));
    KEEPS(nanosleep(&moment, NULL));
    KEEPS(usleep(10));
    KEEPS(sched_yield());
    KEEPS(rename("file", "other"));
    KEEPS(unlink("other"));
    KEEPS(mkdir("folder", 0700));
    KEEPS(rmdir("folder"));
    KEEPS(open("/no/such/file", O_RDONLY));
    KEEPS(read(-1, data, 8));
    KEEPS(write(file, nowhere, 8));
    KEEPS(close(-1));
    KEEPS(waitpid(-1, NULL, 0));
    KEEPS(close(file));
    return 0;
}

static int tell_folder(void)
{
    execl("/bin/sh", "sh", "-c", "pwd; umask", (char *)NULL);
    return 99;
}

PROGRAM(folder_and_mask)
{
    say_result("chdir", chdir("/"));
    say("mask %o", (unsigned)umask(027));
    in_child("sh", tell_folder);
    return 0;
}

PROGRAM(locale)
{
    say("%s", setlocale(LC_ALL, NULL));
    say("%s", setlocale(LC_ALL, "C.UTF-8") ? "C.UTF-8" : "none");
    say("%.2f %'d", 3.5, 1000000);
    return 0;
}

/* ---- Places where little is left ------------------------------------------------------------------------------- */

static int run_shell(void)
{
    execl("/bin/sh", "sh", "-c", "echo still here; exit 5", (char *)NULL);
    return 99;
}

static int hide_proc(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        return SKIPPED;
    usleep(100);
    return run_shell();
}

PROGRAM(without_proc)
{
    if (geteuid() != 0)
        return skipped("needs root");
    in_child("sh", hide_proc);
    return 0;
}

static int make_read_only(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        return SKIPPED;
    usleep(100);
    return run_shell();
}

PROGRAM(read_only_root)
{
    if (geteuid() != 0)
        return skipped("needs root");
    in_child("sh", make_read_only);
    return 0;
}

/* Nothing but the folder that the program is in. */
static int into_chroot(void)
{
    if (mkdir("root", 0755) != 0 || chroot("root") != 0 || chdir("/") != 0)
        return SKIPPED;
    usleep(100);
    say_result("opens", open("/etc/passwd", O_RDONLY));
    pid_t child = fork();
    if (child == 0) {
        usleep(100);
        _exit(7);
    }
    say_child("child in there", child);
    return 4;
}

PROGRAM(in_a_chroot)
{
    if (geteuid() != 0)
        return skipped("needs root");
    in_child("child", into_chroot);
    return 0;
}

static int in_namespaces(void)
{
    if (unshare(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC) != 0)
        return SKIPPED;
    pid_t child = fork();
    if (child == 0) {
        say("pid %d", (int)getpid());
        _exit(run_shell());
    }
    say_child("first of the namespace", child);
    return 0;
}

PROGRAM(namespaces)
{
    if (geteuid() != 0)
        return skipped("needs root");
    in_child("child", in_namespaces);
    return 0;
}

/* ---- Libraries ------------------------------------------------------------------------------------------------- */

PROGRAM(loads_libraries)
{
    void *math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    say("opened %d", math != NULL);
    double (*cosine)(double) = (double (*)(double))dlsym(math, "cos");
    say("cos(0) %.1f", cosine ? cosine(0) : -1);
    say("closed %d", dlclose(math));
    say("no such library: %s", dlopen("libno-such-library.so", RTLD_NOW) ? "opened" : dlerror());
    say("no error left: %d", dlerror() == NULL);
    return 0;
}

PROGRAM(loads_into_a_namespace)
{
    void *library = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
    if (!library)
        return skipped("dlmopen() cannot load here");
    say("opened %d", dlsym(library, "cos") != NULL);
    say("closed %d", dlclose(library));
    return 0;
}

/* Who asks for the next function of a name after its own gets libc's. */
PROGRAM(looks_up_functions)
{
    Dl_info about;
    ssize_t (*next)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    say("write %d", next(1, "by dlsym\n", 9) == 9);
    say("found %d", dladdr((void *)main, &about) != 0);
    say("nothing: %d", dlsym(RTLD_DEFAULT, "no_such_function_here") == NULL);
    return 0;
}
