// Moves bytes between the ranks of a group: a library (gloo_wire.h, mpi_wire.h). May be used
// by several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "plait/comm/inside/engine.h"

namespace plait::dist {

// A DistError of a transfer says which rank has ended, and what the library says.
class WireTransfer {
 public:
  virtual ~WireTransfer() = default;  // also if it is not over

  // True from when it is over.
  virtual bool is_over() = 0;
  // The rank that has sent what was received.
  virtual int source() const = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;

  virtual std::string_view name() const = 0;
  // With other ranks. A send that `is_acknowledged` is not over before it is received. Those
  // between two ranks in one slot are matched in the order in which they are begun, and those of a
  // pair have the same size. `keeps` owns the bytes.
  virtual std::unique_ptr<WireTransfer> send(int rank, uint64_t slot,
                                             std::span<const std::byte> bytes,
                                             std::shared_ptr<const void> keeps,
                                             bool is_acknowledged) = 0;
  // kAnyRank: from the first rank that sends in this slot.
  virtual std::unique_ptr<WireTransfer> receive(int rank, uint64_t slot, std::span<std::byte> bytes,
                                                std::shared_ptr<const void> keeps) = 0;
  // The group has failed. Transfers of other ranks with this one fail too, if the library can tell
  // them.
  virtual void close() = 0;
  virtual Patience patience() const = 0;
  // True if it goes on only while transfers are asked whether they are over; else it rings the
  // doorbell of the process when some are.
  virtual bool is_polled() const = 0;
};

}  // namespace plait::dist
