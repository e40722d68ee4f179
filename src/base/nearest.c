/* See nearest.h. */
#include "nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    SHORTEST_PART = 3, /* letters of a beginning that stand for the whole word */
    LETTER = 100,      /* the cost of a letter that differs; what breaks ties is below it */
};

static size_t nearest_least(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;

    return smaller < c ? smaller : c;
}

static int same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t distance_of(const char *a, size_t a_length, const char *b, size_t b_length)
{
    enum { LONGEST = 64 };
    size_t rows[3][LONGEST + 1];

    if (a_length > LONGEST || b_length > LONGEST)
        return a_length + b_length;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = nearest_least(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]) &&
                two_above[j - 2] + 1 < row[j])
                row[j] = two_above[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

size_t nearest_distance(const char *a, const char *b)
{
    return distance_of(a, strlen(a), b, strlen(b));
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

/* How a name has this word: WHOLE if it has it, one that begins with it, or one with which it begins (kernel and kern,
 * but not summary and sum, which half of the names have); SLIPPED if a letter of it is wrong. */
enum fit { MISSING, SLIPPED, WHOLE };

static enum fit find_word(const char *name, const char *word, size_t length)
{
    enum fit best = MISSING;

    for (; *name; name = next_word(name)) {
        size_t other = word_length(name), shorter = other < length ? other : length;
        int is_part = shorter >= SHORTEST_PART && 2 * shorter >= length;
        if ((other == length || is_part) && strncasecmp(name, word, shorter) == 0)
            return WHOLE;
        if (shorter >= SHORTEST_PART && distance_of(name, other, word, length) == 1)
            best = SLIPPED;
    }
    return best;
}

/* How many of the words have a wrong letter, at most one of several; -1 if a name does not have all of them. */
static int slips_in_words(const char *name, const char *words)
{
    int slips = 0, whole = 0;

    for (; *words; words = next_word(words)) {
        enum fit fit = find_word(name, words, word_length(words));
        if (fit == MISSING)
            return -1;
        slips += fit == SLIPPED;
        whole += fit == WHOLE;
    }
    return slips <= 1 && whole > 0 ? slips : -1;
}

/* What it costs to take one name for the other. A part is as good as a slip of the finger, and a missing word better
 * than as many letters that are wrong. */
static size_t cost_of(const char *name, const char *meant)
{
    size_t distance = nearest_distance(name, meant), letters = distance * LETTER, length = strlen(name);

    if (length < SHORTEST_PART || distance == 0)
        return letters;
    if (strncasecmp(name, meant, length) == 0)
        return LETTER;
    int slips = slips_in_words(meant, name);
    size_t words = (1 + (size_t)slips) * LETTER + (distance < LETTER ? distance : LETTER - 1);
    return slips >= 0 && words < letters ? words : letters;
}

const char *nearest_name(const char *name, const char *const *names)
{
    const char *nearest = NULL;
    size_t best = (strlen(name) / 3 + 2) * LETTER; /* further away than this is another word */

    for (; *names; names++) {
        size_t cost = cost_of(name, *names);
        if (cost < best) {
            best = cost;
            nearest = *names;
        }
    }
    return nearest;
}
