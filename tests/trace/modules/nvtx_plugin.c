/* A library with the NVTX client inside: it attaches for itself, and is unloaded again. */
#include "../nvtx_client.h"

int plugin_work(int rounds);

int plugin_work(int rounds)
{
    const void *domain = nvtx_domain("plugin");
    struct nvtx_attributes attributes = nvtx_text("in the plugin");
    for (int i = 0; i < rounds; i++) {
        nvtx_domain_push(domain, &attributes);
        nvtx_domain_pop(domain);
    }
    nvtx_domain_destroy(domain);
    return nvtx_client.attached;
}
