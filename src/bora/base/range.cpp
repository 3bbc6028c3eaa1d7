// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/range.h"

#include <fmt/core.h>

#include <cmath>

namespace bora {
namespace {

// As one would write it: 1, 0.5, 65535, 9007199254740992.
std::string shown(double number) {
  if (number == 0x1p63) return "9223372036854775807";  // the largest that a type holds
  const bool whole = std::floor(number) == number && std::fabs(number) <= 0x1p53;
  return whole ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

}  // namespace

bool Range::allows(double value) const {
  if (!std::isfinite(value)) return false;
  if (other && value == *other) return true;
  return (above ? value > least : value >= least) && (below ? value < most : value <= most);
}

std::string Range::words() const {
  // What no number of floating point passes is no end.
  const bool starts = least > -0x1p63, ends = most <= 0x1p63;
  const std::string first = other ? shown(*other) + " or " : "";
  if (!starts && !ends) return first + "a finite number";
  if (starts && ends && !above && !below)
    return fmt::format("{}from {} to {}", first, shown(least), shown(most));
  const std::string low = fmt::format("{} {}", above ? "above" : "at least", shown(least));
  const std::string high = fmt::format("{} {}", below ? "below" : "at most", shown(most));
  if (!ends) return first + low;
  return first + (starts ? low + " and " + high : high);
}

std::string range_words(const Range* range, bool each) {
  if (range == nullptr || (range->least < -0x1p63 && range->most > 0x1p63)) return "";
  return fmt::format(", {}{}", each ? "each " : "", range->words());
}

}  // namespace bora
