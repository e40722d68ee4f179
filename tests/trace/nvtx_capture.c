/* Marks before, in and after ranges called "go" that a capture may be told to wait for.
 *
 *   nvtx_capture KIND TIMES     KIND: push, wide, registered, start, domain; or none */
#include "nvtx_client.h"

#include <stdio.h>

static const void *domain;
static uint64_t id;

static void begin(const char *kind)
{
    struct nvtx_attributes attributes = nvtx_registered(nvtx_register(domain, "go"));
    if (!strcmp(kind, "push"))
        nvtx_push("go");
    else if (!strcmp(kind, "wide"))
        nvtx_push_w(L"go");
    else if (!strcmp(kind, "registered"))
        nvtx_push_ex(&attributes);
    else if (!strcmp(kind, "start"))
        id = nvtx_start("go");
    else if (!strcmp(kind, "domain"))
        nvtx_domain_push(domain, &attributes);
}

static void end(const char *kind)
{
    if (!strcmp(kind, "start"))
        nvtx_end(id);
    else if (!strcmp(kind, "domain"))
        nvtx_domain_pop(domain);
    else if (strcmp(kind, "none"))
        nvtx_pop();
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "push";
    int times = argc > 2 ? atoi(argv[2]) : 1;
    domain = nvtx_domain("gates");
    nvtx_mark("before");
    nvtx_push("around"); /* begins before and ends after: never recorded when a range is waited for */
    for (int i = 0; i < times; i++) {
        begin(kind);
        nvtx_push("go"); /* a second one inside the first changes nothing */
        nvtx_mark("inside");
        nvtx_pop();
        end(kind);
        nvtx_mark("between");
    }
    nvtx_pop();
    nvtx_mark("after");
    return 0;
}
