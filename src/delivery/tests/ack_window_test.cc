// Proves W1 to W4 of AckWindow: by example, and with random histories against a model that keeps
// every event and derives the cursor from the definition of "settled".
#include "delivery/ack_window.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace cdc::delivery {
namespace {

using model::EventHeader;
using state::Cursor;

constexpr AckWindow::Limits kWide{.events = 1'000'000, .bytes = 1U << 30U};

EventHeader in_lanes(std::uint64_t lane, std::uint64_t old_lane) {
  return {.text_size = 10, .key_hash = lane, .old_key_hash = old_lane};
}

EventHeader in_lane(std::uint64_t lane) {
  return in_lanes(lane, lane);
}

EventHeader barrier() {
  EventHeader header = in_lane(0);
  header.flags = EventHeader::kBarrier;
  return header;
}

Cursor cursor_at(std::uint64_t sequence) {
  Cursor cursor;
  cursor.lanes.fill(Sequence{sequence});
  return cursor;
}

// A frame whose events lie one after the other, as in the journal.
class Frame {
 public:
  Frame(std::uint64_t first, std::vector<EventHeader> events)
      : first_(first), events_(std::move(events)) {
    std::uint32_t offset = 0;
    for (EventHeader& event : events_) {
      event.text_offset = offset;
      offset += event.text_size;
    }
  }

  [[nodiscard]] journal::FrameView view() const {
    return {.first = Sequence{first_}, .events = events_, .tables = {}, .text = {}};
  }

 private:
  std::uint64_t first_;
  std::vector<EventHeader> events_;
};

void take_all(AckWindow& window, const Frame& frame) {
  window.offer(frame.view(), 0);
  window.close_offer(frame.view().events.size());
}

TEST(AckWindow, WholeFramesInOrderLeaveNothingInFlight) {
  AckWindow window(kWide, Cursor{});
  for (std::uint64_t first = 1; first < 1'000; first += 10) {
    const Frame frame(first, std::vector<EventHeader>(10, in_lane(first % 64)));
    window.offer(frame.view(), 0);
    window.acknowledge_through(Sequence{first + 9});
    window.close_offer(10);
    EXPECT_TRUE(window.is_idle());
    EXPECT_EQ(window.cursor(), cursor_at(first + 9));
  }
  EXPECT_EQ(window.acknowledged_count(), 1'000U);
}

TEST(AckWindow, AnUnacknowledgedEventHoldsOnlyItsLane) {
  AckWindow window(kWide, Cursor{});
  take_all(window, Frame(1, {in_lane(1), in_lane(2), in_lane(1), in_lane(3)}));
  window.acknowledge(Sequence{2});
  window.acknowledge(Sequence{3});
  window.acknowledge(Sequence{4});
  const Cursor cursor = window.cursor();
  EXPECT_EQ(cursor.lanes[1], Sequence{0});
  EXPECT_EQ(cursor.lanes[2], Sequence{4});
  EXPECT_EQ(cursor.lanes[63], Sequence{4});
  EXPECT_EQ(window.bytes_in_flight(), 10U);
  window.acknowledge(Sequence{1});
  EXPECT_EQ(window.cursor(), cursor_at(4));
  EXPECT_TRUE(window.is_idle());
}

TEST(AckWindow, AChangedKeyHoldsBothLanesUntilBothAreSettled) {
  AckWindow window(kWide, Cursor{});
  take_all(window, Frame(1, {in_lane(1), in_lanes(2, 1), in_lane(2), in_lane(3)}));
  for (const std::uint64_t sequence : {2U, 3U, 4U}) {
    window.acknowledge(Sequence{sequence});
  }
  // If lane 2 went past event 2, a resume would repeat 2 in lane 1 after 3 was seen in lane 2.
  const Cursor cursor = window.cursor();
  EXPECT_EQ(cursor.lanes[1], Sequence{0});
  EXPECT_EQ(cursor.lanes[2], Sequence{1});
  EXPECT_EQ(cursor.lanes[3], Sequence{4});
}

TEST(AckWindow, ABarrierHoldsEveryLane) {
  AckWindow window(kWide, Cursor{});
  take_all(window, Frame(1, {in_lane(1), barrier(), in_lane(5)}));
  window.acknowledge(Sequence{1});
  window.acknowledge(Sequence{3});
  EXPECT_EQ(window.cursor(), cursor_at(1));
  window.acknowledge(Sequence{2});
  EXPECT_EQ(window.cursor(), cursor_at(3));
}

TEST(AckWindow, SettledThroughStandsBeforeTheFirstEventInFlight) {
  AckWindow window(kWide, cursor_at(10));
  EXPECT_EQ(window.settled_through(), Sequence{10});
  const Frame frame(11, {in_lane(1), in_lane(2), in_lane(3)});
  take_all(window, frame);
  EXPECT_EQ(window.settled_through(), Sequence{10});
  window.acknowledge(Sequence{12});
  EXPECT_EQ(window.settled_through(), Sequence{10});
  window.acknowledge(Sequence{11});
  EXPECT_EQ(window.settled_through(), Sequence{12});
  window.acknowledge(Sequence{13});
  EXPECT_EQ(window.settled_through(), Sequence{13});
}

TEST(AckWindow, TellsWhatAStartCursorCovers) {
  Cursor start = cursor_at(2);
  start.lanes[7] = Sequence{5};
  const AckWindow window(kWide, start);
  EXPECT_EQ(window.submitted_through(), Sequence{2});
  EXPECT_TRUE(window.is_covered(Sequence{2}, barrier()));
  EXPECT_TRUE(window.is_covered(Sequence{5}, in_lane(7)));
  EXPECT_FALSE(window.is_covered(Sequence{5}, in_lane(8)));
  EXPECT_FALSE(window.is_covered(Sequence{5}, in_lanes(7, 8)));
  EXPECT_FALSE(window.is_covered(Sequence{6}, in_lane(7)));
}

TEST(AckWindow, RewindRepeatsEachLaneFromItsEdge) {
  AckWindow window(kWide, Cursor{});
  take_all(window, Frame(1, {in_lane(1), in_lane(2), in_lane(1), in_lane(2)}));
  window.acknowledge(Sequence{2});
  window.acknowledge(Sequence{3});
  const Cursor before = window.cursor();
  window.rewind();
  EXPECT_EQ(window.cursor(), before);
  EXPECT_TRUE(window.is_idle());
  EXPECT_EQ(window.submitted_through(), Sequence{0});
  EXPECT_FALSE(window.is_covered(Sequence{1}, in_lane(1)));
  EXPECT_TRUE(window.is_covered(Sequence{2}, in_lane(2)));
  // Event 3 was acknowledged, but event 1 of its lane was not.
  EXPECT_FALSE(window.is_covered(Sequence{3}, in_lane(1)));
  EXPECT_FALSE(window.is_covered(Sequence{4}, in_lane(2)));
  // A late acknowledgement of the first attempt is no news.
  window.acknowledge(Sequence{4});
  EXPECT_EQ(window.cursor(), before);
}

TEST(AckWindow, HasRoomForItsLimitsAndForOneEventOfAnySize) {
  AckWindow window({.events = 3, .bytes = 25}, Cursor{});
  const Frame small(1, std::vector<EventHeader>(5, in_lane(1)));
  EXPECT_EQ(window.room(small.view(), 0), 2U);
  EXPECT_EQ(window.room(small.view(), 4), 1U);
  EventHeader huge = in_lane(1);
  huge.text_size = 1'000;
  const Frame large(1, {huge, in_lane(1)});
  EXPECT_EQ(window.room(large.view(), 0), 1U);
  const Frame one(1, {in_lane(1)});
  take_all(window, one);
  EXPECT_EQ(window.room(large.view(), 0), 0U);
  EXPECT_EQ(window.room(small.view(), 0), 1U);
}

TEST(AckWindow, OneHeldEventDoesNotCollectTheSettledOnesBehindIt) {
  AckWindow window({.events = 256, .bytes = 1U << 20U}, Cursor{});
  take_all(window, Frame(1, {in_lane(1)}));
  for (std::uint64_t sequence = 2; sequence < 10'000; ++sequence) {
    const Frame frame(sequence, {in_lane(2)});
    ASSERT_EQ(window.room(frame.view(), 0), 1U);
    take_all(window, frame);
    window.acknowledge(Sequence{sequence});
  }
  EXPECT_EQ(window.cursor().lanes[1], Sequence{0});
  EXPECT_EQ(window.cursor().lowest(), Sequence{0});
  EXPECT_EQ(window.cursor().lanes[2], Sequence{9'999});
}

// The same history as AckWindow's, kept in full.
class Model {
 public:
  struct Event {
    EventHeader header;
    bool is_in_flight = false;
    bool is_acknowledged = false;
    bool was_ever_acknowledged = false;
  };

  explicit Model(const std::vector<EventHeader>& events) {
    events_.emplace_back();  // sequences count from 1
    for (const EventHeader& header : events) {
      events_.push_back({.header = header});
    }
  }

  [[nodiscard]] Event& operator[](std::uint64_t sequence) { return events_[sequence]; }

  void acknowledge(std::uint64_t sequence) {
    Event& event = events_[sequence];
    event.was_ever_acknowledged = true;
    event.is_acknowledged = event.is_in_flight;
  }

  // By the definition: settled when acknowledged and nothing unsettled before it shares a lane.
  [[nodiscard]] Cursor cursor(const Cursor& start, std::uint64_t submitted_through) const {
    Cursor result = start;
    for (Sequence& lane : result.lanes) {
      lane = std::max(lane, Sequence{submitted_through});
    }
    std::vector<std::uint64_t> unsettled;
    for (std::uint64_t i = 1; i <= submitted_through; ++i) {
      if (!events_[i].is_in_flight) {
        continue;
      }
      const bool follows_unsettled = std::ranges::any_of(unsettled, [&](std::uint64_t earlier) {
        return (lanes_of(events_[earlier].header) & lanes_of(events_[i].header)) != 0;
      });
      if (!events_[i].is_acknowledged || follows_unsettled) {
        unsettled.push_back(i);
      }
    }
    for (std::size_t lane = 0; lane < state::kLaneCount; ++lane) {
      const auto lowest = std::ranges::find_if(unsettled, [&](std::uint64_t i) {
        return (lanes_of(events_[i].header) >> lane & 1) != 0;
      });
      if (lowest != unsettled.end()) {
        result.lanes[lane] = Sequence{*lowest - 1};
      }
    }
    return result;
  }

  [[nodiscard]] std::size_t unacknowledged_bytes() const {
    std::size_t bytes = 0;
    for (const Event& event : events_) {
      bytes += event.is_in_flight && !event.is_acknowledged ? event.header.text_size : 0;
    }
    return bytes;
  }

  void forget_in_flight() {
    for (Event& event : events_) {
      event.is_in_flight = false;
      event.is_acknowledged = false;
    }
  }

 private:
  std::vector<Event> events_;
};

class RandomHistory {
 public:
  RandomHistory(std::uint64_t seed, std::uint64_t count)
      : random_(seed),
        count_(count),
        headers_(make_headers()),
        model_(headers_),
        window_({.events = 40, .bytes = 400}, Cursor{}) {}

  void step() {
    switch (below(12)) {
      case 0:
        window_.acknowledge_through(Sequence{acknowledge_some_through()});
        break;
      case 1:
        forget();
        window_.rewind();
        break;
      case 2:
        forget();
        window_ = AckWindow({.events = 40, .bytes = 400}, start_);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        offer();
        break;
      default:
        acknowledge_one(window_.submitted_through().value);
    }
    check();
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::vector<EventHeader> make_headers() {
    std::vector<EventHeader> headers;
    for (std::uint64_t i = 0; i < count_; ++i) {
      EventHeader header = in_lane(below(5));
      header.text_size = static_cast<std::uint32_t>(1 + below(20));
      if (below(6) == 0) {
        header.old_key_hash = below(5);
      }
      if (below(40) == 0) {
        header.flags = EventHeader::kBarrier;
      }
      headers.push_back(header);
    }
    return headers;
  }

  void acknowledge_one(std::uint64_t last) {
    if (last == 0) {
      return;
    }
    const std::uint64_t back = below(std::min<std::uint64_t>(last, 50));
    model_.acknowledge(last - back);
    window_.acknowledge(Sequence{last - back});
  }

  std::uint64_t acknowledge_some_through() {
    const std::uint64_t last = window_.submitted_through().value;
    const std::uint64_t through = last - below(std::min<std::uint64_t>(last, 20) + 1);
    for (std::uint64_t i = 1; i <= through; ++i) {
      if (model_[i].is_in_flight) {
        model_.acknowledge(i);
      }
    }
    return through;
  }

  void forget() {
    start_ = window_.cursor();
    model_.forget_in_flight();
  }

  // As the worker does it: leaves out what is covered, offers a run, takes a part of it.
  void offer() {
    std::uint64_t next = window_.submitted_through().value + 1;
    while (next <= count_ && window_.is_covered(Sequence{next}, model_[next].header)) {
      window_.skip_through(Sequence{next});
      ++next;
    }
    std::vector<EventHeader> run;
    const std::uint64_t length = 1 + below(12);
    for (std::uint64_t i = next; i <= count_ && run.size() < length; ++i) {
      if (window_.is_covered(Sequence{i}, model_[i].header)) {
        break;
      }
      run.push_back(model_[i].header);
    }
    if (run.empty()) {
      return;
    }
    const std::size_t room = window_.room(Frame(next, run).view(), 0);
    run.resize(room);
    if (room == 0) {
      return;
    }
    const Frame frame(next, run);
    window_.offer(frame.view(), 0);
    for (std::uint64_t i = 0; i < room; ++i) {
      model_[next + i].is_in_flight = true;
    }
    const std::uint64_t acknowledged = acknowledge_in_offer(next, room);
    const std::uint64_t taken = std::max(acknowledged, below(room + 1));
    const bool is_abandoned = below(10) == 0;
    if (is_abandoned) {
      window_.abandon_offer();
    } else {
      window_.close_offer(taken);
    }
    for (std::uint64_t i = is_abandoned ? acknowledged : taken; i < room; ++i) {
      model_[next + i].is_in_flight = false;
    }
  }

  // Returns how many of the offer are certainly taken: up to the last acknowledged.
  std::uint64_t acknowledge_in_offer(std::uint64_t next, std::uint64_t room) {
    std::uint64_t acknowledged = 0;
    if (below(2) == 0) {
      acknowledged = below(room + 1);
      for (std::uint64_t i = 1; acknowledged > 0 && i < next + acknowledged; ++i) {
        if (model_[i].is_in_flight) {
          model_.acknowledge(i);
        }
      }
      if (acknowledged > 0) {
        window_.acknowledge_through(Sequence{next + acknowledged - 1});
      }
    }
    while (below(3) != 0) {
      const std::uint64_t i = below(room);
      model_.acknowledge(next + i);
      window_.acknowledge(Sequence{next + i});
      acknowledged = std::max(acknowledged, i + 1);
    }
    return acknowledged;
  }

  void check() {
    const std::uint64_t last = window_.submitted_through().value;
    const Cursor cursor = window_.cursor();
    ASSERT_EQ(cursor, model_.cursor(start_, last));
    ASSERT_EQ(window_.bytes_in_flight(), model_.unacknowledged_bytes());
    ASSERT_EQ(window_.is_idle(), window_.bytes_in_flight() == 0);
    ASSERT_LE(window_.events_in_flight(), 40U);
    for (std::size_t lane = 0; lane < state::kLaneCount; ++lane) {
      ASSERT_GE(cursor.lanes[lane], previous_.lanes[lane]) << "W3 in lane " << lane;
    }
    for (std::uint64_t i = 1; i <= count_; ++i) {
      const LaneSet lanes = lanes_of(model_[i].header);
      const bool is_covered = covers(cursor, lanes, Sequence{i});
      ASSERT_TRUE(!is_covered || model_[i].was_ever_acknowledged) << "W1 at " << i;
      LaneSet covered_lanes = 0;
      for (std::size_t lane = 0; lane < state::kLaneCount; ++lane) {
        covered_lanes |= LaneSet{cursor.lanes[lane] >= Sequence{i}} << lane;
      }
      ASSERT_EQ(covered_lanes & lanes, is_covered ? lanes : 0) << "W2 at " << i;
    }
    previous_ = cursor;
  }

  std::mt19937_64 random_;
  std::uint64_t count_;
  std::vector<EventHeader> headers_;
  Model model_;
  Cursor start_;
  AckWindow window_;
  Cursor previous_;
};

TEST(AckWindow, AgreesWithTheDefinitionInRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomHistory history(seed, 200);
    for (int i = 0; i < 150; ++i) {
      history.step();
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

}  // namespace
}  // namespace cdc::delivery
