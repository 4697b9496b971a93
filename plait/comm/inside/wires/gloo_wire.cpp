#include "plait/comm/inside/wires/gloo_wire.h"

#include "plait/core/error.h"

#ifdef PLAIT_HAVE_GLOO
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/tcp/unbound_buffer.h>
#include <unistd.h>

#include "plait/comm/inside/calls/message.h"
#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/local/doorbell.h"
#include "plait/core/inside/system/interruption.h"
#endif

namespace plait::dist {

#ifndef PLAIT_HAVE_GLOO

bool has_gloo() { return false; }

std::unique_ptr<Wire> make_gloo_wire(Store&, int, int, const std::string&, Duration) {
  throw DistError("the engine gloo is not in this build")
      .hint("install libgloo-dev, and build Plait again");
}

#else

namespace {

namespace tcp = gloo::transport::tcp;

// The part of a connection that the thread of the device uses. It is made before Gloo's own part,
// which tells that thread of it.
struct Handling {
  const std::shared_ptr<const Doorbell> bell = Doorbell::own();
  std::mutex mutex;  // held while an event is handled
};

// The connection to another rank.
class Connection : private Handling, public tcp::Pair {
 public:
  using tcp::Pair::Pair;
  ~Connection() override {
    {
      const std::lock_guard lock(m_);
      if (state_ != CLOSED) changeState(CLOSED);  // events come no more
    }
    const std::lock_guard handled(Handling::mutex);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // On the thread of the device, where an exception would end the process.
  void handleEvents(int events) override {
    const std::lock_guard lock(Handling::mutex);
    try {
      tcp::Pair::handleEvents(events);
    } catch (const std::exception& error) {
      // If another thread holds it, it closes the connection.
      const std::unique_lock own(m_, std::try_to_lock);
      if (own && ex_ == nullptr) signalException(error.what());
    }
    bell->ring();
  }
  // Transfers with the rank end with this error.
  void fail(const std::string& reason) { signalExceptionExternal(reason); }
  void throw_if_closed() {
    const std::lock_guard lock(m_);
    throwIfException();
    if (state_ == CLOSED) throw gloo::IoException("the connection is closed");
  }
};

class Context : public tcp::Context {
 public:
  using tcp::Context::Context;

  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override {
    auto& pair = pairs_[static_cast<size_t>(rank)];
    pair = std::make_unique<Connection>(this, device_.get(), rank, getTimeout());
    return pair;
  }
  Connection& connection(int rank) {
    return static_cast<Connection&>(*pairs_[static_cast<size_t>(rank)]);
  }
};

// Gloo's own waits close all connections when their time is over. This one is asked instead.
class Buffer : public tcp::UnboundBuffer {
 public:
  using tcp::UnboundBuffer::UnboundBuffer;

  bool has_sent() {
    const std::lock_guard lock(m_);
    if (sendCompletions_ == 0) throwIfException();
    return sendCompletions_ > 0;
  }
  bool has_received() {
    const std::lock_guard lock(m_);
    if (recvCompletions_ == 0) throwIfException();
    return recvCompletions_ > 0;
  }
  int source() {
    const std::lock_guard lock(m_);
    return recvRank_;
  }
};

// Without Gloo's own file and line.
std::string reason_of(const std::exception& error) {
  const std::string_view text = error.what();
  const size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

[[noreturn]] void refuse(int rank, const std::exception& error) {
  if (rank == kAnyRank) throw DistError("all other ranks have ended or left the group");
  throw DistError("rank {} has ended or left the group (Gloo: {})", rank, reason_of(error));
}

class GlooTransfer : public WireTransfer {
 public:
  GlooTransfer(std::shared_ptr<Context> context, int rank, std::byte* data, size_t size,
               std::shared_ptr<const void> keeps)
      : context_(std::move(context)),
        rank_(rank),
        keeps_(std::move(keeps)),
        buffer_(context_, data, size) {}

  void send(uint64_t slot) {
    is_sent_ = true;
    begin([&] { buffer_.send(rank_, slot, 0, buffer_.size); });
  }
  void receive(uint64_t slot) {
    begin([&] {
      if (rank_ != kAnyRank) return buffer_.recv(rank_, slot, 0, buffer_.size);
      std::vector<int> others;
      for (int rank = 0; rank < context_->size; ++rank) {
        if (rank != context_->rank) others.push_back(rank);
      }
      buffer_.recv(others, slot, 0, buffer_.size);
    });
  }

  bool is_over() override {
    try {
      if (has_completed()) return true;
      try {
        throw_if_deserted();
      } catch (const gloo::Exception&) {
        // It may have been the last thing that the rank has sent.
        if (has_completed()) return true;
        throw;
      }
    } catch (const gloo::Exception& error) {
      refuse(rank_, error);
    }
    return false;
  }
  int source() const override { return rank_ == kAnyRank ? buffer_.source() : rank_; }

 private:
  bool has_completed() { return is_sent_ ? buffer_.has_sent() : buffer_.has_received(); }
  template <class Begin>
  void begin(const Begin& begin) {
    try {
      begin();
    } catch (const std::exception& error) {
      refuse(rank_, error);
    }
  }
  // Gloo does not tell a transfer that has moved some of its bytes.
  void throw_if_deserted() const {
    if (rank_ != kAnyRank) return context_->connection(rank_).throw_if_closed();
    for (int rank = 0; rank < context_->size; ++rank) {
      if (rank == context_->rank) continue;
      try {
        return context_->connection(rank).throw_if_closed();
      } catch (const gloo::Exception&) {  // there may be others
      }
    }
    throw gloo::IoException("");
  }

  const std::shared_ptr<Context> context_;
  const int rank_;
  bool is_sent_ = false;
  const std::shared_ptr<const void> keeps_;
  mutable Buffer buffer_;
};

class GlooWire : public Wire {
 public:
  GlooWire(std::shared_ptr<Context> context) : process_(::getpid()), context_(std::move(context)) {}
  ~GlooWire() override {
    if (process_ == ::getpid()) return;
    // The thread of the device is not in a forked process, where nothing could wait for it.
    [[maybe_unused]] const auto* const left_behind = new auto(std::move(context_));
  }
  GlooWire(const GlooWire&) = delete;
  GlooWire& operator=(const GlooWire&) = delete;

  std::string_view name() const override { return "gloo"; }

  std::unique_ptr<WireTransfer> send(int rank, uint64_t slot, std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> keeps, bool) override {
    // Gloo has one type of buffers, and only reads this one.
    auto* const data = const_cast<std::byte*>(bytes.data());
    auto made =
        std::make_unique<GlooTransfer>(context_, rank, data, bytes.size(), std::move(keeps));
    made->send(slot);
    return made;
  }
  std::unique_ptr<WireTransfer> receive(int rank, uint64_t slot, std::span<std::byte> bytes,
                                        std::shared_ptr<const void> keeps) override {
    auto made = std::make_unique<GlooTransfer>(context_, rank, bytes.data(), bytes.size(),
                                               std::move(keeps));
    made->receive(slot);
    return made;
  }
  void close() override {
    for (int rank = 0; rank < context_->size; ++rank) {
      if (rank != context_->rank) context_->connection(rank).fail("the group has failed");
    }
  }
  Patience patience() const override { return {}; }
  bool is_polled() const override { return false; }

 private:
  const pid_t process_;
  std::shared_ptr<Context> context_;
};

// Else a write to a rank that has ended would end the process: Gloo expects this of its users.
void ignore_broken_pipes() {
  struct sigaction action{};
  ::sigaction(SIGPIPE, nullptr, &action);
  if (action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

std::shared_ptr<tcp::Device> device_at(const std::string& host) {
  tcp::attr attributes;
  if (const char* const interface = std::getenv("GLOO_SOCKET_IFNAME")) {
    attributes.iface = interface;
  } else {
    attributes.hostname = host;
  }
  return std::dynamic_pointer_cast<tcp::Device>(tcp::CreateDevice(attributes));
}

std::string key_of(int rank) { return fmt::format("gloo/{}", rank); }

// On another thread, which goes on if this one is interrupted.
void run_interruptibly(std::function<void()> run) {
  std::packaged_task<void()> task(std::move(run));
  std::future<void> end = task.get_future();
  std::thread(std::move(task)).detach();
  // The clock of wait_until, since that of wait_for is not known to thread sanitizers.
  while (end.wait_until(std::chrono::system_clock::now() + kInterruptible) !=
         std::future_status::ready) {
    check_interruption();
  }
  end.get();
}

// Each connection has an address of its own: a rank tells those of its connections with the ranks
// before it, then with those after it.
void connect(const std::shared_ptr<Context>& shared, Store& store) {
  Context& context = *shared;
  const int rank = context.rank, size = context.size;
  std::string addresses;
  std::vector<std::string> keys;
  for (int other = 0; other < size; ++other) {
    keys.push_back(key_of(other));
    if (other == rank) continue;
    const std::vector<char> address = context.createPair(other)->address().bytes();
    addresses.append(address.begin(), address.end());
  }
  store.set(key_of(rank), addresses);
  run_interruptibly([shared, all = store.multi_get(keys), rank, size] {
    for (int other = 0; other < size; ++other) {
      if (other == rank) continue;
      const std::string& theirs = all[static_cast<size_t>(other)];
      const int64_t bytes = static_cast<int64_t>(theirs.size()) / (size - 1);
      const auto begin = theirs.begin() + bytes * (rank < other ? rank : rank - 1);
      static_cast<gloo::transport::Pair&>(shared->connection(other))
          .connect({begin, begin + bytes});
    }
  });
}

}  // namespace

bool has_gloo() { return true; }

std::unique_ptr<Wire> make_gloo_wire(Store& store, int rank, int size, const std::string& host,
                                     Duration timeout) {
  ignore_broken_pipes();
  try {
    auto context = std::make_shared<Context>(device_at(host), rank, size);
    // Gloo waits five times as long for a connection.
    context->setTimeout(std::max<Duration>(timeout / 5, Duration(1)));
    connect(context, store);
    return std::make_unique<GlooWire>(std::move(context));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw DistError("the engine gloo: rank {} cannot connect to the others at {}: {}", rank, host,
                    error.what())
        .hint("GLOO_SOCKET_IFNAME chooses the network interface");
  }
}

#endif

}  // namespace plait::dist
