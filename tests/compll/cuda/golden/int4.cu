// Written by compllc from codec int4. Changes belong into its file. Compile with -fmad=false.
#include "compll/ops/cuda/program.cuh"

namespace casync::compll::cuda::codec_int4 {
namespace codec = codec_int4;

/// Where a payload's sections lie.
struct Sections {
  uint64_t scale_0, levels_1;
  uint64_t scale_0_end, levels_1_end;

  COMPLL_BOTH Sections(uint64_t n, [[maybe_unused]] uint32_t log2_block) {
    scale_0 = kHeaderBytes;
    scale_0_end = end_of_section(scale_0, entries_of_blocks(n, log2_block), 32);
    levels_1 = section_behind(scale_0_end);
    levels_1_end = end_of_section(levels_1, n, 4);
    static_cast<void>(n);
  }
  COMPLL_BOTH void clear_gaps([[maybe_unused]] unsigned char* payload) const {
    clear_gap(payload, scale_0_end, levels_1);
  }
};

/// From one payload to four neighbours.
struct Decoder {
  static constexpr bool kRotates = false;
  using Sections = codec::Sections;
  __device__ __forceinline__ Decoder(const Settings& of, const Sections& at, const unsigned char* payload,
                                   uint64_t elements)
      : settings(of), n(elements) {
    scale_0_at = in_global(payload) + at.scale_0;
    levels_1_at = in_global(payload) + at.levels_1;
  }

  /// The block of threads will read what the payload has of these elements.
  __device__ __forceinline__ static void ask_for([[maybe_unused]] const Sections& at,
    [[maybe_unused]] const unsigned char* payload, [[maybe_unused]] uint64_t first,
    [[maybe_unused]] uint64_t count) {
    ask_for_section<4>(in_global(payload) + at.levels_1, first, count);
  }

  /// Those that begin so many elements ahead of `first`.
  template <class Numbers>
  __device__ __forceinline__ Quad<float> quad(uint64_t first, uint32_t ahead, uint32_t rest) const {
    [[maybe_unused]] const uint64_t i = first + ahead;
    const uint64_t entry = i >> settings.log2_block;
    const float scale_0 = from_bits(load_one<32>(scale_0_at, entry));
    const Quad<uint32_t> code1 = load_quad<4>(levels_1_at, first, ahead, rest);
    Quad<float> given;
    #pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      const int32_t levels_1 = with_sign<4>(code1[k]);
      // 22: gradient = map(levels, spread(scale, block), [&](int level, float s) -> float { return level * s; });
      const float result_5 = Numbers::multiply(float(levels_1), scale_0);
      given[k] = result_5;
    }
    return given;
  }

  const Settings& settings;
  uint64_t n;
  const unsigned char* scale_0_at;
  const unsigned char* levels_1_at;
};

struct Codec {
  static constexpr uint32_t kNumber = 5, kVersion = 1;
  static constexpr uint32_t kOverflow = 0x7f800000u;
  static constexpr uint32_t kSlots = 1, kStates = 0;
  static constexpr bool kHasBlocks = true, kOrdered = false, kSecondForKept = false;
  static constexpr bool kSendsBlocks = true;
  using Decoder = codec::Decoder;

  template <class Work, class Source>
  __device__ __forceinline__ static void encode([[maybe_unused]] Work& work, [[maybe_unused]] const Source& source) {
    [[maybe_unused]] const Settings& settings = work.launch.codec;
    [[maybe_unused]] const uint64_t n = work.segment.n;
    const Sections at(n, settings.log2_block);
    unsigned char* const scale_0_at = in_global(work.segment.payload) + at.scale_0;
    unsigned char* const levels_1_at = in_global(work.segment.payload) + at.levels_1;
    const float result_6 = from_bits(2143289344u);
    for (uint64_t first = work.begin; first < work.end; first = work.behind(first)) {
      const uint32_t size = work.size_at(first);
      [[maybe_unused]] const uint64_t entry = work.block_at(first);
      Magnitude reduced1;
      for (uint32_t at_piece = 0; at_piece < size; at_piece += kPiece) {
        const Piece piece = work.load(source, first, at_piece, size);
        for (uint32_t row = 0; row < piece.size; row += kRow) {
          const uint32_t j = row + 4 * work.lane, rest = work.rest(piece, j);
          [[maybe_unused]] const uint64_t i = piece.first + j;
          const Quad<float> x = work.quad(j);
          #pragma unroll
          for (uint32_t k = 0; k < 4; ++k) {
            const float gradient_0 = x[k];
            if (k < rest) reduced1.take(gradient_0);
          }
        }
      }
      // 13: float* scale = map(block_reduce(gradient, block, magnitude), scale_of);
      const float x_1 = of_block(reduced1, settings.block);
      const bool if_4 = !is_finite(x_1);
      const float scale_9 = divide(x_1, 7.0f);
      const float result_25 = (if_4 || (scale_9 < 7.52316384526264e-37f)) ? (if_4 ? result_6 : 0.0f) : divide(multiply(7.0f, (!is_finite(7.0f * scale_9)) ? from_bits(bits(scale_9) - 1u) : scale_9), 7.0f);
      // 12: lambda_func level = [&](float x, float s) -> int4 { return s > 0 ? round(x * (1 / s)) : 0; };
      const bool v27 = 0.0f < result_25;
      const float v30 = 1.0f / result_25;
      if (work.begins_block(size)) {
        store_one<32>(result_25, scale_0_at, entry);
      }
      for (uint32_t at_piece = 0; at_piece < size; at_piece += kPiece) {
        const Piece piece = work.again(source, first, at_piece, size);
        for (uint32_t row = 0; row < piece.size; row += kRow) {
          const uint32_t j = row + 4 * work.lane, rest = work.rest(piece, j);
          [[maybe_unused]] const uint64_t i = piece.first + j;
          const Quad<float> x = work.quad(j);
          Quad<uint32_t> levels_1_codes;
          Quad<float> kept_back;
          const bool keeps_back = work.residual_out != nullptr;
          #pragma unroll
          for (uint32_t k = 0; k < 4; ++k) {
            const float gradient_0 = x[k];
            const int32_t result_35 = v27 ? round_to_int<4>(gradient_0 * v30) : 0;
            levels_1_codes[k] = code_of(result_35);
            // 22: gradient = map(levels, spread(scale, block), [&](int level, float s) -> float { return level * s; });
            const float v39 = gradient_0 - (float(result_35) * result_25);
            kept_back[k] = v39;
          }
          store_quad<4>(levels_1_codes, levels_1_at, i, rest);
          if (keeps_back) work.keep_back(kept_back, i, rest);
        }
      }
    }
  }

  template <class Work>
  __device__ __forceinline__ static void end(const Work& work) {
    [[maybe_unused]] const Settings& settings = work.launch.codec;
    [[maybe_unused]] const uint64_t n = work.segment.n;
    Sections(n, settings.log2_block).clear_gaps(work.segment.payload);
  }
};

#if COMPLL_HAS(casync_int4_encode)
extern "C" __global__ void __launch_bounds__(kThreads, 6)
    casync_int4_encode(const __grid_constant__ Launch launch) {
  encode_tile<Codec, Gradient>(launch);
}
#endif

#if COMPLL_HAS(casync_int4_merge)
extern "C" __global__ void __launch_bounds__(kThreads, 5)
    casync_int4_merge(const __grid_constant__ Launch launch) {
  encode_tile<Codec, Merged<Decoder>>(launch);
}
#endif

#if COMPLL_HAS(casync_int4_decode)
extern "C" __global__ void __launch_bounds__(kThreads, 6)
    casync_int4_decode(const __grid_constant__ Launch launch) {
  decode_tile<Codec>(launch);
}
#endif

#ifndef __CUDACC_RTC__
/// For whoever is linked with this text.
extern "C" const Kernels* casync_int4_kernels() {
  static const Kernels kernels = {
      .name = "int4",
      .shape = {1, 0, 0, true, false, false, false},
      .encode = casync_int4_encode,
      .merge = casync_int4_merge,
      .decode = casync_int4_decode};
  return &kernels;
}
#endif  // __CUDACC_RTC__

}  // namespace casync::compll::cuda::codec_int4
