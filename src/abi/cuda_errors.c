/* The names of CUDA's errors, in the order of their numbers. */
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "cuda_errors.h"

struct cuda_error {
    int64_t number;
    const char *name;
};

/* clang-format off */
static const struct cuda_error errors[] = {
    { 1, "cudaErrorInvalidValue" }, { 2, "cudaErrorMemoryAllocation" }, { 3, "cudaErrorInitializationError" },
    { 4, "cudaErrorCudartUnloading" }, { 5, "cudaErrorProfilerDisabled" }, { 9, "cudaErrorInvalidConfiguration" },
    { 12, "cudaErrorInvalidPitchValue" }, { 13, "cudaErrorInvalidSymbol" }, { 16, "cudaErrorInvalidHostPointer" },
    { 17, "cudaErrorInvalidDevicePointer" }, { 18, "cudaErrorInvalidTexture" },
    { 19, "cudaErrorInvalidTextureBinding" }, { 20, "cudaErrorInvalidChannelDescriptor" },
    { 21, "cudaErrorInvalidMemcpyDirection" }, { 35, "cudaErrorInsufficientDriver" },
    { 46, "cudaErrorDevicesUnavailable" }, { 49, "cudaErrorIncompatibleDriverContext" },
    { 52, "cudaErrorMissingConfiguration" }, { 65, "cudaErrorLaunchMaxDepthExceeded" },
    { 68, "cudaErrorSyncDepthExceeded" }, { 69, "cudaErrorLaunchPendingCountExceeded" },
    { 98, "cudaErrorInvalidDeviceFunction" }, { 100, "cudaErrorNoDevice" }, { 101, "cudaErrorInvalidDevice" },
    { 102, "cudaErrorDeviceNotLicensed" }, { 127, "cudaErrorStartupFailure" }, { 200, "cudaErrorInvalidKernelImage" },
    { 201, "cudaErrorDeviceUninitialized" }, { 205, "cudaErrorMapBufferObjectFailed" },
    { 206, "cudaErrorUnmapBufferObjectFailed" }, { 209, "cudaErrorNoKernelImageForDevice" },
    { 214, "cudaErrorECCUncorrectable" }, { 215, "cudaErrorUnsupportedLimit" }, { 216, "cudaErrorDeviceAlreadyInUse" },
    { 217, "cudaErrorPeerAccessUnsupported" }, { 218, "cudaErrorInvalidPtx" },
    { 219, "cudaErrorInvalidGraphicsContext" }, { 220, "cudaErrorNvlinkUncorrectable" },
    { 221, "cudaErrorJitCompilerNotFound" }, { 222, "cudaErrorUnsupportedPtxVersion" },
    { 223, "cudaErrorJitCompilationDisabled" }, { 224, "cudaErrorUnsupportedExecAffinity" },
    { 300, "cudaErrorInvalidSource" }, { 301, "cudaErrorFileNotFound" }, { 302, "cudaErrorSharedObjectSymbolNotFound" },
    { 303, "cudaErrorSharedObjectInitFailed" }, { 304, "cudaErrorOperatingSystem" },
    { 400, "cudaErrorInvalidResourceHandle" }, { 401, "cudaErrorIllegalState" }, { 500, "cudaErrorSymbolNotFound" },
    { 600, "cudaErrorNotReady" }, { 700, "cudaErrorIllegalAddress" }, { 701, "cudaErrorLaunchOutOfResources" },
    { 702, "cudaErrorLaunchTimeout" }, { 703, "cudaErrorLaunchIncompatibleTexturing" },
    { 704, "cudaErrorPeerAccessAlreadyEnabled" }, { 705, "cudaErrorPeerAccessNotEnabled" },
    { 708, "cudaErrorSetOnActiveProcess" }, { 709, "cudaErrorContextIsDestroyed" }, { 710, "cudaErrorAssert" },
    { 711, "cudaErrorTooManyPeers" }, { 712, "cudaErrorHostMemoryAlreadyRegistered" },
    { 713, "cudaErrorHostMemoryNotRegistered" }, { 714, "cudaErrorHardwareStackError" },
    { 715, "cudaErrorIllegalInstruction" }, { 716, "cudaErrorMisalignedAddress" },
    { 717, "cudaErrorInvalidAddressSpace" }, { 718, "cudaErrorInvalidPc" }, { 719, "cudaErrorLaunchFailure" },
    { 720, "cudaErrorCooperativeLaunchTooLarge" }, { 800, "cudaErrorNotPermitted" }, { 801, "cudaErrorNotSupported" },
    { 802, "cudaErrorSystemNotReady" }, { 803, "cudaErrorSystemDriverMismatch" },
    { 804, "cudaErrorCompatNotSupportedOnDevice" }, { 805, "cudaErrorMpsConnectionFailed" },
    { 900, "cudaErrorStreamCaptureUnsupported" }, { 901, "cudaErrorStreamCaptureInvalidated" },
    { 902, "cudaErrorStreamCaptureMerge" }, { 903, "cudaErrorStreamCaptureUnmatched" },
    { 904, "cudaErrorStreamCaptureUnjoined" }, { 905, "cudaErrorStreamCaptureIsolation" },
    { 906, "cudaErrorStreamCaptureImplicit" }, { 907, "cudaErrorCapturedEvent" },
    { 908, "cudaErrorStreamCaptureWrongThread" }, { 909, "cudaErrorTimeout" },
    { 910, "cudaErrorGraphExecUpdateFailure" }, { 999, "cudaErrorUnknown" },
};
/* clang-format on */

static int cuda_errors_by_number(const void *wanted, const void *entry)
{
    int64_t number = *(const int64_t *)wanted, other = ((const struct cuda_error *)entry)->number;

    return COMPARE(number, other);
}

const char *cuda_error_name(int64_t number)
{
    const struct cuda_error *found = bsearch(&number, errors, COUNT_OF(errors), sizeof *errors, cuda_errors_by_number);

    return found ? found->name : "";
}
