// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/grouped.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "bora/base/error.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/device_experts.h"
#include "bora/core/autograd/grouped.h"
#include "bora/core/autograd/slots.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/index.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/convert.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/mapping.h"

namespace bora::core {
namespace {

using at::Tensor;
using autograd::GroupedRows;

GroupedRows rows_of(const Array& rows) {
  if (rows.empty() || rows.rank() != 2 || rows.dtype() != DType::i32) {
    fail(ErrorKind::InvalidArgument, "grouped_linear: rows are {}, not i32 [expert, part]",
         rows.empty() ? "empty" : fmt::format("{} [{}]", name(rows.dtype()), fmt::join(rows.sizes(), ", ")));
  }
  const auto flat = rows.to_vector<std::int32_t>();
  const auto parts = static_cast<std::size_t>(rows.size(1));
  GroupedRows out(static_cast<std::size_t>(rows.size(0)));
  for (std::size_t i = 0; i < flat.size(); ++i) out[i / parts].push_back(flat[i]);
  return out;
}

std::vector<std::int64_t> by_expert(const GroupedRows& rows) {
  std::vector<std::int64_t> out;
  for (const auto& parts : rows) out.push_back(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}));
  return out;
}

std::int64_t total_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// What grouped_linear is told of rows: how many, or on a device where they end.
struct Groups {
  explicit Groups(const Array& rows) {
    if (!rows.empty() && rows.rank() == 1 && rows.dtype() == DType::i32 && autograd::is_plain(tensor(rows)))
      ends = tensor(rows);
    else
      counts = rows_of(rows);
  }
  Tensor of(const Tensor& x, const autograd::Factor& weight) const {
    return ends.defined() ? autograd::grouped_by_ends(x, weight, ends) : autograd::grouped(x, weight, counts);
  }
  GroupedRows counts;
  Tensor ends;
};

void check_rows(const Operand& x, std::int64_t slots, const Groups& groups, const Operand& weight,
                std::int64_t experts) {
  if (groups.ends.defined()) {
    if (groups.ends.numel() == experts) return;
    fail(
        ErrorKind::InvalidArgument,
        "grouped_linear: there are the ends of {} experts, but {} and {}\nhint: groups are those of the routing "
        "that made the slots",
        groups.ends.numel(), describe(x), describe(weight));
  }
  const auto& rows = groups.counts;
  if (std::ssize(rows) == experts && total_of(by_expert(rows)) == slots) return;
  fail(ErrorKind::InvalidArgument,
       "grouped_linear: there are {} rows for {} experts, but {} and {}\nhint: rows are those of the routing "
       "that made the slots",
       total_of(by_expert(rows)), rows.size(), describe(x), describe(weight));
}

// The axes of a weight but the expert's, by role, and those of x.
struct GroupRoles {
  NameList in, out;
};
GroupRoles group_roles_of(const Operand& x, const Operand& weight, Names result) {
  if (x.names.empty() || weight.names.empty()) {
    fail(ErrorKind::InvalidArgument, "grouped_linear: {} or {} has no axis", describe(x), describe(weight));
  }
  GroupRoles r;
  for (const auto axis : weight.names.subspan(1)) (find(x.names, axis) >= 0 ? r.in : r.out).push_back(axis);
  NameList have{x.names.front()};
  have.insert(have.end(), r.out.begin(), r.out.end());
  require_same_axes("grouped_linear", have, result);
  for (const auto axis : x.names.subspan(1)) {
    if (find(r.in, axis) >= 0) continue;
    fail(ErrorKind::InvalidArgument, "grouped_linear: axis {} is in {} but not in {}", axis, describe(x),
         describe(weight));
  }
  return r;
}

std::int64_t lane_size(const Space& space, const NameList& names) {
  std::int64_t n = 1;
  for (const auto axis : names) n *= space.lane_part(axis);
  return n;
}

// The expert of each slot.
Array experts_of_slots(const Groups& groups, std::int64_t slots, const Array& beside) {
  if (groups.ends.defined()) return wrap(autograd::owners_of_slots(groups.ends, slots));
  std::vector<std::int32_t> out;
  const auto counts = by_expert(groups.counts);
  for (std::size_t e = 0; e < counts.size(); ++e)
    out.insert(out.end(), static_cast<std::size_t>(counts[e]), static_cast<std::int32_t>(e));
  static constexpr std::string_view kSlot[] = {"slot"};
  const std::vector<std::int64_t> sizes{std::ssize(out)};
  const Array ids = from_data({kSlot, sizes}, std::span<const std::int32_t>(out));
  return wrap(tensor(ids).to(tensor(beside).device()));
}

Array product(const Operand& x, const Groups& rows, const Operand& weight, const GroupRoles& r, Names out) {
  const std::string_view slot = x.names.front(), expert = weight.names.front();
  const std::string_view whole[] = {slot, expert};
  Space space("grouped_linear", {x, weight}, whole);
  space.by_lanes();
  check_rows(x, space.size(slot), rows, weight, space.size(expert));
  require_same_dtype("grouped_linear", x, weight);
  NameList x_order{slot}, weight_order{expert}, order{slot};
  x_order.insert(x_order.end(), r.in.begin(), r.in.end());
  weight_order.insert(weight_order.end(), r.out.begin(), r.out.end());
  weight_order.insert(weight_order.end(), r.in.begin(), r.in.end());
  order.insert(order.end(), r.out.begin(), r.out.end());
  std::vector<std::int64_t> sizes;
  for (const auto axis : order) sizes.push_back(space.lane_part(axis));
  const std::int64_t in = lane_size(space, r.in), kept = lane_size(space, r.out);
  const auto lefts = space.local_lanes(x), rights = space.local_lanes(weight);
  const Tensor parameter = space.parameter_of(weight, rights.front());
  std::vector<Tensor> lanes;
  for (std::size_t lane = 0; lane < lefts.size(); ++lane) {
    const Tensor a = reshaped(permuted(lefts[lane], x.names, x_order), {space.size(slot), in});
    const auto b = autograd::factor_of(rights[lane], parameter, [&](const Tensor& t) {
      return reshaped(permuted(t, weight.names, weight_order), {space.size(expert), kept, in});
    });
    lanes.push_back(permuted(reshaped(rows.of(a, b), sizes), order, out));
  }
  if (lanes.size() == 1) return space.label(lanes.front(), out);
  const int dim = find(out, space.laned());
  return space.label(
      dim < 0 ? autograd::sum_of_lanes(lanes) : at::_ops::cat::call(at::ITensorListRef(lanes), dim), out);
}

// x as the workers of mesh axis m each have it all, or (dim >= 0) each its block; on the other axes as it is.
Array along(const Mapping& map, std::size_t m, const Array& x, int dim) {
  using autograd::Convert;
  const Layout before = x.node()->layout;
  const std::int8_t stored = before.place[m];
  if (stored == dim || (stored == Layout::kReplicated && dim < 0)) {
    if (dim < 0) return x;
  }
  Tensor t = tensor(x);
  auto& workers = map.workers(m);
  if (stored == Layout::kPartial)
    t = autograd::convert(t, dim < 0 ? Convert::sum : Convert::scatter, dim, workers);
  else if (stored != Layout::kReplicated && stored != dim)
    t = autograd::convert(t, Convert::collect, stored, workers);
  if (dim >= 0 && stored != dim && stored != Layout::kPartial)
    t = autograd::convert(t, Convert::slice, dim, workers);
  Layout after = before;
  after.place[m] = Layout::kReplicated;
  return Array(new Node(t, after));
}

// The mesh axis whose ranks can each compute own experts.
std::optional<std::size_t> mesh_axis_of(const Operand& x, std::string_view expert,
                                        std::span<const Operand> parameters) {
  const Mapping* map = mapping();
  if (map == nullptr) return std::nullopt;
  NameList others(x.names.begin(), x.names.end());
  for (const auto& p : parameters) others = joined(others, without(p.names, {&expert, 1}));
  for (std::size_t m = 0; m < map->size(); ++m) {
    if (map->workers(m).size() == 1 || !map->serves(m, expert) || map->fixed(m)) continue;
    if (map->owner(m, others, {})) return std::nullopt;
    return m;
  }
  return std::nullopt;
}

void check_cut(std::string_view expert, std::int64_t experts, const Mapping& map, std::size_t m) {
  const int n = map.workers(m).size();
  if (experts % n == 0) return;
  fail(ErrorKind::InvalidArgument,
       "experts: axis {} of size {} cannot be cut into {} equal shards for the mesh axis {}\nhint: another "
       "size of the mesh axis, or take {} out of its axes",
       expert, experts, n, map.mesh_axis(m).name, expert);
}

// Rows of all experts, by rank.
std::vector<GroupedRows> rows_of_all(const GroupedRows& own, Collectives& workers) {
  const auto n = static_cast<std::size_t>(workers.size()), experts = own.size();
  const auto parts = static_cast<std::int64_t>(own.front().size());
  std::vector<std::int64_t> parts_of(n);
  workers.all_gather(std::as_bytes(std::span(&parts, 1)), std::as_writable_bytes(std::span(parts_of)));
  const auto most = static_cast<std::size_t>(*std::max_element(parts_of.begin(), parts_of.end()));
  std::vector<std::int64_t> mine(experts * most), all(n * experts * most);
  for (std::size_t e = 0; e < experts; ++e) std::copy(own[e].begin(), own[e].end(), &mine[e * most]);
  workers.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  std::vector<GroupedRows> out(n);
  for (std::size_t w = 0; w < n; ++w) {
    for (std::size_t e = 0; e < experts; ++e) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>((w * experts + e) * most);
      out[w].emplace_back(first, first + parts_of[w]);
    }
  }
  return out;
}

// On the host, which alone reads them.
Array rows_array(std::span<const std::vector<std::int64_t>> rows) {
  const DeviceScope host{Device()};
  static constexpr std::string_view kRows[] = {"expert", "part"};
  std::vector<std::int32_t> flat;
  for (const auto& parts : rows) flat.insert(flat.end(), parts.begin(), parts.end());
  const std::vector<std::int64_t> sizes{std::ssize(rows), std::ssize(rows.front())};
  return from_data({kRows, sizes}, std::span<const std::int32_t>(flat));
}

// This rank's experts of a parameter, once for each of `n` ranks: their gradients are added in pairs, in the
// parameter's own type, as those of n lanes are.
std::vector<Array> for_each_lane(const Mapping& map, std::size_t m, const Operand& p, std::string_view expert,
                                 int n) {
  const Node& node = *p.array.node();
  if (node.layout.place[m] != require("experts", p, expert)) {
    fail(
        ErrorKind::Unsupported,
        "experts: {} does not rest in shards along {} over the mesh axis {}, whose workers compute different "
        "lanes\nhint: put {} on {} in the parameter map too",
        describe(p), expert, map.mesh_axis(m).name, expert, map.mesh_axis(m).name);
  }
  Layout own = node.layout;
  own.place[m] = Layout::kReplicated;
  std::vector<Array> out;
  const Array& from = node.wide.empty() ? p.array : node.wide;
  for (auto& t : autograd::fan(tensor(from), n, node.tensor.scalar_type()))
    out.emplace_back(new Node(t, own));
  if (node.wide.empty()) return out;
  const auto parameters = autograd::fan(tensor(from), n);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].node()->wide = Array(new Node(parameters[i], own));
  return out;
}

// The ranks of mesh axis m compute different lanes: slots go to the ranks that have their experts, and come back. A
// rank computes what came from each of the others for itself, as that one would.
Array at_their_owners(const Mapping& map, std::size_t m, const Operand& x, const GroupedRows& rows,
                      std::string_view expert, std::span<const Operand> parameters, const ExpertBody& body) {
  auto& workers = map.workers(m);
  const auto n = static_cast<std::size_t>(workers.size()), me = static_cast<std::size_t>(workers.rank()),
             each = rows.size() / n;
  const auto of_all = rows_of_all(rows, workers);
  const auto run = [&](std::size_t from, std::size_t owner) {
    return std::span(of_all[from]).subspan(owner * each, each);
  };
  const auto slots_of = [](std::span<const std::vector<std::int64_t>> some) {
    return total_of(by_expert({some.begin(), some.end()}));
  };
  autograd::SlotPost post{{}, {}, &workers};
  for (std::size_t w = 0; w < n; ++w) {
    post.sends.push_back(slots_of(run(me, w)));
    post.receives.push_back(slots_of(run(w, me)));
  }
  std::vector<std::vector<Array>> own(n);
  for (const auto& p : parameters) {
    auto lanes = for_each_lane(map, m, p, expert, workers.size());
    for (std::size_t w = 0; w < n; ++w) own[w].push_back(std::move(lanes[w]));
  }
  const auto came = autograd::post(tensor(x.array), post);
  std::vector<Tensor> results;
  Layout layout;
  for (std::size_t w = 0; w < n; ++w) {
    const Array y = body(Array(new Node(came[w], x.array.node()->layout)), rows_array(run(w, me)), own[w]);
    results.push_back(tensor(y));
    layout = y.node()->layout;
  }
  return Array(new Node(autograd::post_back(results, post), layout));
}

}  // namespace

Array grouped_linear(const Operand& x, const Array& rows, const Operand& weight, const Array& bias,
                     Names out) try {
  const GroupRoles r = group_roles_of(x, weight, out);
  const Groups groups(rows);
  Array y = product(x, groups, weight, r, out);
  if (bias.empty()) return y;
  NameList bias_names{weight.names.front()}, taken{x.names.front()};
  bias_names.insert(bias_names.end(), r.out.begin(), r.out.end());
  taken.insert(taken.end(), r.out.begin(), r.out.end());
  const Array experts = experts_of_slots(groups, whole_size(y, find(out, x.names.front())), bias);
  const Array added = take({bias, bias_names}, bias_names.front(), {experts, {taken.data(), 1}}, taken);
  return binary(Binary::add, {y, out}, {added, taken}, out);
} catch (...) {
  rethrow("grouped_linear", {x, weight, Operand{bias, {}}});
}

Array with_own_experts(const Operand& x, const Array& rows, std::string_view expert,
                       std::span<const Operand> parameters, const ExpertBody& body) {
  const auto m = mesh_axis_of(x, expert, parameters);
  std::vector<Array> own;
  if (!m) {
    for (const auto& p : parameters) own.push_back(p.array);
    return body(x.array, rows, own);
  }
  const Mapping& map = *mapping();
  const auto by_part = rows_of(rows);
  const auto counts = by_expert(by_part);
  check_cut(expert, std::ssize(counts), map, *m);
  if (map.own_lanes(*m)) return at_their_owners(map, *m, x, by_part, expert, parameters, body);
  auto& workers = map.workers(*m);
  const std::int64_t each = std::ssize(counts) / workers.size();
  autograd::SlotRuns runs{{}, &workers};
  for (auto at = counts.begin(); at != counts.end(); at += each)
    runs.sizes.push_back(std::accumulate(at, at + each, std::int64_t{0}));
  for (const auto& p : parameters) own.push_back(along(map, *m, p.array, require("experts", p, expert)));
  const Array all = along(map, *m, x.array, -1);
  const Array mine(new Node(autograd::own_run(tensor(all), runs), all.node()->layout));
  const Array y = body(mine, wrap(tensor(rows).narrow(0, each * workers.rank(), each).contiguous()), own);
  return Array(new Node(autograd::all_runs(tensor(y), runs), y.node()->layout));
}

}  // namespace bora::core
