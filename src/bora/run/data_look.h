// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The data sets of a configuration before a start: which files are here, which are elsewhere, and what is wrong with
// them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/data/config.h"
#include "bora/run/first_look.h"
#include "bora/run/problem_list.h"
#include "bora/run/remote_look.h"

namespace bora::run {

/// Files of one data set, as far as they are here.
struct SourceFound {
  std::string name;
  std::int64_t files = 0;
  double bytes = 0;           ///< of the files as they are, compressed or not
  double text_bytes = 0;      ///< of what is in all of them, about
  std::int64_t remote = 0;    ///< files that the start fetches; a pattern counts as one
  std::int64_t patterns = 0;  ///< of those, patterns of files of which nobody knows yet how many they are
  double remote_bytes = 0;    ///< of those, as far as they are known
  bool cached = false;        ///< its tokens are there
};

struct DataFound {
  std::vector<SourceFound> sources;
  std::vector<TextsHere> texts;    ///< those whose files are all here
  std::vector<std::string> notes;  ///< what was not looked for
};

/// Asks for what is elsewhere only where `asks`: of the workers of a run the first one does.
DataFound look_for_data(const data::DataConfig& data, bool asks, ProblemList& problems,
                        const Asking& asking = {});

}  // namespace bora::run
