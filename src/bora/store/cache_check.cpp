// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/cache_check.h"

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/parallel.h"
#include "bora/store/shard_writer.h"

namespace bora::store {
namespace {

constexpr std::string_view kHint =
    "hint: delete the directory to build the cache again, or use another cache_dir";

[[noreturn]] void differs(const std::string& directory, const std::string& what) {
  fail(ErrorKind::Config, "token cache {}: {}\n{}", directory, what, kHint);
}

std::string describe(const Ledger& ledger) {
  return fmt::format("{}{}, {} document{} a record", ledger.format.whole_records ? "JSON records" : "text",
                     ledger.shape.weighted ? " with loss weights" : "", ledger.shape.documents_per_record,
                     ledger.shape.documents_per_record == 1 ? "" : "s");
}

std::string tokenizer_of(const Ledger& ledger) {
  const auto& name = ledger.tokenizer.text;
  return name.empty() ? ledger.fingerprint : fmt::format("{} ({})", name, ledger.fingerprint);
}

void check_settings(const std::string& directory, const Ledger& present, const Ledger& wanted) {
  if (present.fingerprint != wanted.fingerprint) {
    differs(directory, fmt::format("it was made with tokenizer {} but this run uses {}",
                                   tokenizer_of(present), tokenizer_of(wanted)));
  }
  if (present.vocab_size != wanted.vocab_size) {
    differs(directory, fmt::format("it was made with a vocabulary of {} but this run has {}",
                                   present.vocab_size, wanted.vocab_size));
  }
  if (present.shape != wanted.shape || present.format.whole_records != wanted.format.whole_records) {
    differs(directory,
            fmt::format("it was made as {} but this run needs {}", describe(present), describe(wanted)));
  }
  if (present.format.text_key != wanted.format.text_key) {
    differs(directory, fmt::format("it was made from the field \"{}\" but this run reads \"{}\"",
                                   present.format.text_key, wanted.format.text_key));
  }
  if (present.format.invalid_utf8 != wanted.format.invalid_utf8) {
    const auto name = [](InvalidText what) { return invalid_text_names()[static_cast<std::size_t>(what)]; };
    differs(directory, fmt::format("it was made with invalid_utf8: {} but this run has {}",
                                   name(present.format.invalid_utf8), name(wanted.format.invalid_utf8)));
  }
}

/// Reads the finished shards' sources again, as they are now.
void check_content(const std::string& directory, const Ledger& present, const Ledger& wanted) {
  const auto plan = plan_shards(wanted.sources, present.shard_bytes);
  // Place by place: files of one size that have changed places are all there, and their text is not.
  const auto before = plan_shards(present.sources, present.shard_bytes);
  const auto is_same = [](const Segment& a, const Segment& b) {
    return a.source == b.source && a.begin == b.begin && a.end == b.end;
  };
  parallel_for(static_cast<std::int64_t>(present.shards.size()), [&](std::int64_t i) {
    const ShardRecord& shard = present.shards[static_cast<std::size_t>(i)];
    const auto& segments = plan.at(static_cast<std::size_t>(shard.index));
    const auto& then = before.at(static_cast<std::size_t>(shard.index));
    const auto first =
        std::mismatch(segments.begin(), segments.end(), then.begin(), then.end(), is_same).first;
    if ((first == segments.end() && segments.size() == then.size()) || hash_source(segments) == shard.source)
      return;
    differs(directory, fmt::format("the content of {} has changed since the cache was made",
                                   (first == segments.end() ? segments.back() : *first).source.path));
  });
}

}  // namespace

void check_sources(const std::string& directory, const Ledger& present, const std::vector<Source>& wanted) {
  const auto& a = present.sources;
  const auto& b = wanted;
  if (a.size() != b.size()) {
    const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end(),
                                  [](const Source& x, const Source& y) { return x.path == y.path; });
    const auto name = [](auto it, const auto& list) { return it == list.end() ? "no file" : it->path; };
    differs(directory,
            fmt::format("it was made from {} files but this run has {}; first difference: {}, now {}",
                        a.size(), b.size(), name(at.first, a), name(at.second, b)));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const FileFormat old_format = file_format(a[i].path), new_format = file_format(b[i].path);
    if (old_format.layout != new_format.layout || old_format.compression != new_format.compression) {
      differs(directory, fmt::format("it was made from {} where this run has {}", a[i].path, b[i].path));
    }
    if (a[i].size != b[i].size) {
      differs(directory, fmt::format("source {} had {} bytes when the cache was made; {} has {} now",
                                     a[i].path, a[i].size, b[i].path, b[i].size));
    }
  }
}

Match check_ledger(const std::string& directory, const Ledger& present, const Ledger& wanted) {
  check_settings(directory, present, wanted);
  check_sources(directory, present, wanted.sources);
  const auto planned = static_cast<std::int64_t>(plan_shards(wanted.sources, present.shard_bytes).size());
  if (present.num_shards != planned) {
    fail(ErrorKind::Corruption, "{}: num_shards is {} but its sources give {}\n{}", ledger_path(directory),
         present.num_shards, planned, kHint);
  }
  if (present.sources == wanted.sources) return Match::Same;
  check_content(directory, present, wanted);
  return Match::SameContent;
}

}  // namespace bora::store
