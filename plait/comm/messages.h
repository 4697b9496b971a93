// Messages from one rank of a group to another one. Outside of transforms, as the calls of
// collectives.h.
#pragma once

#include <memory>

#include "plait/comm/collectives.h"
#include "plait/comm/group.h"
#include "plait/comm/work.h"
#include "plait/tensor/tensor.h"

namespace plait::dist {

struct MessageOptions {
  int tag = 0;  // a message is received by a call with its tag
  std::optional<Duration> timeout = {};
};

// Returns when the tensor may be changed: its receiver need not have called recv yet, if it is
// short. Messages between two ranks with the same tag arrive in the order in which they were sent.
void send(const Tensor& x, int rank, Group& group, const MessageOptions& options = {});

struct Received {
  Tensor tensor;
  int source = 0;  // the rank that has sent it
};
// A tensor of the type of x, which must be that of the message; from any rank without one.
Received recv(const Tensor& x, std::optional<int> rank, Group& group,
              const MessageOptions& options = {});

namespace async {

std::shared_ptr<Work> send(const Tensor& x, int rank, Group& group,
                           const MessageOptions& options = {});
std::shared_ptr<Work> recv(const Tensor& x, std::optional<int> rank, Group& group,
                           const MessageOptions& options = {});

}  // namespace async

}  // namespace plait::dist
