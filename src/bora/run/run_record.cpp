// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/run_record.h"

#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "bora/base/clock.h"
#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
#include "bora/base/json.h"
#include "bora/base/log.h"
#include "bora/base/revision.h"
#include "bora/base/seal.h"
#include "bora/base/secrets.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/core/device.h"
#include "bora/core/runtime.h"
#include "bora/run/changed_keys.h"
#include "bora/run/loaded_libraries.h"
#include "bora/run/machine.h"
#include "bora/store/token_cache.h"

namespace bora::run {
namespace {

std::string record_file(const std::string& run_directory) { return path_join(run_directory, "run.json"); }

// Nothing of a damaged one is believed: not even that it is one.
Json record_in(const std::string& file) {
  const auto text = read_text(file);
  if (seal_of(text) == Seal::Broken) return {};
  auto record = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return record.is_object() ? record : Json();
}

Json recorded(const std::string& run_directory, const char* key) {
  const auto file = record_file(run_directory);
  const auto record = exists(file) ? record_in(file) : Json();
  return record.is_object() ? record.value(key, Json()) : Json();
}

void warn_if_damaged(const std::string& file) {
  if (exists(file) && record_in(file).is_null())
    log_warning("{}: its own hash does not fit, or it is no JSON; what it said of earlier starts is lost",
                file);
}

Json environment() {
  Json out = Json::object();
  for (const auto& v : env::all())
    if (v.value) out[std::string(v.name)] = *v.value;
  return out;
}

std::string system_text() {
  utsname about{};
  if (::uname(&about) != 0) return "unknown";
  return fmt::format("{} {} {}, glibc {}", about.sysname, about.release, about.machine,
                     ::gnu_get_libc_version());
}

Json record_of(const Peak& peak, core::DType compute) {
  return {{"per_second", peak.per_second},
          {"compute", core::name(compute)},
          {"measured", peak.from != Peak::From::configuration}};
}

// The program, its machine and how it was called.
Json record_of_start(const RunPlace& place, const RunStart& start, core::DType compute) {
  const auto info = core::runtime_info();
  const auto here = working_folder();
  Json out = {{"bora", BORA_VERSION}};
  if (const auto revision = program_revision(); !revision.empty()) out["revision"] = revision;
  out.update({{"compiler", __VERSION__},
              {"libtorch", info.libtorch},
              {"libraries", loaded_libraries()},
              {"command", program_word() + " train " + place.command},
              {"folder", here.empty() ? "unknown" : here},
              {"host", env::hostname().value_or("unknown")},
              {"system", system_text()},
              {"cpu", info.cpu},
              {"memory", human_bytes(machine_memory())},
              {"simd", info.simd_target},
              {"matmul", info.matmul},
              {"arithmetic", info.arithmetic},
              {"device", core::name(core::default_device())},
              {"threads", info.threads},
              {"workers", start.workers},
              {"lanes", start.lanes},
              {"peak_flops", record_of(start.peak, compute)},
              {"environment", environment()},
              {"started", iso_time(start.time)}});
  return out;
}

// Of all starts only what may differ between them is kept. The same process writes its start again when its
// caches are complete; what it changed is known the first time alone.
void keep_start(Json& starts, const Json& record, const RunStart& start,
                const std::vector<ConfigChange>& changes) {
  constexpr std::array kKept = {"bora",   "revision", "libtorch", "command", "host",      "cpu",
                                "device", "threads",  "workers",  "lanes",   "arithmetic"};
  Json entry = {{"started", record.at("started")}, {"step", start.step}};
  entry["process"] = ::getpid();
  for (const auto* key : kKept)
    if (record.contains(key)) entry[key] = record.at(key);
  for (const auto& change : changes) entry["changed"].push_back(shown(change));
  if (!starts.empty()) {
    auto& last = starts.back();
    const auto is_same = [&](const char* key) {
      return last.is_object() && last.value(key, Json()) == entry[key];
    };
    if (is_same("started") && is_same("process")) {
      if (last.contains("changed")) entry["changed"] = last["changed"];
      starts.erase(starts.size() - 1);
    }
  }
  starts.push_back(std::move(entry));
}

// Equal words, equal tokens in the same order.
std::string fingerprint_of(const store::TokenCache& cache) {
  Hasher hasher;
  for (const auto& shard : cache.ledger().shards)
    hasher.update(shard.tokens.hex() + shard.offsets.hex() + shard.weights.hex());
  return hasher.digest().hex();
}

Json record_of(const store::TokenCache& cache) {
  return {{"tokens", cache.num_tokens()},
          {"documents", cache.num_documents()},
          {"bytes", cache.num_bytes()},
          {"fingerprint", fingerprint_of(cache)}};
}

// What earlier records do not tell is not compared.
void require_same_data(const std::string& directory, const TextData& text) {
  std::vector<std::string> other;
  const auto tokenizer = recorded(directory, "tokenizer");
  if (tokenizer.is_string() && tokenizer != text.tokenizer.fingerprint().hex())
    other.push_back(fmt::format("the tokenizer had fingerprint {} and has {}", tokenizer.get<std::string>(),
                                text.tokenizer.fingerprint().hex()));
  const auto data = recorded(directory, "data");
  for (const auto& c : text.caches) {
    const auto before = c.train && data.is_object() ? data.value(c.name, Json()) : Json();
    if (!before.is_object() || !before.contains("fingerprint")) continue;
    const auto now = record_of(*c.train);
    if (before["fingerprint"] != now["fingerprint"])
      other.push_back(fmt::format("data set {} had {} tokens and has {} others", c.name,
                                  before.value("tokens", Json()).dump(), now["tokens"].dump()));
  }
  if (other.empty()) return;
  fail(
      ErrorKind::Config,
      "trainer.id: {} would go on with other data than it began with: {}\nhint: the texts and the tokenizer of before; "
      "another run or over (--fresh); or --accept_changes",
      directory, join(other));
}

}  // namespace

void record_run(const LoadedConfig& loaded, const RunPlace& place, const TextData& text,
                const RunStart& start) {
  if (start.step > 0 && !start.takes_other_data) require_same_data(place.directory, text);
  warn_if_damaged(record_file(place.directory));
  const auto changes = changed_keys(place.directory, loaded.config).value_or(std::vector<ConfigChange>());
  auto record = record_of_start(place, start, loaded.config.trainer.mp.compute);
  auto starts = recorded(place.directory, "starts");
  if (!starts.is_array()) starts = Json::array();
  keep_start(starts, record, start, changes);
  record["starts"] = std::move(starts);
  const auto before = recorded(place.directory, "data");
  for (const auto& c : text.caches) {
    if (c.train)
      record["data"][c.name] = record_of(*c.train);
    else if (start.step > 0 && before.is_object() && before.contains(c.name))
      record["data"][c.name] = before[c.name];  // compared once the cache is complete
  }
  record["tokenizer"] = text.tokenizer.fingerprint().hex();
  record["tokenizer_name"] = loaded.config.data.tokenizer_name();
  write_atomically(record_file(place.directory), sealed(redact(record.dump(2)), 2), Access::Owner);
  // Last: as long as it is the old one, a start still finds what has changed.
  write_atomically(path_join(place.directory, "config.yaml"), resolved_text(loaded.config), Access::Owner);
  text.tokenizer.save(path_join(place.directory, "tokenizer"));
}

std::string recorded_arithmetic(const std::string& run_directory) {
  const auto recorded_words = recorded(run_directory, "arithmetic");
  if (!recorded_words.is_string()) return "";
  auto words = recorded_words.get<std::string>();
  constexpr std::string_view before = "(own products";  // the name of the same products in older records
  if (const auto at = words.find(before); at != std::string::npos)
    words.replace(at, before.size(), "(bora products");
  return words;
}

std::optional<double> recorded_peak(const std::string& run_directory, int workers, core::DType compute) {
  const auto peak = recorded(run_directory, "peak_flops");
  const auto info = core::runtime_info();
  if (!peak.is_object() || peak.value("measured", Json()) != true ||
      peak.value("compute", Json()) != core::name(compute) || recorded(run_directory, "cpu") != info.cpu ||
      recorded(run_directory, "threads") != info.threads || recorded(run_directory, "workers") != workers)
    return std::nullopt;
  const auto per_second = peak.value("per_second", Json());
  if (!per_second.is_number() || !(per_second.get<double>() > 0)) return std::nullopt;
  return per_second.get<double>();
}

std::optional<std::int64_t> lanes_of_record(const std::string& run_directory) {
  const auto lanes = recorded(run_directory, "lanes");
  if (!lanes.is_number_integer() || lanes.get<std::int64_t>() < 1) return std::nullopt;
  return lanes.get<std::int64_t>();
}

}  // namespace bora::run
