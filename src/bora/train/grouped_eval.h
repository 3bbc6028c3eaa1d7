// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bora/track/tracker.h"
#include "bora/train/evaluate.h"

namespace bora::train {

/// Results of data sets, gathered by the groups that they belong to (data::groups_of). Sets in which no token counts
/// are left out, and of bits per byte those whose bytes are not known.
class GroupedEval {
 public:
  void add(const std::string& name, const std::vector<std::string>& tags, const EvalResult& result);

  /// eval/<set>/{loss, bpb}; eval/{loss, macro_loss, bpb, macro_bpb} over all;
  /// eval/<group>/{micro_loss, macro_loss, bpb, macro_bpb}, in order of names. Micro: over all tokens; macro:
  /// the mean of the sets' means; bpb: total bits over total bytes. After each of
  /// them the model's own metrics, over all tokens: eval/<set>/<metric>, eval/<metric>,
  /// eval/<group>/<metric>. Empty without sets.
  std::vector<track::Metric> metrics() const;

 private:
  struct Sums {
    EvalResult all, with_bytes;
    double loss = 0, bits_per_byte = 0;
    int sets = 0, sets_with_bytes = 0;
    void operator+=(const EvalResult& r);
    double macro_loss() const { return sets > 0 ? loss / sets : 0; }
    void add_bits(std::vector<track::Metric>& to, const std::string& before) const;
  };
  std::vector<track::Metric> sets_;
  std::map<std::string, Sums> groups_;
  Sums all_;
};

}  // namespace bora::train
