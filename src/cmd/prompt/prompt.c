/* Draws the line that is being edited, and reads keys. The terminal is in raw mode only while a line is typed: while a
 * statement runs, Ctrl-C has its usual effect. A line that is wider than the terminal scrolls sideways. */
#include "prompt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"

struct prompt {
    int is_terminal, can_edit;
    struct history history;
    struct line_edit edit;
    const struct line_words *words;
    struct termios cooked;   /* how the terminal was */
    unsigned char keys[256]; /* that were read and not used yet: a paste has several lines */
    size_t key_count, next_key;
    char *line;              /* from getline(); owned */
    size_t room;
};

struct prompt *prompt_open(const char *name, const struct line_words *words)
{
    const char *terminal = getenv("TERM");
    struct prompt *prompt = calloc(1, sizeof *prompt);

    if (!prompt)
        return NULL;
    prompt->is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    prompt->can_edit = prompt->is_terminal && terminal && *terminal && strcmp(terminal, "dumb") != 0;
    prompt->words = words;
    if (prompt->can_edit)
        history_open(&prompt->history, name);
    return prompt;
}

int prompt_is_terminal(const struct prompt *prompt)
{
    return prompt->is_terminal;
}

/* ---- drawing --------------------------------------------------------------------------------------------------- */

static void write_text(const struct text *text)
{
    fwrite(text_string(text), 1, text->length, stdout);
    fflush(stdout);
}

static size_t columns(void)
{
    size_t known = print_terminal_columns(STDOUT_FILENO);

    return known ? known : 80;
}

/* The first byte that is shown: as few as possible are left out, and the cursor fits. */
static size_t first_shown(const struct line_edit *edit, size_t room)
{
    const char *line = text_string(&edit->line);
    size_t first = edit->at;

    for (size_t taken = 0; first > 0;) {
        size_t before = utf8_before(line, first);
        taken += display_columns(line + before, first - before);
        if (taken > room)
            break;
        first = before;
    }
    return first;
}

/* The byte after the last one that is shown. */
static size_t end_shown(const struct line_edit *edit, size_t first, size_t room)
{
    const char *line = text_string(&edit->line);
    size_t end = first;

    for (size_t taken = 0; end < edit->line.length;) {
        size_t behind = utf8_behind(line, edit->line.length, end);
        taken += display_columns(line + end, behind - end);
        if (taken > room)
            break;
        end = behind;
    }
    return end;
}

/* As much of the line as fits after the prompt; the cursor is put where it belongs. */
static void prompt_draw(const struct prompt *prompt, const char *shown)
{
    const struct line_edit *edit = &prompt->edit;
    size_t width = columns();
    struct text out = { 0 };

    text_add(&out, "\r\033[K");
    size_t from = out.length;
    if (edit->is_searching)
        text_addf(&out, "search '%s': ", text_string(&edit->pattern));
    else
        text_add(&out, shown);
    size_t taken = display_columns(out.bytes + from, out.length - from);
    size_t room = width > taken + 10 ? width - taken - 1 : 10, first = first_shown(edit, room);
    const char *line = text_string(&edit->line);
    size_t end = end_shown(edit, first, room);
    display_add(&out, line + first, end - first, 0);
    text_addf(&out, "\r\033[%zuC", taken + display_columns(line + first, edit->at - first));
    write_text(&out);
    text_free(&out);
}

/* Completions in as many columns as fit, below the line. */
static void list_found(const struct text *found)
{
    size_t width = columns(), widest = 1, at = 0;
    struct text out = { 0 };

    for (const char *word = text_string(found); *word; word += strcspn(word, "\n") + 1) {
        size_t taken = display_columns(word, strcspn(word, "\n"));
        widest = taken > widest ? taken : widest;
    }
    size_t per_line = width / (widest + 2) ? width / (widest + 2) : 1;
    for (const char *word = text_string(found); *word; word += strcspn(word, "\n") + 1) {
        text_add(&out, at % per_line == 0 ? "\n" : "  ");
        size_t taken = display_add(&out, word, strcspn(word, "\n"), 0);
        if (++at % per_line)
            text_add_repeat(&out, ' ', widest - taken);
    }
    text_add_char(&out, '\n');
    write_text(&out);
    text_free(&out);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* The terminal marks what is pasted, so that a tab in it completes nothing. */
static void mark_pastes(int on)
{
    fputs(on ? "\033[?2004h" : "\033[?2004l", stdout);
    fflush(stdout);
}

static int set_raw(struct prompt *prompt)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &prompt->cooked) != 0)
        return 0;
    raw = prompt->cooked;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return 0;
    mark_pastes(1);
    return 1;
}

static void set_cooked(const struct prompt *prompt)
{
    mark_pastes(0);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &prompt->cooked);
}

/* 0: the end of the input. */
static int next_key(struct prompt *prompt, unsigned char *key)
{
    if (prompt->next_key == prompt->key_count) {
        ssize_t got;
        while ((got = read(STDIN_FILENO, prompt->keys, sizeof prompt->keys)) < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        prompt->key_count = (size_t)got;
        prompt->next_key = 0;
    }
    *key = prompt->keys[prompt->next_key++];
    return 1;
}

/* Until a key ends the line. */
static enum line_event edit_line(struct prompt *prompt, const char *shown)
{
    enum line_event event = LINE_CHANGED;
    unsigned char key;

    for (;;) {
        switch (event) {
        case LINE_NOTHING: break;
        case LINE_SUSPEND:
            set_cooked(prompt);
            kill(0, SIGTSTP);
            set_raw(prompt);
            break;
        case LINE_CLEAR: fputs("\033[H\033[2J", stdout); break;
        case LINE_LIST: list_found(&prompt->edit.found); break;
        case LINE_CHANGED: break;
        case LINE_DONE:
        case LINE_CANCEL:
        case LINE_END: return event;
        }
        if (event != LINE_NOTHING && prompt->next_key == prompt->key_count)
            prompt_draw(prompt, shown);
        if (!next_key(prompt, &key))
            return LINE_END;
        event = line_edit_key(&prompt->edit, key);
    }
}

static const char *read_edited(struct prompt *prompt, const char *shown, int *cancelled)
{
    line_edit_begin(&prompt->edit, &prompt->history, prompt->words);
    enum line_event event = edit_line(prompt, shown);
    prompt->edit.at = prompt->edit.line.length;
    prompt->edit.is_searching = 0;
    prompt_draw(prompt, shown);
    set_cooked(prompt);
    fputs(event == LINE_CANCEL ? "^C\n" : "\n", stdout);
    fflush(stdout);
    *cancelled = event == LINE_CANCEL;
    if (event == LINE_END)
        return NULL;
    if (*cancelled)
        return "";
    history_add(&prompt->history, text_string(&prompt->edit.line));
    return text_string(&prompt->edit.line);
}

const char *prompt_read(struct prompt *prompt, const char *shown, int *cancelled)
{
    *cancelled = 0;
    if (prompt->can_edit && set_raw(prompt))
        return read_edited(prompt, shown, cancelled);
    if (prompt->is_terminal) {
        fputs(shown, stdout);
        fflush(stdout);
    }
    if (getline(&prompt->line, &prompt->room, stdin) < 0)
        return NULL;
    prompt->line[strcspn(prompt->line, "\n")] = '\0';
    return prompt->line;
}

void prompt_close(struct prompt *prompt)
{
    history_close(&prompt->history);
    line_edit_free(&prompt->edit);
    free(prompt->line);
    free(prompt);
}
