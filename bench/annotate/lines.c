/* Functions of several hot lines each, for bench/annotate.py: they print what they computed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 160, WORDS = 1 << 16, ROUNDS = 120 };

__attribute__((noipa)) static double multiply(const double *a, const double *b, double *out)
{
    double trace = 0;

    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += a[i * SIDE + k] * b[k * SIDE + j];
            out[i * SIDE + j] = sum;
            if (i == j)
                trace += sum / (1 + trace * trace);
        }
    return trace;
}

__attribute__((noipa)) static uint64_t mix(const uint64_t *words, uint64_t state)
{
    for (int i = 0; i < WORDS; i++) {
        state ^= words[i];
        state *= UINT64_C(0x9e3779b97f4a7c15);
        state = state / 3 + (state >> 7);
        if (state % 5 == 0)
            state += words[state % WORDS];
    }
    return state;
}

__attribute__((noipa)) static void sort(uint64_t *words, int count)
{
    for (int gap = count / 2; gap > 0; gap /= 2)
        for (int i = gap; i < count; i++) {
            uint64_t word = words[i];
            int at = i;
            while (at >= gap && words[at - gap] > word) {
                words[at] = words[at - gap];
                at -= gap;
            }
            words[at] = word;
        }
}

int main(void)
{
    double *a = calloc(3 * SIDE * SIDE, sizeof *a), trace = 0;
    uint64_t *words = calloc(2 * WORDS, sizeof *words), state = 1;

    for (int i = 0; i < 2 * SIDE * SIDE; i++)
        a[i] = i % 7 - 3.5;
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint64_t)i * UINT64_C(0x2545f4914f6cdd1d);
    for (int round = 0; round < ROUNDS; round++) {
        trace += multiply(a, a + SIDE * SIDE, a + 2 * SIDE * SIDE);
        state = mix(words, state);
        memcpy(words + WORDS, words, WORDS * sizeof *words);
        sort(words + WORDS, WORDS);
    }
    printf("%.3f %llu %llu\n", trace, (unsigned long long)state, (unsigned long long)words[WORDS]);
    free(a);
    free(words);
    return 0;
}
