// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/saved_dataset.h"

#include "bora/store/test_files.h"
#include "bora/store/urls.h"

namespace bora::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SavedDataset : public testing::Test {
 protected:
  SavedDataset() : folder_("saved") {}
  void split(const std::string& name, const std::string& state) {
    folder_.write(name + "/state.json", state);
    folder_.write(name + "/dataset_info.json", "{}");
  }
  std::string wrong(ErrorKind kind, const std::string& name) {
    std::string message = error_of(kind, [&] { saved_dataset_files(folder_ / name); });
    for (auto at = message.find(folder_.path()); at != std::string::npos; at = message.find(folder_.path()))
      message.erase(at, folder_.path().size() + 1);
    return message;
  }
  static constexpr const char* kState = R"({"_data_files": [{"filename": "data-00000-of-00002.arrow"},
      {"filename": "data-00001-of-00002.arrow"}], "_fingerprint": "x", "_split": "train"})";
  TemporaryFolder folder_;
};

TEST_F(SavedDataset, FilesInTheirOrder) {
  split("set/train", kState);
  folder_.write("set/dataset_dict.json", R"({"splits": ["train"]})");
  const auto files = {folder_ / "set/train/data-00000-of-00002.arrow",
                      folder_ / "set/train/data-00001-of-00002.arrow"};
  EXPECT_EQ(saved_dataset_files(folder_ / "set/train"), std::vector<std::string>(files));
  EXPECT_EQ(saved_dataset_files(folder_ / "set"), std::vector<std::string>(files));
  // state.json and the like are no data files.
  EXPECT_EQ(expand_urls(std::vector<std::string>{folder_ / "set/train"}), std::vector<std::string>(files));
  folder_.write("plain/a.txt", "x");
  EXPECT_EQ(saved_dataset_files(folder_ / "plain"), std::nullopt);
  EXPECT_THAT(expand_urls(std::vector<std::string>{folder_ / "plain"}), ElementsAre(folder_ / "plain/a.txt"));
}

TEST_F(SavedDataset, SeveralSplits) {
  folder_.write("set/dataset_dict.json", R"({"splits": ["test", "train"]})");
  EXPECT_EQ(
      wrong(ErrorKind::Config, "set"),
      "data files: set holds the splits test, train\nhint: give the folder of one, for example set/test");
  folder_.write("none/dataset_dict.json", R"({"splits": []})");
  EXPECT_THAT(wrong(ErrorKind::Config, "none"), HasSubstr("holds the splits none"));
}

TEST_F(SavedDataset, WrongLists) {
  split("a", R"({"_data_files": [{"filename": "../secret.arrow"}]})");
  EXPECT_EQ(wrong(ErrorKind::Corruption, "a"),
            "a/state.json: names the file \"../secret.arrow\", outside of its directory");
  split("b", R"({"_data_files": [{"filename": "c/../../x.arrow"}]})");
  EXPECT_THAT(wrong(ErrorKind::Corruption, "b"), HasSubstr("outside of its directory"));
  split("c", "{}");
  EXPECT_EQ(wrong(ErrorKind::Corruption, "c"), "c/state.json: _data_files should be a list");
  split("d", R"({"_data_files": [], "_indices_files": [{"filename": "i.arrow"}]})");
  EXPECT_EQ(
      wrong(ErrorKind::Unsupported, "d"),
      "d/state.json: rows were selected without being written\nhint: flatten_indices() before save_to_disk");
  folder_.write("e/dataset_dict.json", R"({"splits": [7]})");
  EXPECT_EQ(wrong(ErrorKind::Corruption, "e"), "e/dataset_dict.json: splits should be names");
  folder_.write("f/dataset_dict.json", R"({"splits": ["../train"]})");
  EXPECT_THAT(wrong(ErrorKind::Corruption, "f"), HasSubstr("names the file \"../train\""));
  folder_.write("g/dataset_dict.json", R"({"splits": ["train"]})");
  EXPECT_EQ(wrong(ErrorKind::NotFound, "g"),
            "g/train/state.json: does not exist\nhint: a part of the data set is missing; copy all of it");
}

}  // namespace
}  // namespace bora::store
