// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/group_memory.h"

#include <cstring>
#include <thread>
#include <utility>

#include "base/fetch.h"
#include "runtime/session/copy_waits.h"

namespace casync::runtime {
namespace {

/// If the members of a step lie one after the other, as the group's elements do, their memory is the group's in that
/// step. Other members are copied.
class GroupOnHost final : public GroupMemory {
 public:
  explicit GroupOnHost(std::size_t members) : taken_(members) { left_.reserve(members); }

  Status add(std::size_t) override { return Status::ok(); }
  Status allocate(Bytes bytes) override {
    bytes_ = bytes;
    return Status::ok();
  }
  void begin_step() override {
    are_copied_ = false;
    in_place_ = nullptr;
    left_.clear();
  }
  Status take(std::size_t member, const Submission& submission) override {
    taken_[member] = submission.data;
    return Status::ok();
  }
  Status gather(std::size_t member, Bytes offset) override {
    const View from = taken_[member];
    if (from.size == 0) return Status::ok();
    if (lies_in_place(from, offset)) {
      left_.push_back({member, offset});
      return Status::ok();
    }
    in_place_ = nullptr;
    for (const Left& other : left_) copy_in(other.member, other.offset);
    left_.clear();
    are_copied_ = true;
    fetch_next<false>(member);
    copy_in(member, offset);
    return Status::ok();
  }
  void take_back(std::size_t member) override {
    std::erase_if(left_, [&](const Left& one) { return one.member == member; });
  }
  Submission submission(GradientId id) override { return {id, memory()}; }
  Status hand_over(std::size_t member, Bytes offset) override {
    const View to = taken_[member];
    if (!are_copied_ || to.size == 0) return Status::ok();
    fetch_next<true>(member);
    std::memcpy(to.data, memory_.data() + offset, to.size);
    return Status::ok();
  }
  Result<bool> is_handed_over(std::size_t) const override { return true; }
  View in_place(std::size_t member) const override { return are_copied_ ? View{} : taken_[member]; }
  Status read(std::vector<std::byte>* to) const override {
    to->clear();
    if (are_copied_) *to = memory_;
    return Status::ok();
  }

 private:
  /// A member whose elements have not been copied.
  struct Left {
    std::size_t member = 0;
    Bytes offset = 0;
  };

  /// Returns true if the member lies where the others of this step say that it should.
  bool lies_in_place(View member, Bytes offset) {
    if (are_copied_) return false;
    std::byte* const first = member.data - offset;
    if (left_.empty()) in_place_ = first;
    return first == in_place_;
  }
  void copy_in(std::size_t member, Bytes offset) {
    memory_.resize(bytes_);  // in the first step that copies
    std::memcpy(memory_.data() + offset, taken_[member].data, taken_[member].size);
  }
  View memory() { return {are_copied_ ? memory_.data() : in_place_, bytes_}; }
  /// Fetches the memory of the member behind this one, which is copied next, and lies where it lay in the last step.
  template <bool kIsWritten>
  void fetch_next(std::size_t member) const {
    if (member + 1 < taken_.size()) fetch_first<kIsWritten>(taken_[member + 1].data, taken_[member + 1].size);
  }

  Bytes bytes_ = 0;
  std::vector<std::byte> memory_;  ///< empty until a step copies
  std::vector<View> taken_;
  std::vector<Left> left_;         ///< of the step, as all below
  std::byte* in_place_ = nullptr;  ///< the memory of the whole, if all members lie in it
  bool are_copied_ = false;
};

/// All copies are in one stream, which is the one that writes the group's memory.
class GroupOnDevice final : public GroupMemory {
 public:
  GroupOnDevice(Device& device, std::size_t members) : device_(device), members_(members) {}
  ~GroupOnDevice() override {
    const Clock::time_point deadline = after(kLongestCopy);
    while (memory_ != nullptr && is_under_way()) {
      if (Clock::now() < deadline) {
        std::this_thread::sleep_for(kCopyPause);
      } else {
        static_cast<void>(memory_.release());
      }
    }
  }

  Status add(std::size_t member) override {
    for (std::unique_ptr<Event>* each : {&members_[member].written, &members_[member].over}) {
      Result<std::unique_ptr<Event>> event = device_.make_event();
      if (!event) return event.status();
      *each = std::move(*event);
    }
    return Status::ok();
  }
  Status allocate(Bytes bytes) override {
    Result<std::unique_ptr<Stream>> stream = device_.make_stream(false);
    if (!stream) return stream.status();
    Result<std::unique_ptr<DeviceBuffer>> memory = device_.allocate(bytes, Memory::kDevice);
    if (!memory) return memory.status();
    stream_ = std::move(*stream);
    memory_ = std::move(*memory);
    return Status::ok();
  }

  Status take(std::size_t member, const Submission& submission) override {
    members_[member].taken = submission.device_data;
    return device_.record(*members_[member].written, submission.stream);
  }
  Status gather(std::size_t member, Bytes offset) override {
    const Member& own = members_[member];
    CASYNC_RETURN_IF_ERROR(stream_->wait_for(*own.written));
    CASYNC_RETURN_IF_ERROR(stream_->copy(own.taken, memory_->device().slice(offset, own.taken.size())));
    return stream_->record(*own.over);
  }
  Submission submission(GradientId id) override { return {id, {}, memory_->device(), stream_->native()}; }
  Status hand_over(std::size_t member, Bytes offset) override {
    const Member& own = members_[member];
    CASYNC_RETURN_IF_ERROR(stream_->copy(memory_->device().slice(offset, own.taken.size()), own.taken));
    return stream_->record(*own.over);
  }
  Result<bool> is_handed_over(std::size_t member) const override { return members_[member].over->done(); }
  Status read(std::vector<std::byte>* to) const override {
    to->resize(memory_->device().size());
    return to->empty() ? Status::ok() : device_.read(memory_->device(), {to->data(), to->size()});
  }

 private:
  struct Member {
    DeviceView taken;
    std::unique_ptr<Event> written, over;  ///< by the program; the last copy
  };

  /// A device that has failed copies nothing more.
  bool is_under_way() const {
    for (const Member& each : members_) {
      if (each.over == nullptr) continue;
      const Result<bool> over = each.over->done();
      if (over && !*over) return true;
    }
    return false;
  }

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DeviceBuffer> memory_;
  std::vector<Member> members_;
};

}  // namespace

std::unique_ptr<GroupMemory> make_group_memory(Device& device, std::size_t members) {
  if (device.is_host()) return std::make_unique<GroupOnHost>(members);
  return std::make_unique<GroupOnDevice>(device, members);
}

}  // namespace casync::runtime
