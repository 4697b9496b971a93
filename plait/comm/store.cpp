#include "plait/comm/store.h"

#include "plait/core/error.h"

namespace plait::dist {

std::vector<std::string> Store::multi_get(const std::vector<std::string>& keys) {
  wait(keys);
  std::vector<std::string> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) values.push_back(get(key));
  return values;
}

void Store::set_timeout(Duration timeout) {
  if (timeout <= Duration::zero()) {
    throw ValueError("Store: the timeout is {} ms, expected more than 0", timeout.count());
  }
  timeout_ = timeout.count();
}

}  // namespace plait::dist
