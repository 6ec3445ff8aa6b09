// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/coded/coded_section.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace casync::compll {
namespace {

enum class CodedForm : std::uint8_t { kPlain, kCoded };

Elements blocks_of(const CodedElements& section) { return ceil_div(section.count, kCodedBlock); }
Bytes table_bytes(const CodedElements& section) { return blocks_of(section) * sizeof(std::uint16_t); }

CodedElements block_of(const CodedElements& section, Elements block) {
  return {section.coding, section.bits, std::min(kCodedBlock, section.count - block * kCodedBlock)};
}

Bytes plain_begin(const CodedElements& section, Elements block) {
  return byte_of_element(section.bits, block * kCodedBlock);
}

Bytes size_in_table(const std::byte* table, Elements block) {
  std::uint16_t size;
  std::memcpy(&size, table + block * sizeof size, sizeof size);
  return size;
}

bool check_block(const CodedElements& block, ConstView from) {
  if (from.size == 0) return false;
  const ConstView rest = from.slice(1, from.size - 1);
  if (from.data[0] == static_cast<std::byte>(CodedForm::kCoded)) return check_coded_block(block, rest);
  if (from.data[0] != static_cast<std::byte>(CodedForm::kPlain) || rest.size != block.plain_bytes()) return false;
  const unsigned used = block.count * block.bits % 8;
  return used == 0 || std::to_integer<unsigned>(rest.data[rest.size - 1]) >> used == 0;
}

}  // namespace

Bytes coded_section_bound(const CodedElements& section) {
  return table_bytes(section) + blocks_of(section) + section.plain_bytes();
}

Elements entries_of_coding(Elements count, Elements different) {
  return std::min(count, (ceil_div(different, kCodedBlock) + 1) * kCodedBlock);
}

Bytes write_coded_section(const CodedElements& section, const std::byte* plain, Elements different, std::byte* out) {
  Bytes end = table_bytes(section), equal_begin = 0;
  std::array<std::byte, kCodedScratch> code;
  const Elements equal = ceil_div(different, kCodedBlock);  // the first block of equal elements
  for (Elements i = 0; i < blocks_of(section); ++i) {
    const CodedElements block = block_of(section, i);
    if (i > equal && block.count == kCodedBlock) {  // it has the code of block `equal`
      const Bytes bytes = size_in_table(out, equal);
      std::memcpy(out + end, out + equal_begin, bytes);
      std::memcpy(out + i * sizeof(std::uint16_t), out + equal * sizeof(std::uint16_t), sizeof(std::uint16_t));
      end += bytes;
      continue;
    }
    if (i == equal) equal_begin = end;
    const std::byte* const from = plain + plain_begin(section, std::min(i, equal));
    const Bytes coded = write_coded_block(block, from, code.data());
    const Bytes bytes = coded != 0 ? coded : block.plain_bytes();
    out[end] = static_cast<std::byte>(coded != 0 ? CodedForm::kCoded : CodedForm::kPlain);
    std::memcpy(out + end + 1, coded != 0 ? code.data() : from, bytes);
    const auto size = static_cast<std::uint16_t>(1 + bytes);
    std::memcpy(out + i * sizeof size, &size, sizeof size);
    end += size;
  }
  return end;
}

Result<Bytes> check_coded_section(const CodedElements& section, ConstView from) {
  if (from.size < table_bytes(section)) return data_loss("the table of its blocks is cut off");
  Bytes end = table_bytes(section);
  for (Elements i = 0; i < blocks_of(section); ++i) {
    const Bytes size = size_in_table(from.data, i);
    const auto of_block = [&] { return "block " + std::to_string(i) + " of " + std::to_string(blocks_of(section)); };
    if (size > from.size - end) return data_loss(of_block() + " is cut off");
    const CodedElements block = block_of(section, i);
    if (!check_block(block, from.slice(end, size))) {
      return data_loss(of_block() + " does not decode to " + std::to_string(block.count) + " elements");
    }
    end += size;
  }
  return end;
}

Bytes coded_section_size(const CodedElements& section, const std::byte* from) {
  Bytes end = table_bytes(section);
  for (Elements i = 0; i < blocks_of(section); ++i) end += size_in_table(from, i);
  return end;
}

Elements different_in_section(const CodedElements& section, const std::byte* from) {
  if (section.bits % 8 != 0) return section.count;  // entries of others cannot be stored one by one
  Bytes begin = table_bytes(section);
  Elements different = 0;
  for (Elements i = 0; i < blocks_of(section); ++i) {
    const CodedElements block = block_of(section, i);
    const ConstView code(from + begin + 1, size_in_table(from, i) - 1);
    const bool is_coded = from[begin] == static_cast<std::byte>(CodedForm::kCoded);
    const Elements in_block = is_coded ? different_in(block, code) : block.count;
    if (in_block != 0) different = i * kCodedBlock + in_block;
    begin += 1 + code.size;
  }
  return std::min(section.count, different + 1);
}

void read_coded_section(const CodedElements& section, const std::byte* from, Elements different, std::byte* plain) {
  Bytes begin = table_bytes(section);
  for (Elements i = 0; i * kCodedBlock < different; ++i) {
    const CodedElements block = block_of(section, i);
    const ConstView code(from + begin + 1, size_in_table(from, i) - 1);
    std::byte* const to = plain + plain_begin(section, i);
    if (from[begin] == static_cast<std::byte>(CodedForm::kCoded)) {
      read_coded_block(block, code, to);
    } else {
      std::memcpy(to, code.data, code.size);
    }
    begin += 1 + code.size;
  }
}

}  // namespace casync::compll
