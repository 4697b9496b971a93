#ifdef PLAIT_HAVE_MPI

#include "plait/comm/inside/wires/mpi_matching.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/forks.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait::dist {
namespace {

constexpr std::chrono::milliseconds kLongestFlush{1000};
constexpr int kEnvelopeTag = 0, kFirstTag = 1;
constexpr uint32_t kTags = 1U << 30;  // more than a process has messages in flight

int tag_of(uint32_t id) { return kFirstTag + static_cast<int>(id % kTags); }

void check(int status) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MpiLibrary::get().error_string(status, text.data(), &size);
  throw DistError("MPI: {}", text.data());
}

// Bytes as elements of MPI, which counts in 32 bits.
class Elements {
 public:
  explicit Elements(size_t bytes) {
    const MpiLibrary& mpi = MpiLibrary::get();
    if (bytes <= kBlock) {
      count = static_cast<int>(bytes);
      type = mpi.byte;
      return;
    }
    MPI_Datatype block = nullptr;
    mpi.type_contiguous(static_cast<int>(kBlock), mpi.byte, &block);
    const std::array<int, 2> counts = {static_cast<int>(bytes / kBlock),
                                       static_cast<int>(bytes % kBlock)};
    const std::array<MPI_Aint, 2> places = {0, static_cast<MPI_Aint>(bytes / kBlock * kBlock)};
    const std::array<MPI_Datatype, 2> types = {block, mpi.byte};
    mpi.type_create_struct(2, counts.data(), places.data(), types.data(), &type);
    mpi.type_commit(&type);
    mpi.type_free(&block);
    is_own_ = true;
  }
  // MPI keeps it while transfers use it.
  ~Elements() {
    if (is_own_) MpiLibrary::get().type_free(&type);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  int count = 1;
  MPI_Datatype type = nullptr;

 private:
  static constexpr size_t kBlock = size_t{1} << 30;

  bool is_own_ = false;
};

// MPI cannot take back what it has begun: it may write to these bytes as long as the process lives.
void keep_for_ever(std::shared_ptr<const void> bytes) {
  static Immortal<std::pair<std::mutex, std::vector<std::shared_ptr<const void>>>> kept;
  const std::lock_guard lock(kept->first);
  kept->second.push_back(std::move(bytes));
}

}  // namespace

MpiMatching& MpiMatching::of_process() {
  static MpiMatching* const made = new MpiMatching;  // threads may use it until the process ends
  return *made;
}

MpiMatching::MpiMatching() : mpi_(MpiLibrary::get()), forks_(fork_count()) {
  post_envelope();
  end_before_finalising([] { of_process().end(kLongestFlush); });
}

void MpiMatching::expect_open() const {
  if (forks_ != fork_count()) throw DistError("MPI is used in a process that was forked");
  if (has_ended_) throw DistError("MPI has ended in this process");
}

void MpiMatching::post_envelope() {
  check(mpi_.irecv(incoming_.data(), static_cast<int>(incoming_.size()), mpi_.byte, MPI_ANY_SOURCE,
                   kEnvelopeTag, mpi_.world, &envelope_));
}

void MpiMatching::end(std::chrono::milliseconds most) {
  const std::lock_guard lock(mutex_);
  for (const Deadline deadline(most); !outgoing_.empty() && !deadline.has_passed();) {
    free_outgoing();
  }
  has_ended_ = true;
  mpi_.cancel(&envelope_);
  int is_done = 0;
  MPI_Status status{};
  while (is_done == 0 && mpi_.test(&envelope_, &is_done, &status) == MPI_SUCCESS) {
  }
}

void MpiMatching::send_envelope(int process, const MpiEnvelope& envelope,
                                std::span<const std::byte> bytes) {
  Outgoing& sent = outgoing_.emplace_back();
  sent.bytes.resize(sizeof envelope + bytes.size());
  std::memcpy(sent.bytes.data(), &envelope, sizeof envelope);
  if (!bytes.empty()) {
    std::memcpy(sent.bytes.data() + sizeof envelope, bytes.data(), bytes.size());
  }
  check(mpi_.isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), mpi_.byte, process,
                   kEnvelopeTag, mpi_.world, &sent.request));
}

std::shared_ptr<MpiMatching::Message> MpiMatching::send(int process, const MpiAddress& address,
                                                        std::span<const std::byte> bytes,
                                                        std::shared_ptr<const void> keeps,
                                                        bool is_acknowledged) {
  const std::lock_guard lock(mutex_);
  expect_open();
  auto made = std::make_shared<Message>();
  made->is_sent = true;
  made->id = next_id_++;
  MpiEnvelope envelope{.address = address, .size = bytes.size(), .id = made->id};
  if (bytes.size() <= kEagerBytes) {
    envelope.wants_answer = is_acknowledged;
    if (is_acknowledged) unanswered_[made->id] = made;
    made->is_over = !is_acknowledged;
    send_envelope(process, envelope, bytes);
    return made;
  }
  made->keeps = std::move(keeps);
  envelope.kind = MpiEnvelope::Kind::follows;
  send_envelope(process, envelope, {});
  const Elements elements(bytes.size());
  const auto begin = is_acknowledged ? mpi_.issend : mpi_.isend;
  check(begin(bytes.data(), elements.count, elements.type, process, tag_of(made->id), mpi_.world,
              &made->request));
  made->is_begun = true;
  return made;
}

MpiMatching::Receive MpiMatching::receive(int process, const MpiAddress& address,
                                          std::span<std::byte> bytes,
                                          std::shared_ptr<const void> keeps) {
  const std::lock_guard lock(mutex_);
  expect_open();
  auto made = std::make_shared<Message>();
  made->address = address;
  made->process = process;
  made->out = bytes;
  made->keeps = std::move(keeps);
  if (const auto came = unexpected_.find(address); came != unexpected_.end()) {
    const auto found = std::ranges::find_if(came->second, [&](const Unexpected& each) {
      return process == kAnyProcess || each.process == process;
    });
    if (found != came->second.end()) {
      match(*made, found->process, found->envelope, found->bytes);
      came->second.erase(found);
      if (came->second.empty()) unexpected_.erase(came);
      return made;
    }
  }
  posted_[address].push_back(made);
  return made;
}

void MpiMatching::match(Message& receive, int process, const MpiEnvelope& envelope,
                        std::span<const std::byte> bytes) {
  receive.process = process;
  receive.is_begun = true;
  if (envelope.size != receive.out.size()) {
    receive.failure =
        fmt::format("{} bytes came where {} are expected", envelope.size, receive.out.size());
    return;
  }
  if (envelope.kind == MpiEnvelope::Kind::follows) {
    const Elements elements(receive.out.size());
    check(mpi_.irecv(receive.out.data(), elements.count, elements.type, process,
                     tag_of(envelope.id), mpi_.world, &receive.request));
    return;
  }
  if (!bytes.empty()) std::memcpy(receive.out.data(), bytes.data(), bytes.size());
  receive.is_over = true;
  if (!envelope.wants_answer) return;
  send_envelope(process, {.id = envelope.id, .kind = MpiEnvelope::Kind::answer}, {});
}

void MpiMatching::take(int process, const MpiEnvelope& envelope, std::span<const std::byte> bytes) {
  if (envelope.kind == MpiEnvelope::Kind::answer) {
    const auto found = unanswered_.find(envelope.id);
    if (found == unanswered_.end()) return;
    if (const auto message = found->second.lock()) message->is_over = true;
    unanswered_.erase(found);
    return;
  }
  if (const auto posted = posted_.find(envelope.address); posted != posted_.end()) {
    const auto found = std::ranges::find_if(posted->second, [&](const Receive& each) {
      return each->process == kAnyProcess || each->process == process;
    });
    if (found != posted->second.end()) {
      const Receive receive = *found;
      posted->second.erase(found);
      if (posted->second.empty()) posted_.erase(posted);
      return match(*receive, process, envelope, bytes);
    }
  }
  unexpected_[envelope.address].push_back({process, envelope, {bytes.begin(), bytes.end()}});
}

void MpiMatching::progress() {
  for (;;) {
    int is_done = 0;
    MPI_Status status{};
    check(mpi_.test(&envelope_, &is_done, &status));
    if (is_done == 0) break;
    MpiEnvelope envelope;
    std::memcpy(&envelope, incoming_.data(), sizeof envelope);
    const bool is_eager = envelope.kind == MpiEnvelope::Kind::eager;
    take(status.MPI_SOURCE, envelope,
         std::span<const std::byte>(incoming_).subspan(sizeof envelope,
                                                       is_eager ? envelope.size : 0));
    post_envelope();
  }
  free_outgoing();
}

void MpiMatching::free_outgoing() {
  std::erase_if(outgoing_, [&](Outgoing& sent) {
    int is_done = 0;
    MPI_Status status{};
    check(mpi_.test(&sent.request, &is_done, &status));
    return is_done != 0;
  });
}

bool MpiMatching::is_over(Message& message) {
  const std::lock_guard lock(mutex_);
  if (message.is_over) return true;
  expect_open();
  progress();
  if (!message.failure.empty()) throw DistError("{}", message.failure);
  if (message.is_over || !message.is_begun || message.request == nullptr) return message.is_over;
  int is_done = 0;
  MPI_Status status{};
  check(mpi_.test(&message.request, &is_done, &status));
  message.is_over = is_done != 0;
  if (message.is_over) message.keeps.reset();
  return message.is_over;
}

void MpiMatching::abandon(const std::shared_ptr<Message>& message) {
  if (forks_ != fork_count()) return;
  const std::lock_guard lock(mutex_);
  if (message->is_over) return;
  unanswered_.erase(message->id);
  if (const auto posted = posted_.find(message->address); posted != posted_.end()) {
    std::erase(posted->second, message);
    if (posted->second.empty()) posted_.erase(posted);
  }
  if (message->request == nullptr) return;
  if (!message->is_sent && !has_ended_) mpi_.cancel(&message->request);
  keep_for_ever(std::move(message->keeps));
}

void MpiMatching::forget(uint64_t group) {
  if (forks_ != fork_count()) return;
  const std::lock_guard lock(mutex_);
  const auto begin = unexpected_.lower_bound({group, 0});
  auto end = begin;
  while (end != unexpected_.end() && end->first.group == group) ++end;
  unexpected_.erase(begin, end);
}

}  // namespace plait::dist

#endif
