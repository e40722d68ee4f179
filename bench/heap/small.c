/* Many small blocks: a tree of words that is freed, and a list of notes of which only the first node has no owner. */
#include "account.h"

enum { WORDS = 60000, NOTES = 1500 };

struct word {
    struct word *less, *more;
    unsigned hash;
    char text[];
};

struct note {
    struct note *next;
    char text[24];
};

static size_t size_of(unsigned hash)
{
    return sizeof(struct word) + 1 + hash % 40;
}

__attribute__((noinline)) static void add_word(struct word **at, unsigned hash)
{
    while (*at)
        at = hash < (*at)->hash ? &(*at)->less : &(*at)->more;
    *at = TAKE(size_of(hash));
    **at = (struct word){ .hash = hash };
}

__attribute__((noinline)) static void free_words(struct word *word)
{
    if (!word)
        return;
    free_words(word->less);
    free_words(word->more);
    GIVE(word, size_of(word->hash));
}

__attribute__((noinline)) static void lose_notes(void)
{
    struct note *first = NULL;
    for (int i = 0; i < NOTES; i++) {
        struct note *note = TAKE(sizeof *note);
        note->next = first;
        first = note;
    }
}

__attribute__((noinline)) static void read_text(void)
{
    struct word *words = NULL;
    for (unsigned i = 0; i < WORDS; i++)
        add_word(&words, i * 2654435761u);
    lose_notes();
    free_words(words);
}

int main(int argc, char **argv)
{
    for (int i = account_rounds(argc, argv); i > 0; i--)
        read_text();
    account_scrub();
    account_print(account_most, account_alive);
    return 0;
}
