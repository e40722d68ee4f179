/* Descriptors: which there are, what they say, and those that are special. */
#include "guest.h"

#include <linux/io_uring.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

/* The lowest free number is the next one, always. */
static int say_next(void)
{
    int next = open("/dev/null", O_RDONLY);
    say("next %d", next);
    close(next);
    return 0;
}

PROGRAM(next_descriptor)
{
    say_next();
    in_child("child", say_next);
    usleep(100);
    return say_next();
}

/* Daemons close everything, and what they open next is 0, 1 and 2. */
static int without(int lowest)
{
    int out = dup(1);
    for (int i = lowest; i < 3; i++)
        close(i);
    int next = open("/dev/null", O_RDWR);
    usleep(100);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "echo hello; ls /proc/self/fd > /dev/null; exit 5", (char *)NULL);
        _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    dup2(out, 1);
    close(out);
    say("next %d, status %#x", next, (unsigned)status);
    return 0;
}

static int without_all(void)
{
    return without(0);
}
static int without_output(void)
{
    return without(1);
}
static int without_error(void)
{
    return without(2);
}

PROGRAM(standard_descriptors_closed)
{
    in_child("0, 1 and 2 closed", without_all);
    in_child("1 and 2 closed", without_output);
    in_child("2 closed", without_error);
    return 0;
}

static int run_without_any(void)
{
    close(0);
    close(1);
    close(2);
    execl("/bin/sh", "sh", "-c", "exec 7< /proc/self/status; test -e /proc/self/fd/0 && exit 1; exit 5", (char *)NULL);
    return 99;
}

PROGRAM(exec_with_none_open)
{
    in_child("sh", run_without_any);
    return 0;
}

PROGRAM(closes_all)
{
    int out = dup2(1, 99);
    for (int i = 0; i < 1024; i++)
        if (i != out)
            close(i);
    usleep(100);
    dup2(out, 1);
    close(out);
    in_child("child", say_next);
    open("/dev/null", O_RDWR);
    dup2(1, 2);
    return 0;
}

PROGRAM(events)
{
    uint64_t value = 3;
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), poller = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct epoll_event wanted = { .events = EPOLLIN, .data.fd = event }, got;
    struct itimerspec soon = { .it_value = { 0, 1000000 } };
    epoll_ctl(poller, EPOLL_CTL_ADD, event, &wanted);
    say_result("epoll_wait", epoll_wait(poller, &got, 1, 0));
    say_result("write", write(event, &value, sizeof value));
    say_result("epoll_wait", epoll_wait(poller, &got, 1, -1));
    say_result("read", read(event, &value, sizeof value));
    say_result("read", read(event, &value, sizeof value));
    timerfd_settime(timer, 0, &soon, NULL);
    say_result("timer", read(timer, &value, sizeof value));
    close(event);
    close(poller);
    close(timer);
    return 0;
}

PROGRAM(sockets)
{
    int pair[2], passed = -1;
    char data[16] = "", control[CMSG_SPACE(sizeof passed)] = "";
    struct iovec piece = { data, 1 };
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    say_result("socketpair", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(head), &pair[0], sizeof pair[0]);
    say_result("sendmsg", sendmsg(pair[0], &message, 0));
    say_result("recvmsg", recvmsg(pair[1], &message, MSG_CMSG_CLOEXEC));
    memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof passed);
    say("passed %d", passed);
    say_result("recv", recv(pair[1], data, sizeof data, MSG_DONTWAIT));
    shutdown(pair[0], SHUT_WR);
    say_result("recv", recv(pair[1], data, sizeof data, 0));
    close(pair[0]);
    close(pair[1]);
    close(passed);
    return 0;
}

/* By system calls, as liburing makes them. */
PROGRAM(ring_of_the_kernel)
{
    struct io_uring_params parameters = { 0 };
    int ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
    if (ring < 0)
        return skipped("no io_uring here");
    size_t bytes = parameters.sq_off.array + parameters.sq_entries * sizeof(uint32_t);
    size_t more = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
    char *area = mmap(NULL, bytes > more ? bytes : more, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                      IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries = mmap(NULL, parameters.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    memset(entries, 0, sizeof *entries);
    entries[0] = (struct io_uring_sqe){ .opcode = IORING_OP_NOP, .user_data = 42 };
    ((uint32_t *)(area + parameters.sq_off.array))[0] = 0;
    __atomic_store_n((uint32_t *)(area + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
    say_result("enter", syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
    struct io_uring_cqe *done = (struct io_uring_cqe *)(area + parameters.cq_off.cqes);
    say("done %llu: %d", (unsigned long long)done->user_data, done->res);
    close(ring);
    return 0;
}

PROGRAM(polls)
{
    struct pollfd none = { .fd = 1000, .events = POLLIN };
    fd_set set;
    struct timeval zero = { 0, 0 };
    say_result("poll", poll(&none, 1, 0));
    say("events %#x", (unsigned)none.revents);
    FD_ZERO(&set);
    FD_SET(500, &set);
    say_result("select", select(501, &set, NULL, NULL, &zero));
    say_result("poll", poll((struct pollfd *)nowhere, 1, 0));
    return 0;
}

/* What is in a buffer of stdio is written when it is to be, by whom it is to be. */
PROGRAM(buffers)
{
    printf("before fork ");
    pid_t child = fork();
    if (child == 0)
        exit(0); /* writes its copy */
    waitpid(child, NULL, 0);
    printf("after fork\n");
    fflush(stdout);
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("unbuffered ");
    if (write(1, "written\n", 8) != 8)
        return 1;
    return ferror(stdout);
}
