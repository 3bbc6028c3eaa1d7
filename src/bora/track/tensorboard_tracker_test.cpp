// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/tensorboard_tracker.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>

#include "bora/base/error.h"
#include "bora/base/fault_files.h"

namespace bora::track {
namespace {

/// Reads protocol buffers by the rules of the encoding, independently of the writer.
struct Message {
  std::multimap<int, std::string>
      fields;  ///< varints and fixed-size numbers as their 8 or 4 little-endian bytes

  explicit Message(std::string_view data) {
    const auto varint = [&] {
      std::uint64_t value = 0;
      for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(data.at(0));
        data.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7Fu} << shift;
        if (byte < 0x80) return value;
      }
    };
    while (!data.empty()) {
      const auto tag = varint();
      std::uint64_t length = tag % 8 == 1 ? 8 : tag % 8 == 5 ? 4 : 0;
      if (tag % 8 == 0) {
        const auto value = varint();
        fields.emplace(tag / 8, std::string(reinterpret_cast<const char*>(&value), 8));
        continue;
      }
      if (tag % 8 == 2) length = varint();
      fields.emplace(tag / 8, data.substr(0, length));
      data.remove_prefix(length);
    }
  }
  bool has(int field) const { return fields.contains(field); }
  std::string text(int field) const { return has(field) ? fields.find(field)->second : ""; }
  Message sub(int field) const { return Message(text(field)); }
  template <class T>
  T number(int field) const {
    T value{};
    if (const auto bytes = text(field); bytes.size() >= sizeof value)
      std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
};

/// CRC-32C bit by bit (reflected polynomial 0x82F63B78), masked as in TFRecord: none of the writer's code.
std::uint32_t masked_crc(std::string_view data) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc % 2 == 1 ? 0x82F63B78U : 0U);
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

/// The first `bytes` bytes of `data` as a little-endian number; they are taken off.
std::uint64_t take_number(std::string_view& data, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(data.at(i));
  data.remove_prefix(bytes);
  return value;
}

/// Whole records only: std::out_of_range on a file that ends within one.
std::vector<Message> read_events(const std::string& path) {
  std::vector<Message> events;
  const auto text = read_text(path);
  std::string_view data = text;
  while (!data.empty()) {
    const auto length_bytes = data.substr(0, 8);
    const auto length = take_number(data, 8);
    EXPECT_EQ(take_number(data, 4), masked_crc(length_bytes));
    const auto body = data.substr(0, length);
    data.remove_prefix(body.size());
    EXPECT_EQ(body.size(), length);
    EXPECT_EQ(take_number(data, 4), masked_crc(body));
    events.emplace_back(body);
  }
  return events;
}

TensorboardOptions options_for(const std::string& name, std::int64_t first_step = 0) {
  const auto path = path_join(testing::TempDir(), "bora_tensorboard_" + name);
  remove_all(path);
  return {
      .directory = path, .run_id = "otter", .first_step = first_step, .wall_clock = [] { return 1234.5; }};
}

TEST(Tensorboard, WritesScalars) {
  TensorboardTracker tracker(options_for("scalars"));
  EXPECT_EQ(base_name(tracker.path()).rfind("events.out.tfevents.0000001234.", 0), 0);
  tracker.log(7, std::vector<Metric>{{"train/loss", 4.25}, {"optim/learning_rate", 3e-4}});
  const auto events = read_events(tracker.path());  // before finish: every event is there at once
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].text(3), "brain.Event:2");
  EXPECT_EQ(events[0].number<double>(1), 1234.5);
  EXPECT_EQ(events[1].number<std::int64_t>(2), 7);
  const auto summary = events[1].sub(5);
  ASSERT_EQ(summary.fields.count(1), 2);
  const Message loss(summary.fields.find(1)->second), rate(std::next(summary.fields.find(1))->second);
  EXPECT_EQ(loss.text(1), "train/loss");
  EXPECT_EQ(loss.number<float>(2), 4.25F);
  EXPECT_EQ(rate.text(1), "optim/learning_rate");
  EXPECT_EQ(rate.number<float>(2), 3e-4F);
}

TEST(Tensorboard, ASummaryRepeatsNothing) {
  TensorboardTracker tracker(options_for("summary"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Metric> last{{"eval/loss", 3.5}, {"eval/bpb", nan}};
  tracker.log(9, last);
  const auto before = read_events(tracker.path()).size();
  tracker.log_summary(last);
  EXPECT_EQ(read_events(tracker.path()).size(), before);
  tracker.log_summary(std::vector<Metric>{{"eval/loss", 3.5}, {"best", 1.0}, {"eval/bpb", 2.0}});
  const auto events = read_events(tracker.path());
  ASSERT_EQ(events.size(), before + 1);
  const auto summary = events.back().sub(5);
  ASSERT_EQ(summary.fields.count(1), 2);
  EXPECT_EQ(Message(summary.fields.find(1)->second).text(1), "best");
  EXPECT_EQ(events.back().number<std::int64_t>(2), 9);
}

TEST(Tensorboard, TagsStepsValuesAndTimesComeBack) {
  auto options = options_for("back");
  double now = 1.7e9;
  options.wall_clock = [&now] { return now += 0.25; };
  TensorboardTracker tracker(options);
  const std::vector<std::int64_t> steps{0, 1, 127, 128, 300'000, std::int64_t{1} << 40};
  const std::vector<double> values{0, -1.5, 1e-30, 3.0e38, std::numeric_limits<double>::infinity(), 0.1};
  const std::string long_tag(300, 'x');
  for (std::size_t i = 0; i < steps.size(); ++i)
    tracker.log(steps[i], std::vector<Metric>{{"train/loss", values[i]}, {long_tag, -values[i]}});
  const auto events = read_events(tracker.path());
  ASSERT_EQ(events.size(), 1 + steps.size());
  EXPECT_EQ(events[0].text(3), "brain.Event:2");
  EXPECT_FALSE(events[0].has(5));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& event = events[i + 1];
    EXPECT_FALSE(event.has(3));
    EXPECT_EQ(event.number<std::int64_t>(2), steps[i]);
    // One reading for the file's name, one for the version, then one for each event.
    EXPECT_EQ(event.number<double>(1), 1.7e9 + 0.25 * static_cast<double>(i + 3));
    const auto summary = event.sub(5);
    ASSERT_EQ(summary.fields.count(1), 2);
    const Message first(summary.fields.find(1)->second), second(std::next(summary.fields.find(1))->second);
    EXPECT_EQ(first.text(1), "train/loss");
    EXPECT_EQ(first.number<float>(2), static_cast<float>(values[i]));
    EXPECT_EQ(second.text(1), long_tag);
    EXPECT_EQ(second.number<float>(2), static_cast<float>(-values[i]));
  }
}

// The record that the Python package tensorboard 2.21 (RecordWriter, event_pb2) writes for the same scalar.
TEST(Tensorboard, BytesAreThoseOfTensorboard) {
  TensorboardTracker tracker(options_for("bytes"));
  const auto before = read_text(tracker.path()).size();
  tracker.log(7, std::vector<Metric>{{"train/loss", 4.25}});
  std::string hex;
  for (const unsigned char byte : read_text(tracker.path()).substr(before))
    hex += fmt::format("{:02x}", byte);
  EXPECT_EQ(hex,
            "200000000000000029eda950"  // length, its checksum
            "0900000000004a9340"
            "1007"  // wall time 1234.5, step 7
            "2a13"
            "0a11"
            "0a0a747261696e2f6c6f7373"  // summary, value, tag
            "1500008840"
            "9dca1d74");  // 4.25, checksum
}

TEST(Tensorboard, WritesTextHistogramAndHyperparameters) {
  TensorboardTracker tracker(options_for("rest"));
  tracker.log_text(3, "samples/0", "The moon is");
  tracker.log_histogram(3, "grad/hist/w", {-1, 2, 3, 4, 5, {0, 2}, {1, 2}});
  tracker.log_hyperparameters(Json{{"trainer", {{"seed", 0}, {"mp", "f32"}, {"x", nullptr}}}});
  tracker.finish();
  const auto events = read_events(tracker.path());
  ASSERT_EQ(events.size(), 5);
  const auto text = events[1].sub(5).sub(1);
  EXPECT_EQ(text.text(1), "samples/0");
  EXPECT_EQ(text.sub(8).number<std::int64_t>(1), 7);
  EXPECT_EQ(text.sub(8).text(8), "The moon is");
  EXPECT_EQ(text.sub(9).sub(1).text(1), "text");
  const auto histogram = events[2].sub(5).sub(1).sub(5);
  EXPECT_EQ(histogram.number<double>(2), 2);
  EXPECT_EQ(histogram.text(6).size(), 16);
  const auto start = events[3].sub(5).sub(1);
  EXPECT_EQ(start.text(1), "_hparams_/session_start_info");
  const auto session = Message(start.sub(9).sub(1).text(2)).sub(3);
  EXPECT_EQ(session.fields.count(1), 2);
  EXPECT_EQ(session.sub(1).text(1), "trainer.seed");
  EXPECT_EQ(session.text(4), "otter");
  EXPECT_EQ(events[4].sub(5).sub(1).text(1), "_hparams_/session_end_info");
}

TEST(Tensorboard, ResumeTellsViewersToDropLaterSteps) {
  TensorboardTracker tracker(options_for("resume", 40));
  const auto events = read_events(tracker.path());
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[1].number<std::int64_t>(2), 40);
  EXPECT_EQ(events[1].sub(7).number<std::int64_t>(1), 1);
}

TEST(Tensorboard, ATornRecordIsRepaired) {
  const auto options = options_for("torn");
  FaultFiles broken(
      files(), {.nth = 5, .short_write = true});  // directory, create, its sync, version, then the first log
  ScopedFileSystem scope(broken);
  TensorboardTracker tracker(options);
  for (int step = 0; step < 3; ++step) {
    try {
      tracker.log(step, std::vector<Metric>{{"train/loss", 1}});
    } catch (const Error&) {
    }
  }
  EXPECT_TRUE(broken.fired());
  EXPECT_EQ(read_events(tracker.path()).size(), 3);
}

}  // namespace
}  // namespace bora::track
