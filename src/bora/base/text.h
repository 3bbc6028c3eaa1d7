// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora {

/// "a, b and c" style lists are not used: items joined by `separator`.
std::string join(std::span<const std::string> items, std::string_view separator = ", ");
std::string join(std::span<const std::string_view> items, std::string_view separator = ", ");
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// A to Z in lower case, everything else as it is: for what is ASCII by its own rules (schemes, hosts,
/// headers).
std::string ascii_lower(std::string_view text);

/// The candidate with the smallest edit distance (transpositions count one), if it is close enough to be a
/// likely misspelling: at most a third of the longer word. Ties go to the first.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean `x`?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// "a.txt holds", "a.txt and 2 more hold": how a sentence on all of them begins. At least one.
std::string they_hold(std::span<const std::string> paths);

std::string with_commas(std::int64_t n);     ///< 1,234,567
std::string human_count(double n);           ///< 950, 1.23 k, 4.92 M, 6.74 B
std::string human_bytes(double bytes);       ///< 512 B, 19.7 MB (powers of 1000)
std::string human_duration(double seconds);  ///< 0.03 s, 38 s, 1:36, 2:03:09

/// Byte offset of the first invalid UTF-8 sequence (overlong forms and surrogates included), or nothing.
std::optional<std::size_t> invalid_utf8(std::string_view text);

/// Strict numbers: the whole text must be one; no sign prefix '+', no spaces.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);

/// Durations as in configurations: "15m", "2h", "90s", "1d", or a number of seconds.
std::optional<double> parse_duration(std::string_view text);

/// Sizes as in configurations: "512MB", "1.5 GB", "64KiB", or a number of bytes. kB, MB, GB, TB and PB are
/// powers of 1000, KiB to PiB of 1024; rounded to whole bytes. Nothing for 1.5 bytes, or beyond 64 bits.
std::optional<std::int64_t> parse_bytes(std::string_view text);
/// The shortest that parse_bytes reads back: "100GB", "1536".
std::string exact_bytes(std::int64_t bytes);

}  // namespace bora
