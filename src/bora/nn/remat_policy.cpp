// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/remat_policy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::nn {

namespace {

constexpr std::string_view kNotOneOf =
    "is not one of true, false, full, none, nested, recompute, save_all, offload, or a number of blocks";

}  // namespace

RematPolicy RematPolicy::parse(std::string_view text) {
  if (text == "true" || text == "True" || text == "full" || text == "recompute") return {Kind::full};
  if (text == "offload") return {Kind::offload};
  if (text == "false" || text == "False" || text == "none" || text == "save_all") return {Kind::none};
  if (text == "nested") return {Kind::nested};
  auto n = parse_int(text);
  if (n && *n > 0) return {Kind::every, *n};
  fail(ErrorKind::Config, "{} {}", text.empty() ? "an empty text" : text, kNotOneOf);
}

std::string RematPolicy::text() const {
  switch (kind) {
    case Kind::none:
      return "none";
    case Kind::full:
      return "full";
    case Kind::nested:
      return "nested";
    case Kind::offload:
      return "offload";
    case Kind::every:
      return std::to_string(every);
  }
  return "none";
}

namespace {

// Levanter's ScanCheckpointPolicy, written out. Of what it saves the blocks' inputs alone decide anything here.
RematPolicy bind_map(Binder& b) {
  bool disable = false, simple = false, internals = false;
  std::string nested = "false";
  b.field("disable", disable);
  b.field("simple", simple);
  b.field("save_block_internals", internals);
  if (auto text = b.text("nested")) nested = *text;
  b.mark_used("nested");
  const auto carries = b.text("save_carries").value_or("true");
  const bool sends = carries == "offload";
  if (sends) {
    b.mark_used("save_carries");
  } else {
    b.ignored("save_carries", "a block's input is always kept");
    constexpr std::string_view kSwitches[] = {"true", "True", "TRUE", "false", "False", "FALSE"};
    if (std::ranges::find(kSwitches, carries) == std::end(kSwitches))
      b.problem("save_carries", carries + " is not one of true, false, offload");
  }
  b.ignored("save_inputs", "a block's input is always kept");
  b.ignored("offload_block_internals",
            "they are computed again; gradient_checkpointing: offload moves the blocks' inputs");
  b.ignored("prevent_cse", "there is no compiler that would merge the passes");
  if (disable || internals) return {RematPolicy::Kind::none};
  if (sends) return {RematPolicy::Kind::offload};
  return nested == "false" || nested == "False" ? RematPolicy{RematPolicy::Kind::full}
                                                : RematPolicy{RematPolicy::Kind::nested};
}

}  // namespace

void RematPolicy::bind(Binder& b, std::string_view name) {
  auto value = text();
  if (b.reading()) {
    if (b.is_map(name)) {
      if (!b.enter(name)) return;
      *this = bind_map(b);
      return b.leave();
    }
    if (b.is_list(name) || b.is_null(name)) {
      b.mark_used(name);
      return b.problem(name, fmt::format("{} {}", b.is_list(name) ? "a list" : "null", kNotOneOf));
    }
    auto found = b.text(name);
    if (!found) return;
    b.mark_used(name);
    try {
      *this = parse(*found);
    } catch (const Error& e) {
      b.problem(name, e.what());
    }
    return;
  }
  b.field(name, value, "recompute blocks in the backward pass: none, full, nested, offload, or every n-th");
}

std::int64_t nested_group(std::int64_t layers) {
  std::int64_t best = 1;
  double root = std::sqrt(static_cast<double>(layers));
  const auto distance = [&](std::int64_t d) { return std::abs(static_cast<double>(d) - root); };
  for (std::int64_t d = 1; d * d <= layers; ++d) {
    if (layers % d != 0) continue;
    for (const auto candidate : {d, layers / d}) {
      const bool nearer = distance(candidate) < distance(best);
      if (nearer || (distance(candidate) == distance(best) && candidate < best)) best = candidate;
    }
  }
  return best;
}

}  // namespace bora::nn
