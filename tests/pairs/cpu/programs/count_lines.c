/* Counts lines and words of a file. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int next_character(int file)
{
    unsigned char c;
    return read(file, &c, 1) == 1 ? c : -1;
}

int main(int argc, char **argv)
{
    long lines = 0, words = 0;
    int inside = 0, c, file = open(argv[argc - 1], O_RDONLY);

    while ((c = next_character(file)) >= 0) {
        lines += c == '\n';
        if (isspace(c)) {
            inside = 0;
        } else if (!inside) {
            inside = 1;
            words++;
        }
    }
    printf("%ld lines, %ld words\n", lines, words);
    return 0;
}
