/* Writes one line for each booking, and makes sure that it is on the disk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void book(int file, int number)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%08d %10d\n", number, number * 37 % 100003);
    if (write(file, line, length) != length || fsync(file))
        exit(1);
}

int main(int argc, char **argv)
{
    int file = open(argc > 1 ? argv[1] : "ledger.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int bookings = argc > 2 ? atoi(argv[2]) : 1500;

    for (int i = 0; i < bookings; i++)
        book(file, i);
    close(file);
    printf("%d bookings\n", bookings);
    return 0;
}
