// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a run left in its directory, as `bora report` and `bora inspect` show it: status.json, run.json and
// metrics.jsonl, each up to a form feed. A damaged file is told, and the others are shown.
#include "bora/report/page.h"
#include "bora/report/run_text.h"
#include "fuzz.h"
#include "memory_files.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  auto input = fuzz::text_of(data, size);
  const std::string status(fuzz::take_until(input, '\f')), record(fuzz::take_until(input, '\f'));
  const fuzz::MemoryFiles files({{"runs/a/status.json", status},
                                 {"runs/a/run.json", record},
                                 {"runs/a/metrics.jsonl", std::string(input)}});
  const auto run = report::read_run("runs/a");  // throws nothing: something of the run is there
  if (report::run_text(run).empty() || report::report_page({run}).find("</html>") == std::string::npos)
    __builtin_trap();
  return 0;
}
