/* Everything that NVTX can say, once or a few times each, in a fixed order: tests/trace/nvtx.py knows what
 * comes of it. With an argument it does one thing only. With a tool attached, what the calls return is
 * checked: status 1 if it is wrong. */
#include "nvtx_client.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, long long wanted, long long got)
{
    if (!nvtx_client.attached || wanted == got || failures++ > 10)
        return;
    fprintf(stderr, "%s: expected %lld, got %lld\n", what, wanted, got);
}

static void plain(void)
{
    nvtx_mark("a mark");
    nvtx_mark_w(L"wide \u00e4\u20ac\U0001F600");
    static const wchar_t broken[] = { L'x', (wchar_t)0xD800, (wchar_t)0x7fffffff, L'y', 0 };
    nvtx_mark_w(broken);
    expect("push", 0, nvtx_push("outer"));
    expect("push", 1, nvtx_push_w(L"inner"));
    expect("pop", 1, nvtx_pop());
    expect("pop", 0, nvtx_pop());
    expect("pop of nothing", -1, nvtx_pop());
    uint64_t first = nvtx_start("first"), second = nvtx_start_w(L"second");
    expect("ids differ", 1, first != second && first && second);
    nvtx_end(first);
    nvtx_end(second);
    nvtx_mark(NULL);
    nvtx_mark("");
}

static void attributes(const void *domain)
{
    struct nvtx_attributes a = nvtx_text("u64");
    a.category = 7;
    a.color_type = 1;
    a.color = 0xff00ff00u;
    a.payload_type = NVTX_PAYLOAD_UINT64;
    a.payload.u64 = UINT64_MAX;
    nvtx_mark_ex(&a);
    a = nvtx_text("i64"), a.payload_type = NVTX_PAYLOAD_INT64, a.payload.i64 = -5;
    nvtx_mark_ex(&a);
    a = nvtx_text("f64"), a.payload_type = NVTX_PAYLOAD_DOUBLE, a.payload.f64 = 2.5;
    nvtx_mark_ex(&a);
    a = nvtx_text("u32"), a.payload_type = NVTX_PAYLOAD_UINT32, a.payload.u64 = UINT64_MAX;
    nvtx_mark_ex(&a);
    a = nvtx_text("i32"), a.payload_type = NVTX_PAYLOAD_INT32, a.payload.i32 = -7;
    nvtx_mark_ex(&a);
    a = nvtx_text("f32"), a.payload_type = NVTX_PAYLOAD_FLOAT, a.payload.f32 = 0.5f;
    nvtx_mark_ex(&a);
    a = nvtx_text("unknown payload"), a.payload_type = 99;
    nvtx_mark_ex(&a);
    a = nvtx_text("black"), a.color_type = 1;
    nvtx_domain_mark(domain, &a);
    a = nvtx_text("short struct"), a.category = 3, a.size = 8; /* an old caller: no room for the message */
    nvtx_mark_ex(&a);
    nvtx_mark_ex(NULL);
}

static void domains(const void *domain)
{
    const void *wide = nvtx_domain_w(L"w\u00efde"), *again = nvtx_domain("all");
    expect("two domains of one name", 1, again != domain && again);
    const void *string = nvtx_register(domain, "registered"), *wide_string = nvtx_register_w(wide, L"regist\u00ebred");
    struct nvtx_attributes a = nvtx_registered(string);
    expect("domain push", 0, nvtx_domain_push(domain, &a));
    expect("own stack", 0, nvtx_push("in default"));
    a = nvtx_registered(wide_string);
    expect("own stack", 0, nvtx_domain_push(wide, &a));
    expect("domain pop", 0, nvtx_domain_pop(domain));
    expect("wide pop", 0, nvtx_domain_pop(wide));
    expect("default pop", 0, nvtx_pop());
    a = nvtx_text("in domain");
    uint64_t id = nvtx_domain_start(domain, &a);
    nvtx_domain_end(domain, id);
    a = nvtx_registered((const void *)(uintptr_t)0x1234); /* a handle from nowhere */
    nvtx_domain_mark((const void *)(uintptr_t)0x5678, &a);
    nvtx_domain_mark(again, &a);
    nvtx_domain_destroy(again);
    nvtx_category(7, "seven");
    nvtx_category_w(8, L"e\u00efght");
    nvtx_domain_category(domain, 7, "seven in all");
    nvtx_domain_category_w(domain, 9, L"nine in all");
}

static void names(const void *domain)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    nvtx_thread(tid, "the main thread");
    nvtx_thread_w(tid, L"the m\u00e4in thread");
    nvtx_cu_device(0, "device 0");
    nvtx_cuda_device_w(1, L"device 1");
    nvtx_cu_context((const void *)(uintptr_t)0x10, "a context");
    nvtx_cuda_stream((const void *)(uintptr_t)0x20, "a stream");
    nvtx_cu_stream_w((const void *)(uintptr_t)0x21, L"another stream");
    nvtx_cuda_event((const void *)(uintptr_t)0x30, "an event");
    struct nvtx_resource_attributes r;
    memset(&r, 0, sizeof r);
    r.version = 3, r.size = sizeof r, r.type = 1 << 16 | 1, r.identifier = 0x40;
    r.message_type = NVTX_MESSAGE_ASCII, r.message.ascii = "a buffer";
    const void *resource = nvtx_resource_create(domain, &r);
    nvtx_resource_destroy(resource);
    struct nvtx_sync_attributes s;
    memset(&s, 0, sizeof s);
    s.version = 3, s.size = sizeof s, s.message_type = NVTX_MESSAGE_ASCII, s.message.ascii = "a lock";
    const void *lock = nvtx_sync_create(domain, &s);
    nvtx_sync_acquire_start(lock);
    nvtx_sync_acquire_failed(lock);
    nvtx_sync_acquire_start(lock);
    nvtx_sync_acquire_success(lock);
    nvtx_sync_releasing(lock);
    nvtx_sync_destroy(lock);
}

static void deep(void)
{
    for (int i = 0; i < 1000; i++)
        expect("deep push", i, nvtx_push("deep"));
    for (int i = 1000; i-- > 0;)
        expect("deep pop", i, nvtx_pop());
    enum { DOMAINS = 100 };
    const void *many[DOMAINS];
    struct nvtx_attributes a = nvtx_text("many");
    for (int i = 0; i < DOMAINS; i++) {
        char name[16];
        snprintf(name, sizeof name, "many %d", i);
        many[i] = nvtx_domain(name);
        expect("push in many", 0, nvtx_domain_push(many[i], &a));
    }
    for (int i = 0; i < DOMAINS; i++)
        expect("pop in many", 0, nvtx_domain_pop(many[i]));
}

/* ---- The extensions -------------------------------------------------------------------------------------------- */

enum { SCHEMA_FIELDS = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6, ENUM_FIELDS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 };
enum {
    TYPE_CHAR = 1,
    TYPE_INT = 5,
    TYPE_UINT8 = 12,
    TYPE_UINT64 = 18,
    TYPE_FLOAT = 19,
    TYPE_DOUBLE = 20,
    TYPE_CSTRING = 75,
    TYPE_REGISTERED = 80
};
enum { POINTER = 1 << 1, FIXED = 1 << 4, LENGTH_INDEX = 3 << 4, DEEP_COPY = 1 << 8, MESSAGE = 1 << 10 };

struct point {
    int x, y;
};
struct packet {
    uint64_t size;
    struct point at;
    float ratios[3];
    uint32_t kind, bits;
    const char *note;
    char label[8];
};

static uint64_t point_schema(const void *domain)
{
    static const struct nvtx_schema_entry entries[] = {
        { 0, TYPE_INT, "x", NULL, 0, 0, NULL, NULL },
        { 0, TYPE_INT, "y", "the other way", 0, 4, NULL, NULL },
    };
    struct nvtx_schema schema = { SCHEMA_FIELDS, "point", 1, 0, entries, 2, sizeof(struct point), 0, 0, NULL };
    return nvtx_register_schema(domain, &schema);
}

static uint64_t kind_enum(const void *domain, int flags)
{
    static const struct nvtx_enum_entry kinds[] = { { "none", 0, 0 }, { "send", 1, 0 }, { "receive", 2, 0 } };
    static const struct nvtx_enum_entry bits[] = { { "urgent", 1, 1 }, { "last", 4, 1 } };
    struct nvtx_enum given = { ENUM_FIELDS, flags ? "bits" : "kind", flags ? bits : kinds, flags ? 2 : 3, 4, 0, NULL };
    return nvtx_register_enum(domain, &given);
}

static uint64_t packet_schema(const void *domain)
{
    struct nvtx_schema_entry entries[] = {
        { 0, TYPE_UINT64, "size", NULL, 0, 0, NULL, NULL },
        { 0, point_schema(domain), "at", NULL, 0, offsetof(struct packet, at), NULL, NULL },
        { FIXED, TYPE_FLOAT, "ratios", NULL, 3, offsetof(struct packet, ratios), NULL, NULL },
        { 0, kind_enum(domain, 0), "kind", NULL, 0, offsetof(struct packet, kind), NULL, NULL },
        { 0, kind_enum(domain, 1), "bits", NULL, 0, offsetof(struct packet, bits), NULL, NULL },
        { 0, TYPE_CSTRING, "note", NULL, 0, offsetof(struct packet, note), NULL, NULL },
        { MESSAGE, TYPE_CSTRING, "label", NULL, 8, offsetof(struct packet, label), NULL, NULL },
    };
    struct nvtx_schema schema = { SCHEMA_FIELDS, "packet", 1, 0, entries, 7, sizeof(struct packet), 0, 0, NULL };
    return nvtx_register_schema(domain, &schema);
}

static void payloads(const void *domain)
{
    uint64_t id = packet_schema(domain);
    expect("dynamic id", 1, id >= (uint64_t)1 << 32);
    struct packet packet = { 4096, { 3, -4 }, { 0.5f, 1, 2 }, 2, 5, "a note", "label" };
    struct nvtx_payload_data data = { id, sizeof packet, &packet };
    nvtx_mark_payload(domain, &data, 1);
    expect("push payload", 0, nvtx_push_payload(domain, &data, 1));
    data.size = SIZE_MAX;
    expect("pop payload", 0, nvtx_pop_payload(domain, &data, 1));
    nvtx_end_payload(domain, nvtx_start_payload(domain, &data, 1), NULL, 0);
    struct nvtx_attributes a = nvtx_text("with payload");
    a.payload_type = NVTX_PAYLOAD_EXTENDED;
    a.payload_count = 2;
    uint64_t number = 42;
    struct nvtx_payload_data both[] = { { TYPE_UINT64, sizeof number, &number }, { TYPE_CSTRING, SIZE_MAX, "text" } };
    a.payload.extended = both;
    nvtx_domain_mark(domain, &a);
    expect("enabled", 1, nvtx_domain_is_enabled(domain));
    struct nvtx_scope scope = { sizeof scope, "a/b", 1, 0 };
    expect("scope", 1, nvtx_register_scope(domain, &scope) != 0);
}

static void counters(const void *domain)
{
    struct nvtx_counter counter = { sizeof counter, 17, "queue", "how long it is", 0, NULL, 0 };
    uint64_t queue = nvtx_register_counter(domain, &counter);
    for (int i = 0; i < 10; i++)
        nvtx_sample_int64(domain, queue, i * 3);
    counter.name = "load", counter.schema = TYPE_DOUBLE;
    uint64_t load = nvtx_register_counter(domain, &counter);
    nvtx_sample_float64(domain, load, 0.25);
    nvtx_sample_no_value(domain, load, 2);
    counter.name = "position", counter.schema = point_schema(domain);
    uint64_t position = nvtx_register_counter(domain, &counter);
    struct point point = { 11, -12 };
    nvtx_sample(domain, position, &point, sizeof point);
}

/* Names and descriptions that do not fit into a record, and what is said after them. */
static void long_texts(const void *domain)
{
    enum { BYTES = 100000 };
    char *text = malloc(BYTES + 1);
    memset(text, 'L', BYTES);
    text[BYTES] = 0;
    struct nvtx_schema_entry entry = { 0, TYPE_INT, text, text, 0, 0, NULL, NULL };
    struct nvtx_schema schema = { SCHEMA_FIELDS, text, 1, 0, &entry, 1, sizeof(int), 0, 0, NULL };
    expect("schema", 1, nvtx_register_schema(domain, &schema) != 0);
    struct nvtx_counter counter = { sizeof counter, 17, text, text, 0, NULL, 0 };
    expect("counter", 1, nvtx_register_counter(domain, &counter) != 0);
    nvtx_register(domain, text);
    struct nvtx_attributes a = nvtx_registered(nvtx_register(domain, "registered afterwards"));
    nvtx_domain_mark(domain, &a);
    free(text);
}

/* Arrays that the program says are empty are not looked at: these lie where nothing may be read. */
static void empty_arrays(const void *domain)
{
    struct {
        uint64_t count;
        const void *none, *counted, *unknown;
    } payload = { 0 };
    static const struct nvtx_schema_entry entries[] = {
        { 0, TYPE_UINT64, "count", NULL, 0, 0, NULL, NULL },
        { POINTER | FIXED | DEEP_COPY, TYPE_UINT8, "none", NULL, 0, 8, NULL, NULL },
        { POINTER | LENGTH_INDEX | DEEP_COPY, TYPE_UINT8, "counted", NULL, 0, 16, NULL, NULL },
        { POINTER | LENGTH_INDEX | DEEP_COPY, TYPE_UINT8, "unknown", NULL, 7, 24, NULL, NULL },
    };
    struct nvtx_schema schema = { SCHEMA_FIELDS, "arrays", 1, 0, entries, 4, sizeof payload, 0, 0, NULL };
    payload.none = payload.counted = payload.unknown = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                                            0);
    struct nvtx_payload_data data = { nvtx_register_schema(domain, &schema), sizeof payload, &payload };
    nvtx_mark_payload(domain, &data, 1);
}

/* A schema that leaves offsets and size to the tool describes a C struct. */
static void left_to_the_tool(const void *domain)
{
    struct framed {
        char first;
        struct point at; /* aligned as its members are, to 4 */
        char last;
    } payload = { 'f', { 3, -4 }, 'l' };
    struct nvtx_schema_entry entries[] = {
        { 0, TYPE_CHAR, "first", NULL, 0, 0, NULL, NULL },
        { 0, point_schema(domain), "at", NULL, 0, 0, NULL, NULL },
        { 0, TYPE_CHAR, "last", NULL, 0, 0, NULL, NULL },
    };
    struct nvtx_schema schema = { SCHEMA_FIELDS, "framed", 1, 0, entries, 3, 0, 0, 0, NULL };
    struct nvtx_payload_data data = { nvtx_register_schema(domain, &schema), SIZE_MAX, &payload };
    expect("a struct of 16 bytes", 16, sizeof payload);
    nvtx_mark_payload(domain, &data, 1);
}

/* Children of a fork use what their parent registered, and end without a word. */
static void forks(const void *domain)
{
    const void *string = nvtx_register(domain, "from the parent");
    pid_t child = fork();
    if (child == 0) {
        struct nvtx_attributes a = nvtx_registered(string);
        nvtx_domain_push(domain, &a);
        nvtx_domain_pop(domain);
        _exit(0);
    }
    int status = -1;
    while (waitpid(child, &status, 0) < 0)
        ;
    expect("child", 0, status);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    nvtx_initialize(NULL);
    const void *domain = nvtx_domain("all");
    if (!*only || !strcmp(only, "plain"))
        plain();
    if (!*only || !strcmp(only, "attributes"))
        attributes(domain);
    if (!*only || !strcmp(only, "domains"))
        domains(domain);
    if (!*only || !strcmp(only, "names"))
        names(domain);
    if (!*only || !strcmp(only, "deep"))
        deep();
    if (!*only || !strcmp(only, "payloads"))
        payloads(domain);
    if (!*only || !strcmp(only, "counters"))
        counters(domain);
    if (!*only || !strcmp(only, "long"))
        long_texts(domain);
    if (!*only || !strcmp(only, "empty"))
        empty_arrays(domain);
    if (!*only || !strcmp(only, "layout"))
        left_to_the_tool(domain);
    if (!*only || !strcmp(only, "forks"))
        forks(domain);
    printf("attached %d, tool version %u\n", nvtx_client.attached, nvtx_client.tool_version);
    return failures != 0;
}
