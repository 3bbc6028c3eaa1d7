// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The two speeds of the data pipeline:
//
//   data_bench [--tokenizer DIR --text FILE] [--threads 1] [--seq_len 1024] [--batch 32] [--seconds 3]
//              [--rounds 5]
//
// One JSON line: tokens per second that a loader gives out of a cache (a full shuffle, one data set, one
// thread), and, if a tokenizer and a text are given, MB/s of building a cache of it beside MB/s of the
// tokenizer alone on the same pieces in memory, both with the same number of threads. The text should take
// some seconds: a cache waits for the disk once at its end. Files lie in a folder beside the working
// directory that goes away.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/parallel.h"
#include "bora/data/epochs.h"
#include "bora/data/loader.h"
#include "bora/data/mixture.h"
#include "bora/data/token_dataset.h"
#include "bora/data/tokenizer_processor.h"
#include "bora/store/cache_builder.h"
#include "bora/store/token_files.h"

namespace bora::data {
namespace {

struct Settings {
  std::string tokenizer, text;
  std::int64_t seq_len = 1024, batch = 32, seconds = 3, rounds = 5, threads = 1;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A cache of 64 M tokens, in documents of about 1,000.
std::shared_ptr<const store::TokenCache> random_cache(const std::string& folder) {
  const std::string path = path_join(folder, "ids.bin");
  const auto file = files().create(path);
  std::vector<std::uint16_t> ids(1 << 20);
  std::uint64_t state = 1;
  for (int piece = 0; piece < 64; ++piece) {
    for (auto& id : ids) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      id = static_cast<std::uint16_t>(state >> 48);
      if ((state >> 20) % 1000 == 0) id = 0;
    }
    file->write(std::as_bytes(std::span<const std::uint16_t>(ids)));
  }
  file->close();
  return store::import_tokens(path_join(folder, "cache"), {path}, store::TokenFiles::RawU16, {.eos_id = 0});
}

double loader_speed(const Settings& settings, const std::string& folder) {
  const auto tokens = std::make_shared<TokenDataset>(random_cache(folder), settings.seq_len, TokenRules{});
  const Key key = Key::from_seed(1);
  const auto mixture = std::make_shared<Mixture>(
      std::vector<Mixture::Source>{{"ids", endless(tokens, {"full", FullShuffle()}, key)}},
      std::vector<MixtureStage>{{0, {1}}}, 2048, key.fold("mixture"));
  const Loader loader(mixture, settings.batch);
  std::int64_t step = 0;
  std::int32_t sum = 0;  // so that nothing is left out
  std::vector<double> speeds;
  for (std::int64_t round = 0; round < settings.rounds; ++round) {
    const double began = monotonic_seconds(),
                 share = static_cast<double>(settings.seconds) / static_cast<double>(settings.rounds);
    const std::int64_t first = step;
    while (monotonic_seconds() - began < share) sum ^= loader.batch(step++).tokens.back();
    speeds.push_back(static_cast<double>((step - first) * settings.batch * settings.seq_len) /
                     (monotonic_seconds() - began));
  }
  if (sum == -1) fmt::print(stderr, "\n");
  return median(speeds);
}

/// Megabytes of text a second: the tokenizer on the reader's pieces, which are in memory, and a whole build.
void building_speed(const Settings& settings, const std::string& folder, Json& out) {
  const TokenizerProcessor processor(Tokenizer::load(settings.tokenizer), false);
  const auto source = store::look_up_sources({settings.text})[0];
  std::vector<std::string> pieces;
  double bytes = 0;
  store::TextPiece piece;
  for (const auto reader = store::open_documents({source, 0, source.size}, {}); reader->next(piece);) {
    pieces.emplace_back(piece.text);
    bytes += static_cast<double>(piece.text.size());
  }
  std::vector<double> alone, building, ratios;
  const auto threads = static_cast<int>(settings.threads);
  for (std::int64_t round = 0; round < settings.rounds; ++round) {
    double began = monotonic_seconds();
    parallel_for(
        static_cast<std::int64_t>(pieces.size()),
        [&](std::int64_t i) {
          thread_local std::vector<std::int32_t> ids;
          ids.clear();
          processor.encode({.text = pieces[static_cast<std::size_t>(i)]}, ids);
        },
        threads);
    alone.push_back(bytes / (monotonic_seconds() - began) * 1e-6);
    began = monotonic_seconds();
    const std::string directory = path_join(folder, fmt::format("built{}", round));
    store::build_cache(directory, {settings.text}, processor, {.threads = threads});
    building.push_back(bytes / (monotonic_seconds() - began) * 1e-6);
    ratios.push_back(building.back() / alone.back());
    remove_all(directory);
  }
  out["tokenizer_mb_per_s"] = median(alone);
  out["build_mb_per_s"] = median(building);
  out["build_share_of_tokenizer"] = median(ratios);
  out["text_mb"] = bytes * 1e-6;
  out["threads"] = settings.threads;
}

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--tokenizer")
      s.tokenizer = value;
    else if (flag == "--text")
      s.text = value;
    else if (flag == "--seq_len")
      s.seq_len = std::stoll(value);
    else if (flag == "--batch")
      s.batch = std::stoll(value);
    else if (flag == "--seconds")
      s.seconds = std::stoll(value);
    else if (flag == "--threads")
      s.threads = std::stoll(value);
    else if (flag == "--rounds")
      s.rounds = std::stoll(value);
    else
      fail(ErrorKind::Usage, "data_bench: unknown flag {}", flag);
  }
  return s;
}

}  // namespace
}  // namespace bora::data

int main(int argc, char** argv) {
  const std::string folder = fmt::format("data_bench.{}", ::getpid());
  int code = 0;
  try {
    const auto settings = bora::data::parse(argc, argv);
    bora::files().make_directories(folder);
    bora::Json out;
    out["loader_tokens_per_s"] = bora::data::loader_speed(settings, folder);
    out["seq_len"] = settings.seq_len;
    if (!settings.text.empty()) bora::data::building_speed(settings, folder, out);
    fmt::print("{}\n", out.dump());
  } catch (const bora::Error& e) {
    fmt::print(stderr, "bora: {}\n", e.what());
    code = bora::exit_code(e.kind());
  }
  bora::remove_all(folder);
  return code;
}
