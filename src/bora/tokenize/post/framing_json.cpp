// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <array>
#include <limits>

#include "bora/tokenize/post/framing.h"

namespace bora::tokenize {

namespace {

constexpr std::array<std::string_view, 2> kSides = {"Left", "Right"};
constexpr std::array<std::string_view, 3> kStrategies = {"LongestFirst", "OnlyFirst", "OnlySecond"};

template <class Enum, std::size_t N>
Enum read_name(const JsonView& json, const std::array<std::string_view, N>& names) {
  std::string all;
  for (std::size_t i = 0; i < N; ++i) {
    if (json.string() == names[i]) return static_cast<Enum>(i);
    all += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == N ? " or " : ", ", names[i]);
  }
  json.bad(fmt::format("should be {} but is {}", all, json_string(json.string())));
}

std::int64_t read_count(const JsonView& json) {
  const std::int64_t count = json.integer();
  if (count < 0 || count > std::numeric_limits<std::int32_t>::max()) {
    json.bad(
        fmt::format("is {}; it should be from 0 to {}", count, std::numeric_limits<std::int32_t>::max()));
  }
  return count;
}

Truncation read_truncation(const JsonView& json) {
  Truncation t;
  if (const auto side = json.find("direction")) t.direction = read_name<Side>(*side, kSides);
  t.max_length = read_count(json.at("max_length"));
  t.strategy = read_name<Truncation::Strategy>(json.at("strategy"), kStrategies);
  t.stride = read_count(json.at("stride"));
  return t;
}

Padding read_padding(const JsonView& json) {
  Padding p;
  const JsonView strategy = json.at("strategy");
  if (strategy.is_object())
    p.fixed = read_count(strategy.at("Fixed"));
  else if (strategy.string() != "BatchLongest")
    strategy.bad("should be \"BatchLongest\" or {\"Fixed\": COUNT}");
  p.direction = read_name<Side>(json.at("direction"), kSides);
  if (const auto multiple = json.find("pad_to_multiple_of")) p.multiple_of = read_count(*multiple);
  p.id = static_cast<std::int32_t>(read_count(json.at("pad_id")));
  p.type_id = static_cast<std::int32_t>(read_count(json.at("pad_type_id")));
  p.token = json.at("pad_token").string();
  return p;
}

std::string_view name_of(Side side) { return kSides[static_cast<std::size_t>(side)]; }

}  // namespace

Framing Framing::read(const JsonView& root) {
  Framing framing;
  if (const auto json = root.find("truncation")) framing.truncation = read_truncation(*json);
  if (const auto json = root.find("padding")) framing.padding = read_padding(*json);
  return framing;
}

void Framing::write(std::string& out) const {
  out += "\"truncation\":";
  if (truncation) {
    out += fmt::format(R"({{"direction":"{}","max_length":{},"strategy":"{}","stride":{}}})",
                       name_of(truncation->direction), truncation->max_length,
                       kStrategies[static_cast<std::size_t>(truncation->strategy)], truncation->stride);
  } else {
    out += "null";
  }
  out += ",\"padding\":";
  if (!padding) {
    out += "null";
    return;
  }
  const std::string strategy =
      padding->fixed ? fmt::format(R"({{"Fixed":{}}})", *padding->fixed) : R"("BatchLongest")";
  const std::string multiple = padding->multiple_of > 0 ? fmt::format("{}", padding->multiple_of) : "null";
  out += fmt::format(
      R"({{"strategy":{},"direction":"{}","pad_to_multiple_of":{},"pad_id":{},"pad_type_id":{},"pad_token":{}}})",
      strategy, name_of(padding->direction), multiple, padding->id, padding->type_id,
      json_string(padding->token));
}

}  // namespace bora::tokenize
