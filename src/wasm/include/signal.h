/* Signals, of which there are none. */
#ifndef TACHO_WASM_SIGNAL_H
#define TACHO_WASM_SIGNAL_H

#define SIG_SETMASK 0
typedef unsigned sigset_t;

static inline int sigfillset(sigset_t *set)
{
    *set = 0;
    return 0;
}
static inline int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    return 0;
}

#endif
