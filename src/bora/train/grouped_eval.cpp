// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/grouped_eval.h"

#include "bora/data/config.h"

namespace bora::train {
namespace {

// The model's own metrics.
void add_own(std::vector<track::Metric>& to, const std::string& before, const EvalResult& result) {
  for (const auto& m : result.metrics)
    if (m.weight != 0) to.push_back({before + m.name, m.mean()});
}

}  // namespace

void GroupedEval::Sums::operator+=(const EvalResult& r) {
  all += r;
  if (r.tokens <= 0) return;
  loss += r.loss();
  bits_per_byte += r.bits_per_byte();
  ++sets;
}

void GroupedEval::add(const std::string& name, const std::vector<std::string>& tags,
                      const EvalResult& result) {
  sets_.push_back({"eval/" + name + "/loss", result.loss()});
  sets_.push_back({"eval/" + name + "/bpb", result.bits_per_byte()});
  add_own(sets_, "eval/" + name + "/", result);
  for (const auto& group : data::groups_of(name, tags)) groups_[group] += result;
  all_ += result;
}

std::vector<track::Metric> GroupedEval::metrics() const {
  auto out = sets_;
  if (out.empty()) return out;
  out.push_back({"eval/loss", all_.all.loss()});
  out.push_back({"eval/macro_loss", all_.macro_loss()});
  out.push_back({"eval/bpb", all_.all.bits_per_byte()});
  out.push_back({"eval/macro_bpb", all_.macro_bits_per_byte()});
  add_own(out, "eval/", all_.all);
  for (const auto& [name, sums] : groups_) {
    out.push_back({"eval/" + name + "/micro_loss", sums.all.loss()});
    out.push_back({"eval/" + name + "/macro_loss", sums.macro_loss()});
    out.push_back({"eval/" + name + "/bpb", sums.all.bits_per_byte()});
    out.push_back({"eval/" + name + "/macro_bpb", sums.macro_bits_per_byte()});
    add_own(out, "eval/" + name + "/", sums.all);
  }
  return out;
}

}  // namespace bora::train
