/* The handshake: connect to the collector named by TACHO_SESSION, say hello, receive and map the arena.
 *
 * It makes raw system calls only, and no descriptor stays open afterwards, so programs that count, close or poll their
 * descriptors never meet one of the agent's. It runs in constructors and forked children: no allocation, no locks. */
#include "attach.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "agent.h"
#include "arena_window.h"
#include "session_mark.h"
#include "source.h"
#include "sys.h"

/* A stopped or dead collector must not hold up the program for longer, and its children not at all. */
#define PATIENCE_SECONDS 2
/* tacho_flush() asks for more: the collector may have a full buffer to write. */
#define FLUSH_PATIENCE_SECONDS 30
#define SHORT_PATIENCE_SECONDS 1 /* for a flush after one that got no answer */

struct attach_session {
    uint8_t token[16];
    const char *name, *path; /* path: NULL if there is none; both end at ':' or NUL */
    size_t name_length, path_length;
};

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_session(const char *text, struct attach_session *session)
{
    for (int i = 0; i < 16; i++) {
        int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return -EINVAL;
        session->token[i] = (uint8_t)(high << 4 | low);
    }
    if (text[32] != ':')
        return -EINVAL;
    const char *filters = text + 33; /* seccomp.c reads them */
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

static uint64_t now_us(void)
{
    return sys_now_ns() / 1000u;
}

/* Limits all that is done with the socket to one deadline, however many steps it takes. */
static void set_patience(int socket, uint64_t until_us)
{
    uint64_t now = now_us(), left = until_us > now ? until_us - now : 1; /* 0 would mean no timeout */
    struct timeval patience = { .tv_sec = (time_t)(left / 1000000), .tv_usec = (suseconds_t)(left % 1000000) };
    sys_setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sys_setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

static int open_session(const struct attach_session *session, uint64_t until_us)
{
    int socket = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (socket < 0)
        return socket;
    set_patience(socket, until_us);
    /* The path first: only the user of the capture can reach it, so nobody else can fill its queue. A process that
     * cannot reach it either (another user, another root) takes the abstract name. */
    int result = session->path ? connect_to(socket, session->path, session->path_length, 0) : -ENOENT;
    if (result < 0 && result != -EAGAIN)
        result = connect_to(socket, session->name, session->name_length, 1);
    if (result < 0) {
        sys_close(socket);
        return result;
    }
    return socket;
}

static int send_hello(int socket, const struct attach_session *session, enum wire_origin origin)
{
    struct wire_hello hello = {
        .magic = WIRE_MAGIC,
        .version = WIRE_VERSION,
        .pid = (uint32_t)sys_getpid(),
        .tid = (uint32_t)sys_gettid(),
        .parent_pid = (uint32_t)sys_getppid(),
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
static int receive_welcome(int socket, struct wire_welcome *welcome, int *descriptor, uint64_t until_us)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = { welcome, sizeof *welcome };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
    };
    long received;
    *descriptor = -1;
    do {
        set_patience(socket, until_us);
        received = sys_recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (received == -EINTR);
    if (received < 0)
        return (int)received;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len >= CMSG_LEN(sizeof(int)))
        memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    return received == (long)sizeof *welcome && welcome->magic == WIRE_MAGIC ? welcome->status : -EPROTO;
}

#define LEAST_CHUNKS 16u /* per window: 1 MB */
#define LEAST_NOTE_CHUNKS 4u
#define LEAST_SLOTS 256u

/* Maps the first window, at this offset of the arena. */
static int open_area(struct area *area, int descriptor, uint64_t offset)
{
    char *window = window_map(descriptor, offset, (size_t)area->per_window * area->unit_bytes);
    if (!window)
        return -ENOMEM;
    atomic_store(&area->windows[0], window);
    return area_grow(area);
}

/* After a failure, windows that were mapped stay mapped and unused. */
static int open_areas(int descriptor, const struct wire_header *arena)
{
    uint32_t chunks = arena->chunk_count;
    area_set(&agent.slots, sizeof(struct wire_thread), WIRE_THREAD_SLOTS, LEAST_SLOTS,
             offsetof(struct wire_thread, next_free));
    area_set(&agent.threads, AGENT_THREAD_BYTES, WIRE_THREAD_SLOTS, LEAST_SLOTS, 0);
    area_set(&agent.note_chunks, WIRE_CHUNK_BYTES, WIRE_NOTE_CHUNKS, LEAST_NOTE_CHUNKS,
             offsetof(struct wire_chunk, next_free));
    area_set(&agent.chunks, WIRE_CHUNK_BYTES, chunks, area_per_window(chunks, LEAST_CHUNKS),
             offsetof(struct wire_chunk, next_free));
    agent.threads.is_private = 1;
    agent.slots.twin = &agent.threads;
    if (open_area(&agent.slots, descriptor, WIRE_THREADS_OFFSET) != 0 ||
        open_area(&agent.note_chunks, descriptor, WIRE_CHUNKS_OFFSET) != 0 ||
        open_area(&agent.chunks, descriptor, WIRE_CHUNKS_OFFSET + WIRE_NOTE_CHUNKS * WIRE_CHUNK_BYTES) != 0)
        return -ENOMEM;
    return 0;
}

static void attach_take_settings(const struct wire_header *arena, enum wire_origin origin)
{
    agent.clock = arena->clock;
    agent.flags = arena->flags;
    agent.sources = arena->sources;
    agent.if_used = arena->if_used;
    if (origin != WIRE_ORIGIN_FORK) /* a forked child keeps its parent's choice */
        atomic_store(&agent.chosen, arena->sources);
}

static int map_arena(int descriptor, uint64_t bytes, enum wire_origin origin)
{
    struct wire_header *arena = bytes >= WIRE_CHUNKS_OFFSET ? window_map(descriptor, 0, WIRE_THREADS_OFFSET) : NULL;
    if (!arena)
        return -ENOMEM;
    int usable = arena->magic == WIRE_MAGIC && arena->version == WIRE_VERSION && arena->arena_bytes == bytes &&
                 wire_chunks_end(arena->chunk_count) <= bytes;
    int result = usable ? open_areas(descriptor, arena) : -EPROTO;
    if (result == 0)
        result = sources_attach(arena, descriptor, origin);
    if (result != 0) {
        window_unmap(arena, WIRE_THREADS_OFFSET);
        return result;
    }
    attach_take_settings(arena, origin);
    agent.arena = arena;
    return 0;
}

/* Sends one request and receives its answer: 0, or -errno. */
static int attach_ask(const struct attach_session *session, enum wire_origin origin, int patience_seconds,
                      struct wire_welcome *welcome, int *descriptor)
{
    uint64_t until_us = now_us() + (uint64_t)patience_seconds * 1000000u;
    int socket = open_session(session, until_us);
    if (socket < 0)
        return socket;
    int result = send_hello(socket, session, origin);
    if (result == 0)
        result = receive_welcome(socket, welcome, descriptor, until_us);
    sys_close(socket);
    return result;
}

/* The collector knows the processes that it refused, and those that never took a slot in their arena. It cannot know of
 * the others, so those leave a mark. */
static void tell_why(const struct attach_session *session, int result)
{
    if (result == -EAGAIN || result == -ETIMEDOUT) {
        mark_silent(session->path);
        mark_unrecorded(session->path, WIRE_CAUSE_NO_ANSWER);
    } else if (result == -EMFILE || result == -ENFILE) {
        mark_unrecorded(session->path, WIRE_CAUSE_NO_DESCRIPTOR);
    }
}

int attach_arena(enum wire_origin origin)
{
    struct attach_session session;
    struct wire_welcome welcome = { .status = 0 };
    int descriptor = -1, result = parse_session(agent.session, &session);
    if (result < 0)
        return result;
    if (mark_is_silent(session.path)) {
        mark_unrecorded(session.path, WIRE_CAUSE_NO_ANSWER);
        return -ETIMEDOUT;
    }
    result = attach_ask(&session, origin, PATIENCE_SECONDS, &welcome, &descriptor);
    if (result == 0 && descriptor < 0) /* the kernel had no free descriptor for the one that was sent */
        result = -EMFILE;
    if (welcome.status == 0)
        tell_why(&session, result);
    if (result == 0)
        result = map_arena(descriptor, welcome.arena_bytes, origin);
    if (descriptor >= 0)
        sys_close(descriptor);
    return result;
}

int attach_flush(void)
{
    static _Atomic int has_failed;
    struct attach_session session;
    struct wire_welcome welcome;
    int patience = atomic_load(&has_failed) ? SHORT_PATIENCE_SECONDS : FLUSH_PATIENCE_SECONDS;
    int descriptor = -1, result = parse_session(agent.session, &session);
    if (result == 0)
        result = attach_ask(&session, WIRE_ORIGIN_KNOWN, patience, &welcome, &descriptor);
    atomic_store(&has_failed, result < 0);
    if (descriptor >= 0)
        sys_close(descriptor);
    return result;
}
