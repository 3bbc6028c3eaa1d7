// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bora/base/config.h"
#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/log.h"

namespace bora {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Redact, QueriesAndPasswords) {
  EXPECT_EQ(redact("https://host/a.jsonl?token=CANARY"), "https://host/a.jsonl?<redacted>");
  EXPECT_EQ(redact("https://host/a.jsonl?X-Amz-Signature=CANARY&b=1#sha256=00"),
            "https://host/a.jsonl?<redacted>#sha256=00");
  EXPECT_EQ(redact("https://me:CANARY@host:8080/a"), "https://<redacted>@host:8080/a");
  EXPECT_EQ(redact("s3://CANARY:CANARY@bucket?region=x"), "s3://<redacted>@bucket?<redacted>");
  EXPECT_EQ(redact("http://a@b:CANARY@host/"), "http://<redacted>@host/");
  EXPECT_EQ(redact("https://me:CAN/ARY@host/a"), "https://<redacted>@host/a");
  EXPECT_EQ(redact("https://me:CAN?ARY@host/a"), "https://<redacted>@host/a");
  EXPECT_EQ(redact("HTTPS://host?CANARY"), "HTTPS://host?<redacted>");
  EXPECT_EQ(redact("https://host/a?b=http://CANARY@c/?d"), "https://host/a?<redacted>");
  EXPECT_EQ(redact("https://host/#x?CANARY"), "https://host/#x?<redacted>");
}

TEST(Redact, AQueryThatSaysNothingIsNoSecret) {
  EXPECT_EQ(redact("https://h/api/models/gpt2/revision/main?blobs=true: no answer"),
            "https://h/api/models/gpt2/revision/main: no answer");
  EXPECT_EQ(redact("https://h/a?blobs=true&t=CANARY"), "https://h/a?<redacted>");
}

TEST(Redact, InTheMiddleOfText) {
  EXPECT_EQ(redact("https://h/a?t=CANARY: the server says 403\nhint: https://h/b?CANARY."),
            "https://h/a?<redacted>: the server says 403\nhint: https://h/b?<redacted>.");
  EXPECT_EQ(redact("[\"https://h/a?CANARY\", 'https://h/b?CANARY']"),
            "[\"https://h/a?<redacted>\", 'https://h/b?<redacted>']");
  EXPECT_EQ(redact("https://h/{a,b}.txt?t={CANARY,x}"), "https://h/{a,b}.txt?<redacted>}");
  const Json json{{"text", "a \"https://h/a?t=CANARY\"\nb"}, {"url", "https://h/a?t=CANARY"}};
  EXPECT_EQ(Json::parse(redact(json.dump())),
            (Json{{"text", "a \"https://h/a?<redacted>\"\nb"}, {"url", "https://h/a?<redacted>"}}));
}

TEST(Redact, OthersStayAndTwiceIsOnce) {
  for (const char* text : {"", "what? a: b//c", "://?x", "a ://b?x", "https://host/a.jsonl#sha256=00",
                           "http://[::1]:80/a", "http://host:80/@scope/a", "gs://anonymous@bucket/a",
                           "https://", "https://h/a?", "(?<name>x)?", "caf\xC3\xA9"})
    EXPECT_EQ(redact(text), text);
  for (const char* text : {"https://me:CANARY@host/a?t=CANARY#sha256=00", "https://me:x@h?y. http://h/?z"}) {
    EXPECT_EQ(redact(redact(text)), redact(text));
    EXPECT_TRUE(is_redacted(redact(text)));
    EXPECT_FALSE(is_redacted(text));
  }
  EXPECT_EQ(redact("https://<redacted>@host/a?t=CANARY"), "https://<redacted>@host/a?<redacted>");
}

TEST(Redact, TokensOfTheEnvironment) {
  for (const char* name : {"HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY"}) {
    ::setenv(name, "hf_CANARY", 1);
    EXPECT_EQ(redact("x: hf_CANARY, Bearer hf_CANARY."), "x: <redacted>, Bearer <redacted>.") << name;
    EXPECT_EQ(redact("{\"command\": \"--key=hf_CANARY\"}"), "{\"command\": \"--key=<redacted>\"}");
    ::setenv(name, "word", 1);
    EXPECT_EQ(redact("a word"), "a word") << "no token is so short";
    ::unsetenv(name);
  }
  EXPECT_EQ(redact("hf_CANARY"), "hf_CANARY");
}

TEST(WithoutCredentials, NamesTheFile) {
  const auto name = [](const char* url) { return without_credentials(url); };
  for (const char* same : {"https://h/a.jsonl", "https://h/a.jsonl?version=2&b", "https://h/a.jsonl?",
                           "gs://anonymous@b/a", "https://h/a?st=1&se=2", "a/b.txt", "s3://b/k?region=x"})
    EXPECT_EQ(name(same), same);
  EXPECT_EQ(name("https://h/a.jsonl?X-Amz-Date=1&X-Amz-Signature=2"), "https://h/a.jsonl");
  EXPECT_EQ(name("https://h/a.jsonl?version=2&token=x#sha256=00"), "https://h/a.jsonl?version=2#sha256=00");
  EXPECT_EQ(name("https://h/a.jsonl?sv=1&versionid=3&se=2&sig=x"), "https://h/a.jsonl?versionid=3");
  EXPECT_EQ(name("https://h/a.jsonl?Expires=1&Signature=2&Key-Pair-Id=3"), "https://h/a.jsonl");
  EXPECT_EQ(name("https://me:x@h/a.jsonl"), "https://h/a.jsonl");
}

struct Urls {
  std::vector<std::string> urls;
  std::string note = "n";
  void bind(Binder& b) {
    b.field("urls", urls);
    b.field("note", note);
  }
};

TEST(Redact, RecordedConfigurations) {
  Urls given{{"https://h/a.jsonl?v=2&token=CANARY", "b.txt"}, "as in https://h/?CANARY"};
  const std::string yaml = write_config(given);
  EXPECT_THAT(yaml, HasSubstr("https://h/a.jsonl?<redacted>"));
  EXPECT_THAT(yaml, Not(HasSubstr("CANARY")));

  ConfigTree tree;
  tree.merge_text(yaml, "run/config.yaml");
  Urls read;
  const auto problems = read_config(tree, read);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems[0].key, HasSubstr("urls"));
  EXPECT_EQ(
      problems[0].message,
      "was recorded without what may be secret in its URL (<redacted>); give the whole value again, here "
      "or on the command line");
  tree.override_value("urls", "[\"https://h/a.jsonl?v=2\"]");
  tree.override_value("note", "n");
  EXPECT_TRUE(read_config(tree, read).empty());
}

TEST(Redact, IdentityOfAConfiguration) {
  const auto identity = [](const std::string& url) {
    Urls given{{url}};
    return config_identity(given);
  };
  Urls plain{{"https://h/a.jsonl", "b.txt"}};
  EXPECT_EQ(config_identity(plain), write_config(plain));
  EXPECT_EQ(identity("https://h/a?token=1"), identity("https://h/a?token=2"));
  EXPECT_NE(identity("https://h/a?v=1"), identity("https://h/a?v=2"));
}

TEST(Redact, Problems) {
  const std::string text =
      format_problems("https://h/?CANARY", {{"a:1", "urls = https://h/a?CANARY", "no https://h/a?CANARY"}});
  EXPECT_THAT(text, HasSubstr("https://h/a?<redacted>"));
  EXPECT_THAT(text, Not(HasSubstr("CANARY")));
}

TEST(Redact, LogLines) {
  testing::internal::CaptureStderr();
  log_info("fetching {}", "https://h/a?CANARY");
  log_warning("{}; trying again", "https://me:CANARY@h/a");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "bora: fetching https://h/a?<redacted>\nbora: warning: https://<redacted>@h/a; trying again\n");
}

}  // namespace
}  // namespace bora
