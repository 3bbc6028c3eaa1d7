// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/power_loss_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "bora/base/text.h"

namespace bora {
namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> out;
  for (auto& part : split(path, '/'))
    if (!part.empty() && part != ".") out.push_back(std::move(part));
  return out;
}

class StillFile final : public ReadFile {
 public:
  StillFile(std::string content, FileInfo info) : content_(std::move(content)), info_(info) {}
  std::uint64_t size() const override { return content_.size(); }
  FileInfo info() const override { return info_; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= content_.size()) return 0;
    const auto n = std::min<std::size_t>(out.size(), content_.size() - static_cast<std::size_t>(offset));
    if (n > 0) std::memcpy(out.data(), content_.data() + offset, n);
    return n;
  }
  std::span<const std::byte> map() const override { return as_bytes(content_); }

 private:
  std::string content_;
  FileInfo info_;
};

class NoLock final : public FileLock {};

}  // namespace

class VolatileFile final : public WriteFile {
 public:
  VolatileFile(PowerLossFiles& files, PowerLossFiles::Id id) : files_(files), id_(id) {}
  void write(std::span<const std::byte> bytes) override { files_.write(id_, bytes); }
  void sync() override { files_.log_.emplace_back(PowerLossFiles::Sync{id_}); }
  void close() override {}

 private:
  PowerLossFiles& files_;
  PowerLossFiles::Id id_;
};

PowerLossFiles::Id PowerLossFiles::find(std::string_view path, bool must, Links links) const {
  constexpr int kMostLinks = 40;
  auto rest = parts_of(path);
  std::vector<Id> way = {0};  // from the root to here
  int followed = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == "..") {
      if (way.size() > 1) way.pop_back();
      continue;
    }
    const auto& names = nodes_.at(way.back()).names;
    const auto found = names.find(rest[i]);
    if (found == names.end()) {
      if (must) fail_file(path, "find", ENOENT);
      return kNone;
    }
    const auto& target = nodes_.at(found->second).target;
    if (target.empty() || (i + 1 == rest.size() && links == Links::KeepLast)) {
      way.push_back(found->second);
      continue;
    }
    if (++followed > kMostLinks) fail_file(path, "find", ELOOP);
    auto onwards = parts_of(target);
    onwards.insert(onwards.end(), rest.begin() + std::ptrdiff_t(i) + 1, rest.end());
    rest = std::move(onwards);
    if (target.front() == '/') way = {0};
    i = ~std::size_t{0};  // the next is the first
  }
  return way.back();
}

PowerLossFiles::Place PowerLossFiles::place_of(const std::string& path) const {
  const auto parts = parts_of(path);
  if (parts.empty()) fail_file(path, "change", EBUSY);
  return {find(parent_path(path)), parts.back()};
}

PowerLossFiles::Id PowerLossFiles::make(bool is_directory) {
  nodes_[next_].is_directory = is_directory;
  return next_++;
}

void PowerLossFiles::apply(const Operation& operation) {
  if (const auto* data = std::get_if<Data>(&operation)) {
    auto& content = nodes_[data->file].content;
    const auto end = static_cast<std::size_t>(data->offset) + data->bytes.size();
    if (content.size() < end) content.resize(end, '\0');
    content.replace(static_cast<std::size_t>(data->offset), data->bytes.size(), data->bytes);
  } else if (const auto* resize = std::get_if<Resize>(&operation)) {
    nodes_[resize->file].content.resize(static_cast<std::size_t>(resize->size), '\0');
  } else if (const auto* names = std::get_if<Names>(&operation)) {
    for (const auto& [directory, name, now] : names->changes) {
      if (now == 0)
        nodes_[directory].names.erase(name);
      else
        nodes_[directory].names[name] = now;
    }
  }
}

void PowerLossFiles::change(Names names) {
  log_.emplace_back(std::move(names));
  apply(log_.back());
}

void PowerLossFiles::write(Id file, std::span<const std::byte> bytes) {
  const auto offset = nodes_[file].content.size();
  log_.emplace_back(Data{file, offset, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  apply(log_.back());
}

std::unique_ptr<ReadFile> PowerLossFiles::open(const std::string& path) {
  const auto id = find(path);
  if (nodes_.at(id).is_directory) fail_file(path, "open", EISDIR);
  return std::make_unique<StillFile>(nodes_.at(id).content, *info(path));
}

std::unique_ptr<WriteFile> PowerLossFiles::create(const std::string& path, Access access) {
  auto file = append(path, access);
  if (const auto id = find(path); !nodes_.at(id).content.empty()) {
    log_.emplace_back(Resize{id, 0});
    apply(log_.back());
  }
  return file;
}

std::unique_ptr<WriteFile> PowerLossFiles::append(const std::string& path, Access /*access*/) {
  auto id = find(path, false);
  if (id == kNone) {
    const auto place = place_of(path);
    id = make(false);
    change({{{place.directory, place.name, id}}});
  }
  return std::make_unique<VolatileFile>(*this, id);
}

std::optional<FileInfo> PowerLossFiles::info(const std::string& path) {
  const auto id = find(path, false);
  if (id == kNone) return std::nullopt;
  const auto& node = nodes_.at(id);
  return FileInfo{
      .is_directory = node.is_directory, .size = node.content.size(), .device = 1, .inode = id + 1};
}

std::vector<std::string> PowerLossFiles::list(const std::string& directory) {
  std::vector<std::string> out;
  for (const auto& [name, id] : nodes_.at(find(directory)).names) out.push_back(name);
  return out;
}

// As bora makes them: each is fsynced into the one above (base/file.h).
void PowerLossFiles::make_directories(const std::string& path) {
  Id at = 0;
  for (const auto& part : parts_of(path)) {
    const auto& names = nodes_.at(at).names;
    if (const auto found = names.find(part); found != names.end()) {
      at = found->second;
      continue;
    }
    const auto made = make(true);
    change({{{at, part, made}}});
    log_.emplace_back(Sync{at});
    at = made;
  }
}

void PowerLossFiles::rename(const std::string& from, const std::string& to) {
  const auto id = find(from, true, Links::KeepLast);
  const auto a = place_of(from), b = place_of(to);
  if (const auto there = find(to, false, Links::KeepLast); there != kNone && !nodes_.at(there).names.empty())
    fail_file(to, "rename", ENOTEMPTY);
  change({{{a.directory, a.name, 0}, {b.directory, b.name, id}}});
}

bool PowerLossFiles::exchange(const std::string& a, const std::string& b) {
  if (!can_exchange_) return false;
  const auto first = find(a, true, Links::KeepLast), second = find(b, true, Links::KeepLast);
  const auto one = place_of(a), other = place_of(b);
  change({{{one.directory, one.name, second}, {other.directory, other.name, first}}});
  return true;
}

// What a link leads to stands in it from the beginning: a name that is durable leads there.
void PowerLossFiles::link(const std::string& target, const std::string& path) {
  if (target.empty()) fail_file(path, "link", ENOENT);
  if (find(path, false, Links::KeepLast) != kNone) fail_file(path, "link", EEXIST);
  const auto place = place_of(path);
  const auto id = make(false);
  nodes_[id].target = target;
  change({{{place.directory, place.name, id}}});
}

void PowerLossFiles::remove(const std::string& path) {
  const auto id = find(path, true, Links::KeepLast);
  if (!nodes_.at(id).names.empty()) fail_file(path, "remove", ENOTEMPTY);
  const auto place = place_of(path);
  change({{{place.directory, place.name, 0}}});
}

void PowerLossFiles::truncate(const std::string& path, std::uint64_t size) {
  log_.emplace_back(Resize{find(path), size});
  apply(log_.back());
}

void PowerLossFiles::sync_directory(const std::string& path) { log_.emplace_back(Sync{find(path)}); }

std::unique_ptr<FileLock> PowerLossFiles::try_lock(const std::string& path) {
  if (find(path, false) == kNone) (void)append(path);
  return std::make_unique<NoLock>();
}

bool PowerLossFiles::is_durable(std::size_t at, std::size_t end) const {
  const auto concerns = [&](Id synced) {
    if (const auto* data = std::get_if<Data>(&log_[at])) return data->file == synced;
    if (const auto* resize = std::get_if<Resize>(&log_[at])) return resize->file == synced;
    const auto* names = std::get_if<Names>(&log_[at]);
    return names != nullptr && std::any_of(names->changes.begin(), names->changes.end(),
                                           [&](const auto& c) { return c.directory == synced; });
  };
  for (std::size_t i = at + 1; i < end; ++i)
    if (const auto* sync = std::get_if<Sync>(&log_[i]); sync != nullptr && concerns(sync->what)) return true;
  return false;
}

std::unique_ptr<PowerLossFiles> PowerLossFiles::after_power_loss(std::size_t operations, Key luck) const {
  auto out = std::make_unique<PowerLossFiles>(can_exchange_);
  for (const auto& [id, node] : nodes_) {
    out->nodes_[id].is_directory = node.is_directory;
    out->nodes_[id].target = node.target;
  }
  out->next_ = next_;
  // Of some crashes most is lost, of some hardly anything.
  const auto share = luck.below(5, 0);
  const auto end = std::min(operations, log_.size());
  for (std::size_t i = 0; i < end; ++i) {
    if (is_durable(i, end)) {
      out->apply(log_[i]);
      continue;
    }
    if (luck.below(4, 4 * i + 1) >= share) continue;
    auto operation = log_[i];
    if (auto* data = std::get_if<Data>(&operation); data != nullptr && !data->bytes.empty()) {
      const auto kept = static_cast<std::size_t>(luck.below(data->bytes.size() + 1, 4 * i + 2));
      switch (luck.below(3, 4 * i + 3)) {
        case 0:
          data->bytes.resize(kept);
          break;  // torn
        case 1:
          std::fill(data->bytes.begin() + std::ptrdiff_t(kept), data->bytes.end(), '\0');
          break;
        default:
          break;
      }
    }
    out->apply(operation);
  }
  return out;
}

}  // namespace bora
