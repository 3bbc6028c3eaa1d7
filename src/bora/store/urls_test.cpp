// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/urls.h"

#include <unistd.h>

#include "bora/store/test_files.h"

namespace bora::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Names = std::vector<std::string>;

TEST(Braces, ListsAndRanges) {
  EXPECT_EQ(expand_braces("a"), Names{"a"});
  EXPECT_EQ(expand_braces("a{b,c}d"), (Names{"abd", "acd"}));
  EXPECT_EQ(expand_braces("f.{1..3}-of-3"), (Names{"f.1-of-3", "f.2-of-3", "f.3-of-3"}));
  EXPECT_EQ(expand_braces("{08..11}"), (Names{"08", "09", "10", "11"}));
  EXPECT_EQ(expand_braces("{3..1}"), (Names{"3", "2", "1"}));
  EXPECT_EQ(expand_braces("{-1..1}"), (Names{"-1", "0", "1"}));
  EXPECT_EQ(expand_braces("{a..c}"), (Names{"a", "b", "c"}));
  EXPECT_EQ(expand_braces("{a,b}{1,2}"), (Names{"a1", "a2", "b1", "b2"}));
  EXPECT_EQ(expand_braces("{a,b{1..2}}x"), (Names{"ax", "b1x", "b2x"}));
  EXPECT_EQ(expand_braces("{x,}y"), (Names{"xy", "y"}));
  EXPECT_EQ(expand_braces("train.{1..128}.gz").size(), 128u);
}

TEST(Braces, OthersStandForThemselves) {
  EXPECT_EQ(expand_braces("{a}"), Names{"{a}"});
  EXPECT_EQ(expand_braces("{a"), Names{"{a"});
  EXPECT_EQ(expand_braces("a}b"), Names{"a}b"});
  EXPECT_EQ(expand_braces("{}"), Names{"{}"});
  EXPECT_EQ(expand_braces("{1..x}"), Names{"{1..x}"});
  EXPECT_EQ(expand_braces("{a}{1,2}"), (Names{"{a}1", "{a}2"}));
}

TEST(Braces, BoundsAreChecked) {
  EXPECT_EQ(error_of(ErrorKind::Unsupported, [] { expand_braces("{1..99999999}"); }),
            "data files: {1..99999999} stands for more than 1000000 names");
  EXPECT_EQ(
      error_of(ErrorKind::Unsupported, [] { expand_braces("{-9223372036854775808..9223372036854775807}"); })
          .substr(0, 11),
      "data files:");
  EXPECT_EQ(error_of(ErrorKind::Unsupported, [] { expand_braces("{1..9999}{1..9999}"); }),
            "data files: \"{1..9999}{1..9999}\" stands for more than 1000000 names");
}

TEST(Glob, Components) {
  EXPECT_TRUE(glob_match("*.txt", "a.txt"));
  EXPECT_FALSE(glob_match("*.txt", "a.txt.gz"));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_TRUE(glob_match("[a-c]x", "bx"));
  EXPECT_FALSE(glob_match("[!a-c]x", "bx"));
  EXPECT_TRUE(glob_match("[^a-c]x", "dx"));
  EXPECT_TRUE(glob_match("[]]x", "]x"));
  EXPECT_TRUE(glob_match("[a-]x", "-x"));
  EXPECT_TRUE(glob_match("a[", "a["));
  EXPECT_TRUE(glob_match("*a*b*c", "xxaxxbxbc"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("**", ""));
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));  // not exponential
}

class Expand : public testing::Test {
 protected:
  Expand() : folder_("urls") {
    for (const auto* name : {"a.txt", "b.txt", "c.jsonl.gz", ".hidden.txt", "readme.md", "sub/d.txt",
                             "sub/deep/e.txt", "s1.txt", "s2.txt", "s10.txt", "odd[1].txt"}) {
      folder_.write(name, "x");
    }
  }
  Names expand(const std::string& pattern) {
    Names out;
    for (auto& path : expand_urls(Names{folder_ / pattern}))
      out.push_back(path.substr(folder_.path().size() + 1));
    return out;
  }
  TemporaryFolder folder_;
};

TEST_F(Expand, FilesGlobsAndFolders) {
  EXPECT_EQ(expand("a.txt"), Names{"a.txt"});
  EXPECT_EQ(expand("[ab].txt"), (Names{"a.txt", "b.txt"}));
  EXPECT_EQ(expand("odd[1].txt"), Names{"odd[1].txt"}) << "a file of that name comes before the pattern";
  EXPECT_EQ(expand("s{1..2}.txt"), (Names{"s1.txt", "s2.txt"}));
  EXPECT_EQ(expand("s{10,2,1}.txt"), (Names{"s10.txt", "s2.txt", "s1.txt"})) << "braces keep their order";
  EXPECT_EQ(expand("s*.txt"), (Names{"s1.txt", "s10.txt", "s2.txt"})) << "globs sort by bytes";
  EXPECT_EQ(expand("*/*.txt"), Names{"sub/d.txt"});
  EXPECT_EQ(expand("**/*.txt"), (Names{"a.txt", "b.txt", "odd[1].txt", "s1.txt", "s10.txt", "s2.txt",
                                       "sub/d.txt", "sub/deep/e.txt"}));
  EXPECT_EQ(expand("sub/**"), (Names{"sub/d.txt", "sub/deep/e.txt"}));
  EXPECT_EQ(expand("sub"), (Names{"sub/d.txt", "sub/deep/e.txt"}));
  EXPECT_EQ(expand(".h*"), Names{".hidden.txt"});
  EXPECT_EQ(expand("").size(), 9u) << "readme.md and hidden files are no data";
}

TEST_F(Expand, LinksThatLeadBackAreNotFollowed) {
  const auto link = [&](const std::string& to, const std::string& name) {
    ASSERT_EQ(symlink((folder_ / to).c_str(), (folder_ / name).c_str()), 0);
  };
  // Two links back in each folder: followed to any depth, they would double the paths at every step.
  link("sub", "sub/one");
  link("sub", "sub/two");
  link("sub", "sub/deep/three");
  link("sub", "sub/deep/four");
  EXPECT_EQ(expand("sub"), (Names{"sub/d.txt", "sub/deep/e.txt"}));
  EXPECT_EQ(expand("sub/**"), (Names{"sub/d.txt", "sub/deep/e.txt"}));
  EXPECT_EQ(expand("sub/**/*.txt"), (Names{"sub/d.txt", "sub/deep/e.txt"}));
  link("sub/deep", "other");
  EXPECT_EQ(expand("other"), Names({"other/e.txt", "other/four/d.txt", "other/three/d.txt"}))
      << "what a link leads on to is data";
}

TEST_F(Expand, FileScheme) {
  EXPECT_THAT(expand_urls(Names{"file://" + folder_ / "a.txt"}), ElementsAre(folder_ / "a.txt"));
}

TEST_F(Expand, WhatIsThereAndWhatIsNotInOneLook) {
  const auto found =
      find_files(Names{folder_ / "a.txt", folder_ / "none.txt", folder_ / "a.txt", folder_ / "nix/*.txt"});
  EXPECT_THAT(found.files, ElementsAre(folder_ / "a.txt"));
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("none.txt\"\nhint: "), HasSubstr("a.txt is given twice"),
                                          HasSubstr("nix/*.txt")));
}

TEST_F(Expand, NothingMatches) {
  EXPECT_EQ(
      error_of(ErrorKind::NotFound, [&] { expand("sub/f.txt"); }),
      fmt::format(
          "data files: no file matches \"{0}/sub/f.txt\"\nhint: {0}/sub holds d.txt, deep; did you mean "
          "`d.txt`?",
          folder_.path()));
  EXPECT_THAT(error_of(ErrorKind::NotFound, [&] { expand("s{1..3}.txt"); }),
              testing::AllOf(HasSubstr("s3.txt\" (from \""), HasSubstr("{1..3}"), HasSubstr(" and 4 more")));
  EXPECT_THAT(error_of(ErrorKind::NotFound, [&] { expand("sup/*.txt"); }), HasSubstr("did you mean `sub`?"));
  folder_.write("empty/.keep", "");
  EXPECT_THAT(error_of(ErrorKind::NotFound, [&] { expand("empty/*.txt"); }), HasSubstr("empty is empty"));
}

TEST_F(Expand, RemoteAndDouble) {
  EXPECT_EQ(error_of(ErrorKind::Unsupported, [&] { expand_urls(Names{"hdfs://bucket/{1..2}.jsonl.gz"}); }),
            "data files: hdfs://bucket/1.jsonl.gz is on hdfs://, which Bora does not read\n"
            "hint: download the files and give their local paths");
  EXPECT_EQ(remote_scheme("s3://b/x"), "s3");
  EXPECT_EQ(remote_scheme("https://b/x"), "https");
  EXPECT_EQ(remote_scheme("file:///x"), std::nullopt);
  EXPECT_EQ(remote_scheme("a/b://c"), std::nullopt);
  const std::string a = folder_ / "a.txt", all = folder_ / "*.txt";
  EXPECT_EQ(error_of(ErrorKind::Config, [&] { expand_urls(Names{all, a}); }),
            fmt::format("data files: {} is given twice, by \"{}\" and by \"{}\"\nhint: remove one of them", a,
                        all, a));
  const std::string other = folder_ / "sub/../a.txt";
  folder_.write("sub/b.txt", "b");
  EXPECT_THAT(error_of(ErrorKind::Config, [&] { expand_urls(Names{a, other}); }),
              HasSubstr(fmt::format("is given twice, by \"{}\" and by \"{}\"", a, other)));
}

}  // namespace
}  // namespace bora::store
