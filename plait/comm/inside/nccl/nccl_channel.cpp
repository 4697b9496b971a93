#include "plait/comm/inside/nccl/nccl_channel.h"

#include "plait/core/error.h"

namespace plait::dist {
namespace {

// Messages of the other engine that have the id.
constexpr int kIdTag = 1;

}  // namespace

uint64_t NcclChannel::add() {
  const std::lock_guard lock(mutex_);
  return added_++;
}

bool NcclChannel::connect() {
  if (connection_) return connection_->is_connected();
  if (!passing_) {
    id_ = std::make_shared<NcclId>();
    const NcclLibrary& nccl = NcclLibrary::get();
    if (is_sender_) nccl.check(nccl.get_id(id_.get()), "ncclGetUniqueId");
    auto* const bytes = reinterpret_cast<std::byte*>(id_->bytes.data());
    passing_ = control_.begin(Message{.is_sent = is_sender_,
                                      .peer = peer_,
                                      .tag = kIdTag,
                                      .dtype = DType::u8,
                                      .count = static_cast<int64_t>(id_->bytes.size()),
                                      .in = bytes,
                                      .out = bytes,
                                      .keeps = id_});
  }
  if (!passing_->step()) return false;
  connection_ = std::make_unique<NcclConnection>(device_, *id_, is_sender_ ? 0 : 1, 2);
  return connection_->is_connected();
}

bool NcclChannel::step(uint64_t place, const Message& message) {
  const std::lock_guard lock(mutex_);
  if (is_aborted_) throw DistError("the communicator of NCCL has ended");
  if (place < ended_) return true;
  if (place > ended_ || !connect()) return false;
  const auto bytes = static_cast<size_t>(message.bytes());
  const bool is_over = connection_->run([&](const NcclLibrary& nccl, NcclComm comm,
                                            cuda::Stream stream) {
    if (bytes == 0) return;
    if (is_sender_) {
      nccl.check(nccl.send(message.in, bytes, NcclType::u8, 1, comm, stream), "ncclSend", comm);
    } else {
      nccl.check(nccl.receive(message.out, bytes, NcclType::u8, 0, comm, stream), "ncclRecv", comm);
    }
  });
  if (is_over) ++ended_;
  return is_over;
}

void NcclChannel::abort() noexcept {
  const std::lock_guard lock(mutex_);
  is_aborted_ = true;
  if (connection_) connection_->abort();
}

void NcclChannel::leave(std::chrono::milliseconds most) noexcept {
  const std::lock_guard lock(mutex_);
  if (connection_) connection_->leave(most);
}

}  // namespace plait::dist
