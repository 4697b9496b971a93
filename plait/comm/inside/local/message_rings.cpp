#include "plait/comm/inside/local/message_rings.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "plait/core/error.h"

namespace plait::dist {
namespace {

uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// Copies between memory and the bytes of a ring that begin at a position.
template <class Copy>
void for_pieces(uint64_t position, uint64_t count, const Copy& copy) {
  for (uint64_t done = 0; done < count;) {
    const uint64_t place = (position + done) % kRingBytes;
    const uint64_t size = std::min(count - done, kRingBytes - place);
    copy(place, done, size);
    done += size;
  }
}
void write_to(Ring& ring, uint64_t position, const void* from, uint64_t count) {
  for_pieces(position, count, [&](uint64_t place, uint64_t done, uint64_t size) {
    std::memcpy(ring.bytes.data() + place, static_cast<const std::byte*>(from) + done, size);
  });
}
void read_from(const Ring& ring, uint64_t position, void* to, uint64_t count) {
  for_pieces(position, count, [&](uint64_t place, uint64_t done, uint64_t size) {
    std::memcpy(static_cast<std::byte*>(to) + done, ring.bytes.data() + place, size);
  });
}

}  // namespace

uint64_t MessageRings::Arriving::size() const {
  if (head.moves_nothing != 0) return 0;
  return static_cast<uint64_t>(head.count * size_of(static_cast<DType>(head.dtype)));
}

MessageRings::MessageRings(const Arena& arena, int rank, std::function<void(int rank)> ring_peer)
    : arena_(arena),
      rank_(rank),
      ring_peer_(std::move(ring_peer)),
      sends_(static_cast<size_t>(arena.size())),
      arriving_(static_cast<size_t>(arena.size())),
      stored_(static_cast<size_t>(arena.size())) {}

std::shared_ptr<Transfer> MessageRings::add(Message message, const std::string& place) {
  auto transfer = std::make_shared<Transfer>();
  transfer->message = std::move(message);
  const Message& added = transfer->message;
  const std::lock_guard lock(mutex_);
  if (!added.is_sent) {
    if (!take_stored(transfer)) receives_.push_back(transfer);
    return transfer;
  }
  const MessageHead head{.count = added.count,
                         .tag = added.tag,
                         .dtype = static_cast<uint32_t>(added.dtype),
                         .place_size = static_cast<uint32_t>(place.size()),
                         .moves_nothing = added.moves_nothing ? 1U : 0U};
  transfer->prefix.assign(reinterpret_cast<const char*>(&head), sizeof head);
  transfer->prefix += place;
  transfer->prefix.resize(padded(transfer->prefix.size()));
  sends_[static_cast<size_t>(added.peer)].push_back(transfer);
  return transfer;
}

void MessageRings::abandon(const std::shared_ptr<Transfer>& transfer) {
  const std::lock_guard lock(mutex_);
  is_abandoned_ =
      true;  // its buffer may be freed, and the rest of its bytes would be read as a message
  receives_.remove(transfer);
}

void MessageRings::move() {
  const std::lock_guard lock(mutex_);
  if (is_abandoned_) return;
  for (int rank = 0; rank < arena_.size(); ++rank) {
    if (!sends_[static_cast<size_t>(rank)].empty()) send_to(rank);
    receive_from(rank);
  }
}

void MessageRings::send_to(int rank) {
  Ring& ring = arena_.ring(rank_, rank);
  auto& sends = sends_[static_cast<size_t>(rank)];
  uint64_t written = ring.written.load(std::memory_order_relaxed);
  const uint64_t before = written;
  while (!sends.empty()) {
    Transfer& first = *sends.front();
    const uint64_t prefix = first.prefix.size();
    const auto elements = static_cast<uint64_t>(first.message.bytes());
    const uint64_t total = prefix + padded(elements);
    const uint64_t space = kRingBytes - (written - ring.read.load());
    const uint64_t end = std::min(total, first.moved + space);
    if (first.moved < prefix) {
      const uint64_t size = std::min(prefix, end) - first.moved;
      write_to(ring, written, first.prefix.data() + first.moved, size);
      written += size;
      first.moved += size;
    }
    if (first.moved >= prefix && first.moved < end) {
      const uint64_t begin = first.moved - prefix;
      const uint64_t size = std::min(elements, end - prefix) - std::min(elements, begin);
      write_to(ring, written, first.message.in + begin, size);
      written += end - first.moved;  // with the padding
      first.moved = end;
    }
    if (first.moved < total) break;
    first.is_over.store(true);
    sends.pop_front();
  }
  if (written == before) return;
  ring.written.store(written);
  ring_peer_(rank);
}

std::string MessageRings::unclaimed(int rank) {
  const std::lock_guard lock(mutex_);
  const auto& stored = stored_[static_cast<size_t>(rank)];
  if (stored.empty()) return {};
  const auto& [head, place, receiver, bytes, moved] = stored.front();
  return fmt::format("rank {} has sent {} with tag {}{}{}, which no call receives", rank,
                     type_text(static_cast<DType>(head.dtype), head.count), head.tag,
                     place.empty() ? "" : " at ", place);
}

bool MessageRings::is_awaited(int rank) const {
  return std::ranges::any_of(receives_, [&](const auto& transfer) {
    return transfer->message.peer == rank || transfer->message.peer == kAnyRank;
  });
}

std::shared_ptr<Transfer> MessageRings::receiver_of(int rank, const MessageHead& head) const {
  const auto found = std::ranges::find_if(receives_, [&](const auto& transfer) {
    const Message& message = transfer->message;
    return message.tag == head.tag && (message.peer == rank || message.peer == kAnyRank);
  });
  return found == receives_.end() ? nullptr : *found;
}

bool MessageRings::begin_arriving(int rank) {
  Ring& ring = arena_.ring(rank, rank_);
  const uint64_t read = ring.read.load(std::memory_order_relaxed);
  const uint64_t available = ring.written.load() - read;
  Arriving arriving;
  if (available < sizeof arriving.head || !is_awaited(rank)) return false;
  read_from(ring, read, &arriving.head, sizeof arriving.head);
  const uint64_t prefix = padded(sizeof arriving.head + arriving.head.place_size);
  if (available < prefix) return false;
  arriving.place.resize(arriving.head.place_size);
  read_from(ring, read + sizeof arriving.head, arriving.place.data(), arriving.place.size());
  arriving.receiver = receiver_of(rank, arriving.head);
  if (arriving.receiver) {
    receives_.remove(arriving.receiver);
    accept(rank, arriving, arriving.receiver);
  } else {
    arriving.stored.resize(arriving.size());
  }
  ring.read.store(read + prefix);
  arriving_[static_cast<size_t>(rank)] = std::move(arriving);
  return true;
}

void MessageRings::receive_from(int rank) {
  Ring& ring = arena_.ring(rank, rank_);
  const uint64_t before = ring.read.load(std::memory_order_relaxed);
  auto& current = arriving_[static_cast<size_t>(rank)];
  while (current || begin_arriving(rank)) {
    const uint64_t read = ring.read.load(std::memory_order_relaxed);
    const uint64_t size = current->size(), total = padded(size);
    const uint64_t end = std::min(total, current->moved + ring.written.load() - read);
    const uint64_t count = std::min(size, end) - std::min(size, current->moved);
    std::byte* const to = current->receiver ? current->receiver->message.out
                                            : reinterpret_cast<std::byte*>(current->stored.data());
    read_from(ring, read, to + current->moved, count);
    ring.read.store(read + end - current->moved);
    current->moved = end;
    if (end < total) break;
    end_arriving(rank);
  }
  if (ring.read.load(std::memory_order_relaxed) != before) ring_peer_(rank);
}

void MessageRings::end_arriving(int rank) {
  auto& current = arriving_[static_cast<size_t>(rank)];
  Arriving arrived = std::move(*current);
  current.reset();
  if (arrived.receiver) {
    if (arrived.receiver->message.source) arrived.receiver->message.source->store(rank);
    arrived.receiver->is_over.store(true);
    return;
  }
  const std::shared_ptr<Transfer> receiver = receiver_of(rank, arrived.head);
  stored_[static_cast<size_t>(rank)].push_back(std::move(arrived));
  if (receiver && take_stored(receiver)) receives_.remove(receiver);
}

bool MessageRings::take_stored(const std::shared_ptr<Transfer>& transfer) {
  const Message& message = transfer->message;
  for (int rank = 0; rank < arena_.size(); ++rank) {
    if (message.peer != rank && message.peer != kAnyRank) continue;
    auto& stored = stored_[static_cast<size_t>(rank)];
    const auto found = std::ranges::find_if(
        stored, [&](const Arriving& each) { return each.head.tag == message.tag; });
    if (found == stored.end()) continue;
    accept(rank, *found, transfer);
    std::copy_n(reinterpret_cast<const std::byte*>(found->stored.data()), found->stored.size(),
                message.out);
    stored.erase(found);
    if (message.source) message.source->store(rank);
    transfer->is_over.store(true);
    return true;
  }
  return false;
}

void MessageRings::accept(int rank, const Arriving& arriving,
                          const std::shared_ptr<Transfer>& transfer) const {
  const Message& message = transfer->message;
  const auto dtype = static_cast<DType>(arriving.head.dtype);
  if (dtype == message.dtype && arriving.head.count == message.count) return;
  const std::string place = message.where.text();
  throw DistError("ranks disagree: rank {} sends {}{}, rank {} receives {}{}", rank,
                  type_text(dtype, arriving.head.count),
                  arriving.place.empty() ? "" : " at " + arriving.place, rank_,
                  type_text(message.dtype, message.count), place.empty() ? "" : " at " + place);
}

}  // namespace plait::dist
