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
  if (!r.has_loss()) return;
  loss += r.loss();
  ++sets;
  if (!r.has_bytes()) return;
  with_bytes += r;
  bits_per_byte += r.bits_per_byte();
  ++sets_with_bytes;
}

void GroupedEval::Sums::add_bits(std::vector<track::Metric>& to, const std::string& before) const {
  if (!with_bytes.has_bytes()) return;
  to.push_back({before + "bpb", with_bytes.bits_per_byte()});
  to.push_back({before + "macro_bpb", bits_per_byte / sets_with_bytes});
}

void GroupedEval::add(const std::string& name, const std::vector<std::string>& tags,
                      const EvalResult& result) {
  if (!result.has_loss()) return;
  const auto before = "eval/" + name + "/";
  sets_.push_back({before + "loss", result.loss()});
  if (result.has_bytes()) sets_.push_back({before + "bpb", result.bits_per_byte()});
  add_own(sets_, before, result);
  for (const auto& group : data::groups_of(name, tags)) groups_[group] += result;
  all_ += result;
}

std::vector<track::Metric> GroupedEval::metrics() const {
  auto out = sets_;
  if (out.empty()) return out;
  out.push_back({"eval/loss", all_.all.loss()});
  out.push_back({"eval/macro_loss", all_.macro_loss()});
  all_.add_bits(out, "eval/");
  add_own(out, "eval/", all_.all);
  for (const auto& [name, sums] : groups_) {
    const auto before = "eval/" + name + "/";
    out.push_back({before + "micro_loss", sums.all.loss()});
    out.push_back({before + "macro_loss", sums.macro_loss()});
    sums.add_bits(out, before);
    add_own(out, before, sums.all);
  }
  return out;
}

}  // namespace bora::train
