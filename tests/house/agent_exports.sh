# The agent exports what it must, each for a reason, and nothing else: a stray symbol would stand in front of the
# program's own functions of that name.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -e "$AGENT" ] || { complain "$AGENT was not built"; exit 1; }

# Entry points that others look up by name, beside the hooks.
entries="
InitializeInjectionNvtx2          NVTX calls it in the library that NVTX_INJECTION64_PATH names
InitializeInjectionNvtxExtension  the same for extensions of NVTX
tacho_agent_calls                 libtacho.so looks for it
tacho_agent_library_calls         libtacho-libraries.so looks for it
tacho_agent_word_calls            the other objects of stubs look for it
tacho_agent_nccl_calls            libtacho-nccl.so looks for it
tacho_agent_heap                  libtacho-heap.so looks for it
tacho_agent_openacc               libtacho-openacc.so looks for it
tacho_agent_openmp_calls          libtacho-openmp.so looks for it
cudaProfilerStart                 stands before the CUDA runtime's: -c cudaProfilerApi
cudaProfilerStop                  the same
cuProfilerStart                   stands before the CUDA driver's
cuProfilerStop                    the same
InitializeInjection               CUDA calls it in the library that CUDA_INJECTION64_PATH names
cuptiSubscribe                    stands before CUPTI: a program that profiles itself would take it over
cuptiSubscribe_v2                 the same
cuptiActivityRegisterCallbacks    the same
cuptiActivityRegisterTimestampCallback the same
cuptiActivityEnable               the same
cuptiActivityEnableAndDump        the same
cuptiActivityEnableContext        the same
cuptiActivityEnableRuntimeApi     the same
cuptiActivityEnableDriverApi      the same
cuptiActivitySetAttribute         the same
cuptiActivityDisable              the same
cuptiActivityDisableContext       the same
cuptiActivityFlushAll             the same
cuptiActivityFlushPeriod          the same
cuptiFinalize                     the same
_ZN3c1022memoryProfilingEnabledEv stands before PyTorch's: what its allocators take and give back
_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE the same
_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE the same, before 2.0
_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE the same, before 1.10
_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE the same
_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE the same, before 2.0
"
hooks=$(printf '#define OS(type, symbol, ...) symbol\n#define OS_OWN(type, symbol, ...) symbol\n#include "%s/src/wire/libc_calls.def"\n' "$SOURCE" | "$CC" -E -P -x c -)
[ "$(wc -w <<<"$hooks")" -ge 200 ] || complain "only $(wc -w <<<"$hooks") rows in libc_calls.def: fewer than 200, or the check itself is broken"

# Hooks of an older version of a function (os_old_NAME) are exported as NAME, under that version.
expected=$({ tr -s ' ' '\n' <<<"$hooks"; awk '{ print $1 }' <<<"$entries"; } | grep . | sort)
uniq -d <<<"$expected" | sed 's/$/ stands twice in libc_calls.def/' | grep . && bad=1
for name in $(sed -n 's/^os_old_//p' <<<"$expected"); do
    "$NM" -D --defined-only "$AGENT" | grep -qE " $name@GLIBC_" || complain "$name is not exported under its older version"
done
expected=$(sed 's/^os_old_//' <<<"$expected" | sort -u)
exported=$("$NM" -D --defined-only "$AGENT" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
comm -23 <(echo "$expected") <(echo "$exported") | sed 's/$/ should be exported by the agent, but is not/' | grep . && bad=1
comm -13 <(echo "$expected") <(echo "$exported") | sed 's/$/ is exported by the agent without a reason/' | grep . && bad=1
exit $bad
