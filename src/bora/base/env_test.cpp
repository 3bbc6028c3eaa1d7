// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "bora/base/error.h"

namespace bora {
namespace {

// Sets a variable (null: removes it) and puts the old value back.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    put(value);
  }
  ~ScopedVariable() { put(before_ ? before_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void put(const char* value) const {
    if (value != nullptr)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

std::string usage_error_of(const auto& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Usage);
    return e.what();
  }
  return "no error";
}

TEST(Env, CacheDirectoryByPriority) {
  ScopedVariable home("HOME", "/h");
  ScopedVariable xdg("XDG_CACHE_HOME", "/x");
  ScopedVariable own("BORA_CACHE", "/own");
  EXPECT_EQ(env::cache_directory(), "/own");
  ScopedVariable no_own("BORA_CACHE", "");
  EXPECT_EQ(env::cache_directory(), "/x/bora");
  ScopedVariable no_xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(env::cache_directory(), "/h/.cache/bora");
  ScopedVariable no_home("HOME", nullptr);
  EXPECT_EQ(env::home(), std::nullopt);
  EXPECT_EQ(usage_error_of([] { env::cache_directory(); }),
            "no place for caches: neither BORA_CACHE, XDG_CACHE_HOME nor HOME is set\n"
            "hint: set BORA_CACHE to a folder");
}

TEST(Env, Threads) {
  ScopedVariable omp("OMP_NUM_THREADS", "4,2");
  ScopedVariable own("BORA_THREADS", nullptr);
  EXPECT_EQ(env::threads(), 4);
  ScopedVariable set("BORA_THREADS", "3");
  EXPECT_EQ(env::threads(), 3);
  ScopedVariable bad("BORA_THREADS", "many");
  EXPECT_EQ(
      usage_error_of([] { env::threads(); }),
      "BORA_THREADS should be a positive integer but is \"many\"\nhint: BORA_THREADS=4, or unset BORA_THREADS");
  ScopedVariable zero("BORA_THREADS", "0");
  EXPECT_THAT(usage_error_of([] { env::threads(); }), testing::HasSubstr("integer but is \"0\"\nhint: "));
  ScopedVariable none("BORA_THREADS", nullptr);
  ScopedVariable bad_omp("OMP_NUM_THREADS", "x,2");
  EXPECT_THAT(usage_error_of([] { env::threads(); }),
              testing::StartsWith("OMP_NUM_THREADS should be a positive integer but is \"x\"\nhint: "));
  ScopedVariable no_omp("OMP_NUM_THREADS", nullptr);
  EXPECT_EQ(env::threads(), std::nullopt);
}

TEST(Env, AWrongNumberOfThreadsIsHiddenFromOpenmpAndRefusedAllTheSame) {
  ScopedVariable own("BORA_THREADS", nullptr);
  ScopedVariable hidden("BORA_OMP_NUM_THREADS", nullptr);
  ScopedVariable omp("OMP_NUM_THREADS", "4,2");
  env::hide_wrong_threads();
  EXPECT_STREQ(std::getenv("OMP_NUM_THREADS"), "4,2");
  setenv("OMP_NUM_THREADS", "-3", 1);
  env::hide_wrong_threads();
  EXPECT_EQ(std::getenv("OMP_NUM_THREADS"), nullptr);
  EXPECT_THAT(usage_error_of([] { env::threads(); }),
              testing::StartsWith("OMP_NUM_THREADS should be a positive integer but is \"-3\"\nhint: "));
  ScopedVariable set("BORA_THREADS", "3");
  EXPECT_EQ(env::threads(), 3);
}

TEST(Env, EmptyMeansAbsent) {
  ScopedVariable run("RUN_ID", "");
  ScopedVariable color("NO_COLOR", "");
  EXPECT_EQ(env::run_id(), std::nullopt);
  EXPECT_FALSE(env::no_color());
  ScopedVariable set("NO_COLOR", "1");
  EXPECT_TRUE(env::no_color());
}

TEST(Env, Hostname) {
  ScopedVariable name("HOSTNAME", "box");
  EXPECT_EQ(env::hostname(), "box");
  ScopedVariable none("HOSTNAME", nullptr);
  EXPECT_TRUE(env::hostname().has_value());
}

TEST(Env, TerminalsThatShowLess) {
  for (const auto& [term, plain] :
       std::map<const char*, bool>{{"dumb", true}, {"", true}, {"xterm-256color", false}}) {
    ScopedVariable variable("TERM", term);
    EXPECT_EQ(env::plain_terminal(), plain) << term;
  }
  const ScopedVariable all("LC_ALL", nullptr), type("LC_CTYPE", nullptr);
  {
    const ScopedVariable language("LANG", nullptr);
    EXPECT_FALSE(env::ascii_locale());
  }
  for (const char* ascii : {"C", "POSIX", "de_DE.ISO-8859-1", "ru_RU.KOI8-R@x"}) {
    const ScopedVariable language("LANG", ascii);
    EXPECT_TRUE(env::ascii_locale()) << ascii;
  }
  for (const char* utf8 : {"C.UTF-8", "de_DE.utf8@euro", "en_US"}) {
    const ScopedVariable language("LANG", utf8);
    EXPECT_FALSE(env::ascii_locale()) << utf8;
    const ScopedVariable before("LC_ALL", "C");
    EXPECT_TRUE(env::ascii_locale()) << "LC_ALL comes first";
  }
}

TEST(Env, AllListsEveryVariableInOrder) {
  ScopedVariable target("BORA_CPU_TARGET", "AVX2");
  ScopedVariable proxy("https_proxy", "me:word@proxy:3128");
  EXPECT_THAT(env::proxies(), testing::Contains("me:word@proxy:3128"));
  const auto all = env::all();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](auto& a, auto& b) { return a.name < b.name; }));
  const auto value_of = [&](std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& v) { return v.name == name; });
    return found == all.end() ? "not listed" : found->value;
  };
  EXPECT_EQ(value_of("BORA_CPU_TARGET"), "AVX2");
  EXPECT_EQ(value_of("https_proxy"), "(set)");
  for (const auto& variable : all) EXPECT_FALSE(variable.meaning.empty());
}

}  // namespace
}  // namespace bora
