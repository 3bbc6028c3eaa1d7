// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/locale_text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/run/doctor.h"

namespace bora::cli {

int run_doctor(const Arguments& arguments) {
  bool json = false;
  Args args(
      "doctor",
      "Whether what Bora needs of this machine is there and works: libraries, CPU, memory, disk, plug-ins, "
      "GPUs. Exit code 1 if something is wrong.",
      "  bora doctor\n  bora doctor --json");
  args.flag("--json", json, "a JSON object instead of lines");
  args.parse(arguments);
  const auto diagnosis = run::diagnose();
  if (json)
    fmt::print("{}\n", run::diagnosis_json(diagnosis).dump(-1, ' ', false, Json::error_handler_t::replace));
  else
    print_shown("{}", run::diagnosis_text(diagnosis));
  return diagnosis.well() ? 0 : 1;
}

}  // namespace bora::cli
