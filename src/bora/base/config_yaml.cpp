// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/config_yaml.h"

#include <fmt/core.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <unordered_map>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/home_path.h"
#include "bora/base/text.h"

namespace bora::config {
namespace {

constexpr std::uint64_t kLargestFile = 4'000'000;
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kLongestKey = 200;  // YAML allows 1024 bytes, escapes included
constexpr std::size_t kMostNodes = 1'000'000;

// What one file and all that it includes share.
struct Loading {
  std::vector<std::string> chain;  // the files that are being read, the outermost first
  std::size_t depth = 0;           // levels above the file that is being read
  std::size_t nodes = 0;
};

struct Source {
  std::string name;
  std::string folder;
  bool has_lines = true;
  bool is_included = false;  // may be any file of the machine: messages tell nothing of what it holds
};

Node parse(std::string_view text, const Source& source, Loading& loading);
Node load(const std::string& path, Loading& loading, bool is_included);

std::size_t count_nodes(const Node& node) {
  std::size_t n = 1;
  for (const Node& c : node.children) n += count_nodes(c);
  return n;
}

std::size_t height(const Node& node) {
  std::size_t most = 0;
  for (const Node& c : node.children) most = std::max(most, height(c));
  return most + (node.kind == Node::Kind::List || node.kind == Node::Kind::Map ? 1 : 0);
}

// A key that is no scalar. It may also be how yaml-cpp begins to read an unclosed bracket.
struct BadKey {
  std::string place;
};

// What messages may cite of an included file. Lines that end in a colon are keys to YAML, as those of
// /etc/shadow.
bool is_name(std::string_view key) {
  return key == "<<" || std::all_of(key.begin(), key.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return std::isalnum(byte) != 0 || byte >= 0x80 ||
                  std::string_view("._-/+@").find(c) != std::string_view::npos;
         });
}

// A quoted text of blanks and line breaks alone, of which yaml-cpp makes nothing: one break is a space, of several the first
// is none (YAML 1.2, 6.5). Texts that end a line by a backslash have one.
std::string folded_blank(std::string_view quoted) {
  const auto breaks = std::count(quoted.begin(), quoted.end(), '\n');
  if (breaks == 0 || quoted.find_first_not_of(" \t\r\n") != quoted.npos) return "";
  return breaks == 1 ? " " : std::string(static_cast<std::size_t>(breaks - 1), '\n');
}

// The byte order mark, which yaml-cpp does not count.
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

// Builds a tree from yaml-cpp's events: its own tree keeps no line of a key, and the last of two equal keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const Source& source, Loading& loading)
      : text_(without_mark(text)),
        source_(source),
        file_(std::make_shared<const std::string>(source.name)),
        loading_(loading) {}

  // Throws what has been collected.
  Node take() {
    if (!problems_.empty()) throw Error(ErrorKind::Config, format_problems(source_.name, problems_));
    if (!root_.file) root_ = make(Node::Kind::Null, YAML::Mark());
    return std::move(root_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0)
      stop(
          mark,
          "a second YAML document (---); a configuration is one\nhint: take the line out, or make two files: bora "
          "train a.yaml b.yaml, of which the later one wins");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) return bad_key(mark);
    add(make(Node::Kind::Null, mark), mark, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // yaml-cpp turns these two into single bytes, not UTF-8.
    if (invalid_utf8(value)) stop(mark, "the escapes \\N and \\_ are not supported; write the character");
    const auto quoted = tag == "!" ? between_quotes(mark) : std::string_view();
    if (expects_key()) return take_key(mark, value, tag != "!");
    if (tag == "!include") return add(include(mark, value), mark, anchor);
    check_tag(mark, tag);
    const bool is_string = tag == "!" || of_yaml(tag) == "str";
    // of !!int, say; without a tag it comes as a null
    const bool is_null = value == "~" || value == "null" || value == "Null" || value == "NULL";
    if (!is_string && is_null) return add(make(Node::Kind::Null, mark), mark, anchor);
    Node node = make(Node::Kind::Scalar, mark);
    node.text = value.empty() ? folded_blank(quoted) : value;
    node.is_string = is_string;
    add(std::move(node), mark, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) return bad_key(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias inside the value that it stands for");
    count(mark, count_nodes(found->second));
    check_depth(mark, height(found->second));
    Node copy = found->second;
    copy.line = line_of(mark);
    add(std::move(copy), mark, YAML::NullAnchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::List, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::Map, mark, tag, anchor);
  }
  void OnMapEnd() override {
    merge_keys(open_.back());
    close();
  }

 private:
  struct Open {
    Node node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::string path;
    std::unordered_map<std::string, int> lines = {};  // of the keys so far
    std::vector<Node> merged = {};                    // values of `<<`
    bool has_key = false, key_is_plain = false, key_is_again = false;
    std::string key = {};
    YAML::Mark key_mark = {};
  };

  int line_of(const YAML::Mark& mark) const { return source_.has_lines ? mark.line + 1 : 0; }
  std::string place(const YAML::Mark& mark) const {
    return source_.has_lines ? fmt::format("{}:{}", source_.name, mark.line + 1) : source_.name;
  }
  [[noreturn]] void stop(const YAML::Mark& mark, std::string_view what) const {
    fail(ErrorKind::Config, "{}: {}", place(mark), what);
  }
  void problem(const YAML::Mark& mark, std::string key, std::string message) {
    problems_.push_back({place(mark), std::move(key), std::move(message)});
  }

  void count(const YAML::Mark& mark, std::size_t more) {
    loading_.nodes += more;
    if (loading_.nodes > kMostNodes) stop(mark, fmt::format("more than {} values", with_commas(kMostNodes)));
  }
  void check_depth(const YAML::Mark& mark, std::size_t more) const {
    if (loading_.depth + open_.size() + more > kDeepest)
      stop(mark, fmt::format("nested deeper than {} levels", kDeepest));
  }

  Node make(Node::Kind kind, const YAML::Mark& mark) {
    count(mark, 1);
    Node node;
    node.kind = kind;
    node.file = file_;
    node.line = line_of(mark);
    return node;
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == Node::Kind::Map && !open_.back().has_key;
  }

  // "trainer.tags.0": what the next value will be called.
  std::string next_path() const {
    if (open_.empty()) return "";
    const Open& top = open_.back();
    const std::string name =
        top.node.kind == Node::Kind::Map ? top.key : std::to_string(top.node.children.size());
    return top.path.empty() ? name : top.path + "." + name;
  }

  void take_key(const YAML::Mark& mark, const std::string& key, bool plain) {
    if (key.size() > kLongestKey)
      stop(mark, fmt::format("a key of {} characters; is a quote missing?", key.size()));
    if (source_.is_included && !is_name(key))
      stop(mark,
           "a key with other characters than letters, digits and . _ - / + @; is this a configuration?");
    Open& top = open_.back();
    top.has_key = true;
    top.key = key;
    top.key_mark = mark;
    top.key_is_plain = plain;
    const auto [before, is_new] = top.lines.emplace(key, mark.line + 1);
    top.key_is_again = !is_new;
    if (is_new) return;
    problem(mark, next_path(),
            source_.has_lines ? fmt::format("given twice; first in line {}", before->second) : "given twice");
  }
  [[noreturn]] void bad_key(const YAML::Mark& mark) const { throw BadKey{place(mark)}; }

  // As the file has it. Where the text ends inside of quotation marks, yaml-cpp takes all of it for the value.
  std::string_view between_quotes(const YAML::Mark& mark) const {
    if (mark.pos < 0 || static_cast<std::size_t>(mark.pos) >= text_.size()) return {};
    const auto rest = text_.substr(static_cast<std::size_t>(mark.pos));
    // An anchor may stand before it.
    const auto begin = rest.front() == '&' ? rest.find_first_of("\"'") : 0;
    const char quote = begin < rest.size() ? rest[begin] : '\0';
    if (quote != '"' && quote != '\'') return {};
    for (std::size_t i = begin + 1; i < rest.size(); ++i) {
      if (quote == '"' && rest[i] == '\\') {
        ++i;
      } else if (rest[i] == quote) {
        if (quote == '"' || i + 1 >= rest.size() || rest[i + 1] != quote)
          return rest.substr(begin + 1, i - begin - 1);
        ++i;
      }
    }
    stop(mark,
         fmt::format("the quotation mark {} that begins here is never closed\nhint: put a second one behind "
                     "the value",
                     quote));
  }

  // "str" of !!str; empty of other tags
  static std::string_view of_yaml(std::string_view tag) {
    constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
    return tag.starts_with(kPrefix) ? tag.substr(kPrefix.size()) : std::string_view();
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag == "!include") return problem(mark, next_path(), "!include needs the path of a file");
    if (tag.empty() || tag == "?" || tag == "!") return;
    static constexpr std::string_view kOfYaml[] = {"str", "int", "float", "bool", "null", "seq", "map"};
    const auto own = of_yaml(tag);
    if (std::ranges::find(kOfYaml, own) != std::end(kOfYaml)) return;
    const std::string shown = source_.is_included ? "" : own.empty() ? " " + tag : fmt::format(" !!{}", own);
    problem(mark, next_path(), fmt::format("unknown tag{}; the only one is !include", shown));
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (expects_key()) return bad_key(mark);
    check_tag(mark, tag);
    check_depth(mark, 1);
    Open next{make(kind, mark), mark, anchor, next_path()};
    open_.push_back(std::move(next));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.mark, done.anchor);
  }

  void add(Node&& node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      count(mark, count_nodes(node));
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& top = open_.back();
    if (top.node.kind == Node::Kind::List) {
      top.node.children.push_back(std::move(node));
      return;
    }
    top.has_key = false;
    if (top.key == "<<" && top.key_is_plain) return take_merge(top, std::move(node));
    if (top.key_is_again) return;  // reported already
    node.key = std::move(top.key);
    node.file = file_;
    node.line = line_of(top.key_mark);
    top.node.children.push_back(std::move(node));
  }

  void take_merge(Open& top, Node&& node) {
    std::vector<Node> several;
    if (node.kind == Node::Kind::List)
      several = std::move(node.children);
    else
      several.push_back(std::move(node));
    for (Node& one : several) {
      if (one.kind != Node::Kind::Map) {
        return problem(top.key_mark, top.path.empty() ? "<<" : top.path + ".<<",
                       fmt::format("should be a map or a list of maps but is {}", shown(one)));
      }
      top.merged.push_back(std::move(one));
    }
  }

  // https://yaml.org/type/merge.html: what the map itself says wins, then the earlier of the merged ones.
  void merge_keys(Open& top) {
    for (Node& from : top.merged) {
      for (Node& item : from.children) {
        if (top.lines.emplace(item.key, item.line).second) top.node.children.push_back(std::move(item));
      }
    }
  }

  Node include(const YAML::Mark& mark, std::string path) {
    Node nothing = make(Node::Kind::Null, mark);
    if (auto why = expand_home(path); !why.empty()) {
      problem(mark, next_path(), "!include " + why);
      return nothing;
    }
    if (path.empty()) {
      problem(mark, next_path(), "!include needs the path of a file");
      return nothing;
    }
    const std::string full =
        std::filesystem::path(path_join(source_.folder, path)).lexically_normal().string();
    const auto before = std::find(loading_.chain.begin(), loading_.chain.end(), full);
    if (before != loading_.chain.end()) {
      std::vector<std::string> cycle(before, loading_.chain.end());
      cycle.push_back(full);
      stop(mark, "!include goes in a circle: " + join(cycle, " -> ") + "\nhint: take one of these lines out");
    }
    if (!exists(full)) {
      problem(mark, next_path(),
              fmt::format("cannot include {}: there is no such file; a path is relative to the file that "
                          "includes it",
                          full));
      return nothing;
    }
    const std::size_t above = loading_.depth;
    loading_.depth += open_.size();
    Node node = load(full, loading_, true);
    loading_.depth = above;
    // Text would stand in messages, in the run's folder and in trackers, whatever file it comes from.
    if (node.kind == Node::Kind::Scalar) {
      problem(mark, next_path(),
              fmt::format("{} holds neither a map nor a list, so it cannot be included", full));
      return nothing;
    }
    return node;
  }

  std::string_view text_;
  const Source& source_;
  std::shared_ptr<const std::string> file_;
  Loading& loading_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::vector<ConfigProblem> problems_;
  int documents_ = 0;
};

std::string_view line_at(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

void check_text(std::string_view text, const Source& source) {
  const auto bad = std::min(invalid_utf8(text).value_or(text.size()), text.find('\0'));
  if (bad >= text.size()) return;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
  fail(ErrorKind::Config,
       "{}:{}: not a text file: byte {:#04x} at offset {} is not UTF-8 text\nhint: save it as UTF-8",
       source.name, line, static_cast<unsigned char>(text[bad]), bad);
}

void feed(std::string_view text, const Source& source, YAML::EventHandler& handler) {
  std::istringstream stream{std::string(text)};
  const auto place = [&](const YAML::Mark& mark) {
    return source.has_lines ? fmt::format("{}:{}", source.name, mark.line + 1) : source.name;
  };
  try {
    YAML::Parser parser(stream);
    // A second one is an error; and where a bracket closes nothing, yaml-cpp finds documents without end.
    for (int i = 0; i < 2 && parser.HandleNextDocument(handler); ++i) {
    }
  } catch (const YAML::DeepRecursion& e) {
    fail(ErrorKind::Config, "{}: nested deeper than {} levels", place(e.mark), kDeepest);
  } catch (const YAML::Exception& e) {
    const std::string_view line = line_at(text, e.mark.line);
    const bool tab = line.starts_with('\t') && !trim(line).empty();
    // Behind a colon yaml-cpp cites the file.
    const std::string_view said =
        std::string_view(e.msg).substr(0, source.is_included ? e.msg.find(": ") : std::string::npos);
    fail(ErrorKind::Config, "{}: not valid YAML: {}\nhint: {}", place(e.mark), said,
         tab ? "the line begins with a tab; YAML indents by spaces"
         : source.has_lines
             ? "look here and a line above: keys of a block begin in one column, a colon has a space "
               "behind it, brackets and quotes are closed"
             : "the value in quotation marks, as in --key.name='[1, 2]'");
  }
}

// Hears nothing: for finding syntax errors alone.
class Deaf : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}
};

Node parse(std::string_view text, const Source& source, Loading& loading) {
  check_text(text, source);
  TreeBuilder builder(text, source, loading);
  try {
    feed(text, source, builder);
  } catch (const BadKey& bad) {
    Deaf deaf;
    feed(text, source, deaf);
    fail(ErrorKind::Config, "{}: a key must be a single word or text", bad.place);
  }
  return builder.take();
}

// Some files tell no size, such as those of /proc: they are read piece by piece.
std::string text_of(const std::string& path) {
  constexpr std::size_t kPiece = 64 << 10;
  const auto file = files().open(path);
  std::string text;
  while (text.size() <= kLargestFile) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    text.resize(before + file->read_at(before, std::as_writable_bytes(std::span(text)).subspan(before)));
    if (text.size() < before + kPiece) return text;
  }
  fail(ErrorKind::Config, "{}: too large for a configuration (at most {})", path, human_bytes(kLargestFile));
}

// Of a run's folder, or of one in it.
std::string file_of_run(const std::string& folder) {
  for (const auto& place : {folder, path_join(folder, "..")}) {
    const auto file = std::filesystem::path(path_join(place, "config.yaml")).lexically_normal().string();
    if (exists(file) && exists(path_join(place, "run.json")))
      return fmt::format("{} is the configuration of that run", file);
  }
  return "name a YAML file in it";
}

// What a run keeps beside its configuration has other keys.
void refuse_record(const std::string& path) {
  const auto name = base_name(path);
  const auto others = {"run.json",      "status.json",  "summary.json",
                       "metrics.jsonl", "timing.jsonl", "text.jsonl"};
  if (std::none_of(others.begin(), others.end(), [&](const char* other) { return name == other; })) return;
  const auto file = path_join(parent_path(path), "config.yaml");
  if (exists(file))
    fail(ErrorKind::Config, "{}: a part of a run's record, not its configuration\nhint: {}", path, file);
}

Node load(const std::string& path, Loading& loading, bool is_included) {
  const auto info = files().info(path);
  if (!info) {
    const std::string folder = parent_path(path);
    const auto names = exists(folder) ? files().list(folder) : std::vector<std::string>{};
    const auto near = did_you_mean(base_name(path), names);
    if (!near.empty() || is_included) fail(ErrorKind::Config, "{}: there is no such file{}", path, near);
    if (path.find('=') != std::string::npos)
      fail(ErrorKind::Config, "{}: there is no such file\nhint: a key is set by --{}", path, path);
    fail(ErrorKind::Config,
         "{}: there is no such file\nhint: give the path of a YAML file, such as one of recipes/",
         path.empty() ? "\"\"" : path);
  }
  if (info->is_directory)
    fail(ErrorKind::Config, "{}: a folder, not a file\nhint: {}", path, file_of_run(path));
  if (!is_included) refuse_record(path);
  if (info->is_device) {
    fail(ErrorKind::Config,
         "{}: a pipe, a socket or a device, not a file\nhint: copy what it gives into a file first", path);
  }
  if (info->size > kLargestFile) {
    fail(ErrorKind::Config, "{}: {} is too large for a configuration (at most {})", path,
         human_bytes(static_cast<double>(info->size)), human_bytes(kLargestFile));
  }
  // By links to folders one file has endlessly many names.
  if (loading.chain.size() >= kDeepest)
    fail(ErrorKind::Config, "{}: included through more than {} files", path, kDeepest);
  loading.chain.push_back(std::filesystem::path(path).lexically_normal().string());
  Node node = parse(text_of(path), {path, parent_path(path), true, is_included}, loading);
  loading.chain.pop_back();
  return node;
}

}  // namespace

Node parse_yaml_file(const std::string& path) {
  Loading loading;
  return load(path, loading, false);
}

Node parse_yaml(std::string_view text, const std::string& name, const std::string& folder) {
  Loading loading;
  return parse(text, {name, folder}, loading);
}

Node parse_yaml_value(std::string_view text, const std::string& name) {
  Loading loading;
  return parse(text, {name, ".", false}, loading);
}

}  // namespace bora::config
