// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bora/report/curves.h"
#include "bora/report/run_summary.h"

namespace bora::report {

/// What a run's directory tells of it.
struct RunFiles {
  RunSummary summary;
  Curves curves;                              ///< of metrics.jsonl and timing.jsonl
  std::map<std::string, std::string> config;  ///< every key of config.yaml, dotted, and its value in a line
  std::map<std::string, std::string> record;  ///< texts and numbers of run.json, dotted: "data.one.tokens"
  std::vector<std::map<std::string, std::string>> starts;  ///< the same of each start, the first one first
  std::map<std::string, std::string> texts;                ///< of text.jsonl, the newest of each name
  std::vector<std::string> problems;                       ///< files that could not be read, and why
};

/// Damaged files are named in `problems` and the others read all the same. Errors: NotFound where there is no
/// run.
RunFiles read_run(const std::string& run_directory);

/// Keys whose values differ between the runs (or that some lack), with the value of each run in order; "" where a
/// run has none.
std::map<std::string, std::vector<std::string>> differing_keys(const std::vector<RunFiles>& runs);

}  // namespace bora::report
