/* The handshake: connect to the collector named by TACHO_SESSION, say hello, receive and map the arena.
 *
 * Raw system calls only, and no descriptor stays open afterwards, so that programs that count, close or poll their
 * descriptors never meet ours. Runs in constructors and in forked children: no allocation, no locks.                */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "../wire/cuda.h"
#include "core.h"
#include "sys.h"

#define PATIENCE_SECONDS 2        /* a stopped or dead collector must not hold up the program */
#define FLUSH_PATIENCE_SECONDS 30 /* …that has not asked it to write down what may be a full buffer */
#define SHORT_PATIENCE_SECONDS 1  /* …and of one that has not answered such a question before */

struct session {
    uint8_t token[16];
    const char *name, *path; /* path: NULL if there is none; both end at ':' or NUL */
    size_t name_length, path_length;
};

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_session(const char *text, struct session *session)
{
    for (int i = 0; i < 16; i++) {
        int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return -EINVAL;
        session->token[i] = (uint8_t)(high << 4 | low);
    }
    if (text[32] != ':')
        return -EINVAL;
    const char *filters = text + 33; /* jail.c reads them */
    session->name = filters + strspn(filters, "0123456789");
    if (*session->name++ != ':')
        return -EINVAL;
    const char *colon = strchr(session->name, ':');
    session->name_length = colon ? (size_t)(colon - session->name) : strlen(session->name);
    session->path = colon ? colon + 1 : NULL;
    session->path_length = colon ? strlen(session->path) : 0;
    return 0;
}

/* An abstract address starts with a NUL byte and ends where its length says. */
static int connect_to(int socket, const char *name, size_t length, int abstract)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (length == 0 || length + 1 > sizeof address.sun_path)
        return -EINVAL;
    memcpy(address.sun_path + abstract, name, length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    return sys_connect(socket, (const struct sockaddr *)&address, abstract ? size : (socklen_t)sizeof address);
}

static int open_session(const struct session *session, int patience_seconds)
{
    int socket = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (socket < 0)
        return socket;
    struct timeval patience = { .tv_sec = patience_seconds };
    sys_setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sys_setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int result = connect_to(socket, session->name, session->name_length, 1);
    if (result < 0 && session->path) /* another network namespace: the file system may still be the same */
        result = connect_to(socket, session->path, session->path_length, 0);
    if (result < 0) {
        sys_close(socket);
        return result;
    }
    return socket;
}

static int send_hello(int socket, const struct session *session, enum wire_origin origin)
{
    struct wire_hello hello = {
        .magic = WIRE_MAGIC, .version = WIRE_VERSION,
        .pid = (uint32_t)sys_getpid(), .tid = (uint32_t)sys_gettid(), .parent_pid = (uint32_t)sys_getppid(),
        .origin = origin,
    };
    memcpy(hello.token, session->token, sizeof hello.token);
    struct iovec part = { &hello, sizeof hello };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    long sent;
    do
        sent = sys_sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent == -EINTR);
    agent.pid = hello.pid;
    return sent == (long)sizeof hello ? 0 : sent < 0 ? (int)sent : -EPROTO;
}

/* 0, or -errno; *descriptor is that of the arena, or -1. */
static int receive_welcome(int socket, struct wire_welcome *welcome, int *descriptor)
{
    union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control;
    struct iovec part = { welcome, sizeof *welcome };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
    long received;
    *descriptor = -1;
    do
        received = sys_recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received == -EINTR);
    if (received < 0)
        return (int)received;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len >= CMSG_LEN(sizeof(int)))
        memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    return received == (long)sizeof *welcome && welcome->magic == WIRE_MAGIC ? welcome->status : -EPROTO;
}

/* The arena must not be inherited: a forked child gets its own, and must not write into its parent's. */
static int map_arena(int descriptor, uint64_t bytes, enum wire_origin origin)
{
    struct wire_header *arena = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (sys_failed(arena))
        return -ENOMEM;
    size_t private_bytes = (size_t)WIRE_THREAD_SLOTS * sizeof(struct agent_thread);
    void *threads = sys_mmap(NULL, private_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int usable = bytes >= WIRE_CHUNKS_OFFSET && arena->magic == WIRE_MAGIC && arena->version == WIRE_VERSION &&
                 arena->arena_bytes == bytes && wire_arena_bytes(arena->chunk_count, arena->cuda.buffer_count) == bytes;
    if (sys_failed(threads) || !usable) {
        sys_munmap(arena, bytes);
        if (!sys_failed(threads))
            sys_munmap(threads, private_bytes);
        return usable ? -ENOMEM : -EPROTO;
    }
    sys_madvise(arena, bytes, MADV_DONTFORK);
    sys_madvise(threads, private_bytes, MADV_DONTFORK);
    agent.threads = threads;
    agent.slots = wire_threads(arena);
    agent.chunks = wire_chunks(arena);
    agent.clock = arena->clock;
    agent.flags = arena->flags;
    agent.sources = arena->sources;
    if (origin != WIRE_ORIGIN_FORK) { /* a child goes on with what its parent chose */
        atomic_store(&agent.chosen, arena->sources);
        atomic_store(&agent.torch, arena->torch);
    }
    agent.osrt_threshold_ticks = arena->osrt_threshold_ticks;
    agent.osrt_backtrace_ticks = arena->osrt_backtrace_bytes ? arena->osrt_backtrace_ticks : UINT64_MAX;
    agent.arena = arena;
    return 0;
}

/* One question and its answer: 0, or -errno. */
static int ask(enum wire_origin origin, int patience_seconds, struct wire_welcome *welcome, int *descriptor)
{
    struct session session;
    int result = parse_session(agent.session, &session);
    if (result < 0)
        return result;
    int socket = open_session(&session, patience_seconds);
    if (socket < 0)
        return socket;
    result = send_hello(socket, &session, origin);
    if (result == 0)
        result = receive_welcome(socket, welcome, descriptor);
    sys_close(socket);
    return result;
}

int attach_arena(enum wire_origin origin)
{
    struct wire_welcome welcome;
    int descriptor = -1, result = ask(origin, PATIENCE_SECONDS, &welcome, &descriptor);
    if (result == 0)
        result = descriptor < 0 ? -EPROTO : map_arena(descriptor, welcome.arena_bytes, origin);
    if (descriptor >= 0)
        sys_close(descriptor);
    return result;
}

int attach_flush(void)
{
    static _Atomic int has_failed;
    struct wire_welcome welcome;
    int patience = atomic_load(&has_failed) ? SHORT_PATIENCE_SECONDS : FLUSH_PATIENCE_SECONDS;
    int descriptor = -1, result = ask(WIRE_ORIGIN_KNOWN, patience, &welcome, &descriptor);
    atomic_store(&has_failed, result < 0);
    if (descriptor >= 0)
        sys_close(descriptor);
    return result;
}
