// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/step_graph.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_ops.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/log.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/pass_notes.h"
#include "bora/core/create.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/device.h"
#include "bora/core/torch/node.h"

namespace bora::core {
namespace {

using at::Tensor;

thread_local PassNotes* pass_notes = nullptr;
constexpr std::size_t kMostGraphs =
    128;  // shapes of passes, of those that store gradients and of those that add them

// This thread's work goes to another stream, each of the two in its turn. That stream's memory is its own: libtorch gives it
// to no other one.
class OnStream {
 public:
  explicit OnStream(c10::Stream stream)
      : guard_(stream.device_type()), before_(guard_.getStream(stream.device())), stream_(stream) {
    order(before_, stream_);
    guard_.exchangeStream(stream_);
  }
  ~OnStream() {
    guard_.exchangeStream(before_);
    order(stream_, before_);
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  static void order(c10::Stream first, c10::Stream then) {
    c10::Event done(first.device_type());
    done.record(first);
    done.block(then);
  }
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream before_, stream_;
};

c10::Stream stream_now(const Tensor& like) {
  return c10::impl::VirtualGuardImpl(like.device().type()).getStream(like.device());
}
c10::Stream new_stream(const Tensor& like) {
  return c10::impl::VirtualGuardImpl(like.device().type()).getNewStream(like.device());
}

// A line once in a process for each text.
void say_once(const std::string& text) {
  static std::map<std::string, bool> said;
  if (said.emplace(text, true).second) log_info("{}", text);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Tensor contents_alike(const Tensor& x) {
  return at::_ops::empty_memory_format::call(x.sym_sizes(), x.scalar_type(), {}, x.device(), {}, {});
}

bool same_places(std::span<const Array> a, std::span<const Array> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].empty() || b[i].empty() || tensor(a[i]).const_data_ptr() != tensor(b[i]).const_data_ptr())
      return false;
  }
  return true;
}

}  // namespace

PassNotes::PassNotes(Where there, std::vector<Constant> constants)
    : there_(there), constants_(std::move(constants)), before_(std::exchange(pass_notes, this)) {}
PassNotes::~PassNotes() { pass_notes = before_; }

const Key* PassNotes::place_of(const Key& key) {
  const auto at = static_cast<std::size_t>(std::ranges::find(keys_, key) - keys_.begin());
  if (at == keys_.size()) keys_.push_back(key);
  if (!there_.noting) return nullptr;
  if (at >= there_.count)
    fail(ErrorKind::Unsupported, "it draws with {} keys, and drew with {} before", at + 1, there_.count);
  return there_.keys + at;
}

std::vector<KeyTrail::Way> PassNotes::ways(const Key& root) const {
  std::vector<KeyTrail::Way> out;
  for (const auto& key : keys_) out.push_back(trail_.way(root, key));
  return out;
}

const Key* place_of_key(const Key& key) {
  return pass_notes == nullptr ? nullptr : pass_notes->place_of(key);
}

bool in_noted_pass() { return pass_notes != nullptr; }

Tensor PassNotes::constant(at::IntArrayRef sizes, std::span<const std::byte> bytes,
                           const std::function<Tensor()>& make) {
  for (const auto& known : constants_)
    if (known.array.sizes() == sizes && std::ranges::equal(known.bytes, bytes)) return known.array;
  if (there_.noting) fail(ErrorKind::Unsupported, "it sends an array that it did not send before");
  const OnStream home(there_.home);
  constants_.push_back({{bytes.begin(), bytes.end()}, make()});
  return constants_.back().array;
}

Tensor constant_of_pass(at::IntArrayRef sizes, std::span<const std::byte> bytes,
                        const std::function<Tensor()>& make) {
  return pass_notes == nullptr ? make() : pass_notes->constant(sizes, bytes, make);
}

struct StepGraphs::State {
  enum class Stage { fresh, computed, noted, never };
  struct One {
    Stage stage = Stage::fresh;
    PassInputs inputs;  // that stay where they are
    Tensor keys;        // i64 [2 count]
    std::size_t count = 0;
    std::vector<KeyTrail::Way> ways;
    std::vector<PassNotes::Constant> constants;
    Tensor numbers;  // f64
    void* graph = nullptr;
  };
  using Shape = std::vector<std::int64_t>;

  explicit State(std::vector<Parameter> all)
      : parameters(std::move(all)),
        like(tensor(*parameters.at(0).array).detach()),
        home(stream_now(like)),
        side(new_stream(like)),
        device(recorded_kernels(like).graph) {}
  ~State() {
    forget();
    hold_for_graphs(where(), -room);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void make_gradients();
  void give_gradients_away();
  std::vector<Number> compute(const PassInputs& inputs, bool store, const Pass& pass) const;
  void keep(One& one, const PassInputs& inputs, const PassNotes& notes, std::size_t numbers) const;
  static void bring(const One& one, const PassInputs& inputs);
  void note(One& one, bool store, const Pass& pass) const;
  std::vector<Number> launch(const One& one) const;
  std::vector<Number> run(One& one, const PassInputs& inputs, bool store, const Pass& pass) const;
  bool are_where_they_were();
  void forget();
  Device where() const { return from_torch(like.device()); }

  // While a pass is computed or noted its arrays are counted. Then the side stream keeps their memory, the most of all
  // passes, which the allocator calls free.
  class Counting {
   public:
    explicit Counting(const State& state)
        : state_(state), live_(hold_for_graphs(state.where(), -state.room).live) {}
    ~Counting() {
      const auto most = hold_for_graphs(state_.where(), 0).peak - live_;
      state_.room = std::max(state_.room, most);
      hold_for_graphs(state_.where(), state_.room);
    }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;

   private:
    const State& state_;
    std::int64_t live_;
  };

  std::vector<Parameter> parameters;
  Tensor like;
  c10::Stream home, side;
  DeviceKernels::Graph device;
  Tensor flat;                   // all gradients, one behind the other
  std::vector<Array> gradients;  // parts of it
  std::map<Shape, One> all;
  std::vector<const void*> places;
  std::int64_t given_back = 0;
  mutable std::int64_t room = 0;  // bytes of the side stream
};

namespace {

// What makes another graph: sizes and types of the inputs, documents among them.
std::vector<std::int64_t> shape_of(const PassInputs& inputs, bool store) {
  std::vector<std::int64_t> out{store, inputs.key.has_value()};
  for (const auto& array : inputs.arrays) {
    if (array.empty()) {
      out.push_back(-1);
      continue;
    }
    const Tensor& x = tensor(array);
    out.insert(out.end(), {x.dim(), static_cast<std::int64_t>(x.scalar_type())});
    out.insert(out.end(), x.sizes().begin(), x.sizes().end());
    const auto* documents = array.node()->documents.get();
    out.push_back(documents == nullptr ? -1 : documents->longest);
    out.push_back(documents == nullptr || !documents->starts.defined() ? 0 : documents->starts.numel());
  }
  return out;
}

}  // namespace

// Whether all that graphs read lies where it did, and the memory that they work in is still theirs.
bool StepGraphs::State::are_where_they_were() {
  auto now = autograd::places_of_copies();
  if (!now) return false;
  for (const auto& p : parameters) now->push_back(tensor(*p.array).const_data_ptr());
  const auto times = times_given_back(where());
  if (*now == places && times == given_back) return true;
  forget();
  if (times != given_back) hold_for_graphs(where(), -std::exchange(room, 0));
  places = std::move(*now);
  given_back = times;
  return true;
}

void StepGraphs::State::forget() {
  for (auto& [shape, one] : all)
    if (one.graph != nullptr) device.destroy(one.graph);
  std::erase_if(all, [](const auto& each) { return each.second.stage != Stage::never; });
}

void StepGraphs::State::make_gradients() {
  constexpr std::int64_t kPack = 64;  // elements at whose multiples arrays begin
  const auto trained = trainable_parameters(parameters);
  std::int64_t total = 0;
  for (const auto& p : trained) total += (p.array->numel() + kPack - 1) / kPack * kPack;
  flat = at::_ops::empty_memory_format::call({total}, at::kFloat, {}, like.device(), {}, {});
  std::int64_t first = 0;
  for (const auto& p : trained) {
    const auto n = p.array->numel();
    gradients.push_back(wrap(flat.narrow(0, first, n).view(tensor(*p.array).sizes())));
    first += (n + kPack - 1) / kPack * kPack;
  }
}

// Who still has the last gradients gets them as a copy: their places are stored in anew.
void StepGraphs::State::give_gradients_away() {
  if (!flat.defined()) make_gradients();
  const auto is_held = [](const Array& g) { return g.node()->references.load() > 1; };
  if (std::ranges::none_of(gradients, is_held)) return;
  const Tensor copy = flat.clone();
  for (auto& g : gradients) {
    Array own = wrap(g.node()->tensor);
    g.node()->tensor = copy.as_strided(own.node()->tensor.sizes(), own.node()->tensor.strides(),
                                       own.node()->tensor.storage_offset());
    g = std::move(own);
  }
}

// The numbers leave the memory of the side stream, in which graphs work.
std::vector<Number> StepGraphs::State::compute(const PassInputs& inputs, bool store, const Pass& pass) const {
  std::vector<Number> numbers;
  {
    const Counting counting(*this);
    const OnStream there(side);
    std::optional<PassNotes> notes;  // nothing is kept of what lies there
    if (!in_noted_pass())
      notes.emplace(PassNotes::Where{home, false, nullptr, 0}, std::vector<PassNotes::Constant>{});
    std::vector<Array> into = gradients;
    numbers = pass(inputs, {into, store});
  }
  for (auto& number : numbers)
    if (!number.array().empty()) number = Number(wrap(tensor(number.array()).clone()));
  return numbers;
}

void StepGraphs::State::keep(One& one, const PassInputs& inputs, const PassNotes& notes,
                             std::size_t numbers) const {
  for (const auto& array : inputs.arrays) {
    if (array.empty()) {
      one.inputs.arrays.emplace_back();
      continue;
    }
    one.inputs.arrays.push_back(wrap(contents_alike(tensor(array))));
    const auto* documents = array.node()->documents.get();
    if (documents == nullptr) continue;
    auto own = std::make_shared<Documents>(*documents);
    if (own->starts.defined()) own->starts = contents_alike(own->starts);
    one.inputs.arrays.back().node()->documents = std::move(own);
  }
  const auto row = [&](std::size_t n, at::ScalarType type) {
    return at::_ops::empty_memory_format::call({static_cast<std::int64_t>(n)}, type, {}, like.device(), {},
                                               {});
  };
  one.count = notes.count();
  one.keys = row(2 * one.count, at::kLong);
  one.numbers = row(numbers, at::kDouble);
  one.constants = notes.constants();
}

void StepGraphs::State::note(One& one, bool store, const Pass& pass) const {
  const Counting counting(*this);
  const OnStream there(side);
  const auto stream = stream_of(like);
  if (!device.begin(stream)) fail(ErrorKind::Unsupported, "the device takes no graph now");
  try {
    std::vector<Array> into = gradients;
    const PassNotes::Where where{home, true, static_cast<const Key*>(one.keys.const_data_ptr()), one.count};
    PassNotes notes(where, one.constants);
    std::vector<Tensor> each;
    for (const auto& number : pass(one.inputs, {into, store})) {
      if (number.array().empty()) fail(ErrorKind::Unsupported, "one of its numbers is computed by the host");
      each.push_back(tensor(number.array()).detach().reshape({1}).to(at::kDouble));
    }
    one.numbers.copy_(at::cat(each));
    one.ways = notes.ways(one.inputs.key.value_or(Key()));
  } catch (...) {
    if (void* graph = device.end(stream)) device.destroy(graph);
    throw;
  }
  one.graph = device.end(stream);
  if (one.graph == nullptr) fail(ErrorKind::Unsupported, "the device takes no such graph");
}

void StepGraphs::State::bring(const One& one, const PassInputs& inputs) {
  for (std::size_t i = 0; i < inputs.arrays.size(); ++i) {
    if (inputs.arrays[i].empty()) continue;
    tensor(one.inputs.arrays[i]).copy_(tensor(inputs.arrays[i]));
    const auto *to = one.inputs.arrays[i].node()->documents.get(),
               *from = inputs.arrays[i].node()->documents.get();
    if (from != nullptr && from->starts.defined()) to->starts.copy_(from->starts);
  }
  if (!one.ways.empty()) {
    std::vector<std::int64_t> words;
    for (const auto& way : one.ways) {
      const Key key = way.from(inputs.key.value_or(Key()));
      words.insert(words.end(), {static_cast<std::int64_t>(key.key), static_cast<std::int64_t>(key.stream)});
    }
    const std::array<std::string_view, 1> names{"word"};
    const std::array<std::int64_t, 1> sizes{std::ssize(words)};
    one.keys.narrow(0, 0, sizes[0])
        .copy_(tensor(from_data({names, sizes}, std::span<const std::int64_t>(words))));
  }
}

std::vector<Number> StepGraphs::State::launch(const One& one) const {
  if (!device.launch(one.graph, stream_of(like)))
    fail(ErrorKind::Unsupported,
         "step graph: {} does not launch what it has noted\n"
         "hint: trainer.cuda_graphs: false gives it operations one by one",
         name(where()));
  const Tensor numbers = one.numbers.clone();
  std::vector<Number> out;
  for (std::int64_t i = 0; i < numbers.numel(); ++i) out.emplace_back(wrap(numbers.select(0, i)));
  return out;
}

std::vector<Number> StepGraphs::State::run(One& one, const PassInputs& inputs, bool store,
                                           const Pass& pass) const {
  if (one.stage == Stage::never) return compute(inputs, store, pass);
  if (one.stage == Stage::fresh) {
    PassNotes notes({home, false, nullptr, 0}, {});
    auto numbers = compute(inputs, store, pass);
    keep(one, inputs, notes, numbers.size());
    one.stage = Stage::computed;
    return numbers;
  }
  one.inputs.key = inputs.key;
  bring(one, inputs);
  if (one.stage == Stage::computed) {
    try {
      const auto before = times_given_back(where());
      note(one, store, pass);
      if (times_given_back(where()) != before) {  // of its own memory, perhaps: another time
        device.destroy(std::exchange(one.graph, nullptr));
        return compute(inputs, store, pass);
      }
      one.stage = Stage::noted;
    } catch (const std::exception& e) {
      one = {.stage = Stage::never};
      say_once(fmt::format("no graph of a pass, whose operations go to {} one by one: {}", name(where()),
                           first_line(e.what())));
      return compute(inputs, store, pass);
    }
    bring(one, inputs);  // its keys
  }
  // Arrays that were made since it was looked may have cost the graph its memory. The next pass sees it.
  if (times_given_back(where()) != given_back) return compute(inputs, store, pass);
  return launch(one);
}

bool has_graphs(Device device) {
  return device.type != Device::Type::cpu && kernels_on(device).graph.begin != nullptr;
}

StepGraphs::StepGraphs(std::vector<Parameter> parameters)
    : state_(std::make_unique<State>(std::move(parameters))) {}
StepGraphs::~StepGraphs() = default;

std::vector<Number> StepGraphs::run(const PassInputs& inputs, std::span<Array> into, const Pass& pass) {
  auto& state = *state_;
  const bool store = !into.empty() && into[0].empty();
  if (!plain_ops()) autograd::make_copies();
  if (plain_ops() || into.empty() || !state.are_where_they_were() ||
      (!store && !same_places(state.gradients, into)))
    return pass(inputs, {into});
  if (store) state.give_gradients_away();
  const auto shape = shape_of(inputs, store);
  const bool full = state.all.size() >= kMostGraphs && !state.all.contains(shape);
  auto numbers = full ? state.compute(inputs, store, pass) : state.run(state.all[shape], inputs, store, pass);
  if (store) std::ranges::copy(state.gradients, into.begin());
  return numbers;
}

}  // namespace bora::core
