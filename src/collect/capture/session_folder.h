/* The private folder of a capture, for everything that needs a name in the file system.
 *
 * A collector that is killed cannot remove its folder. So each collector holds a lock on its own while it lives, and
 * the next capture of the same user removes the folders that nobody holds. */
#ifndef TACHO_COLLECT_CAPTURE_SESSION_FOLDER_H
#define TACHO_COLLECT_CAPTURE_SESSION_FOLDER_H

#define FOLDER_SOCKET "socket"
#define FOLDER_AGENT "libtacho-agent.so"

struct session_folder {
    char path[64]; /* "": there is no folder */
    int lock;
};

/* 0, or -1 if no folder could be created. */
int session_folder_make(struct session_folder *folder);

/* Removes the folder and the files that may be in it. */
void session_folder_remove(struct session_folder *folder);

#endif
