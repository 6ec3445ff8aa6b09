// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/layout.h"

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

TaskGraph graph_of(std::initializer_list<Elements> counts) {
  TaskGraph::Builder builder;
  for (Elements count : counts) builder.buffer({{0, count}});
  return std::move(builder).build();
}

Bytes four_each(std::size_t, const Buffer& buffer) { return 4 * buffer.slice.count; }

}  // namespace

TEST_CASE("layout: buffers of equal rounded size share a class, classes follow each other in the arena") {
  const TaskGraph a = graph_of({1, 16, 17}), b = graph_of({16, 100});
  const std::vector<const TaskGraph*> graphs{&a, &b};
  const Layout layout = lay_out(graphs, four_each);
  CHECK(layout.classes == std::vector<SizeClass>{{64, 3, 0}, {128, 1, 192}, {448, 1, 320}});
  CHECK(layout.total_bytes == 768);
}

TEST_CASE("layout: a buffer without bytes takes no slot") {
  const TaskGraph graph = graph_of({0, 0, 3});
  const std::vector<const TaskGraph*> graphs{&graph};
  const Layout layout = lay_out(graphs, four_each);
  CHECK(layout.classes == std::vector<SizeClass>{{64, 1, 0}});
}

TEST_CASE("layout: nothing takes nothing") {
  CHECK(lay_out({}, four_each).total_bytes == 0);
  CHECK(lay_out({}, four_each).classes.empty());
}

TEST_CASE("layout: the size of a buffer may depend on its graph") {
  const TaskGraph same = graph_of({16});
  const std::vector<const TaskGraph*> graphs{&same, &same};
  const Layout layout = lay_out(graphs, [](std::size_t graph, const Buffer&) { return graph == 0 ? 64 : 65; });
  CHECK(layout.classes == std::vector<SizeClass>{{64, 1, 0}, {128, 1, 64}});
}

}  // namespace casync::test
