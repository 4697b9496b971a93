#include "plait/comm/inside/wires/wire_message_task.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/comm/inside/comm_settings.h"
#include "plait/core/error.h"
#include "plait/core/hash.h"

namespace plait::dist {
namespace {

// A message up to this size is sent from a copy, so that its sender goes on.
constexpr int64_t kCopiedBytes = 64 << 10;

uint64_t slot_of(const Message& message) {
  const uint64_t type =
      hash_combine(static_cast<uint64_t>(message.dtype), static_cast<uint64_t>(message.count));
  return hash_combine(type, static_cast<uint64_t>(static_cast<uint32_t>(message.tag))) & ~kCallSlot;
}

// A byte is moved for a message without elements.
std::shared_ptr<std::vector<std::byte>> padding() {
  return std::make_shared<std::vector<std::byte>>(1);
}

}  // namespace

WireMessageTask::WireMessageTask(WireEngine& engine, Message message)
    : engine_(engine), message_(std::move(message)), entry_(engine.add(message_)) {
  try {
    if (message_.is_sent) {
      send();
    } else {
      receive();
    }
  } catch (const DistError& error) {
    if (entry_) engine.remove(*entry_, message_.peer);
    engine.fail(fmt::format("{}: {}", text_of(message_), error.message()));
  }
}

void WireMessageTask::send() {
  const int64_t bytes = message_.bytes();
  if (bytes > kCopiedBytes) {
    transfer_ = engine_.wire_->send(message_.peer, slot_of(message_),
                                    {message_.in, static_cast<size_t>(bytes)}, message_.keeps,
                                    kAgreement.get());
    return;
  }
  const auto copy = padding();
  if (bytes > 0) copy->assign(message_.in, message_.in + bytes);
  auto transfer =
      engine_.wire_->send(message_.peer, slot_of(message_), *copy, copy, kAgreement.get());
  engine_.keep_sending(std::move(transfer), *std::exchange(entry_, std::nullopt));
}

void WireMessageTask::receive() {
  const int64_t bytes = message_.bytes();
  const auto pad = padding();
  const bool is_empty = bytes == 0;
  const std::span<std::byte> out =
      is_empty ? std::span(*pad) : std::span(message_.out, static_cast<size_t>(bytes));
  transfer_ = engine_.wire_->receive(message_.peer, slot_of(message_), out,
                                     is_empty ? std::shared_ptr<const void>(pad) : message_.keeps);
}

WireMessageTask::~WireMessageTask() {
  if (transfer_) give_up("did not finish");
  if (entry_) engine_.remove(*entry_, message_.peer);
}

bool WireMessageTask::step() {
  if (!transfer_) return true;
  try {
    if (!transfer_->is_over()) return false;
  } catch (const DistError& error) {
    engine_.fail(fmt::format("{}: {}", text_of(message_), error.message()));
  }
  if (message_.source) message_.source->store(transfer_->source());
  message_.peer = transfer_->source();
  transfer_.reset();
  return true;
}

void WireMessageTask::check() {
  engine_.check();
  engine_.compare_with_others();
}

void WireMessageTask::end_late(std::chrono::milliseconds timeout) {
  const std::vector<Notice> notices = engine_.exchange_notices();
  const int peer = message_.peer;
  engine_.fail(fmt::format("{}, which rank {} called, did not end within {} s{}", text_of(message_),
                           engine_.rank_, static_cast<double>(timeout.count()) / 1000,
                           peer == kAnyRank || notices.empty()
                               ? ""
                               : "; " + state_of(peer, notices[static_cast<size_t>(peer)])));
}

void WireMessageTask::give_up(std::string_view reason) {
  engine_.give_up(fmt::format("{} in {}", reason, text_of(message_)));
}

}  // namespace plait::dist
