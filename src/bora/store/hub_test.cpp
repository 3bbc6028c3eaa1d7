// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/hub.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/store/hub_cache.h"
#include "bora/store/test_hub.h"

namespace bora::store {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using namespace test;

void write_atomically_in(const std::string& folder, const std::string& name) {
  files().make_directories(folder);
  write_atomically(path_join(folder, name), "{}");
}

TEST(HubRepo, IsOwnerNameAndRevision) {
  EXPECT_EQ(parse_hub_repo("me/tiny")->id, "me/tiny");
  EXPECT_EQ(parse_hub_repo("gpt2")->revision, "main");
  EXPECT_EQ(parse_hub_repo("me/tiny@refs/pr/1")->revision, "refs/pr/1");
  for (const char* wrong :
       {"", "/a", "a/", "a/b/c", "../a", "a b/c", "a/b@", "a/b@..", "a--b/c", "gs://a", "-a/b"})
    EXPECT_EQ(parse_hub_repo(wrong), std::nullopt) << wrong;
}

TEST(Hub, FillsTheCacheOfHuggingFaceHub) {
  Hub hub;
  const auto there = hub.fetch(HubFiles::Model);
  EXPECT_EQ(there, hub.path("snapshots/" + kCommit));
  EXPECT_EQ(files().list(there), (std::vector<std::string>{"config.json", "tokenizer.json"}));
  EXPECT_EQ(read_text(path_join(there, "tokenizer.json")), hub.files["tokenizer.json"]);
  EXPECT_EQ(read_text(hub.path("refs/main")), kCommit);
  EXPECT_EQ(std::filesystem::read_symlink(path_join(there, "config.json")).string(),
            "../../blobs/" + sha256("{}").substr(0, 40));

  fetch_weights(there, hub.options);
  EXPECT_EQ(read_text(path_join(there, "model.safetensors")), hub.files["model.safetensors"]);
  EXPECT_TRUE(exists(hub.path("blobs/" + sha256(hub.files["model.safetensors"]))));
  const auto before = hub.requests();
  EXPECT_EQ(hub.fetch(HubFiles::Weights), there);  // this process knows the commit
  EXPECT_EQ(hub.requests(), before);
  EXPECT_EQ(hub.fetch(HubFiles::Weights, "me/tiny@" + kCommit), there);
  EXPECT_EQ(hub.requests(), before);
}

TEST(Hub, FetchesWhatOthersHaveLeftOut) {
  Hub hub;
  files().make_directories(hub.path("snapshots/" + kCommit));
  for (const char* name : {"config.json", "merges.txt"})  // by another program, or before an interrupt
    write_atomically(hub.path("snapshots/" + kCommit + "/" + name), "{}");
  const auto there = hub.fetch(HubFiles::Tokenizer, "me/tiny@" + kCommit);
  EXPECT_EQ(read_text(path_join(there, "tokenizer.json")), hub.files["tokenizer.json"]);
}

TEST(Hub, TellsItsTokenToNobodyElse) {
  Hub hub;
  (void)hub.fetch(HubFiles::Weights);
  EXPECT_THAT(hub.without_token, testing::ElementsAre("/model.safetensors"));
  EXPECT_EQ(hub.with_token.size(), 4U);  // the listing, two small files, and the one that is elsewhere
}

TEST(Hub, ShardsAreThoseOfTheIndex) {
  Hub hub;
  hub.files.erase("model.safetensors");
  hub.files["model.safetensors.index.json"] =
      R"({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})";
  hub.files["model-00001-of-00002.safetensors"] = "one";
  hub.files["model-00002-of-00002.safetensors"] = "two";
  hub.files["consolidated.safetensors"] = "the same again";
  const auto there = hub.fetch(HubFiles::Weights);
  EXPECT_EQ(read_text(path_join(there, "model-00002-of-00002.safetensors")), "two");
  EXPECT_FALSE(exists(path_join(there, "consolidated.safetensors")));
  Hub both;
  both.files["model.safetensors.index.json"] = hub.files["model.safetensors.index.json"];
  EXPECT_FALSE(exists(path_join(both.fetch(HubFiles::Weights), "model.safetensors.index.json")))
      << "transformers takes the single file, too";
}

TEST(Hub, IndicesMayNotLeadElsewhere) {
  Hub hub;
  hub.files.erase("model.safetensors");
  hub.files["model.safetensors.index.json"] = R"({"weight_map": {"a": "../../../secret"}})";
  EXPECT_THAT(hub.refusal(HubFiles::Weights),
              HasSubstr("a is said to be in \"../../../secret\", which is no file"));
  Hub other;
  other.files.erase("model.safetensors");
  other.files["model.safetensors.index.json"] = R"({"weight_map": {"a": "gone.safetensors"}})";
  EXPECT_THAT(other.refusal(HubFiles::Weights), HasSubstr("names gone.safetensors, which revision"));
}

TEST(Hub, OfflineTheCacheCounts) {
  Hub hub;
  auto offline = hub.options;
  offline.offline = true;
  std::swap(hub.options, offline);
  EXPECT_THAT(hub.refusal(HubFiles::Model),
              AllOf(HasSubstr("me/tiny: the model of revision main is not in " + hub.options.cache),
                    HasSubstr("HF_HUB_OFFLINE is set"), HasSubstr("hint: ")));
  EXPECT_EQ(hub.requests(), 0);
  std::swap(hub.options, offline);
  const auto there = hub.fetch(HubFiles::Model);
  std::swap(hub.options, offline);
  EXPECT_EQ(hub.fetch(HubFiles::Model), there);
  EXPECT_THAT(hub.refusal(HubFiles::Weights), HasSubstr("the model of revision"));
}

// What was fetched whole is known by name; of what others have fetched, nobody knows whether it is all.
TEST(Hub, OfflineNothingMayBeMissing) {
  Hub hub;
  hub.files["tokenizer_config.json"] = "{}";
  const auto there = hub.fetch(HubFiles::Tokenizer);
  hub.options.offline = true;
  EXPECT_EQ(hub.fetch(HubFiles::Tokenizer), there);
  files().remove(path_join(there, "tokenizer_config.json"));
  EXPECT_THAT(hub.refusal(HubFiles::Tokenizer),
              HasSubstr("yet (it lacks tokenizer_config.json, by a note in "));
  Hub other;
  other.options.offline = true;
  write_atomically_in(other.path("snapshots/" + kCommit), "vocab.json");
  testing::internal::CaptureStderr();
  EXPECT_EQ(other.fetch(HubFiles::Tokenizer, "me/tiny@" + kCommit), other.path("snapshots/" + kCommit));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: me/tiny: of the tokenizer the cache has vocab.json alone; whether more"));
}

TEST(Hub, RefusesATokenThatNoHeaderMayHold) {
  for (const char* token : {"hf_one two", "hf_one\r\nX-Evil: 1", "hf_\u00e9"}) {
    ::setenv("HF_TOKEN", token, 1);
    try {
      (void)hub_options();
      ADD_FAILURE() << token;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(),
                  AllOf(HasSubstr("HF_TOKEN holds a character that no token has"), Not(HasSubstr("hf_o"))));
    }
  }
  ::setenv("HF_TOKEN", " hf_good\n", 1);
  EXPECT_EQ(hub_options().token, "hf_good");
  ::unsetenv("HF_TOKEN");
}

TEST(Hub, OneLineForManySmallFiles) {
  Hub hub;
  testing::internal::CaptureStderr();
  (void)hub.fetch(HubFiles::Model);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "bora: fetching 2 files of me/tiny, 10 B\n");
}

TEST(Hub, WorkersReadOneCommit) {
  Hub hub;
  (void)hub.fetch(HubFiles::Model);
  EXPECT_THAT(hub_pins(), HasSubstr(kCommit + " " + hub.options.endpoint));
  adopt_hub_pins(hub_pins());
  Hub second;  // another cache and port: not the same
  const auto pin = fmt::format("{} {} models me/tiny@main\n", second.options.endpoint, second.options.cache);
  adopt_hub_pins(kOther + " " + pin);
  second.commit = kOther;
  EXPECT_THAT(second.refusal(HubFiles::Tokenizer), HasSubstr("says 404")) << "it asks for that commit";
  try {
    adopt_hub_pins(kCommit + " " + pin);
    FAIL() << "two commits of one branch";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("the hub's me/tiny@main was commit " + kCommit), HasSubstr(kOther),
                                HasSubstr("it has moved while the workers started")));
  }
}

TEST(Hub, WhereItCannotBeReachedTheCacheCounts) {
  Hub hub;
  const auto there = hub.fetch(HubFiles::Model, "me/tiny@refs/pr/1");
  write_atomically(hub.path("refs/main"), kCommit);
  hub.status = 503;
  EXPECT_EQ(hub.fetch(HubFiles::Model), there);
  Hub empty;
  empty.status = 503;
  EXPECT_THAT(empty.refusal(HubFiles::Model), HasSubstr("the hub says 503"));
  EXPECT_EQ(empty.requests(), 4);  // tries
}

TEST(Hub, SaysWhatIsNotThere) {
  Hub hub;
  EXPECT_THAT(hub.refusal(HubFiles::Model, "me/none"),
              AllOf(HasSubstr("me/none: the hub has no such model, no revision main of it"), HasSubstr("404"),
                    HasSubstr("HF_TOKEN"), Not(HasSubstr("secret"))));
  hub.status = 401;
  EXPECT_THAT(hub.refusal(HubFiles::Tokenizer), HasSubstr("(it says 401)"));
  Hub pickled;
  pickled.files.erase("model.safetensors");
  EXPECT_THAT(pickled.refusal(HubFiles::Model),
              AllOf(HasSubstr("has neither model.safetensors nor model.safetensors.index.json, but "
                              "pytorch_model.bin"),
                    HasSubstr("@refs/pr/N")));
  EXPECT_THAT(pickled.fetch(HubFiles::Tokenizer), HasSubstr("snapshots"));
}

TEST(Hub, WrongContentIsNotKept) {
  Hub hub;
  hub.listed_hashes["model.safetensors"] = sha256("another");
  EXPECT_THAT(hub.refusal(HubFiles::Weights), HasSubstr("SHA-256"));
  EXPECT_FALSE(exists(hub.path("snapshots/" + kCommit + "/model.safetensors")));
  EXPECT_FALSE(exists(hub.path("blobs/" + sha256("another"))));
  Hub lying;
  lying.listed_hashes["model.safetensors"] = "../../etc";
  EXPECT_THAT(lying.refusal(HubFiles::Weights), HasSubstr("has the hash \"../../etc\", which is none"));
  Hub strange;
  strange.commit = "../..";
  EXPECT_THAT(strange.refusal(HubFiles::Model),
              HasSubstr("says that its commit is \"../..\", which is none"));
}

}  // namespace
}  // namespace bora::store
