/* The reader against hostile files: the fuzzer's corpus, and thousands of files mutated from it with their hashes made
 * right again, so that the damage gets past them. The same every time. Under ASan this finds reads out of bounds;
 * without, it still finds crashes and endless loops. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../fuzz/fuzz_report.c"
#include "report/format/format.h"

#define MUTATIONS 4000
#define MAX_SIZE 65536
#define MAX_CHUNKS 256

struct seed {
    uint8_t *bytes;
    size_t size;
    size_t chunks[MAX_CHUNKS]; /* offsets */
    size_t chunk_count;
};

static struct seed seeds[256];
static size_t seed_count;

static uint64_t random_state = 7;
static size_t random_below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 16) % limit);
}

static void find_chunks(struct seed *seed)
{
    size_t at = FILE_HEADER_SIZE;
    struct chunk_header header;
    while (seed->chunk_count < MAX_CHUNKS && seed->size >= at + CHUNK_HEADER_SIZE &&
           chunk_header_get(seed->bytes + at, at, &header)) {
        seed->chunks[seed->chunk_count++] = at;
        at += CHUNK_HEADER_SIZE + header.payload_size;
    }
}

static int load_corpus(void **state)
{
    (void)state;
    const char *source = getenv("SOURCE");
    char folder[4096], path[8192];
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus", source ? source : ".");
    DIR *directory = opendir(folder);
    if (!directory)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory)) && seed_count < 256;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        struct seed *seed = &seeds[seed_count++];
        seed->bytes = malloc(MAX_SIZE);
        seed->size = fread(seed->bytes, 1, MAX_SIZE, file);
        fclose(file);
        find_chunks(seed);
    }
    closedir(directory);
    return 0;
}

static int free_corpus(void **state)
{
    (void)state;
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].bytes);
    return 0;
}

static void the_corpus_is_harmless(void **state)
{
    (void)state;
    assert_true(seed_count >= 5);
    for (size_t i = 0; i < seed_count; i++)
        LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].size);
}

/* Numbers that programs get wrong. */
static const uint64_t awkward[] = { 0,      1,      0x7f,       0x80,       0xff,       0x7fff,
                                    0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX };

static void mutate(uint8_t *bytes, size_t size, const struct seed *seed)
{
    for (size_t changes = 1 + random_below(4); changes; changes--) {
        /* mostly near the begin of a chunk, where header and directory are */
        size_t base = seed->chunk_count ? seed->chunks[random_below(seed->chunk_count)] : 0;
        size_t at = random_below(4) ? base + random_below(160) : random_below(size);
        if (at + 8 > size)
            continue;
        uint64_t number = awkward[random_below(COUNT_OF(awkward))];
        size_t width = (size_t)1 << random_below(4);
        switch (random_below(3)) {
        case 0: bytes[at] ^= (uint8_t)(1 << random_below(8)); break;
        case 1:
            for (size_t i = 0; i < width; i++)
                bytes[at + i] = (uint8_t)(number >> 8 * i);
            break;
        default: memmove(bytes + at, bytes + random_below(size - 8), width);
        }
    }
}

/* Makes the hashes right, so that the reader believes what it reads. */
static void reseal(uint8_t *bytes, size_t size, const struct seed *seed)
{
    for (size_t i = 0; i < seed->chunk_count; i++) {
        uint8_t *chunk = bytes + seed->chunks[i];
        uint32_t payload = get_u32(chunk + 12);
        put_u32(chunk, CHUNK_MAGIC);
        if (payload <= size - seed->chunks[i] - CHUNK_HEADER_SIZE)
            put_u64(chunk + 32, hash_bytes(chunk + CHUNK_HEADER_SIZE, payload));
        put_u64(chunk + 40, hash_bytes_seeded(chunk, 40, seed->chunks[i]));
    }
}

static void mutated_files_are_harmless(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(MAX_SIZE);
    for (size_t i = 0; i < MUTATIONS; i++) {
        const struct seed *seed = &seeds[i % seed_count];
        if (seed->size < 64)
            continue;
        memcpy(bytes, seed->bytes, seed->size);
        mutate(bytes, seed->size, seed);
        reseal(bytes, seed->size, seed);
        uint8_t *exact = malloc(seed->size); /* so that one byte too far is seen */
        memcpy(exact, bytes, seed->size);
        LLVMFuzzerTestOneInput(exact, seed->size);
        free(exact);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_corpus_is_harmless),
        cmocka_unit_test(mutated_files_are_harmless),
    };
    return cmocka_run_group_tests(tests, load_corpus, free_corpus);
}
