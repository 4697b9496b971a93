// Rewrites the hints of the library in Python syntax. tests/python/package/hints_test.py reads all
// hints in the sources, and finds remaining C++ in them.
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
     "@plait.script accepts Python's if)"},
    {"begin with x = x.requires_grad(), which returns another tensor,",
     "begin with x = x.requires_grad(), which returns another tensor, or x.requires_grad_(),"},
    {"pass `keep` (retain_graph) the first time", "pass retain_graph=True the first time"},
    {"pass nothing for it: None, an empty Tensor() in C++", "pass None for it"},
    {"set allow_unused to get an empty tensor for it", "set allow_unused=True to get None for it"},
    {"; a field that may be absent is a std::optional<Tensor>", ""},
    {"(grad<1>(f)), make the field an nn::Buffer, or set allow_integers",
     "(argnums=1), or set allow_int=True"},
    {"or set holomorphic", "or set holomorphic=True"},
    {"while a DetectAnomaly exists", "within plait.detect_anomaly()"},
    {"pass it in the options: sizes", "pass sizes="},
    {"pass it in the options: size", "pass size="},
    {"pass it in the options: length", "pass length="},
    {"pass the number of steps between them: every",
     "pass the number of steps between them: plait.checkpoints(every=100)"},
    {"integer_limits() has", "iinfo() has"},
    {"float_limits() has", "finfo() has"},
    {"x.at(mask).set(", "x.at[mask].set("},
    {"text() to see all", "print(x) to see all"},
    {"register_backend(name, …) adds one", "plait.list_backends() returns the names of all"},
    {"pass .momentum = 0.9", "pass momentum=0.9"},
    {"most_pixels", "max_pixels"},
    {"device_count() counts them", "plait.devices() lists them"},
    {"bytes(name) has", "get_bytes(name) has"},
    {"values(name) converts", "get_values(name) converts"},
    {"array(name) reads", "get_tensor(name) reads"},
    {"Safetensors::open(path)", "plait.io.open_safetensors(path)"},
    {"optim::SGD", "optim.SGD"},
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
