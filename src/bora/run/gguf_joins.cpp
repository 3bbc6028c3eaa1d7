// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/gguf_joins.h"

#include <algorithm>

#include "bora/unicode/unicode.h"

namespace bora::run {

Joined join_characters(std::string_view text, const JoinOrder& order) {
  Joined out;
  for (std::size_t at = 0; at < text.size();) {
    const auto size = std::min(utf8_length(text[at]), text.size() - at);
    out.pieces.push_back(text.substr(at, size));
    at += size;
  }
  auto& pieces = out.pieces;
  std::vector<std::optional<double>> orders;  // of a piece and the next
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) orders.push_back(order(pieces[i], pieces[i + 1]));
  while (!orders.empty()) {
    const auto before = [](const auto& a, const auto& b) { return a && (!b || *a < *b); };
    const auto best = std::min_element(orders.begin(), orders.end(), before);
    if (!*best) break;
    const auto i = static_cast<std::size_t>(best - orders.begin());
    out.left = pieces[i], out.right = pieces[i + 1], out.order = **best;
    pieces[i] = {pieces[i].data(), pieces[i].size() + pieces[i + 1].size()};
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    orders.erase(best);
    if (i > 0) orders[i - 1] = order(pieces[i - 1], pieces[i]);
    if (i < orders.size()) orders[i] = order(pieces[i], pieces[i + 1]);
  }
  return out;
}

}  // namespace bora::run
