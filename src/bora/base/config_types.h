// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bora {

class Binder;

/// A duration: "15m", "2h", "90s", "1d", or seconds.
struct Duration {
  double seconds = 0;
  bool operator==(const Duration&) const = default;
};

/// A number of bytes: "512MB", "1.5GB", "64KiB" (kB, MB, GB, TB by 1000, KiB to TiB by 1024), or bytes.
struct ByteSize {
  std::int64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

/// A configuration struct: it names its fields to a Binder.
template <class T>
concept Bindable = requires(T& t, Binder& b) { t.bind(b); };

/// Numbers, durations, and optionals, lists and maps of them: they are bound with a Range.
template <class T>
inline constexpr bool kHoldsNumbers =
    (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || std::is_same_v<T, Duration>;
template <class T>
inline constexpr bool kHoldsNumbers<std::optional<T>> = kHoldsNumbers<T>;
template <class T>
inline constexpr bool kHoldsNumbers<std::vector<T>> = kHoldsNumbers<T>;
template <class T>
inline constexpr bool kHoldsNumbers<std::vector<std::pair<std::string, T>>> = kHoldsNumbers<T>;

/// What documentation calls a type: "integer", "list of strings". A specialization gives `one` and `many`.
template <class T>
struct TypeWords;

template <class T>
std::string type_words(bool many = false) {
  return many ? TypeWords<T>::many() : TypeWords<T>::one();
}

template <>
struct TypeWords<bool> {
  static std::string one() { return "true or false"; }
  static std::string many() { return "booleans"; }
};
template <std::integral T>
struct TypeWords<T> {
  static std::string one() { return "integer"; }
  static std::string many() { return "integers"; }
};
template <std::floating_point T>
struct TypeWords<T> {
  static std::string one() { return "number"; }
  static std::string many() { return "numbers"; }
};
template <>
struct TypeWords<std::string> {
  static std::string one() { return "string"; }
  static std::string many() { return "strings"; }
};
template <>
struct TypeWords<Duration> {
  static std::string one() { return "duration"; }
  static std::string many() { return "durations"; }
};
template <>
struct TypeWords<ByteSize> {
  static std::string one() { return "size"; }
  static std::string many() { return "sizes"; }
};
template <Bindable T>
struct TypeWords<T> {
  static std::string one() { return "section"; }
  static std::string many() { return "sections"; }
};
template <class T>
struct TypeWords<std::optional<T>> : TypeWords<T> {};
template <class T>
struct TypeWords<std::vector<T>> {
  static std::string one() { return "list of " + type_words<T>(true); }
  static std::string many() { return "lists of " + type_words<T>(true); }
};
template <class T>
struct TypeWords<std::vector<std::pair<std::string, T>>> {
  static std::string one() { return "map of names to " + type_words<T>(true); }
  static std::string many() { return "maps of names to " + type_words<T>(true); }
};

}  // namespace bora
