// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/hub_upload.h"

#include <gmock/gmock.h>

#include <map>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "bora/store/sha256.h"
#include "bora/store/test_files.h"
#include "bora/store/test_server.h"

namespace bora::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string sha256_of(std::string_view text) {
  Sha256 sha;
  sha.update(as_bytes(text));
  return sha.finish();
}

std::string answer_with(int status, const std::string& body, const std::string& headers = "") {
  return fmt::format("HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}", status,
                     body.size(), headers, body);
}

// A hub to which "me/tiny" is uploaded. What ends in safetensors goes to another server.
class UploadHub {
 public:
  UploadHub()
      : storage_([this](const std::string& request) { return stored(request); }),
        hub_([this](const std::string& request) { return asked(request); }) {
    write("config.json", "{}");
    write("model.safetensors", std::string(1000, 'a') + std::string(1000, 'b') + std::string(500, 'c'));
    write("folder/notes.txt", "two\nlines");
    write("empty.safetensors", "");
    options = {.endpoint = hub_.url(""), .token = "secret", .allow_private = true, .pause_seconds = 0.001};
    upload = {
        .repo = {"me/tiny", "main"}, .files = files_to_upload(folder_ / "out"), .message = "first \"words\""};
  }
  void write(const std::string& name, const std::string& content) {
    const auto path = folder_ / ("out/" + name);
    files().make_directories(parent_path(path));
    write_atomically(path, content);
  }
  std::string path(const std::string& name) const { return folder_ / ("out/" + name); }
  HubCommit run() { return upload_to_hub(upload, options); }
  std::string refusal() {
    try {
      return "uploaded to " + run().url;
    } catch (const Error& e) {
      return e.what();
    }
  }
  // Targets in their order, without the parts of contents.
  std::vector<std::string> targets, with_token;
  std::map<std::string, Json> sent;         // by target, the last
  std::vector<Json> committed;              // lines
  std::map<std::string, std::string> kept;  // large contents by hash
  std::map<std::string, int> fails;         // targets that answer with this status, once
  std::size_t chunk = 0;                    // > 0: large contents come in parts
  std::string transfer = "basic";
  HubUpload upload;
  HubOptions options;

 private:
  std::string note(const std::string& request) {
    const auto target = TestServer::target(request);
    targets.push_back(target);
    if (request.find("Authorization: Bearer secret\r\n") != request.npos) with_token.push_back(target);
    const auto fail = fails.extract(target);
    return fail.empty() ? "" : answer_with(fail.mapped(), R"({"error": "not now, secret"})");
  }

  std::string asked(const std::string& request) {
    if (auto error = note(request); !error.empty()) return error;
    const auto target = TestServer::target(request), body = TestServer::body(request);
    if (target == "/api/models/me/tiny/commit/main" || target == "/api/models/me/tiny/commit/new%2Fbranch") {
      EXPECT_THAT(request, HasSubstr("Content-Type: application/x-ndjson\r\n"));
      for (const auto& line : split(body, '\n'))
        if (!line.empty()) committed.push_back(parse_json(line, "commit"));
      return answer_with(200, R"({"commitUrl": "https://hub/me/tiny/commit/1", "commitOid": "1"})");
    }
    sent[target] = parse_json(body, target);
    if (target == "/api/repos/create" || target.find("/branch/") != target.npos)
      return answer_with(201, "{}");
    if (target == "/api/models/me/tiny/preupload/main" ||
        target == "/api/models/me/tiny/preupload/new%2Fbranch")
      return answer_with(200, preuploaded(sent[target]));
    if (target == "/me/tiny.git/info/lfs/objects/batch")
      return answer_with(200, batch(sent[target]["objects"][0]));
    return answer_with(target == "/verify" ? 200 : 404, "{}");
  }

  static std::string preuploaded(const Json& asked) {
    Json out = Json::array();
    for (const auto& file : asked["files"]) {
      const auto name = file["path"].get<std::string>();
      out.push_back({{"path", name},
                     {"uploadMode", name.ends_with(".safetensors") ? "lfs" : "regular"},
                     {"shouldIgnore", name.ends_with(".log")}});
    }
    return Json{{"files", out}}.dump();
  }

  std::string batch(const Json& object) {
    const auto oid = object["oid"].get<std::string>();
    Json out = object;
    if (!kept.contains(oid)) {
      Json header = Json::object();
      const auto size = object["size"].get<std::size_t>();
      if (chunk > 0) {
        header["chunk_size"] = std::to_string(chunk);
        for (std::size_t i = 0; i * chunk < size; ++i)
          header[fmt::format("{:05}", i + 1)] = storage_.url(fmt::format("/part/{}?key=private", i + 1));
      }
      out["actions"] = {{"upload", {{"href", storage_.url("/" + oid)}, {"header", header}}},
                        {"verify", {{"href", hub_.url("/verify")}}}};
    }
    return Json{{"transfer", transfer}, {"objects", {out}}}.dump();
  }

  std::string stored(const std::string& request) {
    if (auto error = note(request); !error.empty()) return error;
    EXPECT_FALSE(request.starts_with("PUT ") && request.find("Content-Type") != request.npos);
    const auto target = TestServer::target(request), body = TestServer::body(request);
    if (target.starts_with("/part/")) {
      parts_[target] = body;
      return answer_with(200, "", "ETag: \"" + target.substr(6, 1) + "\"\r\n");
    }
    if (request.starts_with("POST ")) {  // the parts are complete
      sent[target] = parse_json(body, target);
      std::string all;
      for (const auto& [name, part] : parts_) all += part;
      kept[sha256_of(all)] = all;
    } else {
      kept[sha256_of(body)] = body;
    }
    return answer_with(200, "{}");
  }

  TemporaryFolder folder_{"hub_upload"};
  std::map<std::string, std::string> parts_;
  TestServer storage_, hub_;
};

TEST(HubUpload, IsOneCommitOfAllFiles) {
  UploadHub hub;
  const auto done = hub.run();
  EXPECT_EQ(done.url, "https://hub/me/tiny/commit/1");
  EXPECT_EQ(done.sent, 2500U);
  EXPECT_TRUE(done.made_repository);
  EXPECT_EQ(hub.sent["/api/repos/create"],
            (Json{{"name", "tiny"}, {"organization", "me"}, {"private", true}}));
  const auto oid = sha256_of(read_text(hub.path("model.safetensors")));
  EXPECT_EQ(hub.kept[oid], read_text(hub.path("model.safetensors")));
  const auto& first = hub.sent["/api/models/me/tiny/preupload/main"]["files"][0];
  EXPECT_EQ(first, (Json{{"path", "config.json"}, {"size", 2}, {"sample", "e30="}}));
  ASSERT_EQ(hub.committed.size(), 5U);
  EXPECT_EQ(hub.committed[0]["value"]["summary"], "first \"words\"");
  EXPECT_EQ(hub.committed[1],
            (Json{{"key", "file"},
                  {"value", {{"content", "e30="}, {"path", "config.json"}, {"encoding", "base64"}}}}));
  EXPECT_EQ(hub.committed[2]["value"]["path"], "empty.safetensors") << "storage takes no empty files";
  EXPECT_EQ(hub.committed[2]["key"], "file");
  EXPECT_EQ(hub.committed[3]["value"],
            (Json{{"content", "dHdvCmxpbmVz"}, {"path", "folder/notes.txt"}, {"encoding", "base64"}}));
  EXPECT_EQ(
      hub.committed[4],
      (Json{{"key", "lfsFile"},
            {"value", {{"path", "model.safetensors"}, {"algo", "sha256"}, {"oid", oid}, {"size", 2500}}}}));
}

TEST(HubUpload, TellsTheTokenToTheHubAlone) {
  UploadHub hub;
  (void)hub.run();
  EXPECT_THAT(hub.with_token, ElementsAre("/api/repos/create", "/api/models/me/tiny/preupload/main",
                                          "/me/tiny.git/info/lfs/objects/batch", "/verify",
                                          "/api/models/me/tiny/commit/main"));
  EXPECT_EQ(hub.targets.size(), 6U);
}

TEST(HubUpload, SendsLargeFilesInPartsWhereTheHubWantsThat) {
  UploadHub hub;
  hub.chunk = 1000;
  (void)hub.run();
  const auto content = read_text(hub.path("model.safetensors"));
  EXPECT_EQ(hub.kept[sha256_of(content)], content);
  EXPECT_EQ(hub.sent["/" + sha256_of(content)]["parts"], (Json{{{"partNumber", 1}, {"etag", "\"1\""}},
                                                               {{"partNumber", 2}, {"etag", "\"2\""}},
                                                               {{"partNumber", 3}, {"etag", "\"3\""}}}));
}

TEST(HubUpload, TriesAgainAndSendsNothingTwice) {
  UploadHub hub;
  const auto oid = sha256_of(read_text(hub.path("model.safetensors")));
  hub.fails = {{"/" + oid, 503}, {"/api/models/me/tiny/commit/main", 400}};
  EXPECT_THAT(hub.refusal(),
              HasSubstr("me/tiny: the hub refuses the commit and says 400: \"not now, <redacted>\""));
  EXPECT_TRUE(hub.committed.empty());
  const auto again = hub.run();
  EXPECT_EQ(again.sent, 0U) << "the large file is there";
  EXPECT_EQ(std::count(hub.targets.begin(), hub.targets.end(), "/" + oid), 2);
}

TEST(HubUpload, MakesTheBranch) {
  UploadHub hub;
  hub.upload.repo.revision = "new/branch";
  hub.upload.is_private = false;
  hub.fails = {{"/api/repos/create", 409}};
  EXPECT_FALSE(hub.run().made_repository);
  EXPECT_THAT(hub.targets, testing::Contains("/api/models/me/tiny/branch/new%2Fbranch"));
  EXPECT_EQ(hub.sent["/me/tiny.git/info/lfs/objects/batch"]["ref"]["name"], "new/branch");
  EXPECT_EQ(hub.committed.size(), 5U);
}

TEST(HubUpload, LeavesOutWhatTheRepositoryIgnores) {
  UploadHub hub;
  hub.write("a.log", "log");
  hub.upload.files = files_to_upload(parent_path(hub.path("a.log")));
  (void)hub.run();
  EXPECT_EQ(hub.committed.size(), 5U);
}

TEST(HubUpload, SaysWhatIsWrong) {
  UploadHub hub;
  hub.fails = {{"/api/repos/create", 403}, {"/api/models/me/tiny/preupload/main", 403}};
  EXPECT_THAT(hub.refusal(), AllOf(HasSubstr("me/tiny: the hub does not let this token write there"),
                                   HasSubstr("403: \"not now, <redacted>\""), HasSubstr("HF_TOKEN"),
                                   Not(HasSubstr("secret"))));
  hub.transfer = "xet";
  EXPECT_THAT(hub.refusal(),
              AllOf(HasSubstr("takes model.safetensors by \"xet\" alone"), HasSubstr("hf upload me/tiny")));
  hub.write("model.safetensors", "shorter");
  EXPECT_THAT(hub.refusal(), HasSubstr("model.safetensors: is no longer the 2500 bytes"));
  hub.options.token = "";
  EXPECT_THAT(hub.refusal(), HasSubstr("me/tiny: an upload needs a token"));
  hub.options.offline = true;
  EXPECT_THAT(hub.refusal(), HasSubstr("HF_HUB_OFFLINE is set"));
  hub.options = {.endpoint = hub.options.endpoint, .token = "t"};
  hub.upload.repo.id = "tiny";
  EXPECT_THAT(hub.refusal(), HasSubstr("tiny: names no owner\nhint: owner/tiny"));
}

TEST(HubUpload, IsDescribed) {
  UploadHub hub;
  EXPECT_EQ(describe(hub.upload, {.endpoint = "https://hub"}),
            "https://hub/me/tiny, branch main, private if it has to be made, \"first \"words\"\":\n"
            "  config.json                                  2 B\n"
            "  empty.safetensors                            0 B\n"
            "  folder/notes.txt                             9 B\n"
            "  model.safetensors                            2.50 kB\n"
            "4 files, 2.51 kB\n");
}

TEST(HubUpload, NeedsNamesThatARepositoryCanHave) {
  UploadHub hub;
  hub.write("a\nb", "x");
  EXPECT_THROW(files_to_upload(parent_path(hub.path("x"))), Error);
  EXPECT_THROW(files_to_upload(hub.path("none")), Error);
  EXPECT_EQ(files_to_upload(hub.path("config.json"))[0].name, "config.json");
}

}  // namespace
}  // namespace bora::store
