// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/cli/args.h"

namespace bora::cli {

/// --device auto|cpu|cuda|cuda:1, of the commands that open a model (open_device.h).
struct DeviceFlag {
  std::string word = "auto";

  /// `otherwise`: what is said of the default where that is no word of these.
  void declare(Args& args, const std::string& otherwise = "");
};

}  // namespace bora::cli
