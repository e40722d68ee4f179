#!/usr/bin/env python3
"""What we declare of CUPTI and CUDA equals what the vendor's headers declare, and the table of layouts is what they say.

Looks for headers in the folders of TACHO_CUPTI_HEADERS (as in PATH), else in CUDA_HOME, CUDA_PATH and /usr/local/cuda. Each
folder is one version, as for scripts/cupti-layouts. Names that a version does not have yet are not compared there."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ABI = os.path.abspath(os.path.join(SOURCE, "src", "abi"))
CC = os.environ.get("CC", "cc")

loader = importlib.machinery.SourceFileLoader("layouts", os.path.join(SOURCE, "scripts", "cupti-layouts"))
layouts = importlib.util.module_from_spec(importlib.util.spec_from_loader("layouts", loader))
sys.dont_write_bytecode = True
loader.exec_module(layouts)

# Numbers of ours, and the vendor's names for them; those of results and kinds come from the tables of cupti.h.
NUMBERS = """
CUPTI_ATTRIBUTE_ZEROED_OUT_ACTIVITY_BUFFER CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER
CUPTI_FLUSH_FORCED CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
CUPTI_THREAD_ID_SYSTEM CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
CUPTI_UNIFIED_MEMORY_ALL_DEVICES CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES
CUPTI_UNIFIED_MEMORY_HTOD CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD
CUPTI_UNIFIED_MEMORY_DTOH CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH
CUPTI_UNIFIED_MEMORY_CPU_FAULT CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT
CUPTI_UNIFIED_MEMORY_GPU_FAULT CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT
CUPTI_UNIFIED_MEMORY_THRASHING CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING
CUPTI_UNIFIED_MEMORY_THROTTLING CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING
CUPTI_UNIFIED_MEMORY_REMOTE_MAP CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP
CUPTI_UNIFIED_MEMORY_DTOD CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD
CUPTI_SYNC_EVENT CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE
CUPTI_SYNC_STREAM_WAIT CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT
CUPTI_SYNC_STREAM CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE
CUPTI_SYNC_CONTEXT CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE
CUPTI_LAUNCH_REGULAR CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR
CUPTI_LAUNCH_COOPERATIVE CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
CUPTI_LAUNCH_COOPERATIVE_MULTI CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE
CUPTI_NO_SYNC CUPTI_SYNCHRONIZATION_INVALID_VALUE
CUPTI_ENTER CUPTI_API_ENTER
CUPTI_EXIT CUPTI_API_EXIT
CUPTI_DOMAIN_DRIVER CUPTI_CB_DOMAIN_DRIVER_API
CUPTI_DOMAIN_RUNTIME CUPTI_CB_DOMAIN_RUNTIME_API
CUPTI_DOMAIN_RESOURCE CUPTI_CB_DOMAIN_RESOURCE
CUPTI_CALL_OF_12_0 CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData
CUPTI_OLD_NAME_BYTES CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
"""

# Structs of ours, the vendor's, and their members in the same order.
STRUCTS = """
cupti_unified_memory_config CUpti_ActivityUnifiedMemoryCounterConfig scope=scope kind=kind device=deviceId enable=enable
cupti_call CUpti_CallbackData site=callbackSite function=functionName parameters=functionParams result=functionReturnValue \
symbol=symbolName context=context context_id=contextUid correlation_data=correlationData correlation_id=correlationId
cupti_resource_data CUpti_ResourceData context=context stream=resourceHandle.stream descriptor=resourceDescriptor
cupti_subscriber_parameters CUpti_SubscriberParams bytes=structSize name=subscriberName old_name=oldSubscriberName \
old_name_bytes=oldSubscriberSize
"""
GROWN = {"cupti_subscriber_parameters"}  # newer versions have more behind what we fill in, and take ours by its size

# Arguments of calls: our struct, a pattern of the vendor's, which are named by call and version, and members.
PARAMETERS = """
cuda_event_record_parameters cu(da)?EventRecord(WithFlags)?(_ptsz)?(_v\\d+)?_params event stream
cuda_stream_wait_parameters cu(da)?StreamWaitEvent(_ptsz)?(_v\\d+)?_params stream event flags
cuda_event_parameters cu(da)?EventSynchronize(_v\\d+)?_params event
cuda_stream_parameters cu(da)?StreamSynchronize(_ptsz)?(_v\\d+)?_params stream
"""


def fail(text):
    global failed
    failed = True
    print(text)


def read(*path):
    path = os.path.join(*path)
    return open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def rows(macro):
    """The argument lists of a table X(…) X(…) of cupti.h."""
    text = without_comments(read(ABI, "cupti.h")).replace("\\\n", " ")
    body = re.search(r"#define %s\(X\)(.*)" % macro, text)[1]
    return re.findall(r"X\(((?:[^()\"]|\"[^\"]*\"|\((?:[^()]|\([^()]*\))*\))*)\)", body)


def number_pairs():
    pairs = [tuple(line.split()) for line in NUMBERS.split("\n") if line]
    names = [row.split(",")[0].strip() for row in rows("CUPTI_RESULTS")]
    pairs += [("CUPTI_RESULT_" + name, "CUPTI_" + name) for name in names]
    names = [row.split(",")[0].strip() for row in rows("CUPTI_KINDS")]
    pairs += [("CUPTI_KIND_" + name, "CUPTI_ACTIVITY_KIND_" + name) for name in names]
    ours = without_comments(read(ABI, "cupti.h"))
    pairs += [("CUPTI_RESOURCE_" + name, "CUPTI_CBID_RESOURCE_" + name)
              for name in re.findall(r"\bCUPTI_RESOURCE_([A-Z_]+)", ours)]
    pairs += [("CUDA_DEVICE_" + name, "CU_DEVICE_ATTRIBUTE_" + name)
              for name in re.findall(r"\bCUDA_DEVICE_([A-Z0-9_]+)", ours) if name != "ATTRIBUTES"]
    return pairs


def parameter_checks(meta):
    """Lines of C: the vendor's structs of arguments as they stand in its headers, and what must hold for them."""
    for line in PARAMETERS.split("\n"):
        if not line:
            continue
        ours, pattern, *members = line.split()
        for struct, body, name in re.findall(r"typedef struct (\w+) (\{[^}]*\}) (\w+);", meta):
            if re.fullmatch(pattern, name):
                yield f"typedef struct {struct} {body} {name};".replace("\n", " ")
                fields = re.findall(r"(\w+)\s*;", body)
                for member in members:
                    field = next(f for f in fields if f.lower().endswith({"context": "ctx"}.get(member, member)))
                    yield (f"_Static_assert(offsetof(struct {ours}, {member}) == offsetof({name}, {field}) && "
                           f"sizeof(((struct {ours} *)0)->{member}) == sizeof((({name} *)0)->{field}), \"{name} {member}\");")


def struct_checks(text, structs=STRUCTS):
    for line in structs.split("\n"):
        ours, vendor, *members = line.split() or ("", "")
        if not ours or not re.search(r"\b%s\b" % vendor, text):
            continue
        if ours not in GROWN:
            yield f"_Static_assert(sizeof(struct {ours}) == sizeof({vendor}), \"size of {ours}\");"
        for member in members:
            mine, theirs = member.split("=")
            yield (f"_Static_assert(offsetof(struct {ours}, {mine}) == offsetof({vendor}, {theirs}) && "
                   f"sizeof(((struct {ours} *)0)->{mine}) == sizeof((({vendor} *)0)->{theirs}), \"{ours} {mine}\");")


PROFILER_HEADERS = ("cupti_target.h", "cupti_profiler_target.h", "cupti_profiler_host.h", "cupti_pmsampling.h", "cupti_range_profiler.h")
PROFILER_NUMBERS = """
CUPTI_PROFILER_RANGE CUPTI_PROFILER_TYPE_RANGE_PROFILER
CUPTI_PROFILER_SAMPLING CUPTI_PROFILER_TYPE_PM_SAMPLING
CUPTI_METRIC_COUNTER CUPTI_METRIC_TYPE_COUNTER
CUPTI_METRIC_RATIO CUPTI_METRIC_TYPE_RATIO
CUPTI_METRIC_THROUGHPUT CUPTI_METRIC_TYPE_THROUGHPUT
CUPTI_METRIC_TYPES CUPTI_METRIC_TYPE__COUNT
CUPTI_TRIGGER_CYCLES CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL
CUPTI_TRIGGER_TIME CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL
CUPTI_APPEND_KEEP_OLDEST CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST
CUPTI_APPEND_KEEP_LATEST CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST
CUPTI_DECODE_OTHER CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER
CUPTI_DECODE_FULL CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
CUPTI_DECODE_END CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS
CUPTI_RANGE_AUTO CUPTI_AutoRange
CUPTI_RANGE_USER CUPTI_UserRange
CUPTI_REPLAY_APPLICATION CUPTI_ApplicationReplay
CUPTI_REPLAY_KERNEL CUPTI_KernelReplay
CUPTI_REPLAY_USER CUPTI_UserReplay
CUPTI_CACHE_NONE CUPTI_CACHE_CONTROL_MODE_NONE
CUPTI_CACHE_ALL CUPTI_CACHE_CONTROL_MODE_ALL
CUPTI_CACHE_L2 CUPTI_CACHE_CONTROL_MODE_L2
"""


def profiler_sizes(version):
    """{call: structSize} as our table has it for that version, by asking the code itself."""
    program = """#include <stdio.h>
#include "cupti_profiler.h"
#define CUPTI_CALL(call, function, struct_name) printf("%s %zu\\n", #call, cupti_call_bytes(VERSION, CUPTI_CALL_##call));
#define CUPTI_ARGUMENT(call, type, ours, theirs, since)
#define CUPTI_END(call)
int main(void)
{
#include "cupti_profiler.def"
    return 0;
}
"""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "sizes.c")
        with open(source, "w") as text:
            text.write(program)
        subprocess.run([CC, "-std=gnu11", "-w", f"-DVERSION={version}u", "-I" + ABI, "-o", source[:-2], source,
                        os.path.join(ABI, "cupti_profiler.c")], check=True)
        answer = subprocess.run([source[:-2]], capture_output=True, text=True, check=True).stdout
    return {call: int(size) for call, size in (line.split() for line in answer.splitlines())}


def profiler_checks(version, text):
    """Lines of C on the calls of cupti_profiler.def: their structs, the sizes of this version, and the functions."""
    table = without_comments(read(ABI, "cupti_profiler.def"))
    sizes, structs = profiler_sizes(version), {}
    for call, function, struct in re.findall(r"CUPTI_CALL\((\w+), (\w+), (\w+)\)", table):
        structs[call] = f"CUpti_{struct}_Params"
        if not re.search(r"CUPTIAPI\s+%s\s*\(\s*%s\s*\*\s*pParams\s*\)" % (function, structs[call]), text):
            fail(f"{version}: there is no {function}({structs[call]} *)")
        yield f"_Static_assert({structs[call]}_STRUCT_SIZE == {sizes[call]}, \"size of {call}\");"
    for call, ours, theirs in re.findall(r"CUPTI_ARGUMENT\((\w+), [^,]+, (\w+), (\w+), \w+\)", table):
        if re.search(r"typedef struct (%s)?\s*\{[^}]*\b%s;[^}]*\}\s*%s;" % (structs[call], theirs, structs[call]), text):
            yield (f"_Static_assert(offsetof(struct cupti_{call}, {ours}) == offsetof({structs[call]}, {theirs}) && "
                   f"sizeof(((struct cupti_{call} *)0)->{ours}) == sizeof((({structs[call]} *)0)->{theirs}), \"{call} {ours}\");")
    for ours, theirs in (line.split() for line in PROFILER_NUMBERS.split("\n") if line):
        if re.search(r"\b%s\b" % theirs, text):
            yield f"_Static_assert((int){ours} == (int){theirs}, \"{ours}\");"


def compile_profiler_checks(version, include, cuda):
    """The same for the profiler interfaces, which are there since 12.6."""
    text = without_comments("".join(read(include, name) for name in PROFILER_HEADERS))
    if "cuptiProfilerHostInitialize" not in text:
        return 0
    return compile_lines(include, cuda, "cupti_profiler.h", PROFILER_HEADERS, list(profiler_checks(version, text)))


# As STRUCTS and NUMBERS, for cupti_pc_sampling.h.
PC_STRUCTS = """
cupti_stall_samples CUpti_PCSamplingStallReason reason=pcSamplingStallReasonIndex samples=samples
cupti_pc CUpti_PCSamplingPCData bytes=size cubin_crc=cubinCrc offset=pcOffset function_index=functionIndex function=functionName \
stall_count=stallReasonCount stalls=stallReason correlation=correlationId
cupti_pc_data CUpti_PCSamplingData bytes=size room=collectNumPcs total_samples=totalSamples dropped_samples=droppedSamples \
count=totalNumPcs remaining=remainingNumPcs range=rangeId pcs=pPcData foreign_samples=nonUsrKernelsTotalSamples \
is_hardware_full=hardwareBufferFull
cupti_pc_setting CUpti_PCSamplingConfigurationInfo attribute=attributeType status=attributeStatus \
number=attributeData.samplingPeriodData.samplingPeriod number=attributeData.collectionModeData.collectionMode \
number=attributeData.enableStartStopControlData.enableStartStopControl number=attributeData.outputDataFormatData.outputDataFormat \
size=attributeData.hardwareBufferSizeData.hardwareBufferSize buffer=attributeData.samplingDataBufferData.samplingDataBuffer \
reasons.count=attributeData.stallReasonData.stallReasonCount reasons.indexes=attributeData.stallReasonData.pStallReasonIndex
cupti_pc_context CUpti_PCSamplingEnableParams bytes=size reserved=pPriv context=ctx
cupti_pc_context CUpti_PCSamplingDisableParams bytes=size reserved=pPriv context=ctx
cupti_pc_context CUpti_PCSamplingStartParams bytes=size reserved=pPriv context=ctx
cupti_pc_context CUpti_PCSamplingStopParams bytes=size reserved=pPriv context=ctx
cupti_stall_count CUpti_PCSamplingGetNumStallReasonsParams context=ctx count=numStallReasons
cupti_stall_names CUpti_PCSamplingGetStallReasonsParams context=ctx count=numStallReasons indexes=stallReasonIndex names=stallReasons
cupti_pc_settings CUpti_PCSamplingConfigurationInfoParams context=ctx count=numAttributes settings=pPCSamplingConfigurationInfo
cupti_pc_get CUpti_PCSamplingGetDataParams context=ctx data=pcSamplingData
cupti_cubin_crc CUpti_GetCubinCrcParams bytes=size cubin_bytes=cubinSize cubin=cubin crc=cubinCrc
"""
PC_NUMBERS = """
CUPTI_PC_CONTINUOUS CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS
CUPTI_PC_SERIALIZED CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
CUPTI_PC_PARSED CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED
CUPTI_STALL_NAME_BYTES CUPTI_STALL_REASON_STRING_SIZE
CUPTI_PC_ATTRIBUTE_PERIOD CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD
CUPTI_PC_ATTRIBUTE_REASONS CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON
CUPTI_PC_ATTRIBUTE_HARDWARE_BYTES CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE
CUPTI_PC_ATTRIBUTE_MODE CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE
CUPTI_PC_ATTRIBUTE_START_STOP CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL
CUPTI_PC_ATTRIBUTE_FORMAT CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT
CUPTI_PC_ATTRIBUTE_BUFFER CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER
"""


def compile_pc_checks(version, include, cuda):
    """The same for PC sampling, of which versions before 12.6 are not used."""
    text = without_comments(read(include, "cupti_pcsampling.h"))
    if version < 24 or not text:
        return 0
    ours = without_comments(read(ABI, "cupti_pc_sampling.h"))
    for name, _ in re.findall(r"X\((\w+), (\w+)\)", ours[ours.index("CUPTI_PC_FUNCTIONS(X)"):]):
        if not re.search(r"CUPTIAPI\s+cupti%s\s*\(\s*\w+\s*\*\s*pParams\s*\)" % name, text):
            fail(f"{version}: there is no cupti{name}(… *)")
    lines = [f"_Static_assert((int){mine} == (int){theirs}, \"{mine}\");" for mine, theirs in
             (line.split() for line in PC_NUMBERS.split("\n") if line)]
    return compile_lines(include, cuda, "cupti_pc_sampling.h", ("cupti_pcsampling.h",), lines + list(struct_checks(text, PC_STRUCTS)))


def compile_checks(include, cuda):
    """Compiles a program of assertions; returns how many there were."""
    text = "".join(read(include, name) for name in os.listdir(include) if name.startswith("cupti")) + read(cuda, "cuda.h")
    text = without_comments(text)
    meta = without_comments(read(include, "generated_cuda_meta.h") + read(include, "generated_cuda_runtime_api_meta.h"))
    lines = [f"_Static_assert((uint32_t){ours} == (uint32_t){theirs}, \"{ours}\");"
             for ours, theirs in number_pairs() if re.search(r"\b%s\b" % theirs, text)]
    lines += list(struct_checks(text)) + list(parameter_checks(meta))
    return compile_lines(include, cuda, "cupti.h", ("cupti_activity.h", "cupti_callbacks.h", "cupti_driver_cbid.h", "driver_types.h"), lines)


def compile_lines(include, cuda, ours, headers, lines):
    """Compiles assertions on one of our headers and these of the vendor's; returns how many there were."""
    with tempfile.TemporaryDirectory() as folder:
        layouts.stand_in(os.path.join(folder, "crt"))
        open(os.path.join(folder, "string"), "w").close()  # 13.0 includes that of C++ and uses nothing of it
        with open(os.path.join(folder, "check.c"), "w") as source:
            # Ours first: macros of cuda.h give functions the names of their newest versions (cuDeviceGetUuid, since 13.0).
            source.write(f'#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include "{ABI}/{ours}"\n' +
                         "".join(f"#include <{name}>\n" for name in headers) + "\n".join(lines) + "\n")
        answer = subprocess.run([CC, "-std=gnu11", "-w", "-fsyntax-only", "-I" + include, "-I" + cuda, "-idirafter", folder,
                                 os.path.join(folder, "check.c")], capture_output=True, text=True)
    if answer.returncode != 0:
        fail(f"{include}:\n" + "\n".join(line for line in answer.stderr.split("\n") if "error" in line)[:4000])
    return sum(line.startswith("_Static_assert") for line in lines)


POINTERS = (r"\*|\(|Func$|Handle$|^CU(context|stream|graph|graphNode|graphExec|event)\b|"
            r"^cupti_(callback|buffer_wanted|buffer_done|clock)\b")
SIZES = {"uint8_t": 1, "uint32_t": 4, "int": 4, "unsigned": 4, "uint64_t": 8, "size_t": 8, "CUdevice": 4}


def shape(parameters):
    """Parameters as a machine sees them: P for a pointer, else bytes. Enums have four."""
    shapes = []
    for parameter in parameters.replace("\n", " ").split(","):
        kind = re.sub(r"\s*\w+$", "", parameter.strip()) if " " in parameter.strip() else parameter.strip()
        kind = kind.replace("const ", "").strip()
        if kind not in ("void", ""):
            shapes.append("P" if re.search(POINTERS, kind) or "*" in parameter else SIZES.get(kind, 4))
    return shapes


def function_checks(version, include, cuda):
    """How often our prototypes had one of the vendor's beside them; complains where a machine would see a difference."""
    text = without_comments("".join(read(include, name) for name in os.listdir(include)
                                    if name.startswith("cupti")) + read(cuda, "cuda.h"))
    count = 0
    ours = [("since " + since, name, parameters) for need, since, name, parameters in
            (re.match(r"\s*(\w+),\s*(\d+),\s*(\w+),\s*\((.*)\)\s*$", row).groups() for row in rows("CUPTI_FUNCTIONS"))]
    ours += [("", name, parameters) for need, name, parameters in
             (re.match(r"\s*(\w+),\s*(\w+),\s*\((.*)\)\s*$", row).groups() for row in rows("CUDA_DRIVER_FUNCTIONS"))]
    for since, name, parameters in ours:
        vendor = re.search(r"\b(?:CUPTIAPI|CUDAAPI)\s+%s\s*\(([^;]*)\)\s*;" % name, text)
        if since and bool(vendor) != (version >= int(since.split()[1])):
            fail(f"{include}: {name} is {'' if vendor else 'not '}there, but our table says {since}")
        if vendor and shape(vendor[1]) != shape(parameters):
            fail(f"{include}: {name}({vendor[1]}) is not as we have it: ({parameters})")
        count += bool(vendor)
    return count


def our_layouts(version):
    """{(record, field): (offset, width, signed)} as our table has it, and {record: bytes}, by asking the code itself."""
    program = """#include <stdio.h>
#include "cupti_layout.h"
#define CUPTI_RECORD(record, name, first)
#define CUPTI_KIND(kind, record) show_size(version, #kind, CUPTI_KIND_##kind);
#define CUPTI_FIELD(record, field, member) show(version, #record, #field, CUPTI_RECORD_##record, CUPTI_##record##_##field);
static void show_size(unsigned version, const char *kind, unsigned number)
{
    const struct cupti_layout *layout = cupti_layout(version, number);
    printf("kind %s %u %u\\n", kind, layout ? layout->bytes : 0, layout ? layout->record : 0);
}
static void show(unsigned version, const char *record, const char *field, unsigned number, int at)
{
    for (unsigned kind = 0; kind < CUPTI_KIND_COUNT; kind++) {
        const struct cupti_layout *layout = cupti_layout(version, kind);
        if (layout && layout->record == number && layout->at[at].present) {
            unsigned width = 8 - layout->at[at].right / 8;
            printf("field %s %s %u %u %d\\n", record, field, layout->at[at].word + 8 - layout->at[at].left / 8 - width, width,
                   layout->at[at].is_signed);
            return;
        }
    }
}
int main(int count, char **arguments)
{
    unsigned version = VERSION;
#include "cupti_fields.def"
    return 0;
}
"""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "ours.c")
        with open(source, "w") as text:
            text.write(program)
        subprocess.run([CC, "-std=gnu11", "-w", f"-DVERSION={version}u", "-I" + ABI, "-iquote", os.path.join(SOURCE, "src"), "-o", source[:-2], source,
                        os.path.join(ABI, "cupti_layout.c")], check=True)
        return [line.split() for line in subprocess.run([source[:-2]], capture_output=True, text=True,
                                                        check=True).stdout.splitlines()]


def layout_checks(version, found, include):
    ours = our_layouts(version)
    fields = {(record, field): (int(offset), int(width), int(signed)) for what, record, field, offset, width, signed in
              (line for line in ours if line[0] == "field")}
    theirs = {(record, field): (offset, width, int(kind == "I")) for record, (_, members) in found.items()
              for field, (offset, width, kind) in members.items()}
    for key in sorted(fields.keys() | theirs.keys()):
        if fields.get(key) != theirs.get(key):
            fail(f"{include}: {'.'.join(key)} is {theirs.get(key)}, our table has {fields.get(key)} (offset, bytes, signed)")
    kinds = dict(re.findall(r"CUPTI_(?:KIND|SKIPPED)\((\w+), (\w+)", read(ABI, "cupti_fields.def")))
    for what, kind, size, record in (line for line in ours if line[0] == "kind"):
        name = kinds[kind] if kinds[kind] in found else kind
        if int(size) != found.get(name, (0,))[0]:
            fail(f"{include}: records of kind {kind} have {found.get(name, (0,))[0]} bytes, our table has {size}")
    return len(theirs)


def main():
    named = os.environ.get("TACHO_CUPTI_HEADERS")
    folders = named.split(":") if named else [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    folders = [folder for folder in dict.fromkeys(folders) if folder and os.path.isdir(folder)]
    checked = 0
    for at, folder in enumerate(folders):
        include = layouts.find(folder, "cupti_activity.h")
        cuda = next(filter(None, (layouts.find(other, "cuda.h") for other in folders[at:] + folders[:at])), None)
        if not include or not cuda:
            continue
        version, found = layouts.probe(include, cuda)
        asserted = sum((compile_checks(include, cuda), compile_profiler_checks(version, include, cuda), compile_pc_checks(version, include, cuda)))
        print(f"{version}: {asserted} numbers and offsets, {function_checks(version, include, cuda)} functions, {layout_checks(version, found, include)} "
              f"fields of {len(found)} records")
        checked += 1
    if checked == 0:
        print("skipped: no CUPTI headers here (TACHO_CUPTI_HEADERS, CUDA_HOME, CUDA_PATH, /usr/local/cuda)")
        sys.exit(77)
    sys.exit(1 if failed else 0)


failed = False
main()
