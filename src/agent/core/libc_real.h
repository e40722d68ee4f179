/* The real functions behind the hooks: every function of libc that the agent hooks. See libc_real.c. */
#ifndef TACHO_AGENT_CORE_LIBC_REAL_H
#define TACHO_AGENT_CORE_LIBC_REAL_H

#include <aio.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "agent.h"

enum libc_function {
#define OS(type, symbol, shown, parameters, arguments, fails) LIBC_##symbol,
#define OS_OWN(type, symbol, shown, parameters, arguments, fails) LIBC_##symbol,
#include "wire/libc_calls.def"
#undef OS
#undef OS_OWN
    LIBC_FUNCTIONS
};

union libc_real {
    struct {
#define OS(type, symbol, shown, parameters, arguments, fails) type(*symbol) parameters;
#define OS_OWN(type, symbol, shown, parameters, arguments, fails) type(*symbol) parameters;
#include "wire/libc_calls.def"
#undef OS
#undef OS_OWN
    };
    void *all[LIBC_FUNCTIONS]; /* NULL: not looked up yet */
};
extern union libc_real libc_real;

/* Looks all of them up, once, before anything is recorded. */
void libc_resolve(void);

/* Looks one up. If this libc does not have it, the result is a function that fails with ENOSYS. Keeps errno. */
void *libc_find(enum libc_function function);

#define LIBC_REAL(symbol) \
    (likely(libc_real.symbol) ? libc_real.symbol : (__typeof__(libc_real.symbol))libc_find(LIBC_##symbol))

#endif
