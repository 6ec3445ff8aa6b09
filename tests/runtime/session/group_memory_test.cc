// SPDX-License-Identifier: Apache-2.0
//
// The memory of a group on the host: members that lie one after the other are sent from where they lie.
#include "runtime/session/group_memory.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "tests/runtime/session/gradients.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

using Values = std::vector<float>;
constexpr Elements kElements = 2;
constexpr Bytes kMember = kElements * sizeof(float);
constexpr GradientId kGroup{7};

/// Three members of two elements.
struct Three {
  Three() { REQUIRE(group->allocate(3 * kMember)); }
  void gather(std::size_t member, float* from) {
    REQUIRE(group->take(member, {kGroup, {reinterpret_cast<std::byte*>(from), kMember}}));
    REQUIRE(group->gather(member, member * kMember));
  }
  /// A step with members that lie one after the other; the first one lies at `first`, if that is not null.
  void gather_all(Values& all, float* first = nullptr) {
    group->begin_step();
    gather(0, first == nullptr ? all.data() : first);
    for (std::size_t member = 1; member < 3; ++member) gather(member, &all[member * kElements]);
  }
  /// The memory that is sent.
  float* sent() { return reinterpret_cast<float*>(group->submission(kGroup).data.data); }
  Values values() { return {sent(), sent() + 3 * kElements}; }
  void hand_over() {
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(group->hand_over(i, i * kMember));
  }

  const std::unique_ptr<Device> device = make_host_device();
  const std::unique_ptr<GroupMemory> group = make_group_memory(*device, 3);
};

}  // namespace

TEST_CASE("group memory: members that lie one after the other are sent from there, in whatever order they come") {
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
    Three it;
    Values all = {1, 2, 3, 4, 5, 6};
    for (const std::size_t member : order) it.gather(member, &all[member * kElements]);
    REQUIRE(it.sent() == all.data());
    CHECK(it.group->submission(kGroup).data.size == 3 * kMember);
    all = {6, 5, 4, 3, 2, 1};  // the result
    it.hand_over();
    CHECK(all == Values{6, 5, 4, 3, 2, 1});
  }
}

TEST_CASE("group memory: a member that lies elsewhere, whichever it is, has all copied, and each gets its result") {
  for (std::size_t other = 0; other < 3; ++other) {
    CAPTURE(other);
    Three it;
    Values all = {1, 2, 3, 4, 5, 6};
    Values elsewhere = {7, 8};
    const auto of = [&](std::size_t member) { return member == other ? elsewhere.data() : &all[member * kElements]; };
    for (std::size_t member = 0; member < 3; ++member) it.gather(member, of(member));
    Values expected = {1, 2, 3, 4, 5, 6};
    std::copy(elsewhere.begin(), elsewhere.end(), expected.begin() + static_cast<std::ptrdiff_t>(other * kElements));
    REQUIRE(it.values() == expected);
    CHECK(it.sent() != all.data());
    std::iota(it.sent(), it.sent() + 3 * kElements, 10.0f);
    it.hand_over();
    for (std::size_t member = 0; member < 3; ++member) {
      CHECK(of(member)[1] == 11.0f + static_cast<float>(member * kElements));
    }
  }
}

TEST_CASE("group memory: each step looks anew at where its members lie") {
  Three it;
  Values first = {1, 2, 3, 4, 5, 6}, second = first, apart = {9, 9};
  for (Values* all : {&first, &second, &first}) {
    it.gather_all(*all);
    CHECK(it.sent() == all->data());
    it.hand_over();
    it.gather_all(*all, apart.data());
    CHECK(it.values() == Values{9, 9, 3, 4, 5, 6});
    it.hand_over();
  }
}

TEST_CASE("group memory: all of it can be read if it was copied, and members have it if not") {
  Three it;
  Values all = {1, 2, 3, 4, 5, 6}, apart = {9, 9};
  std::vector<std::byte> read;
  REQUIRE(it.group->read(&read));
  CHECK(read.empty());  // nothing was ever submitted
  const auto read_all = [&] {
    REQUIRE(it.group->read(&read));
    Values floats(read.size() / sizeof(float));
    if (!read.empty()) std::memcpy(floats.data(), read.data(), read.size());
    return floats;
  };
  it.gather_all(all);
  CHECK(read_all().empty());
  for (std::size_t member = 0; member < 3; ++member) {
    CHECK(it.group->in_place(member).data == reinterpret_cast<std::byte*>(&all[member * kElements]));
  }
  it.gather_all(all, apart.data());
  CHECK(read_all() == Values{9, 9, 3, 4, 5, 6});
  CHECK(it.group->in_place(0).data == nullptr);
}

TEST_CASE("group memory: a member whose call was refused is gathered once more, and the others stay") {
  Three it;
  Values all = {1, 2, 3, 4, 5, 6}, apart = {9, 9};
  it.gather_all(all, apart.data());
  CHECK(it.values() == Values{9, 9, 3, 4, 5, 6});
  it.group->take_back(2);
  it.gather(2, &all[2 * kElements]);
  CHECK(it.values() == Values{9, 9, 3, 4, 5, 6});
}

TEST_CASE("group memory: the memory of a member that was taken back is not looked at") {
  Three it;
  it.group->begin_step();
  {
    const auto former = std::make_unique<Values>(Values{7, 8});
    it.gather(1, former->data());
    it.group->take_back(1);
  }
  Values all = {1, 2, 3, 4, 5, 6};
  for (std::size_t member = 0; member < 3; ++member) it.gather(member, &all[member * kElements]);
  CHECK(it.sent() == all.data());
}
