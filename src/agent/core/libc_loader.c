/* The libraries that glibc had before 2.34: libdl, libpthread and librt, which are part of libc now. The agent must not
 * need them, because a minimal root file system has none of them. But it hooks functions in them, and on an old glibc
 * it must find the real ones.
 *
 * So the references are weak: a newer glibc, and musl, resolve them from libc. An old libc can load a library without
 * libdl, by a function for its own use: with that the agent loads those of the three that exist, when it starts. A
 * function that is missing even then gets a stand-in that fails; functions of libc itself are found in any case. The
 * stand-ins are in place before anything is loaded, because other threads, and hooks that the loading itself calls, may
 * come here meanwhile. */
#include "libc_loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/array.h"
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
    /* The thread that loads libc: its loader may allocate through a hook, which comes here again. */
    static _Atomic long opener;
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
} libc_loader_functions[] = {
    { "dlsym", offsetof(struct loader, dlsym), (void *)find_in_libc },
    { "dlvsym", offsetof(struct loader, dlvsym), NULL },
    { "dladdr", offsetof(struct loader, dladdr), (void *)no_address },
    { "dlerror", offsetof(struct loader, dlerror), (void *)no_error },
    { "dlinfo", offsetof(struct loader, dlinfo), (void *)no_info },
    { "pthread_key_delete", offsetof(struct loader, pthread_key_delete), (void *)no_key },
    { "pthread_setspecific", offsetof(struct loader, pthread_setspecific), (void *)no_value },
    { "pthread_testcancel", offsetof(struct loader, pthread_testcancel), (void *)no_cancellation },
};
#define FUNCTIONS COUNT_OF(libc_loader_functions)

static _Atomic(void *) *libc_loader_place_of(size_t function)
{
    return (_Atomic(void *) *)((char *)&loader + libc_loader_functions[function].place);
}

static void fill_in_stand_ins(void)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        void *none = NULL;
        atomic_compare_exchange_strong(libc_loader_place_of(i), &none, libc_loader_functions[i].stand_in);
    }
}

static void replace_stand_ins(void *library)
{
    for (size_t i = 0; library && i < FUNCTIONS; i++) {
        void *stand_in = libc_loader_functions[i].stand_in,
             *found = atomic_load(libc_loader_place_of(i)) == stand_in
                          ? __libc_dlsym(library, libc_loader_functions[i].symbol)
                          : NULL;
        if (found)
            atomic_store(libc_loader_place_of(i), found);
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
    for (size_t i = 0; i < COUNT_OF(names); i++)
        replace_stand_ins(__libc_dlopen_mode(names[i], MODE));
    errno = saved_errno;
}
