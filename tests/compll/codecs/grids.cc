// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/codecs/grids.h"

#include <algorithm>
#include <cmath>

#include "tests/compll/codecs/promises.h"

namespace casync::compll {
namespace {

/// The step around x, of steps of this width from `origin` on.
Cell step_around(double x, double width, double origin = 0) {
  if (width == 0) return {x, x};
  const double low = origin + width * std::floor((x - origin) / width);
  return {low, low + width};
}

template <class OfBlock>
std::vector<Cell> by_blocks(std::span<const float> x, Elements block, const OfBlock& of_block) {
  std::vector<Cell> cells;
  for (Elements begin = 0; begin < x.size(); begin += block) {
    const std::span<const float> part = x.subspan(begin, std::min(block, x.size() - begin));
    const auto cell_of = of_block(part);
    for (const float value : part) cells.push_back(cell_of(value));
  }
  return cells;
}

double largest(std::span<const float> x) {
  double top = 0;
  for (const float value : x) top = std::max(top, std::fabs(static_cast<double>(value)));
  return top;
}

Rounding terngrad() {
  const auto cells = [](std::span<const float> x) {
    return by_blocks(x, x.size(), [](std::span<const float> all) {
      return [top = largest(all)](double value) { return value < 0 ? Cell{-top, 0} : Cell{0, top}; };
    });
  };
  const auto bound = [](std::span<const float> x) {
    double sum = 0;
    for (const float value : x) sum += std::fabs(static_cast<double>(value));
    return largest(x) * sum - norm_squared(x);
  };
  return {"terngrad", {}, cells, bound};
}

Rounding diana(Elements block) {
  const auto cells = [=](std::span<const float> x) {
    return by_blocks(x, block, [](std::span<const float> part) {
      return [top = largest(part)](double value) { return value < 0 ? Cell{-top, 0} : Cell{0, top}; };
    });
  };
  const auto bound = [=](std::span<const float> x) {
    double sum = 0;
    for (Elements begin = 0; begin < x.size(); begin += block) {
      const std::span<const float> part = x.subspan(begin, std::min(block, x.size() - begin));
      for (const float value : part) sum += std::fabs(static_cast<double>(value)) * largest(part);
    }
    return sum - norm_squared(x);
  };
  return {"diana", {{"block", static_cast<double>(block)}}, cells, bound};
}

/// Cells of a block are `scale` of it divided by `most`.
template <class Scale>
auto cells_of_scales(Elements block, double most, const Scale& scale) {
  return [=](std::span<const float> x) {
    return by_blocks(x, block, [=](std::span<const float> part) {
      const double width = scale(part) / most;
      return [=](double value) { return step_around(value, width); };
    });
  };
}

Rounding qsgd(int bits, Elements block) {
  const double most = (1 << (bits - 1)) - 1;
  const auto bound = [=](std::span<const float> x) {
    double sum = 0;
    for (Elements begin = 0; begin < x.size(); begin += block) {
      const std::span<const float> part = x.subspan(begin, std::min(block, x.size() - begin));
      const double width = largest(part) / most;
      sum += width * width / 4 * static_cast<double>(part.size());
    }
    return sum;
  };
  const auto cells = cells_of_scales(block, most, [](std::span<const float> part) { return largest(part); });
  return {"qsgd", {{"bits", bits}, {"block", static_cast<double>(block)}}, cells, bound};
}

Rounding euclidean_qsgd(int bits, Elements block) {
  const double most = (1 << (bits - 1)) - 1;
  const auto bound = [=](std::span<const float> x) {
    const auto size = static_cast<double>(block);
    return std::min(size / (most * most), std::sqrt(size) / most) * norm_squared(x);
  };
  // The norm is sent as a float.
  const auto cells = cells_of_scales(block, most, [](std::span<const float> part) {
    return static_cast<double>(static_cast<float>(std::sqrt(norm_squared(part))));
  });
  return {"qsgd", {{"bits", bits}, {"block", static_cast<double>(block)}, {"euclidean", 1}}, cells, bound};
}

Rounding qsgd_elias(int steps, Elements block) {
  Rounding rounding = euclidean_qsgd(2, block);
  rounding.name = "qsgd_elias";
  rounding.parameters = {{"steps", steps}, {"block", static_cast<double>(block)}};
  rounding.cells = cells_of_scales(block, steps, [](std::span<const float> part) {
    return static_cast<double>(static_cast<float>(std::sqrt(norm_squared(part))));
  });
  rounding.bound = [=](std::span<const float> x) {
    const auto size = static_cast<double>(block), most = static_cast<double>(steps);
    return std::min(size / (most * most), std::sqrt(size) / most) * norm_squared(x);
  };
  return rounding;
}

/// The unit of ATOMO's probabilities min(1, |x| / unit), by the paper's algorithm 1, which takes one atom after the
/// other from the largest on.
double atomo_unit(std::span<const float> x, double budget) {
  std::vector<double> rising(x.begin(), x.end());
  for (double& value : rising) value = std::fabs(value);
  std::sort(rising.begin(), rising.end());
  double rest = 0;
  for (const double value : rising) rest += value;
  for (; budget >= 1 && rising.back() * budget > rest; budget -= 1) {
    rest -= rising.back();
    rising.pop_back();
  }
  return rest / budget;
}

Rounding atomo(double ratio) {
  const auto cells = [=](std::span<const float> x) {
    return by_blocks(x, x.size(), [=](std::span<const float> all) {
      const double unit = atomo_unit(all, std::ceil(ratio * static_cast<double>(all.size())));
      return [=](double value) {
        if (std::fabs(value) >= unit) return Cell{value, value};
        return value < 0 ? Cell{-unit, 0} : Cell{0, unit};
      };
    });
  };
  // Equal probabilities have this variance, and ATOMO's the least for the same number of elements.
  const auto bound = [=](std::span<const float> x) { return (1 / ratio - 1) * norm_squared(x); };
  return {"atomo", {{"ratio", ratio}, {"rounds", 16}}, cells, bound};
}

Rounding minmax(int bits, Elements block) {
  const double most = (1 << bits) - 1;
  const auto ends = [](std::span<const float> part) { return std::minmax_element(part.begin(), part.end()); };
  const auto cells = [=](std::span<const float> x) {
    return by_blocks(x, block, [=](std::span<const float> part) {
      const double low = *ends(part).first, high = *ends(part).second;
      return [=](double value) {
        const Cell cell = step_around(value, (high - low) / most, low);
        return value == high ? Cell{high, high} : cell;
      };
    });
  };
  const auto bound = [=](std::span<const float> x) {
    double sum = 0;
    for (Elements begin = 0; begin < x.size(); begin += block) {
      const std::span<const float> part = x.subspan(begin, std::min(block, x.size() - begin));
      const double gap = (static_cast<double>(*ends(part).second) - *ends(part).first) / most;
      sum += gap * gap / 4 * static_cast<double>(part.size());
    }
    return sum;
  };
  return {"minmax", {{"bits", bits}, {"block", static_cast<double>(block)}}, cells, bound};
}

Rounding natural() {
  const auto cells = [](std::span<const float> x) {
    return by_blocks(x, x.size(), [](std::span<const float>) {
      return [](double value) {
        const double power = std::ldexp(1.0, std::ilogb(value));
        if (std::fabs(value) < 0x1p-109) return step_around(value, 0x1p-109);
        return value < 0 ? Cell{-2 * power, -power} : Cell{power, 2 * power};
      };
    });
  };
  return {"natural", {}, cells, [](std::span<const float> x) { return norm_squared(x) / 8; }};
}

/// Powers of two from 2^(1 - s) of the scale up to the scale, s = 2^(bits - 1) - 1, and zero. The bound is that of the
/// paper for p >= 2, in blocks.
Rounding natural_dithering(int bits, Elements block, bool euclidean) {
  const double least = std::ldexp(1.0, 2 - (1 << (bits - 1)));
  const auto cells = [=](std::span<const float> x) {
    return by_blocks(x, block, [=](std::span<const float> part) {
      // The norm is sent as a float.
      const double scale =
          euclidean ? static_cast<double>(static_cast<float>(std::sqrt(norm_squared(part)))) : largest(part);
      return [=](double value) {
        const double share = std::fabs(value) / scale;
        const double low = share < least ? 0 : std::ldexp(1.0, std::ilogb(share));
        const double high = share < least ? least : low < 1 ? 2 * low : 1;
        return value < 0 ? Cell{-high * scale, -low * scale} : Cell{low * scale, high * scale};
      };
    });
  };
  const auto bound = [=](std::span<const float> x) {
    const double steps = std::sqrt(static_cast<double>(block)) * least;
    return (1.0 / 8 + steps * std::min(1.0, steps)) * norm_squared(x);
  };
  return {"natural_dithering",
          {{"bits", bits}, {"block", static_cast<double>(block)}, {"euclidean", euclidean ? 1.0 : 0.0}},
          cells,
          bound};
}

}  // namespace

std::vector<Rounding> roundings() {
  return {terngrad(),
          qsgd(2, 128),
          qsgd(4, 128),
          qsgd(8, 512),
          euclidean_qsgd(2, 128),
          euclidean_qsgd(4, 128),
          euclidean_qsgd(8, 512),
          qsgd_elias(22, 512),
          qsgd_elias(1, 64),
          atomo(0.05),
          atomo(0.25),
          atomo(0.6),
          minmax(1, 512),
          minmax(2, 512),
          minmax(4, 512),
          minmax(8, 512),
          natural(),
          natural_dithering(2, 128, false),
          natural_dithering(4, 128, false),
          natural_dithering(8, 512, false),
          natural_dithering(2, 128, true),
          natural_dithering(4, 512, true),
          diana(128)};
}

}  // namespace casync::compll
