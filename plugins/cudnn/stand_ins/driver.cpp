// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For tests: an NVIDIA driver that says yes to whatever is loaded, and does nothing. cuDNN makes plans with it for devices
// that are described; CUDA's runtime finds that it does not start.
namespace {

int next_handle(void** to) {
  static char handles[1 << 16];
  static int count = 0;
  *to = &handles[count++];
  return 0;
}

}  // namespace

extern "C" {

int cuLibraryLoadData(void** library, ...) { return next_handle(library); }
int cuLibraryGetKernel(void** kernel, ...) { return next_handle(kernel); }
int cuKernelGetFunction(void** function, ...) { return next_handle(function); }
int cuModuleLoadData(void** module, ...) { return next_handle(module); }
int cuModuleGetFunction(void** function, ...) { return next_handle(function); }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuCtxGetCurrent(...) { return 0; }
int cuCtxGetDevice(...) { return 0; }
int cuCtxGetLimit(...) { return 0; }
int cuCtxPopCurrent(...) { return 0; }
int cuCtxPushCurrent(...) { return 0; }
int cuDeviceGet(...) { return 0; }
int cuDeviceGetAttribute(...) { return 0; }
int cuDeviceGetCount(...) { return 0; }
int cuDevicePrimaryCtxRelease(...) { return 0; }
int cuDevicePrimaryCtxReset(...) { return 0; }
int cuDevicePrimaryCtxRetain(...) { return 0; }
int cuFuncGetAttribute(...) { return 0; }
int cuFuncSetAttribute(...) { return 0; }
int cuGetErrorName(...) { return 0; }
int cuGetErrorString(...) { return 0; }
int cuInit(...) { return 34; }
int cuKernelGetAttribute(...) { return 0; }
int cuKernelSetAttribute(...) { return 0; }
int cuLaunchCooperativeKernel(...) { return 0; }
int cuLaunchKernel(...) { return 0; }
int cuLaunchKernelEx(...) { return 0; }
int cuLibraryLoadFromFile(...) { return 0; }
int cuLibraryUnload(...) { return 0; }
int cuLinkAddData(...) { return 0; }
int cuLinkAddData_v2(...) { return 0; }
int cuLinkAddFile_v2(...) { return 0; }
int cuLinkComplete(...) { return 0; }
int cuLinkCreate(...) { return 0; }
int cuLinkCreate_v2(...) { return 0; }
int cuLinkDestroy(...) { return 0; }
int cuMemcpyDtoH_v2(...) { return 0; }
int cuModuleGetGlobal_v2(...) { return 0; }
int cuModuleLoadDataEx(...) { return 0; }
int cuModuleLoadFatBinary(...) { return 0; }
int cuModuleUnload(...) { return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(...) { return 0; }
int cuOccupancyMaxPotentialClusterSize(...) { return 0; }
int cuStreamGetCtx(...) { return 0; }
int cuStreamSynchronize(...) { return 0; }
int cuTensorMapEncodeTiled(...) { return 0; }
}
