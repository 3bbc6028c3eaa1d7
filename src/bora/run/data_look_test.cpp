// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/data_look.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "bora/base/file.h"
#include "bora/store/object_store.h"
#include "bora/store/test_files.h"
#include "bora/store/test_server.h"
#include "bora/store/urls.h"

namespace bora::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Data on a server of this machine, and a folder of caches that is empty.
class RemoteData : public testing::Test {
 protected:
  RemoteData() : before_(std::getenv("BORA_CACHE") == nullptr ? "" : std::getenv("BORA_CACHE")) {
    setenv("BORA_CACHE", (folder_ / "own").c_str(), 1);
    data_.allow_private_addresses = true;
    data_.cache_dir = folder_ / "tokens";
  }
  ~RemoteData() override {
    if (before_.empty())
      unsetenv("BORA_CACHE");
    else
      setenv("BORA_CACHE", before_.c_str(), 1);
  }

  DataFound look(std::vector<std::string> urls, bool asks = true, const Asking& asking = {}) {
    problems_.clear();
    data_.single.train_urls = std::move(urls);
    const ConfigTree tree;
    ProblemList problems(tree, problems_);
    return look_for_data(data_, asks, problems, asking);
  }
  std::string problem() const { return problems_.size() == 1 ? problems_[0].message : ""; }

  static std::string answer(const std::string& request) {
    const auto target = store::TestServer::target(request);
    const auto say = [](int status, const std::string& body) {
      return fmt::format("HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}", status,
                         body.size(), body);
    };
    if (target.starts_with("/there")) return say(200, std::string(1000, 'x'));
    return target.starts_with("/closed") ? say(403, "") : say(404, "");
  }

  store::TemporaryFolder folder_{"data_look"};
  store::TestServer server_{answer};
  data::DataConfig data_;
  std::vector<ConfigProblem> problems_;

 private:
  std::string before_;
};

TEST_F(RemoteData, IsAskedForAndNotFetched) {
  const auto found = look({server_.url("/there{1..3}.txt")});
  EXPECT_THAT(problems_, IsEmpty());
  ASSERT_EQ(found.sources.size(), 1U);
  EXPECT_EQ(found.sources[0].remote, 3);
  EXPECT_EQ(found.sources[0].remote_bytes, 3000);
  EXPECT_EQ(found.sources[0].text_bytes, 3000);
  EXPECT_EQ(server_.requests(), 3);
  EXPECT_FALSE(exists(folder_ / "own"));
}

TEST_F(RemoteData, OfManyUrlsSomeAreAskedFor) {
  const auto found = look({server_.url("/there{001..100}.txt")});
  EXPECT_EQ(found.sources[0].remote, 100);
  EXPECT_EQ(found.sources[0].remote_bytes, 100'000);
  EXPECT_EQ(server_.requests(), 6);
}

TEST_F(RemoteData, IsAProblemWhereItIsNotThere) {
  (void)look({server_.url("/none.txt")});
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_EQ(problems_[0].key, "data.train_urls");
  EXPECT_EQ(problem(),
            server_.url("/none.txt") +
                ": the server says 404: there is no such file; is the address right, and does this "
                "machine reach it? Or fetch the files and give their paths");
  (void)look({server_.url("/closed.txt")});
  EXPECT_THAT(problem(), HasSubstr("the server says 403: not allowed; fetch it yourself and give its path"));
  (void)look({server_.url("/there.pdf")});
  EXPECT_THAT(problem(), HasSubstr("there.pdf"));
  data_.max_download.bytes = 999;
  (void)look({server_.url("/there.txt")});
  EXPECT_THAT(problem(), HasSubstr("has 1,000 bytes, but data.max_download is 999; a larger"));
}

// One that nobody reaches is waited for once.
TEST_F(RemoteData, AServerThatDoesNotAnswerIsAskedOnce) {
  std::string gone;
  {
    const store::TestServer server(answer);
    gone = server.url("");
  }
  const auto found = look({gone + "/a.txt", gone + "/b.txt", server_.url("/there.txt")});
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_THAT(problem(), HasSubstr(gone + "/a.txt: "));
  EXPECT_EQ(found.sources[0].remote, 3);
}

// Eight servers, each of which answers only when all have been asked: the words come in the order of the entries.
TEST_F(RemoteData, EightAreAskedAtOnceAndToldInOrder) {
  constexpr int kServers = RemoteLook::kAtOnce;
  std::atomic<int> asked{0};
  std::vector<std::unique_ptr<store::TestServer>> servers;
  std::vector<std::string> urls;
  for (int i = 0; i < kServers; ++i) {
    servers.push_back(std::make_unique<store::TestServer>([&asked, i](const std::string& request) {
      ++asked;
      for (int wait = 0; asked < kServers && wait < 1000; ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::this_thread::sleep_for(std::chrono::milliseconds(10 * (kServers - i)));  // the last one is first
      return answer(asked < kServers ? "GET /none X" : request);
    }));
    urls.push_back(servers.back()->url(i % 2 == 0 ? "/closed.txt" : "/there.txt"));
  }
  std::vector<std::int64_t> told;
  const auto found = look(urls, /*asks=*/true, [&](std::int64_t done, std::int64_t all) {
    EXPECT_EQ(all, kServers);
    told.push_back(done);
  });
  EXPECT_EQ(found.sources[0].remote_bytes, 4000);
  ASSERT_EQ(problems_.size(), 4U);
  for (int i = 0; i < 4; ++i)
    EXPECT_THAT(problems_[static_cast<std::size_t>(i)].message,
                testing::StartsWith(servers[static_cast<std::size_t>(2 * i)]->url("/closed.txt: ")));
  EXPECT_THAT(told, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

// Never more, whatever number there is.
TEST_F(RemoteData, NoMoreThanEightAreAskedAtOnce) {
  std::atomic<int> now{0}, most{0};
  std::vector<std::unique_ptr<store::TestServer>> servers;
  std::vector<std::string> urls;
  for (int i = 0; i < 20; ++i) {
    servers.push_back(std::make_unique<store::TestServer>([&](const std::string& request) {
      const int here = ++now;
      for (int before = most; before < here && !most.compare_exchange_weak(before, here);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      --now;
      return answer(request);
    }));
    urls.push_back(servers.back()->url("/there.txt"));
  }
  const auto found = look(urls);
  EXPECT_EQ(found.sources[0].remote_bytes, 20'000);
  EXPECT_LE(most, RemoteLook::kAtOnce);
}

// Whoever was asked before that was known.
TEST_F(RemoteData, WhatNobodyReachesIsToldOnceAmongMany) {
  std::string gone;
  {
    const store::TestServer server(answer);
    gone = server.url("");
  }
  std::vector<std::string> urls;
  for (int i = 0; i < 30; ++i)
    urls.push_back(i % 3 == 2 ? server_.url(fmt::format("/there{}.txt", i))
                              : fmt::format("{}/{}.txt", gone, i));
  const auto found = look(urls);
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_THAT(problem(), testing::StartsWith(gone + "/0.txt: "));
  EXPECT_EQ(found.sources[0].remote, 30);
  EXPECT_EQ(found.sources[0].remote_bytes, 10'000);
}

// It has answered, so that the next one may be asked for.
TEST_F(RemoteData, AnAnswerThatBreaksOffIsNoServerThatIsNotReached) {
  const store::TestServer broken([](const std::string& request) {
    return store::TestServer::target(request) == "/a.txt" ? std::string("HTTP/1.1 503 Busy\r\n\r\n")
                                                          : answer("GET /there.txt X");
  });
  const auto found = look({broken.url("/a.txt"), broken.url("/b.txt")});
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_THAT(problem(), HasSubstr("the server says 503"));
  EXPECT_EQ(found.sources[0].remote_bytes, 1000);
}

TEST_F(RemoteData, AnEntryOfTwoDataSetsIsAskedForOnce) {
  const data::SourceConfig source{.train_urls = {server_.url("/none.txt")}};
  data_.configs = {{"a", source}, {"b", source}};
  (void)look({});
  EXPECT_EQ(server_.requests(), 1);
  ASSERT_EQ(problems_.size(), 2U);
  EXPECT_EQ(problems_[0].key, "data.configs.a.train_urls");
  EXPECT_EQ(problems_[1].key, "data.configs.b.train_urls");
}

TEST_F(RemoteData, IsNotAskedForByEveryWorker) {
  const auto found = look({server_.url("/none.txt")}, /*asks=*/false);
  EXPECT_EQ(found.sources[0].remote, 1);
  EXPECT_EQ(found.sources[0].patterns, 0);
  EXPECT_EQ(server_.requests(), 0);
  EXPECT_THAT(problems_, IsEmpty());
  const auto many = look({server_.url("/none{1..3}.txt"), server_.url("/none.txt")}, /*asks=*/false);
  EXPECT_EQ(many.sources[0].remote, 2);
  EXPECT_EQ(many.sources[0].patterns, 1) << "nobody knows how many files";
}

// Then its records can be looked at as those of other files.
TEST_F(RemoteData, ThatHasComeIsAFileAsOthers) {
  const auto url = server_.url("/there.txt");
  const std::vector<std::string> urls = {url};
  ASSERT_EQ(store::expand_urls(urls, store::Split::Train, data_.download_options()).size(), 1U);
  const auto before = server_.requests();
  const auto found = look({url});
  EXPECT_EQ(server_.requests(), before);
  EXPECT_EQ(found.sources[0].remote, 0);
  EXPECT_EQ(found.sources[0].files, 1);
  ASSERT_EQ(found.texts.size(), 1U);
}

TEST_F(RemoteData, APluginThatIsStillToBeBuiltIsNamed) {
  if (store::can_open_object_stores()) GTEST_SKIP() << "it is there";
  const char* before = std::getenv("BORA_CHECKOUT");
  const std::string kept = before == nullptr ? "" : before;
  setenv("BORA_CHECKOUT", folder_.path().c_str(), 1);
  const auto found = look({"s3://bucket/x.jsonl"});
  EXPECT_THAT(found.notes,
              ElementsAre("data.train_urls s3://bucket/x.jsonl: not looked for: s3:// is read by a "
                          "plug-in that the start builds first"));
  EXPECT_THAT(problems_, IsEmpty());
  unsetenv("BORA_CHECKOUT");
  (void)look({"s3://bucket/x.jsonl"});
  EXPECT_THAT(problem(),
              HasSubstr("s3://bucket/x.jsonl: reading s3:// and gs:// is not built into this program"));
  if (before != nullptr) setenv("BORA_CHECKOUT", kept.c_str(), 1);
}

TEST(ProblemList, TellsEachOnceAndOnOneLine) {
  ConfigTree tree;
  tree.override_value("data.cache_dir", "x");
  std::vector<ConfigProblem> all;
  ProblemList problems(tree, all);
  for (int twice = 0; twice < 2; ++twice)
    problems.of("data", [] { fail(ErrorKind::Config, "data.cache_dir: is full\nhint: make room"); });
  problems.of("data", [] { fail(ErrorKind::Corruption, "x.txt:1: torn"); });
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].key, "data.cache_dir");
  EXPECT_EQ(all[0].message, "is full; make room");
  EXPECT_EQ(all[1].key, "data");
  EXPECT_EQ(all[1].message, "x.txt:1: torn; mend it, copy or make it again, or name another");
}

}  // namespace
}  // namespace bora::run
