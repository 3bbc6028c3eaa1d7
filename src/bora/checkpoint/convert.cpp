// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/map_guard.h"
#include "bora/base/parallel.h"
#include "bora/core/kernels/cpu/reduce.h"

namespace bora::checkpoint {
namespace {

template <class Stored, class Convert>
void widen(std::span<const std::byte> bytes, std::span<float> out, Convert convert) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;  // by memcpy: data in a file may stand at any address
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(stored);
  }
}

template <class Stored, class Convert>
void narrow(std::span<const float> values, std::span<std::byte> out, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(out.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

// By the kernel, so that the whole program rounds alike; in pieces, because `out` may stand at any address.
void narrow_to_bf16(std::span<const float> values, std::span<std::byte> out) {
  std::array<std::uint16_t, 16384> piece;
  for (std::size_t at = 0; at < values.size(); at += piece.size()) {
    const std::size_t n = std::min(piece.size(), values.size() - at);
    kernels::to_bf16(static_cast<std::int64_t>(n), values.data() + at, piece.data());
    std::memcpy(out.data() + 2 * at, piece.data(), 2 * n);
  }
}

void check_size(std::size_t elements, core::DType dtype, std::size_t bytes, std::string_view who) {
  if (elements * core::bytes(dtype) != bytes) {
    fail(ErrorKind::InvalidArgument, "{}: {} elements of {} do not fit {} bytes", who, elements,
         core::name(dtype), bytes);
  }
}

[[noreturn]] void refuse(core::DType dtype, std::string_view who) {
  fail(ErrorKind::Unsupported, "{}: {} is no floating type", who, core::name(dtype));
}

// 65,520 and above would become infinite.
void require_in_half(std::span<const float> values, std::string_view who) {
  constexpr float kTooMuch = 65520.0F;
  for (const float x : values)
    if (std::abs(x) >= kTooMuch && std::isfinite(x))
      fail(ErrorKind::Unsupported, "{}: holds {}, and f16 goes up to 65504\nhint: bf16 or f32", who, x);
}

}  // namespace

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  std::uint32_t exponent = half >> 10 & 0x1f, mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {  // zero or subnormal: mantissa units of 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

std::uint16_t float_to_half(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(word >> 16 & 0x8000u);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 leaves units of 2^-24, rounded
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t odd = magnitude >> 13 & 1;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

void to_floats(core::DType dtype, std::span<const std::byte> bytes, std::span<float> out,
               std::string_view who) {
  check_size(out.size(), dtype, bytes.size(), who);
  switch (dtype) {
    case core::DType::f32:
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case core::DType::f64:
      return widen<double>(bytes, out, [](double x) { return static_cast<float>(x); });
    case core::DType::f16:
      return widen<std::uint16_t>(bytes, out, half_to_float);
    case core::DType::bf16:
      return widen<std::uint16_t>(
          bytes, out, [](std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16); });
    default:
      refuse(dtype, who);
  }
}

void mapped_to_floats(core::DType dtype, std::span<const std::byte> bytes, std::span<float> out,
                      std::string_view who) {
  constexpr std::size_t kPart =
      1 << 20;  // elements; what threads share is mostly the system's work for new pages
  check_size(out.size(), dtype, bytes.size(), who);
  const auto width = out.empty() ? 0 : bytes.size() / out.size();
  parallel_for(static_cast<std::int64_t>((out.size() + kPart - 1) / kPart), [&](std::int64_t part) {
    const auto begin = static_cast<std::size_t>(part) * kPart;
    const auto size = std::min(kPart, out.size() - begin);
    read_mapped(
        [&] { to_floats(dtype, bytes.subspan(begin * width, size * width), out.subspan(begin, size), who); });
  });
}

void from_floats(std::span<const float> values, core::DType dtype, std::span<std::byte> out,
                 std::string_view who) {
  check_size(values.size(), dtype, out.size(), who);
  switch (dtype) {
    case core::DType::f32:
      if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
      return;
    case core::DType::f64:
      return narrow<double>(values, out, [](float x) { return static_cast<double>(x); });
    case core::DType::f16:
      require_in_half(values, who);
      return narrow<std::uint16_t>(values, out, float_to_half);
    case core::DType::bf16:
      return narrow_to_bf16(values, out);
    default:
      refuse(dtype, who);
  }
}

}  // namespace bora::checkpoint
