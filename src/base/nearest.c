/* See nearest.h. */
#include "nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    SHORTEST_PART = 3, /* letters of a beginning that stand for the whole word */
    LETTER = 100,      /* the cost of a letter that differs; what breaks ties is below it */
};

static size_t least(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;

    return smaller < c ? smaller : c;
}

static int same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

size_t nearest_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t rows[3][LONGEST + 1];
    size_t a_length = strlen(a), b_length = strlen(b);

    if (a_length > LONGEST || b_length > LONGEST)
        return a_length + b_length;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]) &&
                two_above[j - 2] + 1 < row[j])
                row[j] = two_above[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

static size_t word_length(const char *word)
{
    return strcspn(word, "_-. ");
}

static const char *next_word(const char *word)
{
    word += word_length(word);
    return *word ? word + 1 : word;
}

/* Whether a name has this word, or one that begins with it, or with which it begins: kernel and kern, but not summary
 * and sum, which half of the names have. */
static int has_word(const char *name, const char *word, size_t length)
{
    for (; *name; name = next_word(name)) {
        size_t other = word_length(name), shorter = other < length ? other : length;
        int is_part = shorter >= SHORTEST_PART && 2 * shorter >= length;
        if ((other == length || is_part) && strncasecmp(name, word, shorter) == 0)
            return 1;
    }
    return 0;
}

static int has_all_words(const char *name, const char *words)
{
    for (; *words; words = next_word(words))
        if (!has_word(name, words, word_length(words)))
            return 0;
    return 1;
}

const char *nearest_name(const char *name, const char *const *names)
{
    const char *nearest = NULL;
    size_t length = strlen(name), best = (length / 3 + 2) * LETTER; /* further away than this is another word */

    for (; *names; names++) {
        size_t distance = nearest_distance(name, *names), cost = distance * LETTER;
        if (length >= SHORTEST_PART && distance > 0) { /* a part is as good as a slip of the finger */
            if (strncasecmp(name, *names, length) == 0)
                cost = LETTER;
            else if (has_all_words(*names, name) && cost > LETTER)
                cost = LETTER + (distance < LETTER ? distance : LETTER - 1);
        }
        if (cost < best) {
            best = cost;
            nearest = *names;
        }
    }
    return nearest;
}
