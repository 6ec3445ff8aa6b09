// SPDX-License-Identifier: Apache-2.0
#include "compll/load/elf_file.h"

#include <elf.h>

#include <cstring>
#include <string>

namespace casync::compll {
namespace {

/// Returns true if `count` entries of `size` bytes lie within the file from `begin` on.
bool within(std::string_view bytes, std::uint64_t begin, std::uint64_t count, std::uint64_t size) {
  return begin <= bytes.size() && (count == 0 || size <= (bytes.size() - begin) / count);
}

bool has_its_segments(std::string_view bytes, const Elf64_Ehdr& header) {
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  if (!within(bytes, header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr))) return false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (!within(bytes, segment.p_offset, 1, segment.p_filesz)) return false;
  }
  return true;
}

}  // namespace

std::uint16_t own_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

Status check_elf(std::string_view bytes, std::uint16_t machine) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header || !bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) ||
      bytes[EI_CLASS] != ELFCLASS64) {
    return data_loss("it is no object file of 64 bits");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (machine != 0 && header.e_machine != machine) {
    return data_loss("it is for machine " + std::to_string(header.e_machine) + ", expected " + std::to_string(machine));
  }
  if (has_its_segments(bytes, header) && within(bytes, header.e_shoff, header.e_shnum, header.e_shentsize)) {
    return Status::ok();
  }
  return data_loss("it is cut off after " + std::to_string(bytes.size()) + " bytes");
}

}  // namespace casync::compll
