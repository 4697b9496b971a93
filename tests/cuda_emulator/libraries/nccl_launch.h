// Operations of NCCL as work of a stream.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_emulator/libraries/nccl_ranks.h"

namespace emulator {

// A communicator as its rank knows it while operations run.
struct NcclMember {
  std::shared_ptr<NcclRanks> shared;
  int rank = 0, size = 1, device = 0;
  bool is_aborted = false;
  bool is_stuck = false;  // an operation never ends
  uint64_t collectives = 0;
  uint64_t sent[kMostRanks] = {}, received[kMostRanks] = {};
};

struct NcclOperation {
  NcclRecord record;
  uint64_t out = 0;
};

const char* name_of(NcclKind kind);   // "ncclAllReduce"
size_t bytes_of_nccl_type(int type);  // 0: there is no such type
// Elements of the operand and of the result of a rank.
uint64_t in_count(const NcclOperation& operation, const NcclMember& member);
uint64_t out_count(const NcclOperation& operation, const NcclMember& member);

// Operations that were called together: collectives run in their order, messages side by side.
class NcclLaunch {
 public:
  NcclLaunch(std::shared_ptr<NcclMember> member, std::vector<NcclOperation> operations);

  // Goes on without waiting; true when all operations are over, or the communicator was aborted.
  bool go_on();
  CUresult result() const { return result_; }

 private:
  enum class Stage { waiting, posted, read, over };
  struct Progress {
    NcclOperation operation;
    Stage stage = Stage::waiting;
    uint64_t number = 0;  // among those of its kind
    std::vector<char> value = {};
  };

  void step(Progress& progress);
  void step_collective(Progress& progress);
  void send(Progress& progress);
  void receive(Progress& progress);
  // Looks at the operand, as a kernel would.
  void begin(Progress& progress, uint64_t bytes);
  void write(uint64_t address, const char* value, size_t bytes, const char* user);
  bool agrees(const Progress& progress, int rank);
  void fail(CUresult result);
  NcclRank& own() const { return member_->shared->ranks[member_->rank]; }

  std::shared_ptr<NcclMember> member_;
  std::vector<Progress> operations_;
  CUresult result_ = CUDA_SUCCESS;
};

// The result of a collective for a rank, of the operands of all ranks.
std::vector<char> nccl_result(const NcclOperation& operation, const NcclMember& member,
                              const std::vector<const char*>& operands);

}  // namespace emulator
