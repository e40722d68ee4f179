/* Signals that end a program at once (a crash) are caught to put the terminal back, and raised again. Those that a user
 * sends come through the feed, which ends the command in its own time. */
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/newfile.h"

#define BEGIN "\033[?1049h\033[?25l\033[H\033[2J" /* the other screen, no cursor, empty */
#define HOME "\033[H" /* ends each drawing: the hidden cursor rests there, and whoever reads the bytes knows the end */
#define END "\033[0m\033[?25h\033[?1049l"

enum { SMALLEST_COLUMNS = 20, SMALLEST_ROWS = 4, LONGEST_SIDE = 2000 };

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE };

/* For the handler: there is one terminal. */
static struct termios cooked;
static volatile sig_atomic_t is_taken;

static void put_back(void)
{
    if (!is_taken)
        return;
    is_taken = 0;
    newfile_write(STDOUT_FILENO, END, strlen(END));
    tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
}

static void crash(int signal)
{
    put_back();
    raise(signal); /* SA_RESETHAND: the default now */
}

int screen_is_possible(void)
{
    const char *terminal = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

static int screen_take(void)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &cooked) != 0)
        return -1;
    raw = cooked;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return -1;
    is_taken = 1;
    newfile_write(STDOUT_FILENO, BEGIN, strlen(BEGIN));
    return 0;
}

int screen_begin(struct screen *screen)
{
    struct sigaction action = { .sa_handler = crash, .sa_flags = (int)SA_RESETHAND };

    *screen = (struct screen){ 0 };
    if (screen_take())
        return -1;
    for (size_t i = 0; i < COUNT_OF(crashes); i++)
        sigaction(crashes[i], &action, NULL);
    screen_measure(screen);
    return 0;
}

static void screen_forget(struct screen *screen)
{
    for (size_t i = 0; i < screen->shown_count; i++)
        text_free(&screen->shown[i]);
    free(screen->shown);
    screen->shown = NULL;
    screen->shown_count = 0;
}

void screen_end(struct screen *screen)
{
    put_back();
    for (size_t i = 0; i < COUNT_OF(crashes); i++)
        signal(crashes[i], SIG_DFL);
    screen_forget(screen);
}

static size_t screen_side(unsigned short told, size_t smallest, size_t usual)
{
    size_t length = told ? told : usual;

    return length < smallest ? smallest : length > LONGEST_SIDE ? LONGEST_SIDE : length;
}

/* The shown lines are invalid: terminals move lines when they are resized. */
void screen_measure(struct screen *screen)
{
    struct winsize size = { 0 };

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    screen->rows = screen_side(size.ws_row, SMALLEST_ROWS, 24);
    screen->columns = screen_side(size.ws_col, SMALLEST_COLUMNS, 80);
    screen_forget(screen);
    screen->shown = calloc(screen->rows, sizeof *screen->shown);
    screen->shown_count = screen->shown ? screen->rows : 0;
    newfile_write(STDOUT_FILENO, "\033[2J", 4);
}

void screen_measure_changed(struct screen *screen)
{
    struct winsize size = { 0 };

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    if (screen_side(size.ws_row, SMALLEST_ROWS, 24) != screen->rows ||
        screen_side(size.ws_col, SMALLEST_COLUMNS, 80) != screen->columns)
        screen_measure(screen);
}

void screen_show(struct screen *screen, const struct text *lines)
{
    struct text out = { 0 };
    const char *line = text_string(lines), *end = line + lines->length;

    for (size_t row = 0; row < screen->shown_count; row++) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        size_t length = feed ? (size_t)(feed - line) : (size_t)(end - line);
        struct text *shown = &screen->shown[row];
        if (length != shown->length || memcmp(line, text_string(shown), length) != 0) {
            text_addf(&out, "\033[%zu;1H", row + 1);
            text_add_bytes(&out, line, length);
            text_add(&out, "\033[K");
            text_clear(shown);
            text_add_bytes(shown, line, length);
        }
        line += length + (feed != NULL);
    }
    if (out.length)
        text_add(&out, HOME);
    newfile_write(STDOUT_FILENO, text_string(&out), out.length);
    text_free(&out);
}

void screen_suspend(struct screen *screen)
{
    put_back();
    kill(0, SIGTSTP);
    screen_take();
    screen_measure(screen);
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *bytes;
    int key;
} sequences[] = {
    { "[A", SCREEN_UP },       { "OA", SCREEN_UP },         { "[B", SCREEN_DOWN }, { "OB", SCREEN_DOWN },
    { "[5~", SCREEN_PAGE_UP }, { "[6~", SCREEN_PAGE_DOWN }, { "[H", SCREEN_HOME }, { "[F", SCREEN_END },
    { "[1~", SCREEN_HOME },    { "[4~", SCREEN_END },
};

static int read_byte(int wait_ms)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    unsigned char byte;

    if (poll(&input, 1, wait_ms) <= 0)
        return -1;
    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : SCREEN_CLOSED;
}

/* Reads the rest of a sequence after an escape: it comes at once; the key Escape has none. */
static int read_sequence(void)
{
    char bytes[8] = "";

    for (size_t length = 0; length + 1 < sizeof bytes; length++) {
        int byte = read_byte(20);
        if (byte < 0 || byte == SCREEN_CLOSED)
            return 27;
        bytes[length] = (char)byte;
        for (size_t i = 0; i < COUNT_OF(sequences); i++)
            if (strcmp(bytes, sequences[i].bytes) == 0)
                return sequences[i].key;
    }
    return 27;
}

int screen_key(void)
{
    int byte = read_byte(0);

    return byte < 0 ? 0 : byte == 27 ? read_sequence() : byte;
}
