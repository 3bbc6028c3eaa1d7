// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A word that must not be seen again, given to a run in every place that may hold one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "bora/base/file.h"
#include "bora/store/test_server.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kCanary = "CANARY7d1f";
constexpr const char* kSecret[] = {"HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY",
                                   "http_proxy_password"};

unsigned mode_of(const std::string& path) {
  struct stat out {};
  EXPECT_EQ(::stat(path.c_str(), &out), 0) << path;
  return out.st_mode & 0777;
}

class Secrets : public testing::Test {
 protected:
  Secrets() {
    setenv("BORA_CACHE", (folder_ + "/downloads").c_str(), 1);
    for (const char* name : kSecret) setenv(name, kCanary, 1);
  }
  ~Secrets() override {
    for (const char* name : kSecret) unsetenv(name);
    unsetenv("BORA_CACHE");
  }
  std::string url(const std::string& query) const { return server_.url("/one.txt?" + query + kCanary); }
  std::vector<std::string> line_of(const std::string& query, const std::vector<std::string>& more) const {
    std::vector<std::string> line{"train",
                                  "config.yaml",
                                  "--data.configs.one.train_urls=" + url(query),
                                  "--data.allow_private_addresses=true",
                                  "--trainer.tracker.type=tensorboard",
                                  "--trainer.tracker.logdir=events",
                                  "--trainer.num_train_steps=4"};
    line.insert(line.end(), more.begin(), more.end());
    return line;
  }
  Finished train(const std::string& query, const std::vector<std::string>& more) const {
    return train_after("true", query, more);
  }
  // In the place of a shell that has run `commands`.
  Finished train_after(const std::string& commands, const std::string& query,
                       const std::vector<std::string>& more) const {
    auto done = run_after(folder_, commands, line_of(query, more));
    EXPECT_THAT(done.output, Not(HasSubstr(kCanary)));
    return done;
  }
  void expect_no_canary() const {
    for_each_file(folder_, [](const std::string& path) {
      EXPECT_THAT(read_text(path), Not(HasSubstr(kCanary))) << path;
    });
  }

  const std::string folder_ = small_project("secrets");
  const std::string text_ = read_text(folder_ + "/one.txt");
  store::TestServer server_{[this](const std::string& request) {
    if (store::TestServer::target(request).find(kCanary) == std::string::npos)
      return std::string("HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n");
    return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(text_.size()) +
           "\r\n\r\n" + text_;
  }};
};

TEST_F(Secrets, AreNowhere) {
  ASSERT_EQ(train("X-Amz-Date=1&X-Amz-Signature=", {"--trainer.stop_at_step=2"}).code, 75);
  EXPECT_EQ(server_.requests(), 2) << "asked for before any work, and fetched";
  // The link was signed anew: the same run goes on, with the copy and the token cache that are there.
  auto done = train("X-Amz-Date=2&X-Amz-Signature=", {});
  EXPECT_THAT(done.output, HasSubstr("at step 2 of 4"));
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_EQ(server_.requests(), 2);
  EXPECT_THAT(train("token=", {"--print_config"}).output, HasSubstr("one.txt?<redacted>"));
  EXPECT_EQ(train("token=", {"--data.configs.two.train_urls=https://me:" + std::string(kCanary) + "@h/a.txt",
                             "--trainer.id=password"})
                .code,
            2);
  EXPECT_EQ(train("token=", {"--data.configs.two.train_urls=https://h/a.exe?" + std::string(kCanary),
                             "--trainer.id=name"})
                .code,
            2);
  EXPECT_EQ(train("token=", {"--trainer.no_such_key=https://h/?" + std::string(kCanary)}).code, 2);
  EXPECT_EQ(train("token=", {"--trainer.seed=https://h/?" + std::string(kCanary)}).code, 2);
  expect_no_canary();

  std::string recorded;
  int private_files = 0;
  for_each_file(folder_, [&](const std::string& path) {
    const auto name = base_name(path);
    if (name == "config.yaml" && path != folder_ + "/config.yaml") recorded = path;
    const bool is_private = path == recorded || name == "run.json" ||
                            (name == "state.json" && path.find("/downloads/") != path.npos) ||
                            name == "metrics.jsonl" || name == "timing.jsonl" ||
                            name == "hyperparameters.json" || name == "summary.json" ||
                            name.starts_with("events.out");
    private_files += is_private ? 1 : 0;
    if (is_private) {
      EXPECT_EQ(mode_of(path), 0600U) << path;
    }
  });
  EXPECT_GE(private_files, 7);

  // From the record alone the run cannot go on, and says so; with the URL it can.
  const auto again = run(folder_, {"train", recorded});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output, HasSubstr("data.configs.one.train_urls"));
  EXPECT_THAT(again.output, HasSubstr("was recorded without what may be secret in its URL (<redacted>)"));
}

// Runs that end in the middle, in every way: nothing that they say or leave holds what nobody may see.
TEST_F(Secrets, AreNotInWhatFailingRunsLeave) {
  const std::string steps = "--trainer.num_train_steps=400";
  const auto id = [](const char* name) { return std::string("--trainer.id=") + name; };
  EXPECT_EQ(train("token=", {id("diverges"), "--optimizer.learning_rate=1e30", steps}).code, 4);
  EXPECT_EQ(train_after("trap '' XFSZ; ulimit -f 100", "token=", {id("full"), steps}).code, 1);
  const std::vector<std::pair<std::string, int>> signals = {
      {"TERM", 75}, {"SEGV", 128 + 11}, {"ABRT", 128 + 6}, {"KILL", 128 + 9}};
  for (const auto& [signal, code] : signals) {
    const auto name = "signal" + signal;
    const auto when = "ulimit -c 0; p=$$; (i=0; while [ ! -e runs/" + name +
                      "/step-3 ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; kill -" + signal +
                      " $p) & true";
    const auto done = train_after(when, "token=", {id(name.c_str()), "--trainer.num_train_steps=4000"});
    EXPECT_EQ(done.code, code) << done.output;
  }
  EXPECT_EQ(
      train("token=", {id("gone"), "--data.configs.two.train_urls=" + server_.url("/gone.txt?token=x")}).code,
      2);
  const auto named = run(folder_, {"train", "config.yaml", "--trainer." + std::string(kCanary) + "=1",
                                   "--optimizer.type=" + std::string(kCanary)});
  EXPECT_EQ(named.code, 2);
  EXPECT_THAT(named.output, Not(HasSubstr(kCanary))) << "a token that was pasted into the wrong place";
  // A hub that says back what it was told.
  const store::TestServer hub([](const std::string& request) {
    const auto body = "{\"error\": \"not you: " + request.substr(request.find("Authorization")) + "\"}";
    return "HTTP/1.1 401 " + std::string(kCanary) + "\r\nX-Error-Message: " + kCanary +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  });
  setenv("HF_ENDPOINT", hub.url("").c_str(), 1);
  setenv("HF_HUB_OFFLINE", "0", 1);
  const auto refused = run(folder_, {"import", "me/tiny", "runs/imported"});
  unsetenv("HF_ENDPOINT");
  setenv("HF_HUB_OFFLINE", "1", 1);
  EXPECT_EQ(refused.code, 3) << refused.output;
  EXPECT_THAT(refused.output, Not(HasSubstr(kCanary)));
  EXPECT_GT(hub.requests(), 0);
  const std::vector<std::vector<std::string>> looks = {
      {"runs", "runs"}, {"inspect", "runs/diverges"}, {"report", "runs/diverges"}};
  for (const auto& look : looks) {
    const auto shown = run(folder_, look);
    EXPECT_EQ(shown.code, 0) << shown.output;
    EXPECT_THAT(shown.output, Not(HasSubstr(kCanary)));
  }
  expect_no_canary();
  for (const char* file : {"runs/diverges/status.json", "runs/diverges/report.html", "runs/full/run.json",
                           "runs/signalSEGV/run.json"})
    EXPECT_TRUE(exists(folder_ + "/" + file)) << file;
}

TEST_F(Secrets, AreNotInWhatIsSaidOfAServer) {
  const auto refused = run(folder_, {"train", "config.yaml", "--data.configs.one.train_urls=" + url("t=")});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output,
              HasSubstr("one.txt?<redacted>: leads to 127.0.0.1, an address of this machine"));
  EXPECT_THAT(refused.output, Not(HasSubstr(kCanary)));
  EXPECT_EQ(server_.requests(), 0);
}

}  // namespace
}  // namespace bora::golden
