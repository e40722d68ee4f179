/* Editing, as tables from keys to functions. Lines stay valid UTF-8: control characters and stray bytes are dropped. */
#include "line_edit.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

/* ---- places in the line ---------------------------------------------------------------------------------------- */

static size_t before(const struct line_edit *edit)
{
    return utf8_before(edit->line.bytes, edit->at);
}

static size_t line_edit_behind(const struct line_edit *edit)
{
    return utf8_behind(edit->line.bytes, edit->line.length, edit->at);
}

static int line_edit_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t word_start(const struct line_edit *edit)
{
    size_t at = edit->at;

    while (at > 0 && !line_edit_is_word(edit->line.bytes[at - 1]))
        at--;
    while (at > 0 && line_edit_is_word(edit->line.bytes[at - 1]))
        at--;
    return at;
}

static size_t line_edit_word_end(const struct line_edit *edit)
{
    size_t at = edit->at;

    while (at < edit->line.length && !line_edit_is_word(edit->line.bytes[at]))
        at++;
    while (at < edit->line.length && line_edit_is_word(edit->line.bytes[at]))
        at++;
    return at;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

static void insert(struct line_edit *edit, const char *bytes, size_t length)
{
    struct text tail = { 0 };

    if (edit->at < edit->line.length)
        text_add_bytes(&tail, edit->line.bytes + edit->at, edit->line.length - edit->at);
    text_cut(&edit->line, edit->at);
    text_add_bytes(&edit->line, bytes, length);
    edit->at = edit->line.length;
    text_add_bytes(&edit->line, text_string(&tail), tail.length);
    text_free(&tail);
}

/* The cursor is left where the bytes were. */
static void delete_part(struct line_edit *edit, size_t from, size_t to)
{
    struct text tail = { 0 };

    text_add_bytes(&tail, text_string(&edit->line) + to, edit->line.length - to);
    text_cut(&edit->line, from);
    text_add_bytes(&edit->line, text_string(&tail), tail.length);
    text_free(&tail);
    edit->at = from;
}

/* The same, for Ctrl-Y to bring it back. */
static void kill_part(struct line_edit *edit, size_t from, size_t to)
{
    text_clear(&edit->deleted);
    text_add_bytes(&edit->deleted, text_string(&edit->line) + from, to - from);
    delete_part(edit, from, to);
}

static void line_edit_set_line(struct line_edit *edit, const char *line)
{
    text_clear(&edit->line);
    text_add(&edit->line, line);
    edit->at = edit->line.length;
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */

static enum line_event go_home(struct line_edit *edit)
{
    edit->at = 0;
    return LINE_CHANGED;
}

static enum line_event go_end(struct line_edit *edit)
{
    edit->at = edit->line.length;
    return LINE_CHANGED;
}

static enum line_event go_left(struct line_edit *edit)
{
    edit->at = before(edit);
    return LINE_CHANGED;
}

static enum line_event go_right(struct line_edit *edit)
{
    edit->at = line_edit_behind(edit);
    return LINE_CHANGED;
}

static enum line_event go_word_left(struct line_edit *edit)
{
    edit->at = word_start(edit);
    return LINE_CHANGED;
}

static enum line_event go_word_right(struct line_edit *edit)
{
    edit->at = line_edit_word_end(edit);
    return LINE_CHANGED;
}

static enum line_event erase_left(struct line_edit *edit)
{
    delete_part(edit, before(edit), edit->at);
    return LINE_CHANGED;
}

static enum line_event erase_right(struct line_edit *edit)
{
    delete_part(edit, edit->at, line_edit_behind(edit));
    return LINE_CHANGED;
}

static enum line_event end_or_erase(struct line_edit *edit)
{
    return edit->line.length ? erase_right(edit) : LINE_END;
}

static enum line_event kill_word_left(struct line_edit *edit)
{
    kill_part(edit, word_start(edit), edit->at);
    return LINE_CHANGED;
}

static enum line_event kill_word_right(struct line_edit *edit)
{
    kill_part(edit, edit->at, line_edit_word_end(edit));
    return LINE_CHANGED;
}

static enum line_event kill_to_start(struct line_edit *edit)
{
    kill_part(edit, 0, edit->at);
    return LINE_CHANGED;
}

static enum line_event kill_to_end(struct line_edit *edit)
{
    kill_part(edit, edit->at, edit->line.length);
    return LINE_CHANGED;
}

static enum line_event yank(struct line_edit *edit)
{
    insert(edit, text_string(&edit->deleted), edit->deleted.length);
    return LINE_CHANGED;
}

static enum line_event line_edit_finish(struct line_edit *edit)
{
    return LINE_DONE;
}

static enum line_event line_edit_cancel(struct line_edit *edit)
{
    return LINE_CANCEL;
}

static enum line_event suspend(struct line_edit *edit)
{
    return LINE_SUSPEND;
}

static enum line_event clear_screen(struct line_edit *edit)
{
    return LINE_CLEAR;
}

/* ---- history --------------------------------------------------------------------------------------------------- */

static enum line_event recall_older(struct line_edit *edit)
{
    if (edit->recalled == 0)
        return LINE_NOTHING;
    if (edit->recalled == edit->history->count) {
        text_clear(&edit->typed);
        text_add(&edit->typed, text_string(&edit->line));
    }
    line_edit_set_line(edit, edit->history->lines[--edit->recalled]);
    return LINE_CHANGED;
}

static enum line_event recall_newer(struct line_edit *edit)
{
    if (edit->recalled == edit->history->count)
        return LINE_NOTHING;
    edit->recalled++;
    line_edit_set_line(edit, edit->recalled < edit->history->count ? edit->history->lines[edit->recalled]
                                                                   : text_string(&edit->typed));
    return LINE_CHANGED;
}

/* Shows the newest line with the pattern among the first `below` lines; none: the line stays. */
static enum line_event find_below(struct line_edit *edit, size_t below)
{
    for (size_t i = below; edit->pattern.length && i-- > 0;)
        if (strcasestr(edit->history->lines[i], text_string(&edit->pattern))) {
            edit->recalled = i;
            line_edit_set_line(edit, edit->history->lines[i]);
            break;
        }
    return LINE_CHANGED;
}

/* Begins a search, or goes to the next older match. */
static enum line_event line_edit_search(struct line_edit *edit)
{
    if (edit->is_searching)
        return find_below(edit, edit->recalled);
    edit->is_searching = 1;
    text_clear(&edit->pattern);
    return LINE_CHANGED;
}

static enum line_event narrow_search(struct line_edit *edit, const char *bytes, size_t length)
{
    size_t shown = edit->recalled < edit->history->count ? edit->recalled + 1 : edit->history->count;

    text_add_bytes(&edit->pattern, bytes, length);
    return find_below(edit, shown);
}

static enum line_event widen_search(struct line_edit *edit)
{
    text_cut(&edit->pattern, utf8_before(edit->pattern.bytes, edit->pattern.length));
    edit->recalled = edit->history->count;
    return find_below(edit, edit->recalled);
}

/* ---- completion ------------------------------------------------------------------------------------------------ */

/* The part that all words begin with that begin with this one, letters of either case alike. Returns the number of
 * words; `found` gets them, and `common` points to the first. */
static size_t find_words(struct line_edit *edit, const char *word, size_t length, const char **first, size_t *common)
{
    size_t count = 0;

    text_clear(&edit->found);
    for (const char *const *at = edit->words->list; *at; at++) {
        if (strncasecmp(*at, word, length) != 0)
            continue;
        if (count++ == 0) {
            *first = *at;
            *common = strlen(*at);
        }
        while (strncasecmp(*at, *first, *common) != 0)
            --*common;
        text_addf(&edit->found, "%s\n", *at);
    }
    return count;
}

/* A word may start with a dot, as commands do. */
static enum line_event line_edit_complete(struct line_edit *edit)
{
    size_t start = edit->at, common = 0;
    const char *first = NULL;

    while (start > 0 && line_edit_is_word(edit->line.bytes[start - 1]))
        start--;
    if (start == 1 && edit->line.bytes[0] == '.')
        start = 0;
    if (edit->is_pasting) {
        insert(edit, " ", 1);
        return LINE_CHANGED;
    }
    if (!edit->words || start == edit->at)
        return LINE_NOTHING;
    size_t length = edit->at - start, count = find_words(edit, edit->line.bytes + start, length, &first, &common);
    if (count == 0)
        return LINE_NOTHING;
    if (count > 1 && common == length)
        return LINE_LIST;
    delete_part(edit, start, edit->at);
    insert(edit, first, common);
    if (count == 1)
        insert(edit, " ", 1);
    return LINE_CHANGED;
}

static enum line_event begin_paste(struct line_edit *edit)
{
    edit->is_pasting = 1;
    return LINE_NOTHING;
}

static enum line_event end_paste(struct line_edit *edit)
{
    edit->is_pasting = 0;
    return LINE_NOTHING;
}

/* ---- from bytes to keys ---------------------------------------------------------------------------------------- */

struct edit_key {
    const char *bytes;
    enum line_event (*press)(struct line_edit *edit);
};

static const struct edit_key keys[] = {
    { "\x01", go_home },
    { "\x02", go_left },
    { "\x03", line_edit_cancel },
    { "\x04", end_or_erase },
    { "\x05", go_end },
    { "\x06", go_right },
    { "\x08", erase_left },
    { "\t", line_edit_complete },
    { "\n", line_edit_finish },
    { "\r", line_edit_finish },
    { "\x0b", kill_to_end },
    { "\x0c", clear_screen },
    { "\x0e", recall_newer },
    { "\x10", recall_older },
    { "\x12", line_edit_search },
    { "\x15", kill_to_start },
    { "\x17", kill_word_left },
    { "\x19", yank },
    { "\x1a", suspend },
    { "\x7f", erase_left },
    { "\033[A", recall_older },
    { "\033[B", recall_newer },
    { "\033[C", go_right },
    { "\033[D", go_left },
    { "\033OA", recall_older },
    { "\033OB", recall_newer },
    { "\033OC", go_right },
    { "\033OD", go_left },
    { "\033[H", go_home },
    { "\033[F", go_end },
    { "\033OH", go_home },
    { "\033OF", go_end },
    { "\033[1~", go_home },
    { "\033[4~", go_end },
    { "\033[7~", go_home },
    { "\033[8~", go_end },
    { "\033[200~", begin_paste },
    { "\033[201~", end_paste },
    { "\033[3~", erase_right },
    { "\033b", go_word_left },
    { "\033f", go_word_right },
    { "\033d", kill_word_right },
    { "\033\x7f", kill_word_left },
    { "\033[1;5D", go_word_left },
    { "\033[1;5C", go_word_right },
    { "\033[1;3D", go_word_left },
    { "\033[1;3C", go_word_right },
};

static const struct edit_key *line_edit_find_key(const struct line_edit *edit)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strlen(keys[i].bytes) == edit->sequence_length &&
            memcmp(keys[i].bytes, edit->sequence, edit->sequence_length) == 0)
            return &keys[i];
    return NULL;
}

/* Whether more bytes belong to what has come so far: an escape sequence ends with a letter or ~, a character has as
 * many bytes as its first one says. */
static int is_unfinished(const struct line_edit *edit)
{
    unsigned char first = (unsigned char)edit->sequence[0];
    unsigned char last = (unsigned char)edit->sequence[edit->sequence_length - 1];
    size_t length = edit->sequence_length;

    if (first == 0x1B)
        return length == 1 || (length == 2 && (last == '[' || last == 'O')) ||
               (length > 2 && edit->sequence[1] == '[' && last < 0x40);
    return first >= 0xC0 && length < (first >= 0xF0 ? 4u : first >= 0xE0 ? 3u : 2u) && (length == 1 || last >= 0x80);
}

static enum line_event take_characters(struct line_edit *edit, const char *bytes, size_t length)
{
    unsigned char first = (unsigned char)bytes[0];

    if (first < ' ' || first == 0x7F || utf8_valid_length(bytes, length) != length)
        return LINE_NOTHING;
    if (edit->is_searching)
        return narrow_search(edit, bytes, length);
    insert(edit, bytes, length);
    return LINE_CHANGED;
}

/* Any key but Ctrl-R, Backspace and characters ends a search, and then does what it always does. */
static enum line_event press(struct line_edit *edit, const struct edit_key *key)
{
    if (edit->is_searching && key->press == erase_left)
        return widen_search(edit);
    if (key->press != line_edit_search)
        edit->is_searching = 0;
    enum line_event event = key->press(edit);
    return event == LINE_NOTHING ? LINE_CHANGED : event; /* the search's prompt may have gone */
}

enum line_event line_edit_key(struct line_edit *edit, unsigned char byte)
{
    /* The rest of a character is missing: the next one begins. */
    if (edit->sequence_length && (unsigned char)edit->sequence[0] >= 0xC0 && !utf8_continues((char)byte))
        edit->sequence_length = 0;
    if (edit->sequence_length == sizeof edit->sequence) /* a long sequence is read to its end, and then unknown */
        edit->sequence_length--;
    edit->sequence[edit->sequence_length++] = (char)byte;
    if (is_unfinished(edit))
        return LINE_NOTHING;
    const struct edit_key *key = line_edit_find_key(edit);
    enum line_event event = key ? press(edit, key) : take_characters(edit, edit->sequence, edit->sequence_length);
    edit->sequence_length = 0;
    return event;
}

void line_edit_begin(struct line_edit *edit, const struct history *history, const struct line_words *words)
{
    text_clear(&edit->line);
    edit->at = edit->sequence_length = 0;
    edit->is_searching = 0;
    edit->history = history;
    edit->recalled = history->count;
    edit->words = words;
}

void line_edit_free(struct line_edit *edit)
{
    text_free(&edit->line);
    text_free(&edit->typed);
    text_free(&edit->deleted);
    text_free(&edit->pattern);
    text_free(&edit->found);
}
