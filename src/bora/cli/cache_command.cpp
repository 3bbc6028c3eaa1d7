// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// `bora cache`: builds and checks token caches, and takes token files of other programs in and out.
#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/locale_text.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/run/hf_start.h"
#include "bora/run/text_data.h"
#include "bora/run/train_run.h"
#include "bora/store/token_files.h"

namespace bora::cli {
namespace {

struct CacheFlags {
  std::vector<std::string> inputs;  ///< after `import` or `export`, if that stands first
  std::string format, to;
  std::int64_t eos = -1, seq_len = 2048;
  bool verify = false, force = false;
};

std::string summary(const store::TokenCache& cache) {
  return fmt::format("{} tokens \u00b7 {} document{}", with_commas(cache.num_tokens()),
                     with_commas(cache.num_documents()), cache.num_documents() == 1 ? "" : "s");
}

void require(const std::string& value, std::string_view flag, std::string_view action) {
  if (value.empty()) fail(ErrorKind::Usage, "cache {}: {} is needed\nhint: bora cache --help", action, flag);
}

void require_no_force(const CacheFlags& flags) {
  if (flags.force) fail(ErrorKind::Usage, "cache: --force goes with export alone\nhint: bora cache --help");
}

int import_files(const CacheFlags& flags) {
  require_no_force(flags);
  require(flags.format, "--format", "import");
  require(flags.to, "--to", "import");
  store::ImportOptions options;
  if (flags.eos >= 0) options.eos_id = static_cast<std::int32_t>(flags.eos);
  const auto cache =
      store::import_tokens(flags.to, flags.inputs, store::parse_token_files(flags.format), options);
  print_shown("{}: {} \u00b7 ids up to {}\n", flags.to, summary(*cache), cache->ledger().vocab_size - 1);
  // <cache_dir>/train: what a configuration names is the folder above.
  if (base_name(flags.to) == "train")
    fmt::print("train on it with data.cache_dir: {}\n", parent_path(flags.to));
  return 0;
}

// What an export would write over; "" if it is nothing. (A cache of Levanter's is never written over.)
std::string in_the_way(const std::string& to, store::TokenFiles kind) {
  if (kind == store::TokenFiles::RawU16 || kind == store::TokenFiles::RawU32) return exists(to) ? to : "";
  if (kind == store::TokenFiles::Megatron) {
    for (const char* ending : {".bin", ".idx"})
      if (exists(to + ending)) return to + ending;
    return "";
  }
  const auto folder = parent_path(to);
  if (kind != store::TokenFiles::Tfrecord || !exists(folder)) return "";
  for (const auto& name : files().list(folder))
    if (name.starts_with(base_name(to) + "_") && name.ends_with(".tfrecords")) return path_join(folder, name);
  return "";
}

int export_files(const CacheFlags& flags) {
  require(flags.format, "--format", "export");
  require(flags.to, "--to", "export");
  if (flags.inputs.size() != 1)
    fail(ErrorKind::Usage, "cache export: one cache's directory is needed, {} are given",
         flags.inputs.size());
  const auto kind = store::parse_token_files(flags.format);
  const auto cache = store::TokenCache::open(flags.inputs.front());
  if (const auto there = in_the_way(flags.to, kind); !flags.force && !there.empty())
    fail(ErrorKind::Usage,
         "cache export: {} of --to {} exists\nhint: --to ANOTHER, or --force to write over it", there,
         flags.to);
  const auto written = store::export_tokens(*cache, flags.to, kind, {.seq_len = flags.seq_len});
  for (const auto& path : written) fmt::print("written: {}\n", path);
  const auto rest = kind == store::TokenFiles::Tfrecord ? cache->num_tokens() % (flags.seq_len + 1) : 0;
  if (rest > 0)
    fmt::print("left out: the last {} tokens, fewer than a sequence of {} and its last target\n",
               with_commas(rest), with_commas(flags.seq_len));
  return 0;
}

int build(const CacheFlags& flags, const std::vector<std::pair<std::string, std::string>>& overrides) {
  for (const auto& [flag, value] : {std::pair("--to", flags.to), std::pair("--format", flags.format)})
    if (!value.empty())
      fail(
          ErrorKind::Usage,
          "cache: {} {} goes with import and export alone\nhint: data.cache_dir says where the caches of a configuration "
          "lie",
          flag, value);
  require_no_force(flags);
  auto loaded = run::load_run(flags.inputs, overrides);
  track::Console console;
  auto text =
      run::prepare_text(loaded.config, run::run_place(loaded.config),
                        run::sequences_of(loaded.config.model.config->shape(1)), console, std::nullopt);
  const auto show = [&](const std::string& name, const store::TokenCache& cache) {
    if (flags.verify) cache.verify();
    console.line(fmt::format("{:<12}{}{}", name, summary(cache), flags.verify ? " \u00b7 hashes ok" : ""));
  };
  for (const auto& c : text.caches) {
    if (c.train) show(c.name, *c.train);
    if (c.validation) show(c.name + " (validation)", *c.validation);
  }
  return 0;
}

}  // namespace

int run_cache(const Arguments& arguments) {
  CacheFlags flags;
  std::vector<std::pair<std::string, std::string>> overrides;
  Args args("cache",
            "Build the token caches of a configuration, check finished ones, or take token files of other "
            "programs in and out.",
            "  bora cache recipes/quickstart.yaml\n  bora cache recipes/quickstart.yaml --verify\n"
            "  bora cache import corpus.idx --format megatron --to cache/train\n"
            "  bora cache export cache/train --format raw-u16 --to corpus.bin");
  args.positional("config", flags.inputs,
                  "YAML files that name the data; or `import` and token files; or `export` and a cache")
      .is_path();
  args.flag("--verify", flags.verify, "compare every file with its hash");
  args.option("--format", flags.format,
              "import, export: raw-u16 or raw-u32 (ids, in files of llm.c behind their header), megatron "
              "(.bin and .idx), tfrecord "
              "(of mesh-transformer-jax, or an .index of several), levanter (the folder of a split's cache)")
      .one_of(store::token_files_names());
  args.option("--to", flags.to, "import: the new cache's directory; export: the file, or what it begins with")
      .is_path();
  args.flag("--force", flags.force, "export: write over files that are there");
  args.option("--eos", flags.eos, or_else(-1, from_to(0, 0x7FFFFFFF)),
              "import: the id that ends a document, beside what the file itself says");
  args.option("--seq_len", flags.seq_len, kSize,
              "export tfrecord: tokens of a sequence, without the last target");
  args.overrides(overrides);
  args.parse(arguments);
  const std::string action = flags.inputs.empty() ? "" : flags.inputs.front();
  if (action != "import" && action != "export") return build(flags, overrides);
  flags.inputs.erase(flags.inputs.begin());
  if (flags.inputs.empty())
    fail(ErrorKind::Usage, "cache {}: nothing is given to {}\nhint: bora cache --help", action, action);
  return action == "import" ? import_files(flags) : export_files(flags);
}

}  // namespace bora::cli
