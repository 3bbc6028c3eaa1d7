// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <functional>
#include <memory>
#include <optional>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/locale_text.h"
#include "bora/base/text.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/checkpoint/gguf_header.h"
#include "bora/checkpoint/run_lock.h"
#include "bora/checkpoint/staged_directory.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/user_files.h"
#include "bora/core/runtime.h"
#include "bora/run/generation_config.h"
#include "bora/run/gguf_export.h"
#include "bora/run/gguf_import.h"
#include "bora/run/hub_name.h"
#include "bora/run/models.h"
#include "bora/run/open_model.h"
#include "bora/run/peft.h"
#include "bora/store/hub_upload.h"
#include "bora/tokenize/formats/tokenizer_files.h"

namespace bora::cli {
namespace {

// A run that has been there for longer would lose what it holds.
void require_free(const std::string& directory) {
  const auto info = files().info(directory);
  if (!info) return;
  if (!info->is_directory)
    fail(ErrorKind::Usage, "import: {} is a file, no directory for the run\nhint: choose another one",
         directory);
  for (const auto& name : files().list(directory)) {
    if (name == ".lock") continue;
    fail(ErrorKind::Usage, "import: {} holds {} already\nhint: choose another directory", directory, name);
  }
}

struct Push {
  std::string to, message;
  bool is_public = false, dry_run = false;

  void declare(Args& args) {
    args.option("--push", to, "then upload what was written to the Hugging Face hub: owner/name[@branch]");
    args.flag("--public", is_public,
              "with --push: a repository that has to be made is for all to read, not private");
    args.option("--message", message, "with --push: of the commit");
    args.flag("--dry_run", dry_run, "with --push: say what would be uploaded, and upload nothing");
  }
  bool wanted() const { return !to.empty(); }
  /// Before the work.
  void check() const {
    if (!wanted()) {
      if (is_public || dry_run || !message.empty())
        fail(ErrorKind::Usage, "export: {} goes with --push alone\nhint: --push owner/name, or leave it out",
             is_public ? "--public"
             : dry_run ? "--dry_run"
                       : "--message");
      return;
    }
    if (!store::parse_hub_repo(to))
      fail(ErrorKind::Usage,
           "export: --push {} is no name on the hub\nhint: owner/name, or owner/name@branch", to);
    if (!dry_run) store::require_upload(*store::parse_hub_repo(to), store::hub_options());
  }
  /// `from`: the checkpoint that was written.
  void run(const std::string& from, const std::string& written) const {
    if (!wanted()) return;
    const auto options = store::hub_options();
    store::HubUpload upload{.repo = *store::parse_hub_repo(to),
                            .files = store::files_to_upload(written),
                            .message = message,
                            .is_private = !is_public};
    const auto step = base_name(from);
    if (message.empty())
      upload.message = step.starts_with("step-") ? "Upload for step " + step.substr(5) : "Upload";
    fmt::print("{}", store::describe(upload, options));
    if (dry_run) {
      fmt::print("nothing was uploaded\n");
      return;
    }
    const auto done = store::upload_to_hub(upload, options);
    fmt::print("{}, {} of large files sent: {}\n",
               done.made_repository ? "a new repository" : "a repository that was there",
               human_bytes(static_cast<double>(done.sent)), done.url);
  }
};

// What goes into a checkpoint, wherever it comes from.
struct Imported {
  std::unique_ptr<nn::LanguageModel> model;
  std::function<void(const std::string& directory)> keep;  ///< writes tokenizer and generation_config.json
};

Imported read_gguf(const std::string& path) {
  auto file = run::import_gguf(path);
  const auto keep = [tokenizer = file.tokenizer, generation = file.generation](const std::string& directory) {
    if (tokenizer) tokenizer->save(path_join(directory, "tokenizer"));
    if (!generation.empty())
      write_atomically(path_join(directory, "generation_config.json"), generation.dump(2) + "\n");
  };
  return {std::move(file.model), keep};
}

Imported read_model(const std::string& name) {
  if (checkpoint::is_gguf(name)) return read_gguf(name);
  const auto from = run::local_path(name, store::HubFiles::Weights);
  return {run::load_model(from), [from](const std::string& directory) {
            if (!tokenize::holds_tokenizer(from)) return;
            const auto tokenizer = Tokenizer::load(from);
            tokenizer.save(path_join(directory, "tokenizer"));
            run::keep_generation(from, tokenizer, directory);
          }};
}

// Of a Hugging Face directory.
const std::vector<std::string>& stored_dtypes() {
  static const std::vector<std::string> all = {"f32", "bf16", "f16"};
  return all;
}

core::DType export_dtype(const std::string& text) {
  try {
    const auto dtype = core::parse_dtype(text);
    const auto& stored = stored_dtypes();
    if (std::find(stored.begin(), stored.end(), core::name(dtype)) != stored.end()) return dtype;
  } catch (const Error&) {  // as one that is not stored
  }
  fail(ErrorKind::Usage, "export: --dtype {} is not one of {}\nhint: bora export --help", text,
       join(stored_dtypes()));
}

// Of either format.
std::vector<std::string> all_dtypes() {
  auto out = stored_dtypes();
  for (const auto& name : checkpoint::gguf_type_names())
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  return out;
}

void require_place(const std::string& to, const std::string& format) {
  if (to.empty())
    fail(ErrorKind::Usage,
         "export: the directory to write is an empty text\nhint: bora export runs/NAME exported");
  if (format == "hf" && to.ends_with(".gguf"))
    fail(ErrorKind::Usage, "export: {} would be a directory, which --format hf writes\nhint: --format gguf",
         to);
}

}  // namespace

int run_import(const Arguments& arguments) {
  std::string from, to;
  Args args("import", "Make a checkpoint (step 0) from a Hugging Face model or a GGUF file.",
            "  bora import gpt2-directory runs/from-gpt2\n  bora train my.yaml "
            "--trainer.initialize_from=runs/from-gpt2\n  bora import model.gguf runs/from-gguf");
  args.positional("model", from,
                  "Hugging Face directory, a name on its hub: owner/name[@revision], or a GGUF file")
      .is_path();
  args.positional("run", to, "run directory to put step-0 into").is_path();
  args.parse(arguments);
  require_free(to);
  core::initialize();
  const Imported imported = read_model(from);
  auto parameters = imported.model->parameters();
  checkpoint::CheckpointContent content;
  content.parameters = checkpoint::checkpoint_arrays(parameters);
  content.state = {{"step", 0}, {"model", imported.model->hf_config()}};
  checkpoint::StagedDirectory staged(to);
  imported.keep(staged.path());
  checkpoint::save_checkpoint(staged.path(), content);
  std::optional<checkpoint::RunLock> lock;
  if (exists(to)) lock.emplace(to);  // not from under a process that begins to train there
  require_free(to);
  staged.put_in_place();
  std::int64_t n = 0;
  for (const auto& p : parameters) n += p.array->numel();
  print_shown("{} · {} parameters -> {}/step-0\n", imported.model->shape().type,
              human_count(static_cast<double>(n)), to);
  return 0;
}

int run_export(const Arguments& arguments) {
  std::string from, to, adapter, dtype = "f32", format = "hf";
  bool peft = false, force = false;
  Push push;
  Args args(
      "export",
      "Write a checkpoint in the Hugging Face layout: config.json, safetensors, tokenizer, chat template; or as "
      "one file for llama.cpp. "
      "Adapters are merged into the model, or written alone.",
      "  bora export runs/brisk-otter-7 exported\n  bora export runs/brisk-otter-7/step-600 exported "
      "--dtype bf16\n  bora export runs/brisk-otter-7 adapter --peft\n  bora export runs/brisk-otter-7 "
      "model.gguf --format gguf --dtype q8_0\n  bora export runs/brisk-otter-7 exported --push me/brisk-otter");
  args.positional("model", from, "a run or a checkpoint").is_path();
  args.positional("directory", to, "to write; an existing export there is replaced").is_path();
  args.option("--dtype", dtype, "f32, bf16 or f16; for GGUF f32, bf16 or q8_0").offers(all_dtypes());
  args.option("--format", format, "hf (a Hugging Face directory) or gguf (one file for llama.cpp)")
      .one_of({"hf", "gguf"});
  args.option("--adapter", adapter, "put this adapter on the model: a directory as PEFT writes it").is_path();
  args.flag("--peft", peft, "write the adapters alone, as PEFT does");
  args.flag("--force", force, "for GGUF: write over a file that is there");
  push.declare(args);
  args.parse(arguments);
  require_place(to, format);
  if (format == "gguf" && peft)
    fail(ErrorKind::Usage,
         "export: --peft writes adapters alone, which have no GGUF file here\nhint: give one");
  if (format == "hf") (void)export_dtype(dtype);
  if (format == "gguf") require_free_file("export", "", to, force);
  push.check();
  core::initialize();
  auto opened = run::open_model(from, adapter);
  if (format == "gguf") {
    const auto type = checkpoint::parse_gguf_type(dtype);
    const auto notes =
        run::export_gguf(*opened.model, opened.require_tokenizer(), opened.generation, to, type);
    fmt::print("{} -> {}\n", opened.directory, to);
    for (const auto& note : notes) fmt::print("note: {}\n", note);
    push.run(opened.directory, to);
    return 0;
  }
  const auto there = files().info(to);
  const bool is_empty = there && there->is_directory && files().list(to).empty();
  if (there && !is_empty && !exists(path_join(to, peft ? "adapter_config.json" : "config.json"))) {
    fail(ErrorKind::Usage, "export: {} exists and is no export\nhint: choose another directory", to);
  }
  if (peft)
    run::save_peft(*opened.model, to, opened.base, export_dtype(dtype));
  else
    run::export_hugging_face(*opened.model, opened.tokenizer, opened.generation, to, export_dtype(dtype));
  fmt::print("{} -> {}\n", opened.directory, to);
  push.run(opened.directory, to);
  return 0;
}

}  // namespace bora::cli
