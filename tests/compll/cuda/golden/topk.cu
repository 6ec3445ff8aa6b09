// Written by compllc from codec topk. Changes belong into its file. Compile with -fmad=false.
#include "compll/ops/cuda/rotation.cuh"
#include "compll/ops/cuda/selection.cuh"
#include "compll/ops/cuda/sorting.cuh"
#include "compll/ops/cuda/vector_form_reducers.cuh"

namespace casync::compll::cuda::codec_topk {

/// How many elements arrays have whose sizes the program computes.
struct Lengths {
  uint64_t size0;  ///< selected(ratio, gradient.size)

  COMPLL_BOTH Lengths([[maybe_unused]] uint64_t n, [[maybe_unused]] const Settings& settings) {
    size0 = opaque(least<uint64_t>(n, wide::to_uint(wide::min(wide::to_double(wide::Uint(n)), wide::max(double(1.0), wide::ceil(wide::multiply(wide::to_double(settings.parameters[0]), wide::to_double(wide::Uint(n)))))))));
  }
};

/// A tile has whole blocks.
COMPLL_BOTH uint32_t tile_elements([[maybe_unused]] const Settings& settings) {
  return kVectorFormTile;
}

/// Where a payload's sections lie.
struct Sections {
  uint64_t place_0, place_0_end;
  uint64_t value_1, value_1_end;

  COMPLL_BOTH Sections([[maybe_unused]] uint64_t n, [[maybe_unused]] const Settings& settings,
      [[maybe_unused]] const Lengths& lengths) {
    const uint64_t size0 = lengths.size0;
    place_0 = kHeaderBytes;
    place_0_end = end_of_section(place_0, size0, 32);
    value_1 = section_behind(place_0_end);
    value_1_end = end_of_section(value_1, size0, 32);
  }
};

__device__ inline void clear_gaps([[maybe_unused]] const Sections& sections, [[maybe_unused]] unsigned char* payload) {
  clear_gap(payload, sections.place_0_end, sections.value_1);
}

struct Encode {
  static constexpr uint32_t kStages = 5, kNumber = 18, kVersion = 1;

  /// The memory of a segment: first the part that has to be zero at the start, and is zero again at the end.
  struct Memory {
    uint64_t cleared, zeroed, all;
    uint64_t input;
    uint64_t place_7_selection;
    uint64_t place_7_told;
    uint64_t place_7_entries;
    uint64_t place_7_lengths;
    uint64_t place_7_ties;
    uint64_t place_7;

    COMPLL_BOTH Memory([[maybe_unused]] uint64_t n, [[maybe_unused]] const Settings& settings,
      [[maybe_unused]] const Lengths& lengths) {
      const uint64_t size0 = lengths.size0;
      const uint64_t tiles = tiles_for(n, tile_elements(settings));
      Places places;
      places.take(sizeof(Control));
      place_7_selection = places.take(sizeof(Selection));
      place_7_told = places.take(8 * tiles);
      cleared = places.end();
      zeroed = places.end();
      input = places.take(4 * n);
      place_7_entries = places.take(8 * n);
      place_7_lengths = places.take(4 * kWarps * tiles);
      place_7_ties = places.take(8 * kMostTies);
      place_7 = places.take(4 * size0);
      all = places.end();
    }
  };

  /// The values that follow from a segment's size: one thread computes them for all of its block.
  struct Geometry {
    Lengths lengths;
    Memory at;
    Sections sections;

    COMPLL_BOTH Geometry(uint64_t n, const Settings& settings)
        : lengths(n, settings), at(n, settings, lengths), sections(n, settings, lengths) {}
    __device__ static Geometry of(const Segment& segment, const Settings& settings) {
      return {segment.n, settings};
    }
  };

  __device__ static void stage_0(Part& part) {
    const uint64_t n = part.n;
    const auto& [lengths, at, sections] = part.geometry<Geometry>();
    const uint64_t size0 = lengths.size0;
    const Search place_7_search{part.at<Selection>(at.place_7_selection), {part.at<uint64_t>(at.place_7_entries), part.at<uint32_t>(at.place_7_lengths), part.at<uint64_t>(at.place_7_told), part.at<uint64_t>(at.place_7_ties)}, part.at<uint32_t>(at.place_7)};
    {
      Held<float> gradient_0;
      // 11: uint* place = largest(gradient, selected(ratio, gradient.size), absolute);
      const auto map_t0 = [&](uint64_t i) -> float {
        const float x_4 = gradient_0(i);
        const float result_6 = abs(x_4);
        return result_6;
      };
      const auto place_7_key = [&](uint64_t i) { return key_of(map_t0(i)); };
      list_largest(part, n, place_7_key, static_cast<uint32_t>(size0), place_7_search, Input<>(part, at.input, gradient_0));
    }
    __syncthreads();
    if (!part.is_last()) return;
    choose_digit<0>(part, place_7_search, static_cast<uint32_t>(size0));
    part.end_stage();
  }

  __device__ static void stage_1(Part& part) {
    const uint64_t n = part.n;
    const auto& [lengths, at, sections] = part.geometry<Geometry>();
    const Search place_7_search{part.at<Selection>(at.place_7_selection), {part.at<uint64_t>(at.place_7_entries), part.at<uint32_t>(at.place_7_lengths), part.at<uint64_t>(at.place_7_told), part.at<uint64_t>(at.place_7_ties)}, part.at<uint32_t>(at.place_7)};
    count_digit<1>(part, n, place_7_search);
    if (!part.is_last()) return;
    choose_digit<1>(part, place_7_search, 0);
    part.end_stage();
  }

  __device__ static void stage_2(Part& part) {
    const uint64_t n = part.n;
    const auto& [lengths, at, sections] = part.geometry<Geometry>();
    const Search place_7_search{part.at<Selection>(at.place_7_selection), {part.at<uint64_t>(at.place_7_entries), part.at<uint32_t>(at.place_7_lengths), part.at<uint64_t>(at.place_7_told), part.at<uint64_t>(at.place_7_ties)}, part.at<uint32_t>(at.place_7)};
    count_digit<2>(part, n, place_7_search);
    if (!part.is_last()) return;
    choose_digit<2>(part, place_7_search, 0);
    part.end_stage();
  }

  __device__ static void stage_3(Part& part) {
    const uint64_t n = part.n;
    const auto& [lengths, at, sections] = part.geometry<Geometry>();
    const uint64_t size0 = lengths.size0;
    const Search place_7_search{part.at<Selection>(at.place_7_selection), {part.at<uint64_t>(at.place_7_entries), part.at<uint32_t>(at.place_7_lengths), part.at<uint64_t>(at.place_7_told), part.at<uint64_t>(at.place_7_ties)}, part.at<uint32_t>(at.place_7)};
    pick_largest(part, n, place_7_search, size0);
    if (!part.is_last()) return;
    part.end_stage();
  }

  __device__ static void stage_4(Part& part) {
    const uint64_t n = part.n;
    const auto& [lengths, at, sections] = part.geometry<Geometry>();
    const uint64_t size0 = lengths.size0;
    const Array<uint32_t> place_7{part.at<uint32_t>(at.place_7)};
    store_section<32>(part.evenly(), size0, place_7, in_global(part.segment.payload) + sections.place_0);
    const Array<float> gradient_0{part.input(at.input)};
    // 12: float* value = gather(gradient, place);
    const auto value_10 = [&](uint64_t i) -> float {
      const uint32_t place_9 = place_7(i);
      return element(n, gradient_0, place_9);
    };
    store_section<32>(part.evenly(), size0, value_10, in_global(part.segment.payload) + sections.value_1);
    __syncthreads();
    // The residual is what was encoded, which is there, less what decoding gives.
    if (part.segment.residual_out != nullptr) add_at(part.evenly(), size0, place_7, value_10, n, in_global(part.segment.residual_out), [](float a, float b) -> float { return subtract(a, b); });
    if (!part.is_last()) return;
    write_header<kNumber, kVersion>(part);
    if (threadIdx.x == 0) clear_gaps(sections, in_global(part.segment.payload));
    part.clear(at.cleared);
    part.end_stage();
  }

  __device__ static void stage([[maybe_unused]] uint32_t number, Part& part) {
    if (number == 0) return stage_0(part);
    if (number == 1) return stage_1(part);
    if (number == 2) return stage_2(part);
    if (number == 3) return stage_3(part);
    return stage_4(part);
  }
};

struct Decode {
  static constexpr uint32_t kStages = 2;

  /// The memory of a segment: first the part that has to be zero at the start, and is zero again at the end.
  struct Memory {
    uint64_t cleared, zeroed, all;

    COMPLL_BOTH Memory([[maybe_unused]] uint64_t n, [[maybe_unused]] const Settings& settings,
      [[maybe_unused]] const Lengths& lengths) {
      Places places;
      places.take(sizeof(Control));
      cleared = places.end();
      zeroed = places.end();
      all = places.end();
    }
  };

  /// The values that follow from a segment's size: one thread computes them for all of its block.
  struct Geometry {
    Lengths lengths;
    Memory at;
    Sections sections;

    COMPLL_BOTH Geometry(uint64_t n, const Settings& settings)
        : lengths(n, settings), at(n, settings, lengths), sections(n, settings, lengths) {}
    __device__ static Geometry of(const Segment& segment, const Settings& settings) {
      return {segment.n, settings};
    }
  };

  __device__ static void stage_0(Part& part, [[maybe_unused]] const unsigned char* payload) {
    give_zeros(part);
    if (!part.is_last()) return;
    part.end_stage();
  }

  __device__ static void stage_1(Part& part, [[maybe_unused]] const unsigned char* payload) {
    const auto& [lengths, at, sections] = part.geometry<Geometry>();
    const uint64_t size0 = lengths.size0;
    const auto place_11 = Section<uint32_t, 32>{payload + sections.place_0};
    const auto value_12 = Section<float, 32>{payload + sections.value_1};
    // 20: gradient = scatter(place, value, gradient.size);
    give_at(part.evenly(), size0, place_11, value_12);
    if (!part.is_last()) return;
    part.clear(at.cleared);
    part.end_stage();
  }

  __device__ static void stage([[maybe_unused]] uint32_t number, Part& part, const unsigned char* payload) {
    if (number == 0) return stage_0(part, payload);
    return stage_1(part, payload);
  }
};

#if COMPLL_HAS(casync_topk_encode)
extern "C" __global__ void __launch_bounds__(kThreads)
    casync_topk_encode(const __grid_constant__ Launch launch) {
  encode_by_stages<Encode>(launch);
}
#endif

#if COMPLL_HAS(casync_topk_decode)
extern "C" __global__ void __launch_bounds__(kThreads)
    casync_topk_decode(const __grid_constant__ Launch launch) {
  decode_by_stages<Decode>(launch);
}
#endif

/// For a host that has not compiled this text.
#if COMPLL_HAS(casync_topk_sizes)
extern "C" __global__ void casync_topk_sizes(Sizes* sizes, const __grid_constant__ Matrix n,
    const __grid_constant__ Settings settings) {
  *sizes = {};
  sizes->tile_elements = tile_elements(settings);
  sizes->memory_bytes[0] = Encode::Geometry(n, settings).at.all;
  sizes->zeroed_bytes[0] = Encode::Geometry(n, settings).at.zeroed;
  sizes->memory_bytes[2] = Decode::Geometry(n, settings).at.all;
  sizes->zeroed_bytes[2] = Decode::Geometry(n, settings).at.zeroed;
}
#endif

#ifndef __CUDACC_RTC__
/// For whoever is linked with this text.
extern "C" const VectorFormKernels* casync_topk_kernels() {
  static const VectorFormKernels kernels = {
      .name = "topk",
      .states = 0,
      .keeps_residual = true,
      .sizes = casync_topk_sizes,
      .tile_elements = [](const Settings& settings) { return tile_elements(settings); },
      .encode = {.kernel = casync_topk_encode,
            .stages = Encode::kStages,
            .memory_bytes = [](uint64_t n, const Settings& settings) -> uint64_t { return Encode::Geometry(n, settings).at.all; },
            .zeroed_bytes = [](uint64_t n, const Settings& settings) -> uint64_t { return Encode::Geometry(n, settings).at.zeroed; }},
      .merge = {},
      .decode = {.kernel = casync_topk_decode,
            .stages = Decode::kStages,
            .memory_bytes = [](uint64_t n, const Settings& settings) -> uint64_t { return Decode::Geometry(n, settings).at.all; },
            .zeroed_bytes = [](uint64_t n, const Settings& settings) -> uint64_t { return Decode::Geometry(n, settings).at.zeroed; }},
      .result = {}};
  return &kernels;
}
#endif  // __CUDACC_RTC__

}  // namespace casync::compll::cuda::codec_topk
