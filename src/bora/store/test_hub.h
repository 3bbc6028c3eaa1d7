// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/store/hub.h"
#include "bora/store/sha256.h"
#include "bora/store/test_files.h"
#include "bora/store/test_server.h"

namespace bora::store::test {

inline const std::string kCommit(40, 'c'), kOther(40, 'd');

inline std::string sha256(std::string_view text) {
  Sha256 sha;
  sha.update(as_bytes(text));
  return sha.finish();
}

inline std::string answer(int status, const std::string& headers, const std::string& body) {
  return fmt::format("HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}", status,
                     body.size(), headers, body);
}

/// A hub with one model, "me/tiny". What ends in safetensors it keeps on another server, to which it points.
class Hub {
 public:
  Hub()
      : folder_("hub"),
        store_([this](const std::string& request) { return stored(request); }),
        hub_([this](const std::string& request) { return asked(request); }) {
    files = {{"config.json", "{}"},
             {"tokenizer.json", "{\"a\": 1}"},
             {"model.safetensors", std::string(1000, 'w')},
             {"pytorch_model.bin", "pickle"},
             {".gitattributes", "hidden"},
             {"onnx/config.json", "in a folder"}};
    options = {.endpoint = hub_.url(""),
               .cache = folder_ / "cache",
               .token = "secret",
               .allow_private = true,
               .pause_seconds = 0.001};
  }

  std::string fetch(HubFiles wanted, const std::string& name = "me/tiny") const {
    return fetch_from_hub(*parse_hub_repo(name), wanted, options);
  }
  std::string refusal(HubFiles wanted, const std::string& name = "me/tiny") const {
    try {
      return "fetched " + fetch(wanted, name);
    } catch (const Error& e) {
      return e.what();
    }
  }
  std::string path(const std::string& name) const { return folder_ / ("cache/models--me--tiny/" + name); }
  int requests() const { return hub_.requests() + store_.requests(); }

  std::map<std::string, std::string> files;
  std::string commit = kCommit;
  std::map<std::string, std::string> listed_hashes;  // instead of the true ones
  int status = 200;
  HubOptions options;
  std::vector<std::string> with_token, without_token;  // targets that were asked for

 private:
  static bool is_large(const std::string& name) { return name.ends_with("safetensors"); }

  std::string listing() const {
    Json siblings = Json::array();
    for (const auto& [name, content] : files) {
      const auto wrong = listed_hashes.find(name);
      const auto hash = wrong == listed_hashes.end() ? sha256(content) : wrong->second;
      Json file{{"rfilename", name}, {"size", content.size()}, {"blobId", sha256(content).substr(0, 40)}};
      if (is_large(name)) file["lfs"] = {{"sha256", hash}, {"size", content.size()}, {"pointerSize", 130}};
      siblings.push_back(file);
    }
    return Json{{"sha", commit}, {"siblings", siblings}}.dump();
  }

  void note(const std::string& request) {
    const bool has = request.find("Authorization: Bearer secret\r\n") != request.npos;
    (has ? with_token : without_token).push_back(TestServer::target(request));
  }

  std::string asked(const std::string& request) {
    const auto target = TestServer::target(request);
    note(request);
    if (status != 200) return answer(status, "", "");
    if (target == "/api/models/me/tiny/revision/main?blobs=true" ||
        target == "/api/models/me/tiny/revision/refs%2Fpr%2F1?blobs=true" ||
        target == "/api/models/me/tiny/revision/" + kCommit + "?blobs=true")
      return answer(200, "", listing());
    const auto prefix = "/me/tiny/resolve/" + commit + "/";
    if (!target.starts_with(prefix)) return answer(404, "", "");
    const auto name = target.substr(prefix.size());
    if (!files.contains(name)) return answer(404, "", "");
    if (is_large(name)) return answer(302, "Location: " + store_.url("/" + name) + "\r\n", "");
    return answer(200, "ETag: \"x\"\r\n", files.at(name));
  }

  std::string stored(const std::string& request) {
    note(request);
    return answer(200, "ETag: \"y\"\r\n", files.at(TestServer::target(request).substr(1)));
  }

  TemporaryFolder folder_;
  TestServer store_, hub_;
};

}  // namespace bora::store::test
