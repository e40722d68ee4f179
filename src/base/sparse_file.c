/* Finds holes by asking the file system, which answers at once; reading the zeros could take minutes. */
#include "sparse_file.h"

#include <unistd.h>

#include "human.h"

#ifdef SEEK_HOLE
int sparse_file_check(int fd, const char *path, struct error *err)
{
    enum { MOST_LOOKS = 10000 }; /* a file with more extents than this is slow to read for another reason */
    const off_t longest = (off_t)1 << 30;
    off_t hole = 0, data = 0, end = lseek(fd, 0, SEEK_END);

    for (int look = 0; look < MOST_LOOKS && end > longest && (hole = lseek(fd, data, SEEK_HOLE)) >= 0 && hole < end;
         look++) {
        data = lseek(fd, hole, SEEK_DATA);
        data = data < 0 ? end : data;
        if (data - hole > longest)
            break;
    }
    lseek(fd, 0, SEEK_SET);
    if (hole < 0 || data - hole <= longest)
        return 0;
    struct text length = { 0 }, at = { 0 };
    human_bytes(&length, (uint64_t)(data - hole));
    human_bytes(&at, (uint64_t)hole);
    int code = error_set(err, ERR_BAD_FORMAT,
                         "'%s' is incomplete: it has a hole of %s at offset %s. Copy or download it again", path,
                         text_string(&length), text_string(&at));
    text_free(&length);
    text_free(&at);
    return code;
}
#else
int sparse_file_check(int fd, const char *path, struct error *err)
{
    return 0;
}
#endif
