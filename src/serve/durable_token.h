/* A token that is the same each time the same file is served, so that links to it last.
 *
 * It is a keyed hash (HMAC-SHA-256, cut to the length of a token) of the file's path, device, inode, size and time of
 * change. The key is 32 random bytes in a file that only its owner can read: without it, the token is as hard to guess
 * as a random one, even from tokens of other files. Removing the key file ends all links. */
#ifndef TACHO_SERVE_DURABLE_TOKEN_H
#define TACHO_SERVE_DURABLE_TOKEN_H

#include "access.h"

/* 0, or an ERR_ code with a sentence: the caller then goes on with a random token. Makes the key on first use, in
 * $XDG_STATE_HOME/tacho (~/.local/state/tacho). ERR_BAD_ARGUMENT: the key file is there, but others could know it. */
int durable_token(const char *path, char out[2 * GUARD_TOKEN_BYTES + 1], struct error *err);

#endif
