// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/custom_op.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/plain_ops.h"

namespace bora::core {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool listed(const std::vector<std::string>& axes, std::string_view axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// Names that stay when the caller's are gone.
class OwnNames {
 public:
  explicit OwnNames(Names names) : text_(names.begin(), names.end()) {}
  NameList list() const { return {text_.begin(), text_.end()}; }

 private:
  std::vector<std::string> text_;
};

// One call: what its backward pass needs beside the tensors.
struct Call : torch::CustomClassHolder {
  std::shared_ptr<const CustomOpRule> rule;
  std::vector<OwnNames> inputs;
  std::vector<std::int64_t> sizes;  // what the result must have; -1: the op's own business
  OwnNames out{Names{}};
  bool plain = plain_ops();
};

// The inputs as the op sees them: whole arrays of one rank.
struct Seen {
  std::vector<Array> arrays;
  std::vector<NameList> names;
  std::vector<Operand> operands;

  Seen(const Call& call, const variable_list& tensors) {
    for (const Tensor& t : tensors) arrays.push_back(wrap(t));
    for (const OwnNames& n : call.inputs) names.push_back(n.list());
    for (std::size_t i = 0; i < arrays.size(); ++i) operands.push_back({arrays[i], names[i]});
  }
};

// "[b=3]"; with names only where they fit.
std::string describe_shape(const Array& x, const NameList& names) {
  const auto sizes = x.sizes();
  return describe(sizes.size() == names.size() ? Shape{names, sizes} : Shape{{}, sizes});
}

void check_result(const Call& call, const Array& y) {
  const NameList out = call.out.list();
  if (y.empty()) fail(ErrorKind::InvalidArgument, "{}: forward returned nothing", call.rule->name);
  const auto sizes = y.sizes();
  bool fits = sizes.size() == out.size();
  for (std::size_t i = 0; fits && i < out.size(); ++i) fits = call.sizes[i] < 0 || sizes[i] == call.sizes[i];
  if (fits) return;
  fail(ErrorKind::InvalidArgument, "{}: forward returned {}, which must be {}", call.rule->name,
       describe_shape(y, out), describe(Shape{out, call.sizes}));
}

void check_gradients(const Call& call, const Seen& seen, const std::vector<Array>& gradients) {
  if (gradients.size() != seen.arrays.size()) {
    fail(ErrorKind::InvalidArgument, "{}: backward returned {} gradients for {} inputs", call.rule->name,
         gradients.size(), seen.arrays.size());
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Array &g = gradients[i], &x = seen.arrays[i];
    if (g.empty() || (g.sizes() == x.sizes() && g.dtype() == x.dtype())) continue;
    fail(ErrorKind::InvalidArgument, "{}: backward returned {} of {} as the gradient of input {}, {} of {}",
         call.rule->name, describe_shape(g, seen.names[i]), name(g.dtype()), i, describe(seen.operands[i]),
         name(x.dtype()));
  }
}

struct Custom : torch::autograd::Function<Custom> {
  static Tensor forward(AutogradContext* ctx, at::TensorList inputs, const c10::intrusive_ptr<Call>& call) {
    const variable_list tensors = inputs.vec();
    const Seen seen(*call, tensors);
    const MappingScope alone(nullptr);
    const Array result = call->rule->forward(seen.operands);
    check_result(*call, result);
    const bool given = std::any_of(tensors.begin(), tensors.end(),
                                   [&](const Tensor& x) { return x.is_same(tensor(result)); });
    Tensor y = given ? tensor(result).view(tensor(result).sizes()) : tensor(result);
    variable_list saved = tensors;
    saved.push_back(y);
    ctx->save_for_backward(saved);
    ctx->saved_data["call"] = c10::IValue::make_capsule(call);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto call = c10::static_intrusive_pointer_cast<Call>(ctx->saved_data["call"].toCapsule());
    variable_list tensors = ctx->get_saved_variables();
    const Array y = wrap(tensors.back()), dy = wrap(grads[0]);
    tensors.pop_back();
    const Seen seen(*call, tensors);
    const NameList out = call->out.list();
    const MappingScope alone(nullptr);
    const PlainOpsScope as_before(call->plain);
    const auto gradients = call->rule->backward(seen.operands, {y, out}, {dy, out});
    check_gradients(*call, seen, gradients);
    variable_list result;
    for (const Array& g : gradients) result.push_back(g.empty() ? Tensor() : tensor(g));
    result.emplace_back();
    return result;
  }
};

// The axes that no rank may have a part of.
NameList whole_axes(const CustomOpRule& rule, std::span<const Operand> inputs) {
  NameList whole;
  for (const Operand& x : inputs) {
    for (const std::string_view axis : x.names) {
      if (!listed(rule.cut, axis) && !listed(rule.summed, axis) && find(whole, axis) < 0)
        whole.push_back(axis);
    }
  }
  return whole;
}

void check_rule(const CustomOpRule& rule, const Space& space, Names out) {
  for (const std::string_view axis : space.names()) {
    const bool kept = find(out, axis) >= 0;
    if (listed(rule.cut, axis) && !kept) {
      fail(ErrorKind::InvalidArgument,
           "{}: axis {} may be cut, but the result {} lacks it\nhint: name it in `summed` if the op adds up "
           "over it",
           rule.name, axis, describe(out));
    }
    if (listed(rule.summed, axis) && kept) {
      fail(ErrorKind::InvalidArgument, "{}: axis {} is summed, but the result {} has it", rule.name, axis,
           describe(out));
    }
  }
}

}  // namespace

CustomOp::CustomOp(CustomOpRule rule) : rule_(std::make_shared<const CustomOpRule>(std::move(rule))) {
  if (rule_->name.empty()) fail(ErrorKind::InvalidArgument, "custom op: it has no name");
  if (!rule_->forward || !rule_->backward) {
    fail(ErrorKind::InvalidArgument, "{}: a custom op needs forward and backward", rule_->name);
  }
  for (const std::string& axis : rule_->cut) {
    if (!listed(rule_->summed, axis)) continue;
    fail(ErrorKind::InvalidArgument, "{}: axis {} is in both `cut` and `summed`", rule_->name, axis);
  }
}

Array CustomOp::operator()(std::span<const Operand> inputs, Names out) const try {
  const NameList whole = whole_axes(*rule_, inputs);
  const Space space(rule_->name, inputs, whole);
  check_rule(*rule_, space, out);
  auto call = c10::make_intrusive<Call>();
  call->rule = rule_;
  call->out = OwnNames(out);
  for (const std::string_view axis : out) call->sizes.push_back(space.has(axis) ? space.part(axis) : -1);
  variable_list tensors;
  for (const Operand& x : inputs) {
    call->inputs.emplace_back(x.names);
    tensors.push_back(space.local(x));
  }
  return space.label(Custom::apply(at::TensorList(tensors), call), out);
} catch (...) {
  rethrow(rule_->name, inputs);
}

}  // namespace bora::core
