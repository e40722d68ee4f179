/* Tokens from a key file and the identity of a report. */
#include "durable_token.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sha256.h"

/* ---- the key --------------------------------------------------------------------------------------------------- */

/* Adds the folder, and creates it and those around it. */
static int durable_token_find_folder(struct text *out, struct error *err)
{
    static const char *const below[] = { "/.local", "/state", NULL };
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state && *state == '/')
        text_add(out, state);
    else if (home && *home == '/') {
        text_add(out, home);
        for (size_t i = 0; below[i]; i++) {
            text_add(out, below[i]);
            mkdir(text_string(out), 0700);
        }
    } else
        return error_set(err, ERR_NOT_FOUND, "neither XDG_STATE_HOME nor HOME is set");
    text_add(out, "/tacho");
    if (mkdir(text_string(out), 0700) != 0 && errno != EEXIST)
        return error_set_errno(err, "cannot create %s", text_string(out));
    return 0;
}

/* A key file that others can read or could have written is rejected. */
static int read_key(const char *path, unsigned char key[SHA256_BYTES], struct error *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), code = 0;
    struct stat about;

    if (fd < 0)
        return errno == ENOENT  ? error_set(err, ERR_NOT_FOUND, "%s does not exist", path)
               : errno == ELOOP ? error_set(err, ERR_BAD_ARGUMENT, "%s is a symbolic link", path)
                                : error_set_errno(err, "cannot open %s", path);
    if (fstat(fd, &about) != 0)
        code = error_set_errno(err, "cannot read %s", path);
    else if (!S_ISREG(about.st_mode) || about.st_uid != geteuid() || about.st_mode & 077)
        code = error_set(err, ERR_BAD_ARGUMENT, "%s must be a file of your own with mode 0600", path);
    else if (read(fd, key, SHA256_BYTES) != SHA256_BYTES)
        code = error_set(err, ERR_BAD_ARGUMENT, "%s is too short for a key", path);
    close(fd);
    return code;
}

/* Writes the key under a temporary name first, so that nobody reads half a key. If two processes do this, the first
 * wins. */
static int durable_token_make_key(const char *folder, const char *path, struct error *err)
{
    unsigned char key[SHA256_BYTES];
    struct text name = { 0 };
    int fd, code = 0;

    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return error_set_errno(err, "the kernel returned no random numbers");
    text_addf(&name, "%s/view.key.%ld", folder, (long)getpid());
    fd = open(text_string(&name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, key, sizeof key) != (ssize_t)sizeof key ||
        (link(text_string(&name), path) != 0 && errno != EEXIST))
        code = error_set_errno(err, "cannot write %s", path);
    if (fd >= 0) {
        close(fd);
        unlink(text_string(&name));
    }
    text_free(&name);
    return code;
}

static int get_key(unsigned char key[SHA256_BYTES], struct error *err)
{
    struct text folder = { 0 }, path = { 0 };
    int code;

    if ((code = durable_token_find_folder(&folder, err)) != 0)
        goto free_texts;
    text_addf(&path, "%s/view.key", text_string(&folder));
    code = read_key(text_string(&path), key, err);
    if (code == ERR_NOT_FOUND && (code = durable_token_make_key(text_string(&folder), text_string(&path), err)) == 0)
        code = read_key(text_string(&path), key, err);
free_texts:
    text_free(&folder);
    text_free(&path);
    return code;
}

/* ---- the token ------------------------------------------------------------------------------------------------- */

int durable_token(const char *path, char out[2 * GUARD_TOKEN_BYTES + 1], struct error *err)
{
    unsigned char key[SHA256_BYTES], hash[SHA256_BYTES];
    struct text identity = { 0 };
    struct stat about;
    char *real = realpath(path, NULL);
    int code;

    if (!real || stat(real, &about) != 0) {
        free(real);
        return error_set(err, ERR_NOT_FOUND, "%s is not one file", path);
    }
    text_addf(&identity, "%llu %llu %lld %lld.%09ld %s", (unsigned long long)about.st_dev,
              (unsigned long long)about.st_ino, (long long)about.st_size, (long long)about.st_mtim.tv_sec,
              about.st_mtim.tv_nsec, real);
    free(real);
    if ((code = get_key(key, err)) != 0)
        goto free_identity;
    if ((text_failed(&identity) || sha256_hmac(key, text_string(&identity), identity.length, hash) != 0) &&
        (code = error_no_memory(err)) != 0)
        goto free_identity;
    for (size_t i = 0; i < GUARD_TOKEN_BYTES; i++)
        sprintf(out + 2 * i, "%02x", hash[i]);
free_identity:
    text_free(&identity);
    return code;
}
