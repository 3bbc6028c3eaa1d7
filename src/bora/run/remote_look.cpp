// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/remote_look.h"

#include <mutex>
#include <set>

#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "bora/store/hub_data.h"
#include "bora/store/quiet_downloads.h"
#include "bora/store/unreached.h"

namespace bora::run {
namespace {

// "https://host" of a URL, "gs" of a bucket.
std::string server_of(const std::string& url) {
  const auto scheme = url.find("://");
  return url.starts_with("http") ? url.substr(0, url.find('/', scheme + 3)) : url.substr(0, scheme);
}

// Entries of one repository are asked for one after the other: the commit that its branch is then stays the same.
std::string group_of(const std::string& url) {
  if (!url.starts_with("hf://")) return "";
  try {
    const auto repo = store::parse_hub_data(url).repo;
    return repo.id + "@" + repo.revision;
  } catch (const Error&) {  // told when it is asked for
    return "";
  }
}

/// Which servers were not reached, and by the first of which entries.
class Unanswered {
 public:
  void add(const std::string& server, std::size_t entry) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = first_.emplace(server, entry);
    if (!is_new) at->second = std::min(at->second, entry);
  }
  bool holds_before(const std::string& server, std::size_t entry) const {
    const std::lock_guard lock(mutex_);
    const auto at = first_.find(server);
    return at != first_.end() && at->second < entry;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> first_;
};

}  // namespace

void RemoteLook::add(const std::string& entry, store::Split split) {
  if (places_.emplace(Entry(entry, split), entries_.size()).second) entries_.emplace_back(entry, split);
}

void RemoteLook::ask(const store::DownloadOptions& options, const Asking& asking) {
  const auto before = answers_.size();
  if (before == entries_.size()) return;
  answers_.resize(entries_.size());
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = before; i < entries_.size(); ++i) {
    const auto group = group_of(entries_[i].first);
    if (group.empty() || known.emplace(group, groups.size()).second) groups.emplace_back();
    groups[group.empty() ? groups.size() - 1 : known.at(group)].push_back(i);
  }
  Unanswered unanswered;
  for (std::size_t i = 0; i < before; ++i)
    if (answers_[i].is_unreached) unanswered.add(server_of(entries_[i].first), i);
  std::mutex telling;
  std::int64_t done = 0;
  const auto tell = [&](std::int64_t more) {
    const std::lock_guard lock(telling);
    done += more;
    if (asking) asking(done, std::ssize(entries_) - static_cast<std::int64_t>(before));
  };
  const auto ask_one = [&](std::size_t i) {
    const auto& [entry, split] = entries_[i];
    auto& answer = answers_[i];
    if (unanswered.holds_before(server_of(entry), i)) return;
    try {
      answer.found = store::ask_for_remote(entry, split, options);
    } catch (const Error& e) {
      answer.error = std::current_exception();
      answer.is_unreached = dynamic_cast<const store::Unreached*>(&e) != nullptr;
      if (answer.is_unreached) unanswered.add(server_of(entry), i);
    }
  };
  tell(0);
  parallel_for(
      std::ssize(groups),
      [&](std::int64_t g) {
        const store::QuietDownloads quiet;
        for (const auto i : groups[static_cast<std::size_t>(g)]) {
          ask_one(i);
          tell(1);
        }
      },
      kAtOnce);
  // Whether one was asked for meanwhile or not.
  std::set<std::string> told;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto server = server_of(entries_[i].first);
    if (told.contains(server)) answers_[i] = {.is_left_out = true};
    if (answers_[i].is_unreached) told.insert(server);
  }
}

const RemoteLook::Answer& RemoteLook::of(const std::string& entry, store::Split split) const {
  return answers_[places_.at(Entry(entry, split))];
}

}  // namespace bora::run
