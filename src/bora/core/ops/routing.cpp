// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/routing.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/log.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/device_experts.h"
#include "bora/core/autograd/slots.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/kernels/cpu/rows_apart.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/mapping.h"
#include "bora/core/plain/slots.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

using at::Tensor;

// Rows of a batch that this thread computes apart, if it does.
std::int64_t rows_apart() {
  const std::int64_t now = kernels::set_rows_apart(1);
  kernels::set_rows_apart(now);
  return now;
}

// [tokens, choice]
Tensor matrix(const Tensor& place) { return place.reshape({-1, place.size(-1)}).contiguous(); }

std::int64_t slots_of(const Routing& routing) {
  return routing.pads.empty() ? tensor(routing.place).numel() : tensor(routing.visits).numel();
}

void require_result(std::string_view op, Names want, Names out) {
  if (std::equal(want.begin(), want.end(), out.begin(), out.end())) return;
  fail(ErrorKind::InvalidArgument, "{}: the result has the axes {}, not {}", op, describe(want),
       describe(out));
}

void require_places(std::string_view op, const Operand& x, Names tokens, const Array& place) {
  const Tensor& all = tensor(place);
  bool fits = all.dim() == static_cast<std::int64_t>(tokens.size()) + 1;
  for (std::size_t i = 0; fits && i < tokens.size(); ++i) {
    const int dim = find(x.names, tokens[i]);
    fits = dim >= 0 && whole_size(x.array, dim) == all.size(static_cast<std::int64_t>(i));
  }
  if (fits) return;
  fail(ErrorKind::InvalidArgument, "{}: the routing has places [{}] for the tokens {}, which do not fit {}",
       op, fmt::join(place.sizes(), ", "), describe(tokens), describe(x));
}

// How many slots each expert has, and where its next one is.
struct Counts {
  Counts(const std::vector<std::int32_t>& choices, std::int64_t experts, std::int64_t parts)
      : rows(static_cast<std::size_t>(experts * parts)) {
    const auto per_part = std::max<std::size_t>(1, choices.size() / static_cast<std::size_t>(parts));
    for (std::size_t i = 0; i < choices.size(); ++i)
      ++rows[static_cast<std::size_t>(choices[i] * parts) + i / per_part];
    std::int32_t before = 0;
    for (std::size_t e = 0; e < static_cast<std::size_t>(experts); ++e) {
      next.push_back(before);
      for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
        before += rows[e * static_cast<std::size_t>(parts) + p];
    }
  }
  std::vector<std::int32_t> rows, next;
};

void require_experts(const Operand& choices, std::span<const std::int32_t> chosen, std::int64_t experts) {
  for (const auto e : chosen) {
    if (e >= 0 && e < experts) continue;
    fail(ErrorKind::InvalidArgument, "route: a token chooses expert {} of {} in {}\nhint: they are 0 to {}",
         e, experts, describe(choices), experts - 1);
  }
}

Array rows_of(std::span<const std::int32_t> counts, std::int64_t experts, std::int64_t parts) {
  static constexpr std::string_view kRows[] = {"expert", "part"};
  const std::vector<std::int64_t> sizes{experts, parts};
  const DeviceScope on_host({});
  return from_data({kRows, sizes}, counts);
}

// Whether ranks of another mesh axis than the lanes' have experts of their own.
bool are_cut(std::string_view expert) {
  const Mapping* map = mapping();
  for (std::size_t m = 0; map != nullptr && m < map->size(); ++m)
    if (map->workers(m).size() > 1 && map->serves(m, expert)) return true;
  return false;
}

// Once for each reason.
void tell_of_loop(const Tensor& choices, std::string_view why) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> told;
  const std::lock_guard lock(mutex);
  if (!told.emplace(why).second) return;
  log_info("experts on {} by a product for each, for whose numbers of rows the host waits ({})",
           name(from_torch(choices.device())), why);
}

bool are_one_product(const Tensor& choices, std::int64_t experts, const ExpertMaps* maps) {
  if (maps == nullptr || choices.is_cpu() || plain_ops() || rows_apart() > 0) return false;
  const auto why = are_cut(maps->expert) ? "ranks have experts of their own"
                                         : autograd::why_no_grouped_product(choices, scalar_type(maps->dtype),
                                                                            experts, maps->widths);
  if (!why.empty()) tell_of_loop(choices, why);
  return why.empty();
}

Routing planned(const Tensor& choices, std::int64_t experts) {
  const auto plan = autograd::plan_slots(choices, experts);
  return {.place = wrap(plan.place),
          .rows = wrap(plan.rows.unsqueeze(1)),
          .groups = wrap(plan.ends),
          .visits = wrap(plan.visits),
          .pads = wrap(plan.pads)};
}

Routing by_rows(Array place, Array rows) { return {.place = std::move(place), .rows = rows, .groups = rows}; }

// Where the choices lie on a device, places are found there. The host waits for the numbers of rows, which say
// how the experts' products are cut; that some are missing is how it sees a choice that cannot be.
Routing route_there(const Operand& choices, const Array& here, std::int64_t experts, std::int64_t parts) {
  const auto found = plain::places(tensor(here), experts, parts);
  const std::span counts(found.rows.const_data_ptr<std::int32_t>(),
                         static_cast<std::size_t>(experts * parts));
  if (std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != here.numel())
    require_experts(choices, here.to_vector<std::int32_t>(), experts);
  return by_rows(wrap(found.place), rows_of(counts, experts, parts));
}

}  // namespace

Routing route(const Operand& choices, std::int64_t experts, const ExpertMaps* maps) try {
  const Space space("route", {choices}, choices.names);
  require_indices("route", choices);
  if (choices.names.empty()) {
    fail(ErrorKind::InvalidArgument,
         "route: the choices have no axis\nhint: the last one is that of choices");
  }
  const Array here = space.label(space.local(choices), choices.names);
  if (are_one_product(tensor(here), experts, maps)) return planned(tensor(here), experts);
  const auto sizes = here.sizes();
  const std::int64_t apart = rows_apart();
  const std::int64_t parts = apart > 1 && sizes.front() % apart == 0 ? apart : 1;
  if (autograd::is_plain(tensor(here))) return route_there(choices, here, experts, parts);
  auto expert = here.to_vector<std::int32_t>();
  require_experts(choices, expert, experts);
  Counts counts(expert, experts, parts);
  for (auto& e : expert) e = counts.next[static_cast<std::size_t>(e)]++;  // its place from now on
  const DeviceScope on_host({});
  return by_rows(from_data({choices.names, sizes}, std::span<const std::int32_t>(expert)),
                 rows_of(counts.rows, experts, parts));
} catch (...) {
  rethrow("route", {choices});
}

Array dispatch(const Operand& x, const Routing& routing, Names tokens, Names out) try {
  const Space space("dispatch", {x}, tokens);
  require_places("dispatch", x, tokens, routing.place);
  const NameList rest = without(x.names, tokens);
  NameList want{out.empty() ? std::string_view() : out.front()};
  want.insert(want.end(), rest.begin(), rest.end());
  require_result("dispatch", want, out);
  require_new("dispatch", x, out.front());
  const Tensor place = matrix(tensor(routing.place));
  const Tensor flat = reshaped(permuted(space.local(x), x.names, joined(tokens, rest)),
                               {product(space, tokens), product(space, rest)});
  auto sizes = sizes_of(space, rest);
  const bool padded = !routing.pads.empty();
  const Tensor slots =
      padded ? autograd::padded_dispatch(flat, place, tensor(routing.visits), tensor(routing.pads))
             : autograd::dispatch(flat, place);
  sizes.insert(sizes.begin(), slots.size(0));
  return space.label(reshaped(slots, sizes), out);
} catch (...) {
  rethrow("dispatch", {x});
}

Array combine(const Operand& y, const Operand& weights, const Routing& routing, Names out) try {
  if (y.names.empty() || weights.names.empty()) {
    fail(ErrorKind::InvalidArgument, "combine: {} or {} has no axis", describe(y), describe(weights));
  }
  const NameList tokens(weights.names.begin(), weights.names.end() - 1);
  const NameList rest(y.names.begin() + 1, y.names.end());
  NameList whole(weights.names.begin(), weights.names.end());
  whole.push_back(y.names.front());
  const Space space("combine", {y, weights}, whole);
  require_places("combine", weights, tokens, routing.place);
  require_result("combine", joined(tokens, rest), out);
  const Tensor place = matrix(tensor(routing.place));
  const std::int64_t count = slots_of(routing);
  if (space.size(y.names.front()) != count || space.size(weights.names.back()) != place.size(1)) {
    fail(ErrorKind::InvalidArgument, "combine: {} and {} do not fit {} slots of {} choices", describe(y),
         describe(weights), count, place.size(1));
  }
  const Tensor slots = reshaped(space.local(y), {count, product(space, rest)});
  const Tensor w = reshaped(space.local(weights), {place.size(0), place.size(1)});
  const Tensor sum = routing.pads.empty() ? autograd::combine(slots, w, place)
                                          : autograd::padded_combine(slots, w, place, tensor(routing.visits),
                                                                     tensor(routing.pads));
  return space.label(reshaped(sum, sizes_of(space, joined(tokens, rest))), out);
} catch (...) {
  rethrow("combine", {y, weights});
}

}  // namespace bora::core
