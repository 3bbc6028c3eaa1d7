// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// For tests: the calls of CUDA and NCCL that the plug-in makes, with this process's own memory for that of
// devices and threads for workers. Streams do their work only when an event is asked for, in order, and NCCL
// puts work into them only after it has been asked twice: whoever does not wait for either sees wrong values.
#pragma once
#include <string>

namespace bora::nccl::testing {

struct HostDevices {
  int devices = 2;
  std::string failing;  ///< the name of a call of NCCL that fails from here on; "" for none
};
HostDevices& host_devices();

}  // namespace bora::nccl::testing
