// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/replica_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/hash.h"

namespace bora::mesh {
namespace {

using Digest = std::pair<std::uint64_t, std::uint64_t>;
using Digests = std::vector<Digest>;

Digest digest(std::span<const std::byte> bytes) {
  const auto hash = hash128(bytes);
  return {hash.high, hash.low};
}

// Everybody's digests, one after the other.
Digests gathered(Communicator& workers, const Digests& mine) {
  Digests all(mine.size() * static_cast<std::size_t>(workers.size()));
  workers.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  return all;
}

/// Workers by what they hold: the largest group first, then the one with the lowest rank.
std::vector<std::vector<int>> groups_of(const Digests& all, std::size_t arrays, std::size_t array) {
  std::map<Digest, std::vector<int>> by_digest;
  for (std::size_t w = 0; w * arrays < all.size(); ++w)
    by_digest[all[w * arrays + array]].push_back(static_cast<int>(w));
  std::vector<std::vector<int>> out;
  for (auto& [d, members] : by_digest) out.push_back(std::move(members));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a[0] < b[0];
  });
  return out;
}

// Where worker `odd` holds something else than worker `right`.
std::uint64_t first_difference(Communicator& workers, std::span<const std::byte> bytes, int right, int odd) {
  std::vector<std::byte> theirs(bytes.begin(), bytes.end());
  workers.broadcast(right, theirs);
  std::uint64_t at = static_cast<std::uint64_t>(
      std::mismatch(bytes.begin(), bytes.end(), theirs.begin()).first - bytes.begin());
  workers.broadcast(odd, std::as_writable_bytes(std::span(&at, 1)));
  return at;
}

std::string together(const std::vector<int>& group, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const int w : group) out.push_back(names[static_cast<std::size_t>(w)]);
  return fmt::format("{}", fmt::join(out, ", "));
}

[[noreturn]] void report(Communicator& workers, const Replica& replica,
                         const std::vector<std::vector<int>>& groups, std::string_view when) {
  const auto names = all_gather_texts(workers, workers.who());
  const auto at = first_difference(workers, replica.bytes, groups[0][0], groups[1][0]);
  std::string who;
  for (std::size_t g = 1; g < groups.size(); ++g) who += (g == 1 ? "" : ", ") + together(groups[g], names);
  const bool majority = groups[0].size() > groups[1].size();
  fail(ErrorKind::Stopped,
       "{}: {} {} other values of {} than {} (first in byte {} of {}){}\nhint: test or leave out that "
       "machine; "
       "started again, the run goes on from its newest checkpoint, each of which was compared first",
       when, who, groups.size() > 2 || groups[1].size() > 1 ? "hold" : "holds", replica.path,
       together(groups[0], names), at, replica.bytes.size(),
       majority ? "" : ": one of the two sides has a flipped bit");
}

}  // namespace

void require_equal_replicas(Communicator& workers, std::span<const Replica> replicas, std::string_view when) {
  if (workers.size() == 1 || replicas.empty()) return;
  Digests mine;
  for (const auto& r : replicas) mine.push_back(digest(r.bytes));
  const auto whole = gathered(workers, {digest(std::as_bytes(std::span(mine)))});
  if (std::adjacent_find(whole.begin(), whole.end(), std::not_equal_to<>()) == whole.end()) return;
  const auto all = gathered(workers, mine);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const auto groups = groups_of(all, replicas.size(), i);
    if (groups.size() > 1) report(workers, replicas[i], groups, when);
  }
}

}  // namespace bora::mesh
