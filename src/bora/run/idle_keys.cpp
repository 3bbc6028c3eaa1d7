// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/idle_keys.h"

#include <fmt/core.h>

#include <array>

namespace bora::run {
namespace {

class IdleKeys {
 public:
  explicit IdleKeys(const LoadedConfig& loaded) : tree_(loaded.tree), config_(loaded.config) {}

  std::vector<std::string> take() {
    look_at_timeline();
    look_at_stop();
    look_at_exports();
    look_at_kept_checkpoints();
    look_at_floor();
    return std::move(out_);
  }

 private:
  std::string end() const {
    return fmt::format("the end of the run, step {} (trainer.num_train_steps)",
                       config_.trainer.num_train_steps);
  }

  void look_at_timeline() {
    const auto& p = config_.trainer.profiler;
    if (!p.enabled || p.start_step < config_.trainer.num_train_steps) return;
    constexpr const char* kNewer = "trainer.profiler.start_step";
    out_.push_back(
        fmt::format("{} = {} is not before {}: no timeline is written; a smaller step, or "
                    "trainer.profiler: false",
                    tree_.has(kNewer) ? kNewer : "trainer.profiler_start_step", p.start_step, end()));
  }

  void look_at_stop() {
    const auto& stop = config_.trainer.stop_at_step;
    if (!stop || *stop < config_.trainer.num_train_steps) return;
    out_.push_back(
        fmt::format("trainer.stop_at_step = {} is not before {}: it stops nothing; a smaller step, or "
                    "leave it out",
                    *stop, end()));
  }

  // Records of runs have the defaults.
  void look_at_exports() {
    if (config_.hf_save_path || config_.peft_save_path || !tree_.scalar("hf_save_steps")) return;
    const auto usual = config_.lora ? kWithLora : LmConfig().hf_save_steps;
    if (config_.hf_save_steps == usual) return;
    out_.push_back(
        fmt::format("hf_save_steps = {} writes nothing: there is no hf_save_path{}; give {}, or leave "
                    "it out",
                    config_.hf_save_steps, config_.lora ? " and no peft_save_path" : "",
                    config_.lora ? "one of them" : "it a folder"));
  }

  // A rule holds from the end of the one before it.
  void look_at_kept_checkpoints() {
    std::int64_t before = 0;
    for (const auto& [every, until] : config_.trainer.checkpointer.keep) {
      if (!until) return;
      if (*until / every == before / every)
        out_.push_back(
            fmt::format("trainer.checkpointer.keep: {{every: {0}, until: {1}}} keeps nothing: no "
                        "multiple of {0} is from {2} to {1}; a smaller every, or a later until",
                        every, *until, before + 1));
      before = *until;
    }
  }

  void look_at_floor() {
    const auto& schedule = *config_.optimizer.config;
    const auto& shape = schedule.lr_schedule.type;
    constexpr const char* kKey = "optimizer.min_lr_ratio";
    constexpr std::array kWithoutFloor = {"constant", "inv_sqrt_decay", "power"};
    if (schedule.cooldown > 0 || !tree_.scalar(kKey) || schedule.min_lr_ratio == usual_floor()) return;
    for (const auto* type : kWithoutFloor)
      if (shape == type)
        out_.push_back(
            fmt::format("{} = {} has no effect with optimizer.lr_schedule: {}, which falls to no floor; "
                        "another lr_schedule, or leave it out",
                        kKey, schedule.min_lr_ratio, shape));
  }

  double usual_floor() const {
    optim::OptimizerChoice fresh;
    const auto* type = optim::optimizer_types().find(config_.optimizer.type);
    return type == nullptr ? fresh->min_lr_ratio : type->config->min_lr_ratio;
  }

  static constexpr std::int64_t kWithLora = 1000;
  const ConfigTree& tree_;
  const LmConfig& config_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> idle_keys(const LoadedConfig& loaded) { return IdleKeys(loaded).take(); }

}  // namespace bora::run
