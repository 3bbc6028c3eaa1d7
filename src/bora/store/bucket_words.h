// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora::store {

/// What a client of buckets says, in a line: of many lines the first, which names the request and the answer; of Google's
/// client, whose words are long, what is wrong. Inline: the plug-in of buckets has nothing of this room.
inline std::string bucket_words(const std::string& said) {
  constexpr std::string_view kGoogle = "google::cloud::Status(", kLast = "last message of ";
  auto line = said.substr(0, said.find('\n'));
  const auto has = [&](std::string_view words) { return line.find(words) != line.npos; };
  if (!has(kGoogle)) return line;
  if (has("CURL error [6]") || has("CURL error [7]") || has("resolve host"))
    return "Google's servers cannot be reached from here";
  if (has("access token"))
    return "no credentials were found that Google takes (GOOGLE_APPLICATION_CREDENTIALS names a file of them; "
           "gs://anonymous@BUCKET asks without)";
  const auto last = line.find(kLast);
  line =
      last != line.npos ? line.substr(last + kLast.size()) : line.substr(line.find(kGoogle) + kGoogle.size());
  return line.substr(0, line.find(" error_info="));
}

/// Whether it says that no server answered: Arrow has the codes of the vendors' libraries in its words alone.
inline bool is_unreached(std::string_view said) {
  const auto has = [&](std::string_view words) { return said.find(words) != said.npos; };
  return has("AWS Error NETWORK_CONNECTION") ||
         (has("google::cloud::Status(UNAVAILABLE") && (has("CURL error [6]") || has("CURL error [7]")));
}

}  // namespace bora::store
