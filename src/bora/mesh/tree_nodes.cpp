// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A worker's description, in 8-byte words:
//
//     description = lanes arrays elements scalars nodes node*
//     node        = first lanes scalar* present*         (as many as the header says; present is 0 or 1)
#include "bora/mesh/tree_nodes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "bora/base/error.h"

namespace bora::mesh {
namespace {

constexpr std::string_view kHeader[] = {"lanes", "arrays", "elements", "scalars"};
constexpr std::size_t kHeaderWords = 5;

std::vector<std::int64_t> description(const std::vector<LaneSum>& own, std::int64_t lanes, std::size_t arrays,
                                      std::int64_t elements) {
  // A worker without lanes does not know how many scalars there are.
  const auto scalars = own.empty() ? -1 : static_cast<std::int64_t>(own[0].scalars.size());
  std::vector<std::int64_t> words = {lanes, static_cast<std::int64_t>(arrays), elements, scalars,
                                     static_cast<std::int64_t>(own.size())};
  for (const auto& node : own) {
    words.push_back(node.first);
    words.push_back(node.lanes);
    for (const double s : node.scalars) words.push_back(std::bit_cast<std::int64_t>(s));
    for (const auto& array : node.arrays) words.push_back(array.empty() ? 0 : 1);
  }
  return words;
}

std::vector<std::vector<std::int64_t>> gather(Communicator& c, const std::vector<std::int64_t>& own) {
  std::vector<std::vector<std::int64_t>> all;
  for (const auto& bytes : c.all_gather_unequal(std::as_bytes(std::span(own)))) {
    auto& words = all.emplace_back(bytes.size() / sizeof(std::int64_t));
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  }
  return all;
}

// Against worker 0, which always has lanes.
void require_equal_headers(const std::vector<std::vector<std::int64_t>>& all) {
  for (std::size_t w = 0; w < all.size(); ++w) {
    for (std::size_t i = 0; i < std::size(kHeader); ++i) {
      if (all[w][i] != all[0][i] && all[w][i] != -1)
        fail(ErrorKind::InvalidArgument, "tree reduce: worker {} sums {} {} and worker 0 {}", w, all[w][i],
             kHeader[i], all[0][i]);
    }
  }
}

void require_owned(int worker, int workers, std::int64_t lanes, const std::vector<LaneRange>& nodes) {
  const auto owned = owned_lanes(worker, workers, lanes);
  if (nodes == subtrees(owned)) return;
  std::int64_t found = 0;
  for (const auto& node : nodes) found += node.lanes;
  fail(ErrorKind::InvalidArgument,
       "tree reduce: worker {} of {} has summed {} lanes from lane {}, it owns {} from lane {} (of {})",
       worker, workers, found, nodes.empty() ? 0 : nodes[0].first, owned.lanes, owned.first, lanes);
}

}  // namespace

bool TreeNodes::present(std::size_t array) const {
  return std::any_of(leaves.begin(), leaves.end(),
                     [&](const Leaf& leaf) { return leaf.present[array] != 0; });
}

TreeNodes exchange_nodes(Communicator& communicator, const std::vector<LaneSum>& own, std::int64_t lanes,
                         std::size_t arrays, std::int64_t elements) {
  const auto all = gather(communicator, description(own, lanes, arrays, elements));
  require_equal_headers(all);
  const auto scalars = static_cast<std::size_t>(std::max<std::int64_t>(all[0][3], 0));
  TreeNodes nodes;
  LaneTree sums(lanes, 0);
  for (std::size_t w = 0; w < all.size(); ++w) {
    std::vector<LaneRange> ranges;
    const auto* word = all[w].data() + kHeaderWords;
    const std::int64_t count = all[w][4];
    for (std::int64_t i = 0; i < count; ++i) {
      auto& leaf = nodes.leaves.emplace_back();
      leaf.lanes = {word[0], word[1]};
      leaf.worker = static_cast<int>(w);
      leaf.place = i;
      word += 2;
      LaneSum sum{leaf.lanes.first, leaf.lanes.lanes, {}, {}};
      for (std::size_t s = 0; s < scalars; ++s) sum.scalars.push_back(std::bit_cast<double>(*word++));
      for (std::size_t a = 0; a < arrays; ++a) leaf.present.push_back(static_cast<char>(*word++));
      ranges.push_back(leaf.lanes);
      sums.push(std::move(sum));
    }
    require_owned(static_cast<int>(w), communicator.size(), lanes, ranges);
    nodes.counts.push_back(count);
  }
  nodes.most = std::max<std::int64_t>(1, *std::max_element(nodes.counts.begin(), nodes.counts.end()));
  nodes.scalars = sums.take_total().scalars;
  return nodes;
}

}  // namespace bora::mesh
