/* The same as our own client does, through the vendor's headers: what they say and what our tables hold must agree. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtSync.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#define HAS_PAYLOAD 1
#endif
#if __has_include(<nvtx3/nvToolsExtCounters.h>)
#include <nvtx3/nvToolsExtCounters.h>
#define HAS_COUNTERS 1
#endif

#include "../../../src/abi/nvtx_abi.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_PLACE(ours, our_field, theirs, their_field)                                                             \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field)

SAME_SIZE(struct abi_event, nvtxEventAttributes_t);
SAME_PLACE(struct abi_event, color_type, nvtxEventAttributes_t, colorType);
SAME_PLACE(struct abi_event, payload_type, nvtxEventAttributes_t, payloadType);
SAME_PLACE(struct abi_event, reserved0, nvtxEventAttributes_t, reserved0);
SAME_PLACE(struct abi_event, payload, nvtxEventAttributes_t, payload);
SAME_PLACE(struct abi_event, message_type, nvtxEventAttributes_t, messageType);
SAME_SIZE(struct abi_resource, nvtxResourceAttributes_t);
SAME_PLACE(struct abi_resource, message, nvtxResourceAttributes_t, message);
SAME_SIZE(struct abi_sync, nvtxSyncUserAttributes_t);
SAME_SIZE(struct abi_callbacks, NvtxExportTableCallbacks);
SAME_SIZE(struct abi_version_info, NvtxExportTableVersionInfo);
#ifdef HAS_PAYLOAD
SAME_SIZE(struct abi_extension_info, nvtxExtModuleInfo_t);
SAME_PLACE(struct abi_extension_info, segments, nvtxExtModuleInfo_t, segments);
SAME_SIZE(struct abi_payload_data, nvtxPayloadData_t);
SAME_SIZE(struct abi_schema_entry, nvtxPayloadSchemaEntry_t);
SAME_PLACE(struct abi_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
SAME_SIZE(struct abi_schema, nvtxPayloadSchemaAttr_t);
SAME_PLACE(struct abi_schema, id, nvtxPayloadSchemaAttr_t, schemaId);
SAME_SIZE(struct abi_enum, nvtxPayloadEnumAttr_t);
SAME_PLACE(struct abi_enum, id, nvtxPayloadEnumAttr_t, schemaId);
SAME_SIZE(struct abi_enum_entry, nvtxPayloadEnum_t);
#endif
#ifdef HAS_COUNTERS
SAME_SIZE(struct abi_scope, nvtxScopeAttr_t);
SAME_SIZE(struct abi_counter, nvtxCounterAttr_t);
SAME_PLACE(struct abi_counter, id, nvtxCounterAttr_t, counterId);
#endif

static void extensions(nvtxDomainHandle_t domain)
{
    (void)domain;
#ifdef HAS_PAYLOAD
    struct pair {
        int32_t a;
        double b;
    } pair = { 5, 0.5 };
    nvtxPayloadSchemaEntry_t entries[] = {
        { .type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "a" },
        { .type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "b", .offset = offsetof(struct pair, b) },
    };
    nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = 2,
        .payloadStaticSize = sizeof pair,
    };
    nvtxPayloadData_t data = { nvtxPayloadSchemaRegister(domain, &schema), sizeof pair, &pair };
    nvtxMarkPayload(domain, &data, 1);
#endif
#ifdef HAS_COUNTERS
    nvtxCounterAttr_t counter = {
        .structSize = sizeof counter,
        .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
        .name = "counter",
    };
    nvtxCounterSampleInt64(domain, nvtxCounterRegister(domain, &counter), 12);
#endif
}

int main(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("vendor");
    nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "registered");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "named");
    nvtxNameCategoryA(3, "three");
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.category = 3;
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.color = 0xff0000ff;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    attributes.payload.iValue = -9;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = string;
    int level = nvtxDomainRangePushEx(domain, &attributes);
    nvtxRangePushA("plain");
    nvtxMarkW(L"wide");
    int plain = nvtxRangePop();
    nvtxRangeId_t id = nvtxRangeStartA("started");
    nvtxRangeEnd(id);
    int popped = nvtxDomainRangePop(domain);
    nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(domain, NULL);
    nvtxDomainSyncUserAcquireStart(lock);
    nvtxDomainSyncUserAcquireSuccess(lock);
    extensions(domain);
#if defined(HAS_PAYLOAD) && defined(HAS_COUNTERS)
    const char *have = "payload counters";
#else
    const char *have = "core";
#endif
    printf("%d %d %d %s\n", level, plain, popped, have);
    return 0;
}
