// Readers of CSV, JSONL and text. The package (python/plait/inside/rows) makes the arguments.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plait/io/inside/json.h"
#include "plait/io/rows/csv.h"
#include "plait/io/rows/jsonl.h"
#include "plait/io/rows/line_stream.h"
#include "plait/io/rows/text_lines.h"

#include "python/bindings/bindings.h"
#include "python/bindings/logs/file_arguments.h"

namespace plait::python {
namespace {

nb::object python_value(const Json& json) {
  if (json.is_null()) return nb::none();
  if (json.holds<bool>()) return nb::bool_(json.as<bool>(""));
  if (json.holds<int64_t>()) return nb::int_(json.as<int64_t>(""));
  if (json.holds<double>()) return nb::float_(json.number(""));
  if (json.holds<Json::BigInteger>()) {
    const std::string& digits = json.as<Json::BigInteger>("").digits;
    return nb::steal(PyLong_FromString(digits.c_str(), nullptr, 10));
  }
  if (json.holds<std::string>()) return text_object(json.as<std::string>(""));
  if (json.holds<Json::List>()) {
    nb::list result;
    for (const Json& each : json.as<Json::List>("")) result.append(python_value(each));
    return result;
  }
  nb::dict result;
  for (const auto& [name, each] : json.as<Json::Object>("")) {
    result[text_object(name)] = python_value(each);
  }
  return result;
}

CsvType csv_type_from(const std::string& column, const std::string& name) {
  if (name == "i64") return CsvType::i64;
  if (name == "f64") return CsvType::f64;
  if (name == "text") return CsvType::text;
  throw ValueError("csv: the type of column '{}' is '{}', expected 'i64', 'f64' or 'text'", column,
                   name);
}

char character_from(std::string_view what, const std::string& text) {
  if (text.size() <= 1) return text.empty() ? '\0' : text[0];
  throw ValueError("csv: the {} is '{}', expected one character of ASCII", what, text);
}

CsvOptions csv_options(const std::string& separator, const std::string& quote, bool has_header,
                       const std::vector<std::string>& names, const nb::dict& types,
                       const std::optional<std::vector<std::string>>& missing) {
  CsvOptions options{.separator = character_from("separator", separator),
                     .quote = character_from("quote", quote),
                     .has_header = has_header,
                     .names = names};
  for (const auto& [column, type] : types) {
    const std::string name = utf8_of(column);
    options.types[name] = csv_type_from(name, utf8_of(type));
  }
  if (missing) options.missing = *missing;
  return options;
}

struct ColumnAsPython {
  nb::object operator()(const Array& array) const { return to_python(Tensor(array)); }
  nb::object operator()(const std::vector<std::string>& texts) const {
    nb::list result;
    for (const std::string& text : texts) result.append(text_object(text));
    return result;
  }
};

nb::dict python_table(const CsvTable& table) {
  nb::dict columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    columns[text_object(table.names[i])] = std::visit(ColumnAsPython(), table.columns[i]);
  }
  return columns;
}

std::string_view csv_type_name(CsvType type) {
  return type == CsvType::i64 ? "i64" : type == CsvType::f64 ? "f64" : "text";
}

void bind_csv(nb::module_& module) {
  nb::class_<CsvFile>(module, "_CsvFile")
      .def(
          "__init__",
          [](CsvFile* place, const nb::bytes& path, const std::string& separator,
             const std::string& quote, bool has_header, const std::vector<std::string>& names,
             const nb::dict& types, const std::optional<std::vector<std::string>>& missing) {
            CsvOptions options = csv_options(separator, quote, has_header, names, types, missing);
            const std::string file = system_path(path);
            computed([&] { new (place) CsvFile(file, std::move(options)); });
          },
          nb::arg("path"), nb::arg("separator"), nb::arg("quote"), nb::arg("header"),
          nb::arg("names"), nb::arg("types"), nb::arg("missing").none())
      .def("names", [](const CsvFile& file) { return file.names(); })
      .def("size", [](const CsvFile& file) { return computed([&] { return file.size(); }); })
      .def("types",
           [](const CsvFile& file) {
             nb::list types;
             for (const CsvType type : computed([&] { return file.types(); })) {
               types.append(text_object(csv_type_name(type)));
             }
             return types;
           })
      .def("row", [](const CsvFile& file,
                     int64_t i) { return ColumnAsPython()(computed([&] { return file.row(i); })); })
      .def("rows", [](const CsvFile& file, int64_t begin, int64_t end) {
        return python_table(computed([&] { return file.rows(begin, end); }));
      });
}

void bind_line_stream(nb::module_& module) {
  nb::class_<LineStream>(module, "_LineStream")
      .def("__init__",
           [](LineStream* place, const std::vector<nb::bytes>& given, bool skips_blank) {
             std::vector<std::string> paths;
             for (const nb::bytes& each : given) paths.push_back(system_path(each));
             new (place) LineStream(std::move(paths), skips_blank);
           })
      .def("next", [](LineStream& stream) { return computed([&] { return stream.next(); }); })
      .def("position", &LineStream::position)
      .def("seek", [](LineStream& stream, const std::vector<int64_t>& position) {
        computed([&] { stream.seek(position); });
      });
  nb::class_<StreamedLine>(module, "_StreamedLine")
      .def("text", [](const StreamedLine& line) { return text_object(line.text()); })
      .def("value", [](const StreamedLine& line) { return python_value(line.json()); });
}

}  // namespace

void bind_rows(nb::module_& module) {
  bind_csv(module);
  nb::class_<JsonlFile>(module, "_JsonlFile")
      .def("__init__", [](JsonlFile* place,
                          const nb::bytes& path) { new (place) JsonlFile(system_path(path)); })
      .def("size", [](const JsonlFile& file) { return computed([&] { return file.size(); }); })
      .def("value", [](const JsonlFile& file, int64_t i) {
        return python_value(computed([&] { return file.value(i); }));
      });
  nb::class_<TextLines>(module, "_TextLines")
      .def("__init__", [](TextLines* place,
                          const nb::bytes& path) { new (place) TextLines(system_path(path)); })
      .def("size", [](const TextLines& lines) { return computed([&] { return lines.size(); }); })
      .def("line", [](const TextLines& lines, int64_t i) {
        return text_object(computed([&] { return lines.line(i); }));
      });
  bind_line_stream(module);
}

}  // namespace plait::python
