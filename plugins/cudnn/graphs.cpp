// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "graphs.h"

#include <cudnn_frontend.h>
#include <dlfcn.h>
#include <fmt/core.h>

#include <exception>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bora/base/error.h"
#include "offsets.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // what the frontend calls cuDNN by
}

namespace bora::cudnn {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

enum Uid : std::int64_t { q = 1, k, v, out, stats, dout, dq, dk, dv, lengths, offsets = 20 };
constexpr std::int64_t kAlign = 256;

std::string open_library() {
  void* const handle = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fmt::format("it cannot be loaded: {}", ::dlerror());
  auto* const version = reinterpret_cast<std::size_t (*)()>(::dlsym(handle, "cudnnGetVersion"));
  if (version == nullptr) return "libcudnn.so.9 has no cudnnGetVersion";
  const auto found = static_cast<std::int64_t>(version());
  if (found < kLeastVersion)
    return fmt::format("it is {}, and this program needs {} or newer", version_text(found),
                       version_text(kLeastVersion));
  fe::cudnn_dlhandle = handle;
  return "";
}

// Half a sentence of cuDNN's, which gives a reason for each engine that it has tried, line by line.
std::string first_reason(const std::string& message) {
  constexpr std::string_view kReason = "Reason: ", kWhose = "[cudnn_frontend] Error: ";
  const auto at = message.find(kReason);
  auto from = at == message.npos ? 0 : at + kReason.size();
  if (message.find(kWhose, from) == from) from += kWhose.size();
  return message.substr(from, message.find('\n', from) - from);
}

void require(fe::error_t status) {
  if (!status.is_good()) fail(ErrorKind::Unsupported, "{}", first_reason(status.get_message()));
}

}  // namespace

const std::string& why_no_library() {
  static const std::string why = open_library();
  return why;
}

std::int64_t library_version() { return static_cast<std::int64_t>(fe::detail::get_backend_version()); }

struct Target::Parts {
  cudnnHandle_t handle = nullptr;
  int device = 0, capability = 0;
  std::shared_ptr<fe::DeviceProperties> described;
};

Target::Target(std::int8_t device) : parts_(std::make_unique<Parts>()) {
  parts_->device = device;
  const auto status = fe::detail::create_handle(&parts_->handle);
  if (status != CUDNN_STATUS_SUCCESS)
    fail(ErrorKind::Unsupported, "cudnnCreate: {}", fe::detail::get_error_string(status));
}

Target::Target(const std::string& description, int capability) : parts_(std::make_unique<Parts>()) {
  parts_->capability = capability;
  parts_->described = std::make_shared<fe::DeviceProperties>();
  require(parts_->described->deserialize({description.begin(), description.end()}));
}

Target::~Target() {
  if (parts_->handle != nullptr) fe::detail::destroy_handle(parts_->handle);
}

struct Graph::State {
  fe::graph::Graph graph;
  Sdpa sdpa;
  bool backward;
  std::int64_t room_of_plan = 0, documents = 0;  // 0: none
  std::vector<std::int64_t> multiples;           // of positions, each once
  std::unordered_map<std::int64_t, Tensor> offsets_of;

  State(const Target::Parts& target, const Sdpa& s, bool b) : sdpa(s), backward(b) {
    if (target.described) graph.set_device_properties(target.described).set_sm_version(target.capability);
    graph.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (s.positions > 0) documents = s.q.dim[0];
  }

  Tensor numbers(std::int64_t uid, std::int64_t n) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name("numbers" + std::to_string(uid))
                            .set_uid(uid)
                            .set_dim({n, 1, 1, 1})
                            .set_stride({1, 1, 1, 1})
                            .set_data_type(fe::DataType_t::INT32));
  }
  Tensor offsets(std::int64_t of_position) {
    auto& found = offsets_of[of_position];
    if (!found) {
      found = numbers(Uid::offsets + std::ssize(multiples), documents + 1);
      multiples.push_back(of_position);
    }
    return found;
  }
  void describe(fe::graph::Tensor_attributes& to, const Operand& x, Uid uid) {
    to.set_uid(uid).set_dim({x.dim.begin(), x.dim.end()}).set_stride({x.stride.begin(), x.stride.end()});
    if (x.of_position > 0) to.set_ragged_offset(offsets(x.of_position));
  }
  Tensor input(const Operand& x, Uid uid, fe::DataType_t type = fe::DataType_t::BFLOAT16) {
    fe::graph::Tensor_attributes out;
    describe(out, x, uid);
    return graph.tensor(out.set_name("input" + std::to_string(uid)).set_data_type(type));
  }
  void output(const Tensor& to, const Operand& x, Uid uid, fe::DataType_t type = fe::DataType_t::BFLOAT16) {
    describe(*to, x, uid);
    to->set_output(true).set_data_type(type);
  }

  template <class Options>
  void set_mask(Options& options) {
    options.set_attn_scale(sdpa.scale)
        .set_diagonal_alignment(sdpa.bottom_right ? fe::DiagonalAlignment_t::BOTTOM_RIGHT
                                                  : fe::DiagonalAlignment_t::TOP_LEFT);
    if (sdpa.causal) options.set_diagonal_band_right_bound(0);
    if (sdpa.left_bound) options.set_diagonal_band_left_bound(static_cast<int>(*sdpa.left_bound));
    if (documents > 0) {
      const auto n = numbers(Uid::lengths, documents);
      options.set_padding_mask(true).set_seq_len_q(n).set_seq_len_kv(n);
    }
  }

  void describe_forward() {
    auto options = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
    set_mask(options);
    const auto [result, logs] =
        graph.sdpa(input(sdpa.q, Uid::q), input(sdpa.k, Uid::k), input(sdpa.v, Uid::v), options);
    output(result, sdpa.out, Uid::out);
    output(logs, sdpa.stats, Uid::stats, fe::DataType_t::FLOAT);
  }

  void describe_backward() {
    auto options =
        fe::graph::SDPA_backward_attributes().set_name("gradients").set_deterministic_algorithm(true);
    set_mask(options);
    if (documents > 0)
      options.set_max_total_seq_len_q(sdpa.positions).set_max_total_seq_len_kv(sdpa.positions);
    const auto of_q = input(sdpa.q, Uid::q), of_k = input(sdpa.k, Uid::k), of_v = input(sdpa.v, Uid::v),
               result = input(sdpa.out, Uid::out), gradient = input(sdpa.out, Uid::dout),
               logs = input(sdpa.stats, Uid::stats, fe::DataType_t::FLOAT);
    const auto [q_gradient, k_gradient, v_gradient] =
        graph.sdpa_backward(of_q, of_k, of_v, result, gradient, logs, options);
    output(q_gradient, sdpa.dq, Uid::dq);
    output(k_gradient, sdpa.dk, Uid::dk);
    output(v_gradient, sdpa.dv, Uid::dv);
  }

  void make(const Target::Parts& target) {
    require(graph.validate());
    require(target.described ? graph.build_operation_graph() : graph.build_operation_graph(target.handle));
    require(graph.create_execution_plans({fe::HeurMode_t::A}));
    graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
    require(graph.check_support());
    require(graph.build_plans());
    require(graph.get_workspace_size(room_of_plan));
    room_of_plan = (room_of_plan + kAlign - 1) / kAlign * kAlign;
  }
};

Graph::Graph(const Target& target, const Sdpa& sdpa, bool backward)
    : state_(std::make_unique<State>(target.parts(), sdpa, backward)) {
  if (backward)
    state_->describe_backward();
  else
    state_->describe_forward();
  state_->make(target.parts());
}
Graph::~Graph() = default;

std::int64_t Graph::room() const {
  const auto n = state_->documents;
  return state_->room_of_plan + (n == 0 ? 0 : 4 * (n + std::ssize(state_->multiples) * (n + 1)));
}

void Graph::run(const Target& target, const core::AttentionArrays& arrays, void* stream) const try {
  const auto handle = target.parts().handle;
  if (const auto status = fe::detail::set_stream(handle, static_cast<cudaStream_t>(stream));
      status != CUDNN_STATUS_SUCCESS)
    fail(ErrorKind::Stopped, "cuDNN: the stream: {}", fe::detail::get_error_string(status));
  const auto address = [](const void* p) { return const_cast<void*>(p); };
  std::unordered_map<std::int64_t, void*> places{{Uid::q, address(arrays.q)},
                                                 {Uid::k, address(arrays.k)},
                                                 {Uid::v, address(arrays.v)},
                                                 {Uid::out, arrays.out},
                                                 {Uid::stats, arrays.lse}};
  if (state_->backward) {
    places[Uid::dout] = address(arrays.dout);
    places[Uid::dq] = arrays.dq;
    places[Uid::dk] = arrays.dk;
    places[Uid::dv] = arrays.dv;
  }
  if (const auto n = state_->documents; n > 0) {
    auto* const lengths =
        reinterpret_cast<std::int32_t*>(static_cast<char*>(arrays.room) + state_->room_of_plan);
    auto* const offsets = lengths + n;
    Multiples multiples{{}, static_cast<int>(state_->multiples.size())};
    places[Uid::lengths] = lengths;
    for (std::size_t i = 0; i < state_->multiples.size(); ++i) {
      multiples.of[i] = state_->multiples[i];
      places[Uid::offsets + static_cast<std::int64_t>(i)] = offsets + static_cast<std::int64_t>(i) * (n + 1);
    }
    write_offsets(n, arrays.starts, multiples, lengths, offsets, stream);
  }
  if (auto status = state_->graph.execute(handle, places, arrays.room); !status.is_good())
    fail(ErrorKind::Stopped, "cuDNN: {}", first_reason(status.get_message()));
} catch (const Error&) {
  throw;
} catch (const std::exception& e) {
  fail(ErrorKind::Stopped, "cuDNN: {}", e.what());
}

}  // namespace bora::cudnn
