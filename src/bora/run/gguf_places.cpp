// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/gguf_places.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/text.h"

namespace bora::run {
namespace {

// Hugging Face's name, without the number of an expert.
std::string gguf_name(const GgufFamily& family, std::string name) {
  constexpr std::string_view kExperts = ".experts.";
  if (const auto at = name.find(kExperts); at != name.npos) {
    const auto number = at + kExperts.size(), end = name.find('.', number);
    if (end != name.npos && parse_int(name.substr(number, end - number)))
      name.erase(number, end + 1 - number);
  }
  for (const auto& [from, to] : family.names)
    if (const auto at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
  return name;
}

// Columns stand alone, others with all that have their name.
std::string hf_name(const checkpoint::HfParameter& p) {
  const auto& [first, step] = p.columns;
  return step > 0 ? fmt::format("{}[{}::{}]", p.name, first, step) : p.name;
}

bool is_norm(const std::string& name) { return name.find("norm") != name.npos; }
// Small, and their errors choose among experts.
bool is_router(const std::string& name) { return name.find("ffn_gate_inp") != name.npos; }
// llama.cpp adds no others.
bool is_bias(const std::string& name) { return name.ends_with(".bias"); }

GgufRows rows_of(const GgufFamily& family, const std::string& name) {
  const bool concerned = family.rows == GgufRows::by_part
                             ? name.find(".query_key_value.") != name.npos
                             : name.find(".q_proj.") != name.npos || name.find(".k_proj.") != name.npos;
  return concerned ? family.rows : GgufRows::same;
}

std::vector<std::int64_t> shape_of_all(std::span<const checkpoint::HfParameter> parts) {
  const auto& p = parts.front();
  if (p.columns.step > 0) return p.parameter.array->sizes();
  auto shape = checkpoint::hf_shape(p);
  if (p.transposed) std::reverse(shape.begin(), shape.end());
  for (const auto& other : parts.subspan(1)) shape.front() += checkpoint::hf_shape(other).front();
  if (p.pieces > 1) shape.insert(shape.begin(), p.pieces);
  return shape;
}

}  // namespace

std::int64_t gguf_row(GgufRows rows, std::int64_t row, std::int64_t heads, std::int64_t head) {
  const auto first = row / head * head, at = row % head, half = head / 2;
  switch (rows) {
    case GgufRows::same:
      return row;
    case GgufRows::in_turns:
      return first + (at < half ? 2 * at : 2 * (at - half) + 1);
    case GgufRows::by_part: {
      const auto of_head = row / head / 3, part = row / head % 3;
      return (part * heads + of_head) * head + at;
    }
  }
  return row;
}

std::vector<GgufPlace> gguf_places(const GgufFamily& family,
                                   std::span<const checkpoint::HfParameter> parameters) {
  std::vector<GgufPlace> out;
  for (std::size_t i = 0; i < parameters.size();) {
    const auto& p = parameters[i];
    std::size_t end = i + 1;
    while (end < parameters.size() && hf_name(parameters[end]) == hf_name(p)) ++end;
    if (p.piece == 0) {
      GgufPlace place{.name = gguf_name(family, hf_name(p)),
                      .shape = shape_of_all(parameters.subspan(i, end - i)),
                      .begin = i,
                      .end = end};
      place.stays_f32 = place.shape.size() == 1 || place.name == "position_embd.weight" ||
                        is_router(place.name) || is_bias(place.name);
      place.one_more = family.adds_one && is_norm(place.name);
      place.rows = rows_of(family, p.name);
      out.push_back(std::move(place));
    }
    i = end;
  }
  return out;
}

}  // namespace bora::run
