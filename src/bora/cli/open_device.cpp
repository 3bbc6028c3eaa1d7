// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/open_device.h"

#include <fmt/core.h>

#include "bora/base/error.h"

namespace bora::cli {

void require_readable(core::WeightType weights, core::Device device, std::string_view command,
                      std::string_view word) {
  if (weights == core::WeightType::f32 || device == core::Device()) return;
  fail(ErrorKind::Usage,
       "{}: --weights {} beside --device {}: weights in fewer bytes are read by the CPU alone\n"
       "hint: leave out one of them, or --device cpu",
       command, core::name(weights), word);
}

run::RunDevice open_device(const DeviceFlag& flag, std::string_view command, core::WeightType weights) {
  const auto who = fmt::format("{}: --device", command);
  const auto launch = mesh::launch_environment();
  const bool of_the_cpu = flag.word == "auto" && weights != core::WeightType::f32;  // which alone reads them
  const std::string word = of_the_cpu ? "cpu" : flag.word;
  const auto device = in_context(who, [&] { return run::choose_device(word, launch); });
  require_readable(weights, device, command, word);
  return {who, word, launch};
}

}  // namespace bora::cli
