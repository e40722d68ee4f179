/* The name and the places of CUPTI's library in a toolkit, for the agent, which loads it, and for doctor, which only
 * looks. */
#ifndef TACHO_ABI_CUPTI_PATHS_H
#define TACHO_ABI_CUPTI_PATHS_H

#if defined(__x86_64__)
#define CUPTI_TARGET "x86_64-linux"
#else
#define CUPTI_TARGET "sbsa-linux"
#endif

/* Folders below the root of a toolkit, in search order. */
#define CUPTI_TOOLKIT_FOLDERS "/extras/CUPTI/lib64", "/targets/" CUPTI_TARGET "/lib", "/lib64", "/lib"

/* libcupti.so.12 and so on; the oldest one has a minor number too. */
#define CUPTI_FILE "libcupti.so."
#define CUPTI_OLDEST_MAJOR 11
#define CUPTI_OLDEST_MINOR ".8"

#endif
