/* The private folder of a capture, for what needs a name in the file system.
 *
 * A collector that is killed cannot remove its folder. So it holds a lock on it for as long as it lives, and the next
 * capture of the same user removes the folders that no one holds. */
#ifndef TACHO_COLLECT_CAPTURE_SESSION_FOLDER_H
#define TACHO_COLLECT_CAPTURE_SESSION_FOLDER_H

#define FOLDER_SOCKET "socket"
#define FOLDER_AGENT "libtacho-agent.so"

struct folder {
    char path[64]; /* "": there is none */
    int lock;
};

/* 0, or -1 where none can be made. */
int session_folder_make(struct folder *folder);

/* With the files that may be in it. */
void session_folder_remove(struct folder *folder);

#endif
