#include "tests/cuda_emulator/libraries/nccl_launch.h"

#include <cstring>
#include <utility>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/driver/copies.h"

namespace emulator {
namespace {

std::string text_of(const NcclRecord& record) {
  return std::string(name_of(record.kind)) + " of " + std::to_string(record.count) +
         " elements of type " + std::to_string(record.type) + ", op " + std::to_string(record.op) +
         ", root " + std::to_string(record.root);
}

bool is_message(NcclKind kind) { return kind == NcclKind::send || kind == NcclKind::receive; }

bool reduces(NcclKind kind) {
  return kind == NcclKind::all_reduce || kind == NcclKind::reduce ||
         kind == NcclKind::reduce_scatter;
}

}  // namespace

const char* name_of(NcclKind kind) {
  constexpr const char* kNames[] = {"ncclAllReduce", "ncclReduce",        "ncclBroadcast",
                                    "ncclAllGather", "ncclReduceScatter", "ncclSend",
                                    "ncclRecv"};
  return kNames[static_cast<int>(kind)];
}

uint64_t in_count(const NcclOperation& operation, const NcclMember& member) {
  const NcclRecord& record = operation.record;
  switch (record.kind) {
    case NcclKind::reduce_scatter: return record.count * static_cast<uint64_t>(member.size);
    case NcclKind::broadcast: return member.rank == record.root ? record.count : 0;
    case NcclKind::receive: return 0;
    default: return record.count;
  }
}

uint64_t out_count(const NcclOperation& operation, const NcclMember& member) {
  const NcclRecord& record = operation.record;
  switch (record.kind) {
    case NcclKind::all_gather: return record.count * static_cast<uint64_t>(member.size);
    case NcclKind::reduce: return member.rank == record.root ? record.count : 0;
    case NcclKind::send: return 0;
    default: return record.count;
  }
}

NcclLaunch::NcclLaunch(std::shared_ptr<NcclMember> member, std::vector<NcclOperation> operations)
    : member_(std::move(member)) {
  for (const NcclOperation& operation : operations) {
    Progress progress{.operation = operation};
    const NcclRecord& record = operation.record;
    const auto peer = static_cast<size_t>(record.root);
    progress.number = record.kind == NcclKind::send      ? member_->sent[peer]++
                      : record.kind == NcclKind::receive ? member_->received[peer]++
                                                         : member_->collectives++;
    operations_.push_back(std::move(progress));
  }
}

bool NcclLaunch::go_on() {
  if (member_->is_aborted || result_ != CUDA_SUCCESS) return true;
  if (member_->is_stuck) return false;
  bool are_over = true, is_collective_behind = false;
  for (Progress& progress : operations_) {
    const bool is_collective = !is_message(progress.operation.record.kind);
    if (is_collective && is_collective_behind) continue;
    step(progress);
    if (result_ != CUDA_SUCCESS) return true;
    const bool is_over = progress.stage == Stage::over;
    are_over &= is_over;
    is_collective_behind |= is_collective && !is_over;
  }
  return are_over && !is_collective_behind;
}

void NcclLaunch::step(Progress& progress) {
  if (progress.stage == Stage::over || member_->is_stuck) return;
  switch (progress.operation.record.kind) {
    case NcclKind::send: return send(progress);
    case NcclKind::receive: return receive(progress);
    default: return step_collective(progress);
  }
}

void NcclLaunch::fail(CUresult result) { result_ = result; }

void NcclLaunch::begin(Progress& progress, uint64_t bytes) {
  const NcclRecord& record = progress.operation.record;
  if (bytes == 0) return;
  if (!reachable_bytes(record.in, bytes, name_of(record.kind))) {
    return fail(CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  if (!reduces(record.kind) || are_written(record.in, bytes)) return;
  note_finding(std::string(name_of(record.kind)) + ": unwritten: an operand of rank " +
               std::to_string(member_->rank));
  fail(CUDA_ERROR_LAUNCH_FAILED);
}

void NcclLaunch::write(uint64_t address, const char* value, size_t bytes, const char* user) {
  if (bytes == 0) return;
  char* const to = reachable_bytes(address, bytes, user);
  if (!to) return fail(CUDA_ERROR_ILLEGAL_ADDRESS);
  std::memcpy(to, value, bytes);
  note_written(address, bytes);
}

// NCCL compares nothing: it would never end, or mix up bytes.
bool NcclLaunch::agrees(const Progress& progress, int rank) {
  const NcclRecord& own = progress.operation.record;
  const NcclRecord& other = member_->shared->ranks[rank].records[progress.number % 2];
  if (own.kind == other.kind && own.type == other.type && own.op == other.op &&
      own.root == other.root && own.count == other.count)
    return true;
  note_finding("nccl: rank " + std::to_string(member_->rank) + " runs " + text_of(own) + ", rank " +
               std::to_string(rank) + " " + text_of(other));
  member_->is_stuck = true;
  return false;
}

void NcclLaunch::step_collective(Progress& progress) {
  const NcclOperation& operation = progress.operation;
  const size_t width = bytes_of_nccl_type(operation.record.type);
  const auto all_have = [&](std::atomic<uint64_t> NcclRank::* counter) {
    for (int rank = 0; rank < member_->size; ++rank) {
      if ((member_->shared->ranks[rank].*counter).load() <= progress.number) return false;
    }
    return true;
  };
  if (progress.stage == Stage::waiting) {
    begin(progress, in_count(operation, *member_) * width);
    if (result_ != CUDA_SUCCESS) return;
    own().records[progress.number % 2] = operation.record;
    own().posted.store(progress.number + 1);
    progress.stage = Stage::posted;
  }
  if (progress.stage == Stage::posted) {
    if (!all_have(&NcclRank::posted)) return;
    std::vector<const char*> operands;
    for (int rank = 0; rank < member_->size; ++rank) {
      if (!agrees(progress, rank)) return;
      const NcclRank& other = member_->shared->ranks[rank];
      operands.push_back(bytes_of_rank(other, other.records[progress.number % 2].in));
      const bool is_read =
          operation.record.kind != NcclKind::broadcast || rank == operation.record.root;
      // Its process has ended.
      if (is_read && !operands.back()) member_->is_stuck = true;
    }
    if (member_->is_stuck) return;
    if (out_count(operation, *member_)) progress.value = nccl_result(operation, *member_, operands);
    own().read.store(progress.number + 1);
    progress.stage = Stage::read;
  }
  // In place, a rank overwrites what others read.
  if (!all_have(&NcclRank::read)) return;
  write(operation.out, progress.value.data(), progress.value.size(),
        name_of(operation.record.kind));
  progress.stage = Stage::over;
}

void NcclLaunch::send(Progress& progress) {
  const NcclRecord& record = progress.operation.record;
  NcclMessages& messages = member_->shared->messages[member_->rank][record.root];
  if (progress.stage == Stage::waiting) {
    if (messages.posted.load() != progress.number ||
        progress.number - messages.taken.load() >= kMessagesInFlight)
      return;
    begin(progress, record.count * bytes_of_nccl_type(record.type));
    if (result_ != CUDA_SUCCESS) return;
    messages.records[progress.number % kMessagesInFlight] = record;
    messages.posted.store(progress.number + 1);
    progress.stage = Stage::posted;
  }
  if (messages.taken.load() > progress.number) progress.stage = Stage::over;
}

void NcclLaunch::receive(Progress& progress) {
  const NcclRecord& record = progress.operation.record;
  NcclMessages& messages = member_->shared->messages[record.root][member_->rank];
  if (messages.posted.load() <= progress.number || messages.taken.load() != progress.number) return;
  const NcclRecord& sent = messages.records[progress.number % kMessagesInFlight];
  if (sent.count != record.count || sent.type != record.type) {
    note_finding("nccl: rank " + std::to_string(record.root) + " runs " + text_of(sent) +
                 ", rank " + std::to_string(member_->rank) + " " + text_of(record));
    member_->is_stuck = true;
    return;
  }
  const char* const from = bytes_of_rank(member_->shared->ranks[record.root], sent.in);
  if (!from) {  // its process has ended
    member_->is_stuck = true;
    return;
  }
  write(progress.operation.out, from, record.count * bytes_of_nccl_type(record.type),
        name_of(record.kind));
  messages.taken.store(progress.number + 1);
  progress.stage = Stage::over;
}

}  // namespace emulator
