// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/device_flag.h"

namespace bora::cli {

void DeviceFlag::declare(Args& args, const std::string& otherwise) {
  args.option("--device", word,
              "auto: a GPU where there is one, else the CPU; cpu; cuda; cuda:1, ..." + otherwise)
      .offers({"auto", "cpu", "cuda"});
}

}  // namespace bora::cli
