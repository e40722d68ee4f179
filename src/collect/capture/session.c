/* Where agents attach: see session.h.
 *
 * An agent sends a hello and waits for a descriptor, at most two seconds: nothing slow may happen in between. Names
 * and tokens are random, so captures on one machine never mix. Connections without the token are rejected.
 *
 * Every local user can connect to an abstract socket. A connection takes one of our descriptors until its hello is
 * read, and must not take those that agents need. So each user may have only a few silent connections, and the oldest
 * of them makes room for the next.
 *
 * An agent that asks for a flush waits until all records that it and all other processes had written by then are in
 * the report. The rounds of drain.c read them as usual, and other agents can attach meanwhile. A request that comes
 * while a flush is under way gets the next flush, so nobody waits for records that are newer than their request. */
#include "session.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/path.h"
#include "capture.h"
#include "collect/core/collect_sources.h"
#include "drain.h"
#include "process_end.h"
#include "process_watch.h"
#include "recording.h"
#include "wire/wire_chunks.h"

#define PATIENCE_SECONDS 2
#define BUFFER_DEFAULT (UINT64_C(256) << 20)
#define BUFFER_MIN ((uint64_t)COLLECT_BUFFER_MIN_MIB << 20)
#define BUFFER_MAX ((uint64_t)COLLECT_BUFFER_MAX_MIB << 20)
#define LIMIT_SHARE 8 /* the buffer of one process gets at most 1/LIMIT_SHARE of a container's memory */
/* It also gets at most 1/OWN_SHARE of our own address space, if that is limited, since other processes may follow. */
#define OWN_SHARE 256
#define BACKLOG 4096
/* parent's records to read before a child gets its answer: a few milliseconds at most. */
#define PARENT_BYTES (1u << 20)
#define FLUSH_PATIENCE_SECONDS 60
#define ACCEPTED_MAX 64 /* per wake-up */

/* A connection is silent until its hello is read. A hello is answered at once and the connection closed, except for a
 * flush. */
enum connection_state { SILENT, WANTS_FLUSH, FLUSHING };

/* The most silent connections at a time, far fewer than the descriptors that process_watch.c leaves. */
static const struct {
    int of_user, of_all;
} silent_max[] = {
    { 4, 12 },  /* of users that no process of the capture has run as */
    { 24, 24 }, /* of our user, root and the program's users */
};

struct session_connection {
    struct collector *collector;
    struct session_connection *next, **link;
    struct event *event;
    int socket;
    enum connection_state state;
    struct ucred peer;
};

/* ---- Arenas ---------------------------------------------------------------------------------------------------- */

static uint64_t session_clamp(uint64_t bytes)
{
    bytes = bytes < BUFFER_MIN ? BUFFER_MIN : bytes;
    return bytes > BUFFER_MAX ? BUFFER_MAX : bytes;
}

static uint64_t buffer_bytes(uint64_t wanted)
{
    uint64_t limit = machine_memory_limit();
    if (!wanted && limit && limit / LIMIT_SHARE < BUFFER_DEFAULT)
        return session_clamp(limit / LIMIT_SHARE);
    return session_clamp(wanted ? wanted : BUFFER_DEFAULT);
}

struct arena_size {
    uint32_t chunk_count;
    unsigned areas; /* the chunks, and each source that has an area of its own */
    uint64_t bytes;
};

/* The limit applies to the records and to each other area separately. */
static struct arena_size size_with(const struct collector *collector, uint64_t bytes)
{
    struct arena_size size = { .chunk_count = (uint32_t)(bytes / WIRE_CHUNK_BYTES) };
    uint64_t more = sources_arena_bytes(collector, bytes, &size.areas);
    size.areas++;
    size.bytes = wire_chunks_end(size.chunk_count) + more;
    return size;
}

/* The largest buffer that the limits of address space allow. The process maps only the part of it that it fills; we
 * map all buffers in full. */
static uint64_t most_by_address_space(pid_t pid)
{
    struct rlimit limit;
    uint64_t most = prlimit(pid, RLIMIT_AS, NULL, &limit) == 0 ? limit.rlim_cur / LIMIT_SHARE : UINT64_MAX;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return most;
    uint64_t used = procfs_address_space(), left = limit.rlim_cur > used ? (limit.rlim_cur - used) / OWN_SHARE : 0;
    return left < most ? left : most;
}

/* RLIMIT_FSIZE of the collector also limits shared memory, since an arena is a file. */
static struct arena_size size_for(const struct collector *collector, pid_t pid)
{
    uint64_t bytes = collector->buffer_bytes;
    struct rlimit limit;
    uint64_t most = collector->options->buffer_limit_bytes ? UINT64_MAX : most_by_address_space(pid);
    if (most < bytes)
        bytes = session_clamp(most);
    struct arena_size size = size_with(collector, bytes), least = size_with(collector, BUFFER_MIN);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size.bytes > limit.rlim_cur) {
        uint64_t more = limit.rlim_cur > least.bytes ? limit.rlim_cur - least.bytes : 0;
        size = size_with(collector, BUFFER_MIN + more / least.areas);
    }
    return size;
}

/* Creates an arena: sparse, of fixed size, mapped here; the caller closes *descriptor. NULL and errno on failure. */
static struct wire_header *make_arena(struct collector *collector, const struct arena_size *size, int *descriptor)
{
    *descriptor = memfd_create("tacho", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*descriptor < 0)
        return NULL;
    struct wire_header *arena = MAP_FAILED;
    if (ftruncate(*descriptor, (off_t)size->bytes) == 0 &&
        fcntl(*descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        arena = mmap(NULL, size->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *descriptor, 0);
    if (arena == MAP_FAILED) {
        int saved_errno = errno;
        close(*descriptor);
        errno = saved_errno;
        return NULL;
    }
    arena->magic = WIRE_MAGIC;
    arena->version = WIRE_VERSION;
    arena->arena_bytes = size->bytes;
    arena->chunk_count = size->chunk_count;
    atomic_store(&arena->free_chunks, WIRE_LIST_EMPTY);
    atomic_store(&arena->free_note_chunks, WIRE_LIST_EMPTY);
    atomic_store(&arena->free_threads, WIRE_LIST_EMPTY);
    recording_prepare_arena(collector, arena);
    return arena;
}

/* ---- The handshake --------------------------------------------------------------------------------------------- */

static void close_connection(struct session_connection *connection)
{
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    if (connection->event)
        event_free(connection->event);
    close(connection->socket);
    free(connection);
}

static void send_welcome(int socket, int status, uint64_t arena_bytes, int descriptor)
{
    struct wire_welcome welcome = { .magic = WIRE_MAGIC, .status = status, .arena_bytes = arena_bytes };
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    struct iovec part = { &welcome, sizeof welcome };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (descriptor >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT); /* the pidfd shows if the process has gone */
}

/* The process that sent a hello: a new one, the one that we started, or the next program in one that called exec. */
static struct process *introduce(struct collector *collector, const struct wire_hello *hello, pid_t pid)
{
    struct process *known = process_find(collector, pid);
    /* The known process may be gone and its pid reused before we noticed. That cannot happen to a child of ours: it
     * keeps its pid until we reap it, and a hello that is read after its death is the one that it sent before. */
    int is_reused = known && (known->is_over || (!known->is_child && process_is_gone(known)));
    if (known && known->ending == PROCESS_RUNS && !known->arena && !is_reused) {
        /* The process that we started, or one that was found before its agent attached. */
        if (!known->is_primary)
            known->origin = hello->origin == WIRE_ORIGIN_FORK ? "fork" : "exec";
        return known;
    }
    if (known && known->ending == PROCESS_RUNS) {
        process_end_soon(known, is_reused ? PROCESS_LOST : PROCESS_EXECED, 0, collector_now(collector));
        process_unwatch(known);
    }
    /* In another pid namespace, the parent's pid in the hello means nothing here. */
    pid_t parent = hello->pid == (uint32_t)pid ? (pid_t)(hello->parent_pid & 0xffffff) : procfs_parent(pid);
    children_add_parents(collector, parent);
    return process_add(collector, pid, parent, hello->origin == WIRE_ORIGIN_FORK ? "fork" : "exec");
}

/* A forked child has the modules of its parent, of which only the parent has told. A range that the parent has just
 * begun includes the child: its first record may come before we have read the switch of the parent. */
static void read_parent(struct collector *collector, const struct wire_hello *hello)
{
    struct process *parent = process_find(collector, (pid_t)(hello->parent_pid & 0xffffff));
    int may_begin = !collector->is_recording && !capture_of(collector)->recording.is_done;
    if (parent && (may_begin || hello->origin == WIRE_ORIGIN_FORK))
        drain_process(parent, PARENT_BYTES);
}

/* The agent has timed out, and has left a mark that says so, or the process is dead: nobody would use an arena. */
static int has_given_up(int socket)
{
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static struct process *note_unrecorded(struct collector *collector, const struct wire_hello *hello, pid_t pid)
{
    struct process *process = introduce(collector, hello, pid);
    if (!process)
        return NULL;
    process_describe(process);
    if (process->pidfd < 0)
        process_watch(process);
    return process;
}

/* A process that was found before its hello was read, and died in between, is known: its end is noted as any other. */
static void note_given_up(struct collector *collector, const struct wire_hello *hello, pid_t pid)
{
    const struct process *known = process_find(collector, pid);
    if (!known || known->is_recorded || procfs_is_alive(pid, 0))
        note_unrecorded(collector, hello, pid);
}

static void session_refuse(struct collector *collector, int socket, const struct wire_hello *hello, pid_t pid,
                           int error)
{
    struct process *process = note_unrecorded(collector, hello, pid);
    if (process)
        process->cause = WIRE_CAUSE_NO_SHARED_MEMORY;
    if (!collector->unattached->refusal)
        collector->unattached->refusal = error;
    send_welcome(socket, -error, 0, -1);
}

static void admit(struct collector *collector, int socket, const struct wire_hello *hello, pid_t pid)
{
    int descriptor;
    read_parent(collector, hello);
    struct arena_size size = size_for(collector, pid);
    struct wire_header *arena = make_arena(collector, &size, &descriptor);
    struct process *process = arena ? introduce(collector, hello, pid) : NULL;
    if (!process) {
        int error = arena ? ENOMEM : errno;
        if (arena) {
            munmap(arena, size.bytes);
            close(descriptor);
        }
        session_refuse(collector, socket, hello, pid, error);
        return;
    }
    process_set_own_pid(process, hello->pid);
    if (!process->is_primary && hello->pid == (uint32_t)pid) { /* in our pid namespace */
        arena->adopter = (uint32_t)getpid();
        arena->orphan_parent = (uint32_t)capture_of(collector)->orphan_parent;
    }
    process_attach(process, arena, size.bytes, size.chunk_count);
    process_describe(process); /* it is certainly alive, since it waits for us */
    if (process->pidfd < 0)
        process_watch(process);
    send_welcome(socket, 0, size.bytes, descriptor);
    close(descriptor);
}

/* ---- Flushes --------------------------------------------------------------------------------------------------- */

/* Looked up each time: the waiting agents may go away at any moment, and the flush ends with the last of them. */
static int is_any(const struct capture_session *session, enum connection_state state)
{
    const struct session_connection *connection = session->connections;
    while (connection && connection->state != state)
        connection = connection->next;
    return connection != NULL;
}

static void begin_flush(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    if (is_any(&capture->session, FLUSHING) || !is_any(&capture->session, WANTS_FLUSH))
        return;
    for (struct session_connection *connection = capture->session.connections; connection;
         connection = connection->next)
        if (connection->state == WANTS_FLUSH)
            connection->state = FLUSHING;
    drain_set_goals(collector);
}

static void end_flush(struct collector *collector)
{
    struct session_connection *next;
    drain_settle_goals(collector);
    int status = drain_write_down(collector) == 0 ? 0 : -EIO;
    for (struct session_connection *connection = capture_of(collector)->session.connections; connection;
         connection = next) {
        next = connection->next;
        if (connection->state != FLUSHING)
            continue;
        send_welcome(connection->socket, status, 0, -1);
        close_connection(connection);
    }
}

void session_answer_flushes(struct collector *collector)
{
    if (is_any(&capture_of(collector)->session, FLUSHING) && drain_reached_goals(collector))
        end_flush(collector);
    begin_flush(collector);
}

static int want_flush(struct session_connection *connection)
{
    struct timeval patience = { FLUSH_PATIENCE_SECONDS, 0 };
    event_del(connection->event); /* session_make_room() may have read the hello that this event is pending for */
    if (!collector_descriptor_is_spare(connection->collector, connection->socket) ||
        event_add(connection->event, &patience) != 0)
        return -1;
    connection->state = WANTS_FLUSH;
    begin_flush(connection->collector);
    return 0;
}

/* ---- Connections ----------------------------------------------------------------------------------------------- */

static void session_note_user(struct capture_session *session, uid_t uid)
{
    uint32_t room = COUNT_OF(session->uids);
    for (uint32_t i = 0; i < session->uid_count && i < room; i++)
        if (session->uids[i] == uid)
            return;
    session->uids[session->uid_count++ % room] = uid;
}

static int session_is_users(const struct capture_session *session, uid_t uid)
{
    if (uid == 0 || uid == getuid() || uid == geteuid())
        return 1;
    for (uint32_t i = 0; i < session->uid_count && i < COUNT_OF(session->uids); i++)
        if (session->uids[i] == uid)
            return 1;
    return 0;
}

/* Answers a hello. Returns 0 if the connection is finished, 1 if it waits for a flush. */
static int session_answer(struct session_connection *connection, const struct wire_hello *hello)
{
    struct collector *collector = connection->collector;
    struct capture *capture = capture_of(collector);
    /* The kernel reports the peer's pid in our pid namespace; it is 0 if the peer is outside. */
    pid_t pid = connection->peer.pid > 0 ? connection->peer.pid : (pid_t)(hello->pid & 0xffffff);
    if (memcmp(hello->token, capture->session.token, sizeof hello->token) != 0)
        return 0;
    session_note_user(&capture->session, connection->peer.uid);
    if (hello->magic != WIRE_MAGIC || hello->version != WIRE_VERSION)
        send_welcome(connection->socket, -EPROTO, 0, -1);
    else if (hello->origin != WIRE_ORIGIN_KNOWN && has_given_up(connection->socket))
        note_given_up(collector, hello, pid);
    else if (hello->origin != WIRE_ORIGIN_KNOWN)
        admit(collector, connection->socket, hello, pid);
    else if (want_flush(connection) == 0)
        return 1;
    else
        send_welcome(connection->socket, -EAGAIN, 0, -1);
    return 0;
}

/* Reads the hello if it has arrived. A connection that waits for its flush sends nothing more: it is closed by the
 * peer, or has timed out. */
static void read_hello(evutil_socket_t socket, short what, void *argument)
{
    struct session_connection *connection = argument;
    struct wire_hello hello;
    ssize_t got = what & EV_READ ? recv(socket, &hello, sizeof hello, MSG_DONTWAIT | MSG_TRUNC) : -1;
    if (connection->state != SILENT || got != (ssize_t)sizeof hello || session_answer(connection, &hello) == 0)
        close_connection(connection);
}

/* Makes room for one more silent connection. The one that must go may have sent its hello meanwhile, so that is read
 * first. */
static void session_make_room(struct capture_session *session, uid_t uid)
{
    struct session_connection *oldest = NULL, *oldest_of_user = NULL;
    int is_ours = session_is_users(session, uid), count = 0, count_of_user = 0;
    for (struct session_connection *other = session->connections; other; other = other->next) {
        if (other->state != SILENT || session_is_users(session, other->peer.uid) != is_ours)
            continue;
        oldest = other;
        count++;
        if (other->peer.uid == uid) {
            oldest_of_user = other;
            count_of_user++;
        }
    }
    if (count_of_user >= silent_max[is_ours].of_user)
        read_hello(oldest_of_user->socket, EV_READ, oldest_of_user);
    else if (count >= silent_max[is_ours].of_all)
        read_hello(oldest->socket, EV_READ, oldest);
}

/* NULL if out of memory; then the socket is closed. */
static struct session_connection *add_connection(struct collector *collector, int socket, const struct ucred *peer)
{
    struct capture *capture = capture_of(collector);
    struct session_connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        close(socket);
        return NULL;
    }
    *connection = (struct session_connection){
        .collector = collector,
        .socket = socket,
        .peer = *peer,
        .next = capture->session.connections,
        .link = &capture->session.connections,
    };
    if (connection->next)
        connection->next->link = &connection->next;
    capture->session.connections = connection;
    connection->event = event_new(collector->base, socket, EV_READ, read_hello, connection);
    if (connection->event)
        return connection;
    close_connection(connection);
    return NULL;
}

/* Most agents have sent their hello by the time they are accepted, so they never count as silent. */
static void accept_all(evutil_socket_t listener, short what, void *argument)
{
    struct collector *collector = argument;
    struct timeval patience = { PATIENCE_SECONDS, 0 };
    int socket;
    for (int i = 0; i < ACCEPTED_MAX && (socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;
         i++) {
        struct ucred peer = { .uid = (uid_t)-1 };
        socklen_t size = sizeof peer;
        struct pollfd hello = { .fd = socket, .events = POLLIN };
        getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
        int is_silent = poll(&hello, 1, 0) == 0;
        if (is_silent)
            session_make_room(&capture_of(collector)->session, peer.uid);
        struct session_connection *connection = add_connection(collector, socket, &peer);
        if (connection && !is_silent)
            read_hello(socket, EV_READ, connection);
        else if (connection && event_add(connection->event, &patience) != 0)
            close_connection(connection);
    }
}

/* ---- The sockets ----------------------------------------------------------------------------------------------- */

static int listen_at(const char *name, int abstract)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(name);
    if (length + 1 > sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path + abstract, name, length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, BACKLOG) == 0)
        return listener;
    if (listener >= 0)
        close(listener);
    return -1;
}

/* A socket for programs in another network namespace. If no folder can be created, only the abstract name is used. */
static void open_file_socket(struct capture_session *session)
{
    char path[sizeof session->folder.path + sizeof FOLDER_SOCKET];
    session->file_listener = -1;
    if (session_folder_make(&session->folder) != 0)
        return;
    snprintf(path, sizeof path, "%s/" FOLDER_SOCKET, session->folder.path);
    session->file_listener = listen_at(path, 0);
    if (session->file_listener < 0)
        session_folder_remove(&session->folder);
}

/* The agent looks for files of sources beside itself, so a link to the agent needs links to these files beside it. */
static void link_beside_agent(const struct capture_session *session, const char *agent_path, const char *name)
{
    char file[PATH_MAX], link[PATH_MAX];
    int folder_bytes = (int)path_folder_length(agent_path);
    int file_bytes = snprintf(file, sizeof file, "%.*s%s", folder_bytes, agent_path, name);
    int link_bytes = snprintf(link, sizeof link, "%s/%s", session->folder.path, name);
    if (file_bytes < (int)sizeof file && link_bytes < (int)sizeof link && symlink(file, link) != 0)
        unlink(link); /* then it counts as missing, which the loader reports */
}

const char *session_agent_path(struct capture_session *session, const char *agent_path)
{
    if (!agent_path[strcspn(agent_path, " :\t\n$")] || !session->folder.path[0])
        return agent_path;
    snprintf(session->agent_link, sizeof session->agent_link, "%s/" FOLDER_AGENT, session->folder.path);
    for (int i = 0; i < COLLECT_SOURCE_COUNT; i++)
        if (collect_sources[i]->file.name)
            link_beside_agent(session, agent_path, collect_sources[i]->file.name);
    return symlink(agent_path, session->agent_link) == 0 ? session->agent_link : agent_path;
}

static void write_variable(struct capture_session *session, int filters, const char *name)
{
    char *at = session->variable, *end = at + sizeof session->variable;
    for (size_t i = 0; i < sizeof session->token; i++)
        at += snprintf(at, (size_t)(end - at), "%02x", session->token[i]);
    at += snprintf(at, (size_t)(end - at), ":%d:%s", filters, name);
    if (session->folder.path[0])
        snprintf(at, (size_t)(end - at), ":%s/" FOLDER_SOCKET, session->folder.path);
}

int session_open(struct collector *collector, struct error *err)
{
    struct capture_session *session = &capture_of(collector)->session;
    uint64_t number;
    char name[64];
    collector->filters = procfs_filters(0);
    collector->buffer_bytes = buffer_bytes(collector->options->buffer_limit_bytes);
    if (getrandom(session->token, sizeof session->token, 0) != (ssize_t)sizeof session->token ||
        getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return error_set_errno(err, "cannot start the capture: the kernel returned no random numbers for its name");
    snprintf(name, sizeof name, "tacho-%d-%016llx", (int)getpid(), (unsigned long long)number);
    session->listener = listen_at(name, 1);
    open_file_socket(session);
    collector->folder = session->folder.path;
    if (session->listener < 0 && session->file_listener < 0)
        return error_set_errno(err, "cannot start the capture: the socket for the agents could not be opened");
    write_variable(session, collector->filters, name);
    struct {
        int listener;
        struct event **event;
    } listeners[] = {
        { session->listener, &session->accept },
        { session->file_listener, &session->file_accept },
    };
    for (size_t i = 0; i < COUNT_OF(listeners); i++) {
        if (listeners[i].listener < 0)
            continue;
        *listeners[i].event = event_new(collector->base, listeners[i].listener, EV_READ | EV_PERSIST, accept_all,
                                        collector);
        if (!*listeners[i].event || event_add(*listeners[i].event, NULL) != 0)
            return error_set(err, ERR_NO_MEMORY, "out of memory while starting the capture");
    }
    return 0;
}

void session_close(struct collector *collector)
{
    struct capture_session *session = &capture_of(collector)->session;
    while (session->connections)
        close_connection(session->connections);
    if (session->accept)
        event_free(session->accept);
    if (session->file_accept)
        event_free(session->file_accept);
    if (session->listener >= 0)
        close(session->listener);
    if (session->file_listener >= 0)
        close(session->file_listener);
    session_folder_remove(&session->folder);
    session->accept = session->file_accept = NULL;
    session->listener = session->file_listener = -1;
}
