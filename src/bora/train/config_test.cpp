// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A file of which only the trainer block is looked at.
struct Root {
  TrainerConfig trainer;
  void bind(Binder& b) { b.field("trainer", trainer); }
};

struct Read {
  Root root;
  std::vector<std::string> problems;
  std::vector<std::string> ignored;
};

Read read(const std::string& trainer_block) {
  ConfigTree tree;
  tree.merge_text("trainer:\n" + trainer_block, "t.yaml");
  Read out;
  for (const auto& p : read_config(tree, out.root)) out.problems.push_back(p.key + ": " + p.message);
  for (const auto& p : ignored_keys(tree, out.root)) out.ignored.push_back(p.key);
  return out;
}

TEST(TrainerConfigDefaults, AreLevanters) {
  const TrainerConfig t;
  EXPECT_EQ(t.seed, 0);
  EXPECT_EQ(t.train_batch_size.batch_size(0), 512);
  EXPECT_EQ(t.num_train_steps, 400000);
  EXPECT_EQ(t.steps_per_eval, 1000);
  EXPECT_EQ(t.mp.compute, core::DType::f32);
  EXPECT_FALSE(t.max_eval_batches || t.load_checkpoint || t.id || t.lanes);
  EXPECT_TRUE(t.crash_on_nan && t.crash_on_inf && t.cuda_graphs);
  EXPECT_THAT(t.trackers(), IsEmpty());
}

TEST(TrainerConfigFreeze, IsAListOfPaths) {
  EXPECT_THAT(TrainerConfig().freeze, IsEmpty());
  const auto r = read("  freeze: [embed_tokens, \"layers.*.mlp\"]\n");
  EXPECT_THAT(r.problems, IsEmpty());
  EXPECT_THAT(r.root.trainer.freeze, ElementsAre("embed_tokens", "layers.*.mlp"));
}

TEST(TrainerConfigMixedPrecision, ReadsLevantersPolicies) {
  for (const auto& [text, dtype] : std::vector<std::pair<std::string, core::DType>>{
           {"f32", core::DType::f32},
           {"bfloat16", core::DType::bf16},
           {"p=f32", core::DType::f32},
           {"p=f32,c=bfloat16", core::DType::bf16},
           {"p=f32,c=bf16", core::DType::bf16},
           {"params=float32, compute=bfloat16, output=float32", core::DType::bf16},
           {"p=bfloat16,c=bfloat16", core::DType::bf16}}) {
    const auto r = read("  mp: \"" + text + "\"\n");
    EXPECT_THAT(r.problems, IsEmpty()) << text;
    EXPECT_EQ(r.root.trainer.mp.compute, dtype) << text;
  }
  EXPECT_THAT(read("  mp: x=f32\n").problems,
              ElementsAre(HasSubstr("x is not one of p (parameters), c (compute), o (output)")));
  EXPECT_THAT(read("  mp: c=f64\n").problems,
              ElementsAre(HasSubstr("computing in f64 is not supported; use f32 or bf16")));
  EXPECT_EQ(read("  mp: c=f33\n").problems.size(), 1);
  EXPECT_THAT(read("  mp: p=f32,p=bf16,c=f32\n").problems,
              ElementsAre(HasSubstr("gives p twice: f32 and bf16")));
  EXPECT_THAT(read("  mp: bf16,c=f32\n").problems, ElementsAre(HasSubstr("gives c twice: bf16 and f32")));
  EXPECT_EQ(read("  mp: [f32]\n").problems.size(), 1);
}

TEST(TrainerConfigMixedPrecision, SaysWhatOfAPolicyIsNotUsed) {
  const auto ignored = [](const std::string& text) {
    ConfigTree tree;
    tree.merge_text("mp: \"" + text + "\"", "config.yaml");
    TrainerConfig config;
    std::vector<std::string> out;
    for (const auto& p : ignored_keys(tree, config)) out.push_back(p.message);
    return out;
  };
  const std::string rest = ": parameters and losses are kept in f32; c says what is computed in";
  EXPECT_THAT(ignored("p=bf16,c=bf16"), ElementsAre("p=bf16" + rest));
  EXPECT_THAT(ignored("c=bf16,o=bf16"), ElementsAre("o=bf16" + rest));
  EXPECT_THAT(ignored("p=f32,c=bf16,o=f32"), IsEmpty());
}

TEST(TrainerConfigPeakFlops, IsMeasuredOrANumber) {
  EXPECT_FALSE(TrainerConfig().peak_flops.per_second);
  for (const auto* words : {"auto", "~"}) {
    const auto r = read(std::string("  peak_flops: ") + words + "\n");
    EXPECT_THAT(r.problems, IsEmpty()) << words;
    EXPECT_FALSE(r.root.trainer.peak_flops.per_second) << words;
  }
  const auto given = read("  peak_flops: 1.5e12\n");
  EXPECT_THAT(given.problems, IsEmpty());
  EXPECT_EQ(given.root.trainer.peak_flops.per_second, 1.5e12);
  for (const auto* wrong : {"0", "-1e9", "fast", "inf", "1e300", "nan"}) {
    EXPECT_THAT(read(std::string("  peak_flops: ") + wrong + "\n").problems,
                ElementsAre(std::string("trainer.peak_flops = ") + wrong +
                            ": must be auto or a number above 0: operations in a second, such as 1.2e12"));
  }
  auto config = given.root.trainer;
  EXPECT_THAT(write_config(config), HasSubstr("peak_flops: \"1500000000000\""));
}

TEST(TrainerConfigBatch, IsANumberAScheduleOrMinusOne) {
  EXPECT_EQ(read("  train_batch_size: 32\n").root.trainer.batch_schedule().batch_size(7), 32);
  const auto stages = read("  train_batch_size: [{start: 0, value: 64}, {start: 64, value: 128}]\n");
  EXPECT_THAT(stages.problems, IsEmpty());
  EXPECT_EQ(stages.root.trainer.batch_schedule().batch_size(64), 128);
  const auto inferred = read("  train_batch_size: -1\n  per_device_parallelism: 4\n");
  EXPECT_THAT(inferred.problems, IsEmpty());
  EXPECT_EQ(inferred.root.trainer.batch_schedule().batch_size(0), 4);
  EXPECT_THAT(read("  train_batch_size: -1\n").problems,
              ElementsAre("trainer.train_batch_size = -1: is -1; that needs per_device_parallelism"));
  EXPECT_THAT(read("  per_device_parallelism: 0\n").problems,
              ElementsAre("trainer.per_device_parallelism = 0: must be -1 or from 1 to 2147483647"));
}

TEST(TrainerConfigTrackers, OneOrAListOrTheOldSpelling) {
  const auto one = read("  tracker: {project: levanter, tags: [a, b]}\n");
  EXPECT_THAT(one.problems, IsEmpty());
  ASSERT_EQ(one.root.trainer.trackers().size(), 1);
  EXPECT_EQ(one.root.trainer.trackers()[0].type, "wandb");
  EXPECT_THAT(one.root.trainer.trackers()[0].config.as<track::WandbConfig>().tags, ElementsAre("a", "b"));

  const auto list = read(
      "  tracker:\n    - {type: wandb, id: otter, resume: true, save_code: false}\n"
      "    - {type: tensorboard, logdir: tb/, flush_secs: 10}\n    - {type: trackio, space_id: x}\n"
      "    - {type: json_logger, level: 20}\n");
  EXPECT_THAT(list.problems, IsEmpty());
  EXPECT_EQ(list.root.trainer.trackers().size(), 4);
  EXPECT_EQ(list.root.trainer.trackers()[0].config.as<track::WandbConfig>().resume, "true");
  EXPECT_EQ(list.root.trainer.trackers()[1].config.as<track::TensorboardConfig>().logdir, "tb/");
  EXPECT_EQ(list.root.trainer.configured_id(), "otter");
  EXPECT_EQ(list.ignored.size(), 3);

  const auto old = read("  id: mine\n  tracker: {type: tensorboard}\n  wandb: {project: p, id: otter}\n");
  EXPECT_THAT(old.problems, IsEmpty());
  ASSERT_EQ(old.root.trainer.trackers().size(), 1);
  EXPECT_EQ(old.root.trainer.trackers()[0].config.as<track::WandbConfig>().project, "p");
  EXPECT_EQ(old.root.trainer.configured_id(), "mine");

  EXPECT_THAT(read("  tracker: {type: tensorbord}\n").problems,
              ElementsAre(HasSubstr("did you mean `tensorboard`?")));
}

TEST(TrainerConfigIgnored, KeysAreReadAndTold) {
  const auto r = read(
      "  fsdp_axis: [embed, mlp]\n  tensor_parallel_axes: [mlp, heads]\n  axis_resources: {token: data}\n"
      "  ray: {auto_start_cluster: false}\n  profiler_perfetto_link: true\n  watch: {interval: 10}\n"
      "  model_averaging: {type: ema, beta: 0.995}\n  jax_config: {jax_threefry_partitionable: true}\n");
  EXPECT_THAT(r.problems, IsEmpty());
  EXPECT_EQ(r.ignored.size(), 5);  // the first three are read
}

TEST(TrainerConfigIgnored, SaysWhatIsOtherThanInLevanter) {
  const auto why = [](const std::string& block) {
    ConfigTree tree;
    tree.merge_text("trainer: " + block, "t.yaml");
    Root root;
    const auto ignored = ignored_keys(tree, root);
    return ignored.size() == 1 ? ignored[0].message : "";
  };
  EXPECT_EQ(
      why("{per_device_eval_parallelism: 4, max_eval_batches: 50}"),
      "evaluation takes small batches of its own; but max_eval_batches counts batches of 16 sequences, in "
      "Levanter of this many on each device");
  EXPECT_EQ(why("{model_averaging: {type: ema, beta: 0.995}}"),
            "not built yet: evaluation and exports use the parameters themselves");
}

TEST(TrainerConfigProfiler, OldAndNewSpellings) {
  const auto none = read("  seed: 1\n").root.trainer.profiler;
  EXPECT_FALSE(none.enabled);
  EXPECT_EQ(none.start_step, 5);
  EXPECT_EQ(none.num_steps, 100);
  const auto old = read("  profiler: true\n  profiler_start_step: 2\n  profiler_num_steps: 3\n");
  const auto block = read("  profiler: {enabled: true, start_step: 2, num_steps: 3, upload: false}\n");
  for (const auto& r : {old, block}) {
    EXPECT_THAT(r.problems, IsEmpty());
    EXPECT_TRUE(r.root.trainer.profiler.enabled);
    EXPECT_EQ(r.root.trainer.profiler.start_step, 2);
    EXPECT_EQ(r.root.trainer.profiler.num_steps, 3);
  }
  EXPECT_EQ(block.ignored.size(), 1);
  EXPECT_THAT(read("  profiler_start_step: -1\n  profiler_num_steps: 0\n").problems,
              ElementsAre("trainer.profiler_start_step = -1: must be from 0 to 2147483647",
                          "trainer.profiler_num_steps = 0: must be from 1 to 2147483647"));
}

TEST(TrainerConfigProblems, AreToldAllAtOnce) {
  const auto r = read(
      "  seed: -1\n  id: a/b\n  train_batchsize: 4\n  num_train_steps: -5\n  steps_per_eval: -1\n"
      "  max_eval_batches: -1\n  stop_at_step: 0\n  threads: -2\n  lanes: 3\n  reduction: quick\n"
      "  load_checkpoint_path: x\n  quantization: {fp8: true}\n");
  EXPECT_THAT(
      r.problems,
      ElementsAre("trainer.seed = -1: must be from 0 to 9223372036854775807",
                  "trainer.id = a/b: \"a/b\" cannot be the name of a directory; give one without / that "
                  "begins with no dot",
                  "trainer.train_batchsize: unknown key; did you mean trainer.train_batch_size?",
                  "trainer.num_train_steps = -5: must be from 1 to 2147483647",
                  "trainer.steps_per_eval = -1: must be at least 0",
                  "trainer.max_eval_batches = -1: must be from 1 to 2147483647",
                  "trainer.stop_at_step = 0: must be from 1 to 2147483647",
                  "trainer.threads = -2: must be from 0 to 2147483647",
                  "trainer.lanes = 3: is 3; it must be a power of two",
                  HasSubstr("trainer.reduction = quick: not one of fixed, fast"),
                  HasSubstr("trainer.load_checkpoint_path = x: is not built yet; trainer.id"),
                  HasSubstr("trainer.quantization: is not built yet; leave it out")));
  EXPECT_THAT(read("  quantization: null\n  load_checkpoint_path: null\n").problems, IsEmpty());
  EXPECT_THAT(
      read("  device: gpu\n").problems,
      ElementsAre(
          "trainer.device = gpu: is gpu; it must be auto, cpu, cuda, or cuda:0, cuda:1, ...; did you mean `cuda`?"));
  EXPECT_THAT(read("  device: \"cuda:\"\n").problems, Not(IsEmpty()));
  for (const auto* known : {"auto", "cpu", "cuda", "\"cuda:7\""})
    EXPECT_THAT(read(std::string("  device: ") + known + "\n").problems, IsEmpty()) << known;
  EXPECT_THAT(read("  lanes: 8\n  train_batch_size: 12\n").problems,
              ElementsAre("trainer.lanes = 8: 8 must divide trainer.train_batch_size = 12"));
}

TEST(TrainerConfigResolved, ReadsBackTheSame) {
  auto first = read(
      "  mp: p=f32,c=bfloat16\n  train_batch_size: 48\n  tracker: {type: tensorboard, logdir: tb}\n  lanes: "
      "4\n"
      "  wandb: {id: otter}\n  checkpointer: {keep: [{every: 50}], save_interval: 5m}\n");
  EXPECT_THAT(first.problems, IsEmpty());
  const auto text = write_config(first.root);
  ConfigTree tree;
  tree.merge_text(text, "resolved.yaml");
  Root again;
  EXPECT_THAT(read_config(tree, again), IsEmpty());
  EXPECT_EQ(write_config(again), text);
  EXPECT_THAT(ignored_keys(tree, again), IsEmpty());
}

TEST(Lanes, OfOneWorkerDependOnTheConfigurationAlone) {
  EXPECT_EQ(resolve_lanes(16, 256, 1), 4);
  EXPECT_EQ(resolve_lanes(32, 256, 1), 8);
  EXPECT_EQ(resolve_lanes(512, 1024, 1), 8);
  EXPECT_EQ(resolve_lanes(12, 4096, 1), 4);
  EXPECT_EQ(resolve_lanes(7, 4096, 1), 1);
  EXPECT_EQ(resolve_lanes(1, 16, 1), 1);
}

TEST(Lanes, GiveEachOfTheFirstWorkersOne) {
  EXPECT_EQ(resolve_lanes(4, 128, 1), 1);
  EXPECT_EQ(resolve_lanes(4, 128, 2), 2);
  EXPECT_EQ(resolve_lanes(4, 128, 3), 4);
  EXPECT_EQ(resolve_lanes(16, 256, 3), 4) << "never fewer than one worker has";
  EXPECT_EQ(resolve_lanes(64, 16, 33), 64);
  EXPECT_EQ(resolve_lanes(3, 128, 2), 1) << "no power of two divides 3";
  EXPECT_EQ(resolve_lanes(12, 128, 5), 4) << "nor does 8 divide 12";
}

TEST(LevanterConfigs, EveryTrainerBlockIsUnderstood) {
  const std::string top = path_join(BORA_SHARED_DIR, "data/levanter-config");
  if (!exists(top)) GTEST_SKIP() << "no Levanter configurations at " << top;
  int blocks = 0;
  for (const auto* folder : {"", "harness", "lora", "sampler"}) {
    const auto directory = path_join(top, folder);
    for (const auto& name : files().list(directory)) {
      if (!name.ends_with(".yaml")) continue;
      const auto text = read_text(path_join(directory, name));
      // The block alone: other blocks include files that are not there.
      const auto begin = text.find("\ntrainer:\n");
      if (begin == std::string::npos) continue;
      auto end = begin + 1;
      do end = text.find('\n', end) + 1;
      while (end != 0 && end < text.size() && (text[end] == ' ' || text[end] == '\n' || text[end] == '#'));
      ConfigTree tree;
      tree.merge_text(text.substr(begin + 1, end == 0 ? std::string::npos : end - begin - 1), name);
      Root root;
      EXPECT_EQ(format_problems(name, read_config(tree, root)), format_problems(name, {})) << name;
      ++blocks;
    }
  }
  EXPECT_GT(blocks, 20);
}

TEST(MeshConfig, SizesAndRules) {
  const auto r = read(
      "  model_axis_size: 2\n  context_axis_size: 2\n  parameter_axis_resources: {embed: data, mlp: model}\n"
      "  axis_resources: {batch: data}\n");
  EXPECT_THAT(r.problems, IsEmpty());
  const auto plan = resolve_mesh(r.root.trainer.mesh, r.root.trainer.fsdp_axis, 8, 301);
  EXPECT_EQ(plan.shape.data, 2);
  EXPECT_EQ(plan.shape.workers_per_lane(), 4);
  EXPECT_EQ(plan.fsdp_axes, std::vector<std::string>{"embed"});
  std::vector<std::string> computed;
  for (const auto& rule : plan.rules.compute) computed.push_back(rule.axis + " " + rule.mesh_axis);
  // an odd vocabulary is not cut
  EXPECT_THAT(computed,
              ElementsAre("kv_head model", "heads model", "mlp model", "position context", "expert expert"));
  EXPECT_EQ(resolve_mesh(r.root.trainer.mesh, {}, 4, 300).rules.compute.size(), 6);
}

TEST(MeshConfig, AxesThatItsKeysName) {
  const auto r = read(
      "  fsdp_axis: [embed, mlp]\n  tensor_parallel_axes: [heads]\n"
      "  axis_resources: {batch: data, position: context}\n"
      "  parameter_axis_resources: {vocab: data, position: context, mlp: model, embed: replica}\n");
  std::vector<std::string> named;
  for (const auto& of : named_axes(r.root.trainer.mesh, r.root.trainer.fsdp_axis))
    for (const auto& axis : of.axes) named.push_back(of.key + " " + axis.name + " " + axis.cuts.front());
  EXPECT_THAT(named, ElementsAre("trainer.fsdp_axis embed embed", "trainer.fsdp_axis mlp mlp",
                                 "trainer.tensor_parallel_axes heads kv_head",
                                 "trainer.axis_resources position position",
                                 "trainer.parameter_axis_resources vocab vocab",
                                 "trainer.parameter_axis_resources mlp mlp"));
}

TEST(MeshConfig, TheNewerBlock) {
  const auto r = read(
      "  mesh:\n    axes: {data: -1, replica: 2, model: 2}\n    tensor_parallel_axes: [mlp, heads]\n"
      "    param_mapping: {vocab: data}\n");
  EXPECT_THAT(r.problems, IsEmpty());
  const auto plan = resolve_mesh(r.root.trainer.mesh, r.root.trainer.fsdp_axis, 12, 300);
  EXPECT_EQ(plan.shape.replica, 2);
  EXPECT_EQ(plan.shape.data, 3);
  EXPECT_EQ(plan.shape.model, 2);
  EXPECT_EQ(plan.rules.parameters.size(), 4);  // mlp, kv_head, heads, expert
  EXPECT_EQ(plan.fsdp_axes, (std::vector<std::string>{"embed", "vocab"}));
  EXPECT_THROW(resolve_mesh(r.root.trainer.mesh, {}, 6, 300), Error);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Config);
    return e.what();
  }
  return "no error";
}

TEST(MeshConfig, SizesThatAreNoNumberOfWorkersTogether) {
  const auto r = read("  mesh:\n    axes: {data: 2147483647, replica: 2147483647}\n  model_axis_size: 4\n");
  EXPECT_THAT(r.problems, IsEmpty());
  EXPECT_EQ(error_of([&] { resolve_mesh(r.root.trainer.mesh, {}, 2, 300); }),
            "mesh: data 2147483647 × replica 2147483647 × model 4 are 1.84e+19 workers, and there can be "
            "1000000\nhint: smaller sizes in trainer.mesh, or in the keys *_axis_size of trainer");
  EXPECT_THAT(read("  mesh: {axes: {model: -1, data: 0}}\n").problems,
              testing::UnorderedElementsAre(
                  "trainer.mesh.axes: model is -1; only data and replica_dcn may be what is left",
                  "trainer.mesh.axes.data = 0: must be -1 or from 1 to 2147483647"));
}

TEST(MeshConfig, Experts) {
  const auto r = read("  mesh:\n    axes: {expert: 2, model: 2}\n");
  EXPECT_THAT(r.problems, IsEmpty());
  const auto plan = resolve_mesh(r.root.trainer.mesh, {}, 8, 300);
  EXPECT_EQ(plan.shape.data, 2);
  EXPECT_EQ(plan.shape.expert, 2);
  EXPECT_EQ(plan.shape.workers_per_lane(), 2);
  EXPECT_EQ(plan.shape.lane_groups(), 4);
  EXPECT_EQ(plan.shape.text(), "data 2 × expert 2 × model 2");
  EXPECT_EQ(error_of([&] { resolve_mesh(r.root.trainer.mesh, {}, 6, 300); }),
            "mesh: expert 2 × model 2 does not divide the 6 workers that were "
            "started\nhint: start a multiple of 4 workers, or change trainer.model_axis_size, "
            "trainer.context_axis_size, trainer.mesh.axes.expert or the replicas");
  const auto three = read("  mesh:\n    axes: {expert: 3}\n");
  EXPECT_EQ(
      error_of([&] { resolve_mesh(three.root.trainer.mesh, {}, 6, 300); }),
      "mesh: expert is 3, but must be a power of two: the lanes of its workers are added in pairs\nhint: "
      "trainer.mesh.axes.expert of 2");
  EXPECT_EQ(read("  mesh:\n    axes: {expert: 0}\n").problems.size(), 1);
  const auto other = read("  mesh:\n    axes: {expert: 2}\n    shared_mapping: {experts: expert}\n");
  EXPECT_THAT(other.problems, IsEmpty());
  const auto mapped = resolve_mesh(other.root.trainer.mesh, {}, 2, 300);
  EXPECT_EQ(mapped.rules.compute[0].axis + " " + mapped.rules.compute[0].mesh_axis, "experts expert");
}

TEST(MeshConfig, AModelWithoutExpertsIsRefused) {
  const auto r = read("  mesh:\n    axes: {expert: 2}\n");
  const auto plan = resolve_mesh(r.root.trainer.mesh, {}, 2, 300);
  const std::vector<core::Parameter> dense = {{.path = "mlp", .axes = {"embed", "mlp"}}},
                                     mixture = {{.path = "mlp", .axes = {"expert", "embed", "mlp"}}};
  EXPECT_EQ(
      error_of([&] { require_experts(plan, dense, "gpt2"); }),
      "mesh: expert is 2, but no parameter of a model of type gpt2 has an axis on it (expert)\nhint: leave "
      "trainer.mesh.axes.expert at 1; data, model and context divide this model");
  require_experts(plan, mixture, "mine");
  require_experts(MeshPlan{}, dense, "gpt2");
}

TEST(TrainerConfig, Fp8NeedsBf16) {
  EXPECT_TRUE(read("  fp8: true\n  mp: bf16\n").root.trainer.fp8);
  EXPECT_THAT(
      read("  fp8: true\n").problems,
      ElementsAre("trainer.fp8 = true: multiplies what is computed in bf16, and trainer.mp computes in f32; "
                  "set trainer.mp: bf16 too, or leave fp8 out"));
  for (const char* mesh :
       {"  replica_ici_axis_size: 2\n", "  model_axis_size: 2\n", "  context_axis_size: 2\n",
        "  tensor_lanes: 2\n", "  mesh: {axes: {expert: 2}}\n"})
    EXPECT_THAT(read(std::string("  fp8: true\n  mp: bf16\n") + mesh).problems, IsEmpty()) << mesh;
}

}  // namespace
}  // namespace bora::train
