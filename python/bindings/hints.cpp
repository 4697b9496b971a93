// Rewrites the hints of the library in Python syntax. tests/python/hints_test.py reads all hints in
// the sources, and finds remaining C++ in them.
#include <string>
#include <string_view>

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

struct Saying {
  std::string_view in_cpp, in_python;
};
constexpr Saying kSayings[] = {
    {"(where, cond and while_loop decide by values)",
     "(plait.where, plait.cond and plait.while_loop decide by values, plait.maximum is max, "
     "@plait.script takes Python's if)"},
    {"begin with x = x.requires_grad(), which gives another tensor,",
     "begin with x = x.requires_grad(), which gives another tensor, or x.requires_grad_(),"},
    {"say `keep` (retain_graph) the first time", "say retain_graph=True the first time"},
    {"give nothing for it: None, an empty Tensor() in C++", "give None for it"},
    {"say allow_unused to get an empty tensor for it", "say allow_unused=True to get None for it"},
    {"(grad<1>(f)), or say allow_integers", "(argnums=1), or say allow_int=True"},
    {"or say holomorphic", "or say holomorphic=True"},
    {"say it in the options: size", "say it: size="},
    {"say it in the options: length", "say it: length="},
    {"give it in the options' sizes", "give it in sizes="},
    {"say after how many steps: every", "say after how many steps: plait.checkpoints(every=100)"},
    {"integer_limits() has", "iinfo() has"},
    {"float_limits() has", "finfo() has"},
    {"x.at(mask).set(", "x.at[mask].set("},
    {"text() to look at all", "print(x) to look at all"},
    {"register_backend(name, …) makes one", "plait.list_backends() names those that there are"},
    {"say .momentum = 0.9", "say momentum=0.9"},
    {"optim::Sgd", "optim.SGD"},
    {"DType::", "plait."},
    {"linalg::", "plait.linalg."},
    {"random::", "plait.random."},
};

}  // namespace

std::string hint_in_python(std::string hint) {
  for (const Saying& each : kSayings) {
    size_t at = hint.find(each.in_cpp);
    for (; at != std::string::npos; at = hint.find(each.in_cpp, at + each.in_python.size())) {
      hint.replace(at, each.in_cpp.size(), each.in_python);
    }
  }
  return hint;
}

}  // namespace plait::python
