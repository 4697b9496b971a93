#include "plait/comm/messages.h"

#include <string_view>
#include <utility>

#include "plait/comm/inside/call_operand.h"
#include "plait/comm/inside/caller_scope.h"
#include "plait/comm/inside/lane.h"
#include "plait/core/error.h"

namespace plait::dist {
namespace {

// A message, and the tensor that this rank receives.
struct Prepared {
  Message message;
  Tensor result = {};
};

void check_peer(std::string_view function, int rank, const Group& group) {
  if (rank >= 0 && rank < group.size() && rank != group.rank()) return;
  throw ValueError("{}: the other side is rank {}, expected 0 to {}, but not the own rank",
                   function, rank, group.size() - 1)
      .at(Location::of_caller());
}

Prepared prepare_send(const Tensor& x, int rank, const Group& group, int tag) {
  check_peer("send", rank, group);
  auto in = std::make_shared<const Array>(operand_of("send", x, group));
  Message message{.is_sent = true, .peer = rank, .tag = tag, .dtype = in->dtype()};
  message.count = in->element_count();
  message.in = in->device_data();
  message.keeps = std::move(in);
  message.where = Location::of_caller();
  return {std::move(message)};
}

Prepared prepare_recv(const Tensor& x, std::optional<int> rank, const Group& group, int tag) {
  if (rank) check_peer("recv", *rank, group);
  const Array like = operand_of("recv", x, group);
  auto out = std::make_shared<Array>(Array::empty_on(like.device(), like.dtype(), like.sizes()));
  Message message{.is_sent = false, .peer = rank.value_or(kAnyRank), .tag = tag};
  message.dtype = like.dtype();
  message.count = like.element_count();
  message.out = out->device_data();
  message.source = std::make_shared<std::atomic<int>>(kAnyRank);
  message.where = Location::of_caller();
  Tensor result(*out);
  message.keeps = std::move(out);
  return {std::move(message), std::move(result)};
}

std::shared_ptr<Work> start(Prepared made, const Group& group, const MessageOptions& options) {
  std::vector<Tensor> result;
  if (made.result) result.push_back(std::move(made.result));
  auto work = std::make_shared<Work>(std::move(result), made.message.source);
  group.lane()->start(std::move(made.message), options.timeout.value_or(group.timeout()), work);
  return work;
}

}  // namespace

void send(const Tensor& x, int rank, Group& group, const MessageOptions& options) {
  const CallerScope caller;
  Prepared made = prepare_send(x, rank, group, options.tag);
  group.lane()->run(std::move(made.message), options.timeout.value_or(group.timeout()));
}

Received recv(const Tensor& x, std::optional<int> rank, Group& group,
              const MessageOptions& options) {
  const CallerScope caller;
  Prepared made = prepare_recv(x, rank, group, options.tag);
  const std::shared_ptr<std::atomic<int>> source = made.message.source;
  group.lane()->run(std::move(made.message), options.timeout.value_or(group.timeout()));
  return {std::move(made.result), source->load()};
}

namespace async {

std::shared_ptr<Work> send(const Tensor& x, int rank, Group& group, const MessageOptions& options) {
  const CallerScope caller;
  return start(prepare_send(x, rank, group, options.tag), group, options);
}

std::shared_ptr<Work> recv(const Tensor& x, std::optional<int> rank, Group& group,
                           const MessageOptions& options) {
  const CallerScope caller;
  return start(prepare_recv(x, rank, group, options.tag), group, options);
}

}  // namespace async

}  // namespace plait::dist
