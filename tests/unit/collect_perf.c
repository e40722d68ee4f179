/* Perf rings without a kernel: records put together word by word as perf_event_open(2) describes them, read back; rings
 * that wrap, that are full, that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "base/array.h"
#include "collect/sources/perf/perf_record.h"
#include "collect/sources/perf/perf_ring.h"
#include "collect/sources/perf/sample_cost.h"

enum { STACKS = 1, ADDRESSES = 2, EVENT = 77, OTHER_EVENT = 78, REGISTERS = 3 };
#define MASK UINT64_C(0x111) /* three registers */

static const struct perf_layout layouts[] = {
    { .id = EVENT,
      .kind = STACKS,
      .registers = MASK,
      .sample_type = PERF_IDENTITY | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
                     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER },
    { .id = OTHER_EVENT, .kind = ADDRESSES, .sample_type = PERF_IDENTITY | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD },
};

/* A record under construction: its header is written last. */
struct made {
    uint64_t words[8192];
    size_t count;
};

static void put(struct made *made, uint64_t word)
{
    made->words[made->count++] = word;
}

static void put_halves(struct made *made, uint32_t low, uint32_t high)
{
    put(made, (uint64_t)high << 32 | low);
}

static void begin(struct made *made)
{
    made->count = 1;
}

static size_t end(struct made *made, uint32_t type, uint16_t misc)
{
    struct perf_event_header header = { .type = type, .misc = misc, .size = (uint16_t)(made->count * 8) };
    memcpy(made->words, &header, sizeof header);
    return made->count * 8;
}

/* What stands behind every record that is no sample. */
static void put_identity(struct made *made, uint32_t pid, uint32_t tid, uint64_t time, uint32_t cpu)
{
    put_halves(made, pid, tid);
    put(made, time);
    put_halves(made, cpu, 0);
    put(made, EVENT);
}

static size_t make_sample(struct made *made, const uint64_t *stack, size_t stack_words, uint64_t copied_bytes)
{
    begin(made);
    put(made, EVENT);
    put(made, 0x401000);        /* ip */
    put_halves(made, 100, 101); /* pid, tid */
    put(made, 5000);            /* time */
    put_halves(made, 3, 0);     /* cpu */
    put(made, 999);             /* period */
    put(made, 2);               /* chain */
    put(made, PERF_CONTEXT_KERNEL);
    put(made, 0xffffffff81000000);
    put(made, PERF_SAMPLE_REGS_ABI_64);
    for (uint64_t i = 0; i < REGISTERS; i++)
        put(made, 10 + i);
    put(made, stack_words * 8);
    for (size_t i = 0; i < stack_words; i++)
        put(made, stack[i]);
    if (stack_words)
        put(made, copied_bytes);
    return end(made, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
}

static int parse(const struct made *made, size_t size, struct perf_record *record)
{
    return perf_record_parse(layouts, 2, made->words, size, record);
}

static void a_sample_with_a_stack(void **state)
{
    static struct made made;
    const uint64_t stack[] = { 1, 2, 3, 4 };
    struct perf_record record;
    assert_int_equal(parse(&made, make_sample(&made, stack, 4, 24), &record), 0);
    assert_int_equal(record.kind, STACKS);
    assert_int_equal(record.pid, 100);
    assert_int_equal(record.tid, 101);
    assert_int_equal(record.cpu, 3);
    assert_int_equal(record.time_ns, 5000);
    assert_int_equal(record.sample.ip, 0x401000);
    assert_int_equal(record.sample.period, 999);
    assert_int_equal(record.sample.chain_count, 2);
    assert_int_equal(record.sample.chain[1], 0xffffffff81000000);
    assert_int_equal(record.sample.registers[2], 12);
    assert_int_equal(record.sample.stack_room, 32);
    assert_int_equal(record.sample.stack_bytes, 24);
    assert_memory_equal(record.sample.stack, stack, 24);
}

static void a_sample_of_a_kernel_thread_has_no_stack(void **state)
{
    static struct made made;
    struct perf_record record;
    begin(&made);
    put(&made, EVENT);
    put(&made, 0xffffffff81000000);
    put_halves(&made, 2, 2);
    put(&made, 5000);
    put_halves(&made, 0, 0);
    put(&made, 1);
    put(&made, 0); /* no chain */
    put(&made, PERF_SAMPLE_REGS_ABI_NONE);
    put(&made, 0); /* no stack, and then no size of what was copied */
    assert_int_equal(parse(&made, end(&made, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL), &record), 0);
    assert_null(record.sample.registers);
    assert_null(record.sample.stack);
}

static void an_address_alone(void **state)
{
    static struct made made;
    struct perf_record record;
    begin(&made);
    put(&made, OTHER_EVENT);
    put(&made, 0x401234);
    put_halves(&made, 7, 8);
    put(&made, 6000);
    put_halves(&made, 1, 0);
    put(&made, 4);
    assert_int_equal(parse(&made, end(&made, PERF_RECORD_SAMPLE, 0), &record), 0);
    assert_int_equal(record.kind, ADDRESSES);
    assert_int_equal(record.sample.ip, 0x401234);
    assert_int_equal(record.sample.period, 4);
    made.words[1] = 12345; /* an event that no one opened */
    assert_int_equal(parse(&made, made.count * 8, &record), -1);
}

static void mappings_with_an_inode_or_a_build_id(void **state)
{
    static struct made made;
    static const unsigned char id[20] = { 0xab, 0xcd, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
    struct perf_record record;
    begin(&made);
    put_halves(&made, 100, 100);
    put(&made, 0x7f0000000000);
    put(&made, 0x2000);
    put(&made, 0x1000);
    put_halves(&made, 8, 1); /* device */
    put(&made, 4711);        /* inode */
    put(&made, 0);
    put_halves(&made, 5, 2); /* r-x, private */
    size_t text = made.count;
    memcpy(&made.words[text], "/usr/lib/libx.so", 17);
    made.count += 3;
    put_identity(&made, 1, 2, 7000, 4);
    size_t size = end(&made, PERF_RECORD_MMAP2, 0);
    assert_int_equal(parse(&made, size, &record), 0);
    assert_int_equal(record.pid, 100);
    assert_int_equal(record.time_ns, 7000);
    assert_int_equal(record.mapping.address, 0x7f0000000000);
    assert_int_equal(record.mapping.bytes, 0x2000);
    assert_int_equal(record.mapping.offset, 0x1000);
    assert_int_equal(record.mapping.inode, 4711);
    assert_int_equal(record.mapping.is_code, 1);
    assert_string_equal(record.mapping.path, "/usr/lib/libx.so");
    assert_null(record.mapping.build_id);

    unsigned char *file = (unsigned char *)&made.words[5];
    file[0] = sizeof id;
    memcpy(file + 4, id, sizeof id);
    size = end(&made, PERF_RECORD_MMAP2, 1 << 14 /* PERF_RECORD_MISC_MMAP_BUILD_ID */);
    assert_int_equal(parse(&made, size, &record), 0);
    assert_int_equal(record.mapping.build_id_bytes, sizeof id);
    assert_memory_equal(record.mapping.build_id, id, sizeof id);
    memset(&made.words[text], 'x', 24); /* a path without an end */
    assert_int_equal(parse(&made, size, &record), -1);
}

static void forks_names_switches_and_losses(void **state)
{
    static struct made made;
    struct perf_record record;
    begin(&made);
    put_halves(&made, 200, 100); /* pid, parent's */
    put_halves(&made, 200, 101); /* tid, parent's */
    put(&made, 8000);
    put_identity(&made, 100, 101, 8000, 0);
    assert_int_equal(parse(&made, end(&made, PERF_RECORD_FORK, 0), &record), 0);
    assert_int_equal(record.pid, 200);
    assert_int_equal(record.other_pid, 100);
    assert_int_equal(record.tid, 200);

    begin(&made);
    put_halves(&made, 200, 200);
    memcpy(&made.words[made.count++], "burn\0\0\0", 8);
    put_identity(&made, 200, 200, 8100, 2);
    assert_int_equal(parse(&made, end(&made, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC), &record), 0);
    assert_string_equal(record.name, "burn");
    assert_int_equal(record.misc, PERF_RECORD_MISC_COMM_EXEC);
    assert_int_equal(record.cpu, 2);

    begin(&made);
    put_identity(&made, 200, 201, 9000, 5);
    assert_int_equal(parse(&made, end(&made, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT), &record), 0);
    assert_int_equal(record.tid, 201);
    assert_int_equal(record.cpu, 5);
    assert_int_equal(record.time_ns, 9000);

    begin(&made);
    put(&made, EVENT);
    put(&made, 33);
    put_identity(&made, 0, 0, 9100, 5);
    assert_int_equal(parse(&made, end(&made, PERF_RECORD_LOST, 0), &record), 0);
    assert_int_equal(record.lost, 33);

    begin(&made);
    put(&made, 9);
    put(&made, EVENT);
    put(&made, EVENT);
    put_identity(&made, 200, 201, 9200, 5);
    assert_int_equal(parse(&made, end(&made, PERF_RECORD_THROTTLE, 0), &record), 0);
    assert_int_equal(record.time_ns, 9200);
}

/* Every count and size in a sample, made too large one by one; and every size that is too small. */
static void counts_that_lie(void **state)
{
    static struct made made;
    const uint64_t stack[] = { 1, 2, 3, 4 };
    struct perf_record record;
    size_t size = make_sample(&made, stack, 4, 32);
    const size_t counts[] = { 7 /* chain */, 14 /* stack */, 19 /* copied */ };
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const uint64_t lies[] = { UINT64_MAX, UINT64_MAX / 8, UINT64_C(1) << 61, 100000, 40 };
        uint64_t truth = made.words[counts[i]];
        assert_in_range(truth, 2, 32);
        for (size_t k = 0; k < COUNT_OF(lies); k++) {
            made.words[counts[i]] = lies[k];
            if (parse(&made, size, &record) != -1)
                fail_msg("word %zu says %llu, and is believed", counts[i], (unsigned long long)lies[k]);
        }
        made.words[counts[i]] = truth;
    }
    assert_int_equal(parse(&made, size, &record), 0);
    for (size_t cut = 0; cut < size; cut += 8) {
        struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = (uint16_t)cut };
        memcpy(made.words, &header, sizeof header);
        if (parse(&made, cut, &record) != -1)
            fail_msg("a sample of %zu of its %zu bytes is believed", cut, size);
    }
}

/* ---- Rings ----------------------------------------------------------------------------------------------------- */

enum { RING_BYTES = 4096 };

struct scene {
    struct perf_event_mmap_page page;
    _Alignas(8) unsigned char data[RING_BYTES];
    struct perf_ring ring;
    uint64_t damaged;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    scene->ring.page = &scene->page;
    scene->ring.data = scene->data;
    scene->ring.data_bytes = RING_BYTES;
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

/* As the kernel does: around the end, then the head. */
static void write_record(struct scene *scene, const struct made *made, size_t size)
{
    for (size_t i = 0; i < size; i++)
        scene->data[(scene->page.data_head + i) % RING_BYTES] = ((const unsigned char *)made->words)[i];
    scene->page.data_head += size;
}

static void write_switch(struct scene *scene, uint32_t tid)
{
    struct made made;
    begin(&made);
    put_identity(&made, 1, tid, 100 * tid, 0);
    write_record(scene, &made, end(&made, PERF_RECORD_SWITCH, 0));
}

static uint32_t read_tid(struct scene *scene, uint64_t head)
{
    struct perf_record record;
    size_t size;
    const void *bytes = perf_ring_next(&scene->ring, head, &size, &scene->damaged);
    if (!bytes)
        return 0;
    assert_int_equal(perf_record_parse(layouts, 2, bytes, size, &record), 0);
    return record.tid;
}

static void a_ring_goes_round(void **state)
{
    struct scene *scene = *state;
    uint32_t written = 0, read = 0;
    for (int round = 0; round < 1000; round++) { /* 40 bytes each, so that some lie across the end */
        for (int i = 0; i < 60; i++)
            write_switch(scene, ++written);
        uint64_t head = perf_ring_head(&scene->ring);
        for (uint32_t tid; (tid = read_tid(scene, head)) != 0;)
            assert_int_equal(tid, ++read);
        perf_ring_release(&scene->ring);
        assert_int_equal(scene->page.data_tail, scene->page.data_head);
    }
    assert_int_equal(read, written);
    assert_int_equal(scene->damaged, 0);
}

/* What is looked at first is still there to be read, and only up to where it was asked for. */
static void looking_ahead(void **state)
{
    struct scene *scene = *state;
    size_t size, seen = 0;
    write_switch(scene, 1);
    write_switch(scene, 2);
    uint64_t head = perf_ring_head(&scene->ring);
    write_switch(scene, 3);
    while (perf_ring_peek(&scene->ring, perf_ring_head(&scene->ring), &size, &scene->damaged))
        seen++;
    assert_int_equal(seen, 3);
    assert_int_equal(read_tid(scene, head), 1);
    assert_int_equal(read_tid(scene, head), 2);
    assert_int_equal(read_tid(scene, head), 0);
    assert_int_equal(read_tid(scene, perf_ring_head(&scene->ring)), 3);
    assert_null(perf_ring_peek(&scene->ring, perf_ring_head(&scene->ring), &size, &scene->damaged));
}

static void sizes_that_lie(void **state)
{
    struct scene *scene = *state;
    static const uint16_t sizes[] = { 0, 7, 12, 48, 65528 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        write_switch(scene, 1);
        struct perf_event_header *header = (struct perf_event_header *)(scene->data +
                                                                        (scene->page.data_head - 40) % RING_BYTES);
        header->size = sizes[i];
        assert_int_equal(read_tid(scene, perf_ring_head(&scene->ring)), 0);
        assert_int_equal(scene->damaged, i + 1);
        assert_int_equal(scene->ring.tail, scene->page.data_head); /* goes on behind it */
    }
    write_switch(scene, 5);
    assert_int_equal(read_tid(scene, perf_ring_head(&scene->ring)), 5);
    scene->page.data_head += 3 * RING_BYTES; /* more than there can be */
    assert_int_equal(read_tid(scene, perf_ring_head(&scene->ring)), 0);
    assert_int_equal(scene->damaged, COUNT_OF(sizes) + 1);
}

/* Most gaps are samples; one is a pause of the thread, some are ticks of the clock. */
static void the_cost_of_a_sample(void **state)
{
    int64_t gaps_ns[] = { 5000, 900, 5100, 4000000, 4900, 5000, 5200, 1000, 4800, 5050, 5000 };
    assert_int_equal(sample_cost_of_gaps(gaps_ns, COUNT_OF(gaps_ns)), 5000);
    assert_int_equal(sample_cost_of_gaps(gaps_ns, 3), 0); /* too few to know */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_with_a_stack),
        cmocka_unit_test(a_sample_of_a_kernel_thread_has_no_stack),
        cmocka_unit_test(an_address_alone),
        cmocka_unit_test(mappings_with_an_inode_or_a_build_id),
        cmocka_unit_test(forks_names_switches_and_losses),
        cmocka_unit_test(counts_that_lie),
        cmocka_unit_test(the_cost_of_a_sample),
        cmocka_unit_test_setup_teardown(a_ring_goes_round, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looking_ahead, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_that_lie, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("collect_perf", tests, NULL, NULL);
}
