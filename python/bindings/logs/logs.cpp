// Logs of training runs. The package (python/plait/inside/logs) makes the arguments.
#include <nanobind/stl/optional.h>

#include "plait/io/logs/csv_log.h"
#include "plait/io/logs/event_log.h"
#include "plait/io/logs/jsonl_log.h"

#include "python/bindings/bindings.h"
#include "python/bindings/logs/file_arguments.h"

namespace plait::python {
namespace {

using Resume = std::optional<int64_t>;
using WallTime = EventLog::WallTime;

// A tag, a text or a name. Python's strings may have parts of characters, which files cannot.
std::string log_text(std::string_view what, nb::handle object) {
  if (PyUnicode_Check(object.ptr()) == 0) {
    throw TypeError("log: {} is {}, expected a string", what, class_name_of(object));
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text != nullptr) return {text, static_cast<size_t>(size)};
  PyErr_Clear();
  throw ValueError("log: {} has half of a character that UTF-16 writes as two", what);
}

LogValue log_value(std::string_view name, nb::handle object) {
  PyObject* given = object.ptr();
  if (PyBool_Check(given) != 0) return given == Py_True;
  if (PyFloat_Check(given) != 0) return PyFloat_AsDouble(given);
  if (PyUnicode_Check(given) != 0) return log_text(name, object);
  if (PyLong_Check(given) == 0) {
    throw TypeError("log: {} is {}, expected a number, True, False or a string", name,
                    class_name_of(object));
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(given, &overflow);
  if (overflow != 0) throw ValueError("log: {} does not fit into i64", name);
  return value;
}

std::vector<LogEntry> entries_from(nb::dict values) {
  std::vector<LogEntry> entries;
  for (const auto& [key, value] : values) {
    std::string name = log_text("a name", key);
    LogValue converted = log_value(name, value);
    entries.push_back({std::move(name), std::move(converted)});
  }
  return entries;
}

std::vector<std::string> log_texts(std::string_view what, nb::handle sequence) {
  std::vector<std::string> texts;
  for (const nb::handle each : nb::iter(sequence)) texts.push_back(log_text(what, each));
  return texts;
}

// Python's lock is not held while a file is written, or closed with the log.
void log_values(Log& log, int64_t step, const nb::dict& values) {
  const std::vector<LogEntry> entries = entries_from(values);
  computed([&] { log.log(step, entries); });
}

template <class L>
void bind_row_log(nb::module_& module, const char* name) {
  nb::class_<L, Log>(module, name)
      .def(
          "__init__",
          [](L* place, const nb::bytes& given, Resume resume) {
            const std::string path = system_path(given);
            computed([&] { new (place) L(path, resume); });
          },
          nb::arg("path"), nb::arg("resume").none());
}

void bind_event_log(nb::module_& module) {
  nb::class_<EventLog, Log>(module, "_EventLog")
      .def(
          "__init__",
          [](EventLog* place, const nb::bytes& given, Resume resume) {
            const std::string folder = system_path(given);
            computed([&] { new (place) EventLog(folder, resume); });
          },
          nb::arg("folder"), nb::arg("resume").none())
      .def("close_as", [](EventLog& log, bool ok) { computed([&] { log.close(ok); }); })
      .def(
          "scalar",
          [](EventLog& log, nb::handle tag, double value, int64_t step, WallTime time) {
            const std::string name = log_text("the tag", tag);
            computed([&] { log.scalar(name, value, step, time); });
          },
          nb::arg("tag"), nb::arg("value"), nb::arg("step"), nb::arg("wall_time").none())
      .def(
          "text",
          [](EventLog& log, nb::handle tag, nb::handle text, int64_t step, WallTime time) {
            const std::string name = log_text("the tag", tag), value = log_text("the text", text);
            computed([&] { log.text(name, value, step, time); });
          },
          nb::arg("tag"), nb::arg("text"), nb::arg("step"), nb::arg("wall_time").none())
      .def(
          "histogram",
          [](EventLog& log, nb::handle tag, const Tensor& x, int64_t step, WallTime time) {
            const std::string name = log_text("the tag", tag);
            computed([&] { log.histogram(name, x.array(), step, time); });
          },
          nb::arg("tag"), nb::arg("values"), nb::arg("step"), nb::arg("wall_time").none())
      .def(
          "image",
          [](EventLog& log, nb::handle tag, const Tensor& x, int64_t step, WallTime time) {
            const std::string name = log_text("the tag", tag);
            computed([&] { log.image(name, x.array(), step, time); });
          },
          nb::arg("tag"), nb::arg("pixels"), nb::arg("step"), nb::arg("wall_time").none())
      .def("hparams",
           [](EventLog& log, const nb::dict& values, nb::handle metrics) {
             const std::vector<LogEntry> entries = entries_from(values);
             const std::vector<std::string> tags = log_texts("a metric", metrics);
             computed([&] { log.hparams(entries, tags); });
           })
      .def("graph",
           [](EventLog& log, const nb::bytes& program) {
             const std::string_view bytes(program.c_str(), program.size());
             computed([&] { log.graph(ir::Program::from_bytes(bytes)); });
           })
      .def(
          "part",
          [](EventLog& log, nb::handle name) -> EventLog& {
            const std::string folder = log_text("the name of a part", name);
            return *computed([&] { return &log.part(folder); });
          },
          nb::rv_policy::reference_internal);
}

}  // namespace

void bind_logs(nb::module_& module) {
  nb::class_<Log>(module, "_Log")
      .def("log", log_values)
      .def("flush", [](Log& log) { computed([&] { log.flush(); }); })
      .def("close", [](Log& log) { computed([&] { log.close(); }); });
  bind_row_log<JsonlLog>(module, "_JsonlLog");
  bind_row_log<CsvLog>(module, "_CsvLog");
  bind_event_log(module);
}

}  // namespace plait::python
