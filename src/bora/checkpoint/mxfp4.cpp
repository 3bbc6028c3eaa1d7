// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/mxfp4.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bora/base/error.h"

namespace bora::checkpoint {
namespace {

constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
constexpr std::int64_t kBytes = 16;  // of a block
constexpr int kNoNumber = 255, kBias = 127;

// E2M1: a sign, two bits of exponent, one of fraction.
constexpr std::array<float, 16> kValues = {0,    0.5F,  1,  1.5F,  2,  3,  4,  6,
                                           -0.F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

std::string with(std::string_view name, std::string_view end) { return std::string(name) + std::string(end); }

// How tensors that do not fit are told.
std::string told(std::string_view name, const StoredTensorInfo& info) {
  return fmt::format("{} is {} [{}] in {}", name, info.type, fmt::join(info.shape, ", "), info.file);
}

// 2^(scale - 127) times each value.
std::array<float, 16> scaled_values(int scale) {
  auto out = kValues;
  for (auto& x : out) x = std::ldexp(x, scale - kBias);
  return out;
}

// Numbers of a tensor; a place is 16 bytes of a block in the order of the file.
struct Packed {
  std::span<const std::byte> blocks, scales;
  std::int64_t places, rows, groups;
};

// Row after row: 32 lines of the result grow at a time.
void unpack(const Packed& p, std::int64_t place, std::int64_t group,
            const std::array<std::array<float, 16>, 256>& values, std::span<float> out) {
  float* to = out.data() + (place * p.groups + group) * 2 * kBytes * p.rows;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const auto block = static_cast<std::size_t>((place * p.rows + row) * p.groups + group);
    const auto& of = values[std::to_integer<std::size_t>(p.scales[block])];
    const auto bytes = p.blocks.subspan(block * kBytes, kBytes);
    for (std::int64_t i = 0; i < kBytes; ++i) {
      const auto two = std::to_integer<std::size_t>(bytes[static_cast<std::size_t>(i)]);
      to[2 * i * p.rows + row] = of[two & 15U];
      to[(2 * i + 1) * p.rows + row] = of[two >> 4U];
    }
  }
}

}  // namespace

Mxfp4Model::Mxfp4Model(const std::string& path) : stored_(path) {
  for (const auto& name : stored_.names())
    if (name.ends_with(kBlocks) && stored_.find(name)->type == "U8")
      add(name.substr(0, name.size() - kBlocks.size()));
}

void Mxfp4Model::add(const std::string& name) {
  const auto blocks_name = with(name, kBlocks), scales_name = with(name, kScales);
  const auto blocks = *stored_.find(blocks_name);
  const auto scales = stored_.find(scales_name);
  const auto hint =
      fmt::format("\nhint: MXFP4 is {} [place, row, group, 16] and {} [place, row, group], both U8",
                  blocks_name, scales_name);
  if (!scales)
    fail(ErrorKind::Corruption, "{}, but {} is not there{}", told(blocks_name, blocks), scales_name, hint);
  const auto& shape = blocks.shape;
  const bool fits = shape.size() == 4 && shape.back() == kBytes && scales->type == "U8" &&
                    std::equal(scales->shape.begin(), scales->shape.end(), shape.begin(), shape.end() - 1);
  if (!fits) {
    fail(ErrorKind::Corruption, "{}, but {}{}", told(blocks_name, blocks), told(scales_name, *scales), hint);
  }
  if (const auto other = stored_.find(name)) {
    fail(ErrorKind::Corruption, "{}, and beside it {}\nhint: remove one of the two",
         told(blocks_name, blocks), told(name, *other));
  }
  packed_[name] = shape;
}

std::vector<std::string> Mxfp4Model::names() const {
  auto out = stored_.names();
  for (const auto& [name, shape] : packed_) {
    std::erase(out, with(name, kScales));
    *std::find(out.begin(), out.end(), with(name, kBlocks)) = name;
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<StoredTensorInfo> Mxfp4Model::find(std::string_view name) const {
  const auto at = packed_.find(name);
  if (at == packed_.end()) return stored_.find(name);
  const auto& s = at->second;
  return StoredTensorInfo{{s[0], s[2] * 2 * kBytes, s[1]}, "MXFP4", stored_.find(with(name, kBlocks))->file};
}

void Mxfp4Model::read_floats(std::string_view name, std::span<float> out) const {
  const auto at = packed_.find(name);
  if (at == packed_.end()) return stored_.read_floats(name, out);
  const auto& s = at->second;
  std::vector<std::byte> blocks, scales;
  const auto copied = [&](std::string_view end, std::vector<std::byte>& to) -> std::span<const std::byte> {
    to.resize(stored_.bytes(with(name, end)).size());
    stored_.copy(with(name, end), to);
    return to;
  };
  const Packed packed{copied(kBlocks, blocks), copied(kScales, scales), s[0], s[1], s[2]};
  std::array<std::array<float, 16>, 256> values{};
  for (int scale = 0; scale < kNoNumber; ++scale)
    values[static_cast<std::size_t>(scale)] = scaled_values(scale);
  if (const auto bad = std::find(scales.begin(), scales.end(), std::byte{kNoNumber}); bad != scales.end()) {
    fail(ErrorKind::Corruption, "{}: place {} of {} is {}, which is no number in MXFP4", find(name)->file,
         bad - scales.begin(), with(name, kScales), kNoNumber);
  }
  for (std::int64_t place = 0; place < packed.places; ++place)
    for (std::int64_t group = 0; group < packed.groups; ++group) unpack(packed, place, group, values, out);
  const auto beyond = std::find_if(out.begin(), out.end(), [](float x) { return std::isinf(x); });
  if (beyond != out.end()) {
    fail(ErrorKind::Corruption, "{}: {} has numbers beyond fp32", find(name)->file, name);
  }
}

void Mxfp4Model::forget(std::string_view name) const {
  if (!packed_.contains(name)) return stored_.forget(name);
  stored_.forget(with(name, kBlocks));
  stored_.forget(with(name, kScales));
}

}  // namespace bora::checkpoint
