#include "plait/transform/inside/running/sizes_between.h"

namespace plait {
namespace {

bool learn(Dim wanted, Dim given, SymbolMap<Dim>& sizes) {
  if (wanted.is_symbol() && sizes.find(wanted) == nullptr) sizes.set(wanted, given);
  return wanted.is_symbol() || !wanted.is_number() || same(wanted, given);
}

}  // namespace

bool learn_sizes(const ir::Type& wanted, const ir::Type& given, SymbolMap<Dim>& sizes) {
  if (wanted.kind() != given.kind()) return false;
  const auto learn_all = [&](std::span<const Dim> a, std::span<const Dim> b) {
    bool fits = a.size() == b.size();
    for (size_t i = 0; fits && i < a.size(); ++i) fits = learn(a[i], b[i], sizes);
    return fits;
  };
  switch (wanted.kind()) {
    case ir::Type::Kind::none: return true;
    case ir::Type::Kind::array:
      return wanted.dtype() == given.dtype() &&
             learn_all(wanted.shape().dims(), given.shape().dims());
    case ir::Type::Kind::tuple: {
      const auto &a = wanted.elements(), &b = given.elements();
      bool fits = a.size() == b.size();
      for (size_t i = 0; fits && i < a.size(); ++i) fits = learn_sizes(a[i], b[i], sizes);
      return fits;
    }
    case ir::Type::Kind::record:
      return wanted.record_name() == given.record_name() &&
             learn_all(wanted.record_arguments(), given.record_arguments());
    case ir::Type::Kind::optional: return learn_sizes(wanted.element(), given.element(), sizes);
  }
  return false;
}

std::optional<SymbolMap<Dim>> sizes_between(std::span<const ir::Type> parameters,
                                            std::span<const ir::Type> given) {
  if (parameters.size() != given.size()) return std::nullopt;
  SymbolMap<Dim> sizes;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!learn_sizes(parameters[i], given[i], sizes)) return std::nullopt;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!ir::fits(given[i], parameters[i].substitute(sizes))) return std::nullopt;
  }
  return sizes;
}

}  // namespace plait
