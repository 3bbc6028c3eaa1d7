// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/download.h"

#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <future>
#include <mutex>

#include "bora/base/fault_files.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/store/sha256.h"
#include "bora/store/test_files.h"
#include "bora/store/test_server.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string sha256(std::string_view text) {
  Sha256 sha;
  sha.update(as_bytes(text));
  return sha.finish();
}

TEST(Sha256, KnownAnswers) {  // of FIPS 180-4's examples
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  Sha256 pieces;
  const std::string text(1000, 'x');
  for (std::size_t at = 0, n = 1; at < text.size(); at += n++)
    pieces.update(as_bytes(std::string_view(text).substr(at, n)));
  EXPECT_EQ(pieces.finish(), sha256(text));
}

/// What a request asks for.
struct Asked {
  std::string path, range, if_range;
};

Asked parse(const std::string& request) {
  Asked out;
  out.path = TestServer::target(request).substr(1);
  for (const auto& line : split(request, '\n')) {
    if (line.starts_with("Range: ")) out.range = std::string(trim(line.substr(7)));
    if (line.starts_with("If-Range: ")) out.if_range = std::string(trim(line.substr(10)));
  }
  return out;
}

/// A server that is told what a request asks for, and paths without their first "/".
class Server : public TestServer {
 public:
  explicit Server(std::function<std::string(const Asked&)> answer)
      : TestServer(
            [answer = std::move(answer)](const std::string& request) { return answer(parse(request)); }) {}
  std::string url(const std::string& path) const { return TestServer::url("/" + path); }
};

std::string answer(int status, const std::string& headers, const std::string& body) {
  return fmt::format("HTTP/1.1 {} X\r\nConnection: close\r\n{}\r\n{}", status, headers, body);
}

std::string whole_answer(const std::string& body, const std::string& more = "") {
  return answer(200, fmt::format("Content-Length: {}\r\nETag: \"v1\"\r\n{}", body.size(), more), body);
}

/// A file as a good server gives it, or the rest of it.
std::string file(const Asked& asked, const std::string& body, const std::string& etag = "\"v1\"") {
  if (asked.range.empty() || asked.if_range != etag)
    return answer(200, fmt::format("Content-Length: {}\r\nETag: {}\r\n", body.size(), etag), body);
  const auto begin =
      static_cast<std::size_t>(parse_int(asked.range.substr(6, asked.range.size() - 7)).value());
  const std::string rest = body.substr(begin);
  return answer(206,
                fmt::format("Content-Length: {}\r\nContent-Range: bytes {}-{}/{}\r\nETag: {}\r\n",
                            rest.size(), begin, body.size() - 1, body.size(), etag),
                rest);
}

/// The answer's head and the first `n` bytes of its body: then the connection breaks.
std::string broken(const std::string& reply, std::size_t n) {
  return reply.substr(0, reply.find("\r\n\r\n") + 4 + n);
}

class DownloadTest : public testing::Test {
 protected:
  DownloadTest() : folder_("download") { set_log_hooks(nullptr, nullptr); }
  std::string fetch(const std::string& url, int tries = 3) {
    return download(url, folder_.path(),
                    {.tries = tries,
                     .pause_seconds = 0,
                     .silent_seconds = 5,
                     .max_bytes = max_bytes_,
                     .allow_private = true});
  }
  std::string wrong(const std::string& url, ErrorKind kind) {
    return error_of(kind, [&] { fetch(url); });
  }
  const std::string body_ = sample_text(3, 300'000);
  std::int64_t max_bytes_ = 1'000'000;
  NoSyncFiles no_sync_;
  ScopedFileSystem scope_{no_sync_};
  TemporaryFolder folder_;
};

TEST_F(DownloadTest, OnceAndThenFromDisk) {
  const Server server([&](const Asked& asked) { return file(asked, body_); });
  const std::string path = fetch(server.url("a/b.txt?x=1"));
  EXPECT_TRUE(path.ends_with("/b.txt")) << path;
  EXPECT_EQ(read_text(path), body_);
  EXPECT_EQ(fetch(server.url("a/b.txt?x=1")), path);
  EXPECT_EQ(server.requests(), 1);
  EXPECT_EQ(fetch(server.url("a/b.txt?x=1#sha256=" + sha256(body_))), path);
  EXPECT_THAT(wrong(server.url("a/b.txt?x=1#sha256=" + sha256("other")), ErrorKind::Corruption),
              testing::AllOf(HasSubstr("b.txt: its SHA-256 is " + sha256(body_)), HasSubstr("hint: delete")));
  EXPECT_NE(fetch(server.url("a/b.txt?x=2")), path);
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(DownloadTest, GoesOnWhereTheConnectionBroke) {
  std::vector<std::string> ranges;
  const Server server([&](const Asked& asked) {
    ranges.push_back(asked.range);
    const std::string reply = file(asked, body_);
    return ranges.size() < 4 ? broken(reply, 70'000) : reply;
  });
  EXPECT_EQ(read_text(fetch(server.url("b.txt"), 2)), body_);  // each try brings something
  EXPECT_THAT(ranges, ElementsAre("", "bytes=70000-", "bytes=140000-", "bytes=210000-"));
}

TEST_F(DownloadTest, GoesOnInALaterProcess) {
  int asked_for = 0;
  const Server server([&](const Asked& asked) {
    ++asked_for;
    if (asked_for == 1) return broken(file(asked, body_), 70'000);
    if (asked_for < 4) return answer(503, "Content-Length: 4\r\n", "busy");
    return file(asked, body_);
  });
  EXPECT_EQ(wrong(server.url("b.txt"), ErrorKind::Io),
            server.url("b.txt") + ": the server says 503\nhint: tried 3 times; start again to go on");
  EXPECT_EQ(read_text(fetch(server.url("b.txt"))), body_);
  EXPECT_EQ(server.requests(), 4);
}

TEST_F(DownloadTest, AFileThatChangedStartsOver) {
  int asked_for = 0;
  const std::string other = sample_text(4, 200'000);
  const Server server([&](const Asked& asked) {
    return ++asked_for == 1 ? broken(file(asked, body_), 70'000) : file(asked, other, "\"v2\"");
  });
  EXPECT_EQ(read_text(fetch(server.url("b.txt"))), other);
  // A server that gives a range of something else, though it was asked not to.
  asked_for = 0;
  const Server careless([&](const Asked& asked) {
    ++asked_for;
    if (asked_for == 1) return broken(file(asked, body_), 70'000);
    if (asked_for == 2)
      return answer(206, "Content-Length: 1\r\nContent-Range: bytes 70000-70000/70001\r\n", "x");
    return file(asked, other);
  });
  EXPECT_EQ(read_text(fetch(careless.url("b.txt"))), other);
  EXPECT_EQ(asked_for, 3);
}

TEST_F(DownloadTest, ServersThatSayLittle) {
  const Server server([&](const Asked& asked) {
    if (asked.path == "chunks.txt")
      return answer(200, "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    if (asked.path == "moved.txt")
      return answer(
          302, "Content-Length: 5\r\nLocation: /chunks.txt\r\nX-Linked-Etag: \"" + sha256("abcde") + "\"\r\n",
          "moved");
    if (asked.path == "loop.txt") return answer(302, "Location: /loop.txt\r\n", "");
    if (asked.path == "file.txt") return answer(302, "Location: file:///etc/hostname\r\n", "");
    if (asked.path == "empty.txt") return answer(200, "Content-Length: 0\r\n", "");
    return answer(200, "", "until the end");
  });
  EXPECT_EQ(read_text(fetch(server.url("chunks.txt"))), "abcde");
  EXPECT_EQ(read_text(fetch(server.url("moved.txt"))), "abcde");
  EXPECT_EQ(read_text(fetch(server.url("plain.txt"))), "until the end");
  EXPECT_EQ(read_text(fetch(server.url("empty.txt"))), "");
  const int before = server.requests();
  EXPECT_EQ(wrong(server.url("loop.txt"), ErrorKind::Unsupported),
            server.url("loop.txt") + ": more than 10 redirections");
  EXPECT_EQ(server.requests(), before + 11) << "not tried again";
  EXPECT_THAT(wrong(server.url("file.txt"), ErrorKind::Unsupported),
              HasSubstr("points to file:///etc/hostname, and Bora goes from http to http or https only"));
}

TEST_F(DownloadTest, WhatIsRefused) {
  const Server server([&](const Asked& asked) {
    if (asked.path == "gone.txt") return answer(404, "", "no");
    if (asked.path == "closed.txt") return answer(403, "", "no");
    return whole_answer(body_, "X-Linked-Etag: \"" + sha256("other") + "\"\r\n");
  });
  EXPECT_EQ(wrong(server.url("gone.txt"), ErrorKind::NotFound),
            server.url("gone.txt") + ": the server says 404: there is no such file");
  EXPECT_EQ(wrong(server.url("closed.txt"), ErrorKind::Io),
            server.url("closed.txt") +
                ": the server says 403: not allowed\nhint: fetch it yourself and give its path");
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(wrong(server.url("b.txt"), ErrorKind::Corruption),
            fmt::format("{}: came with {} bytes and SHA-256 {}, but {} bytes and SHA-256 {} were promised",
                        server.url("b.txt"), body_.size(), sha256(body_), body_.size(), sha256("other")));
  EXPECT_THAT(wrong(server.url("b.txt#sha1=123"), ErrorKind::Unsupported),
              HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(wrong(server.url("a/"), ErrorKind::Unsupported), HasSubstr("ends in no plain file name"));
  EXPECT_THAT(wrong("http://me:secret@127.0.0.1/a.txt", ErrorKind::Unsupported),
              testing::AllOf(HasSubstr("a password in it"), testing::Not(HasSubstr("secret"))));
  std::string nobody;
  {
    const Server gone([](const Asked&) { return ""; });
    nobody = gone.url("a.txt");
  }
  EXPECT_THAT(wrong(nobody, ErrorKind::Io), HasSubstr("hint: tried 3 times"));
}

TEST_F(DownloadTest, LengthsThatAreWrong) {
  const Server server([&](const Asked& asked) {
    if (asked.path == "more.txt") return answer(200, "Content-Length: 5\r\n", "0123456789");
    if (asked.path == "much-more.txt")
      return answer(200, fmt::format("Content-Length: {}\r\n", body_.size() - 1), body_);
    if (asked.path == "less.txt") return answer(200, "Content-Length: 50\r\n", "0123456789");
    if (asked.path == "negative.txt") return answer(200, "Content-Length: -5\r\n", "01234");
    if (asked.path == "word.txt") return answer(200, "Content-Length: 5 bytes\r\n", "01234");
    if (asked.path == "huge.txt") return answer(200, "Content-Length: 99999999999999999999\r\n", "01234");
    if (asked.path == "two.txt") return answer(200, "Content-Length: 5\r\nContent-Length: 6\r\n", "01234");
    return answer(200, "Content-Length: 99\r\nTransfer-Encoding: chunked\r\n", "5\r\nabcde\r\n0\r\n\r\n");
  });
  const auto is = [&](const std::string& name, const std::string& words) {
    const int before = server.requests();
    EXPECT_EQ(wrong(server.url(name), ErrorKind::Unsupported), server.url(name) + words);
    EXPECT_EQ(server.requests(), before + 1) << "not tried again: " << name;
  };
  is("more.txt", ": sent more than the 5 bytes of its Content-Length");
  is("more.txt", ": sent more than the 5 bytes of its Content-Length");
  const std::string all_but_one =
      fmt::format(": sent more than the {} bytes of its Content-Length", body_.size() - 1);
  is("much-more.txt", all_but_one);
  is("much-more.txt", all_but_one);  // what the first time left behind does not count as complete
  is("negative.txt", ": the server's Content-Length is \"-5\", which is no size");
  is("word.txt", ": the server's Content-Length is \"5 bytes\", which is no size");
  is("huge.txt", ": the server's Content-Length is \"99999999999999999999\", which is no size");
  is("two.txt", ": the server's Content-Length is \"5, 6\", which is no size");
  EXPECT_EQ(
      wrong(server.url("less.txt"), ErrorKind::Io),
      server.url("less.txt") + ": ended after 10 of 50 bytes\nhint: tried 3 times; start again to go on");
  EXPECT_EQ(read_text(fetch(server.url("chunked.txt"))), "abcde");
}

TEST_F(DownloadTest, NoMoreThanTheLimit) {
  const Server server([&](const Asked& asked) {
    if (asked.path == "endless.txt") return answer(200, "", std::string(3'000'000, 'x'));
    if (asked.path == "chunked.txt")
      return answer(200, "Transfer-Encoding: chunked\r\n",
                    fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body_.size(), body_));
    return file(asked, body_);
  });
  max_bytes_ = static_cast<std::int64_t>(body_.size()) - 1;
  EXPECT_EQ(
      wrong(server.url("b.txt"), ErrorKind::Config),
      fmt::format("{}: has {} bytes, but data.max_download is {}\nhint: a larger data.max_download, or fetch "
                  "it yourself and give its path",
                  server.url("b.txt"), with_commas(static_cast<std::int64_t>(body_.size())),
                  exact_bytes(max_bytes_)));
  for (const char* name : {"endless.txt", "chunked.txt"})
    EXPECT_THAT(wrong(server.url(name), ErrorKind::Config), HasSubstr(": has at least ")) << name;
  EXPECT_EQ(server.requests(), 3) << "not tried again";
  for (const auto& name : files().list(folder_.path()))
    EXPECT_THAT(files().list(folder_ / name), testing::Each(testing::Not(testing::EndsWith(".part"))));
  ++max_bytes_;
  EXPECT_EQ(read_text(fetch(server.url("b.txt"))), body_);
  EXPECT_EQ(read_text(fetch(server.url("chunked.txt"))), body_);
  max_bytes_ = 1;
  EXPECT_EQ(read_text(fetch(server.url("b.txt"))), body_) << "what is here is not fetched";
}

TEST_F(DownloadTest, AddressesThatAreNotPublic) {
  const Server server([&](const Asked& asked) { return file(asked, body_); });
  const auto refused = [&](const std::string& url) {
    return error_of(ErrorKind::Config, [&] { download(url, folder_.path(), {.pause_seconds = 0}); });
  };
  EXPECT_EQ(
      refused(server.url("b.txt?token=CANARY")),
      fmt::format("{}?<redacted>: leads to 127.0.0.1, an address of this machine, and was not asked\nhint: "
                  "data.allow_private_addresses: true (of train-tokenizer: --allow_private_addresses) if "
                  "that is meant",
                  server.url("b.txt")));
  const std::string port = std::to_string(server.port());
  for (const auto& host : {"localhost:" + port, "0.0.0.0:" + port, "2130706433:" + port, "0x7f.1:" + port,
                           "[::1]:" + port, "[::ffff:127.0.0.1]:" + port, "[::ffff:7f00:1]:" + port,
                           std::string("10.1.2.3"), std::string("169.254.169.254"), std::string("[fd00::1]")})
    EXPECT_THAT(refused("http://" + host + "/b.txt"), HasSubstr(", and was not asked")) << host;
  EXPECT_EQ(server.requests(), 0);
  EXPECT_EQ(read_text(fetch(server.url("b.txt"))), body_);
}

TEST_F(DownloadTest, WhatIsTriedAgain) {
  std::atomic<int> status{0};
  const Server server([&](const Asked&) { return answer(status, "Content-Length: 0\r\n", ""); });
  for (const int once : {400, 401, 403, 404, 410, 418, 451}) {
    status = once;
    const int before = server.requests();
    EXPECT_THROW(fetch(server.url("b.txt")), Error);
    EXPECT_EQ(server.requests(), before + 1) << once;
  }
  for (const int again : {408, 429, 500, 502, 503, 504}) {
    status = again;
    const int before = server.requests();
    EXPECT_THAT(wrong(server.url("b.txt?CANARY"), ErrorKind::Io),
                HasSubstr(fmt::format("b.txt?<redacted>: the server says {}\nhint: tried 3 times", again)));
    EXPECT_EQ(server.requests(), before + 3) << again;
  }
}

TEST_F(DownloadTest, HeadersWithoutAnEnd) {
  const Server server([&](const Asked& asked) {
    std::string headers;
    for (int i = 0; i < 5000; ++i) headers += fmt::format("X-{}: {}\r\n", i, std::string(90, 'x'));
    if (asked.path == "many.txt") return answer(200, headers + "Content-Length: 1\r\n", "x");
    return answer(200, "Content-Length: 1\r\nETag: \"a\rX: b\"\r\n", "x");
  });
  EXPECT_EQ(wrong(server.url("many.txt"), ErrorKind::Unsupported),
            server.url("many.txt") + ": the server's headers are longer than 256 KiB");
  EXPECT_EQ(server.requests(), 1);
  const std::string path = fetch(server.url("odd.txt"));
  EXPECT_THAT(read_text(path_join(parent_path(path), "state.json")), HasSubstr("\"validator\": \"\""));
}

TEST_F(DownloadTest, AServerThatFallsSilent) {
  std::promise<void> end;
  const std::shared_future<void> ended(end.get_future());
  {
    const Server server([&](const Asked&) {
      ended.wait();  // until the client has gone
      return std::string();
    });
    const std::string said = error_of(ErrorKind::Io, [&] {
      download(server.url("b.txt?CANARY"), folder_.path(),
               {.tries = 1, .silent_seconds = 1, .allow_private = true});
    });
    end.set_value();
    EXPECT_EQ(
        said,
        server.url("b.txt") +
            "?<redacted>: the server sent nothing, or less than 100 bytes a second, for 1 s\nhint: tried "
            "1 times; start again to go on");
  }
}

TEST_F(DownloadTest, NothingSecretGoesToAnotherServerOrToDisk) {
  std::string seen;
  const TestServer other([&](const std::string& request) {
    seen += request;
    return whole_answer(body_);
  });
  const Server first(
      [&](const Asked&) { return answer(302, "Location: " + other.url("/b.txt") + "\r\n", ""); });
  testing::internal::CaptureStderr();
  const std::string path = fetch(first.url("b.txt?token=CANARY"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("fetching " + first.url("b.txt?<redacted>")),
                             testing::Not(HasSubstr("CANARY"))));
  EXPECT_THAT(seen, testing::AllOf(HasSubstr("GET /b.txt"), testing::Not(HasSubstr("CANARY")),
                                   testing::Not(HasSubstr("Authorization")),
                                   testing::Not(HasSubstr("Referer")), testing::Not(HasSubstr("Cookie"))));
  const std::string state = path_join(parent_path(path), "state.json");
  EXPECT_THAT(read_text(state), testing::AllOf(HasSubstr("?<redacted>"), testing::Not(HasSubstr("CANARY"))));
  struct stat out {};
  ASSERT_EQ(stat(state.c_str(), &out), 0);
  EXPECT_EQ(out.st_mode & 0777, 0600U);
  EXPECT_THAT(wrong(first.url("b.exe/?token=CANARY"), ErrorKind::Unsupported),
              testing::Not(HasSubstr("CANARY")));
}

TEST_F(DownloadTest, ALinkThatWasSignedAnew) {
  const Server server([&](const Asked& asked) { return file(asked, body_); });
  const std::string path = fetch(server.url("b.txt?X-Amz-Date=1&X-Amz-Signature=aa"));
  EXPECT_EQ(fetch(server.url("b.txt?X-Amz-Date=2&X-Amz-Signature=bb")), path);
  EXPECT_EQ(fetch(server.url("b.txt?token=x")), path);
  EXPECT_EQ(server.requests(), 1);
  EXPECT_NE(fetch(server.url("b.txt?version=2&token=x")), path);
  // A URL without credentials is called as ever.
  EXPECT_EQ(base_name(parent_path(path)), hash128(server.url("b.txt")).hex());
  EXPECT_EQ(base_name(parent_path(fetch(server.url("c.txt?x=1")))), hash128(server.url("c.txt?x=1")).hex());
}

TEST_F(DownloadTest, ThroughBraces) {
  // What is fetched goes below the folder of Bora's caches; its address decides before anything is asked.
  EXPECT_THAT(error_of(ErrorKind::Unsupported,
                       [] { expand_urls(std::vector<std::string>{"http://127.0.0.1:1/{a,b}.exe?x=1"}); }),
              HasSubstr("http://127.0.0.1:1/a.exe: the name ends in no format Bora reads"));
  EXPECT_TRUE(is_fetched("https"));
  EXPECT_TRUE(is_fetched("s3"));
  EXPECT_FALSE(is_fetched("hdfs"));
}

TEST_F(DownloadTest, AFailingDiskIsToldAtOnce) {
  const Server server([&](const Asked& asked) { return file(asked, body_); });
  for (std::int64_t n = 1; n < 200; ++n) {
    FaultFiles faults(files(), {.nth = n});
    {
      const ScopedFileSystem scope(faults);
      try {
        fetch(server.url("b.txt"));
      } catch (const Error& e) {
        EXPECT_EQ(static_cast<int>(e.kind()), static_cast<int>(ErrorKind::Io)) << e.what();
      }
    }
    EXPECT_EQ(read_text(fetch(server.url("b.txt"))), body_) << n;
    if (!faults.fired()) return;
    for (const auto& name : files().list(folder_.path())) remove_all(folder_ / name);
  }
  FAIL() << "more operations than expected";
}

}  // namespace
}  // namespace bora::store
