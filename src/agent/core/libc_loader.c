/* The libraries that glibc had before 2.34: libdl, libpthread and librt, now all in libc. The agent must not need
 * them, since a minimal root has none of them; but the functions in them are hooked, and on an old glibc they must
 * be found behind the hooks.
 *
 * So the references are weak: a newer glibc, and musl, resolve them from libc. An old one has a way to load a
 * library that needs no libdl (libc uses it for itself): with that, those of the three that exist are loaded when
 * the agent starts. What is missing then gets a stand-in that fails; the functions of libc itself are found all
 * the same. The stand-ins are there before anything is loaded: other threads, and hooks that the loading itself
 * calls, come here meanwhile. */
#include "libc_loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "sys.h"

#pragma weak dlsym
#pragma weak dlvsym
#pragma weak dladdr
#pragma weak dlerror
#pragma weak dlinfo
#pragma weak pthread_key_delete
#pragma weak pthread_setspecific
#pragma weak pthread_testcancel

struct loader loader = {
    dlsym, dlvsym, dladdr, dlerror, dlinfo, pthread_key_delete, pthread_setspecific, pthread_testcancel
};

/* Only glibc before 2.34 has these. */
extern void *__libc_dlopen_mode(const char *name, int mode) __attribute__((weak));
extern void *__libc_dlsym(void *handle, const char *symbol) __attribute__((weak));
#define MODE (RTLD_NOW | RTLD_GLOBAL | (int)0x80000000 /* as dlopen() asks for it */)

static void *find_in_libc(void *handle, const char *symbol)
{
    static _Atomic(void *) libc;
    static _Atomic long opener; /* the thread that is at it: what its loader allocates may come through
                                 * a hook, and ask here again */
    long self = sys_gettid();
    if (!atomic_load(&libc)) {
        if (atomic_exchange(&opener, self) == self)
            return NULL;
        atomic_store(&libc, __libc_dlopen_mode("libc.so.6", MODE));
        atomic_store(&opener, 0);
    }
    return atomic_load(&libc) ? __libc_dlsym(atomic_load(&libc), symbol) : NULL;
}
static int no_address(const void *address, Dl_info *info)
{
    return 0;
}
static char *no_error(void)
{
    return NULL;
}
static int no_info(void *handle, int request, void *answer)
{
    return -1;
}
static int no_key(pthread_key_t key)
{
    return ENOSYS;
}
static int no_value(pthread_key_t key, const void *value)
{
    return ENOSYS;
}
static void no_cancellation(void)
{
}

static const struct {
    const char *symbol;
    size_t place;
    void *stand_in;
} functions[] = {
    { "dlsym", offsetof(struct loader, dlsym), (void *)find_in_libc },
    { "dlvsym", offsetof(struct loader, dlvsym), NULL },
    { "dladdr", offsetof(struct loader, dladdr), (void *)no_address },
    { "dlerror", offsetof(struct loader, dlerror), (void *)no_error },
    { "dlinfo", offsetof(struct loader, dlinfo), (void *)no_info },
    { "pthread_key_delete", offsetof(struct loader, pthread_key_delete), (void *)no_key },
    { "pthread_setspecific", offsetof(struct loader, pthread_setspecific), (void *)no_value },
    { "pthread_testcancel", offsetof(struct loader, pthread_testcancel), (void *)no_cancellation },
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

static _Atomic(void *) *place_of(size_t function)
{
    return (_Atomic(void *) *)((char *)&loader + functions[function].place);
}

static void fill_in_stand_ins(void)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        void *none = NULL;
        atomic_compare_exchange_strong(place_of(i), &none, functions[i].stand_in);
    }
}

static void replace_stand_ins(void *library)
{
    for (size_t i = 0; library && i < FUNCTIONS; i++) {
        void *stand_in = functions[i].stand_in,
             *found = atomic_load(place_of(i)) == stand_in ? __libc_dlsym(library, functions[i].symbol) : NULL;
        if (found)
            atomic_store(place_of(i), found);
    }
}

void loader_prepare(void)
{
    static _Atomic int prepared;
    if (!__libc_dlopen_mode)
        return;
    fill_in_stand_ins();
    if (atomic_exchange(&prepared, 1))
        return;
    int saved_errno = errno;
    static const char *const names[] = { "libdl.so.2", "libpthread.so.0", "librt.so.1" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        replace_stand_ins(__libc_dlopen_mode(names[i], MODE));
    errno = saved_errno;
}
