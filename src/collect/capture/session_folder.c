/* The private folder of a capture: see session_folder.h. The process that holds the lock may remove the folder,
 * whether it created the folder or cleans up after others. So a creator that does not get the lock, or gets it after
 * the folder is gone, creates another one. */
#include "session_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARENT "/tmp"
#define PREFIX "tacho-session-"
#define ATTEMPTS 8

/* The folder contains no directories. */
static void remove_files(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;)
        unlinkat(folder, entry->d_name, 0);
    if (list)
        closedir(list);
    else if (copy >= 0)
        close(copy);
}

/* A descriptor that holds the lock of a folder that exists and belongs to us; -1: another process has the lock, or it
 * is no such folder. */
static int lock_folder(int parent, const char *name)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0 && fstat(folder, &status) == 0 &&
        status.st_uid == geteuid() && status.st_nlink > 0)
        return folder;
    if (folder >= 0)
        close(folder);
    return -1;
}

static void session_folder_sweep(void)
{
    DIR *parent = opendir(PARENT);
    for (struct dirent *entry; parent && (entry = readdir(parent)) != NULL;) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        int folder = lock_folder(dirfd(parent), entry->d_name);
        if (folder < 0)
            continue;
        remove_files(folder);
        unlinkat(dirfd(parent), entry->d_name, AT_REMOVEDIR);
        close(folder);
    }
    if (parent)
        closedir(parent);
}

int session_folder_make(struct session_folder *folder)
{
    session_folder_sweep();
    for (int i = 0; i < ATTEMPTS; i++) {
        snprintf(folder->path, sizeof folder->path, PARENT "/" PREFIX "XXXXXX");
        if (!mkdtemp(folder->path))
            break;
        folder->lock = lock_folder(AT_FDCWD, folder->path);
        if (folder->lock >= 0)
            return 0;
        rmdir(folder->path);
    }
    folder->path[0] = 0;
    return -1;
}

void session_folder_remove(struct session_folder *folder)
{
    if (!folder->path[0])
        return;
    remove_files(folder->lock);
    rmdir(folder->path);
    close(folder->lock);
    folder->path[0] = 0;
}
