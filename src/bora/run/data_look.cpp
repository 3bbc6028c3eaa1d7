// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/data_look.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include "bora/base/file.h"
#include "bora/base/secrets.h"
#include "bora/data/source_caches.h"
#include "bora/run/debian_text.h"
#include "bora/run/remote_look.h"
#include "bora/store/cache_check.h"
#include "bora/store/format.h"
#include "bora/store/hub.h"
#include "bora/store/ledger.h"
#include "bora/store/urls.h"

namespace bora::run {
namespace {

constexpr std::string_view kReach =
    "is the address right, and does this machine reach it? Or fetch the files and give their paths";

class DataLook {
 public:
  DataLook(const data::DataConfig& data, bool asks, ProblemList& problems)
      : data_(data), asks_(asks), problems_(problems) {}

  DataFound take(const Asking& asking) {
    ask(asking);
    for (const auto& [name, source] : data_.sources()) {
      const auto key = data_.configs.empty() ? std::string("data") : "data.configs." + name;
      SourceFound found{.name = name};
      const bool of_hub = is_of_hub(source);
      find_files(source, store::Split::Train, key + (of_hub ? ".id" : ".train_urls"), found);
      if (!of_hub || found.files > 0 || !source.validation_urls.empty())
        find_files(source, store::Split::Validation, key + ".validation_urls", found);
      look_at_cache(name, source, store::Split::Train, key + ".train_urls");
      look_at_cache(name, source, store::Split::Validation, key + ".validation_urls");
      found.cached = exists(path_join(data_.cache_directory(name, source, "train"), "ledger.json"));
      out_.sources.push_back(std::move(found));
    }
    return std::move(out_);
  }

 private:
  static bool is_of_hub(const data::SourceConfig& source) { return source.id && source.train_urls.empty(); }
  bool is_asked_for(const std::string& url) const {
    const auto scheme = store::remote_scheme(url);
    return asks_ && scheme && store::is_fetched(*scheme) && !(scheme == "hf" && store::hub_options().offline);
  }

  // What an entry stands for that nobody was asked about: a file, or as many as match it.
  static void count_unknown(const std::string& url, SourceFound& found) {
    const bool is_hub = store::remote_scheme(url) == "hf";
    const bool is_many = url.find_first_of(is_hub ? "{*[" : "{") != url.npos ||
                         (is_hub && base_name(url).find('.') == std::string::npos);
    ++found.remote;
    if (is_many) ++found.patterns;
  }

  // All at once. Of a data set of the hub the files for validation are looked for only where those for training are here.
  void ask(const Asking& asking) {
    for (const auto& [name, source] : data_.sources()) {
      for (const auto split : {store::Split::Train, store::Split::Validation}) {
        if (split == store::Split::Validation && is_of_hub(source) && source.validation_urls.empty())
          continue;
        for (const auto& url : source.urls(split))
          if (is_asked_for(url)) remote_.add(url, split);
      }
    }
    remote_.ask(data_.download_options(), asking);
  }

  void find_files(const data::SourceConfig& source, store::Split split, const std::string& key,
                  SourceFound& found) {
    const auto urls = source.urls(split);
    std::vector<std::string> here;
    for (const auto& url : urls) {
      const auto scheme = store::remote_scheme(url);
      if (scheme == "hf" && store::hub_options().offline) {
        here.push_back(url);  // the cache alone is asked
      } else if (scheme) {
        if (!is_asked_for(url))
          count_unknown(url, found);
        else if (is_here(url, split, key, found))
          here.push_back(url);
      } else if (is_debian_text(url) && !debian_text_is_here(url)) {
        ++found.remote;
      } else {
        here.push_back(is_debian_text(url) ? fetch_debian_text(url) : url);
      }
    }
    problems_.of(key, [&] {
      const auto there = store::find_files(here, split);
      for (const auto& problem : there.problems) problems_.add_error(key, problem);
      if (!there.problems.empty()) return;
      const bool is_all = here.size() == urls.size(), is_train = split == store::Split::Train;
      const auto bytes = look_at_files(there.files, key, found);
      if (bytes == 0 && is_all)
        problems_.add(key, fmt::format("every file of {} is empty; give files with text", urls.front()));
      if (bytes > 0 && is_all)
        out_.texts.push_back({found.name, source, split, key, there.files,
                              !is_train || data::is_trained_on(data_, found.name)});
    });
  }

  // Bytes of all of them, devices aside; -1 where some are none that can be read.
  double look_at_files(const std::vector<std::string>& paths, const std::string& key, SourceFound& found) {
    const auto problems = problems_.size();
    double all = paths.empty() ? -1 : 0;
    for (const auto& path : paths) {
      problems_.of(key, [&] { (void)store::file_format(path); });
      ++found.files;
      const auto info = files().info(path);
      if (info->is_device) problems_.of(key, [&] { (void)files().open(path); });  // which refuses it
      const auto bytes = static_cast<double>(info->size);
      all += bytes;
      found.bytes += bytes;
      found.text_bytes += bytes * (is_compressed(path) ? 4 : 1);
    }
    return problems_.size() == problems ? all : -1;
  }

  // What a cache was made from, where it is made already.
  void look_at_cache(const std::string& name, const data::SourceConfig& source, store::Split split,
                     const std::string& key) {
    const auto urls = source.urls(split);
    const auto is_elsewhere = [](const std::string& url) {
      return store::remote_scheme(url) || is_debian_text(url);
    };
    if (urls.empty() || std::any_of(urls.begin(), urls.end(), is_elsewhere)) return;
    const auto directory =
        data_.cache_directory(name, source, split == store::Split::Train ? "train" : "validation");
    try {
      const auto ledger = store::read_ledger(directory);
      const auto there = store::find_files(urls, split);
      if (!ledger || !there.problems.empty()) return;
      store::check_sources(directory, *ledger, store::look_up_sources(there.files));
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::Config)
        problems_.add_error(key, e.what());  // a damaged one the start tells of
    }
  }

  static bool is_compressed(const std::string& path) {
    constexpr std::array<std::string_view, 4> kEndings = {".gz", ".zst", ".bz2", ".parquet"};
    return std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) { return path.ends_with(ending); });
  }

  // Whether all that a remote entry names has been fetched; else what is to come is counted.
  bool is_here(const std::string& url, store::Split split, const std::string& key, SourceFound& found) {
    remote_.add(url, split);  // if it was not before
    remote_.ask(data_.download_options(), {});
    const auto& answer = remote_.of(url, split);
    if (answer.is_left_out) {
      count_unknown(url, found);
      return false;
    }
    if (answer.error) {
      try {
        std::rethrow_exception(answer.error);
      } catch (const Error& e) {
        std::string text = e.what();
        if (text.find("hint: ") == text.npos) text += fmt::format("\nhint: {}", kReach);
        problems_.add_error(key, text);
      }
      count_unknown(url, found);
      return false;
    }
    const auto& there = answer.found;
    if (!there.not_asked.empty())
      out_.notes.push_back(fmt::format("{} {}: not looked for: {}", key, redact(url), there.not_asked));
    found.remote += there.to_come;
    found.remote_bytes += there.bytes;
    const bool is_packed = is_compressed(url) || url.starts_with("hf://");  // most of those are Parquet
    found.text_bytes += there.bytes * (is_packed ? 4 : 1);
    return there.to_come == 0 && there.files > 0 && there.is_whole;
  }

  const data::DataConfig& data_;
  const bool asks_;
  ProblemList& problems_;
  RemoteLook remote_;
  DataFound out_;
};

}  // namespace

DataFound look_for_data(const data::DataConfig& data, bool asks, ProblemList& problems,
                        const Asking& asking) {
  return DataLook(data, asks, problems).take(asking);
}

}  // namespace bora::run
