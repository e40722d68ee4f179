/* Calls the hooked functions that deal with files, descriptors, sockets, memory and messages, each at least once, and
 * prints what each returned and the errno that it left. os_calls.py runs it bare and traced: the two must print the
 * same. What differs from run to run (addresses, process numbers) is printed as a yes or no. Streams, locks, threads
 * and processes are in os_threads.c. */
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* What _FORTIFY_SOURCE makes of the plain calls. */
extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __pread64_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __recv_chk(int, void *, size_t, size_t, int);
extern ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
extern int __poll_chk(struct pollfd *, nfds_t, int, size_t);
extern int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
extern int __open_2(const char *, int);
extern int __open64_2(const char *, int);
extern int __openat_2(int, const char *, int);
extern int __openat64_2(int, const char *, int);
extern int fcntl64(int, int, ...);

/* Newer than some glibc that we run on: a call that is not there prints nothing, in every run alike. */
#pragma weak close_range
#pragma weak epoll_pwait2
extern int close_range(unsigned, unsigned, int);
extern int epoll_pwait2(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
#pragma weak tgkill
extern int tgkill(pid_t, pid_t, int);

static void say(const char *what, long long result, int error)
{
    printf("%s = %lld, errno %d\n", what, result, error);
}

/* errno before a call is odd, so that a call that touches it without failing is seen. */
#define CALL(call)                                                                                                   \
    do {                                                                                                             \
        errno = 4242;                                                                                                \
        long long result_ = (long long)(call);                                                                       \
        say(#call, result_, errno);                                                                                  \
    } while (0)
#define IS(call)                                                                                                     \
    do {                                                                                                             \
        errno = 4242;                                                                                                \
        long long result_ = (call) ? 1 : 0;                                                                          \
        say(#call, result_, errno);                                                                                  \
    } while (0)

static char buffer[4096], other[4096];
static const struct timespec no_time, a_moment = { 0, 1000 };

static void reading_and_writing(void)
{
    int file, zero = open("/dev/zero", O_RDONLY), pipes[2], more[2];
    off_t offset = 0;
    struct iovec parts[2] = { { buffer, 3 }, { other, 4 } };
    CALL(file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0640));
    CALL(write(file, "hello, world", 12));
    CALL(lseek(file, 0, SEEK_SET));
    CALL(read(file, buffer, 5));
    CALL(read(file, buffer, 100));
    CALL(read(file, buffer, 100));
    CALL(read(-1, buffer, 1));
    CALL(write(-1, buffer, 1));
    CALL(__read_chk(zero, buffer, 8, sizeof buffer));
    CALL(pread(file, buffer, 4, 2));
    CALL(pread64(file, buffer, 4, 2));
    CALL(__pread_chk(file, buffer, 4, 2, sizeof buffer));
    CALL(__pread64_chk(file, buffer, 4, 2, sizeof buffer));
    CALL(pwrite(file, "XY", 2, 1));
    CALL(pwrite64(file, "Z", 1, 3));
    lseek(file, 0, SEEK_SET);
    CALL(readv(file, parts, 2));
    printf("%.3s %.4s\n", buffer, other);
    CALL(writev(file, parts, 2));
    CALL(preadv(file, parts, 2, 0));
    CALL(preadv64(file, parts, 2, 0));
    CALL(pwritev(file, parts, 2, 0));
    CALL(pwritev64(file, parts, 2, 0));
    CALL(preadv2(file, parts, 2, 0, 0));
    CALL(preadv64v2(file, parts, 2, 0, 0));
    CALL(pwritev2(file, parts, 2, 0, 0));
    CALL(pwritev64v2(file, parts, 2, 0, 0));
    CALL(pipe(pipes));
    CALL(pipe2(more, O_NONBLOCK));
    CALL(sendfile(pipes[1], file, &offset, 4));
    CALL(sendfile64(pipes[1], file, &offset, 4));
    CALL(tee(pipes[0], more[1], 8, SPLICE_F_NONBLOCK));
    CALL(splice(pipes[0], NULL, more[1], NULL, 8, 0));
    CALL(vmsplice(more[1], parts, 1, SPLICE_F_NONBLOCK));
    CALL(read(more[0], buffer, 100));
    CALL(read(more[0], buffer, 100));
    offset = 0;
    IS(copy_file_range(file, &offset, -1, NULL, 4, 0) == -1);
    struct iovec there = { other, 4 }, here = { buffer, 4 };
    IS(process_vm_readv(getpid(), &here, 1, &there, 1, 0) >= -1);
    IS(process_vm_writev(getpid(), &here, 1, &there, 1, 0) >= -1);
    CALL(getrandom(buffer, 16, 0));
    CALL(getentropy(buffer, 16));
    CALL(getentropy(buffer, 1000));
    CALL(close(file));
    CALL(close(file));
    close(zero), close(pipes[0]), close(pipes[1]), close(more[0]), close(more[1]);
}

static void opening(void)
{
    char name[] = "temporary.XXXXXX", name64[] = "temporary.XXXXXX", name_o[] = "temporary.XXXXXX",
         name_o64[] = "temporary.XXXXXX";
    int file;
    CALL(open("does not exist", O_RDONLY));
    CALL(file = open64("data", O_RDWR));
    CALL(close(__open_2("data", O_RDONLY)));
    CALL(close(__open64_2("data", O_RDONLY)));
    CALL(close(openat(AT_FDCWD, "data", O_RDONLY)));
    CALL(close(openat64(AT_FDCWD, "data", O_RDONLY)));
    CALL(close(__openat_2(AT_FDCWD, "data", O_RDONLY)));
    CALL(close(__openat64_2(AT_FDCWD, "data", O_RDONLY)));
    CALL(close(creat("made", 0604)));
    CALL(close(creat64("made64", 0604)));
    struct stat status;
    CALL(stat("made", &status));
    printf("mode %o\n", status.st_mode & 0777);
    if (close_range)
        CALL(close_range(900, 901, 0));
    CALL(close(dup(file)));
    CALL(dup2(file, 99));
    CALL(dup3(file, 98, O_CLOEXEC));
    CALL(fcntl(98, F_GETFD));
    CALL(fcntl64(99, F_GETFD));
    CALL(fcntl(99, F_DUPFD, 200));
    CALL(fcntl(-1, F_GETFD));
    int waiting = -1;
    CALL(ioctl(file, FIONREAD, &waiting));
    CALL(ioctl(-1, FIONREAD, &waiting));
    CALL(flock(file, LOCK_EX | LOCK_NB));
    CALL(flock(file, LOCK_UN));
    CALL(lockf(file, F_TLOCK, 0));
    CALL(lockf64(file, F_ULOCK, 0));
    CALL(fsync(file));
    CALL(fdatasync(file));
    sync();
    CALL(syncfs(-1));
    CALL(sync_file_range(-1, 0, 0, 0));
    CALL(fallocate(-1, 0, 0, 4096));
    CALL(fallocate64(-1, 0, 0, 4096));
    CALL(posix_fallocate(file, 0, 4096));
    CALL(posix_fallocate64(-1, 0, 4096));
    CALL(posix_fadvise(file, 0, 0, POSIX_FADV_NORMAL));
    CALL(posix_fadvise64(-1, 0, 0, POSIX_FADV_NORMAL));
    CALL(readahead(file, 0, 10));
    CALL(truncate("data", 100));
    CALL(truncate64("data", 200));
    CALL(ftruncate(file, 50));
    CALL(ftruncate64(file, 60));
    CALL(rename("made", "renamed"));
    CALL(renameat(AT_FDCWD, "renamed", AT_FDCWD, "again"));
    CALL(renameat2(AT_FDCWD, "again", AT_FDCWD, "last", 0));
    CALL(unlink("last"));
    CALL(unlinkat(AT_FDCWD, "made64", 0));
    CALL(mkdir("folder", 0700));
    IS(closedir(opendir("folder")) == 0);
    IS(opendir("no folder") == NULL);
    CALL(rmdir("folder"));
    CALL(mkfifo("fifo", 0600));
    CALL(mkfifoat(AT_FDCWD, "fifo", 0600));
    CALL(unlink("fifo"));
    IS(mkstemp(name) >= 0 && unlink(name) == 0);
    IS(mkstemp64(name64) >= 0 && unlink(name64) == 0);
    IS(mkostemp(name_o, O_APPEND) >= 0 && unlink(name_o) == 0);
    IS(mkostemp64(name_o64, O_APPEND) >= 0 && unlink(name_o64) == 0);
    IS(mount("nothing", "no folder", "nothing", 0, NULL) == -1);
    IS(umount2("no folder", 0) == -1);
    close(file);
}

static void waiting(void)
{
    int epoll, event, timer, notify;
    struct epoll_event events[2] = { { .events = EPOLLIN } };
    struct timeval short_time = { 0, 1000 };
    struct itimerspec soon = { .it_value = { 0, 1000 } };
    uint64_t value = 0;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CALL(event = eventfd(3, 0));
    struct pollfd files = { event, POLLIN, 0 };
    CALL(eventfd_read(event, &value));
    CALL(eventfd_write(event, value + 1));
    printf("%llu\n", (unsigned long long)value);
    CALL(poll(&files, 1, 1000));
    CALL(__poll_chk(&files, 1, 1000, sizeof files));
    CALL(ppoll(&files, 1, &a_moment, NULL));
    CALL(__ppoll_chk(&files, 1, &a_moment, NULL, sizeof files));
    CALL(poll(NULL, 0, 1));
    fd_set reading;
    FD_ZERO(&reading);
    FD_SET(event, &reading);
    CALL(select(event + 1, &reading, NULL, NULL, &short_time));
    CALL(pselect(0, NULL, NULL, NULL, &a_moment, NULL));
    CALL(select(-1, NULL, NULL, NULL, &short_time));
    CALL(close(epoll_create(1)));
    CALL(epoll_create(-1));
    CALL(epoll = epoll_create1(EPOLL_CLOEXEC));
    CALL(epoll_ctl(epoll, EPOLL_CTL_ADD, event, events));
    CALL(epoll_ctl(epoll, EPOLL_CTL_ADD, event, events));
    CALL(epoll_wait(epoll, events, 2, 1000));
    CALL(epoll_pwait(epoll, events, 2, 1000, NULL));
    if (epoll_pwait2)
        IS(epoll_pwait2(epoll, events, 2, &a_moment, NULL) >= -1);
    CALL(timer = timerfd_create(CLOCK_MONOTONIC, 0));
    CALL(timerfd_settime(timer, 0, &soon, NULL));
    CALL(read(timer, &value, sizeof value));
    CALL(close(signalfd(-1, &set, 0)));
    CALL(notify = inotify_init());
    CALL(close(inotify_init1(IN_CLOEXEC)));
    CALL(inotify_add_watch(notify, ".", IN_CREATE));
    CALL(inotify_add_watch(notify, "does not exist", IN_CREATE));
    close(notify), close(timer), close(epoll), close(event);
}

static void sockets(void)
{
    int pair[2], server, client, accepted;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    struct iovec part = { buffer, 5 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    struct mmsghdr messages = { .msg_hdr = message };
    CALL(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    CALL(send(pair[0], "hello", 5, 0));
    CALL(sendto(pair[0], "hello", 5, 0, NULL, 0));
    CALL(sendmsg(pair[0], &message, 0));
    CALL(sendmmsg(pair[0], &messages, 1, 0));
    CALL(send(pair[0], "hello", 5, 0));
    CALL(recv(pair[1], buffer, 100, 0));
    CALL(__recv_chk(pair[1], buffer, 100, sizeof buffer, 0));
    CALL(recvfrom(pair[1], buffer, 100, 0, NULL, NULL));
    CALL(recvmsg(pair[1], &message, 0));
    CALL(recvmmsg(pair[1], &messages, 1, MSG_DONTWAIT, NULL));
    CALL(__recvfrom_chk(pair[1], buffer, 100, sizeof buffer, MSG_DONTWAIT, NULL, NULL));
    CALL(shutdown(pair[0], SHUT_RDWR));
    CALL(recv(-1, buffer, 1, 0));
    CALL(server = socket(AF_INET, SOCK_STREAM, 0));
    CALL(bind(server, (struct sockaddr *)&address, sizeof address));
    CALL(listen(server, 4));
    getsockname(server, (struct sockaddr *)&address, &size);
    CALL(client = socket(AF_INET, SOCK_STREAM, 0));
    CALL(connect(client, (struct sockaddr *)&address, sizeof address));
    CALL(accepted = accept(server, NULL, NULL));
    CALL(close(accepted));
    CALL(close(client));
    client = socket(AF_INET, SOCK_STREAM, 0);
    CALL(connect(client, (struct sockaddr *)&address, sizeof address));
    CALL(accepted = accept4(server, NULL, NULL, SOCK_NONBLOCK));
    CALL(recv(accepted, buffer, 1, 0));
    CALL(accept(-1, NULL, NULL));
    close(accepted), close(client), close(server), close(pair[0]), close(pair[1]);

    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV }, *found = NULL;
    CALL(getaddrinfo("127.0.0.1", "80", &hints, &found));
    if (found) {
        CALL(getnameinfo(found->ai_addr, found->ai_addrlen, buffer, sizeof buffer, other, sizeof other,
                         NI_NUMERICHOST | NI_NUMERICSERV));
        printf("%s %s\n", buffer, other);
        freeaddrinfo(found);
    }
    CALL(getaddrinfo("not a number", "80", &hints, &found));
    struct hostent *host = gethostbyname("127.0.0.1");
    printf("gethostbyname %d\n", host && host->h_length == 4);
    host = gethostbyname2("127.0.0.1", AF_INET);
    printf("gethostbyname2 %d\n", host && host->h_length == 4);
    host = gethostbyaddr("", 0, AF_INET);
    printf("gethostbyaddr %d\n", host != NULL);
}

static void memory(void)
{
    char *page = NULL, *old;
    IS((page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
    IS(munmap(mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096) == 0);
    IS(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    old = page;
    page[5] = 'x';
    IS((page = mremap(old, 8192, 16384, MREMAP_MAYMOVE)) != MAP_FAILED);
    printf("%c\n", page[5]);
    CALL(mprotect(page, 4096, PROT_READ));
    CALL(madvise(page, 4096, MADV_NORMAL));
    CALL(madvise(page, 4096, 4242));
    CALL(msync(page, 4096, MS_SYNC));
    IS(mlock(page, 4096) >= -1);
    IS(mlock2(page, 4096, 0) >= -1);
    IS(munlock(page, 4096) >= -1);
    CALL(mlockall(0));
    IS(munlockall() >= -1);
    CALL(munmap(page, 16384));
    IS(sbrk(0) != (void *)-1);
    IS(brk(sbrk(0)) == 0);
    CALL(close(memfd_create("name", 0)));
    IS(close(shm_open("/tacho-os-calls", O_RDWR | O_CREAT, 0600)) == 0);
    CALL(shm_unlink("/tacho-os-calls"));
    CALL(shm_unlink("/tacho-os-calls"));
}

static void messages(void)
{
    struct {
        long type;
        char text[8];
    } letter = { 1, "letter" };
    int queue, set, segment;
    struct sembuf up = { 0, 1, 0 }, down = { 0, -1, 0 };
    struct mq_attr attributes = { .mq_maxmsg = 2, .mq_msgsize = 64 };
    IS((queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600)) >= 0);
    CALL(msgsnd(queue, &letter, sizeof letter.text, 0));
    CALL(msgrcv(queue, &letter, sizeof letter.text, 0, 0));
    CALL(msgrcv(queue, &letter, sizeof letter.text, 0, IPC_NOWAIT));
    CALL(msgctl(queue, IPC_RMID, NULL));
    IS((set = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600)) >= 0);
    CALL(semctl(set, 0, SETVAL, 1));
    CALL(semop(set, &up, 1));
    CALL(semop(set, &down, 1));
    CALL(semctl(set, 0, GETVAL));
    CALL(semtimedop(set, &down, 1, &a_moment));
    CALL(semtimedop(set, &down, 1, &a_moment));
    CALL(semctl(set, 0, IPC_RMID));
    IS((segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)) >= 0);
    void *at = NULL;
    IS((at = shmat(segment, NULL, 0)) != (void *)-1);
    CALL(shmdt(at));
    CALL(shmctl(segment, IPC_RMID, NULL));
    IS(shmat(-1, NULL, 0) == (void *)-1);

    CALL(mq_open("no slash in front", O_RDWR));
    mqd_t mail = mq_open("/tacho-os-calls", O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attributes);
    if (mail >= 0) { /* a container may have no such file system */
        CALL(mq_send(mail, "one", 3, 0));
        CALL(mq_timedsend(mail, "two", 3, 1, &no_time));
        CALL(mq_send(mail, "three", 5, 0));
        CALL(mq_receive(mail, buffer, sizeof buffer, NULL));
        CALL(mq_timedreceive(mail, buffer, sizeof buffer, NULL, &no_time));
        CALL(mq_receive(mail, buffer, sizeof buffer, NULL));
        CALL(mq_close(mail));
    } else {
        mq_send(-1, "", 0, 0), mq_timedsend(-1, "", 0, 0, &no_time), mq_close(-1);
        mq_receive(-1, buffer, 1, NULL), mq_timedreceive(-1, buffer, 1, NULL, &no_time);
    }
    IS(mq_unlink("/tacho-os-calls") == 0 || mail < 0);

    int file = open("data", O_RDONLY);
    struct aiocb request = { .aio_fildes = file, .aio_buf = buffer, .aio_nbytes = 4 };
    const struct aiocb *list[] = { &request };
    CALL(aio_read(&request));
    while (aio_suspend(list, 1, NULL) != 0 && errno == EINTR)
        ;
    CALL(aio_suspend64((const struct aiocb64 *const *)list, 1, NULL));
    CALL(aio_error(&request));
    CALL(aio_return(&request));
    close(file);
}

static void on_signal(int number)
{
    (void)number;
}

static void signals(void)
{
    sigset_t set, old;
    siginfo_t information;
    int number = 0;
    struct timespec left;
    signal(SIGUSR1, on_signal);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CALL(sleep(0));
    CALL(usleep(10));
    CALL(nanosleep(&a_moment, &left));
    CALL(nanosleep(&(struct timespec){ 0, -1 }, NULL));
    CALL(clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment, NULL));
    CALL(clock_nanosleep(4242, 0, &a_moment, NULL));
    CALL(sched_yield());
    CALL(raise(SIGUSR1));
    sigprocmask(SIG_BLOCK, &set, &old);
    CALL(kill(getpid(), SIGUSR1));
    CALL(sigwait(&set, &number));
    printf("%d\n", number == SIGUSR1);
    CALL(kill(getpid(), SIGUSR1));
    CALL(sigwaitinfo(&set, &information));
    CALL(sigtimedwait(&set, &information, &a_moment));
    CALL(kill(getpid(), SIGUSR1));
    CALL(sigsuspend(&old));
    sigprocmask(SIG_SETMASK, &old, NULL);
    CALL(kill(getpid(), 4242));
    CALL(killpg(getpgrp(), 0));
    if (tgkill)
        IS(tgkill(getpid(), (pid_t)syscall(SYS_gettid), 0) == 0);
    /* again, should it come too early */
    struct itimerspec soon = { .it_value = { 0, 2000000 }, .it_interval = { 0, 2000000 } };
    timer_t timer;
    struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    timer_create(CLOCK_MONOTONIC, &how, &timer);
    timer_settime(timer, 0, &soon, NULL);
    CALL(pause());
    timer_delete(timer);
}

/* All six arguments arrive, errno is left as the kernel has it, and a child may come back on its parent's stack. */
static void system_calls(void)
{
    int status = 0;
    fflush(stdout);
    CALL(syscall(SYS_close, -1));
    CALL(syscall(100000));
    CALL(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1));
    IS(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 4096) != -1);
    IS(syscall(SYS_getpid) == getpid());
    CALL(syscall(SYS_prctl, 1000000, 1, 2, 3, 4));
    CALL(syscall(SYS_seccomp, 1000000, 0, NULL));
    fflush(stdout);
    long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        syscall(SYS_exit_group, 9);
    CALL(syscall(SYS_wait4, child, &status, 0, NULL) == child && status == 9 << 8);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    umask(022);
    reading_and_writing();
    opening();
    waiting();
    sockets();
    memory();
    messages();
    signals();
    system_calls();
    return 0;
}
