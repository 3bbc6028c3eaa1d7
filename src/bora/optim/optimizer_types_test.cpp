// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/optimizer_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/optim/add_optimizer.h"
#include "bora/optim/sgd.h"
#include "bora/optim/test_parameters.h"

namespace bora::optim {
namespace {

// An optimizer as a user's own program would have it: the parameters take what `pull` says of a step.
struct PullConfig : OptimizerConfig {
  double pull = 1;
  PullConfig() { weight_decay = 0; }
  void bind(Binder& b) { b.field("pull", pull, kPositive, "how much of the gradient counts"); }
};

class Pull : public Optimizer {
 public:
  using Config = PullConfig;
  Pull(const Config& config, std::span<const core::Parameter>) : config_(config) {}
  StepReport step(std::span<const core::Parameter> parameters, std::span<const core::Array> gradients,
                  const StepInfo& info) override {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      float* p = parameters[i].array->data<float>();
      const float* g = gradients[i].data<float>();
      const auto factor = static_cast<float>(config_.pull * info.learning_rate);
      for (std::int64_t k = 0; k < gradients[i].numel(); ++k) p[k] -= factor * g[k];
    }
    return {};
  }
  std::vector<NamedArray> state() const override { return {}; }
  Json save_state() const override { return nullptr; }
  void load_state(const Json&, std::int64_t) override {}

 private:
  Config config_;
};

// Its own registration is undone, because other tests list the types.
class OwnType : public testing::Test {
 protected:
  OwnType() : before_(optimizer_types()) { add_optimizer<Pull>("pull", "a test"); }
  ~OwnType() override { optimizer_types() = before_; }
  Registry<OptimizerType> before_;
};

std::vector<std::string> read(const std::string& yaml, OptimizerChoice& choice) {
  ConfigTree tree;
  tree.merge_text(yaml, "my.yaml");
  std::vector<std::string> lines;
  for (const auto& p : read_config(tree, choice)) lines.push_back(p.where + " " + p.key + " " + p.message);
  return lines;
}

TEST_F(OwnType, IsConfiguredAndTrains) {
  OptimizerChoice choice;
  ASSERT_THAT(read("type: pull\npull: 2\nlearning_rate: 0.5\n", choice), testing::IsEmpty());
  EXPECT_EQ(choice->weight_decay, 0);
  Model model;
  const auto parameters = model.parameters();
  const float before = model.arrays[0].data<float>()[0];
  const auto gradients = gradients_of_step(0);
  make_optimizer(choice, parameters)->step(parameters, gradients, {.learning_rate = 0.25});
  EXPECT_EQ(model.arrays[0].data<float>()[0], before - 0.5F * gradients[0].data<float>()[0]);
}

TEST_F(OwnType, HasItsOwnWrongKeys) {
  OptimizerChoice choice;
  EXPECT_THAT(read("type: pull\npul: 2\npull: 0\nlearning_rat: 1\n", choice),
              testing::ElementsAre("my.yaml:2 pul unknown key; did you mean pull?",
                                   "my.yaml:3 pull = 0 must be above 0",
                                   "my.yaml:4 learning_rat unknown key; did you mean learning_rate?"));
  EXPECT_THAT(read("type: pul\n", choice),
              testing::ElementsAre("my.yaml:1 type = pul pul is not known; did you mean `pull`?; "
                                   "available: adam, sgd, pull"));
}

TEST(OptimizerTypes, MakingOneThatIsNotThere) {
  OptimizerChoice choice{.type = "muon", .config = SgdConfig()};
  EXPECT_EQ(error_of([&] { make_optimizer(choice, {}); }),
            "optimizer.type: muon is not built yet; available: adam, sgd");
  choice.type = "adam";
  EXPECT_THAT(error_of([&] { make_optimizer(choice, {}); }),
              testing::MatchesRegex("a configuration of type .*SgdConfig.* was asked for one of type "
                                    ".*AdamConfig.*"));
}

TEST(OptimizerTypes, EveryTypeCanBeMade) {
  Model model;
  const auto parameters = model.parameters();
  for (const auto& name : optimizer_types().names()) {
    const auto optimizer = make_optimizer({name, optimizer_types().find(name)->config}, parameters);
    EXPECT_FALSE(optimizer->state().empty()) << name;
    optimizer->step(parameters, gradients_of_step(0), {.learning_rate = 0.1});
  }
}

}  // namespace
}  // namespace bora::optim
