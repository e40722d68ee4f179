/* tacho-gpu with more privileges than its caller: set-user-ID, or with capabilities of its file, such as CAP_SYS_ADMIN
 * for counters. The caller chooses nothing that it does with them: not the environment, so no library, and no file that
 * is read or written. */
#ifndef TACHO_GPU_PRIVILEGES_H
#define TACHO_GPU_PRIVILEGES_H

/* To be called first. Forgets the environment; are_needed 0: gives the privileges up, too. Does nothing in a program
 * that has none beyond its caller's. 0, or -1: they cannot be given up. */
int privileges_begin(int are_needed);

#endif
