// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/slots.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/empty_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include <numeric>

#include "bora/base/error.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/autograd/recording_scope.h"
#include "bora/core/kernels/cpu/slots.h"
#include "bora/core/plain/slots.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::SlotShape shape_of(const Tensor& place, const Tensor& x) {
  return {.tokens = place.size(0), .k = place.size(1), .width = x.size(1)};
}

const std::int32_t* ids(const Tensor& place) { return place.const_data_ptr<std::int32_t>(); }

Tensor to_slots(const Tensor& x, const Tensor& place, const Tensor& weights) {
  const Tensor from = wide(x), w = weights.defined() ? wide(weights) : weights;
  Tensor slots = new_floats({place.numel(), x.size(1)});
  kernels::to_slots(shape_of(place, x), ids(place), data(from), data(w), mutable_data(slots));
  return cast(slots, x.scalar_type());
}

Tensor from_slots(const Tensor& y, const Tensor& place, const Tensor& weights) {
  const Tensor from = wide(y), w = weights.defined() ? wide(weights) : weights;
  Tensor out = new_floats({place.size(0), y.size(1)});
  kernels::from_slots(shape_of(place, y), ids(place), data(from), data(w), mutable_data(out));
  return cast(out, y.scalar_type());
}

struct Dispatch : torch::autograd::Function<Dispatch> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& place) {
    ctx->saved_data["place"] = place;
    return to_slots(x, place, {});
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {from_slots(grads[0], ctx->saved_data["place"].toTensor(), {}), Tensor()};
  }
};

struct Combine : torch::autograd::Function<Combine> {
  static Tensor forward(AutogradContext* ctx, const Tensor& y, const Tensor& weights, const Tensor& place) {
    ctx->save_for_backward({y, weights});
    ctx->saved_data["place"] = place;
    return from_slots(y, place, weights);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &y = saved[0], &weights = saved[1], place = ctx->saved_data["place"].toTensor();
    Tensor dy, dw;
    if (ctx->needs_input_grad(0)) dy = to_slots(grads[0], place, weights);
    if (ctx->needs_input_grad(1)) {
      const Tensor slots = wide(y), g = wide(grads[0]);
      Tensor products = new_floats(weights.sizes());
      kernels::slot_products(shape_of(place, y), ids(place), data(slots), data(g), mutable_data(products));
      dw = cast(products, weights.scalar_type());
    }
    return {dy, dw, Tensor()};
  }
};

Tensor own(const Tensor& x, const SlotRuns& runs) {
  const auto me = runs.workers->rank();
  const auto before = std::accumulate(runs.sizes.begin(), runs.sizes.begin() + me, std::int64_t{0});
  // a copy: it lies in memory as the slots of a worker that has no others
  return x.narrow(0, before, runs.sizes[static_cast<std::size_t>(me)]).clone();
}

Tensor rows_like(const Tensor& x, std::int64_t rows) {
  auto sizes = x.sizes().vec();
  sizes[0] = rows;
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), x.scalar_type(), {}, x.device(),
                                             {}, {});
}

variable_list runs_of(const Tensor& x, const std::vector<std::int64_t>& rows) {
  variable_list out;
  std::int64_t first = 0;
  for (const auto n : rows) {
    out.push_back(x.narrow(0, first, n));
    first += n;
  }
  return out;
}

// Each worker's run goes to all others as it is.
Tensor all(const Tensor& run, const SlotRuns& runs) {
  const Tensor mine = run.detach().contiguous();
  Tensor out = rows_like(mine, std::accumulate(runs.sizes.begin(), runs.sizes.end(), std::int64_t{0}));
  const int n = runs.workers->size(), me = runs.workers->rank();
  const auto parts = runs_of(out, runs.sizes);
  const Array own = wrap(mine);
  std::vector<Collectives::Pass> passes;
  for (int places = 1; places < n; ++places)
    passes.push_back({places, own, wrap(parts[static_cast<std::size_t>((me + n - places) % n)])});
  runs.workers->start_passes(passes);
  runs.workers->finish_passes();
  parts[static_cast<std::size_t>(me)].copy_(mine);
  return out;
}

struct Runs : torch::CustomClassHolder {
  explicit Runs(SlotRuns r) : runs(std::move(r)) {}
  SlotRuns runs;
};

// The workers outlive every pass: the mesh of the run holds them.
struct Exchange : torch::autograd::Function<Exchange> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const c10::intrusive_ptr<Runs>& runs,
                        bool to_all) {
    ctx->saved_data["runs"] = c10::IValue::make_capsule(runs);
    ctx->saved_data["to_all"] = to_all;
    return to_all ? all(x, runs->runs) : own(x, runs->runs);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto runs = c10::static_intrusive_pointer_cast<Runs>(ctx->saved_data["runs"].toCapsule());
    const bool to_all = ctx->saved_data["to_all"].toBool();
    return {to_all ? own(grads[0], runs->runs) : all(grads[0], runs->runs), Tensor(), Tensor()};
  }
};

void refuse_twice() {
  if (!records_twice()) return;
  fail(ErrorKind::Unsupported,
       "hessian_vector_product: experts lie on several ranks, and what these exchange has a first "
       "derivative only\nhint: compute the product on one rank, outside of the mesh");
}

Tensor exchange(const Tensor& x, const SlotRuns& runs, bool to_all) {
  refuse_twice();
  return Exchange::apply(x, c10::make_intrusive<Runs>(runs), to_all);
}

// Sends out[w] to each worker w, and gives what came from each: `rows` of them.
variable_list carried(const variable_list& out, const std::vector<std::int64_t>& rows, Collectives& workers) {
  const int n = workers.size(), me = workers.rank();
  variable_list mine, came;
  for (int w = 0; w < n; ++w) {
    const auto at = static_cast<std::size_t>(w);
    mine.push_back(out[at].detach().contiguous());
    came.push_back(w == me ? mine.back().clone() : rows_like(mine.front(), rows[at]));
  }
  std::vector<Collectives::Pass> passes;
  for (int places = 1; places < n; ++places) {
    passes.push_back({places, wrap(mine[static_cast<std::size_t>((me + places) % n)]),
                      wrap(came[static_cast<std::size_t>((me + n - places) % n)])});
  }
  workers.start_passes(passes);
  workers.finish_passes();
  return came;
}

Tensor sent(const variable_list& parts, const SlotPost& post) {
  return at::_ops::cat::call(at::ITensorListRef(carried(parts, post.sends, *post.workers)), 0);
}

struct Posted : torch::CustomClassHolder {
  explicit Posted(SlotPost p) : post(std::move(p)) {}
  SlotPost post;
};

struct Post : torch::autograd::Function<Post> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x,
                               const c10::intrusive_ptr<Posted>& posted) {
    ctx->set_materialize_grads(true);
    ctx->saved_data["post"] = c10::IValue::make_capsule(posted);
    return carried(runs_of(x, posted->post.sends), posted->post.receives, *posted->post.workers);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto posted = c10::static_intrusive_pointer_cast<Posted>(ctx->saved_data["post"].toCapsule());
    return {sent(grads, posted->post), Tensor()};
  }
};

struct PostBack : torch::autograd::Function<PostBack> {
  static Tensor forward(AutogradContext* ctx, at::TensorList parts,
                        const c10::intrusive_ptr<Posted>& posted) {
    ctx->saved_data["post"] = c10::IValue::make_capsule(posted);
    return sent(parts.vec(), posted->post);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto posted = c10::static_intrusive_pointer_cast<Posted>(ctx->saved_data["post"].toCapsule());
    const auto& post = posted->post;
    auto out = carried(runs_of(grads[0], post.sends), post.receives, *post.workers);
    out.emplace_back();
    return out;
  }
};

}  // namespace

Tensor dispatch(const Tensor& x, const Tensor& place) {
  return has_kernel(x) ? Dispatch::apply(x, place) : plain::dispatch(x, place);
}

Tensor combine(const Tensor& y, const Tensor& weights, const Tensor& place) {
  return has_kernel(y) ? Combine::apply(y, weights, place) : plain::combine(y, weights, place);
}

Tensor own_run(const Tensor& x, const SlotRuns& runs) { return exchange(x, runs, false); }
Tensor all_runs(const Tensor& x, const SlotRuns& runs) { return exchange(x, runs, true); }

std::vector<Tensor> post(const Tensor& x, const SlotPost& post) {
  refuse_twice();
  return Post::apply(x, c10::make_intrusive<Posted>(post));
}

Tensor post_back(const std::vector<Tensor>& parts, const SlotPost& post) {
  return PostBack::apply(at::TensorList(parts), c10::make_intrusive<Posted>(post));
}

}  // namespace bora::core::autograd
