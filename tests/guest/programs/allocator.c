/* A program with a malloc() of its own, which initialises itself at the first call and must not be called again by
 * then: by its own system calls, for one. Chromium's waits for itself for ever in that case; this one counts. Its first
 * call comes before any constructor has run. */
#include "guest.h"

enum { BYTES = 64 << 20, EARLY_BYTES = 1 << 20, ALIGNED = 16 };

static char early[EARLY_BYTES] __attribute__((aligned(ALIGNED))), *memory = early;
static size_t used, most = EARLY_BYTES;
static enum { NEW, INITIALISING, READY } state;
static int entered_again;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What allocators do here: read a setting, learn about the machine, map their memory. */
static void initialise(void)
{
    char setting[16];
    state = INITIALISING;
    int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, setting, sizeof setting) < 0)
        abort();
    close(file);
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    char *mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        abort();
    madvise(mapped, BYTES, MADV_NOHUGEPAGE);
    memory = mapped;
    used = 0;
    most = BYTES;
    state = READY;
}

/* Each piece has its size before it, and nothing is ever given back. */
static void *allocate(size_t bytes, size_t alignment)
{
    alignment = alignment < ALIGNED ? ALIGNED : alignment;
    size_t at = (used + sizeof bytes + alignment - 1) / alignment * alignment;
    if (bytes > most || at > most - bytes) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(memory + at - sizeof bytes, &bytes, sizeof bytes);
    used = at + bytes;
    return memory + at;
}

static void *allocate_locked(size_t bytes, size_t alignment)
{
    if (state == INITIALISING)
        entered_again++;
    else if (state == NEW)
        initialise();
    if (state != READY)
        return allocate(bytes, alignment);
    pthread_mutex_lock(&lock);
    void *piece = allocate(bytes, alignment);
    pthread_mutex_unlock(&lock);
    return piece;
}

void *malloc(size_t bytes)
{
    return allocate_locked(bytes, ALIGNED);
}

void free(void *piece)
{
}

void *calloc(size_t count, size_t bytes)
{
    return bytes && count > (size_t)BYTES / bytes ? NULL : allocate_locked(count * bytes, ALIGNED); /* zero as mapped */
}

void *realloc(void *piece, size_t bytes)
{
    size_t before = 0;
    void *more = allocate_locked(bytes, ALIGNED);
    if (piece)
        memcpy(&before, (char *)piece - sizeof before, sizeof before);
    return more && piece ? memcpy(more, piece, before < bytes ? before : bytes) : more;
}

void *memalign(size_t alignment, size_t bytes)
{
    return allocate_locked(bytes, alignment);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return allocate_locked(bytes, alignment);
}

int posix_memalign(void **piece, size_t alignment, size_t bytes)
{
    *piece = allocate_locked(bytes, alignment);
    return *piece ? 0 : ENOMEM;
}

PROGRAM(own_allocator)
{
    char *text = NULL;
    if (asprintf(&text, "%d", 12345) < 0)
        return 1;
    say("allocated %s; entered again while it was initialised: %d", text, entered_again);
    return 0;
}
