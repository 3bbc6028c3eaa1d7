// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Expected files are those that load_dataset of the `datasets` package 5.2 takes from the same folders.
#include "bora/store/hub_dataset.h"

#include "bora/store/test_files.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

class HubDataset : public testing::Test {
 protected:
  HubDataset() : folder_("hub") { card(""); }
  void card(const std::string& yaml) {
    folder_.write("README.md", "---\n" + yaml + "license: mit\n---\n# Data\n");
  }
  void with(const Names& names) {
    for (const auto& name : names) folder_.write(name, "x");
  }
  Names files(Split split) {
    Names out;
    for (const auto& path : expand_urls(Names{folder_.path()}, split))
      out.push_back(path.substr(folder_.path().size() + 1));
    return out;
  }
  Names train() { return files(Split::Train); }
  Names validation() { return files(Split::Validation); }
  std::string wrong(ErrorKind kind, Split split = Split::Train) {
    std::string message = error_of(kind, [&] { files(split); });
    for (auto at = message.find(folder_.path()); at != std::string::npos; at = message.find(folder_.path()))
      message.replace(at, folder_.path().size(), "DIR");
    return message;
  }
  TemporaryFolder folder_;
};

TEST_F(HubDataset, ShardsSayTheirSplit) {
  with({"data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", ".gitattributes",
        "data/test-00000-of-00001.parquet", "dataset_infos.json", "extra/train.jsonl", ".git/config.json"});
  EXPECT_THAT(train(), ElementsAre("data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"));
  EXPECT_THAT(validation(), ElementsAre("data/test-00000-of-00001.parquet")) << "there is no validation";
  with({"data/validation-00000-of-00001-ab12.parquet"});
  EXPECT_THAT(validation(), ElementsAre("data/validation-00000-of-00001-ab12.parquet"));
}

TEST_F(HubDataset, FoldersAndFilesSayTheirSplit) {
  with({"train/a.jsonl", "my_dev/b.jsonl", "other/c.jsonl", "test-1.jsonl"});
  EXPECT_THAT(train(), ElementsAre("train/a.jsonl"));
  EXPECT_THAT(validation(), ElementsAre("my_dev/b.jsonl"));
  const TemporaryFolder second("hub2");
  for (const auto* name : {"README.md", "my-train.jsonl", "training2.jsonl", "strain.jsonl", "x.eval.jsonl"})
    second.write(name, "---\n---\n");
  const auto names = expand_urls(Names{second.path()});
  EXPECT_THAT(names, ElementsAre(second / "my-train.jsonl", second / "training2.jsonl"));
  EXPECT_THAT(expand_urls(Names{second.path()}, Split::Validation), ElementsAre(second / "x.eval.jsonl"));
}

TEST_F(HubDataset, WithoutSplitsAllIsTrain) {
  with({"a.jsonl", "sub/b.jsonl", "__cache__/c.jsonl", "dataset_infos.json", "config.json"});
  EXPECT_THAT(train(), ElementsAre("a.jsonl", "sub/b.jsonl"));
  EXPECT_EQ(wrong(ErrorKind::Config, Split::Validation),
            "data files: DIR holds the split train, but none called validation or test\nhint: "
            "data.num_validation_sequences holds some of the training data back");
}

TEST_F(HubDataset, TheCardNamesFiles) {
  with({"en/train-1.jsonl", "en/train-2.jsonl", "en/val.jsonl", "de/train-1.jsonl", "more/x.jsonl"});
  const std::string german = "- config_name: de\n  data_files: de/*.jsonl\n";
  card("configs:\n" + german +
       "- config_name: en\n  default: true\n  data_files:\n  - split: train\n    path:\n    - en/train-*\n"
       "    - more/*\n  - split: validation\n    path: \"en/val.jsonl\"\n");
  EXPECT_THAT(train(), ElementsAre("en/train-1.jsonl", "en/train-2.jsonl", "more/x.jsonl"));
  EXPECT_THAT(validation(), ElementsAre("en/val.jsonl"));
  card("dataset_info:\n  configs: other\nconfigs:\n" + german);
  EXPECT_THAT(train(), ElementsAre("de/train-1.jsonl"));
  card("configs:\n- config_name: default\n  data_dir: en\n");
  EXPECT_THAT(train(), ElementsAre("en/train-1.jsonl", "en/train-2.jsonl"));
  EXPECT_THAT(validation(), ElementsAre("en/val.jsonl"));
}

TEST_F(HubDataset, CardsThatDoNotSay) {
  with({"a/x.jsonl", "b/x.jsonl"});
  card("configs:\n- config_name: a\n  data_files: a/*\n- config_name: b\n  data_files: b/*\n");
  EXPECT_EQ(
      wrong(ErrorKind::Config),
      "data files: DIR holds the configurations a, b and says of none that it is the default\nhint: give "
      "the files of one, as DIR/README.md lists them under configs");
  card("configs:\n- config_name: a\n  data_files:\n  - split: sft\n    path: a/*\n");
  EXPECT_EQ(wrong(ErrorKind::Config),
            "data files: DIR holds the split sft, but none called train\nhint: give the files of one, for "
            "example DIR/a/x.jsonl");
  card("configs:\n- data_files: a/*\n");
  EXPECT_EQ(wrong(ErrorKind::Corruption),
            "DIR/README.md: configs: each should have a config_name but is a map");
  card("configs:\n- config_name: a\n  data_files:\n  - path: a/*\n");
  EXPECT_EQ(wrong(ErrorKind::Corruption),
            "DIR/README.md: configs: data_files should be of split and path but is a map");
}

TEST_F(HubDataset, AFolderOfOnesOwnIsNone) {
  const TemporaryFolder own("own");
  for (const auto* name : {"README.md", "train.jsonl", "test.jsonl"}) own.write(name, "# Mine\n");
  EXPECT_EQ(hub_dataset_files(own.path(), Split::Train), std::nullopt);
  EXPECT_EQ(expand_urls(Names{own.path()}).size(), 2u);
}

TEST_F(HubDataset, FilesThatLfsHasNotFetchedAreCalledSo) {
  const auto path =
      folder_.write("data/train-00000-of-00001.parquet",
                    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  EXPECT_EQ(
      error_of(ErrorKind::NotFound, [&] { look_up_sources({path}); }),
      path + ": only stands for a file of 12345 bytes that Git LFS has not fetched\nhint: git lfs pull in " +
          folder_ / "data");
}

}  // namespace
}  // namespace bora::store
