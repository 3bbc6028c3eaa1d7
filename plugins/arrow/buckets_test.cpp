// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// s3:// against a small server that speaks as much of the protocol as reading needs.
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "bora/base/text.h"
#include "bora/store/arrow_plugin.h"
#include "bora/store/object_store.h"
#include "bora/store/sha256.h"
#include "bora/store/test_files.h"
#include "bora/store/test_server.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

/// Objects of one bucket on 127.0.0.1: HEAD and GET with ranges, ListObjectsV2.
class S3Server {
 public:
  std::string url(const std::string& key) const {
    return fmt::format("s3://texts/{}?scheme=http&region=us-east-1&endpoint_override=127.0.0.1:{}", key,
                       server_.port());
  }
  void put(const std::string& key, const std::string& body) {
    const std::lock_guard lock(mutex_);
    objects_[key] = body;
    ++version_;
  }
  /// So many GETs of an object break off halfway.
  void break_off(int times) { breaks_ = times; }
  /// "GET a.txt bytes=0-99", ... since the last call; signed ones end in " signed".
  Names asked() {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_, {});
  }
  std::size_t longest_range() const { return longest_range_; }

 private:
  static std::string field(const std::string& request, const std::string& name) {
    for (const auto& line : split(request, '\n')) {
      const auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      std::string key = line.substr(0, colon);
      for (char& c : key) c = static_cast<char>(std::tolower(c));
      if (key == name) return std::string(trim(line.substr(colon + 1)));
    }
    return "";
  }
  static std::string parameter(const std::string& query, const std::string& name) {
    for (const auto& part : split(query, '&')) {
      if (!part.starts_with(name + "=")) continue;
      std::string value = part.substr(name.size() + 1);
      for (auto at = value.find("%2F"); at != std::string::npos; at = value.find("%2F"))
        value.replace(at, 3, "/");
      return value;
    }
    return "";
  }

  std::string answer(const std::string& request) {
    const std::lock_guard lock(mutex_);
    const std::string method = request.substr(0, request.find(' '));
    const std::string target = TestServer::target(request);
    const std::string path = target.substr(0, target.find('?'));
    const std::string query = path.size() < target.size() ? target.substr(path.size() + 1) : "";
    const std::string range = field(request, "range");
    std::string key = path.starts_with("/texts/") ? path.substr(7) : "";
    asked_.push_back(fmt::format(
        "{} {}{}{}{}", method, key.empty() ? "list " + parameter(query, "prefix") : key,
        range.empty() ? "" : " ", range, field(request, "authorization").empty() ? "" : " signed"));
    if (path == "/texts" || path == "/texts/") return listing(parameter(query, "prefix"));
    const auto object = objects_.find(key);
    if (object == objects_.end()) return reply("404 Not Found", error("NoSuchKey"), method == "HEAD");
    if (key.starts_with("secret")) return reply("403 Forbidden", error("AccessDenied"), method == "HEAD");
    return body(object->second, range, method == "HEAD");
  }

  std::string listing(const std::string& prefix) const {
    std::string entries;
    int n = 0;
    for (const auto& [key, body] : objects_) {
      if (!key.starts_with(prefix)) continue;
      ++n;
      entries += fmt::format(
          "<Contents><Key>{}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>"
          "<ETag>\"x\"</ETag><Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
          key, body.size());
    }
    return reply("200 OK", fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult "
                                       "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>texts</Name>"
                                       "<Prefix>{}</Prefix><KeyCount>{}</KeyCount><MaxKeys>1000</MaxKeys>"
                                       "<IsTruncated>false</IsTruncated>{}</ListBucketResult>",
                                       prefix, n, entries));
  }
  static std::string error(const std::string& code) {
    return fmt::format("<?xml version=\"1.0\"?><Error><Code>{}</Code><Message>{}</Message></Error>", code,
                       code);
  }
  std::string reply(const std::string& status, const std::string& body, bool head = false,
                    const std::string& more = "") const {
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Length: {}\r\nContent-Type: application/xml\r\n{}"
        "Connection: close\r\n\r\n{}",
        status, body.size(), more, head ? "" : body);
  }
  std::string body(const std::string& whole, const std::string& range, bool head) {
    std::size_t begin = 0, end = whole.size();
    std::string more = fmt::format(
        "Last-Modified: Fri, 02 Jan 2026 03:04:{:02} GMT\r\nETag: \"{}\"\r\n"
        "Accept-Ranges: bytes\r\n",
        version_, version_);
    if (range.empty()) return reply("200 OK", whole, head, more);
    std::sscanf(range.c_str(), "bytes=%zu-%zu", &begin, &end);
    end = std::min(end + 1, whole.size());
    longest_range_ = std::max(longest_range_.load(), end - begin);
    more += fmt::format("Content-Range: bytes {}-{}/{}\r\n", begin, end - 1, whole.size());
    return reply("206 Partial Content", whole.substr(begin, end - begin), head, more);
  }

  std::string answer_or_break_off(const std::string& request) {
    std::string text = answer(request);
    const bool is_read = request.starts_with("GET") && text.starts_with("HTTP/1.1 206");
    if (is_read && breaks_ > 0) {
      --breaks_;
      text.resize(text.size() / 2);
    }
    return text;
  }

  std::mutex mutex_;  // guards the objects and what was asked
  std::map<std::string, std::string> objects_;
  Names asked_;
  int version_ = 0;
  std::atomic<int> breaks_{0};
  std::atomic<std::size_t> longest_range_{0};
  TestServer server_{[this](const std::string& request) { return answer_or_break_off(request); }};
};

std::string sha256(std::string_view text) {
  Sha256 sha;
  sha.update(as_bytes(text));
  return sha.finish();
}

class Buckets : public testing::Test {
 protected:
  Buckets() : folder_("buckets") {
    setenv("BORA_CACHE", folder_.path().c_str(), 1);
    setenv("HOME", folder_.path().c_str(), 1);  // no ~/.aws
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    setenv("AWS_ACCESS_KEY_ID", "anybody", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    server_.put("books/a.txt", "first\n");
    server_.put("books/b.jsonl", "{\"text\": \"second\"}\n");
    server_.put("books/more/c.txt", "third\n");
    server_.put("books/readme.md", "no data\n");
    server_.put("secret.txt", "no\n");
  }
  /// Names and contents of what comes.
  static std::map<std::string, std::string> fetched(const Names& urls) {
    std::map<std::string, std::string> out;
    for (const auto& path : expand_urls(urls, Split::Train, {.allow_private = true}))
      out[base_name(path)] = read_text(path);
    return out;
  }

  store::TemporaryFolder folder_;
  S3Server server_;
};

TEST_F(Buckets, FetchesAnObjectOnce) {
  const Names url = {server_.url("books/a.txt")};
  EXPECT_EQ(fetched(url), (std::map<std::string, std::string>{{"a.txt", "first\n"}}));
  const auto asked = server_.asked();
  EXPECT_THAT(asked, testing::Contains("GET books/a.txt bytes=0-5 signed"));
  EXPECT_EQ(fetched(url).size(), 1u);
  EXPECT_TRUE(server_.asked().empty()) << "the copy is complete";
}

TEST_F(Buckets, AsksNoPrivateServerThatAUrlNames) {
  for (const char* key : {"books/a.txt", "books"})
    EXPECT_THAT(error_of(ErrorKind::Config, [&] { expand_urls(Names{server_.url(key)}); }),
                AllOf(HasSubstr("?<redacted>: leads to 127.0.0.1, an address of this machine"),
                      HasSubstr("data.allow_private_addresses: true")));
  EXPECT_TRUE(server_.asked().empty());
}

TEST_F(Buckets, FoldersAndPatterns) {
  const auto names = [&](const std::string& key) {
    Names out;
    for (const auto& [name, text] : fetched({server_.url(key)})) out.push_back(name);
    return out;
  };
  EXPECT_THAT(names("books"), ElementsAre("a.txt", "b.jsonl", "c.txt"));
  EXPECT_THAT(names("books/*.txt"), ElementsAre("a.txt"));
  EXPECT_THAT(names("books/**/*.txt"), ElementsAre("a.txt", "c.txt"));
  EXPECT_THAT(names("*/[ab].*"), ElementsAre("a.txt", "b.jsonl"));
  EXPECT_THAT(names("books/{a,more/c}.txt"), ElementsAre("a.txt", "c.txt"));
  EXPECT_THAT(error_of(ErrorKind::NotFound, [&] { names("books/*.zst"); }),
              AllOf(HasSubstr("data files: no object matches \"s3://texts/books/*.zst?<redacted>\""),
                    HasSubstr("hint: look at what is below texts/books/")));
}

TEST_F(Buckets, AsksWithoutCredentialsWhereThereAreNone) {
  unsetenv("AWS_ACCESS_KEY_ID");
  unsetenv("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(fetched({server_.url("books/a.txt")}).size(), 1u);
  EXPECT_THAT(server_.asked(), testing::Contains("GET books/a.txt bytes=0-5"));
}

TEST_F(Buckets, ReadsInPiecesAndGoesOnWhereItBrokeOff) {
  const std::string text = sample_text(3, 20 << 20);
  server_.put("big.txt", text);
  const std::string url = server_.url("big.txt");
  // Interrupted after a part: another process has left it so.
  struct PowerCut {};
  const auto store = open_object_store(url);
  const auto object = store->look_up("texts/big.txt");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->size, static_cast<std::int64_t>(text.size()));
  struct Once final : Origin {
    Sent send(std::uint64_t, const Promise&, const Receiver& receiver) override {
      final_ = true;
      receiver.begin(0, promise);
      receiver.bytes(as_bytes(std::string_view(*text).substr(0, 9 << 20)));
      fail(ErrorKind::Io, "power cut");
    }
    Promise promise;
    const std::string* text = nullptr;
  };
  EXPECT_THROW(download(url, folder_ / "downloads", {.allow_private = true},
                        [&](const std::string&) {
                          auto origin = std::make_unique<Once>();
                          origin->promise = {
                              object->size, fmt::format("{}-{}", object->size, object->changed), {}};
                          origin->text = &text;
                          return origin;
                        }),
               Error);
  server_.asked();
  server_.break_off(1);  // Arrow tries again itself
  const DownloadOptions here{.allow_private = true};
  EXPECT_EQ(read_text(download_object(url + "#sha256=" + sha256(text), folder_ / "downloads", here)), text);
  EXPECT_LE(server_.longest_range(), std::size_t{8} << 20);
  for (const auto& asked : server_.asked())
    EXPECT_THAT(asked, testing::Not(HasSubstr("bytes=0-"))) << "what is there came again";
}

TEST_F(Buckets, ChangedChecksumMissingForbidden) {
  const auto fetch = [&](const std::string& url) {
    return download_object(url, folder_ / "downloads", {.pause_seconds = 0.01, .allow_private = true});
  };
  EXPECT_THAT(error_of(ErrorKind::Corruption,
                       [&] { fetch(server_.url("books/a.txt") + "#sha256=" + std::string(64, '0')); }),
              HasSubstr("came with 6 bytes and SHA-256 " + sha256("first\n")));
  EXPECT_THAT(error_of(ErrorKind::NotFound, [&] { fetch(server_.url("books/z.txt")); }),
              HasSubstr(": there is no such object"));
  EXPECT_THAT(error_of(ErrorKind::Io, [&] { fetch(server_.url("secret.txt")); }), HasSubstr("ACCESS_DENIED"));
  EXPECT_THAT(error_of(ErrorKind::Unsupported, [&] { fetch("s3://key:word@texts/a.txt"); }),
              HasSubstr("a URL with a password in it is not fetched"));
  EXPECT_THAT(error_of(ErrorKind::Config, [&] { fetch("s3://texts/a.txt?colour=red&endpoint_override=x"); }),
              HasSubstr("colour"));
}

}  // namespace
}  // namespace bora::store
