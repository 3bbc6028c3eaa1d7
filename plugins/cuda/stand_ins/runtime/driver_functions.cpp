// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What libtorch asks the driver for, beside ../driver.cpp; and the end of a process that does not end as others do, of
// which a report must be made too. What is not here is refused by its name.
#include <sys/syscall.h>
#include <unistd.h>

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are NVIDIA's and the system's
extern "C" {

void stand_in_report();

[[noreturn]] void _exit(int code) {
  stand_in_report();
  for (;;) ::syscall(SYS_exit_group, code);
}
[[noreturn]] void _Exit(int code) { _exit(code); }

int stand_in_driver_has_no(const char* /*name*/) { return 801; }  // CUDA_ERROR_NOT_SUPPORTED

int cuDevicePrimaryCtxGetState(int /*gpu*/, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int /*gpu*/) {
  static int first;
  *context = &first;
  return 0;
}
int cuCtxGetCurrent(void** context) { return cuDevicePrimaryCtxRetain(context, 0); }
int cuCtxSetCurrent(void* /*context*/) { return 0; }
int cuGetErrorString(int /*error*/, const char** text) {
  *text = "an error of the stand-in";
  return 0;
}
int cuTensorMapEncodeTiled() { return 0; }
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
