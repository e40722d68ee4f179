/* A stand-in of NCCL, as far as a profiler plugin sees it: loads the plugin that NCCL_PROFILER_PLUGIN names, as one of
 * the versions 1 to 6 of the interface, and plays what a program and a proxy thread do. Descriptors are written at the
 * offsets that the vendor's headers have, not with our structs. It prints what it has reported, which is the truth for
 * the test, and complains about anything that a plugin must not return. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 1, COLL = 2, P2P = 4, PROXY_OP = 8, STEP = 16, CTRL = 32, KERNEL = 64, NET = 128 };
enum { GROUP_API = 256, COLL_API = 512, CE_COLL = 4096 };

struct table {
    const char *name;
    void *init;
    int (*start)(void *context, void **handle, void *descriptor);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};

static struct {
    int version, mask, faults;
    const struct table *table;
    void *context;
    void *coll; /* handle of the last collective */
    unsigned long started[16], states;
} play;

static void complain(const char *what)
{
    printf("fault: v%d %s\n", play.version, what);
    play.faults++;
}

/* ---- Descriptors, byte by byte --------------------------------------------------------------------------------- */

struct descriptor {
    _Alignas(16) unsigned char bytes[160];
};

static void put(struct descriptor *to, int offset, uint64_t value, int bytes)
{
    memcpy(to->bytes + offset, &value, (size_t)bytes);
}

static void put_text(struct descriptor *to, int offset, const char *text)
{
    put(to, offset, (uintptr_t)text, 8);
}

static struct descriptor head(uint64_t type, void *parent, int rank)
{
    struct descriptor made;
    memset(made.bytes, 0xA5, sizeof made.bytes); /* NCCL does not clear what it does not fill */
    put(&made, 0, type, play.version < 5 ? 1 : 8);
    put(&made, 8, (uintptr_t)parent, 8);
    put(&made, 16, (uint32_t)rank, 4);
    return made;
}

/* An all-reduce of 1024 floats with sequence 7 by RING and LL128 on 4 channels of 8 warps. */
static struct descriptor all_reduce(void *group)
{
    int version = play.version, named = version < 4;
    struct descriptor made = head(COLL, version < 5 ? group : (void *)0x1234, 1);
    int at = 24;
    if (named) {
        put_text(&made, 24, "world");
        put(&made, 32, 0xfeedbeef00000001, 8);
        at = 40;
    }
    put(&made, at, 7, 8);
    put(&made, at + 32, 1024, 8);  /* count */
    put(&made, at + 40, 0, 4);     /* root */
    if (version == 1) {
        put(&made, at + 8, 4, 1);  /* ncclFuncAllReduce */
        put(&made, at + 44, 7, 1); /* ncclFloat32 */
        put(&made, 104, 4, 1);
        put(&made, 105, 8, 1);
        put(&made, 106, 1, 1);     /* RING */
        put(&made, 107, 1, 1);     /* LL128 */
        return made;
    }
    put_text(&made, at + 8, "AllReduce");
    put_text(&made, at + 48, "ncclFloat32");
    int channels = version == 2 ? 104 : version == 3 ? 96 : 80;
    put(&made, channels, 4, 1);
    put(&made, channels + 1, 8, 1);
    put_text(&made, channels + 8, "RING");
    put_text(&made, channels + 16, "LL128");
    if (version >= 5)
        put(&made, 104, (uintptr_t)group, 8);
    return made;
}

/* A send of 10 doubles to rank 3. */
static struct descriptor send_to(void *group)
{
    int version = play.version, at = version < 4 ? 40 : 24;
    struct descriptor made = head(P2P, version < 5 ? group : NULL, 1);
    if (version < 4) {
        put_text(&made, 24, "world");
        put(&made, 32, 0xfeedbeef00000001, 8);
    }
    if (version == 1) {
        put(&made, at, 6, 1); /* ncclFuncSend */
        put(&made, at + 16, 8, 1);
    } else {
        put_text(&made, at, "Send");
        put_text(&made, at + 16, "ncclFloat64");
    }
    put(&made, at + 24, 10, 8);
    put(&made, at + 32, 3, 4);
    if (version >= 4)
        put(&made, at + 36, 2, 1);
    if (version >= 5)
        put(&made, at + 40, (uintptr_t)group, 8);
    return made;
}

static struct descriptor proxy_op(void *parent, pid_t pid, int is_send)
{
    struct descriptor made = head(PROXY_OP, parent, 1);
    put(&made, 24, (uint32_t)pid, 4);
    put(&made, 28, 5, 1); /* channel */
    put(&made, 32, 2, 4); /* peer */
    put(&made, 36, 3, 4); /* steps */
    put(&made, 40, 4096, 4);
    put(&made, 44, (uint32_t)is_send, 4);
    return made;
}

/* ---- Calls of the plugin --------------------------------------------------------------------------------------- */

static void *start(struct descriptor descriptor, int type)
{
    void *handle = (void *)(uintptr_t)0xBAD;
    if (play.table->start(play.context, &handle, &descriptor) != 0)
        complain("startEvent failed");
    if (handle == (void *)(uintptr_t)0xBAD)
        complain("startEvent left the handle as it was");
    for (int bit = 0; handle && bit < 16; bit++)
        play.started[bit] += type >> bit & 1;
    return handle;
}

static void stop(void *handle)
{
    if (handle && play.table->stop(handle) != 0)
        complain("stopEvent failed");
}

static void state(void *handle, int number, uint64_t value)
{
    if (handle && play.table->state(handle, number, &value) != 0)
        complain("recordEventState failed");
    play.states += handle != NULL;
}

/* NCCL announces types that were not asked for, as parents of those that were. */
static void unasked(int type)
{
    struct descriptor descriptor = head((uint64_t)type, NULL, 1);
    void *handle = NULL;
    if (play.table->start(play.context, &handle, &descriptor) != 0 || handle)
        complain("an event that was not asked for got a handle");
}

static int wants(int types)
{
    return (play.mask & types) != 0;
}

/* ---- What is played -------------------------------------------------------------------------------------------- */

static void init(const char *name)
{
    int code;
    if (play.version < 4)
        code = ((int (*)(void **, int *))play.table->init)(&play.context, &play.mask);
    else if (play.version == 4)
        code = ((int (*)(void **, int *, const char *, uint64_t, int, int, int,
                         void *))play.table->init)(&play.context, &play.mask, name, 0xfeedbeef00000001, 2, 8, 1, NULL);
    else
        code = ((int (*)(void **, uint64_t, int *, const char *, int, int, int,
                         void *))play.table->init)(&play.context, 0xfeedbeef00000001, &play.mask, name, 2, 8, 1, NULL);
    if (code != 0 || !play.context)
        complain("init failed");
    if (play.mask & (KERNEL | GROUP_API | COLL_API))
        complain("init asked for events that cost too much");
    if (play.mask & ~(play.version < 3 ? 63 : play.version < 6 ? 255 : 255 | CE_COLL))
        complain("init asked for events that this version does not have");
}

static void plan(void)
{
    if (play.version >= 5) {
        unasked(GROUP_API);
        unasked(COLL_API);
    }
    if (!wants(GROUP | COLL | P2P))
        return;
    void *group = start(head(GROUP, NULL, 0), GROUP);
    play.coll = start(all_reduce(group), COLL);
    void *p2p = start(send_to(group), P2P);
    stop(group); /* before its parts */
    stop(p2p);
    stop(play.coll);
    if (play.version >= 6 && wants(CE_COLL)) {
        struct descriptor made = head(CE_COLL, (void *)0x1234, 1);
        put(&made, 24, 9, 8);
        put_text(&made, 32, "AllGather");
        put(&made, 56, 100, 8);
        put(&made, 64, 0, 4);
        put_text(&made, 72, "ncclInt8");
        put_text(&made, 80, "MC");
        stop(start(made, CE_COLL));
    }
}

static void steps(void *op)
{
    void *handles[3];
    for (int i = 0; i < 3; i++) {
        struct descriptor made = head(STEP, op, 1);
        put(&made, 24, (uint32_t)i, 4);
        handles[i] = start(made, STEP);
        state(handles[i], 8, 0);
        state(handles[i], 9, 4096);
    }
    stop(op);                   /* before its steps */
    stop(handles[2]);           /* and those from the last to the first */
    stop(handles[1]);
    state(handles[1], 9, 8192); /* after the end: nccl#1992 */
    stop(handles[1]);           /* twice */
    if (play.version >= 3) {
        struct {
            uint8_t type;
            _Alignas(8) int device;
            uint64_t request;
            int opcode, pair;
            size_t bytes;
        } ib = { 1, 0, 77, 2, 31, 512 };
        struct descriptor made = head(NET, handles[0], 1);
        put(&made, 24, 1 << 16 | 1, 8);
        put(&made, 32, (uintptr_t)&ib, 8);
        void *net = start(made, NET);
        state(net, 21, (uintptr_t)&ib);
        stop(net);
        put(&made, 24, 99, 8); /* of a plugin that nobody knows: its data is not for us */
        put(&made, 32, 8, 8);
        stop(start(made, NET));
    }
    /* handles[0] is never stopped */
}

static void *proxy(void *unused)
{
    if (!wants(PROXY_OP))
        return unused;
    void *ctrl = start(head(CTRL, NULL, 0), CTRL);
    state(ctrl, 13, 0);
    state(ctrl, 17, 2);
    stop(ctrl);
    steps(start(proxy_op(play.coll, getpid(), 1), PROXY_OP));   /* the collective has ended */
    void *foreign = start(proxy_op((void *)0x77, getpid() + 100000, 0), PROXY_OP);
    if (play.table->finalize(play.context) != 0)                /* before the last stop */
        complain("finalize failed");
    stop(foreign);
    play.table->state((void *)(uintptr_t)0xdeadbeef, 13, NULL); /* a handle that never was, and no arguments */
    return unused;
}

static const struct table *load(const char *path)
{
    char name[32];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    snprintf(name, sizeof name, "ncclProfiler_v%d", play.version);
    if (!library)
        printf("fault: %s\n", dlerror());
    return library ? dlsym(library, name) : NULL;
}

/* 0, or the number of faults. Prints one line: v6 mask 7 group 1 coll 1 p2p 1 op 2 step 3 ctrl 1 net 2 ce 0 states 9.
 */
__attribute__((visibility("default"))) int ncclFakePlay(int version);
int ncclFakePlay(int version)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    pthread_t thread;
    memset(&play, 0, sizeof play);
    play.version = version;
    if (!path) {
        printf("v%d no plugin\n", version);
        return 0;
    }
    if (!(play.table = load(path)))
        return 1;
    init("world");
    plan();
    pthread_create(&thread, NULL, proxy, NULL);
    pthread_join(thread, NULL);
    printf("v%d mask %d group %lu coll %lu p2p %lu op %lu step %lu ctrl %lu net %lu ce %lu states %lu\n", version,
           play.mask, play.started[0], play.started[1], play.started[2], play.started[3], play.started[4],
           play.started[5], play.started[7], play.started[12], play.states);
    return play.faults;
}
