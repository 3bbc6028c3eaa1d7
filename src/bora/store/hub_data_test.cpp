// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/hub_data.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/store/test_files.h"
#include "bora/store/test_server.h"

namespace bora::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kCommit(40, 'c'), kOther(40, 'd');

// A hub with one data set, "me/words".
class DataHub {
 public:
  DataHub() : hub_([this](const std::string& request) { return asked(request); }) {
    files = {{"README.md", "---\nlicense: mit\n---\n# Words\n"},
             {"data/train-00000-of-00002.parquet", "one"},
             {"data/train-00001-of-00002.parquet", "two"},
             {"data/test-00000-of-00001.parquet", "three"},
             {"more/a b.jsonl", "four"},
             {".gitattributes", "hidden"},
             {"more/../../../evil.jsonl", "five"}};
    options = {
        .endpoint = hub_.url(""), .cache = folder_ / "cache", .allow_private = true, .pause_seconds = 0.001};
  }
  // Names below the folder of the commit.
  std::vector<std::string> get(const std::string& url, Split split = Split::Train) const {
    auto out = hub_data_files(url, split, options);
    for (auto& path : out) {
      const auto below = folder_ / ("cache/datasets--me--words/snapshots/" + commit + "/");
      EXPECT_THAT(path, testing::StartsWith(below));
      path = path.substr(std::min(path.size(), below.size()));
    }
    return out;
  }
  std::string refusal(const std::string& url, Split split = Split::Train) const {
    try {
      (void)get(url, split);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  std::string path(const std::string& name) const { return folder_ / ("cache/datasets--me--words/" + name); }
  int requests() const { return hub_.requests(); }

  std::map<std::string, std::string> files;
  std::string commit = kCommit;
  int status = 200;
  HubOptions options;

 private:
  static std::string answer(int status, const std::string& body) {
    return fmt::format("HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}", status,
                       body.size(), body);
  }
  std::string asked(const std::string& request) const {
    const auto target = TestServer::target(request);
    if (status != 200) return answer(status, "");
    if (target.starts_with("/api/datasets/me/words/revision/")) {
      Json siblings = Json::array();
      int number = 0;
      for (const auto& [name, content] : files)
        siblings.push_back(
            {{"rfilename", name}, {"size", content.size()}, {"blobId", fmt::format("{:040x}", ++number)}});
      return answer(200, Json{{"sha", commit}, {"siblings", siblings}}.dump());
    }
    for (const auto& [name, content] : files) {
      auto escaped = name;
      if (const auto space = escaped.find(' '); space != escaped.npos) escaped.replace(space, 1, "%20");
      if (target == "/datasets/me/words/resolve/" + commit + "/" + escaped) return answer(200, content);
    }
    return answer(404, "");
  }

  TemporaryFolder folder_{"hub_data"};
  TestServer hub_;
};

TEST(HubData, IsReadAsAUrl) {
  const auto all = parse_hub_data("hf://datasets/me/words@refs/convert/parquet?config=en&split=dev");
  EXPECT_EQ(all.repo.id, "me/words");
  EXPECT_EQ(all.repo.revision, "refs/convert/parquet");
  EXPECT_EQ(all.configuration, "en");
  EXPECT_EQ(all.split, "dev");
  for (const char* text : {"hf://datasets/me/words", "hf://datasets/me/words@v1/data/*.parquet",
                           "hf://datasets/me/words@refs/pr/1/a.jsonl", "hf://datasets/me/words?split=dev",
                           "hf://datasets/me/words@refs/convert/parquet?config=en&split=dev"})
    EXPECT_EQ(parse_hub_data(text).text(), text);
  EXPECT_EQ(parse_hub_data("hf://datasets/me/words/data/").path, "data");
  for (const char* wrong :
       {"hf://me/words", "hf://datasets/", "hf://datasets/a b/c", "hf://datasets/me/words?x=1"})
    EXPECT_THROW(parse_hub_data(wrong), Error) << wrong;
}

TEST(HubData, FillsTheCacheOfHuggingFaceHub) {
  DataHub hub;
  EXPECT_THAT(hub.get("hf://datasets/me/words"),
              ElementsAre("data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"));
  EXPECT_EQ(read_text(hub.path("refs/main")), kCommit);
  const auto link = hub.path("snapshots/" + kCommit + "/data/train-00001-of-00002.parquet");
  EXPECT_EQ(read_text(link), "two");
  EXPECT_TRUE(std::filesystem::read_symlink(link).string().starts_with("../../../blobs/"));
  EXPECT_THAT(hub.get("hf://datasets/me/words", Split::Validation),
              ElementsAre("data/test-00000-of-00001.parquet"));
  const auto before = hub.requests();
  (void)hub.get("hf://datasets/me/words");
  EXPECT_EQ(hub.requests(), before) << "this process knows the commit, and what of it has come";
}

TEST(HubData, IsAskedForWithoutFetching) {
  DataHub hub;
  auto asked = ask_for_hub_data("hf://datasets/me/words", Split::Train, hub.options);
  EXPECT_EQ(asked.files, 2);
  EXPECT_EQ(asked.to_come, 2);
  EXPECT_EQ(asked.bytes, 6);
  EXPECT_FALSE(exists(hub.path("refs/main"))) << "nothing has come that one could go on with";
  (void)hub.get("hf://datasets/me/words");
  asked = ask_for_hub_data("hf://datasets/me/words", Split::Train, hub.options);
  EXPECT_EQ(asked.files, 2);
  EXPECT_EQ(asked.to_come, 0);
  EXPECT_THROW(ask_for_hub_data("hf://datasets/me/words/none", Split::Train, hub.options), Error);
  EXPECT_THROW(ask_for_hub_data("hf://datasets/me/none", Split::Train, hub.options), Error);
}

TEST(HubData, OfOneSplitConfigurationOrPath) {
  DataHub hub;
  EXPECT_THAT(hub.get("hf://datasets/me/words?split=test"), ElementsAre("data/test-00000-of-00001.parquet"));
  EXPECT_THAT(hub.get("hf://datasets/me/words/more"), ElementsAre("more/a b.jsonl"));
  EXPECT_THAT(hub.get("hf://datasets/me/words/*/a*.jsonl"), ElementsAre("more/a b.jsonl"));
  EXPECT_THAT(hub.get("hf://datasets/me/words/data/test-00000-of-00001.parquet"),
              ElementsAre("data/test-00000-of-00001.parquet"));
  EXPECT_THAT(hub.get("hf://datasets/me/words?config=more"), ElementsAre("more/a b.jsonl"));
  DataHub listed;
  listed.files["README.md"] =
      "---\nconfigs:\n- config_name: some\n  data_files: more/*\n- config_name: all\n  data_files:\n"
      "  - split: train\n    path: data/train*\n---\n";
  EXPECT_THAT(listed.get("hf://datasets/me/words?config=some"), ElementsAre("more/a b.jsonl"));
  EXPECT_THAT(listed.get("hf://datasets/me/words?config=all"), testing::SizeIs(2));
  EXPECT_THAT(listed.get("hf://datasets/me/words?config=all", Split::Validation), IsEmpty());
  EXPECT_THAT(listed.refusal("hf://datasets/me/words"), HasSubstr("holds the configurations some, all"));
  EXPECT_THAT(listed.refusal("hf://datasets/me/words?config=al"),
              HasSubstr("has no configuration al; there is some, all; did you mean `all`?"));
  EXPECT_THAT(listed.refusal("hf://datasets/me/words?config=all&split=dev"),
              HasSubstr("holds the split train, but none called dev"));
}

TEST(HubData, OtherContentHasOtherPaths) {
  DataHub hub;
  const auto first = hub_data_files("hf://datasets/me/words@v1", Split::Train, hub.options);
  hub.commit = kOther;
  EXPECT_EQ(hub_data_files("hf://datasets/me/words@v1", Split::Train, hub.options), first)
      << "a branch stays where it was in this process";
  EXPECT_NE(hub_data_files("hf://datasets/me/words@v2", Split::Train, hub.options), first);
}

TEST(HubData, OfflineTheCacheCounts) {
  DataHub hub;
  auto offline = hub.options;
  offline.offline = true;
  std::swap(hub.options, offline);
  EXPECT_THAT(hub.refusal("hf://datasets/me/words"),
              AllOf(HasSubstr("me/words: the data set of revision main is not in " + hub.options.cache),
                    HasSubstr("HF_HUB_OFFLINE is set"), HasSubstr("train_urls")));
  std::swap(hub.options, offline);
  (void)hub.get("hf://datasets/me/words");
  std::swap(hub.options, offline);
  EXPECT_THAT(hub.get("hf://datasets/me/words"), testing::SizeIs(2));
  files().remove(hub.path("snapshots/" + kCommit + "/data/train-00001-of-00002.parquet"));
  EXPECT_THAT(hub.refusal("hf://datasets/me/words"), HasSubstr("is not in")) << "one of two is not all";
}

TEST(HubData, SaysWhatIsNotThere) {
  DataHub hub;
  EXPECT_THAT(hub.refusal("hf://datasets/me/words/none.jsonl"),
              AllOf(HasSubstr("me/words: revision main has nothing called none.jsonl; it has README.md"),
                    HasSubstr("me/words@refs/convert/parquet")));
  DataHub other;
  other.files = {{"README.md", ""}, {"words.csv", "a,b"}};
  EXPECT_THAT(other.refusal("hf://datasets/me/words"),
              HasSubstr("has no data that Bora reads; it has README.md, "));
  EXPECT_THAT(other.refusal("hf://datasets/me/words/words.csv"), HasSubstr("words.csv"));
  other.status = 401;
  EXPECT_THAT(other.refusal("hf://datasets/me/words@dev"),
              HasSubstr("me/words: the hub has no such data set, no revision dev of it, or"));
}

}  // namespace
}  // namespace bora::store
