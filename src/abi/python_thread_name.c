/* The name of a Python thread: see python_thread_name.h.
 *
 * A thread of the module threading begins with Thread._bootstrap(self), whose first local variable is the Thread. Its
 * attribute _name is in the object's inline values, where the keys of its class have it, or in a dictionary: always
 * before 3.11, later once the program has asked for one. Nothing here is trusted: a wrong pointer leads to no text, or
 * to one that is not a name of this thread, and never to an unsafe read. */
#include "python_thread_name.h"

#include <string.h>

#include "base/array.h"
#include "python_bytes.h"

#define ENTRIES_MAX 64u /* of a dictionary; a Thread has some fifteen attributes */

/* Offsets that these versions have in common, from CPython's headers. */
enum {
    TYPE_SIZE = 32,       /* of PyTypeObject: tp_basicsize, tp_flags, tp_dictoffset */
    TYPE_FLAGS = 168,
    TYPE_DICT = 288,
    DICT_KEYS = 32,       /* of PyDictObject: ma_keys, ma_values */
    DICT_VALUES = 40,
    KEYS_SIZE = 8,        /* of PyDictKeysObject: dk_size, before 3.11 */
    KEYS_INDEX_BYTES = 9, /* dk_log2_index_bytes, dk_kind, from 3.11 on */
    KEYS_KIND = 10,
    KEYS_BYTES = 40,      /* its head, in any version */
    DICT_BEFORE = 24,     /* the pointer to the dictionary lies so far before the object */
    VALUES_BEFORE = 32,   /* in 3.11, the pointer to the values too */
    VALID_AT = 3,         /* of struct _dictvalues in 3.13 */
};
enum { INLINE_VALUES = 1 << 2, MANAGED_DICT = 1 << 4 }; /* tp_flags */
enum { KIND_GENERAL, KIND_UNICODE, KIND_SPLIT };        /* dk_kind */

static const struct thread_name_version {
    unsigned minor;
    const char *bootstrap;           /* the name of the first function's code */
    uint16_t frame_locals;           /* of the frame: the first local variable */
    uint16_t type_keys;              /* ht_cached_keys of PyHeapTypeObject; 0: all objects have a dictionary */
    uint16_t values;                 /* of struct _dictvalues: where the first value is */
    uint16_t key_count, key_indices; /* of PyDictKeysObject: dk_nentries, dk_indices */
} thread_name_versions[] = {
    { 9, "_bootstrap", 360, 0, 0, 32, 40 },          { 10, "_bootstrap", 352, 0, 0, 32, 40 },
    { 11, "Thread._bootstrap", 72, 872, 0, 24, 32 }, { 12, "Thread._bootstrap", 72, 880, 0, 24, 32 },
    { 13, "Thread._bootstrap", 72, 880, 8, 24, 32 },
};

static const struct thread_name_version *thread_name_version_of(const struct python_runtime *python)
{
    for (size_t i = 0; i < COUNT_OF(thread_name_versions); i++)
        if (thread_name_versions[i].minor == python->minor)
            return &thread_name_versions[i];
    return NULL;
}

/* Where the attributes of an object are: their names in keys; their values there too, or apart. */
struct attributes {
    uint64_t keys, values;
};

static uint64_t thread_name_word_at(const struct python_memory *memory, uint64_t address)
{
    uint64_t word;
    return python_read(memory, address, &word, sizeof word) == 0 ? word : 0;
}

static struct attributes of_dictionary(const struct python_memory *memory, const struct thread_name_version *version,
                                       uint64_t dictionary)
{
    uint64_t values = dictionary ? thread_name_word_at(memory, dictionary + DICT_VALUES) : 0;
    return (struct attributes){
        .keys = dictionary ? thread_name_word_at(memory, dictionary + DICT_KEYS) : 0,
        .values = values ? values + version->values : 0,
    };
}

static struct attributes thread_name_attributes_of(const struct python_memory *memory,
                                                   const struct thread_name_version *version, uint64_t object,
                                                   uint64_t type)
{
    uint64_t flags = thread_name_word_at(memory, type + TYPE_FLAGS),
             pointer = thread_name_word_at(memory, object - DICT_BEFORE), values = 0;
    if (!version->type_keys)
        return of_dictionary(memory, version,
                             thread_name_word_at(memory, object + thread_name_word_at(memory, type + TYPE_DICT)));
    if (!(flags & MANAGED_DICT))
        return (struct attributes){ 0 };
    if (version->minor == 11)
        values = thread_name_word_at(memory, object - VALUES_BEFORE);
    else if (version->minor == 12)
        values = pointer & 1 ? pointer + 1 : 0; /* tagged: one byte before the values */
    else if (flags & INLINE_VALUES) {
        uint64_t place = object + thread_name_word_at(memory, type + TYPE_SIZE);
        unsigned char is_valid = 0;
        if (python_read(memory, place + VALID_AT, &is_valid, 1) == 0 && is_valid)
            values = place + version->values;
    }
    if (!values)
        return of_dictionary(memory, version, pointer);
    return (struct attributes){ .keys = thread_name_word_at(memory, type + version->type_keys), .values = values };
}

/* The size of the index before the entries of a dictionary; 0: it has more of them than a Thread has. */
static uint64_t index_bytes(const struct thread_name_version *version, const unsigned char *keys)
{
    if (version->type_keys)
        return keys[KEYS_INDEX_BYTES] <= 10 ? UINT64_C(1) << keys[KEYS_INDEX_BYTES] : 0;
    uint64_t size = python_word(keys + KEYS_SIZE);
    return size <= 0xff ? size : size <= 4 * ENTRIES_MAX ? 2 * size : 0;
}

/* The value of an attribute; 0: there is none. */
static uint64_t thread_name_address(const struct python_runtime *python, const struct thread_name_version *version,
                                    const struct python_memory *memory, const struct attributes *attributes,
                                    const char *wanted)
{
    unsigned char head[KEYS_BYTES];
    if (python_read(memory, attributes->keys, head, sizeof head) != 0 || !index_bytes(version, head))
        return 0;
    uint64_t count = python_word(head + version->key_count);
    uint64_t entry = attributes->keys + version->key_indices + index_bytes(version, head);
    int is_general = !version->type_keys || head[KEYS_KIND] == KIND_GENERAL;
    for (uint64_t i = 0; i < count && i < ENTRIES_MAX; i++, entry += is_general ? 24 : 16) {
        uint64_t pair = entry + (is_general ? 8 : 0); /* after the hash: key and value */
        char key[16];
        if (python_text_read(python, memory, thread_name_word_at(memory, pair), key, sizeof key) == PYTHON_OK &&
            strcmp(key, wanted) == 0)
            return thread_name_word_at(memory, attributes->values ? attributes->values + 8 * i : pair + 8);
    }
    return 0;
}

/* Only a thread of the module threading has a Thread in its outermost frame. */
static int is_bootstrap(const struct python_runtime *python, const struct thread_name_version *version,
                        const struct python_memory *memory, uint64_t code)
{
    struct python_code_mark mark;
    char name[32];
    return python_code_mark(python, memory, code, &mark) == PYTHON_OK &&
           python_text_read(python, memory, mark.name, name, sizeof name) == PYTHON_OK &&
           strcmp(name, version->bootstrap) == 0;
}

enum python_status python_thread_object_name(const struct python_runtime *python, const struct python_memory *memory,
                                             uint64_t object, char name[PYTHON_THREAD_NAME_MAX])
{
    const struct thread_name_version *version = thread_name_version_of(python);
    if (!version || object <= VALUES_BEFORE)
        return PYTHON_TORN;
    uint64_t type = thread_name_word_at(memory, object + python->at[PYTHON_OBJECT_TYPE]);
    struct attributes attributes = thread_name_attributes_of(memory, version, object, type);
    return python_text_read(python, memory, thread_name_address(python, version, memory, &attributes, "_name"), name,
                            PYTHON_THREAD_NAME_MAX);
}

enum python_status python_thread_name(const struct python_runtime *python, const struct python_memory *memory,
                                      const struct python_frame *outermost, char name[PYTHON_THREAD_NAME_MAX])
{
    const struct thread_name_version *version = thread_name_version_of(python);
    if (!version || !is_bootstrap(python, version, memory, outermost->code))
        return PYTHON_TORN;
    return python_thread_object_name(python, memory,
                                     thread_name_word_at(memory, outermost->address + version->frame_locals), name);
}
