// A communicator of NCCL on one rank, and the stream on which its operations run. No function waits
// for other ranks. May be used by several threads.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>

#include <sys/types.h>

#include "plait/comm/inside/nccl/nccl_library.h"
#include "plait/cuda/inside/device/cuda_device.h"

namespace plait::dist {

class NcclConnection {
 public:
  // Begins to connect with the ranks that have the same id.
  NcclConnection(int device, const NcclId& id, int rank, int size);
  // Ends what still runs.
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  // True when the ranks are connected.
  bool is_connected();
  // Queues operations behind what the stream of the device has so far; true when they are over. To
  // be called again until it is: `queue` is called once.
  using Queue = std::function<void(const NcclLibrary&, NcclComm, cuda::Stream)>;
  bool run(const Queue& queue);
  // Throws an error that NCCL has found meanwhile.
  void check();

  // Ends operations wherever they are; later calls throw.
  void abort() noexcept;
  // After the last operation: lets NCCL end what other ranks still need, or aborts after this time.
  void leave(std::chrono::milliseconds most) noexcept;

 private:
  enum class State : uint8_t {
    connecting,
    idle,
    queued,   // NCCL has not put all operations into the stream
    running,  // they are in the stream, and the event behind them
    ended,
  };

  // False while NCCL goes on with the last call: it takes no other one then.
  bool has_accepted();
  void expect_open() const;
  void free_stream() noexcept;

  const NcclLibrary& nccl_;
  const cuda::CudaDevice& device_;
  const pid_t process_;
  std::mutex mutex_;  // guards the members below
  State state_ = State::connecting;
  NcclComm comm_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::Event done_ = nullptr;
};

}  // namespace plait::dist
