// A program outside of Plait: uses the library's headers, templates and compiled code.
#include <iostream>

#include <plait/plait.h>

int main() {
  const plait::Dim size = plait::Dim::symbol("n") + 1;
  if (size.text() != "n + 1") return 1;
  // Its code needs other libraries.
  if (plait::dist::engine_names().front() != "local") return 1;
  try {
    throw plait::ShapeError("sizes differ: {} and {}", size.text(), 3);
  } catch (const plait::Error& error) {
    std::cout << error.what() << '\n';
    return error.kind() == plait::ErrorKind::shape ? 0 : 1;
  }
}
