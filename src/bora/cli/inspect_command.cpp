// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/locale_text.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/checkpoint/restore.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/user_files.h"
#include "bora/report/run_summary.h"
#include "bora/report/run_text.h"
#include "bora/run/dry_run.h"
#include "bora/run/hf_start.h"
#include "bora/store/token_cache.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::cli {
namespace {

// "[mlp=64, embed=32]" where the file tells the axes, as Bora's do; else "[64, 32]".
std::string shape_text(const checkpoint::StoredTensor& tensor, const checkpoint::SafetensorsFile& file) {
  std::vector<std::string> axes;
  for (const auto& [key, value] : file.metadata())
    if (key == "axes:" + tensor.name && !value.empty()) axes = split(value, ',');
  const auto& shape = tensor.shape;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shape.size(); ++i)
    parts.push_back(axes.size() == shape.size() ? fmt::format("{}={}", axes[i], shape[i])
                                                : std::to_string(shape[i]));
  return "[" + join(parts) + "]";
}

void show_tensors(const std::string& path) {
  checkpoint::SafetensorsFile file(path);
  std::int64_t elements = 0;
  for (const auto& t : file.tensors()) {
    print_shown("  {:<44} {:<5} {}\n", t.name, checkpoint::name(t.type), shape_text(t, file));
    elements += t.elements();
  }
  print_shown("{}: {} tensors, {} elements\n", path, file.tensors().size(), with_commas(elements));
}

checkpoint::Manifest verified(const std::string& checkpoint) try {
  return checkpoint::verify_checkpoint(checkpoint);
} catch (const Error& e) {
  if (e.kind() != ErrorKind::Corruption) throw;
  throw Error(e.kind(), checkpoint::naming_another(checkpoint, e.what()));
}

void show_checkpoint(const std::string& path) {
  const auto manifest = verified(path);
  print_shown("checkpoint  step {} · {} · {} lane{} · {} · hashes ok\n", manifest.step,
              manifest.temporary ? "temporary" : "permanent", manifest.lanes, manifest.lanes == 1 ? "" : "s",
              human_bytes(static_cast<double>(manifest.total_bytes())));
  for (const auto& f : manifest.files) {
    if (f.name.ends_with(".safetensors"))
      show_tensors(path_join(path, f.name));
    else
      print_shown("  {} ({})\n", f.name, human_bytes(static_cast<double>(f.size)));
  }
}

void show_cache(const std::string& path) {
  auto cache = store::TokenCache::open(path);
  const auto text = cache->num_bytes() == 0
                        ? std::string("ids alone")
                        : human_bytes(static_cast<double>(cache->num_bytes())) + " of text";
  print_shown("token cache  {} tokens · {} document{} · {}\n", with_commas(cache->num_tokens()),
              with_commas(cache->num_documents()), cache->num_documents() == 1 ? "" : "s", text);
}

void show_tokenizer(const std::string& path) {
  auto tokenizer = Tokenizer::load(path);
  auto id = [](const std::optional<std::int32_t>& x) { return x ? std::to_string(*x) : std::string("none"); };
  print_shown("tokenizer  {} pieces · begin {} · end {} · fingerprint {}\n",
              with_commas(tokenizer.vocab_size()), id(tokenizer.bos_id()), id(tokenizer.eos_id()),
              tokenizer.fingerprint().hex());
}

// The first folder below with a token cache or a checkpoint in it; "" if there is none.
std::string folder_below(const std::string& path, int levels) {
  std::vector<std::string> folders;
  for (const auto& name : files().list(path)) {
    auto folder = path_join(path, name);
    const auto info = files().info(folder);
    if (!info || !info->is_directory || name.starts_with('.')) continue;
    if (exists(path_join(folder, "ledger.json")) || exists(path_join(folder, "manifest.json"))) return folder;
    folders.push_back(folder);
  }
  for (const auto& folder : folders)
    if (auto found = levels > 1 ? folder_below(folder, levels - 1) : ""; !found.empty()) return found;
  return "";
}

void show_directory(const std::string& path) {
  if (exists(path_join(path, "manifest.json"))) return show_checkpoint(path);
  if (exists(path_join(path, "ledger.json"))) return show_cache(path);
  auto checkpoints = checkpoint::committed_checkpoints(path);
  bool found = !checkpoints.empty();
  if (report::is_run(path)) print_shown("{}", report::run_text(report::read_run(path))), found = true;
  for (const auto& c : checkpoints) print_shown("checkpoint  {}\n", c);
  if (exists(path_join(path, "tokenizer.json"))) show_tokenizer(path), found = true;
  for (const auto& name : files().list(path)) {
    if (name.ends_with(".safetensors")) show_tensors(path_join(path, name)), found = true;
  }
  if (!found && !report::runs_in({path}).empty())
    fail(ErrorKind::NotFound,
         "{0} is a folder of runs\nhint: bora runs {0} lists them, bora inspect {0}/NAME shows one", path);
  if (found) return;
  const auto below = folder_below(path, 2);
  fail(ErrorKind::NotFound, "{} holds no checkpoint, token cache, tokenizer or tensor file{}", path,
       below.empty() ? "" : "\nhint: bora inspect " + shell_word(below));
}

int show_sharding(const std::string& config, std::int64_t world, const std::string& svg) {
  const auto plan = run::plan_of(run::load_run({config}, {}).config, world);
  print_shown("{}", run::draw_text(plan));
  if (svg.empty()) return 0;
  write_atomically(svg, run::draw_svg(plan));
  print_shown("drawn into {}\n", svg);
  return 0;
}

}  // namespace

int run_inspect(const Arguments& arguments) {
  std::string path, config, svg;
  constexpr std::int64_t kPair = 2;
  std::int64_t world = 0;
  bool force = false;
  Args args(
      "inspect",
      "Show what a checkpoint, run, cache, tokenizer or tensor file holds, or how workers share a model.",
      "  bora inspect runs/brisk-otter-7\n  bora inspect runs/brisk-otter-7/step-600\n  bora inspect model.safetensors\n"
      "  bora inspect --sharding big.yaml --world 8 --svg sharding.svg");
  args.positional("path", path, "file or directory", false).is_path();
  args.option("--sharding", config, "a configuration: which rank holds which shard of each parameter")
      .is_path();
  args.option("--world", world, kWorkers, "with --sharding: number of workers; default: 2");
  args.option("--svg", svg, "with --sharding: also draw it into this file").is_path();
  args.flag("--force", force, "with --svg: write over a file that is there");
  args.parse(arguments);
  if (!config.empty()) {
    if (!svg.empty()) require_free_file("inspect", "--svg", svg, force, run::kPictureMark);
    return show_sharding(config, world == 0 ? kPair : world, svg);
  }
  if (world != 0 || !svg.empty())
    fail(ErrorKind::Usage,
         "inspect: {} goes with --sharding alone\nhint: bora inspect --sharding CONFIG --world 8",
         world != 0 ? fmt::format("--world {}", world) : "--svg " + svg);
  if (path.empty())
    fail(ErrorKind::Usage, "inspect: path is required\nhint: bora inspect runs/brisk-otter-7");
  auto info = files().info(path);
  if (const auto run = report::meant_run(path); !info && !run.empty())
    fail(ErrorKind::NotFound, "{} does not exist; did you mean {}?\nhint: bora inspect {}", path, run,
         shell_word(run));
  if (!info) fail(ErrorKind::NotFound, "{} does not exist", path);
  if (info->is_directory) return show_directory(path), 0;
  require_tensor_file(path, true);
  if (path.ends_with(".json"))
    show_tokenizer(path);
  else
    show_tensors(path);
  return 0;
}

}  // namespace bora::cli
