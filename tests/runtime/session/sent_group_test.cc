// SPDX-License-Identifier: Apache-2.0
//
// The memory of a group, where submissions of its members come together, and the way of its result back.
#include "runtime/session/sent_group.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "runtime/device/host/host_device.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lone_session.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

using Values = std::vector<float>;

/// A group of "b" and "a", each with two elements, of which each call submits one.
struct Group {
  void declare(std::size_t place) { REQUIRE(group.declare(place, {place == 0 ? "b" : "a", DType::kFloat32, {2}, 0})); }
  /// True: the step has all members.
  bool submit(std::size_t place, Values& values, std::uint32_t step = 0) {
    const Submission one{GradientId(7), view_of(values)};
    REQUIRE(group.check(place, one, step, ++calls));
    const bool whole = *group.gather(place, one, step, calls);
    group.submitted(place, step);
    return whole;
  }
  /// Declares both members, and submits both in step 0.
  void submit_both() {
    declare(0);
    declare(1);
    REQUIRE(group.close(GradientId(5)));
    submit(0, b);
    submit(1, a);
  }
  /// The result of the group.
  void reduce(const Values& result) {
    std::copy(result.begin(), result.end(), reinterpret_cast<float*>(group.submission().data.data));
  }

  const std::unique_ptr<Device> device = make_host_device();
  SentGroup group{{"g", {"b", "a"}, {}}, *device};
  std::uint64_t calls = 0;
  Values b = {1, 2}, a = {3, 4};
};

}  // namespace

TEST_CASE("sent group: submissions come together in its memory, also those from the time when it had none") {
  Group it;
  it.declare(0);
  it.declare(1);
  CHECK_FALSE(it.submit(1, it.a));
  REQUIRE(it.group.close(GradientId(5)));
  CHECK(it.group.id() == GradientId(5));
  CHECK(it.submit(0, it.b));
  CHECK(it.group.is_whole(0));
  const Submission whole = it.group.submission();
  CHECK(whole.gradient == GradientId(5));
  CHECK(values_of(whole) == Values{1, 2, 3, 4});
}

TEST_CASE("sent group: a member whose call is under way while the group is closed is in it") {
  Group it;
  it.declare(1);
  const Submission one{GradientId(7), view_of(it.a)};
  REQUIRE(it.group.check(1, one, 0, ++it.calls));
  CHECK_FALSE(*it.group.gather(1, one, 0, it.calls));
  it.declare(0);
  REQUIRE(it.group.close(GradientId(5)));
  it.group.submitted(1, 0);
  CHECK_FALSE(it.group.has_left(0));
  CHECK(it.submit(0, it.b));
  CHECK(it.group.has_left(0));
  CHECK(values_of(it.group.submission()) == Values{1, 2, 3, 4});
}

TEST_CASE("sent group: a call that was refused is made again, and the members of earlier calls stay") {
  Group it;
  it.declare(0);
  it.declare(1);
  REQUIRE(it.group.close(GradientId(5)));
  it.submit(1, it.a);
  Values refused = {8, 9};
  const Submission one{GradientId(7), view_of(refused)};
  REQUIRE(it.group.check(0, one, 0, ++it.calls));
  CHECK(*it.group.gather(0, one, 0, it.calls));
  CHECK(values_of(it.group.submission()) == Values{8, 9, 3, 4});
  it.group.take_back(0);
  CHECK_FALSE(it.group.has_left(0));
  CHECK(it.submit(0, it.b));
  CHECK(values_of(it.group.submission()) == Values{1, 2, 3, 4});
}

TEST_CASE("sent group: each member gets its part of the result, once") {
  Group it;
  it.submit_both();
  CHECK_FALSE(*it.group.has_result(1, 0));
  it.reduce({5, 6, 7, 8});
  REQUIRE(it.group.hand_over(1, false));
  CHECK(*it.group.has_result(1, 0));
  CHECK_FALSE(it.group.is_handed_over(0, 0));
  CHECK(it.a == Values{7, 8});
  CHECK(it.b == Values{1, 2});
  it.reduce({0, 0, 0, 0});
  CHECK(*it.group.hand_over_all(false));
  CHECK(it.a == Values{7, 8});
  CHECK(it.b == Values{0, 0});
  it.submit(1, it.a, 1);
  CHECK(*it.group.has_result(1, 0));
  CHECK_FALSE(it.group.is_handed_over(1, 1));
  it.group.forget();
  CHECK(it.group.is_handed_over(1, 1));
}

TEST_CASE("sent group: members that are missing have names, until it is closed also those that were never declared") {
  Group it;
  it.declare(1);
  CHECK(it.group.missing(0) == "`b`, which was never declared and 1 more");
  it.submit(1, it.a);
  CHECK(it.group.missing(0) == "`b`, which was never declared");
  CHECK(it.group.missing(1) == "`b`, which was never declared and 1 more");
  REQUIRE(it.group.close(GradientId(5)));
  CHECK(it.group.missing(0).empty());
  CHECK(it.group.missing(1) == "`a`");
  CHECK_FALSE(it.group.declare(0, {"b", DType::kFloat32, {2}, 0}));
}

TEST_CASE("sent group: the first by name is the one that is not finite") {
  Group it;
  it.submit_both();
  CHECK(it.group.not_finite()->empty());
  it.reduce({NAN, 0, 0, 0});
  CHECK(*it.group.not_finite() == "b");
  it.reduce({NAN, 0, 0, INFINITY});
  CHECK(*it.group.not_finite() == "a");
}

TEST_CASE("sent group: a member in place that is not finite has been seen ahead of what the program writes there") {
  Group it;
  it.declare(0);
  it.declare(1);
  REQUIRE(it.group.close(GradientId(5)));
  Values both = {1, 2, 3, 4};
  const auto submit = [&](std::uint32_t step) {
    for (std::size_t place = 0; place < 2; ++place) {
      const View own{reinterpret_cast<std::byte*>(both.data() + 2 * place), 2 * sizeof(float)};
      REQUIRE(it.group.gather(place, {GradientId(7), own}, step, step + 1));
      it.group.submitted(place, step);
    }
    REQUIRE(it.group.submission().data.data == reinterpret_cast<std::byte*>(both.data()));
  };
  submit(0);
  it.reduce({NAN, 0, 0, INFINITY});
  REQUIRE(it.group.hand_over_all(false));
  both = {1, 2, 3, 4};
  CHECK(*it.group.not_finite() == "a");
  submit(1);
  REQUIRE(it.group.hand_over_all(false));
  both[0] = NAN;
  CHECK(it.group.not_finite()->empty());
  submit(2);
  REQUIRE(it.group.hand_over_all(true));  // nobody looks at results that are known to be finite
  CHECK(it.group.not_finite()->empty());
}

TEST_CASE("sent group: memory that does not fit is refused") {
  Group it;
  it.declare(1);
  Values three = {1, 2, 3};
  CHECK_THAT(it.group.check(1, {GradientId(7), view_of(three)}, 0, 1).text(), Catch::Contains("gradient a"));
}
