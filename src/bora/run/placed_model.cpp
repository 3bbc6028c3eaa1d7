// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/placed_model.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/checkpoint/hugging_face.h"
#include "bora/core/create.h"
#include "bora/core/update.h"
#include "bora/models/add_model.h"
#include "bora/run/hf_start.h"
#include "bora/run/models.h"
#include "bora/store/hub.h"

namespace bora::run {
namespace {

bool on_every_worker_of_a_lane(const core::Array& x) {
  const auto cuts = core::cuts_of(x);
  return std::all_of(cuts.begin(), cuts.end(), [](int dim) { return dim < 0; });
}

}  // namespace

PlacedModel::PlacedModel(const LoadedConfig& loaded, std::shared_ptr<mesh::Communicator> world,
                         std::int64_t vocab) {
  const auto& trainer = loaded.config.trainer;
  const auto plan = train::resolve_mesh(trainer.mesh, trainer.fsdp_axis, world->size(), vocab);
  mesh_ = std::make_unique<mesh::Mesh>(std::move(world), plan.shape, plan.rules);
  mapping_scope_.emplace(mesh_->mapping());
  const auto& shape = plan.shape;
  if (shape.expert > 1 || (shape.data > 1 && !plan.fsdp_axes.empty())) {
    sharded_ = std::make_unique<mesh::ShardedParameters>(mesh_->lanes(), plan.fsdp_axes, shape.replica,
                                                         shape.expert);
    store_scope_.emplace(*sharded_);
  }
  make(loaded, vocab);
  train::require_experts(plan, model_parameters_, loaded.config.model.config->type());
  const auto& start = loaded.config.initialize_from_hf;
  if (!start.empty()) load_hugging_face(start);
}

void PlacedModel::make(const LoadedConfig& loaded, std::int64_t vocab) {
  const auto& config = loaded.config;
  const auto& from = config.initialize_from_hf;
  const auto key = Key::from_seed(static_cast<std::uint64_t>(config.trainer.seed)).fold("model");
  if (!from.empty()) {
    const auto theirs = models::vocab_size_from_hf(checkpoint::read_hf_config(from), from + "/config.json");
    if (theirs != vocab) stored_vocab_ = theirs;
  }
  model_ = models::make_model(*config.model.config, vocab, key);
  choose_trained(*model_, config);
  model_parameters_ = model_->parameters();
  if (sharded_) sharded_->adopt(model_parameters_);
}

// One parameter after the other: the whole model may fit on no worker.
void PlacedModel::load_hugging_face(const std::string& from) {
  store::fetch_weights(from, store::hub_options());
  const auto take = [&](const checkpoint::HfParameter& p, core::Array whole) {
    core::place_parameter(whole, p.parameter.axes);
    const auto i = p.parameter.id;
    if (sharded_) return sharded_->store(i, whole);
    core::copy_into(*model_parameters_[i].array, whole);
  };
  checkpoint::load_hugging_face(from, hf_parameters(*model_), take, stored_vocab_);
}

ParameterCounts PlacedModel::counts() const { return count_parameters(model_parameters_); }

std::string PlacedModel::describe_workers() const {
  const auto& s = mesh_->shape();
  if (s.workers() == 1) return "";
  bool any = false;
  for (std::size_t i = 0; sharded_ && i < sharded_->size(); ++i) any = any || !sharded_->cut(i).replicated();
  const auto sharded = [&](std::string_view over) {
    return any ? fmt::format(", parameters sharded over {}", over) : std::string();
  };
  if (s.data == s.workers()) return fmt::format("{} workers{}", s.workers(), sharded("them"));
  const auto over = s.expert == 1 ? "data" : s.data == 1 ? "expert" : "data and expert";
  return fmt::format("{} workers ({}){}", s.workers(), s.text(), sharded(over));
}

std::vector<core::Parameter> PlacedModel::parameters() {
  return sharded_ ? sharded_->shards() : model_parameters_;
}

std::vector<core::Parameter> PlacedModel::replicas() { return replicas_of(false); }
std::vector<core::Parameter> PlacedModel::replicas_of_experts() { return replicas_of(true); }

std::vector<core::Parameter> PlacedModel::replicas_of(bool experts) {
  std::vector<core::Parameter> out;
  const auto all = parameters();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool of_experts = sharded_ != nullptr && sharded_->of_experts(i);
    if (of_experts == experts && (sharded_ == nullptr || sharded_->cut(i).replicated()))
      out.push_back(all[i]);
  }
  return out;
}

std::vector<core::Parameter> PlacedModel::replicas_everywhere() {
  std::vector<core::Parameter> out;
  for (const auto& p : replicas())
    if (on_every_worker_of_a_lane(*model_parameters_[p.id].array)) out.push_back(p);
  return out;
}

void PlacedModel::mark_blocks(std::vector<checkpoint::CheckpointArray>& arrays) const {
  if (!distributed()) return;
  for (auto& a : arrays) {
    if (!a.parameter) continue;
    const auto i = *a.parameter;
    if (sharded_) {
      a.cut = sharded_->cut(i);
      a.worker = sharded_->shard_index(i);
    }
    const auto& parameter = *model_parameters_[i].array;
    const auto cuts = core::cuts_of(parameter);
    auto sizes = core::whole_sizes(parameter);
    for (std::size_t m = 0; mesh_->mapping() != nullptr && m < mesh_->mapping()->size(); ++m) {
      if (cuts[m] < 0) continue;
      auto& workers = mesh_->mapping()->workers(m);
      a.outer.push_back({mesh::AxisCut(sizes, cuts[m], workers.size()), workers.rank()});
      sizes = a.outer.back().cut.sizes(workers.rank());
    }
  }
}

// On the workers that share a lane with one, of which the experts' others may be; empty on the rest.
core::Array PlacedModel::whole_array(std::size_t i, const core::Array& block, int lane) const {
  const auto& p = model_parameters_[i];
  if (block.dtype() != core::DType::f32) {  // workers send each other fp32, of which bf16 is a part
    auto wide = core::uninitialized({p.axes, block.sizes()});
    core::copy_into(wide, block);
    wide = whole_array(i, wide, lane);
    if (wide.empty()) return {};
    auto narrow = core::uninitialized({p.axes, wide.sizes()}, block.dtype());
    core::copy_into(narrow, wide);
    return narrow;
  }
  core::Array of_lane;
  if (sharded_)
    of_lane = sharded_->assemble(i, block, lane);
  else if (mesh_->lanes()->rank() == lane)
    of_lane = block;
  if (of_lane.empty()) return {};
  return core::whole({core::like(*p.array, of_lane), p.axes});
}

void PlacedModel::assemble(checkpoint::CheckpointContent& c) const {
  auto& world = *mesh_->world();
  const int together = mesh_->shape().workers_per_lane();
  c.part = {world.rank(), world.size()};
  c.owned = true;
  std::vector<std::int64_t> load(static_cast<std::size_t>(world.size()));
  for (auto* arrays : {&c.parameters, &c.optimizer}) {
    std::vector<checkpoint::CheckpointArray> own;
    for (auto& a : *arrays) {
      const auto writer = std::min_element(load.begin(), load.end());
      const auto at = static_cast<int>(writer - load.begin());
      const bool sharded = sharded_ != nullptr && a.parameter;
      *writer +=
          sharded ? std::max(sharded_->cut(*a.parameter).elements(), a.array.numel()) : a.array.numel();
      auto whole = a.parameter ? whole_array(*a.parameter, a.array, at / together) : a.array;
      if (at != world.rank()) continue;
      const bool same = core::share_memory(whole, a.array);  // which training goes on to change
      own.push_back({.path = a.path, .names = a.names, .array = same ? whole.clone() : whole});
    }
    *arrays = std::move(own);
  }
}

void PlacedModel::lend_values(const std::function<void(const WholeValues&)>& use) {
  constexpr std::int64_t kEnd = -1;
  auto& world = *mesh_->world();
  const auto blocks = parameters();
  const auto say = [&](std::int64_t& number) {
    world.broadcast(0, std::as_writable_bytes(std::span(&number, 1)));
  };
  if (world.rank() == 0) {
    use([&](const core::Parameter& p) {
      auto i = static_cast<std::int64_t>(p.id);
      say(i);
      return whole_array(static_cast<std::size_t>(i), *blocks[static_cast<std::size_t>(i)].array, 0);
    });
    auto end = kEnd;
    return say(end);
  }
  for (std::int64_t i = 0;;) {
    say(i);
    if (i == kEnd) return;
    whole_array(static_cast<std::size_t>(i), *blocks[static_cast<std::size_t>(i)].array, 0);
  }
}

void PlacedModel::with_whole_positions(const std::function<void()>& use) {
  const core::MappingScope scope(mesh_->mapping_of_whole_positions());
  use();
  if (sharded_) sharded_->release();
}

}  // namespace bora::run
