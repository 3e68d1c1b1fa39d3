# A stand-in for the stub libcuda of the CUDA toolkit. Every entry point says
# "this is the stub, not a driver": 34, CUDA_ERROR_STUB_LIBRARY.

        .macro  entries names:vararg
        .irp    name, \names
        .globl  \name
        .type   \name, @function
\name:
        .endr
        .endm

        .text
        entries cuInit, cuDriverGetVersion, cuGetErrorName, cuGetErrorString
        entries cuDeviceGet, cuDeviceGetCount, cuDeviceGetName, cuDeviceGetAttribute
        entries cuDeviceTotalMem_v2, cuDeviceGetPCIBusId, cuDeviceComputeCapability
        entries cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease
        entries cuCtxCreate_v2, cuCtxDestroy_v2, cuCtxGetCurrent, cuCtxSetCurrent
        entries cuMemAlloc_v2, cuMemFree_v2, cuMemGetInfo_v2
        entries cuModuleLoadDataEx, cuLaunchKernel
        movl    $34, %eax
        ret

        .section .note.GNU-stack, "", @progbits
